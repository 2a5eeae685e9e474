// SPDX-License-Identifier: Apache-2.0
#include "Inner.h"

#include <dlfcn.h>
#include <filesystem>

namespace backplane::mutants {

namespace {

Status failure(const std::string &path) {
  const char *reason = dlerror();
  return Status(BP_STATUS_FAILED_PRECONDITION,
                "cannot load the reference plug-in " + path + ": " +
                    (reason ? reason : "no reason given"));
}

Result<Inner> load() {
  Dl_info here = {};
  if (!dladdr(reinterpret_cast<void *>(&inner), &here))
    return internalError("the folder of the plug-in is not known");
  auto folder = std::filesystem::path(here.dli_fname).parent_path();
  std::string path = (folder.parent_path() / "plugins/libbp-ref.so").string();
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return failure(path);
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(library, BP_PLUGIN_QUERY_SYMBOL));
  if (!query)
    return failure(path);
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = host.minor_high = BP_ABI_MINOR;
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  if (query(&host, &info) != BP_STATUS_OK)
    return internalError(path + " refuses this host");
  return Inner{info.plugin,     info.driver, info.memory,
               info.executable, info.queue,  info.compiler};
}

} // namespace

Result<const Inner *> inner() {
  static const Result<Inner> loaded = load();
  if (!loaded)
    return loaded.status();
  return &*loaded;
}

} // namespace backplane::mutants
