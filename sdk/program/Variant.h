// SPDX-License-Identifier: Apache-2.0
//
// Variant.h: a model compiled for one target, or split over several, and what
// an artifact says of the model itself.
#ifndef BACKPLANE_PROGRAM_VARIANT_H
#define BACKPLANE_PROGRAM_VARIANT_H

#include "Entry.h"
#include "Program.h"
#include "sdk/graph/Graph.h"
#include "sdk/support/Hash.h"

#include <memory>
#include <span>

namespace backplane {

/// Bytes that somebody keeps alive: the owner, or, without one, whoever gave
/// them.
struct Blob {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const Bytes> owner;

  static Blob of(Bytes data) {
    auto owner = std::make_shared<const Bytes>(std::move(data));
    return {*owner, owner};
  }
};

/// What one device of a variant loads.
struct ExecutableInfo {
  std::string format;
  Blob blob;
  std::vector<Entry> entries;
  uint8_t device = 0; ///< that it is loaded on; its dispatches run there
  /// What the tool that made the blob says of it, for people.
  std::vector<std::string> notes;
  /// In place of a blob; the format is nativeFormat. Where it is absent, the
  /// commands that are a fallback for it do the same; without them it has to be
  /// there.
  std::optional<NativeKernel> native;
};

/// A program that control commands run. Its inputs and outputs are those of the
/// region, its other slots are as in the program of the variant. Regions that
/// it names are before it in the list.
struct RegionInfo {
  std::string name;      ///< "If node '/a', then"
  std::string iteration; ///< a symbol that counts the iterations; may be empty
  std::vector<Dim> inputs, outputs; ///< bytes
  std::vector<DimAssertion> checks; ///< asked when it is entered
  Program program;
  uint8_t device = 0; ///< that it runs on: the one of all its slots
};

/// What a device must be to take part in a variant.
struct DeviceNeeds {
  std::string target, driver, format;
  std::vector<std::string> requiredFeatures;
};

struct VariantInfo {
  /// Of the variant: several names are joined with a plus.
  std::string target;
  /// In the order of their numbers; at least one. Of a split variant the target
  /// of the first is not known.
  std::vector<DeviceNeeds> devices;
  uint32_t rank = 0;
  std::vector<ExecutableInfo> executables;
  Program program;
  Program init;                    ///< may be empty
  std::vector<std::string> report; ///< reasons: fusion cuts, folds, reuse
  std::vector<RegionInfo> regions;
  /// What the runtime must know to run it. The writer adds what follows from
  /// the programs.
  std::vector<std::string> requirements;
  /// That of them which this runtime does not know. The variant then has no
  /// programs and executables, and no device takes it.
  std::string unknownRequirement;
};

/// Which of its executables another one stands in for where they are absent.
std::vector<bool> replaceable(const VariantInfo &variant);

/// An input or output of a model.
struct PortInfo {
  std::string name;
  TensorType type;
};

struct VariableInfo {
  PortInfo port;
  int32_t initial = -1; ///< number of a weight, -1: zeros
};

/// A weight: `size` bytes at `offset` of the weight section, 64-aligned.
struct WeightInfo {
  std::string id;
  uint64_t offset = 0, size = 0;
  Hash128 hash;
};

struct ArtifactInfo {
  std::string producer; ///< "backplane 0.1.0"
  std::string model;    ///< name of the model
  std::vector<Symbol> symbols;
  std::vector<DimAssertion> checks; ///< or the call is refused
  std::vector<PortInfo> inputs, outputs;
  std::vector<VariableInfo> variables;
  std::vector<WeightInfo> weights;
  std::vector<VariantInfo> variants;
  Blob graph; ///< the portable graph, when asked for
};

} // namespace backplane

#endif // BACKPLANE_PROGRAM_VARIANT_H
