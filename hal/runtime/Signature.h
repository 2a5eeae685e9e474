// SPDX-License-Identifier: Apache-2.0
//
// Signature.h: inputs and outputs of an artifact, and how the shapes of a call
// give values to its symbols.
#ifndef BACKPLANE_RUNTIME_SIGNATURE_H
#define BACKPLANE_RUNTIME_SIGNATURE_H

#include "backplane/backplane.h"
#include "sdk/package/Artifact.h"

#include <unordered_map>

namespace backplane::rt {

/// An input or output.
struct Port {
  std::string name;
  TensorType type;
  // The C form of the dims, for bp_tensor_info_t.
  std::vector<int64_t> sizes;
  std::vector<std::string> texts;
  std::vector<bp_string_t> textViews;
};

/// Immutable. Reads a verified artifact.
class Signature {
public:
  static Signature read(const ArtifactInfo &artifact);

  const std::vector<Port> &inputs() const { return inputs_; }
  const std::vector<Port> &outputs() const { return outputs_; }

  /// Values of the symbols for these inputs. Every axis and every check of the
  /// artifact must hold; a failure names input, axis, expected and found.
  /// Without `withData` only types and shapes are looked at.
  Result<SymbolValues> bind(std::span<const bp_tensor_t> inputs,
                            bool withData) const;
  /// Shape of output `index` for symbol values: BP_DIM_SYMBOLIC where it uses a
  /// symbol that is still to be read from data.
  Result<std::vector<int64_t>> outputShape(uint32_t index,
                                           const SymbolValues &symbols) const;
  /// The same for inputs of these shapes; their data is not looked at.
  Result<std::vector<std::vector<int64_t>>>
  outputShapes(std::span<const bp_tensor_t> inputs) const;
  Result<std::vector<std::vector<int64_t>>>
  outputBounds(std::span<const bp_tensor_t> inputs) const;
  /// The greatest shape of output `index` for the symbols of the inputs.
  Result<std::vector<int64_t>> outputBound(uint32_t index,
                                           const SymbolValues &symbols) const;
  /// Gives a symbol the value that was read for it. The value lies in its range
  /// and holds in every check of the artifact that it completes, or it fails.
  Status define(const program::Read &read, int64_t value,
                SymbolValues &symbols) const;

private:
  Status checkTensors(std::span<const bp_tensor_t> inputs, bool withData) const;
  Status bindAxis(const Port &port, uint32_t axis, int64_t size,
                  SymbolValues &values) const;
  Status checkAxes(std::span<const bp_tensor_t> inputs,
                   const SymbolValues &values) const;

  std::vector<Port> inputs_, outputs_;
  bool usesRead(const Dim &dim) const;
  using ShapeOf = Result<std::vector<int64_t>> (Signature::*)(
      uint32_t, const SymbolValues &) const;
  Result<std::vector<std::vector<int64_t>>>
  shapesOf(std::span<const bp_tensor_t> inputs, ShapeOf shapeOf) const;

  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<DimAssertion> checks_;     ///< of the inputs
  std::vector<DimAssertion> dataChecks_; ///< that use symbols read from data
  /// Of the first variant whose program is known, in order.
  std::vector<program::Read> reads_;
};

/// Adds to the ranges of the symbols of a call those that a program reads.
Status addReadRanges(const program::Read &read, SymbolRanges &ranges);
/// The ranges of a call's symbols: each is its value.
SymbolRanges rangesOf(const SymbolValues &symbols);
/// The greatest value of the dim, at least 0.
Result<int64_t> greatest(const Dim &dim, const SymbolRanges &ranges);
/// Whether all symbols of the dim have a value.
bool isKnown(const Dim &dim, const SymbolValues &symbols);

/// Bytes of a dense tensor; fails on a negative size or an overflow.
Result<uint64_t> denseBytes(DType type, std::span<const int64_t> dims);

/// Expressions of an artifact for symbol values.
class Evaluator {
public:
  void set(const SymbolValues &values) { values_ = values; }
  /// Gives one symbol a value, or takes it away.
  void set(const std::string &symbol, int64_t value) {
    values_[symbol] = value;
  }
  void unset(const std::string &symbol) { values_.erase(symbol); }
  const SymbolValues &values() const { return values_; }
  SymbolValues &values() { return values_; }
  Result<int64_t> operator()(const Dim &dim) const {
    return dim.evaluate(values_);
  }

private:
  SymbolValues values_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SIGNATURE_H
