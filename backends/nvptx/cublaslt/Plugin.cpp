// SPDX-License-Identifier: Apache-2.0
//
// Plugin.cpp: the set as a class. Option of the manifest: `library`, the file
// of cuBLASLt.
#include "Kernels.h"
#include "Product.h"

#include <array>

namespace backplane::cublaslt {
namespace {

template <typename Function>
Function find(const bp_device_handles_t &device, const char *name) {
  return reinterpret_cast<Function>(device.find(device.find_self, name));
}

/// A context: one that is made later may be at the address of one that is gone,
/// but has another number, where CUDA counts them (since version 12).
using ContextId = std::pair<const void *, unsigned long long>;

ContextId idOf(const bp_device_handles_t &device) {
  using GetId = int (*)(void *context, unsigned long long *id);
  ContextId id = {device.context, 0};
  if (auto ask = find<GetId>(device, "cuCtxGetId"))
    ask(device.context, &id.second);
  return id;
}

/// Makes a context the calling thread's for as long as it lives.
class Current {
public:
  explicit Current(const bp_device_handles_t &device)
      : pop_(find<Pop>(device, "cuCtxPopCurrent_v2")) {
    auto push = find<Push>(device, "cuCtxPushCurrent_v2");
    isPushed_ = push && pop_ && !push(device.context);
  }
  ~Current() {
    void *popped;
    if (isPushed_)
      pop_(&popped);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  explicit operator bool() const { return isPushed_; }

private:
  using Push = int (*)(void *context);
  using Pop = int (*)(void **context);

  Pop pop_;
  bool isPushed_;
};

class Set {
public:
  static constexpr plugin::Description description = {.name = "cublaslt",
                                                      .vendor = "Backplane",
                                                      .version = "1.0.0",
                                                      .requiredMinor = 4};

  static Result<std::unique_ptr<Set>> initialize(plugin::Host host,
                                                 plugin::Options options) {
    constexpr std::array<std::string_view, 1> known = {"library"};
    if (Status s = options.refuseOthers("cublaslt", known); !s.ok())
      return s;
    std::unique_ptr<Set> made(new Set(host));
    made->library_ = options.get("library", "");
    return made;
  }

  Status describe(plugin::KernelSink sink) { return cublaslt::describe(sink); }

  Result<bp_native_function_t> resolve(std::string_view kernel,
                                       uint32_t version, std::string_view entry,
                                       const bp_device_info_t &device) {
    if (version != 1 || entry != productEntry)
      return notFound("cublaslt has version 1 of " + std::string(kernel) +
                      ", with the entry " + productEntry);
    const bp_device_handles_t *handles = plugin::handlesOf(device);
    if (!handles || view(handles->api) != "cuda")
      return notFound("cublaslt needs a device of CUDA");
    if (library_.empty() && device.flags & BP_DEVICE_EMULATED)
      return notFound("an emulated device executes PTX, and cuBLASLt has none");
    Result<const Library *> library = Library::open(library_);
    if (!library)
      return library.status();
    Result<Products *> products = productsOf(**library, *handles);
    if (!products)
      return products.status();
    bp_native_function_t function = {BP_HEADER(bp_native_function_t)};
    function.launch = Products::launch;
    function.self = *products;
    return function;
  }

private:
  explicit Set(plugin::Host host) : host_(host) {}

  Result<Products *> productsOf(const Library &library,
                                const bp_device_handles_t &device) {
    const Current current(device);
    if (!current)
      return notFound("the device's context cannot be made current");
    std::lock_guard lock(mutex_);
    std::unique_ptr<Products> &products = products_[idOf(device)];
    if (products)
      return products.get();
    auto made = Products::open(library, host_);
    if (!made)
      return Status(BP_STATUS_NOT_FOUND, made.status().message());
    products = std::move(*made);
    return products.get();
  }

  plugin::Host host_;
  std::string library_;
  std::mutex mutex_;
  std::map<ContextId, std::unique_ptr<Products>>
      products_; ///< guarded by mutex_
};

} // namespace
} // namespace backplane::cublaslt

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  return backplane::plugin::Library<backplane::cublaslt::Set>::query(host, out);
}
