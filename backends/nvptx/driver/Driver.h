// SPDX-License-Identifier: Apache-2.0
//
// Driver.h: what one context of the application has of the CUDA driver: the
// host's services and the tables that the host calls.
#ifndef BACKPLANE_CUDA_DRIVER_H
#define BACKPLANE_CUDA_DRIVER_H

#include "Cuda.h"
#include "backends/gpu/Driver.h"
#include "backplane/cpp/Tables.h"

#include <string>

namespace backplane::cuda {

using gpu::Driver;
using gpu::fail;
using gpu::outOfMemory;
using gpu::readStruct;

/// What `initialize` makes.
struct Plugin : Driver {
  static constexpr plugin::Description description = {
      .name = "cuda", .vendor = "Backplane", .version = "0.1.0"};
  explicit Plugin(plugin::Host host) : Driver{&host.c(), "CUDA"} {}
  static plugin::Tables tables();
};

/// What the query part of a device URI says.
struct Options {
  /// The emulated architecture: `sm=90`; 0: any.
  int sm = 0;
  /// Factors of f32 may be rounded to tf32: `precision=tf32`.
  bool tf32 = false;
  /// A library in the place of the machine's: `library=PATH`.
  std::string library;
};

/// Reads the options; unknown ones are refused by name.
bp_status_t readOptions(const Driver &driver, const bp_options_t *options,
                        Options &out, bp_error_t *error);
/// The status that a failed call of CUDA is to the host.
bp_status_t statusOf(CUresult result);
/// Whether nothing runs in the context any more.
bool isSticky(CUresult result);

extern const bp_driver_table_t driverTable;
extern const bp_executable_table_t executableTable;
extern const bp_interop_table_t interopTable;

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_DRIVER_H
