// SPDX-License-Identifier: Apache-2.0
//
// Partitions.h: which sets of ops of a program the plug-ins of its targets want
// to compile as one, checked.
#ifndef BACKPLANE_COMPILER_PARTITIONS_H
#define BACKPLANE_COMPILER_PARTITIONS_H

#include "sdk/compiler/Variant.h"

namespace backplane {

/// Ops of `main` that become one dispatch of a device.
struct ProgramPartition {
  unsigned device = 0;
  std::vector<int64_t> named; ///< positions, as the plug-in gave them
  /// In order, without memory and what travels with its users.
  std::vector<mlir::Operation *> ops;
  double costNs = 0; ///< 0: not known
  std::string text;  ///< what is in it, and the plug-in's reason
};

struct ProgramPartitions {
  std::vector<ProgramPartition> partitions;
  /// Of each device: it was asked, so that without a claim it takes nothing
  /// else.
  std::vector<bool> only;
};

/// Asks the plug-ins of the targets, in their order, for partitions of `main`,
/// whose ops have their positions; with one device that one alone. What is not
/// taken is told in the report. A plug-in that names ops that there are not is
/// a failure.
Result<ProgramPartitions> askPartitions(const VariantContext &context,
                                        mlir::ModuleOp module, OneDevice device,
                                        const Refusals &refusals, Draft &draft);

/// Marks the ops of a partition, with copies of what travels between them.
void markPartition(const ProgramPartition &partition, int64_t group);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PARTITIONS_H
