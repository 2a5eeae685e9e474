// SPDX-License-Identifier: Apache-2.0
//
// Error.h: what stops a load, a launch or a call. Thrown inside the library
// only; every entry point catches it and returns its code.
#pragma once

#include <cuda.h>

#include <string>
#include <utility>

namespace emulator {

struct Error {
  CUresult code = CUDA_ERROR_UNKNOWN;
  std::string text;
};

[[noreturn]] inline void fail(CUresult code, std::string text) {
  throw Error{code, std::move(text)};
}

} // namespace emulator
