// SPDX-License-Identifier: Apache-2.0
//
// Attention and RotaryEmbedding.
#include "OnnxHandlers.h"

#include <cmath>

namespace backplane::frontend {

namespace {

/// [batch, sequence, heads * size] as [batch, heads, sequence, size].
ValueId splitHeads(Node &node, ValueId value, int64_t heads) {
  Dims dims = node.type(value).dims;
  if (!node.ok() || dims.size() == 4)
    return value;
  if (dims.size() != 3)
    node.reject("an input is " + node.type(value).str() +
                ", but must have rank 3 or 4");
  else if (heads < 1 || mod(dims[2], heads) != Dim(0))
    node.reject("the last size of " + node.type(value).str() +
                " is not a multiple of the " + std::to_string(heads) +
                " heads");
  if (!node.ok())
    return kNone;
  Dims split{dims[0], dims[1], Dim(heads), floorDiv(dims[2], heads)};
  return node.transpose(node.reshape(value, split), {0, 2, 1, 3});
}

/// The inverse of splitHeads.
ValueId joinHeads(Node &node, ValueId value) {
  ValueId swapped = node.transpose(value, {0, 2, 1, 3});
  Dims dims = node.type(swapped).dims;
  if (!node.ok())
    return kNone;
  return node.reshape(swapped, {dims[0], dims[1], dims[2] * dims[3]});
}

/// Rows behind those of an earlier call, when there are some.
ValueId withPast(Node &node, size_t input, ValueId value) {
  if (!node.has(input) || !node.ok())
    return value;
  ValueId past = node.value(input);
  Dims dims = node.type(value).dims;
  if (node.ok() && node.type(past).rank() != 4)
    node.reject("the past is " + node.type(past).str() +
                ", but must have rank 4");
  if (!node.ok())
    return kNone;
  dims[2] = node.type(past).dims[2];
  return node.op("concat", {node.withDims(past, dims), value},
                 {{"axis", int64_t(2)}});
}

class Attention {
public:
  explicit Attention(Node &node) : node_(node) {}

  void run() {
    if (!checkAttributes())
      return;
    bool joined = node_.inputType(0).rank() == 3;
    int64_t heads = node_.i64("kv_num_heads", 0);
    q_ = splitHeads(node_, node_.value(0), node_.i64("q_num_heads", 0));
    k_ = splitHeads(node_, node_.value(1), heads);
    v_ = splitHeads(node_, node_.value(2), heads);
    if (!fit())
      return;
    std::vector<ValueId> operands{q_, k_, v_};
    if (ValueId mask = addHidden(readMask()); mask != kNone)
      operands.push_back(mask);
    ValueId result = node_.op("attention", operands, attributes());
    node_.out(0, joined ? joinHeads(node_, result) : result);
    if (node_.isUsed(1))
      node_.out(1, k_);
    if (node_.isUsed(2))
      node_.out(2, v_);
  }

private:
  bool checkAttributes() {
    left_ = node_.i64("left_window_size", -1);
    right_ = node_.i64("right_window_size", -1);
    if (left_ < -1 || right_ < -1)
      node_.reject("a window size is below -1");
    if (node_.has(4) != node_.has(5))
      node_.reject("past_key and past_value need each other");
    if (node_.has(4) && node_.has(6))
      node_.reject("past_key and nonpad_kv_seqlen exclude each other");
    return node_.ok();
  }

  /// Makes the sizes that must be equal so, and puts the past in front.
  bool fit() {
    Dims q = node_.type(q_).dims, k = node_.type(k_).dims;
    if (node_.ok() &&
        (q.size() != 4 || k.size() != 4 || node_.type(v_).rank() != 4))
      node_.reject("its inputs must have the same rank");
    if (!node_.ok())
      return false;
    Dims v = node_.type(v_).dims;
    k_ = node_.withDims(k_, {q[0], k[1], k[2], q[3]});
    v_ = node_.withDims(v_, {q[0], k[1], k[2], v[3]});
    k_ = withPast(node_, 4, k_);
    v_ = withPast(node_, 5, v_);
    if (!node_.ok())
      return false;
    Dims all = node_.type(k_).dims, values = node_.type(v_).dims;
    values[2] = all[2];
    v_ = node_.withDims(v_, values);
    scores_ = {q[0], q[1], q[2], all[2]};
    past_ = all[2] - k[2];
    return node_.ok();
  }

  DType dtype() { return node_.type(q_).dtype; }

  ValueId hideWhereNot(ValueId seen) {
    Dims dims = node_.type(seen).dims;
    return node_.op("select", {seen, node_.fill(dtype(), 0, dims),
                               node_.fill(dtype(), -HUGE_VAL, dims)});
  }

  /// The mask with rank 4, as a summand; kNone without one.
  ValueId readMask() {
    if (!node_.has(3) || !node_.ok())
      return kNone;
    ValueId mask = node_.value(3);
    if (node_.ok() && node_.type(mask).dtype == DType::Bool)
      mask = hideWhereNot(mask);
    Dims dims = node_.type(mask).dims;
    if (node_.ok() && (dims.empty() || dims.size() > 4))
      node_.reject("the mask is " + node_.type(mask).str());
    if (!node_.ok())
      return kNone;
    Dim missing = scores_[3] - dims.back();
    if (missing.constant().value_or(0) > 0) {
      Dims low(dims.size(), Dim(0)), high = low;
      high.back() = missing;
      mask = node_.op("pad", {mask, node_.fill(dtype(), -HUGE_VAL, {})},
                      {{"low", low}, {"high", high}});
      dims.back() = scores_[3];
    }
    dims.insert(dims.begin(), 4 - dims.size(), Dim(1));
    mask = node_.reshape(mask, dims);
    for (size_t i = 0; i < 4; ++i)
      dims[i] = dims[i] == Dim(1) ? dims[i] : scores_[i];
    return node_.withDims(mask, dims);
  }

  /// The row's position among the columns: its number plus what is before it.
  ValueId position(const Dims &dims) {
    ValueId row = node_.counter(dims, 2);
    if (!node_.has(6))
      return node_.op("add", {row, node_.fillDim(DType::I64, past_, dims)});
    ValueId before = node_.op(
        "sub", {lengths(dims), node_.fillDim(DType::I64, scores_[2], dims)});
    return node_.op("add", {row, before});
  }

  /// nonpad_kv_seqlen along the batch.
  ValueId lengths(const Dims &dims) {
    ValueId value = node_.cast(node_.value(6), DType::I64);
    if (node_.ok() && node_.type(value).rank() != 1)
      node_.reject("nonpad_kv_seqlen must have rank 1");
    return node_.along(node_.withDims(value, {dims[0]}), 0, dims);
  }

  bool isCausal() { return node_.flag("is_causal", false); }

  /// What the windows and nonpad_kv_seqlen hide, added to the mask.
  ValueId addHidden(ValueId mask) {
    bool perBatch = node_.has(6);
    if (!node_.ok() || (!perBatch && left_ < 0 && right_ < 0))
      return mask;
    Dims dims{perBatch ? scores_[0] : Dim(1), Dim(1), scores_[2], scores_[3]};
    ValueId column = node_.counter(dims, 3), at = position(dims), seen = kNone;
    auto also = [&](std::string_view direction, ValueId bound) {
      ValueId each = node_.compare(direction, column, bound);
      seen = seen == kNone ? each : node_.op("and", {seen, each});
    };
    auto shifted = [&](int64_t by) {
      return node_.op("add", {at, node_.fillInteger(DType::I64, by, dims)});
    };
    if (perBatch)
      also("lt", lengths(dims));
    if (perBatch && isCausal())
      also("le", at);
    if (left_ >= 0)
      also("ge", shifted(-left_));
    if (right_ >= 0)
      also("le", shifted(right_));
    if (mask == kNone || !node_.ok())
      return hideWhereNot(seen);
    std::vector<ValueId> both = node_.broadcastAll(std::vector{seen, mask});
    return node_.op("select",
                    {both[0], both[1], node_.fillLike(both[1], -HUGE_VAL)});
  }

  Attributes attributes() {
    double scale = node_.f64("scale", 0);
    if (!node_.hasAttribute("scale") && node_.ok()) {
      std::optional<int64_t> size = node_.type(q_).dims[3].constant();
      if (!size || *size < 1)
        node_.refuse("a symbolic head size needs the attribute 'scale'");
      else
        scale = 1 / std::sqrt(static_cast<double>(*size));
    }
    Dims causal;
    if (isCausal() && !node_.has(6))
      causal.push_back(past_);
    return {{"scale", scale},
            {"soft_cap", node_.f64("softcap", 0)},
            {"causal", causal}};
  }

  Node &node_;
  ValueId q_ = kNone, k_ = kNone, v_ = kNone;
  Dims scores_;
  Dim past_;
  int64_t left_ = -1, right_ = -1;
};

} // namespace

void onnxAttention(Node &node) { Attention(node).run(); }

// ---- RotaryEmbedding ----

namespace {

/// A cache as [batch, sequence, size]: chosen by positions, or as it is.
ValueId anglesOf(Node &node, size_t input, const Dims &wanted) {
  ValueId cache = node.value(input);
  if (node.has(3)) {
    ValueId ids = node.cast(node.value(3), DType::I64);
    cache = node.op("gather", {cache, ids}, {{"axis", int64_t(0)}});
  }
  return node.withDims(cache, wanted);
}

ValueId partOfLast(Node &node, ValueId x, int64_t start, const Dim &size) {
  return node.part(x, node.type(x).rank() - 1, Dim(start), size);
}

} // namespace

void onnxRotaryEmbedding(Node &node) {
  bool joined = node.inputType(0).rank() == 3;
  ValueId x = splitHeads(node, node.value(0), node.i64("num_heads", 0));
  Dims dims = node.type(x).dims;
  int64_t part = node.i64("rotary_embedding_dim", 0);
  if (!node.ok())
    return;
  std::optional<int64_t> size = dims[3].constant();
  if (!size)
    return node.refuse("a symbolic head size is not supported");
  if (part < 0 || part > *size || (part ? part : *size) % 2)
    return node.reject("rotary_embedding_dim " + std::to_string(part) +
                       " does not fit the head size " + dims[3].str());
  bool whole = part == 0 || part == *size;
  int64_t turned = whole ? *size : part;
  Dims angles{dims[0], dims[2], Dim(turned / 2)};
  ValueId head = whole ? x : partOfLast(node, x, 0, Dim(turned));
  ValueId result = node.op(
      "rotary", {head, anglesOf(node, 1, angles), anglesOf(node, 2, angles)},
      {{"interleaved", int64_t(node.flag("interleaved", false))}});
  if (!whole)
    result = node.op(
        "concat", {result, partOfLast(node, x, turned, dims[3] - Dim(turned))},
        {{"axis", int64_t(3)}});
  node.out(0, joined ? joinHeads(node, result) : result);
}

} // namespace backplane::frontend
