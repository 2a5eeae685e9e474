// SPDX-License-Identifier: Apache-2.0
//
// Known.h: small integer tensors whose elements are known at import, as dims.
//
// Models compute shapes with ordinary tensor ops (Shape, Gather, Concat, …).
// Tracking the results as expressions over the symbols lets Reshape, Expand or
// Slice take their shapes from them.
#ifndef BACKPLANE_IMPORT_KNOWN_H
#define BACKPLANE_IMPORT_KNOWN_H

#include "HostTensor.h"

namespace backplane::frontend {

/// One integer. `nonNegative` is proven, not guessed.
struct KnownElement {
  Dim value;
  bool nonNegative = false;

  static KnownElement size(Dim dim) { return {std::move(dim), true}; }
  static KnownElement number(int64_t value) { return {value, value >= 0}; }
};

/// A tensor of dtype i64, i32 or bool with static dims; a bool is 0 or 1.
struct Known {
  DType dtype = DType::I64;
  std::vector<int64_t> dims;
  std::vector<KnownElement> elements;

  TensorType type() const;
  /// All elements, when they are plain numbers.
  std::optional<std::vector<int64_t>> constants() const;
};

/// Larger tensors are not tracked.
constexpr size_t kMaxKnown = 512;

bool canBeKnown(DType type);
/// A rank-1 i64 tensor of sizes.
Known knownDims(std::span<const Dim> dims);
Known knownScalar(DType type, KnownElement element);
/// The contents of a constant tensor, when it is small and of a known dtype.
std::optional<Known> knownContents(const HostTensor &tensor);

/// Steps through all index tuples of some static dims in row-major order.
class Odometer {
public:
  explicit Odometer(std::vector<int64_t> dims)
      : dims_(std::move(dims)), index_(dims_.size(), 0) {}
  const std::vector<int64_t> &index() const { return index_; }
  void step();

private:
  std::vector<int64_t> dims_;
  std::vector<int64_t> index_;
};

/// Position of an index tuple; axes of size 1 are held at 0, and leading axes
/// that `dims` lacks are ignored, as in broadcasting.
size_t positionOf(std::span<const int64_t> dims,
                  std::span<const int64_t> index);

/// A tensor of these dims whose elements are those of `from` at the positions.
std::optional<Known> pick(const Known &from, std::vector<int64_t> dims,
                          std::span<const size_t> positions);

/// The dims that both broadcast to.
std::optional<std::vector<int64_t>> broadcastDims(std::span<const int64_t> a,
                                                  std::span<const int64_t> b);

/// `op` is an op of the table, or eq, ne, lt, le, gt, ge. Absent when the
/// result cannot be told at import.
std::optional<Known> knownBinary(std::string_view op, const Known &a,
                                 const Known &b);
std::optional<Known> knownSelect(const Known &condition, const Known &a,
                                 const Known &b);
/// neg, abs or not.
std::optional<Known> knownUnary(std::string_view op, const Known &x);
std::optional<Known> knownCast(const Known &x, DType type);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_KNOWN_H
