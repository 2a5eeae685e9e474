// SPDX-License-Identifier: Apache-2.0
//
// EntryProc.cpp: cuGetProcAddress, by the plain names of the functions.
#include <cuda.h>

#include <dlfcn.h>
#include <string>

namespace {

// This library, whatever else has functions of these names.
void *self() {
  static void *const handle = []() -> void * {
    static const char inside = 0;
    Dl_info info = {};
    if (!dladdr(&inside, &info))
      return nullptr;
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return handle;
}

// Functions of which the header has a second version are exported as that.
void *find(const std::string &name) {
  if (!self() || !name.starts_with("cu") || name.ends_with("_v2"))
    return nullptr;
  void *second = dlsym(self(), (name + "_v2").c_str());
  return second ? second : dlsym(self(), name.c_str());
}

} // namespace

extern "C" CUresult cuGetProcAddress(const char *symbol, void **function, int,
                                     cuuint64_t,
                                     CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = find(symbol);
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
