// SPDX-License-Identifier: Apache-2.0
//
// RecurrentCell.h: one step of the cells of RNN, GRU and LSTM.
#ifndef BACKPLANE_IMPORT_RECURRENTCELL_H
#define BACKPLANE_IMPORT_RECURRENTCELL_H

#include "Recurrent.h"

namespace backplane::frontend {

/// What a cell computes with, and its state. The cells of two directions at
/// once have an axis of 2 before all others, biases and peepholes [2, 1, size].
struct Cell {
  Node &node;
  const RecurrentShape &shape;
  std::vector<Activation> activations;
  ValueId weights = kNone; ///< of the recurrence, [gates * hidden, hidden]
  ValueId inputBias = kNone, bias = kNone; ///< [gates * hidden], or none
  ValueId peepholes = kNone;               ///< [3 * hidden], or none
  double clip = 0;                         ///< 0: none
  bool flag = false; ///< linear_before_reset, or input_forget
  ValueId h = kNone, c = kNone;

  /// The other operand where one is none.
  ValueId add(ValueId a, ValueId b) const;

  /// A step of its own, of the products of the input with its weights: h and c
  /// are the states after it.
  void stepRnn(ValueId x);
  void stepGru(ValueId x);
  void stepLstm(ValueId x);

private:
  ValueId mul(ValueId a, ValueId b) const { return node.binary("mul", a, b); }
  ValueId gate(ValueId value, int64_t index) const;
  ValueId weightsOf(int64_t gate) const;
  ValueId activate(size_t which, ValueId x) const;
  ValueId product(ValueId state, ValueId ofWeights) const;
  ValueId oneMinus(ValueId x) const;
};

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_RECURRENTCELL_H
