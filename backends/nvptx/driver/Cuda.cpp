// SPDX-License-Identifier: Apache-2.0
#include "Cuda.h"
#include "backends/gpu/Driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include <map>
#include <mutex>

namespace backplane::cuda {

/// What dlopen says, without the path that it begins with twice.
static std::string loadError() {
  const char *text = dlerror();
  return text ? text : "it cannot be opened";
}

/// An emulator writes each fault to stderr, as its users have nobody else who
/// tells them. Here messages have it; the environment may say otherwise.
static void silence(void *library) {
  using Set = int (*)(const char *name, const char *value);
  const char *options = std::getenv("BP_CUDA_EMULATOR");
  auto set = reinterpret_cast<Set>(dlsym(library, "bp_cuda_emulator_set"));
  if (set && !(options && std::strstr(options, "log=")))
    set("log", "0");
}

const Cuda *Cuda::open(const std::string &path, std::string *reason) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *reason = loadError();
    return nullptr;
  }
  static const auto find = [](void *from, const char *name, auto &out) {
    void *symbol = dlsym(from, name);
    out = reinterpret_cast<std::decay_t<decltype(out)>>(symbol);
    return symbol != nullptr;
  };
  auto *made = new Cuda;
  made->library_ = library;
  const char *missing = nullptr;
#define BP_CUDA_FIND(function, name)                                           \
  if (!find(library, name, made->function))                                    \
    missing = name;
  BP_CUDA_FUNCTIONS(BP_CUDA_FIND)
#undef BP_CUDA_FIND
  find(library, "cuTensorMapEncodeTiled", made->cuTensorMapEncodeTiled);
  find(library, "bp_cuda_emulator_last_error", made->lastError_);
  silence(library);
  CUresult result = missing ? CUDA_SUCCESS : made->cuInit(0);
  if (!missing && result == CUDA_SUCCESS)
    return made;
  *reason = path + (missing ? " has no " + std::string(missing) +
                                  ", so it is older than CUDA 11.8 or no "
                                  "driver of CUDA"
                            : ": " + made->describe(result));
  delete made;
  return nullptr;
}

namespace {

struct Opened {
  const Cuda *cuda;
  std::string reason;
};

} // namespace

const Cuda *Cuda::shared(const std::string &path, std::string *reason) {
  static std::mutex mutex;
  static auto *all = new std::map<std::string, Opened>;
  std::lock_guard lock(mutex);
  auto [place, isNew] = all->try_emplace(path);
  Opened &opened = place->second;
  if (isNew)
    opened.cuda = open(path, &opened.reason);
  *reason = opened.reason;
  return opened.cuda;
}

void *Cuda::find(const char *name) const { return dlsym(library_, name); }

std::string Cuda::describe(CUresult result) const {
  char text[gpu::maxMessage];
  describe(result, text);
  return text;
}

void Cuda::describe(CUresult result, std::span<char> text) const {
  const char *name = nullptr, *meaning = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &meaning);
  char more[gpu::maxMessage] = "";
  if (lastError_)
    lastError_(more, sizeof more);
  std::snprintf(text.data(), text.size(), "%s: %s%s%s",
                name ? name : "unknown error", meaning ? meaning : "",
                *more ? ": " : "", more);
  std::replace(text.begin(), text.begin() + std::strlen(text.data()), '\n',
               ' ');
}

std::string emulatorLibrary() {
  Dl_info info = {};
  dladdr(reinterpret_cast<void *>(&emulatorLibrary), &info);
  std::string path = info.dli_fname ? info.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1) + "libbp-cuda-emulator.so";
}

} // namespace backplane::cuda
