// SPDX-License-Identifier: Apache-2.0
//
// Plugin.cpp: the set as a class. Option of the manifest: `library`, the file
// of oneDNN.
#include "Kernels.h"
#include "OneDnn.h"

#include <array>

namespace backplane::onednn {
namespace {

class Set {
public:
  static constexpr plugin::Description description = {.name = "onednn",
                                                      .vendor = "Backplane",
                                                      .version = "1.0.0",
                                                      .requiredMinor = 2};

  static Result<std::unique_ptr<Set>> initialize(plugin::Host,
                                                 plugin::Options options) {
    constexpr std::array<std::string_view, 1> known = {"library"};
    if (Status s = options.refuseOthers("onednn", known); !s.ok())
      return s;
    auto made = std::make_unique<Set>();
    made->library_ = options.get("library", "libdnnl.so.3");
    return made;
  }

  Status describe(plugin::KernelSink sink) { return onednn::describe(sink); }

  Result<bp_native_function_t> resolve(std::string_view kernel,
                                       uint32_t version, std::string_view entry,
                                       const bp_device_info_t &device) {
    if (version != 1)
      return notFound("onednn has version 1 of " + std::string(kernel));
    for (std::string_view feature : {"avx2", "fma"})
      if (!has(device, feature))
        return notFound("onednn needs a device with " + std::string(feature));
    bp_native_function_t function = {BP_HEADER(bp_native_function_t)};
    function.cpu = functionOf(entry);
    if (!function.cpu)
      return notFound("onednn has no entry " + std::string(entry));
    auto library = OneDnn::open(library_);
    if (!library)
      return library.status();
    function.self = const_cast<OneDnn *>(*library);
    return function;
  }

private:
  static bool has(const bp_device_info_t &device, std::string_view feature) {
    for (uint64_t i = 0; i < device.feature_count; ++i)
      if (view(device.features[i]) == feature)
        return true;
    return false;
  }

  std::string library_;
};

} // namespace
} // namespace backplane::onednn

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  return backplane::plugin::Library<backplane::onednn::Set>::query(host, out);
}
