// SPDX-License-Identifier: Apache-2.0
#include "Library.h"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

namespace backplane::cublaslt {

Result<const Library *> Library::openFile(const std::string &name) {
  void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return notFound("cuBLASLt is not here: " + std::string(dlerror()) +
                    "; install it, or name its file with the option library");
  auto made = std::make_unique<Library>();
  const char *missing = nullptr;
#define BP_CUBLASLT_FIND(function)                                             \
  made->function =                                                             \
      reinterpret_cast<decltype(made->function)>(dlsym(handle, #function));    \
  if (!made->function)                                                         \
    missing = #function;
  BP_CUBLASLT_FUNCTIONS(BP_CUBLASLT_FIND)
#undef BP_CUBLASLT_FIND
  if (missing)
    return notFound(name + " has no " + missing +
                    "; the kernels need cuBLASLt 12 or 13");
  return made.release();
}

Result<const Library *> Library::open(const std::string &name) {
  static std::mutex mutex;
  static std::map<std::string, const Library *> known;
  std::lock_guard lock(mutex);
  if (auto found = known.find(name); found != known.end())
    return found->second;
  Result<const Library *> opened =
      openFile(name.empty() ? "libcublasLt.so.13" : name);
  if (!opened && name.empty())
    if (auto older = openFile("libcublasLt.so.12"))
      opened = older;
  if (opened)
    known[name] = *opened;
  return opened;
}

Status Library::check(cublasStatus_t status, const char *what) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return Status(status == CUBLAS_STATUS_ALLOC_FAILED
                    ? BP_STATUS_RESOURCE_EXHAUSTED
                    : BP_STATUS_INTERNAL,
                std::string(what) + ": " + cublasLtGetStatusString(status));
}

} // namespace backplane::cublaslt
