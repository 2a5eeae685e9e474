// SPDX-License-Identifier: Apache-2.0
//
// GridSample: elements of an image at positions that data name.
#include "OnnxHandlers.h"

namespace backplane::frontend {

namespace {

/// Positions are kept as one tensor [n, out...] per spatial axis; the image as
/// rows of channels.
class GridSample {
public:
  explicit GridSample(Node &node) : node_(node) {}

  void run() {
    if (!read())
      return;
    std::vector<ValueId> places;
    for (size_t axis = 0; axis < sizes_.size(); ++axis)
      places.push_back(padded(unnormalised(axis), axis));
    ValueId result = mode_ == "nearest" ? nearest(places) : linear(places);
    std::vector<int64_t> order{0, static_cast<int64_t>(rank_ - 1)};
    for (size_t axis = 1; axis + 1 < rank_; ++axis)
      order.push_back(static_cast<int64_t>(axis));
    node_.out(0, node_.transpose(node_.cast(result, type_), order));
  }

private:
  bool read() {
    mode_ = node_.string("mode", node_.opset() < 20 ? "bilinear" : "linear");
    padding_ = node_.string("padding_mode", "zeros");
    corners_ = node_.flag("align_corners", false);
    if (mode_ != "linear" && mode_ != "bilinear" && mode_ != "nearest")
      node_.refuse("mode '" + mode_ + "' is not supported");
    const TensorType x = node_.inputType(0), grid = node_.inputType(1);
    rank_ = x.rank();
    bool fits = (rank_ == 4 || rank_ == 5) && grid.rank() == rank_ &&
                grid.dims.back() == Dim(static_cast<int64_t>(rank_ - 2));
    if (node_.ok() && !fits)
      node_.reject("its image " + x.str() + " and grid " + grid.str() +
                   " do not fit");
    if (!node_.ok())
      return false;
    type_ = x.dtype;
    places_ = Dims(grid.dims.begin(), grid.dims.end() - 1);
    node_.require(x.dims[0], places_[0], "batch sizes of image and grid");
    sizes_ = Dims(x.dims.begin() + 2, x.dims.end());
    // Positions need more than the 8 or 11 bits of a narrow float.
    inner_ = bitWidth(type_) < 32 ? DType::F32 : type_;
    Dims rows{x.dims[0] * product(sizes_), x.dims[1]};
    std::vector<int64_t> order{0};
    for (size_t axis = 2; axis < rank_; ++axis)
      order.push_back(static_cast<int64_t>(axis));
    order.push_back(1);
    ValueId image = node_.cast(node_.value(0), inner_);
    image_ = node_.reshape(node_.transpose(image, order), rows);
    grid_ = node_.cast(node_.value(1), inner_);
    return node_.ok();
  }

  ValueId number(double value) { return node_.fill(inner_, value, places_); }
  ValueId size(size_t axis) {
    return node_.cast(node_.fillDim(DType::I64, sizes_[axis], places_), inner_);
  }
  ValueId add(ValueId a, ValueId b) { return node_.op("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return node_.op("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node_.op("mul", {a, b}); }

  /// The coordinate along a spatial axis; the grid holds the last axis first.
  ValueId unnormalised(size_t axis) {
    Dim last(static_cast<int64_t>(sizes_.size() - 1 - axis));
    ValueId part = node_.part(grid_, rank_ - 1, last, Dim(1));
    ValueId from0 = add(node_.reshape(part, places_), number(1));
    ValueId span = corners_ ? sub(size(axis), number(1)) : size(axis);
    ValueId place = mul(mul(from0, span), number(0.5));
    return corners_ ? place : sub(place, number(0.5));
  }

  ValueId clamped(ValueId place, size_t axis) {
    ValueId last = sub(size(axis), number(1));
    return node_.op("max", {node_.op("min", {place, last}), number(0)});
  }

  /// A triangle wave: |x - low| modulo twice the span, folded back.
  ValueId reflected(ValueId place, size_t axis) {
    ValueId low = number(corners_ ? 0 : -0.5);
    ValueId span = corners_ ? sub(size(axis), number(1)) : size(axis);
    ValueId off = node_.op("abs", {sub(place, low)});
    ValueId twice = mul(span, number(2));
    ValueId turns = node_.op("floor", {node_.op("div", {off, twice})});
    ValueId rest = sub(off, mul(turns, twice));
    ValueId folded = node_.op("min", {rest, sub(twice, rest)});
    return clamped(add(folded, low), axis);
  }

  ValueId padded(ValueId place, size_t axis) {
    if (padding_ == "border")
      return clamped(place, axis);
    if (padding_ == "reflection")
      return reflected(place, axis);
    if (padding_ != "zeros")
      node_.reject("padding_mode '" + padding_ + "' is unknown");
    return place;
  }

  /// Rows of channels at whole positions, times a weight; zero outside.
  ValueId tap(const std::vector<ValueId> &places, ValueId weight) {
    ValueId row = node_.counter(places_, 0);
    for (size_t axis = 0; axis < places.size(); ++axis) {
      ValueId inside = clamped(places[axis], axis);
      ValueId isInside = node_.compare("eq", inside, places[axis]);
      weight = node_.op("select", {isInside, weight, number(0)});
      row = mul(row, node_.fillDim(DType::I64, sizes_[axis], places_));
      row = add(row, node_.cast(inside, DType::I64));
    }
    ValueId found = node_.op("gather", {image_, row}, {{"axis", int64_t(0)}});
    if (!node_.ok())
      return kNone;
    Dims dims = node_.type(found).dims, column = places_;
    column.push_back(Dim(1));
    ValueId factor = node_.broadcast(node_.reshape(weight, column), dims);
    // An infinity outside of the image stays out.
    ValueId isNone = node_.compare("eq", factor, node_.fillLike(factor, 0));
    return node_.op("select",
                    {isNone, node_.fillLike(found, 0), mul(found, factor)});
  }

  ValueId nearest(std::vector<ValueId> places) {
    for (ValueId &place : places)
      place = node_.op("round_even", {place});
    return tap(places, number(1));
  }

  /// The sum over all corners of the cell that holds a position.
  ValueId linear(const std::vector<ValueId> &places) {
    ValueId sum = kNone;
    for (size_t corner = 0; corner < size_t(1) << places.size(); ++corner) {
      std::vector<ValueId> whole;
      ValueId weight = number(1);
      for (size_t axis = 0; axis < places.size(); ++axis) {
        ValueId low = node_.op("floor", {places[axis]});
        ValueId part = sub(places[axis], low);
        bool isHigh = (corner >> axis & 1) != 0;
        whole.push_back(isHigh ? add(low, number(1)) : low);
        weight = mul(weight, isHigh ? part : sub(number(1), part));
      }
      ValueId term = tap(whole, weight);
      sum = sum == kNone ? term : add(sum, term);
    }
    return sum;
  }

  Node &node_;
  std::string mode_, padding_;
  bool corners_ = false;
  size_t rank_ = 0;
  DType type_ = DType::Invalid, inner_ = DType::Invalid;
  Dims places_, sizes_; ///< [n, out...]; spatial sizes of the image
  ValueId image_ = kNone, grid_ = kNone;
};

} // namespace

void onnxGridSample(Node &node) { GridSample(node).run(); }

/// Ones on a diagonal.
void onnxEyeLike(Node &node) {
  const TensorType x = node.inputType(0);
  DType type = node.dtype("dtype", x.dtype);
  if (node.ok() && x.rank() != 2)
    node.reject("the input " + x.str() + " must have rank 2");
  if (!node.ok())
    return;
  ValueId shift = node.fillInteger(DType::I64, node.i64("k", 0), x.dims);
  ValueId diagonal = node.op("add", {node.counter(x.dims, 0), shift});
  node.out(0, node.cast(node.compare("eq", node.counter(x.dims, 1), diagonal),
                        type));
}

/// The first lengths[b] steps of each batch b, backwards.
void onnxReverseSequence(Node &node) {
  const Dims dims = node.inputType(0).dims;
  int64_t time = node.i64("time_axis", 0), batch = node.i64("batch_axis", 1);
  if (node.ok() && (dims.size() < 2 || time + batch != 1 || time * batch != 0))
    node.reject("its axes must be 0 and 1");
  if (!node.ok())
    return;
  Dims places(dims.begin(), dims.begin() + 2);
  ValueId lengths = node.withDims(node.cast(node.value(1), DType::I64),
                                  {places[static_cast<size_t>(batch)]});
  ValueId length = node.along(lengths, static_cast<size_t>(batch), places);
  ValueId step = node.counter(places, static_cast<size_t>(time));
  ValueId last = node.op("sub", {length, node.fillLike(length, 1)});
  ValueId source = node.op("select", {node.compare("lt", step, length),
                                      node.op("sub", {last, step}), step});
  ValueId first = time == 0 ? source : node.counter(places, 0);
  ValueId second = time == 0 ? node.counter(places, 1) : source;
  ValueId row = node.op(
      "add",
      {node.op("mul", {first, node.fillDim(DType::I64, places[1], places)}),
       second});
  Dims rows{places[0] * places[1]};
  rows.insert(rows.end(), dims.begin() + 2, dims.end());
  ValueId data = node.reshape(node.value(0), rows);
  node.out(0, node.op("gather", {data, row}, {{"axis", int64_t(0)}}));
}

} // namespace backplane::frontend
