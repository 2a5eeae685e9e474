// SPDX-License-Identifier: Apache-2.0
//
// CompileJob.h: what is to be compiled, for what and how.
#ifndef BACKPLANE_SERVICE_COMPILEJOB_H
#define BACKPLANE_SERVICE_COMPILEJOB_H

#include "DimRanges.h"
#include "hal/runtime/CompileAtLoad.h"
#include "sdk/compiler/Compile.h"

namespace backplane::rt {

struct CompileJob {
  std::string model; ///< path of an .onnx or .bpg file
  /// What to compile instead of a file; the cache is then not asked.
  std::optional<Graph> graph;
  WeightPool weights;               ///< of `graph`
  std::vector<std::string> targets; ///< empty: the default of `driver`
  std::string driver = "host";      ///< or a policy: DevicePolicy.h
  bool embedGraph = false;          ///< keep the graph in the artifact
  bool fallback = false; ///< the host runs what another driver's target lacks
  std::vector<DimRange> dims; ///< limits of symbolic dims
  std::string kernel;         ///< as bp_compile_options_t has it
  std::string dumpDir;        ///< not empty: compile even if it is in the cache
  std::string outputPath;     ///< empty: in the cache only
  CompileLimits limits;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_COMPILEJOB_H
