// SPDX-License-Identifier: Apache-2.0
//
// acme.h: the classes of the plug-in.
//
//   plugin.cpp        the one exported symbol
//   device.h          the classes of the device
//   compiler.cpp      which ops the device takes, and the code for one
//   driver.cpp        the device, its memory, executables and queues
//   instructions.cpp  what the device computes: replace it by your hardware
//   kernels.cpp       a kernel registered by the graph that it equals
#ifndef PLUGIN_H
#define PLUGIN_H

#include "device.h"

#include <backplane/cpp/Compiler.h>

#include <array>

inline constexpr std::string_view pluginName = "acme";
inline constexpr std::string_view formatName =
    "acme-1"; // new when blobs change
inline constexpr uint32_t maxBindings = 16, maxParameters = 16;

// ---- What the device can do ----

// Elements that one work-group of an elementwise instruction computes.
inline constexpr int64_t groupElements = 1024;
inline constexpr uint32_t maxAxes = 4;
// Parameters of an elementwise instruction: maxAxes sizes of the result, and
// for each operand from operandAt(index) on: the bits of a constant, or -1
// where it is a binding, and of this the elements from one index of each axis
// to the next, 0 where the axis is repeated.
constexpr uint32_t operandAt(uint32_t index) {
  return maxAxes + index * (1 + maxAxes);
}
// Parameters of matmul: m, k, n, and for each factor from factorAt(index) on
// the elements from one row, column and batch to the next.
constexpr uint32_t factorAt(uint32_t index) { return 3 + index * 3; }

// What a work-group sees: operands, then the result, and the parameters.
struct Call {
  std::array<float *, maxBindings> bindings;
  const int64_t *parameters;
};

struct Instruction {
  std::string_view name; // of an op, or of a registered kernel
  void (*run)(const Call &call, int64_t x, int64_t y); // one work-group
  uint32_t bindings, parameters;
};
extern const std::span<const Instruction> instructions;
const Instruction *findInstruction(std::string_view name); // or null

// The code of one op: what compile writes and load reads.
struct Blob {
  char magic[8];
  uint32_t instruction, inverse; // ~instruction: damage is found
};
Blob blobOf(const Instruction &instruction);
// Blobs come from files: why this is none, or none with these entries.
Result<const Instruction *> readBlob(const bp_executable_info_t &info);

// ---- The plug-in: driver, compiler and set of kernels ----

class Plugin {
public:
  using Device = ::Device;
  static constexpr Description description = {
      .name = pluginName,
      .vendor = "acme",
      .version = "0.1.0",
      .requiredMinor = 2, // the lowest that has all that is used here
  };

  // Open your runtime here. Absent hardware is no error: list no device.
  explicit Plugin(Host host) : host_(host) {}

  Status enumerate(Options options, DeviceSink sink);
  Result<std::unique_ptr<Device>> open(std::string_view id, Options options);

  Status targets(TargetSink sink);
  Claim claim(std::string_view target, GraphView graph);
  Result<Compiled> compile(const CompileRequest &request);

  Status describe(KernelSink sink);

private:
  Host host_;
};

#endif // PLUGIN_H
