// SPDX-License-Identifier: Apache-2.0
//
// Variant.h: the stages that make a variant of a graph; Compile.cpp calls them
// in order. A region is compiled as a program of its own, by the same stages,
// for one device; all programs share kernels, weights and the init program.
#ifndef BACKPLANE_COMPILER_VARIANT_H
#define BACKPLANE_COMPILER_VARIANT_H

#include "sdk/compiler/Kernels.h"
#include "sdk/compiler/Stages.h"
#include "sdk/schedule/Schedule.h"

#include <deque>
#include <map>

namespace backplane {

/// The graph of a registered kernel as models look after `optimize`, with a
/// member of bp::KernelPattern.
struct KernelModule {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null: there is none
  std::map<std::string, Dim> replaced;
  /// The symbol whose value ops compute with, if it is one.
  std::optional<std::string> computed;
};

/// What stays the same while a variant is compiled, and the kernels, which no
/// attempt makes twice.
struct VariantContext {
  /// Targets in the order of preference: what one lacks the next one gets.
  VariantContext(const CompileServices &services,
                 const std::vector<Target> &targets, WeightPool &pool,
                 std::string dumpFolder, std::string kernel);
  VariantContext(const VariantContext &) = delete;
  VariantContext &operator=(const VariantContext &) = delete;

  /// None where no dumps are wanted.
  KernelDump kernelDump();

  const CompileServices &services;
  const std::vector<Target> &targets;
  WeightPool &pool;
  StageDump dump;
  std::string kernel; ///< that computes every dispatch; empty: any
  /// The artifact has weights as the model has them, for other targets or for
  /// its graph.
  bool keepsWeights = false;
  mlir::MLIRContext mlir;
  Diagnostics diagnostics;
  std::vector<EmitJob> jobs;          ///< kernels that are to be generated
  std::deque<KernelCompiler> kernels; ///< of each device
  /// Composites that a compiler claimed and refused, by compositeKey: they are
  /// decomposed. The report has a line for each.
  std::map<std::string, std::string> refusedComposites;
  /// Graphs of registered kernels, by target, kernel, graph, number of axes
  /// that it has more, size of its computed symbol (-1: any), and whether one
  /// device runs all.
  std::map<std::tuple<unsigned, size_t, size_t, size_t, int64_t, bool>,
           KernelModule>
      kernelModules;
};

/// The device that runs all of a program; none: ops get theirs one by one.
using OneDevice = std::optional<unsigned>;

/// What a variant has so far. Stages that fail may have changed it: who goes on
/// after a failure takes a copy before.
struct Draft {
  std::vector<std::string> weights; ///< ids that slots number
  std::vector<RegionInfo> regions;
  std::vector<std::string> report;
  Program init;           ///< of all programs so far
  uint32_t constants = 0; ///< that the init program writes
  size_t dispatches = 0;
  std::vector<KernelOrders> kernels; ///< of each device
};

struct CompiledProgram {
  Program program;
  Draft draft;
};

/// What devices turned out not to take of `main`, and why. Ops are named by
/// their positions before fusion.
struct Refusals {
  using Reasons = std::map<std::pair<size_t, unsigned>, std::string>;
  Reasons ops; ///< an op on a device
  /// An op on a device that was refused with others in its dispatch: it gets
  /// one of its own.
  Reasons together;
  /// Partitions, by device and the ops that the plug-in named.
  std::map<std::pair<unsigned, std::vector<int64_t>>, std::string> partitions;
  std::set<std::string> kernels;   ///< registered ones whose IR is of no use
  std::vector<std::string> report; ///< of those that were cut again

  size_t size() const {
    return ops.size() + together.size() + partitions.size() + kernels.size();
  }
};

// ---- the stages, in order ----

/// The graph with the composites that the backend does not claim decomposed.
/// Regions get their turn when they are compiled. Without one device others may
/// take what the first one cannot hold.
Result<Graph> decomposeFor(const VariantContext &context, const Graph &graph,
                           OneDevice device);

/// Target-independent passes and constant folding, again while that shows what
/// an `if` will choose.
Status optimize(VariantContext &context, mlir::ModuleOp module,
                const Graph &graph, OneDevice device, Draft &draft);

/// The name of a composite op in a model.
std::string compositeKey(std::string_view op, std::string_view location);

/// Gives each op of `main` its position, and the device that sdk/partition
/// chooses or the one that there is, and the report the reason for each that is
/// not on the first one. Marks the partitions of plug-ins and the ops that were
/// refused together.
Status partition(const VariantContext &context, mlir::ModuleOp module,
                 const Graph &graph, OneDevice device, const Refusals &refusals,
                 Draft &draft);

/// Each region that is left becomes a program; the op learns its number.
Status compileRegions(VariantContext &context, mlir::ModuleOp module,
                      const Graph &graph, Draft &draft, Refusals &refusals);

/// Marks the ops that registered kernels of their device compute, and tells the
/// report which, and what nearly was. Writes a dump; without registered kernels
/// it does nothing.
void matchKernels(VariantContext &context, mlir::ModuleOp module,
                  const std::string &name, OneDevice device,
                  const Refusals &refusals, Draft &draft);

/// Chooses in which form ops read weights.
Status chooseLayouts(VariantContext &context, mlir::ModuleOp module);

/// Groups of ops become functions, one for each dispatch.
Status fuse(VariantContext &context, mlir::ModuleOp module);

/// Lowers and emits the kernel of each dispatch, or takes it from the cache,
/// and completes the commands that run it. A device that cannot make one is
/// noted in `refusals` when another one could.
Status makeKernels(VariantContext &context, mlir::ModuleOp module,
                   Schedule &schedule, Draft &draft, Refusals &refusals);

/// Executables and devices of the variant.
Result<VariantInfo> link(VariantContext &context, CompiledProgram compiled);

// ---- in Compile.cpp ----

/// From a graph to a program by all stages. `name` starts the names of stage
/// dumps: empty for the model itself.
Result<CompiledProgram> compileProgram(VariantContext &context,
                                       const Graph &graph,
                                       const std::string &name,
                                       OneDevice device, Draft draft);

/// "conv (/a) of f32".
std::string describeOp(mlir::Operation &op);

/// Notes that the device of an op or a dispatch does not run what is in it, and
/// what to do then.
void refuse(VariantContext &context, mlir::Operation *op, const Status &status,
            Refusals &refusals);

} // namespace backplane

#endif // BACKPLANE_COMPILER_VARIANT_H
