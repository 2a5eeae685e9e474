// SPDX-License-Identifier: Apache-2.0
//
// Variant.h: one model for one target, from the graph to a variant of the
// artifact. A region is compiled as a program of its own, by the same stages;
// all programs share kernels, weights and the init program.
#ifndef BACKPLANE_COMPILER_VARIANT_H
#define BACKPLANE_COMPILER_VARIANT_H

#include "sdk/compiler/Kernels.h"
#include "sdk/compiler/Schedule.h"
#include "sdk/compiler/Stages.h"

namespace backplane {

class VariantCompiler {
public:
  VariantCompiler(const CompileServices &services, const Target &target,
                  WeightPool &pool, std::vector<std::string> &weights,
                  std::string dumpFolder);

  /// Once. `weights` are the ids that slots number; the variant's are added.
  Result<std::unique_ptr<fb::VariantT>> run(const Graph &graph);

private:
  static const mlir::DialectRegistry &registry();
  Result<fb::ProgramT> compileProgram(const Graph &graph,
                                      const std::string &name);
  Result<Graph> primitives(const Graph &graph) const;
  Status check(const Graph &graph) const;
  Status optimize(mlir::ModuleOp module, const Graph &graph);
  Status runPipeline(mlir::ModuleOp module);
  Result<bool> decideIfs(mlir::ModuleOp module, const Graph &graph);
  std::optional<bool> knownCondition(bp::ControlOp op) const;
  Status compileRegions(mlir::ModuleOp module, const Graph &graph);
  Result<uint32_t> compileRegion(const Op &op, size_t number,
                                 const Graph &around);
  Status formDispatches(mlir::ModuleOp module);
  Status addKernels(mlir::ModuleOp module, Schedule &schedule);
  Status addExecutables();
  void addReport(mlir::ModuleOp module);
  size_t maxConstants() const {
    return target_.maxConstants ? target_.maxConstants : BP_MAX_CONSTANTS;
  }

  const CompileServices &services_;
  const Target &target_;
  WeightPool &pool_;
  std::vector<std::string> &weights_;
  StageDump dump_;
  mlir::MLIRContext context_;
  Diagnostics diagnostics_;
  KernelCompiler kernels_;
  std::unique_ptr<fb::VariantT> variant_;
  fb::ProgramT init_;      ///< of all programs so far
  uint32_t constants_ = 0; ///< that init_ writes
  size_t dispatches_ = 0;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_VARIANT_H
