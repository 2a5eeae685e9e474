// SPDX-License-Identifier: Apache-2.0
#include "Library.h"
#include "Changes.h"
#include "hal/core/PluginCall.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace backplane::checks {

Library::Library(Trial &trial) : trial_(trial) {
  const std::string &path = trial.tested().library;
  handle_ = Changes::load(path);
  if (!handle_) {
    const char *reason = dlerror();
    trial.fail("cannot load " + path + ": " + (reason ? reason : "no reason"));
    return;
  }
  query_ = reinterpret_cast<bp_plugin_query_t>(
      dlsym(handle_, BP_PLUGIN_QUERY_SYMBOL));
  trial.expect(query_, "the library does not export " BP_PLUGIN_QUERY_SYMBOL);
}

bp_host_info_t hostInfo() {
  bp_host_info_t info = {BP_HEADER(bp_host_info_t)};
  info.minor_low = 1;
  info.minor_high = BP_ABI_MINOR;
  info.version = {"0.1.0", 5};
  return info;
}

bp_plugin_info_t Library::info() const {
  // What lies after the struct must stay as it is.
  constexpr uint8_t untouched = 0x5C;
  struct {
    bp_plugin_info_t info;
    std::array<uint8_t, 4096> guard;
  } answer = {{BP_HEADER(bp_plugin_info_t)}, {}};
  answer.guard.fill(untouched);
  if (!query_)
    return answer.info;
  bp_host_info_t host = hostInfo();
  int32_t status = BP_STATUS_UNKNOWN;
  {
    PluginCall call(BP_PLUGIN_QUERY_SYMBOL);
    status = query_(&host, &answer.info);
  }
  trial_.expect(status == BP_STATUS_OK, BP_PLUGIN_QUERY_SYMBOL " gave status " +
                                            std::to_string(status));
  trial_.expect(std::count(answer.guard.begin(), answer.guard.end(),
                           untouched) == int64_t(answer.guard.size()),
                BP_PLUGIN_QUERY_SYMBOL " wrote behind its struct");
  return answer.info;
}

void Library::unload() {
  if (handle_)
    dlclose(handle_);
  handle_ = nullptr;
  query_ = nullptr;
}

} // namespace backplane::checks
