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
  /// Shape of output `index` for symbol values.
  Result<std::vector<int64_t>> outputShape(uint32_t index,
                                           const SymbolValues &symbols) const;

private:
  Status checkTensors(std::span<const bp_tensor_t> inputs, bool withData) const;
  Status bindAxis(const Port &port, uint32_t axis, int64_t size,
                  SymbolValues &values) const;
  Status checkAxes(std::span<const bp_tensor_t> inputs,
                   const SymbolValues &values) const;

  std::vector<Port> inputs_, outputs_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::vector<DimAssertion> checks_;
};

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
  Result<int64_t> operator()(const Dim &dim) const {
    return dim.evaluate(values_);
  }

private:
  SymbolValues values_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SIGNATURE_H
