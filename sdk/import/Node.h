// SPDX-License-Identifier: Apache-2.0
//
// Node.h: what the handler of an ONNX op works with: the inputs and attributes
// of one node, and calls that append ops to the graph.
//
// The first failure is kept and all further calls do nothing, so that a handler
// reads as a straight list of steps. After a failure, values are kNone and
// types have rank 0: handlers return on !ok() before they index dims.
#ifndef BACKPLANE_IMPORT_NODE_H
#define BACKPLANE_IMPORT_NODE_H

#include "Importer.h"
#include "OnnxOps.h"

namespace backplane::frontend {

/// No value: the result of a call that failed.
constexpr ValueId kNone = UINT32_MAX;

class Node {
public:
  Node(Importer &importer, const onnx::NodeProto &proto, const OnnxOp &entry);
  /// Checks inputs and attributes, runs the handler, checks the outputs.
  Status run();

  int64_t opset() const { return importer_.opset(); }
  std::string_view target() const { return entry_.target; }
  std::string_view opType() const { return entry_.name; }
  Importer &importer() { return importer_; }
  const std::string &location() const { return location_; }

  bool ok() const { return status_.ok(); }
  void fail(Status status);
  /// Fails: the model is right, but this is not supported.
  void refuse(std::string message) { fail(unimplemented(std::move(message))); }
  /// Fails: the model is wrong.
  void reject(std::string message) {
    fail(invalidArgument(std::move(message)));
  }

  // ---- inputs ----
  size_t inputCount() const { return static_cast<size_t>(proto_.input_size()); }
  /// From here on, values of narrow floats are read as f32, and outputs of f32
  /// are rounded to the type of the first of them: for what takes several ops
  /// that round (sdk/graph/Rounding.h). Types of inputs stay what they are.
  void roundOnce() { roundsOnce_ = true; }
  bool has(size_t input) const;
  const NamedValue &tensor(size_t input);
  const TensorType &inputType(size_t input) { return tensor(input).type; }
  ValueId value(size_t input);
  std::vector<ValueId> values();
  /// The elements, when they are integers that are known at import.
  const Known *known(size_t input);
  /// As known; fails when the input is computed from data.
  const Known *requireKnown(size_t input, std::string_view what);
  /// Plain numbers of a rank-1 or rank-0 integer input; fails otherwise.
  std::vector<int64_t> requireIntegers(size_t input, std::string_view what);
  /// The element of a constant tensor with one element.
  std::optional<double> constantNumber(size_t input);

  // ---- attributes ----
  bool hasAttribute(std::string_view name) const;
  int64_t i64(std::string_view name, int64_t otherwise);
  double f64(std::string_view name, double otherwise);
  std::string string(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> i64s(std::string_view name);
  std::vector<double> f64s(std::string_view name);
  const onnx::TensorProto *tensorAttribute(std::string_view name);
  /// A nested graph; fails when it is missing.
  const onnx::GraphProto *graphAttribute(std::string_view name);
  /// An attribute that names a dtype; fails on one that is not supported.
  DType dtype(std::string_view name, DType otherwise);
  std::vector<std::string> strings(std::string_view name);
  /// As i64, but fails on anything but 0 and 1.
  bool flag(std::string_view name, bool otherwise);

  // ---- axes ----
  /// A possibly negative axis as one of [0, rank).
  size_t axis(int64_t axis, size_t rank);
  /// Distinct axes in ascending order.
  std::vector<int64_t> axes(std::span<const int64_t> axes, size_t rank);

  // ---- ops ----
  const TensorType &type(ValueId value) const;
  ValueId op(std::string_view name, std::vector<ValueId> operands,
             Attributes attributes = {});
  /// A matmul or convolution. Its sums are f32 where floats narrower than f32
  /// are rounded later, after more has been added to them.
  ValueId contraction(std::string_view name, std::vector<ValueId> operands,
                      Attributes attributes, bool isRoundedLater);
  /// A value of the dtype of the operands, to be added to their sums, in the
  /// dtype of these. Others are left to the checks of `add`.
  ValueId widened(ValueId value, DType operands, ValueId sums);
  /// A tensor whose elements are all `value`.
  ValueId fill(DType type, double value, const Dims &dims);
  ValueId fillInteger(DType type, int64_t value, const Dims &dims);
  /// The same, with the type of another value.
  ValueId fillLike(ValueId like, double value);
  /// A tensor that is computed at import: a constant or a weight.
  ValueId constant(HostTensor host);
  /// The index along one axis, as i64.
  ValueId counter(const Dims &dims, size_t axis);
  /// A dim as data, repeated.
  ValueId fillDim(DType type, const Dim &value, const Dims &dims);
  ValueId cast(ValueId value, DType type);
  ValueId compare(std::string_view direction, ValueId a, ValueId b);
  /// reshape, unless the dims are these already.
  ValueId reshape(ValueId value, const Dims &dims);
  ValueId transpose(ValueId value, std::vector<int64_t> permutation);
  /// A box without gaps.
  ValueId slice(ValueId value, Dims starts, Dims sizes);
  /// A part of one axis, which the value has.
  ValueId part(ValueId value, size_t axis, Dim start, Dim size);
  ValueId reduce(std::string_view kind, ValueId value,
                 std::vector<int64_t> axes, bool keep);
  /// The mean along some axes, after roundOnce.
  ValueId mean(ValueId value, std::vector<int64_t> axes, bool keep);
  void require(const Dim &a, const Dim &b, std::string_view what);
  /// Fails on an input of a lower rank; whether nothing has failed yet.
  bool requireRank(ValueId input, size_t least);
  /// A value of the same rank with dims that must be equal to its own.
  ValueId withDims(ValueId value, const Dims &dims);
  /// The dims that all of these broadcast to, as in NumPy.
  Dims commonDims(std::span<const ValueId> values);
  /// `inCall`: the call tells which of two sizes that differ is 1.
  Dims commonDims(const Dims &a, const Dims &b, bool inCall = false);
  /// Axes that commonDims has found to be repeated or not by the call are.
  ValueId broadcast(ValueId value, const Dims &dims);
  /// A vector that has the size of one of these axes, repeated along the
  /// others.
  ValueId along(ValueId vector, size_t axis, const Dims &dims);
  std::vector<ValueId> broadcastAll(std::span<const ValueId> values);
  /// broadcastAll, then an op of two operands.
  ValueId binary(std::string_view name, ValueId a, ValueId b);

  // ---- regions ----
  bool beginRegion(std::string_view part);
  /// Names of the region are gone then.
  Region endRegion() { return importer_.endRegion(); }
  /// A value of the graph around the region as one of the region; kNone stays.
  ValueId capture(ValueId outer);
  /// Imports a nested graph into the region; gives its outputs.
  std::vector<NamedValue *> nested(const onnx::GraphProto &graph);
  ValueId materialise(NamedValue *tensor);
  /// Gives a name of a nested graph a meaning.
  void bind(const std::string &name, ValueId value);
  void bind(const std::string &name, Known known);
  /// Appends an op with regions; none after a failure.
  std::vector<ValueId> control(Op op);

  // ---- outputs ----
  size_t outputCount() const {
    return static_cast<size_t>(proto_.output_size());
  }
  const std::string &outputName(size_t output) const {
    return proto_.output(static_cast<int>(output));
  }
  bool isUsed(size_t output) const;
  void out(size_t output, ValueId value);
  void out(size_t output, Known known);
  void out(size_t output, HostTensor host);
  /// Imports a nested graph in place of the node: its outputs are the node's.
  void outNested(const onnx::GraphProto &nested);
  /// The output is the input.
  void outSame(size_t output, size_t input);

private:
  Status checkShape();
  Status checkOutputs();
  /// Fails where narrow floats were rounded on the way to an output.
  void checkRounding(size_t firstOp);
  const onnx::AttributeProto *attribute(std::string_view name, int type);
  void define(size_t output, NamedValue tensor);
  Dim commonDim(const Dim &a, const Dim &b, bool toldInCall);
  void requireFit(const Dim &own, const Dim &other, const Dim &size);
  bool stretches(const Dim &own, const Dim &size);
  ValueId stretch(ValueId value, size_t axis, const Dim &size);

  Importer &importer_;
  const onnx::NodeProto &proto_;
  const OnnxOp &entry_;
  std::string location_;
  Status status_;
  bool roundsOnce_ = false;
  DType narrow_ = DType::Invalid; ///< of the first value read as f32
};

/// Cast to a float of 4 or 8 bits: what lies beyond its largest number becomes
/// that number, unless attribute `saturate` is 0.
ValueId castToStored(Node &node, ValueId value, DType to);
/// Size of one axis; 0 on a wrong axis.
Dim dimOf(const TensorType &type, size_t axis);
/// All dims as plain numbers.
std::optional<std::vector<int64_t>> staticDims(const Dims &dims);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_NODE_H
