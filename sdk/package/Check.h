// SPDX-License-Identifier: Apache-2.0
//
// Check.h: everything about the metadata of an artifact that the runtime relies
// on beyond what the FlatBuffers verifier shows. The writer asks the same
// questions, so that no artifact is written that no reader would take.
#ifndef BACKPLANE_PACKAGE_CHECK_H
#define BACKPLANE_PACKAGE_CHECK_H

#include "artifact_generated.h"
#include "sdk/graph/Graph.h"

#include <string_view>
#include <unordered_map>

namespace backplane {

/// Checks every index, enum, limit and expression. `artifact` has passed the
/// FlatBuffers verifier; `weightBytes` is the size of the weight section.
Status checkArtifact(const fb::Artifact &artifact, uint64_t weightBytes);

/// Limits of an artifact, far beyond honest use.
namespace limits {
inline constexpr uint32_t rank = 64;
inline constexpr uint32_t bindings = 1024; ///< per dispatch
inline constexpr uint32_t transients = 1u << 20;
inline constexpr uint32_t workgroupSize = 1u << 20;
inline constexpr uint64_t workspaceBytes = uint64_t(1) << 32;
inline constexpr uint32_t regions = 4096;   ///< per variant
inline constexpr uint32_t regionDepth = 16; ///< regions that run each other
inline constexpr uint32_t devices = 16;     ///< of a variant
} // namespace limits

/// The text of an optional string.
inline std::string_view text(const flatbuffers::String *string) {
  return string ? string->string_view() : std::string_view();
}

/// The length of an optional vector.
template <typename T> uint32_t count(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// Parses each expression of an artifact once, and knows which symbols have a
/// value when a call starts.
class Expressions {
public:
  /// Symbols that some input axis binds.
  void bind(std::string_view symbol) { bound_.insert(std::string(symbol)); }
  /// States the range of a symbol, which is asked of each call.
  void limit(std::string_view symbol, Interval range) {
    ranges_[std::string(symbol)] = range;
  }
  /// The greatest value that the dim has in any call, if there is one.
  std::optional<int64_t> greatest(const Dim &dim) const {
    std::optional<Interval> bounds = dim.bounds(ranges_);
    return bounds ? std::optional(bounds->high) : std::nullopt;
  }
  /// The expression, if it parses and uses bound symbols only.
  Result<Dim> parse(const flatbuffers::String *string);

private:
  std::set<std::string, std::less<>> bound_;
  SymbolRanges ranges_;
  // Many places may share one string, also in a hostile file.
  std::unordered_map<const flatbuffers::String *, Result<Dim>> known_;
};

/// The number of devices that a variant runs on.
inline uint32_t deviceCount(const fb::Variant &variant) {
  return 1 + count(variant.devices());
}
/// The artifact version that a reader must know.
uint32_t versionOf(const fb::Artifact &artifact);

/// Checks the devices of a variant and of its executables.
Status checkDevices(const fb::Variant &variant);
/// Checks that everything lies on the devices where it is used. The programs of
/// the variant have been checked.
Status checkPlacement(const fb::Variant &variant);

/// The size of the arena on a device; -1: planned at run time.
inline int64_t arenaBytes(const fb::Program &program, uint32_t device) {
  if (device == 0)
    return program.arena_bytes();
  return device - 1 < count(program.arenas())
             ? program.arenas()->Get(device - 1)
             : -1;
}

/// Checks the regions of a variant, whose init program has been checked.
Status checkRegions(const fb::Artifact &artifact, const fb::Variant &variant,
                    std::map<uint32_t, int64_t> &constants,
                    Expressions &expressions);
/// Gives the symbols that count iterations to `expressions`. `names` are the
/// symbols of the artifact, which they must not be.
Status bindIterations(const fb::Artifact &artifact,
                      const std::set<std::string, std::less<>> &names,
                      Expressions &expressions);

/// Checks one program of a variant. `program` may be null for an empty one.
struct ProgramChecker {
  const fb::Artifact &artifact;
  const fb::Variant &variant;
  const fb::Program *program;
  bool init;
  /// Static size of each constant that the init program writes, by index.
  std::map<uint32_t, int64_t> &constants;
  Expressions &expressions;
  const fb::Region *region = nullptr;            ///< whose program it is
  uint32_t regionCount = 0;                      ///< regions that it may name
  std::vector<std::optional<int64_t>> slotBytes; ///< where static
  /// The most bytes of each slot in any call, where there is a limit.
  std::vector<std::optional<int64_t>> slotLimits;
  std::vector<bool> written; ///< per output

  Status run();

private:
  Status checkSlots();
  Status checkSlot(const fb::Slot &slot);
  Result<std::optional<int64_t>> sizeOfNamed(const fb::Slot &slot);
  Result<std::optional<int64_t>> sizeOf(const fb::Slot &slot);
  Status checkConstant(const fb::Slot &slot, std::optional<int64_t> bytes);
  std::optional<int64_t> limitOf(const fb::Slot &slot,
                                 std::optional<int64_t> bytes);
  Status checkTransient(const fb::Slot &slot, std::optional<int64_t> bytes);
  Status checkPlace(const fb::Slot &slot);
  Status checkMemory();
  Status checkCommand(const fb::Command &command);
  Status checkDispatch(const fb::Dispatch &dispatch);
  Status checkCopy(const fb::Copy &copy);
  Status checkFill(const fb::Fill &fill);
  Status checkControl(const fb::Control &control);
  Status checkControlSlots(const fb::Control &control);
  Status checkIf(const fb::Control &control);
  Status checkWhile(const fb::Control &control);
  Status checkRegionUse(const fb::Control &control, uint32_t number,
                        size_t inputs, size_t outputs);
  Result<std::optional<int64_t>> sizeOfRegionSlot(const fb::Slot &slot);
  Status checkExpression(const flatbuffers::String *string, const char *what,
                         int64_t low, int64_t high);
  Status checkRange(const fb::Binding &binding);
  std::optional<int64_t> staticLength(const fb::Binding &binding);
  Status checkBinding(const fb::Binding *binding, unsigned access);
  Status checkAccess(const fb::Slot &slot, unsigned access);
};

/// The static byte size of a tensor, if it has one.
Result<std::optional<int64_t>> staticBytes(const fb::TensorInfo &info,
                                           Expressions &expressions);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_CHECK_H
