// SPDX-License-Identifier: Apache-2.0
//
// Check.h: everything about the metadata of an artifact that the runtime relies
// on beyond its form. The writer asks the same
// questions, so that no artifact is written that no reader would take.
#ifndef BACKPLANE_PACKAGE_CHECK_H
#define BACKPLANE_PACKAGE_CHECK_H

#include "backplane/cpp/Result.h"
#include "sdk/program/Variant.h"

namespace backplane {

/// Checks every index, limit and expression; `weightBytes` is the size of the
/// weight section.
Status checkArtifact(const ArtifactInfo &artifact, uint64_t weightBytes);

/// Limits of an artifact, far beyond honest use.
namespace limits {
inline constexpr uint32_t bindings = 1024; ///< per dispatch
inline constexpr uint32_t transients = 1u << 20;
inline constexpr uint32_t workgroupSize = 1u << 20;
inline constexpr uint64_t workspaceBytes = uint64_t(1) << 32;
inline constexpr uint32_t subgroupSize = 1024;
inline constexpr uint32_t clusterSize = 1024;              ///< work-groups
inline constexpr uint64_t sharedBytes = uint64_t(1) << 30; ///< of a work-group
inline constexpr uint32_t regions = 4096;                  ///< per variant
inline constexpr uint32_t regionDepth = 16; ///< regions that run each other
inline constexpr uint32_t devices = 16;     ///< of a variant
} // namespace limits

/// Knows which symbols have a value when a call starts.
class Expressions {
public:
  /// Symbols that some input axis binds.
  void bind(std::string_view symbol) { bound_.insert(std::string(symbol)); }
  /// A symbol that a command of some variant defines.
  void bindRead(std::string_view symbol) {
    reads_.insert(std::string(symbol));
    bind(symbol);
  }
  bool isBound(std::string_view symbol) const {
    return bound_.contains(symbol);
  }
  bool isRead(std::string_view symbol) const { return reads_.contains(symbol); }
  /// Before the commands of a program: none of those has a value.
  void unbindReads() {
    for (const std::string &symbol : reads_)
      bound_.erase(symbol);
  }
  void rebindReads() { bound_.insert(reads_.begin(), reads_.end()); }
  /// States the range of a symbol, which is asked of each call.
  void limit(std::string_view symbol, Interval range) {
    ranges_[std::string(symbol)] = range;
  }
  /// The greatest value that the dim has in any call, if there is one.
  std::optional<int64_t> greatest(const Dim &dim) const {
    std::optional<Interval> bounds = dim.bounds(ranges_);
    return bounds ? std::optional(bounds->high) : std::nullopt;
  }
  /// Whether it uses bound symbols only.
  Status check(const Dim &dim) const;

private:
  std::set<std::string, std::less<>> bound_, reads_;
  SymbolRanges ranges_;
};

/// The artifact version that a reader must know.
uint32_t versionOf(const ArtifactInfo &artifact);

/// Checks the devices of a variant and of its executables.
Status checkDevices(const VariantInfo &variant);
/// Checks that everything lies on the devices where it is used. The programs of
/// the variant have been checked.
Status checkPlacement(const VariantInfo &variant);

/// Checks the regions of a variant, whose init program has been checked.
Status checkRegions(const ArtifactInfo &artifact, const VariantInfo &variant,
                    std::map<uint32_t, int64_t> &constants,
                    Expressions &expressions);
/// Gives the symbols that commands read from data to `expressions`. They are
/// symbols of the artifact that no input axis gives.
Status bindReads(const ArtifactInfo &artifact,
                 const std::set<std::string, std::less<>> &names,
                 Expressions &expressions);
/// Gives the symbols that count iterations to `expressions`. `names` are the
/// symbols of the artifact, which they must not be.
Status bindIterations(const ArtifactInfo &artifact,
                      const std::set<std::string, std::less<>> &names,
                      Expressions &expressions);

/// Checks one program of a variant.
struct ProgramChecker {
  const ArtifactInfo &artifact;
  const VariantInfo &variant;
  const Program &program;
  bool init;
  /// Static size of each constant that the init program writes, by index.
  std::map<uint32_t, int64_t> &constants;
  Expressions &expressions;
  const RegionInfo *region = nullptr;            ///< whose program it is
  uint32_t regionCount = 0;                      ///< regions that it may name
  std::vector<std::optional<int64_t>> slotBytes; ///< where static
  /// The most bytes of each slot in any call, where there is a limit.
  std::vector<std::optional<int64_t>> slotLimits;
  std::vector<bool> written;  ///< per output
  std::vector<bool> replaced; ///< per executable: it may be absent

  Status run();

private:
  Status checkSlots();
  Status checkSlot(const Slot &slot);
  Result<std::optional<int64_t>> sizeOfNamed(const Slot &slot);
  Result<std::optional<int64_t>> sizeOf(const Slot &slot);
  Status checkConstant(const Slot &slot, std::optional<int64_t> bytes);
  std::optional<int64_t> limitOf(const Slot &slot,
                                 std::optional<int64_t> bytes);
  Status checkTransient(const Slot &slot, std::optional<int64_t> bytes);
  Status checkPlace(const Slot &slot);
  Status checkMemory();
  Status checkCommand(const program::Command &command);
  Status checkDispatch(const program::Dispatch &dispatch);
  Status checkCounts(const program::Dispatch &dispatch, const Entry &entry);
  Status checkLaunch(const program::Dispatch &dispatch);
  Status checkFallback(const program::Dispatch &dispatch);
  Status checkCopy(const program::Copy &copy);
  Status checkFill(const program::Fill &fill);
  Status checkCommands();
  Status checkRead(const program::Read &read);
  Status checkReadsUsed() const;
  Status checkControl(const program::Control &control);
  Status checkControlSlots(const program::Control &control);
  Status checkIf(const program::Control &control);
  Status checkWhile(const program::Control &control);
  Status checkRegionUse(const program::Control &control, uint32_t number,
                        size_t inputs, size_t outputs);
  Result<std::optional<int64_t>> sizeOfRegionSlot(const Slot &slot);
  Status checkExpression(const Dim &dim, const char *what, int64_t low,
                         int64_t high);
  Status checkRange(const SlotRange &range);
  std::optional<int64_t> staticLength(const SlotRange &range);
  Status checkBinding(const SlotRange &range, unsigned access);
  Status checkAccess(const Slot &slot, unsigned access);
};

/// The static byte size of a tensor, if it has one.
Result<std::optional<int64_t>> staticBytes(const TensorType &type);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_CHECK_H
