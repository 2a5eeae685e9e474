// SPDX-License-Identifier: Apache-2.0
//
// `bp new-plugin`: copies a template, which is a plug-in called "acme" that
// builds and runs as it is, and puts the name of the new one in its place.
#include "Common.h"
#include "backplane/compiler.h"
#include "sdk/support/ProgramFolder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace fs = std::filesystem;

namespace backplane {
namespace {

constexpr std::string_view placeholder = "acme";
constexpr size_t longestName = 32;

/// Names that mean something else: to device URIs, or to CMake.
constexpr std::string_view reserved[] = {
    "auto",    "worker", "all",        "clean",         "help",
    "install", "test",   "edit_cache", "rebuild_cache", "package",
};

Status checkName(const std::string &name) {
  bool valid = !name.empty() && name.size() <= longestName && name[0] >= 'a' &&
               name[0] <= 'z';
  for (char c : name)
    valid &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  if (!valid)
    return invalidArgument(
        "'" + name +
        "' is no name of a plug-in: take a letter, then letters, digits and "
        "dashes, all in lower case, at most " +
        std::to_string(longestName));
  for (std::string_view one : reserved)
    if (name == one)
      return invalidArgument("the name '" + name +
                             "' has another meaning in device URIs or CMake; "
                             "take another one");
  return {};
}

/// Gives whether the plug-in of a listing has the name in `context`.
template <typename Listing> struct Finder {
  std::string name;
  bool found = false;

  static bp_status_t put(void *context, const Listing *listing) {
    auto &finder = *static_cast<Finder *>(context);
    finder.found |= view(listing->plugin) == finder.name;
    return BP_STATUS_OK;
  }
};

/// Whether a plug-in of this name is in reach: a driver, a compiler or a set of
/// kernels.
Status checkFree(const std::string &name) {
  Result<Context> context = openContext(0);
  if (!context)
    return context.status();
  Finder<bp_device_listing_t> devices{name};
  Finder<bp_target_listing_t> targets{name};
  Finder<bp_kernel_listing_t> kernels{name};
  bp_device_listing_sink_t deviceSink = {devices.put, &devices};
  bp_target_listing_sink_t targetSink = {targets.put, &targets};
  bp_kernel_listing_sink_t kernelSink = {kernels.put, &kernels};
  Status status = checked([&](bp_error_t *error) {
    bp_status_t code = bp_context_devices(context->get(), &deviceSink, error);
    if (!code)
      code = bp_context_targets(context->get(), {}, &targetSink, error);
    return code ? code : bp_context_kernels(context->get(), &kernelSink, error);
  });
  if (!status.ok() || (!devices.found && !targets.found && !kernels.found))
    return status;
  return Status(BP_STATUS_ALREADY_EXISTS,
                "there is a plug-in '" + name +
                    "' already; take another name, or hide it with "
                    "BACKPLANE_PLUGINS_DISABLE=" +
                    name);
}

/// Where the templates are: beside the programs, installed or built.
Result<fs::path> templateFolder(const NewPluginOptions &options) {
  std::error_code code;
  fs::path all = programFolder().parent_path() / "share/backplane/templates";
  // In the first language that there is for the kind, where none is named.
  for (std::string_view lang : {"c", "cpp", "mlir"})
    if (options.lang.empty() || options.lang == lang)
      if (fs::path one = all / (std::string(lang) + "-" + options.kind);
          fs::is_directory(one, code))
        return one;
  std::string known;
  std::set<std::string> names;
  for (fs::directory_iterator one(all, code), end; !code && one != end;
       one.increment(code))
    names.insert(one->path().filename().string());
  for (const std::string &name : names) {
    size_t dash = name.find('-');
    known += (known.empty() ? "" : ", ") + ("--lang " + name.substr(0, dash)) +
             " --kind " + name.substr(dash + 1);
  }
  if (known.empty())
    return notFound("no templates in '" + all.string() +
                    "': install Backplane again");
  return unimplemented(
      "there is no template for " +
      (options.lang.empty() ? "" : "--lang " + options.lang + " ") + "--kind " +
      options.kind + "; there is " + known);
}

std::string renamed(std::string text, const std::string &name) {
  for (size_t at = 0; (at = text.find(placeholder, at)) != std::string::npos;
       at += name.size())
    text.replace(at, placeholder.size(), name);
  return text;
}

Status copyFile(const fs::path &from, const fs::path &to,
                const std::string &name) {
  std::ifstream in(from, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    return notFound("cannot read '" + from.string() + "'");
  std::ofstream out(to, std::ios::binary);
  out << renamed(std::move(text), name);
  out.close();
  if (!out)
    return internalError("cannot write '" + to.string() +
                         "': " + std::strerror(errno));
  return {};
}

/// Copies a folder into one that exists.
Status copyFolder(const fs::path &from, const fs::path &to,
                  const std::string &name) {
  std::error_code code;
  for (fs::recursive_directory_iterator one(from, code), end;
       !code && one != end; one.increment(code)) {
    fs::path target =
        to / renamed(fs::relative(one->path(), from).string(), name);
    if (one->is_directory(code))
      fs::create_directory(target, code);
    else if (Status status = copyFile(one->path(), target, name); !status.ok())
      return status;
    if (code)
      break;
  }
  if (code)
    return internalError("cannot copy '" + from.string() + "' to '" +
                         to.string() + "': " + code.message());
  return {};
}

/// Makes the whole folder or none.
Status write(const fs::path &from, const fs::path &out,
             const std::string &name) {
  std::error_code code;
  if (fs::exists(fs::symlink_status(out, code)))
    return Status(BP_STATUS_ALREADY_EXISTS,
                  "'" + out.string() +
                      "' is there already; name another folder with --out");
  std::string temporary = out.string() + ".XXXXXX";
  if (!mkdtemp(temporary.data()))
    return notFound("cannot make a folder beside '" + out.string() +
                    "': " + std::strerror(errno));
  Status status = copyFolder(from, temporary, name);
  if (status.ok()) {
    fs::permissions(temporary, fs::perms(0755), code);
    fs::rename(temporary, out, code);
    if (code)
      status = internalError("cannot make '" + out.string() +
                             "': " + code.message());
  }
  if (!status.ok())
    fs::remove_all(temporary, code);
  return status;
}

/// What to try first: passes are of a target, and have no device of their own.
std::string firstUse(const NewPluginOptions &options) {
  if (options.lang == "mlir")
    return "bp compile model.onnx -o model.bpx --target " + options.name;
  return "bp run model.onnx --device " + options.name +
         " --random-inputs 1 --why";
}

} // namespace

int runNewPlugin(const NewPluginOptions &options) {
  if (Status status = checkName(options.name); !status.ok())
    return fail(status);
  Result<fs::path> from = templateFolder(options);
  if (!from)
    return fail(from.status());
  if (Status status = checkFree(options.name); !status.ok())
    return fail(status);
  fs::path out = options.out.empty() ? options.name : options.out;
  if (!out.has_filename())
    out = out.parent_path();
  if (Status status = write(*from, out, options.name); !status.ok())
    return fail(status);
  fs::path prefix =
      from->parent_path().parent_path().parent_path().parent_path();
  std::error_code error;
  std::string install;
  if (!fs::exists(prefix / "lib/cmake/Backplane", error)) {
    install = "  cmake --install " + prefix.string() +
              " --prefix ~/backplane  # this bp is not installed\n";
    prefix = "~/backplane";
  }
  std::printf("wrote %s; build it and run a model on it:\n"
              "%s  cd %s\n"
              "  cmake -B build -DCMAKE_PREFIX_PATH=%s && cmake --build build\n"
              "  export BACKPLANE_ADD_PLUGIN_FILES=$PWD/build/%s.bp.json\n"
              "  %s\n"
              "README.md has the next steps\n",
              out.c_str(), install.c_str(), out.c_str(), prefix.c_str(),
              options.name.c_str(), firstUse(options).c_str());
  return 0;
}

} // namespace backplane
