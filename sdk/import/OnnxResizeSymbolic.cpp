// SPDX-License-Identifier: Apache-2.0
#include "OnnxResize.h"

namespace backplane::frontend {

namespace {

/// Positions and weights along one axis: vectors of as many elements as the
/// result has, in f32.
class SymbolicAxis {
public:
  SymbolicAxis(Node &node, const ResizeMode &mode, const AxisPlan &plan)
      : node_(node), mode_(mode), plan_(plan), dims_{plan.to} {}

  ValueId resize(ValueId x) {
    ValueId at = original();
    if (mode_.mode == "nearest")
      return gather(x, nearest(at));
    ValueId first = node_.op("floor", {at});
    std::vector<ValueId> weights = weightsOf(sub(at, first));
    int64_t before = mode_.mode == "cubic" ? 1 : 0;
    std::vector<ValueId> positions;
    for (size_t k = 0; k < weights.size(); ++k)
      positions.push_back(
          add(first, number(static_cast<double>(k) - double(before))));
    if (mode_.excludeOutside)
      exclude(positions, weights);
    ValueId result = kNone;
    for (size_t k = 0; k < weights.size() && node_.ok(); ++k) {
      ValueId part = weighted(gather(x, positions[k]), weights[k]);
      result = result == kNone ? part : add(result, part);
    }
    return result;
  }

private:
  ValueId add(ValueId a, ValueId b) { return node_.op("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return node_.op("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node_.op("mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return node_.op("div", {a, b}); }
  ValueId number(double value) { return node_.fill(DType::F32, value, dims_); }
  ValueId size(const Dim &dim) { return node_.fillDim(DType::F32, dim, dims_); }

  ValueId scale() {
    return plan_.scale == 0 ? div(size(plan_.to), size(plan_.from))
                            : number(double(plan_.scale));
  }

  /// `value`, but 0 for a result of at most one element.
  ValueId unlessOne(ValueId value) {
    ValueId isOne = node_.compare("le", size(plan_.to), number(1));
    return node_.op("select", {isOne, number(0), value});
  }

  /// Where each element lies in the input.
  ValueId original() {
    ValueId x = node_.cast(node_.counter(dims_, 0), DType::F32);
    if (mode_.coordinates == "asymmetric")
      return div(x, scale());
    if (mode_.coordinates == "align_corners")
      return unlessOne(
          div(mul(x, size(plan_.from - Dim(1))), size(plan_.to - Dim(1))));
    ValueId half = sub(div(add(x, number(0.5)), scale()), number(0.5));
    if (mode_.coordinates == "pytorch_half_pixel")
      return unlessOne(half);
    if (mode_.coordinates != "half_pixel_symmetric" || plan_.rest == Dim(0))
      return half;
    ValueId length = mul(size(plan_.from), scale());
    ValueId left = sub(number(1), div(size(plan_.to), length));
    return add(mul(div(size(plan_.from), number(2)), left), half);
  }

  ValueId nearest(ValueId at) {
    if (mode_.nearest == "floor" || mode_.nearest == "ceil")
      return node_.op(mode_.nearest, {at});
    return mode_.nearest == "round_prefer_floor"
               ? node_.op("ceil", {sub(at, number(0.5))})
               : node_.op("floor", {add(at, number(0.5))});
  }

  /// Those of the neighbours, for a distance of t from the one before.
  std::vector<ValueId> weightsOf(ValueId t) {
    ValueId rest = sub(number(1), t);
    if (mode_.mode == "linear")
      return {rest, t};
    return {far(add(t, number(1))), near(t), near(rest),
            far(sub(number(2), t))};
  }

  ValueId near(ValueId d) {
    double a = double(mode_.cubic);
    ValueId inner = sub(mul(number(a + 2), d), number(a + 3));
    return add(mul(mul(inner, d), d), number(1));
  }
  ValueId far(ValueId d) {
    double a = double(mode_.cubic);
    ValueId inner = sub(mul(number(a), d), number(5 * a));
    inner = add(mul(inner, d), number(8 * a));
    return sub(mul(inner, d), number(4 * a));
  }

  /// No weight for what lies outside; the others add up to 1.
  void exclude(const std::vector<ValueId> &positions,
               std::vector<ValueId> &weights) {
    ValueId sum = kNone;
    for (size_t k = 0; k < weights.size(); ++k) {
      if (mode_.mode == "cubic") {
        ValueId isLow = node_.compare("lt", positions[k], number(0));
        ValueId isHigh = node_.compare("ge", positions[k], size(plan_.from));
        weights[k] = node_.op(
            "select", {node_.op("or", {isLow, isHigh}), number(0), weights[k]});
      }
      sum = sum == kNone ? weights[k] : add(sum, weights[k]);
    }
    for (ValueId &weight : weights)
      weight = div(weight, sum);
  }

  /// The elements at positions, or at the nearest that there are.
  ValueId gather(ValueId x, ValueId positions) {
    ValueId index = node_.cast(positions, DType::I64);
    index = node_.op("max", {index, node_.fillLike(index, 0)});
    index = node_.op(
        "min", {index, node_.fillDim(DType::I64, plan_.from - Dim(1), dims_)});
    return node_.op("gather", {x, index},
                    {{"axis", static_cast<int64_t>(plan_.axis)}});
  }

  /// An element times its weight; 0 where the weight is 0, so that an infinity
  /// or NaN does not reach results that it has no part in.
  ValueId weighted(ValueId part, ValueId weights) {
    ValueId factor =
        node_.along(weights, plan_.axis, Dims(node_.type(part).dims));
    ValueId zero = node_.fillLike(factor, 0);
    return node_.op(
        "select", {node_.compare("eq", factor, zero), zero, mul(part, factor)});
  }

  Node &node_;
  const ResizeMode &mode_;
  const AxisPlan &plan_;
  Dims dims_;
};

} // namespace

ValueId resizeSymbolic(Node &node, ValueId x, const ResizeMode &mode,
                       const AxisPlan &plan) {
  // What ONNX says and what runtimes do differ where a scale gives no whole
  // size and the size stays, or corners are aligned.
  if (mode.coordinates == "align_corners")
    node.require(plan.rest, Dim(0), "the scale gives a whole size");
  else if (plan.scale > 1 && plan.scale < 2)
    node.require(select(equal(plan.to, plan.from), plan.rest, Dim(0)), Dim(0),
                 "the scale gives another size");
  return node.ok() ? SymbolicAxis(node, mode, plan).resize(x) : kNone;
}

} // namespace backplane::frontend
