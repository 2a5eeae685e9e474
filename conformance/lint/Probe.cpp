// SPDX-License-Identifier: Apache-2.0
#include "Probe.h"
#include "Layouts.h"
#include "conformance/plugin/ElfFile.h"
#include "hal/core/Guarded.h"
#include "hal/core/Tables.h"

#include <dlfcn.h>

namespace backplane::lint {

static std::string lastError() {
  const char *reason = dlerror();
  return reason ? reason : "no reason";
}

/// Finds all symbols that no library of the tree has.
bool Probe::resolve(void *handle) const {
  Result<checks::ElfFile> file = checks::ElfFile::read(library_.path);
  if (!file)
    return true;
  bool whole = true;
  for (const checks::ElfSymbol &symbol : file->symbols) {
    if (symbol.defined() || symbol.weak() || symbol.name.empty())
      continue;
    dlerror();
    (void)(symbol.version.empty()
               ? dlsym(handle, symbol.name.c_str())
               : dlvsym(handle, symbol.name.c_str(), symbol.version.c_str()));
    if (!dlerror())
      continue;
    whole = false;
    if (symbol.name.starts_with("bp_"))
      continue; // BPL105 says so.
    find("BPL107", "needs '" + symbol.name +
                       "', which no library has that it is linked with");
  }
  return whole;
}

/// Loads it as the host does, but first without binding its functions, so that
/// all of those that are missing can be told.
bool Probe::open() {
  call("loading");
  void *handle = dlopen(library_.path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    std::string reason = lastError();
    bool symbol = reason.find("undefined symbol") != std::string::npos;
    find(symbol ? "BPL107" : "BPL201", reason);
    return false;
  }
  if (!resolve(handle))
    return false;
  handle_ = dlopen(library_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    find("BPL201", lastError());
  return handle_ != nullptr;
}

bool Probe::ask() {
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(handle_, BP_PLUGIN_QUERY_SYMBOL));
  if (!query)
    return false; // BPL102 says so.
  call(BP_PLUGIN_QUERY_SYMBOL);
  Guarded<bp_plugin_info_t> answer(BP_HEADER(bp_plugin_info_t));
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = 1;
  host.minor_high = BP_ABI_MINOR;
  int32_t status = query(&host, &answer.value());
  if (status != BP_STATUS_OK) {
    find("BPL207", BP_PLUGIN_QUERY_SYMBOL " gives status " +
                       std::to_string(status) +
                       " to a host of version 0.1 to "
                       "0." +
                       std::to_string(BP_ABI_MINOR));
    return false;
  }
  Status copied = copyStruct(&answer.value(), bp_plugin_info_t_TYPE,
                             "the plug-in info", info_);
  if (!copied.ok())
    find("BPL203", copied.message());
  for (bp_string_t text : {info_.name, info_.vendor, info_.version})
    if (constexpr uint64_t most = 256;
        text.size > most || (text.size && !text.data)) {
      find("BPL207", "a text of the plug-in info is damaged: it has " +
                         std::to_string(text.size) + " bytes");
      return false;
    }
  return copied.ok();
}

void Probe::lintHeader(const void *header, uint32_t type,
                       const char *structName, const std::string &what) const {
  std::string fault =
      headerFault(header, type, structName, what, info_.built_minor);
  if (!fault.empty())
    find("BPL203", fault);
}

} // namespace backplane::lint
