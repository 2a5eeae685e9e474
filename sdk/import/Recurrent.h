// SPDX-License-Identifier: Apache-2.0
//
// Recurrent.h: sizes and activation functions of RNN, GRU and LSTM nodes.
#ifndef BACKPLANE_IMPORT_RECURRENT_H
#define BACKPLANE_IMPORT_RECURRENT_H

#include "Node.h"

namespace backplane::frontend {

struct RecurrentShape {
  int64_t directions = 1, hidden = 0;
  Dim steps, batch;
  bool batchFirst = false;

  /// Takes hidden from the weights of the recurrence, batch from x[steps,
  /// batch, size]. False after a failure.
  bool read(Node &node, const TensorType &x, int64_t gates);
};

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
  bool operator==(const Activation &) const = default;
};

/// The functions of all directions, by default `defaults` for each. The lists
/// of alphas and betas go to the functions that have such a parameter, in
/// order.
std::vector<Activation> readActivations(Node &node,
                                        std::vector<std::string> defaults,
                                        bool bothDirections);
ValueId applyActivation(Node &node, const Activation &activation, ValueId x);

/// x[index], without its first axis.
ValueId sliceFirst(Node &node, ValueId x, int64_t index);
/// `size` elements of the last axis from `start` on.
ValueId sliceLast(Node &node, ValueId x, int64_t start, int64_t size);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_RECURRENT_H
