// SPDX-License-Identifier: Apache-2.0
#include "ToolLibraries.h"
#include "hal/core/FloatScope.h"
#include "sdk/import/Import.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <mutex>

namespace backplane::rt {
namespace {

namespace fs = std::filesystem;

const char anchor = 0; // an address inside this library

std::string expectedPath(const char *name) {
  Dl_info info = {};
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (dladdr(&anchor, &info) && info.dli_fname) {
    fs::path file = fs::canonical(info.dli_fname, error);
    if (!error && file != self)
      return (file.parent_path() / name).string();
  }
  return (self.parent_path().parent_path() / "lib" / name).string();
}

/// A library and a function of it, looked up once.
template <typename Function> class Entrance {
public:
  Entrance(std::string (*path)(), const char *symbol)
      : path_(path), symbol_(symbol) {}

  Result<Function> get(const FileTrust &trust) {
    std::lock_guard lock(mutex_);
    if (function_)
      return function_;
    std::string path = path_();
    std::error_code error;
    if (!fs::exists(path, error))
      return notFound("compiling a model needs " + path +
                      ", which is not there; install Backplane's compiler or "
                      "run a compiled .bpx file");
    Result<TrustedFile> file = trust.open(path, "compiler library");
    if (!file)
      return file.status();
    void *library =
        dlopen(file->path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
      return Status(BP_STATUS_UNAVAILABLE,
                    std::string("cannot load the compiler: ") + dlerror());
    function_ = reinterpret_cast<Function>(dlsym(library, symbol_));
    if (!function_)
      return Status(BP_STATUS_FAILED_PRECONDITION,
                    path + ": lacks " + symbol_ + "; it is of another version");
    return function_;
  }

private:
  std::string (*path_)();
  const char *symbol_;
  std::mutex mutex_;
  Function function_ = nullptr;
};

int collectToolchain(dl_phdr_info *info, size_t, void *context) {
  std::string name = fs::path(info->dlpi_name).filename().string();
  for (const char *prefix : {"libLLVM", "libMLIR", "liblld"})
    if (name.starts_with(prefix))
      static_cast<std::vector<std::string> *>(context)->push_back(
          info->dlpi_name);
  return 0;
}

} // namespace

std::string ToolLibraries::importPath() {
  return expectedPath("libbackplane-import.so");
}

std::string ToolLibraries::compilerPath() {
  return expectedPath("libbackplane-compiler.so");
}

std::string ToolLibraries::workerPath() {
  fs::path folder = fs::path(compilerPath()).parent_path();
  return (folder.parent_path() / "bin/bp-compile-worker").string();
}

// Loading runs constructors, and what is folded must not depend on how the
// application rounds.

Result<Model> ToolLibraries::import(const std::string &path) const {
  FloatScope scope;
  static Entrance<decltype(&bp_import_onnx_internal)> entrance(
      &importPath, "bp_import_onnx_internal");
  auto function = entrance.get(trust_);
  if (!function)
    return function.status();
  Model model;
  std::string message;
  bp_status_t code = (*function)(path.c_str(), &model, &message);
  if (code != BP_STATUS_OK)
    return Status(code, std::move(message));
  return model;
}

Status ToolLibraries::compile(CompileRequest &request,
                              const CompileServices &services) const {
  FloatScope scope;
  static Entrance<decltype(&bp_compile_model_internal)> entrance(
      &compilerPath, "bp_compile_model_internal");
  auto function = entrance.get(trust_);
  if (!function)
    return function.status();
  std::string message;
  bp_status_t code = (*function)(&request, &services, &message);
  return code == BP_STATUS_OK ? Status() : Status(code, std::move(message));
}

Result<std::vector<std::string>> ToolLibraries::toolchain() const {
  FloatScope scope;
  static Entrance<decltype(&bp_compiler_llvm_version_internal)> entrance(
      &compilerPath, "bp_compiler_llvm_version_internal");
  auto function = entrance.get(trust_);
  if (!function)
    return function.status();
  std::vector<std::string> result;
  dl_iterate_phdr(&collectToolchain, &result);
  std::sort(result.begin(), result.end());
  result.insert(result.begin(), (*function)());
  return result;
}

} // namespace backplane::rt
