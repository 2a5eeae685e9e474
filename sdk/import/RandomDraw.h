// SPDX-License-Identifier: Apache-2.0
//
// RandomDraw.h: the random numbers of one node, made of random bits. They are
// functions of the node's key and of the counter of the call, so that every
// device draws the same ones.
#ifndef BACKPLANE_IMPORT_RANDOMDRAW_H
#define BACKPLANE_IMPORT_RANDOMDRAW_H

#include "Node.h"

namespace backplane::frontend {

class RandomDraw {
public:
  /// The key is the attribute `seed`, a float or for Dropout an integer, of
  /// which the low 32 bits count; without one the number of the op among those
  /// without in the model, the same at each import.
  explicit RandomDraw(Node &node);

  /// Uniform in [0, 1), as f32 or f64 with as many random bits as `dtype` has
  /// digits: no number becomes 1 when it is rounded to that.
  ValueId uniform(DType dtype, const Dims &dims);
  /// Normal with mean 0 and deviation 1, as f64 for f64, else f32 (Box and
  /// Muller).
  ValueId normal(DType dtype, const Dims &dims);

private:
  /// New random bits; those of each use differ.
  ValueId bits(const Dims &dims);
  /// `digits` random bits as a whole number, exact in the dtype.
  ValueId whole(DType dtype, unsigned digits, const Dims &dims);
  ValueId scaled(ValueId value, double factor);

  Node &node_;
  uint64_t key_ = 0;
};

/// The dtype that random numbers of a float dtype are computed in.
inline DType computedAs(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_RANDOMDRAW_H
