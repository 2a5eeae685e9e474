// SPDX-License-Identifier: Apache-2.0
#include "hal/core/LoaderOptions.h"
#include "hal/core/Tables.h"

#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace backplane {

/// The value of an environment variable, empty when it is unset or must not be
/// trusted. Nothing else reads the environment.
static std::string environment(const char *name) {
  const char *value = secure_getenv(name);
  return value ? value : "";
}

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin)
      parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// `variable` when it is an absolute path, else `inHome` in the home folder,
/// else nothing.
static std::string userDir(const char *variable, const char *inHome) {
  std::string dir = environment(variable);
  if (!dir.empty() && dir.front() == '/')
    return dir;
  std::string home = environment("HOME");
  return home.empty() || home.front() != '/' ? "" : home + "/" + inHome;
}

std::string systemPluginDir() {
  Dl_info info = {};
  link_map *map = nullptr;
  std::error_code error;
  if (dladdr1(reinterpret_cast<void *>(&systemPluginDir), &info,
              reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) &&
      map && map->l_name && map->l_name[0]) {
    std::filesystem::path library =
        std::filesystem::canonical(map->l_name, error);
    return error ? "" : library.parent_path() / "backplane/plugins";
  }
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return "";
  return program.parent_path().parent_path() / "lib/backplane/plugins";
}

static Status copyStrings(const bp_string_t *strings, uint64_t count,
                          const char *what, std::vector<std::string> &out) {
  constexpr uint64_t most = 4096;
  if (count > most || (count && !strings))
    return invalidArgument(std::string("context options: ") + what + " has " +
                           std::to_string(count) + " entries, at most " +
                           std::to_string(most) + " in a valid array");
  for (uint64_t i = 0; i < count; ++i) {
    if (strings[i].size && !strings[i].data)
      return invalidArgument(std::string("context options: entry ") +
                             std::to_string(i) + " of " + what +
                             " is a null pointer with a size");
    out.emplace_back(view(strings[i]));
  }
  return {};
}

static Status fillFrom(const bp_context_options_t &c, LoaderOptions &options) {
  std::vector<std::string> files;
  if (Status status = copyStrings(c.plugin_files, c.plugin_file_count,
                                  "plugin_files", files);
      !status.ok())
    return status;
  if (!files.empty())
    options.pluginFiles = std::move(files);
  if (Status status = copyStrings(c.add_plugin_files, c.add_plugin_file_count,
                                  "add_plugin_files", options.addPluginFiles);
      !status.ok())
    return status;
  if (Status status =
          copyStrings(c.select, c.select_count, "select", options.select);
      !status.ok())
    return status;
  if (Status status =
          copyStrings(c.disable, c.disable_count, "disable", options.disable);
      !status.ok())
    return status;
  if (view(c.cache_dir) == "-")
    options.cacheDir.clear();
  else if (c.cache_dir.size)
    options.cacheDir = view(c.cache_dir);
  if (c.workers_file.size)
    options.workersFile = view(c.workers_file);
  options.threads = c.threads;
  options.log = c.log;
  return {};
}

Result<LoaderOptions> loaderOptions(const bp_context_options_t *options) {
  LoaderOptions result;
  if (std::string dir = userDir("XDG_DATA_HOME", ".local/share"); !dir.empty())
    result.searchDirs.push_back(dir + "/backplane/plugins");
  if (std::string dir = systemPluginDir(); !dir.empty())
    result.searchDirs.push_back(dir);
  if (std::string dir = userDir("XDG_CACHE_HOME", ".cache"); !dir.empty())
    result.cacheDir = dir + "/backplane";
  if (std::string dir = userDir("XDG_CONFIG_HOME", ".config"); !dir.empty())
    result.workersFile = dir + "/backplane/workers.json";
  if (!options)
    return result;
  bp_context_options_t copy;
  if (Status status = copyStruct(options, bp_context_options_t_TYPE,
                                 "context options", copy);
      !status.ok())
    return status;
  if (copy.reserved)
    return invalidArgument("context options: the reserved member is not zero");
  if (Status status = fillFrom(copy, result); !status.ok())
    return status;
  return result;
}

/// Keeps text for the rest of the process.
static bp_string_t keep(std::string text) {
  static auto &texts = *new std::deque<std::string>;
  texts.push_back(std::move(text));
  return toC(texts.back());
}

static void fillList(const char *variable, char separator,
                     const bp_string_t *&items, uint64_t &count) {
  static auto &lists = *new std::deque<std::vector<bp_string_t>>;
  std::vector<std::string> parts = split(environment(variable), separator);
  if (count || parts.empty())
    return;
  std::vector<bp_string_t> &list = lists.emplace_back();
  for (std::string &part : parts)
    list.push_back(keep(std::move(part)));
  items = list.data();
  count = list.size();
}

void contextOptionsFromEnvironment(bp_context_options_t *options) {
  if (!options || options->header.size < sizeof(bp_context_options_t))
    return;
  fillList("BACKPLANE_PLUGIN_FILES", ':', options->plugin_files,
           options->plugin_file_count);
  fillList("BACKPLANE_ADD_PLUGIN_FILES", ':', options->add_plugin_files,
           options->add_plugin_file_count);
  fillList("BACKPLANE_PLUGINS_SELECT", ',', options->select,
           options->select_count);
  fillList("BACKPLANE_PLUGINS_DISABLE", ',', options->disable,
           options->disable_count);
  if (std::string dir = environment("BACKPLANE_CACHE_DIR");
      !options->cache_dir.size && !dir.empty())
    options->cache_dir = keep(std::move(dir));
  if (std::string file = environment("BACKPLANE_WORKERS");
      !options->workers_file.size && !file.empty())
    options->workers_file = keep(std::move(file));
  unsigned long threads =
      std::strtoul(environment("BACKPLANE_THREADS").c_str(), nullptr, 10);
  constexpr unsigned long mostThreads = 1024;
  if (!options->threads && threads <= mostThreads)
    options->threads = uint32_t(threads);
}

bool globMatches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

} // namespace backplane
