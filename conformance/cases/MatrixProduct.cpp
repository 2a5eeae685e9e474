// SPDX-License-Identifier: Apache-2.0
#include "ExactProduct.h"

namespace backplane::conformance {

namespace {

size_t at(int64_t value) { return static_cast<size_t>(value); }

class MatrixProduct : public ExactProduct {
public:
  MatrixProduct(const Op &op, const std::vector<Tensor> &inputs,
                const Tensor &y, uint64_t seed)
      : ExactProduct(op, inputs, y, seed), ta_(op.i64("transpose_a") != 0),
        tb_(op.i64("transpose_b") != 0), m_(at(y.dims[y.dims.size() - 2])),
        n_(at(y.dims.back())), k_(at(xDims_[xDims_.size() - (ta_ ? 2 : 1)])),
        isShared_(wDims_.size() == 2) {}

  std::optional<WrongElement> check() const {
    size_t batches = m_ * n_ == 0 ? 0 : y_.elementCount() / (m_ * n_);
    std::optional<WrongElement> fault;
    Integers r = coefficients(n_, seed_), folded, wanted, row;
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
  static int64_t dot(const Integers &a, const Integers &b) {
    __int128 sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      sum += static_cast<__int128>(a[i]) * b[i];
    return static_cast<int64_t>(sum % freivaldsPrime);
  }
  int64_t a(size_t batch, size_t i, size_t l) const {
    return x_[batch * m_ * k_ + (ta_ ? l * m_ + i : i * k_ + l)];
  }
  const int64_t *b(size_t batch) const {
    return w_.data() + (isShared_ ? 0 : batch * k_ * n_);
  }

  /// B * r.
  Integers fold(size_t batch, const Integers &r) const {
    Integers sums(k_, 0);
    const int64_t *from = b(batch);
    for (size_t outer = 0; outer < (tb_ ? n_ : k_); ++outer)
      for (size_t inner = 0; inner < (tb_ ? k_ : n_); ++inner)
        sums[tb_ ? inner : outer] += *from++ * r[tb_ ? outer : inner];
    reduceAll(sums);
    return sums;
  }
  /// A * (B * r).
  Integers apply(size_t batch, const Integers &folded) const {
    Integers sums(m_, 0);
    const int64_t *from = x_.data() + batch * m_ * k_;
    for (size_t outer = 0; outer < (ta_ ? k_ : m_); ++outer)
      for (size_t inner = 0; inner < (ta_ ? m_ : k_); ++inner)
        sums[ta_ ? inner : outer] += *from++ * folded[ta_ ? outer : inner];
    reduceAll(sums);
    return sums;
  }
  /// The first wrong element of a row that is known to have one.
  std::optional<WrongElement> locate(size_t batch, size_t i,
                                     const Integers &row) const {
    for (size_t j = 0; j < n_; ++j) {
      int64_t want = 0;
      for (size_t l = 0; l < k_; ++l)
        want += a(batch, i, l) * b(batch)[tb_ ? j * k_ + l : l * n_ + j];
      if (want != row[j])
        return WrongElement{(batch * m_ + i) * n_ + j, want};
    }
    return std::nullopt;
  }

  bool ta_, tb_;
  size_t m_, n_, k_;
  bool isShared_;
};

} // namespace

std::optional<WrongElement>
checkMatrixProduct(const Op &op, const std::vector<Tensor> &inputs,
                   const Tensor &y, uint64_t seed) {
  return MatrixProduct(op, inputs, y, seed).check();
}

} // namespace backplane::conformance
