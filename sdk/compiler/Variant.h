// SPDX-License-Identifier: Apache-2.0
//
// Variant.h: one model for one target, or split over several, from the graph to
// a variant of the artifact. A region is compiled as a program of its own, by
// the same stages, for one device; all programs share kernels, weights and the
// init program.
#ifndef BACKPLANE_COMPILER_VARIANT_H
#define BACKPLANE_COMPILER_VARIANT_H

#include "sdk/compiler/Kernels.h"
#include "sdk/compiler/Schedule.h"
#include "sdk/compiler/Stages.h"
#include "sdk/partition/Partition.h"

#include <deque>

namespace backplane {

/// Calls `visit` with the programs of a variant, those of its regions too.
void forEachProgram(fb::VariantT &variant,
                    llvm::function_ref<void(fb::ProgramT &)> visit);

class VariantCompiler {
public:
  /// Targets in the order of preference: what one lacks the next one gets.
  VariantCompiler(const CompileServices &services,
                  const std::vector<Target> &targets, WeightPool &pool,
                  std::vector<std::string> &weights, std::string dumpFolder);

  /// Once. `weights` are the ids that slots number; the variant's are added.
  Result<std::unique_ptr<fb::VariantT>> run(const Graph &graph);

private:
  static const mlir::DialectRegistry &registry();
  /// What a refused attempt must leave no trace of.
  struct Mark {
    size_t regions, report, weights, initSlots, initCommands, dispatches;
    int64_t arena;
    std::vector<int64_t> arenas;
    uint32_t constants;
    std::vector<size_t> kernels;
  };
  /// An op of `main`, by its place before fusion, and a device.
  using OpOnDevice = std::pair<size_t, unsigned>;

  /// `device` runs the whole program; none: it is split.
  Result<fb::ProgramT> compileProgram(const Graph &graph,
                                      const std::string &name,
                                      std::optional<unsigned> device);
  Result<fb::ProgramT> splitProgram(mlir::ModuleOp module, const Graph &graph,
                                    const std::string &name);
  Result<fb::ProgramT> finishProgram(mlir::ModuleOp module, const Graph &graph,
                                     const std::string &name);
  Result<Graph> primitives(const Graph &graph, unsigned device,
                           bool split = false) const;
  Status check(const Graph &graph, unsigned device) const;
  Status assign(mlir::ModuleOp module, const Graph &graph);
  PartitionNode describe(mlir::Operation &op, mlir::func::FuncOp main,
                         const Graph &graph) const;
  DeviceOffer offer(mlir::Operation &op, mlir::func::FuncOp main,
                    const Graph &graph, unsigned device) const;
  std::string refusal(const Graph &graph, unsigned device) const;
  void refuse(mlir::Operation *op, const Status &status);
  Mark mark() const;
  void rewind(const Mark &mark);
  std::vector<std::string> deviceNames() const;
  void dropUnusedDevices();
  void addDevices();
  Status optimize(mlir::ModuleOp module, const Graph &graph,
                  std::optional<unsigned> device);
  Status runPipeline(mlir::ModuleOp module);
  Result<bool> decideIfs(mlir::ModuleOp module, const Graph &graph,
                         std::optional<unsigned> device);
  std::optional<bool> knownCondition(bp::ControlOp op) const;
  Status compileRegions(mlir::ModuleOp module, const Graph &graph);
  Result<uint32_t> compileRegion(const Op &op, size_t number,
                                 const Graph &around, unsigned device);
  Status moveTables(mlir::ModuleOp module);
  Status formDispatches(mlir::ModuleOp module);
  Result<std::vector<size_t>> compileKernels(mlir::ModuleOp module,
                                             const Schedule &schedule);
  Status addKernels(mlir::ModuleOp module, Schedule &schedule);
  Status addExecutables();
  void addReport(mlir::ModuleOp module);

  const CompileServices &services_;
  const std::vector<Target> &targets_;
  WeightPool &pool_;
  std::vector<std::string> &weights_;
  StageDump dump_;
  mlir::MLIRContext context_;
  Diagnostics diagnostics_;
  std::deque<KernelCompiler> kernels_; ///< of each device
  std::unique_ptr<fb::VariantT> variant_;
  fb::ProgramT init_;      ///< of all programs so far
  uint32_t constants_ = 0; ///< that init_ writes
  size_t dispatches_ = 0;
  /// What devices turned out not to take while `main` is split.
  std::map<OpOnDevice, std::string> refusals_;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_VARIANT_H
