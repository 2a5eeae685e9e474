// SPDX-License-Identifier: Apache-2.0
#include "hal/core/LoaderOptions.h"
#include "hal/core/Tables.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
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

constexpr uint64_t maxBytes = 65536; ///< of a text

/// One text of the options; none when it is empty.
static Status copyString(bp_string_t from, const std::string &what,
                         std::string &out) {
  if (from.size > maxBytes || (from.size && !from.data))
    return invalidArgument("context options: " + what +
                           " is a null pointer with a size, or has over 64 "
                           "KiB");
  if (view(from).find('\0') != std::string_view::npos)
    return invalidArgument("context options: " + what +
                           " has a byte of 0 inside");
  if (from.size)
    out = view(from);
  return {};
}

static Status copyStrings(const bp_string_t *strings, uint64_t count,
                          const char *what, std::vector<std::string> &out) {
  constexpr uint64_t most = 4096;
  if (count > most || (count && !strings))
    return invalidArgument(std::string("context options: ") + what + " has " +
                           std::to_string(count) + " entries, at most " +
                           std::to_string(most) + " in a valid array");
  for (uint64_t i = 0; i < count; ++i) {
    if (Status s =
            copyString(strings[i], "entry " + std::to_string(i) + " of " + what,
                       out.emplace_back());
        !s.ok())
      return s;
  }
  return {};
}

constexpr uint32_t maxThreads = 1024;
/// What stands for a number of threads that is none.
constexpr uint32_t noThreads = UINT32_MAX;
/// What stands for a BACKPLANE_MAP_ARTIFACTS that is neither 0 nor 1.
constexpr uint32_t noAnswer = 1u << 31;

static Status checkNumbers(const bp_context_options_t &c) {
  if (c.threads == noThreads && secure_getenv("BACKPLANE_THREADS"))
    return invalidArgument("BACKPLANE_THREADS is '" +
                           environment("BACKPLANE_THREADS").substr(0, 64) +
                           "', which is no whole number from 0 to " +
                           std::to_string(maxThreads));
  if ((c.flags & noAnswer) && secure_getenv("BACKPLANE_MAP_ARTIFACTS"))
    return invalidArgument(
        "BACKPLANE_MAP_ARTIFACTS is '" +
        environment("BACKPLANE_MAP_ARTIFACTS").substr(0, 64) +
        "', which is neither 0 nor 1");
  if (c.threads > maxThreads)
    return invalidArgument("context options: " + std::to_string(c.threads) +
                           " threads, there may be up to " +
                           std::to_string(maxThreads));
  if (c.reserved || c.reserved2 || (c.flags & ~BP_CONTEXT_MAP_ARTIFACTS))
    return unimplemented("context options: a reserved member or an unknown "
                         "flag is set; initialise with BP_HEADER");
  return {};
}

static Status fillPaths(const bp_context_options_t &c, LoaderOptions &options) {
  std::vector<std::string> trusted;
  Status status =
      copyStrings(c.trusted_dirs, c.trusted_dir_count, "trusted_dirs", trusted);
  if (status.ok())
    status = copyString(c.cache_dir, "cache_dir", options.cacheDir);
  if (status.ok())
    status = copyString(c.workers_file, "workers_file", options.workersFile);
  if (options.cacheDir == "-")
    options.cacheDir.clear();
  for (const std::string &folder : trusted)
    if (status.ok() && (folder.empty() || folder.front() != '/'))
      status = invalidArgument("trusted folder '" + folder +
                               "' is not an absolute path");
  options.trust = FileTrust(trusted);
  return status;
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
  options.threads = c.threads;
  options.mapArtifacts = c.flags & BP_CONTEXT_MAP_ARTIFACTS;
  options.log = c.log;
  return fillPaths(c, options);
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
  if (Status status = checkNumbers(copy); !status.ok())
    return status;
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

/// The number that the variable gives, 0 when it is unset.
static uint32_t threadsFromEnvironment() {
  std::string text = environment("BACKPLANE_THREADS");
  uint32_t threads = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), threads);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (!secure_getenv("BACKPLANE_THREADS"))
    return 0;
  return whole && threads <= maxThreads ? threads : noThreads;
}

static void fillFromEnvironment(bp_context_options_t *options) {
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
  fillList("BACKPLANE_TRUSTED_DIRS", ':', options->trusted_dirs,
           options->trusted_dir_count);
  if (std::string map = environment("BACKPLANE_MAP_ARTIFACTS"); map == "1")
    options->flags |= BP_CONTEXT_MAP_ARTIFACTS;
  else if (!map.empty() && map != "0")
    options->flags |= noAnswer;
  if (!options->threads)
    options->threads = threadsFromEnvironment();
}

void contextOptionsFromEnvironment(bp_context_options_t *options) {
  bp_context_options_t mine;
  if (!options ||
      !copyStruct(options, bp_context_options_t_TYPE, "context options", mine)
           .ok())
    return;
  fillFromEnvironment(&mine);
  mine.header = options->header;
  std::memcpy(static_cast<void *>(options), &mine,
              std::min<size_t>(options->header.size, sizeof(mine)));
}

bp_context_options_t takeEnvironment() {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  fillFromEnvironment(&options);
  if (!checkNumbers(options).ok())
    return options;
  for (const char *variable :
       {"BACKPLANE_PLUGIN_FILES", "BACKPLANE_ADD_PLUGIN_FILES",
        "BACKPLANE_PLUGINS_SELECT", "BACKPLANE_PLUGINS_DISABLE",
        "BACKPLANE_CACHE_DIR", "BACKPLANE_WORKERS", "BACKPLANE_TRUSTED_DIRS",
        "BACKPLANE_MAP_ARTIFACTS", "BACKPLANE_THREADS"})
    unsetenv(variable);
  return options;
}

} // namespace backplane
