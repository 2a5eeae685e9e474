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

void findAll(Finder &finder, Functions &f) {
#define BP_ONEDNN_FIND(member, name) finder.find(#name, f.member);
  BP_ONEDNN_FUNCTIONS(BP_ONEDNN_FIND)
#undef BP_ONEDNN_FIND
  finder.find("omp_get_max_threads", f.maxThreads);
  finder.find("omp_set_num_threads", f.setThreads);
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
  findAll(finder, made->functions_);
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
