// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"
#include "backends/gpu/Queue.h"

#include <charconv>

#include <sys/stat.h>
#include <unistd.h>

namespace backplane::cuda {

plugin::Tables Plugin::tables() {
  return {&driverTable,         &gpu::memoryTable,     &executableTable,
          &gpu::queueTable,     &gpu::memory2Table,    &gpu::commandBufferTable,
          &gpu::semaphoreTable, &gpu::timestampsTable, &interopTable};
}

bool isSticky(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
    return true;
  default:
    return false;
  }
}

bp_status_t statusOf(CUresult result) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  return isSticky(result) ? BP_STATUS_UNAVAILABLE : BP_STATUS_INTERNAL;
}

// ---- Options ----

/// Why a library is not loaded: code comes from files that nobody but the user
/// and root can write.
static std::string distrust(const std::string &path) {
  constexpr mode_t othersWrite = S_IWGRP | S_IWOTH;
  struct stat file = {};
  if (path.empty() || path.front() != '/')
    return "is no absolute path";
  if (stat(path.c_str(), &file))
    return "does not exist";
  if (!S_ISREG(file.st_mode))
    return "is no file";
  if (file.st_uid != 0 && file.st_uid != geteuid())
    return "belongs to another user";
  return file.st_mode & othersWrite ? "can be written by others" : "";
}

static std::string readSm(const std::string &value, Options &out) {
  const char *end = value.data() + value.size();
  auto [at, failure] = std::from_chars(value.data(), end, out.sm);
  bool valid = failure == std::errc() && at == end && out.sm > 0;
  return valid ? "" : "is no compute capability such as 90";
}

bp_status_t readOptions(const Driver &driver, const bp_options_t *options,
                        Options &out, bp_error_t *error) {
  for (uint64_t i = 0; options && i < options->count; ++i) {
    const bp_option_t &option = options->items[i];
    std::string key(option.key.data, option.key.size);
    std::string value(option.value.data, option.value.size), wrong;
    if (key == "sm") {
      wrong = readSm(value, out);
    } else if (key == "precision") {
      out.tf32 = value == "tf32";
      wrong = out.tf32 ? "" : "is none; there is tf32";
    } else if (key == "library") {
      out.library = value;
      wrong = distrust(value);
    } else {
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "the CUDA driver knows no option \"" + key +
                      "\"; it has sm=NUMBER, precision=tf32 and library=PATH");
    }
    if (!wrong.empty())
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "option " + key + " is \"" + value + "\", which " + wrong);
  }
  return BP_STATUS_OK;
}

} // namespace backplane::cuda
