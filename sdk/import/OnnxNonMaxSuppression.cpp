// SPDX-License-Identifier: Apache-2.0
//
// NonMaxSuppression: each iteration of a loop takes the best box that is left
// of every batch and class, and drops those that overlap it too much. How many
// boxes are taken, data decide.
#include "Loop.h"
#include "OnnxHandlers.h"
#include "Taken.h"

#include <limits>

namespace backplane::frontend {

namespace {

/// The boxes of all batches, as vectors over [batches, boxes].
struct Corners {
  ValueId left, top, right, bottom, area;
};

class Suppression {
public:
  explicit Suppression(Node &node) : node_(node) {}
  void run();

private:
  void readSizes();
  void readLimit();
  ValueId number(size_t input);
  void readCorners();
  ValueId candidates();
  ValueId any(ValueId mask) {
    return node_.reduce("or", mask, {0, 1, 2}, false);
  }
  ValueId below(const Dim &iteration, ValueId most);
  ValueId predicate(ValueId left, const Dim &iteration, ValueId most);
  ValueId bestOf(ValueId left, ValueId scores);
  ValueId overlaps(const Corners &all, ValueId best, ValueId threshold);
  ValueId noted(ValueId taken, ValueId best, ValueId left,
                const Dim &iteration);
  ValueId iterate();
  void outTaken(ValueId taken);

  Node &node_;
  Dim batches_, classes_, boxes_;
  Dims dims_;            ///< batches, classes, boxes
  Dim limit_;            ///< boxes of a class that are taken, at most
  ValueId most_ = kNone; ///< the same as data, where it is data
  ValueId scores_ = kNone, threshold_ = kNone;
  Corners corners_{};
};

void Suppression::readSizes() {
  const TensorType boxes = node_.inputType(0), scores = node_.inputType(1);
  if (node_.ok() && (boxes.rank() != 3 || scores.rank() != 3))
    node_.reject("boxes " + boxes.str() + " and scores " + scores.str() +
                 " need rank 3");
  if (node_.ok() && (boxes.dtype != DType::F32 || scores.dtype != DType::F32))
    node_.reject("boxes " + boxes.str() + " and scores " + scores.str() +
                 " must be f32");
  if (!node_.ok())
    return;
  batches_ = scores.dims[0];
  classes_ = scores.dims[1];
  boxes_ = scores.dims[2];
  dims_ = scores.dims;
  scores_ = node_.value(1);
}

/// A missing limit is 0, and so is a negative one.
void Suppression::readLimit() {
  limit_ = node_.has(2) ? boxes_ : Dim(0);
  if (!node_.has(2))
    return;
  if (node_.inputType(2).dtype != DType::I64)
    return node_.reject("max_output_boxes_per_class " +
                        node_.inputType(2).str() + " must be one i64");
  const Known *known = node_.known(2);
  if (!known || known->elements.size() != 1) {
    most_ = number(2);
    return;
  }
  Dim most = max(known->elements[0].value, Dim(0));
  // No model has as many boxes.
  if (most.constant().value_or(0) < kMaxElements)
    limit_ = min(most, boxes_);
}

/// The one element of an input.
ValueId Suppression::number(size_t input) {
  ValueId value = node_.value(input);
  return node_.ok() ? node_.reshape(value, {}) : kNone;
}

void Suppression::readCorners() {
  ValueId boxes = node_.withDims(node_.value(0), {batches_, boxes_, Dim(4)});
  auto column = [&](int64_t at) {
    return node_.reshape(node_.part(boxes, 2, Dim(at), Dim(1)),
                         {batches_, boxes_});
  };
  ValueId parts[] = {column(0), column(1), column(2), column(3)};
  auto &[left, top, right, bottom, area] = corners_;
  if (node_.flag("center_point_box", false)) {
    auto halfOf = [&](ValueId size) {
      return node_.op("mul",
                      {size, node_.fill(DType::F32, 0.5, {batches_, boxes_})});
    };
    ValueId wide = halfOf(parts[2]), high = halfOf(parts[3]);
    left = node_.op("sub", {parts[0], wide});
    right = node_.op("add", {parts[0], wide});
    top = node_.op("sub", {parts[1], high});
    bottom = node_.op("add", {parts[1], high});
  } else {
    left = node_.op("min", {parts[1], parts[3]});
    right = node_.op("max", {parts[1], parts[3]});
    top = node_.op("min", {parts[0], parts[2]});
    bottom = node_.op("max", {parts[0], parts[2]});
  }
  area = node_.op(
      "mul", {node_.op("sub", {right, left}), node_.op("sub", {bottom, top})});
}

/// Which boxes may be taken: of a score above the threshold, which NaN is not.
ValueId Suppression::candidates() {
  if (!node_.has(4))
    return node_.compare("eq", scores_, scores_);
  return node_.compare("gt", scores_, node_.broadcast(number(4), dims_));
}

/// Whether there is an iteration of this number.
ValueId Suppression::below(const Dim &iteration, ValueId most) {
  if (most == kNone)
    most = node_.fillDim(DType::I64, limit_, {});
  return node_.compare("lt", node_.fillDim(DType::I64, iteration, {}), most);
}

ValueId Suppression::predicate(ValueId left, const Dim &iteration,
                               ValueId most) {
  return node_.op("and", {any(left), below(iteration, most)});
}

/// The first of the boxes of the highest score, per batch and class.
ValueId Suppression::bestOf(ValueId left, ValueId scores) {
  ValueId lowest =
      node_.fill(DType::F32, -std::numeric_limits<double>::infinity(), dims_);
  ValueId best = node_.reduce("max", node_.op("select", {left, scores, lowest}),
                              {2}, true);
  ValueId hit = node_.op(
      "and", {left, node_.compare("eq", scores, node_.broadcast(best, dims_))});
  return node_.op("arg_reduce", {node_.cast(hit, DType::U8)},
                  {{"kind", std::string("max")},
                   {"axis", int64_t(2)},
                   {"keep", int64_t(1)}});
}

/// Which boxes overlap the best one of their batch and class by more than the
/// threshold. Boxes without an area, or of NaN, overlap nothing.
ValueId Suppression::overlaps(const Corners &all, ValueId best,
                              ValueId threshold) {
  Dims each{batches_, classes_};
  ValueId offset = node_.op(
      "mul", {node_.counter(each, 0), node_.fillDim(DType::I64, boxes_, each)});
  ValueId place = node_.op("add", {node_.reshape(best, each), offset});
  auto own = [&](ValueId of) {
    return node_.broadcast(node_.reshape(of, {batches_, Dim(1), boxes_}),
                           dims_);
  };
  auto chosen = [&](ValueId of) {
    ValueId row =
        node_.op("gather", {node_.reshape(of, {batches_ * boxes_}), place},
                 {{"axis", int64_t(0)}});
    return node_.broadcast(node_.reshape(row, {batches_, classes_, Dim(1)}),
                           dims_);
  };
  auto inner = [&](std::string_view kind, ValueId edge) {
    return node_.op(kind, {own(edge), chosen(edge)});
  };
  ValueId wide =
      node_.op("sub", {inner("min", all.right), inner("max", all.left)});
  ValueId high =
      node_.op("sub", {inner("min", all.bottom), inner("max", all.top)});
  ValueId shared = node_.op("mul", {wide, high});
  ValueId one = own(all.area), other = chosen(all.area);
  ValueId together = node_.op("sub", {node_.op("add", {one, other}), shared});
  ValueId zero = node_.fill(DType::F32, 0, dims_);
  ValueId holds = node_.compare("gt", node_.op("div", {shared, together}),
                                node_.broadcast(threshold, dims_));
  for (ValueId positive : {wide, high, shared, one, other, together})
    holds = node_.op("and", {holds, node_.compare("gt", positive, zero)});
  return holds;
}

/// What was taken, with the best boxes of this iteration; -1 where there is
/// none.
ValueId Suppression::noted(ValueId taken, ValueId best, ValueId left,
                           const Dim &iteration) {
  Dims slots{batches_, classes_, limit_}, each{batches_, classes_, Dim(1)};
  ValueId found = node_.op("select", {node_.reduce("or", left, {2}, true), best,
                                      node_.fillInteger(DType::I64, -1, each)});
  ValueId here = node_.compare("eq", node_.counter(slots, 2),
                               node_.fillDim(DType::I64, iteration, slots));
  return node_.op("select", {here, node_.broadcast(found, slots), taken});
}

/// The boxes that are taken, [batches, classes, limit], -1 for none.
ValueId Suppression::iterate() {
  ValueId left = candidates();
  ValueId none =
      node_.fillInteger(DType::I64, -1, {batches_, classes_, limit_});
  ValueId first = predicate(left, Dim(0), most_);
  LoopBuilder loop(node_, std::nullopt);
  if (!loop.begin({left, none}))
    return kNone;
  left = loop.carried()[0];
  Corners all{node_.capture(corners_.left), node_.capture(corners_.top),
              node_.capture(corners_.right), node_.capture(corners_.bottom),
              node_.capture(corners_.area)};
  ValueId best = bestOf(left, node_.capture(scores_));
  ValueId dropped = overlaps(all, best, node_.capture(threshold_));
  ValueId other = node_.compare("ne", node_.counter(dims_, 2),
                                node_.broadcast(best, dims_));
  ValueId rest = node_.op(
      "and", {left, node_.op("and", {other, node_.op("not", {dropped})})});
  ValueId taken = noted(loop.carried()[1], best, left, loop.iteration());
  ValueId again =
      predicate(rest, loop.iteration() + Dim(1), node_.capture(most_));
  return loop.end({rest, taken}, {}, first, again)[1];
}

/// Batch, class and box of each that was taken.
void Suppression::outTaken(ValueId taken) {
  Dim count = batches_ * classes_ * limit_;
  ValueId flat = node_.reshape(taken, {count});
  ValueId chosen =
      node_.compare("ge", flat, node_.fillInteger(DType::I64, 0, {count}));
  ValueId places = takenPositions(node_, chosen, count);
  if (!node_.ok())
    return;
  Dim found = node_.type(places).dims[0];
  auto by = [&](std::string_view op, ValueId value, const Dim &divisor) {
    return node_.op(op, {value, node_.fillDim(DType::I64, divisor, {found})});
  };
  ValueId box = node_.op("gather", {flat, places}, {{"axis", int64_t(0)}});
  ValueId row = by("div", places, limit_);
  std::vector<ValueId> columns{by("div", row, classes_),
                               by("rem", row, classes_), box};
  for (ValueId &column : columns)
    column = node_.reshape(column, {found, Dim(1)});
  node_.out(0, node_.op("concat", columns, {{"axis", int64_t(1)}}));
}

void Suppression::run() {
  readSizes();
  if (!node_.ok())
    return;
  readLimit();
  readCorners();
  threshold_ = node_.has(3) ? number(3) : node_.fill(DType::F32, 0, {});
  if (!node_.ok())
    return;
  if (product(dims_) == Dim(0) || limit_ == Dim(0))
    return node_.out(0, node_.fillInteger(DType::I64, 0, {Dim(0), Dim(3)}));
  outTaken(iterate());
}

} // namespace

void onnxNonMaxSuppression(Node &node) { Suppression(node).run(); }

} // namespace backplane::frontend
