// SPDX-License-Identifier: Apache-2.0
//
// KernelHarness.h: compiles a dispatch written in MLIR text, loads the image
// and runs it, for the tests and the benchmark of this folder.
#ifndef BACKPLANE_EMIT_TEST_KERNELHARNESS_H
#define BACKPLANE_EMIT_TEST_KERNELHARNESS_H

#include "backplane/kernel.h"
#include "sdk/emit/Emit.h"
#include "sdk/graph/Dim.h"

#include <memory>
#include <string>
#include <vector>

namespace backplane::test {

/// The pipelines of backends/x86 for AMX, AVX-512 with and without VNNI, AVX2
/// or any x86-64, and of backends/arm for NEON.
enum class Isa { Amx, Vnni, Avx512, Avx2, Baseline, Neon };
/// Those of this machine's architecture that have fused products, widest first;
/// the CPU may lack some.
std::vector<Isa> ownIsas();
/// Whether the CPU has the instructions.
bool hasIsa(Isa isa);
std::vector<EmitStage> fastStages(Isa isa);
/// Plain loops: slow, and the least code that can be wrong.
std::vector<EmitStage> plainStages();
EmitTarget hostTarget(Isa isa);

/// Shape and element type of a binding.
struct BindingInfo {
  std::vector<Dim> dims;
  char kind = 'f'; ///< f: float, i: integer, b: bfloat16
  unsigned bits = 32;
  bool output = false;

  /// Bytes for these symbols.
  size_t bytes(const SymbolValues &symbols) const;
};

/// Names of the dispatch functions of a module: those with `bp.inputs`, and
/// those of a dump of the fusion stage.
std::vector<std::string> dispatchNames(const std::string &text);

/// A compiled and loaded dispatch.
class Kernel {
public:
  /// Null after a diagnostic on stderr. `name` picks one of several functions;
  /// one in the `bp` dialect is lowered first.
  static std::unique_ptr<Kernel> compile(const std::string &text,
                                         const EmitTarget &target,
                                         std::vector<EmitStage> stages,
                                         bool dump = false,
                                         const std::string &name = "");
  ~Kernel();

  const std::vector<BindingInfo> &bindings() const { return bindings_; }
  const std::vector<std::string> &symbols() const { return symbols_; }
  const EntryInfo &entry() const { return entry_; }
  /// The linked ELF image.
  const std::vector<uint8_t> &image() const { return image_; }
  double compileSeconds() const { return seconds_; }
  /// Runs the whole grid on `threads` threads; gives the error word.
  uint32_t run(const std::vector<void *> &bindings, const SymbolValues &symbols,
               unsigned threads = 1) const;

private:
  Kernel() = default;
  std::vector<BindingInfo> bindings_;
  std::vector<std::string> symbols_;
  EntryInfo entry_;
  std::vector<uint8_t> image_;
  void *library_ = nullptr;
  bp_cpu_entry_t function_ = nullptr;
  double seconds_ = 0;
};

/// Memory for the bindings of a kernel: inputs are filled with small values
/// from `seed`, outputs with a pattern.
struct Buffers {
  Buffers(const std::vector<BindingInfo> &bindings, const SymbolValues &symbols,
          unsigned seed);
  std::vector<void *> pointers() const;
  std::vector<std::vector<uint8_t>> storage;
};

/// The largest |a - b| / (1 + |b|) over all outputs; infinite when one is NaN
/// and the other is not.
double compareOutputs(const std::vector<BindingInfo> &bindings,
                      const Buffers &a, const Buffers &b,
                      const SymbolValues &symbols);

} // namespace backplane::test

#endif // BACKPLANE_EMIT_TEST_KERNELHARNESS_H
