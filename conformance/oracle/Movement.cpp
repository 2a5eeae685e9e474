// SPDX-License-Identifier: Apache-2.0
//
// Ops that make or move elements. Each builds, for every element of the result,
// the index of the element it copies.
#include "Value.h"

namespace backplane::conformance {

using Map = std::vector<size_t>;

Value take(const Step &step, const Value &x, const Map &map) {
  Value result;
  result.dtype = x.dtype;
  result.dims = step.dims;
  result.exact = x.exact;
  result.computed = x.computed;
  for (size_t from : map) {
    if (!x.bits.empty())
      result.bits.push_back(x.bits[from]);
    if (!x.bounded.empty())
      result.bounded.push_back(x.bounded[from]);
    if (!x.sigma.empty())
      result.sigma.push_back(x.sigma[from]);
  }
  result.biasGate = x.biasGate;
  if (x.accepts)
    result.accepts = [inner = x.accepts, map](size_t i, int64_t got) {
      return inner(map[i], got);
    };
  return result;
}

Result<Map> indexedAlong(const Step &step) {
  const Value &x = step.operand(0), &indices = step.operand(1);
  if (!indices.exact)
    return unimplemented("the indices are not certain");
  auto axis = step.op.i64("axis");
  auto size = static_cast<size_t>(x.dims[static_cast<size_t>(axis)]);
  size_t outer = countOf({x.dims.begin(), x.dims.begin() + axis});
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  Map map;
  for (size_t o = 0; o < outer; ++o)
    for (uint64_t bits : indices.bits) {
      int64_t index = integerOf(indices.dtype, bits);
      if (index < 0 || static_cast<size_t>(index) >= size)
        return Status(BP_STATUS_OUT_OF_RANGE, "index " + std::to_string(index) +
                                                  " is outside an axis of " +
                                                  std::to_string(size));
      for (size_t i = 0; i < inner; ++i)
        map.push_back((o * size + static_cast<size_t>(index)) * inner + i);
    }
  return map;
}

Value uniform(const Value &x, bool exact) {
  Value result = x;
  if (exact) {
    result.bounded.clear();
    return result;
  }
  if (result.bounded.empty())
    for (uint64_t bits : x.bits)
      result.bounded.push_back({numberOf(x.dtype, bits), 0});
  result.bits.clear();
  result.exact = false;
  return result;
}

Value joined(const std::vector<const Value *> &operands) {
  bool exact = true, computed = false;
  for (const Value *x : operands) {
    exact &= x->exact;
    computed |= x->computed;
  }
  Value all = uniform(*operands[0], exact);
  for (size_t i = 1; i < operands.size(); ++i) {
    Value next = uniform(*operands[i], exact);
    all.bits.insert(all.bits.end(), next.bits.begin(), next.bits.end());
    all.bounded.insert(all.bounded.end(), next.bounded.begin(),
                       next.bounded.end());
  }
  all.sigma.clear();
  all.accepts = nullptr;
  all.computed = computed;
  return all;
}

namespace {

Result<std::vector<Value>> constant(const Step &step) {
  Tensor tensor{step.dtype, {}, *step.op.bytes("value")};
  Value result = step.exact(step.dtype);
  result.computed = false;
  size_t stored = tensor.data.size() * 8 / bitWidth(step.dtype);
  bool fills = stored < result.bits.size() || result.bits.size() == 1 ||
               tensor.data.size() * 8 <= bitWidth(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = loadBits(tensor, fills ? 0 : i);
  return one(std::move(result));
}

Result<std::vector<Value>> iota(const Step &step) {
  Value result = step.exact(step.dtype);
  auto axis = static_cast<size_t>(step.op.i64("axis"));
  int64_t stride = stridesOf(step.dims)[axis];
  for (size_t i = 0; i < result.bits.size(); ++i) {
    int64_t n = static_cast<int64_t>(i) / stride % step.dims[axis];
    result.bits[i] = isFloat(step.dtype)
                         ? encode(step.dtype, static_cast<Real>(n))
                         : bitsOf(step.dtype, n);
  }
  return one(std::move(result));
}

Result<std::vector<Value>> dim(const Step &step) {
  auto sizes = step.sizes("value");
  if (!sizes)
    return sizes.status();
  Value result = step.exact(step.dtype);
  for (size_t i = 0; i < result.bits.size(); ++i)
    result.bits[i] = bitsOf(step.dtype, (*sizes)[i]);
  return one(std::move(result));
}

Result<std::vector<Value>> broadcast(const Step &step) {
  const Value &x = step.operand(0);
  Sizes strides(step.dims.size()), own = stridesOf(x.dims);
  std::vector<int64_t> axes = step.op.i64s("axes");
  for (size_t i = 0; i < axes.size(); ++i)
    strides[static_cast<size_t>(axes[i])] = x.dims[i] == 1 ? 0 : own[i];
  return one(take(step, x, affine(step.dims, 0, strides)));
}

Result<std::vector<Value>> reshape(const Step &step) {
  const Value &x = step.operand(0);
  if (countOf(step.dims) != x.count())
    return invalidArgument(
        "the dims hold " + std::to_string(countOf(step.dims)) +
        " elements, the operand " + std::to_string(x.count()));
  Value result = x;
  result.dims = step.dims;
  return one(std::move(result));
}

Result<std::vector<Value>> transpose(const Step &step) {
  const Value &x = step.operand(0);
  Sizes strides, own = stridesOf(x.dims);
  for (int64_t axis : step.op.i64s("permutation"))
    strides.push_back(own[static_cast<size_t>(axis)]);
  return one(take(step, x, affine(step.dims, 0, strides)));
}

Result<std::vector<Value>> slice(const Step &step) {
  const Value &x = step.operand(0);
  auto starts = step.sizes("starts");
  if (!starts)
    return starts.status();
  Sizes strides = stridesOf(x.dims);
  std::vector<int64_t> steps = step.op.i64s("strides");
  int64_t base = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    int64_t last = (*starts)[axis] + (step.dims[axis] - 1) * steps[axis];
    if (step.dims[axis] > 0 && ((*starts)[axis] < 0 || last >= x.dims[axis]))
      return invalidArgument("the box leaves the operand");
    base += (*starts)[axis] * strides[axis];
    strides[axis] *= steps[axis];
  }
  return one(take(step, x, affine(step.dims, base, strides)));
}

Result<std::vector<Value>> reverse(const Step &step) {
  const Value &x = step.operand(0);
  Sizes strides = stridesOf(x.dims);
  int64_t base = 0;
  for (int64_t axis : step.op.i64s("axes")) {
    auto at = static_cast<size_t>(axis);
    base += (x.dims[at] - 1) * strides[at];
    strides[at] = -strides[at];
  }
  return one(take(step, x, affine(step.dims, base, strides)));
}

Result<std::vector<Value>> concat(const Step &step) {
  auto axis = static_cast<size_t>(step.op.i64("axis"));
  size_t inner = 1;
  for (size_t i = axis + 1; i < step.dims.size(); ++i)
    inner *= static_cast<size_t>(step.dims[i]);
  size_t outer = 1;
  for (size_t i = 0; i < axis; ++i)
    outer *= static_cast<size_t>(step.dims[i]);
  Map map;
  for (size_t o = 0; o < outer; ++o) {
    size_t base = 0;
    for (const Value *x : step.operands) {
      size_t run = static_cast<size_t>(x->dims[axis]) * inner;
      for (size_t i = 0; i < run; ++i)
        map.push_back(base + o * run + i);
      base += x->count();
    }
  }
  return one(take(step, joined(step.operands), map));
}

/// The index along an axis that a padded index shows; -1: the value.
int64_t padded(int64_t index, int64_t size, const std::string &mode) {
  if (index >= 0 && index < size)
    return index;
  if (mode == "constant")
    return -1;
  if (mode == "edge")
    return index < 0 ? 0 : size - 1;
  return index < 0 ? -index : 2 * (size - 1) - index;
}

Result<std::vector<Value>> pad(const Step &step) {
  const Value &x = step.operand(0);
  auto low = step.sizes("low");
  if (!low)
    return low.status();
  std::string mode = step.op.string("mode");
  Sizes strides = stridesOf(x.dims), out = stridesOf(step.dims);
  Map map(countOf(step.dims));
  for (size_t i = 0; i < map.size(); ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < strides.size() && at >= 0; ++axis) {
      int64_t index = static_cast<int64_t>(i) / out[axis] % step.dims[axis];
      index = padded(index - (*low)[axis], x.dims[axis], mode);
      at = index < 0 ? -1 : at + index * strides[axis];
    }
    map[i] = at < 0 ? x.count() : static_cast<size_t>(at);
  }
  return one(take(step, joined(step.operands), map));
}

/// Each element is one of those that its index may name. Of an interval that
/// reaches beyond the axis, the part on the axis counts: intervals have their
/// value in the middle, so that a clamp leaves them wider than they are.
Result<std::vector<Value>> gatherUncertain(const Step &step) {
  const Value &indices = step.operand(1);
  Value x = uniform(step.operand(0), false);
  auto axis = static_cast<size_t>(step.op.i64("axis"));
  Real last = static_cast<Real>(x.dims[axis]) - 1;
  size_t inner = countOf({x.dims.begin() + int64_t(axis) + 1, x.dims.end()});
  size_t block = static_cast<size_t>(x.dims[axis]) * inner;
  size_t count = indices.count();
  Value result = step.inexact(step.dtype);
  for (size_t i = 0; i < result.bounded.size(); ++i) {
    const MidRad &index = indices.bounded[i / inner % count];
    if (!std::isfinite(index.e) || index.v < 0 || index.v > last)
      return unimplemented("an uncertain index that may be out of range");
    size_t start = i / (inner * count) * block + i % inner;
    auto at = [&](int64_t k) {
      return x.bounded[start + static_cast<size_t>(k) * inner];
    };
    MidRad &out = result.bounded[i] = at(static_cast<int64_t>(index.v));
    auto high = static_cast<int64_t>(std::min(std::floor(index.high()), last));
    auto k = static_cast<int64_t>(std::max(std::ceil(index.low()), Real(0)));
    for (; k <= high; ++k)
      out = hull(out, at(k));
  }
  return one(std::move(result));
}

Result<std::vector<Value>> gather(const Step &step) {
  if (!step.operand(1).exact)
    return gatherUncertain(step);
  Result<Map> map = indexedAlong(step);
  if (!map)
    return map.status();
  return one(take(step, step.operand(0), *map));
}

Result<std::vector<Value>> select(const Step &step) {
  const Value &condition = step.operand(0);
  std::vector<const Value *> branches = {&step.operand(1), &step.operand(2)};
  size_t count = condition.count();
  Value both = joined(branches);
  Map map(count);
  for (size_t i = 0; i < count; ++i) {
    bool holds =
        condition.exact ? condition.bits[i] != 0 : condition.bounded[i].v != 0;
    map[i] = holds ? i : count + i;
  }
  Value result = take(step, both, map);
  if (condition.exact)
    return one(std::move(result));
  result = uniform(result, false);
  Value wide = uniform(both, false);
  for (size_t i = 0; i < count; ++i)
    if (condition.bounded[i].e != 0)
      result.bounded[i] = hull(wide.bounded[i], wide.bounded[count + i]);
  return one(std::move(result));
}

} // namespace

void addMovementRules(Rules &rules) {
  rules.insert({{"constant", constant},
                {"iota", iota},
                {"dim", dim},
                {"broadcast", broadcast},
                {"reshape", reshape},
                {"transpose", transpose},
                {"slice", slice},
                {"reverse", reverse},
                {"concat", concat},
                {"pad", pad},
                {"gather", gather},
                {"select", select}});
}

} // namespace backplane::conformance
