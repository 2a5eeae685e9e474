// SPDX-License-Identifier: Apache-2.0
#include "Freivalds.h"

#include "Data.h"
#include "Integers.h"
#include "conformance/compare/Elements.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

using Numbers = std::vector<int64_t>;

/// 2^31 - 1. A coefficient times an operand of at most 9 bits, summed 2^22
/// times, stays below 2^62.
constexpr int64_t prime = 2147483647;

size_t at(int64_t value) { return static_cast<size_t>(value); }
int64_t modulo(int64_t x) { return x % prime; }
void reduceAll(Numbers &numbers) {
  for (int64_t &x : numbers)
    x = modulo(x);
}

/// Coefficients in [1, p).
Numbers coefficients(size_t count, uint64_t seed) {
  Numbers r(count);
  for (size_t i = 0; i < count; ++i)
    r[i] = 1 + static_cast<int64_t>(randomBits(seed, i) % (prime - 1));
  return r;
}

bool isMatmul(const Op &op) { return op.name.starts_with("matmul"); }
bool hasZeroPoints(const Op &op) { return op.name.ends_with("_integer"); }

/// What is wrong with the output, if anything.
struct Fault {
  size_t element;
  std::optional<int64_t> want; ///< none: the element is no integer
};

/// Subtracts zero points of one per index along an axis, or one for all.
void subtract(Numbers &values, const std::vector<int64_t> &dims, size_t axis,
              const Numbers &zeros) {
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i)
    inner *= at(dims[i]);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] -= zeros[zeros.size() == 1 ? 0 : i / inner % zeros.size()];
}

/// Operand 0 or 1 as integers, without its zero points.
Numbers operandOf(const Op &op, const std::vector<Tensor> &inputs, size_t i) {
  const std::vector<int64_t> &dims = inputs[i].dims;
  Numbers numbers = allIntegers(inputs[i]);
  if (!hasZeroPoints(op))
    return numbers;
  // The axis of m or n; of the images, or of the output channels.
  bool isA = i == 0;
  size_t fromEnd =
      isA ? (op.i64("transpose_a") ? 1 : 2) : (op.i64("transpose_b") ? 2 : 1);
  size_t axis = isMatmul(op) ? dims.size() - fromEnd : 0;
  subtract(numbers, dims, axis, allIntegers(inputs[i + 2]));
  return numbers;
}

/// The operands as integers, without zero points.
class Product {
public:
  Product(const Op &op, const std::vector<Tensor> &inputs, const Tensor &y,
          uint64_t seed)
      : op_(op), xDims_(inputs[0].dims), wDims_(inputs[1].dims), y_(y),
        seed_(seed), x_(operandOf(op, inputs, 0)),
        w_(operandOf(op, inputs, 1)) {}

protected:
  /// A line of the output; false: `fault` is the element that is no integer.
  bool line(size_t first, size_t count, Numbers &values,
            std::optional<Fault> &fault) const {
    size_t bad = 0;
    values.resize(count);
    if (readIntegers(y_, first, count, values.data(), bad))
      return true;
    fault = Fault{first + bad, std::nullopt};
    return false;
  }

  const Op &op_;
  const std::vector<int64_t> &xDims_, &wDims_;
  const Tensor &y_;
  uint64_t seed_;
  Numbers x_, w_;
};

// ---- matmul ----

class MatrixProduct : public Product {
public:
  MatrixProduct(const Op &op, const std::vector<Tensor> &inputs,
                const Tensor &y, uint64_t seed)
      : Product(op, inputs, y, seed), ta_(op.i64("transpose_a") != 0),
        tb_(op.i64("transpose_b") != 0), m_(at(y.dims[y.dims.size() - 2])),
        n_(at(y.dims.back())), k_(at(xDims_[xDims_.size() - (ta_ ? 2 : 1)])),
        isShared_(wDims_.size() == 2) {}

  std::optional<Fault> check() const {
    size_t batches = m_ * n_ == 0 ? 0 : y_.elementCount() / (m_ * n_);
    std::optional<Fault> fault;
    Numbers r = coefficients(n_, seed_), folded, wanted, row;
    for (size_t batch = 0; batch < batches; ++batch) {
      if (batch == 0 || !isShared_)
        folded = fold(batch, r);
      wanted = apply(batch, folded);
      for (size_t i = 0; i < m_; ++i) {
        size_t first = (batch * m_ + i) * n_;
        if (!line(first, n_, row, fault))
          return fault;
        if (modulo(dot(row, r) - wanted[i]) != 0)
          return locate(batch, i, row);
      }
    }
    return fault;
  }

private:
  static int64_t dot(const Numbers &a, const Numbers &b) {
    __int128 sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      sum += static_cast<__int128>(a[i]) * b[i];
    return static_cast<int64_t>(sum % prime);
  }
  int64_t a(size_t batch, size_t i, size_t l) const {
    return x_[batch * m_ * k_ + (ta_ ? l * m_ + i : i * k_ + l)];
  }
  const int64_t *b(size_t batch) const {
    return w_.data() + (isShared_ ? 0 : batch * k_ * n_);
  }

  /// B * r.
  Numbers fold(size_t batch, const Numbers &r) const {
    Numbers sums(k_, 0);
    const int64_t *from = b(batch);
    for (size_t outer = 0; outer < (tb_ ? n_ : k_); ++outer)
      for (size_t inner = 0; inner < (tb_ ? k_ : n_); ++inner)
        sums[tb_ ? inner : outer] += *from++ * r[tb_ ? outer : inner];
    reduceAll(sums);
    return sums;
  }
  /// A * (B * r).
  Numbers apply(size_t batch, const Numbers &folded) const {
    Numbers sums(m_, 0);
    const int64_t *from = x_.data() + batch * m_ * k_;
    for (size_t outer = 0; outer < (ta_ ? k_ : m_); ++outer)
      for (size_t inner = 0; inner < (ta_ ? m_ : k_); ++inner)
        sums[ta_ ? inner : outer] += *from++ * folded[ta_ ? outer : inner];
    reduceAll(sums);
    return sums;
  }
  /// The first wrong element of a row that is known to have one.
  std::optional<Fault> locate(size_t batch, size_t i,
                              const Numbers &row) const {
    for (size_t j = 0; j < n_; ++j) {
      int64_t want = 0;
      for (size_t l = 0; l < k_; ++l)
        want += a(batch, i, l) * b(batch)[tb_ ? j * k_ + l : l * n_ + j];
      if (want != row[j])
        return Fault{(batch * m_ + i) * n_ + j, want};
    }
    return std::nullopt;
  }

  bool ta_, tb_;
  size_t m_, n_, k_;
  bool isShared_;
};

// ---- convolutions ----

size_t areaOf(const std::vector<int64_t> &dims) {
  size_t area = 1;
  for (size_t axis = 2; axis < dims.size(); ++axis)
    area *= at(dims[axis]);
  return area;
}

/// Where element t of the window of output element s lies on the large side:
/// index[t][s], -1 for padding.
std::vector<Numbers> windowsOf(const Op &op, const std::vector<int64_t> &large,
                               const std::vector<int64_t> &small,
                               const std::vector<int64_t> &window) {
  auto strides = op.i64s("strides"), dilations = op.i64s("dilations"),
       low = op.i64s("low");
  std::vector<Numbers> all(areaOf(window), Numbers(areaOf(small)));
  for (size_t t = 0; t < all.size(); ++t)
    for (size_t s = 0; s < all[t].size(); ++s) {
      int64_t flat = 0, scale = 1, inSmall = static_cast<int64_t>(s),
              inWindow = static_cast<int64_t>(t);
      for (size_t axis = large.size(); axis-- > 2 && flat >= 0;) {
        size_t i = axis - 2;
        int64_t index = inSmall % small[axis] * strides[i] +
                        inWindow % window[axis] * dilations[i] - low[i];
        inSmall /= small[axis];
        inWindow /= window[axis];
        flat = index < 0 || index >= large[axis] ? -1 : flat + index * scale;
        scale *= large[axis];
      }
      all[t][s] = flat;
    }
  return all;
}

class Convolution : public Product {
public:
  Convolution(const Op &op, const std::vector<Tensor> &inputs, const Tensor &y,
              uint64_t seed)
      : Product(op, inputs, y, seed),
        isTransposed_(op.name == "conv_transpose"),
        groups_(at(op.i64("groups"))),
        outs_(isTransposed_ ? at(wDims_[1]) : at(wDims_[0]) / groups_),
        ins_(isTransposed_ ? at(wDims_[0]) / groups_ : at(wDims_[1])),
        areaX_(areaOf(xDims_)), areaY_(areaOf(y.dims)), taps_(areaOf(wDims_)),
        windows_(isTransposed_ ? windowsOf(op, y.dims, xDims_, wDims_)
                               : windowsOf(op, xDims_, y.dims, wDims_)) {}

  std::optional<Fault> check() const {
    Numbers r = coefficients(outs_, seed_), row;
    std::optional<Fault> fault;
    for (size_t group = 0; group < groups_; ++group) {
      Numbers folded = fold(group, r);
      for (size_t image = 0; image < at(xDims_[0]); ++image) {
        Numbers wanted = apply(image, group, folded), found(areaY_, 0);
        for (size_t o = 0; o < outs_; ++o) {
          if (!line(start(image, group, o), areaY_, row, fault))
            return fault;
          for (size_t s = 0; s < areaY_; ++s)
            found[s] = modulo(found[s] + modulo(row[s]) * r[o]);
        }
        for (size_t s = 0; s < areaY_; ++s)
          if (modulo(found[s] - wanted[s]) != 0)
            return locate(image, group, s);
      }
    }
    return fault;
  }

private:
  size_t start(size_t image, size_t group, size_t o) const {
    return ((image * groups_ + group) * outs_ + o) * areaY_;
  }
  size_t weight(size_t group, size_t o, size_t i, size_t t) const {
    return (isTransposed_ ? ((group * ins_ + i) * outs_ + o)
                          : ((group * outs_ + o) * ins_ + i)) *
               taps_ +
           t;
  }

  /// The weights of one output channel: the combination of all by r.
  Numbers fold(size_t group, const Numbers &r) const {
    Numbers sums(ins_ * taps_, 0);
    for (size_t o = 0; o < outs_; ++o)
      for (size_t i = 0; i < ins_; ++i)
        for (size_t t = 0; t < taps_; ++t)
          sums[i * taps_ + t] += w_[weight(group, o, i, t)] * r[o];
    reduceAll(sums);
    return sums;
  }

  /// The convolution with such weights.
  Numbers apply(size_t image, size_t group, const Numbers &folded) const {
    Numbers sums(areaY_, 0);
    for (size_t i = 0; i < ins_; ++i) {
      const int64_t *x =
          x_.data() + ((image * groups_ + group) * ins_ + i) * areaX_;
      for (size_t t = 0; t < taps_; ++t)
        addTap(x, windows_[t], folded[i * taps_ + t], sums);
    }
    reduceAll(sums);
    return sums;
  }
  void addTap(const int64_t *x, const Numbers &window, int64_t factor,
              Numbers &sums) const {
    for (size_t s = 0; s < window.size(); ++s)
      if (window[s] >= 0 && isTransposed_)
        sums[at(window[s])] += x[s] * factor;
      else if (window[s] >= 0)
        sums[s] += x[at(window[s])] * factor;
  }

  /// The first wrong channel at a place that is known to have one.
  std::optional<Fault> locate(size_t image, size_t group, size_t s) const {
    Numbers got;
    std::optional<Fault> fault;
    for (size_t o = 0; o < outs_; ++o) {
      Numbers weights(ins_ * taps_);
      for (size_t i = 0; i < ins_; ++i)
        for (size_t t = 0; t < taps_; ++t)
          weights[i * taps_ + t] = w_[weight(group, o, i, t)];
      int64_t want = valueAt(image, group, s, weights);
      size_t element = start(image, group, o) + s;
      if (!line(element, 1, got, fault))
        return fault;
      if (got[0] != want)
        return Fault{element, want};
    }
    return std::nullopt;
  }
  /// One element of the result with the weights of one channel.
  int64_t valueAt(size_t image, size_t group, size_t place,
                  const Numbers &weights) const {
    int64_t sum = 0;
    for (size_t i = 0; i < ins_; ++i) {
      const int64_t *x =
          x_.data() + ((image * groups_ + group) * ins_ + i) * areaX_;
      for (size_t t = 0; t < taps_; ++t)
        if (!isTransposed_)
          sum += windows_[t][place] < 0
                     ? 0
                     : x[at(windows_[t][place])] * weights[i * taps_ + t];
        else
          for (size_t s = 0; s < areaX_; ++s)
            if (windows_[t][s] == static_cast<int64_t>(place))
              sum += x[s] * weights[i * taps_ + t];
    }
    return sum;
  }

  bool isTransposed_;
  size_t groups_, outs_, ins_, areaX_, areaY_, taps_;
  std::vector<Numbers> windows_;
};

std::optional<Fault> check(const Op &op, const std::vector<Tensor> &inputs,
                           const Tensor &y, uint64_t seed) {
  if (isMatmul(op))
    return MatrixProduct(op, inputs, y, seed).check();
  return Convolution(op, inputs, y, seed).check();
}

int64_t valueOf(const Dim &dim, const SymbolValues &symbols) {
  auto value = dim.evaluate(symbols);
  return value ? *value : 0;
}

} // namespace

bool isProduct(const Graph &graph) {
  static constexpr std::string_view ops[] = {"matmul", "matmul_integer", "conv",
                                             "conv_integer", "conv_transpose"};
  return graph.ops.size() == 1 &&
         std::ranges::find(ops, graph.ops[0].name) != std::end(ops);
}

std::vector<Tensor> productInputs(const Unit &unit, const Case &testCase) {
  const Graph &model = unit.large->model;
  DType result = model.type(model.outputs[0].value).dtype;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorType &type = model.type(model.inputs[i]);
    Tensor tensor{type.dtype, {}, {}};
    for (const Dim &dim : type.dims)
      tensor.dims.push_back(valueOf(dim, testCase.symbols));
    tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
    int64_t terms =
        std::max<int64_t>(valueOf(unit.rules[0].terms, testCase.symbols), 1);
    auto range = exactIntegers(type.dtype, result, terms);
    fillIntegers(tensor, range.value_or(IntegerRange{1, 4}),
                 testCase.seed ^ hashText("input") * (i + 1));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Verdict judgeProduct(const Unit &unit, const Case &testCase,
                     const std::vector<Tensor> &outputs) {
  const Graph &model = unit.large->model;
  const TensorType &type = model.type(model.outputs[0].value);
  Expected form;
  form.dtype = type.dtype;
  for (const Dim &dim : type.dims)
    form.dims.push_back(valueOf(dim, testCase.symbols));
  const Tensor none, &y = outputs.empty() ? none : outputs[0];
  if (y.dtype != form.dtype || y.dims != form.dims ||
      y.data.size() != packedBytes(y.dtype, y.elementCount()))
    return compare(form, y, {});
  Verdict verdict;
  verdict.elements = y.elementCount();
  auto fault = check(model.ops[0], productInputs(unit, testCase), y,
                     randomBits(testCase.seed, 0x46726569));
  verdict.pass = !fault;
  if (!fault)
    return verdict;
  verdict.worst = fault->element;
  verdict.limitUsed = HUGE_VAL;
  verdict.got = textOf(y.dtype, loadBits(y, fault->element));
  verdict.want = fault->want ? std::to_string(*fault->want) : "an integer";
  verdict.reason = "not the exact product: element " +
                   std::to_string(fault->element) + " is " + verdict.got +
                   ", needs " + verdict.want;
  return verdict;
}

} // namespace backplane::conformance
