// SPDX-License-Identifier: Apache-2.0
#include "ExactProduct.h"

namespace backplane::conformance {

namespace {

size_t at(int64_t value) { return static_cast<size_t>(value); }

size_t areaOf(const std::vector<int64_t> &dims) {
  size_t area = 1;
  for (size_t axis = 2; axis < dims.size(); ++axis)
    area *= at(dims[axis]);
  return area;
}

/// Where element t of the window of output element s lies on the large side:
/// index[t][s], -1 for padding.
std::vector<Integers> windowsOf(const Op &op, const std::vector<int64_t> &large,
                                const std::vector<int64_t> &small,
                                const std::vector<int64_t> &window) {
  auto strides = op.i64s("strides"), dilations = op.i64s("dilations"),
       low = op.i64s("low");
  std::vector<Integers> all(areaOf(window), Integers(areaOf(small)));
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

class Convolution : public ExactProduct {
public:
  Convolution(const Op &op, const std::vector<Tensor> &inputs, const Tensor &y,
              uint64_t seed)
      : ExactProduct(op, inputs, y, seed),
        isTransposed_(op.name == "conv_transpose"),
        groups_(at(op.i64("groups"))),
        outs_(isTransposed_ ? at(wDims_[1]) : at(wDims_[0]) / groups_),
        ins_(isTransposed_ ? at(wDims_[0]) / groups_ : at(wDims_[1])),
        areaX_(areaOf(xDims_)), areaY_(areaOf(y.dims)), taps_(areaOf(wDims_)),
        windows_(isTransposed_ ? windowsOf(op, y.dims, xDims_, wDims_)
                               : windowsOf(op, xDims_, y.dims, wDims_)) {}

  std::optional<WrongElement> check() const {
    Integers r = coefficients(outs_, seed_), row;
    std::optional<WrongElement> fault;
    for (size_t group = 0; group < groups_; ++group) {
      Integers folded = fold(group, r);
      for (size_t image = 0; image < at(xDims_[0]); ++image) {
        Integers wanted = apply(image, group, folded), found(areaY_, 0);
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
  Integers fold(size_t group, const Integers &r) const {
    Integers sums(ins_ * taps_, 0);
    for (size_t o = 0; o < outs_; ++o)
      for (size_t i = 0; i < ins_; ++i)
        for (size_t t = 0; t < taps_; ++t)
          sums[i * taps_ + t] += w_[weight(group, o, i, t)] * r[o];
    reduceAll(sums);
    return sums;
  }

  /// The convolution with such weights.
  Integers apply(size_t image, size_t group, const Integers &folded) const {
    Integers sums(areaY_, 0);
    for (size_t i = 0; i < ins_; ++i) {
      const int64_t *x =
          x_.data() + ((image * groups_ + group) * ins_ + i) * areaX_;
      for (size_t t = 0; t < taps_; ++t)
        addTap(x, windows_[t], folded[i * taps_ + t], sums);
    }
    reduceAll(sums);
    return sums;
  }
  void addTap(const int64_t *x, const Integers &window, int64_t factor,
              Integers &sums) const {
    for (size_t s = 0; s < window.size(); ++s)
      if (window[s] >= 0 && isTransposed_)
        sums[at(window[s])] += x[s] * factor;
      else if (window[s] >= 0)
        sums[s] += x[at(window[s])] * factor;
  }

  /// The first wrong channel at a place that is known to have one.
  std::optional<WrongElement> locate(size_t image, size_t group,
                                     size_t s) const {
    Integers got;
    std::optional<WrongElement> fault;
    for (size_t o = 0; o < outs_; ++o) {
      Integers weights(ins_ * taps_);
      for (size_t i = 0; i < ins_; ++i)
        for (size_t t = 0; t < taps_; ++t)
          weights[i * taps_ + t] = w_[weight(group, o, i, t)];
      int64_t want = valueAt(image, group, s, weights);
      size_t element = start(image, group, o) + s;
      if (!line(element, 1, got, fault))
        return fault;
      if (got[0] != want)
        return WrongElement{element, want};
    }
    return std::nullopt;
  }
  /// One element of the result with the weights of one channel.
  int64_t valueAt(size_t image, size_t group, size_t place,
                  const Integers &weights) const {
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
  std::vector<Integers> windows_;
};

} // namespace

std::optional<WrongElement> checkConvolution(const Op &op,
                                             const std::vector<Tensor> &inputs,
                                             const Tensor &y, uint64_t seed) {
  return Convolution(op, inputs, y, seed).check();
}

} // namespace backplane::conformance
