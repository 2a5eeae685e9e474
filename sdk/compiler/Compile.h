// SPDX-License-Identifier: Apache-2.0
//
// Compile.h: the entry of libbackplane-compiler.so, which holds everything that
// needs MLIR and is loaded only when something must be compiled.
//
// The plug-ins are loaded by the host library; the compiler gets their tables.
#ifndef BACKPLANE_COMPILER_COMPILE_H
#define BACKPLANE_COMPILER_COMPILE_H

#include "backplane/graph.h"
#include "hal/core/CompilerPlugin.h"
#include "hal/core/KernelSet.h"
#include "sdk/graph/Model.h"

namespace backplane {

/// What the host library does for the compiler.
struct CompileServices {
  std::vector<CompilerPlugin> plugins;
  std::vector<KernelSet> kernelSets;
  const bp_graph_table_t *graphTable = nullptr;
  /// Runs a graph of primitives (static shapes) on the reference device and
  /// gives its outputs: constant folding, never by target code.
  std::function<Result<std::vector<Bytes>>(
      const Graph &graph, std::span<const std::span<const uint8_t>> inputs)>
      evaluate;
  /// How many kernels may be generated at once, each on a thread; those that
  /// follow are called from all of these.
  uint32_t threads = 1;
  /// Kernel-level cache, both may be empty: the blob of a key, or none.
  std::function<std::optional<Bytes>(const std::string &key)> cacheGet;
  std::function<void(const std::string &key, std::span<const uint8_t> blob)>
      cachePut;
  std::function<void(std::string_view what, uint64_t done, uint64_t total)>
      progress;
  std::function<void(uint32_t level, std::string_view message)> log;
  /// Told when a phase has ended, in nanoseconds of CLOCK_MONOTONIC; may be
  /// empty.
  std::function<void(std::string_view what, uint64_t begin, uint64_t end)>
      phase;
};

/// In the place of a kernel's name: none.
inline constexpr std::string_view noKernels = "-";

struct CompileRequest {
  Model model;
  /// Target names; each gives one variant. Several joined with a plus give one
  /// that is split over them, the first one being preferred.
  std::vector<std::string> targets;
  bool embedGraph = false; ///< keep the graph and its weights in the artifact
  std::string dumpDir;     ///< IR after each stage; empty: none
  std::string outputPath;  ///< the .bpx to write, atomically
  std::string kernel;      ///< as bp_compile_options_t has it
};

/// Import's model to an artifact file. The whole compiler, read top to bottom
/// in Compile.cpp.
Status compileModel(CompileRequest request, const CompileServices &services);

/// C entry of the library. `services` and `request` are of this build.
extern "C" bp_status_t
bp_compile_model_internal(CompileRequest *request,
                          const CompileServices *services,
                          std::string *out_message);
/// Exact version of LLVM, part of cache keys.
extern "C" const char *bp_compiler_llvm_version_internal();

} // namespace backplane

#endif // BACKPLANE_COMPILER_COMPILE_H
