// SPDX-License-Identifier: Apache-2.0
#include "OneDnn.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

namespace backplane::onednn {
namespace {

/// Looks up functions; the name of the first that is missing stays.
class Finder {
public:
  explicit Finder(void *library) : library_(library) {}

  template <typename Function> void find(const char *name, Function &function) {
    void *symbol = dlsym(library_, name);
    function = reinterpret_cast<Function>(symbol);
    if (!symbol && missing.empty())
      missing = name;
  }

  std::string missing;

private:
  void *library_;
};

void findMemory(Finder &finder, Functions &f) {
  finder.find("dnnl_version", f.version);
  finder.find("dnnl_engine_create", f.createEngine);
  finder.find("dnnl_stream_create", f.createStream);
  finder.find("dnnl_stream_destroy", f.destroyStream);
  finder.find("dnnl_memory_desc_create_with_tag", f.createDesc);
  finder.find("dnnl_memory_desc_destroy", f.destroyDesc);
  finder.find("dnnl_memory_desc_get_size", f.sizeOf);
  finder.find("dnnl_memory_create", f.createMemory);
  finder.find("dnnl_memory_destroy", f.destroyMemory);
  finder.find("omp_get_max_threads", f.maxThreads);
  finder.find("omp_set_num_threads", f.setThreads);
}

void findPrimitives(Finder &finder, Functions &f) {
  finder.find("dnnl_primitive_attr_create", f.createAttr);
  finder.find("dnnl_primitive_attr_destroy", f.destroyAttr);
  finder.find("dnnl_primitive_attr_set_scratchpad_mode", f.setScratchpad);
  finder.find("dnnl_convolution_forward_primitive_desc_create",
              f.createConvolution);
  finder.find("dnnl_reorder_primitive_desc_create", f.createReorder);
  finder.find("dnnl_primitive_desc_destroy", f.destroyPrimitiveDesc);
  finder.find("dnnl_primitive_desc_query_md", f.queryDesc);
  finder.find("dnnl_primitive_create", f.createPrimitive);
  finder.find("dnnl_primitive_destroy", f.destroyPrimitive);
  finder.find("dnnl_primitive_execute", f.execute);
}

} // namespace

Result<const OneDnn *> OneDnn::open(const std::string &library) {
  static std::mutex mutex;
  static std::map<std::string, const OneDnn *> known;
  std::lock_guard lock(mutex);
  if (auto found = known.find(library); found != known.end())
    return found->second;
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return notFound("oneDNN is not here: " + std::string(dlerror()) +
                    "; install it, or name its file with the option library");
  auto made = std::make_unique<OneDnn>();
  Finder finder(handle);
  findMemory(finder, made->functions_);
  findPrimitives(finder, made->functions_);
  if (!finder.missing.empty())
    return notFound(library + " has no " + finder.missing +
                    "; the kernels need oneDNN 3 built with OpenMP");
  OneThread one(*made);
  const dnnl_version_t *version = made->functions_.version();
  if (version->major != DNNL_VERSION_MAJOR)
    return notFound(library + " is oneDNN " + std::to_string(version->major) +
                    ", the kernels need version " +
                    std::to_string(DNNL_VERSION_MAJOR));
  if (made->functions_.createEngine(&made->engine_, dnnl_cpu, 0))
    return notFound(library + " has no engine for this CPU");
  return known[library] = made.release();
}

} // namespace backplane::onednn
