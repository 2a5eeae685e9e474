// SPDX-License-Identifier: Apache-2.0
//
// RNN, GRU and LSTM: few steps are written out, others are a loop. The products
// of the inputs with their weights are one matmul for all steps. Two directions
// with the same functions are a batch: each step is a step of both.
#include "Loop.h"
#include "OnnxHandlers.h"
#include "RecurrentCell.h"

namespace backplane::frontend {

namespace {

/// More steps become a loop: the graph grows with each that is written out.
constexpr int64_t kMostSteps = 64;

/// Of n directions.
struct Results {
  ValueId all, h, c; ///< [steps, n, batch, hidden], [n, batch, hidden] twice
};

/// One of RNN, GRU and LSTM.
class Recurrent {
public:
  using Step = void (Cell::*)(ValueId);
  Recurrent(Node &node, int64_t gates, bool hasCell, Step step)
      : node_(node), gates_(gates), hasCell_(hasCell), step_(step) {}
  void run(std::vector<std::string> activations, std::string_view flag);

private:
  bool readShape();
  bool areAlike() const;
  ValueId own(ValueId given, int64_t direction);
  Dims withDirections(Dims dims) const;
  Cell makeCell(int64_t direction);
  void readStates(Cell &cell, int64_t direction);
  ValueId state(size_t input, int64_t direction);
  ValueId optional(size_t input, int64_t direction, int64_t size);
  ValueId inputProducts(const Cell &cell, int64_t direction);
  ValueId secondReversed(ValueId value);
  std::vector<Dim> times(const Dim &iteration, bool reversed) const;
  ValueId inside(ValueId lengths, const std::vector<Dim> &times);
  ValueId step(Cell &cell, ValueId products, ValueId lengths,
               const std::vector<Dim> &times);
  Results runDirection(int64_t direction, bool reversed);
  ValueId writeOut(Cell &cell, ValueId products, bool reversed);
  ValueId loop(Cell &cell, ValueId products, int64_t direction, bool reversed);
  ValueId joined(std::vector<ValueId> values, int64_t axis);
  void outputs(const std::vector<Results> &directions);

  Node &node_;
  int64_t gates_;
  bool hasCell_;
  Step step_;
  RecurrentShape shape_;
  std::vector<Activation> activations_;
  bool flag_ = false;
  bool together_ = false; ///< both directions at once
  ValueId x_ = kNone, lengths_ = kNone;
};

/// Whether two directions have the same functions.
bool Recurrent::areAlike() const {
  auto middle = activations_.begin() + ptrdiff_t(activations_.size() / 2);
  return std::equal(activations_.begin(), middle, middle, activations_.end());
}

/// The part of an input [directions, ...] that one direction reads, or all.
ValueId Recurrent::own(ValueId given, int64_t direction) {
  return together_ ? given : sliceFirst(node_, given, direction);
}

Dims Recurrent::withDirections(Dims dims) const {
  if (together_)
    dims.insert(dims.begin(), Dim(2));
  return dims;
}

bool Recurrent::readShape() {
  shape_.batchFirst = node_.flag("layout", false);
  x_ = node_.value(0);
  if (node_.ok() && node_.type(x_).rank() != 3)
    node_.reject("its input is " + node_.type(x_).str() +
                 ", but must have rank 3");
  if (shape_.batchFirst)
    x_ = node_.transpose(x_, {1, 0, 2});
  if (!node_.ok() || !shape_.read(node_, node_.type(x_), gates_))
    return false;
  shape_.steps = node_.type(x_).dims[0];
  if (node_.has(4))
    lengths_ = node_.withDims(node_.value(4), {shape_.batch});
  return node_.ok();
}

/// An initial state of one direction, zeros when it is not given.
ValueId Recurrent::state(size_t input, int64_t direction) {
  if (!node_.has(input))
    return node_.fill(node_.type(x_).dtype, 0,
                      withDirections({shape_.batch, shape_.hidden}));
  ValueId given = node_.value(input);
  if (node_.ok() && node_.type(given).rank() != 3)
    node_.reject("an initial state must have rank 3");
  if (shape_.batchFirst)
    given = node_.transpose(given, {1, 0, 2});
  given =
      node_.withDims(given, {shape_.directions, shape_.batch, shape_.hidden});
  return own(given, direction);
}

/// What a cell reads of a rank-2 input, or none.
ValueId Recurrent::optional(size_t input, int64_t direction, int64_t size) {
  if (!node_.has(input))
    return kNone;
  ValueId given = node_.withDims(node_.value(input), {shape_.directions, size});
  return together_ ? node_.reshape(given, {2, 1, size}) : own(given, direction);
}

Cell Recurrent::makeCell(int64_t direction) {
  Cell cell{node_, shape_, {}};
  size_t count = activations_.size() / size_t(shape_.directions);
  auto first = activations_.begin() + direction * int64_t(count);
  cell.activations.assign(first, first + int64_t(count));
  cell.clip = node_.f64("clip", 0);
  cell.flag = flag_;
  int64_t rows = gates_ * shape_.hidden;
  cell.weights = own(
      node_.withDims(node_.value(2), {shape_.directions, rows, shape_.hidden}),
      direction);
  if (ValueId both = optional(3, direction, 2 * rows); both != kNone) {
    cell.inputBias = sliceLast(node_, both, 0, rows);
    cell.bias = sliceLast(node_, both, rows, rows);
  }
  if (hasCell_)
    cell.peepholes = optional(7, direction, 3 * shape_.hidden);
  return cell;
}

void Recurrent::readStates(Cell &cell, int64_t direction) {
  cell.h = state(5, direction);
  if (hasCell_)
    cell.c = state(6, direction);
}

/// [steps, batch, gates * hidden]; of both directions [steps, 2, batch, ...],
/// where the steps of the second are from the last to the first.
ValueId Recurrent::inputProducts(const Cell &cell, int64_t direction) {
  Dims dims = node_.type(x_).dims;
  int64_t rows = gates_ * shape_.hidden, all = together_ ? 2 * rows : rows;
  ValueId weights =
      node_.reshape(own(node_.withDims(node_.value(1),
                                       {shape_.directions, rows, dims.back()}),
                        direction),
                    {all, dims.back()});
  ValueId flat = node_.reshape(x_, {dims[0] * dims[1], dims[2]});
  ValueId products =
      node_.op("matmul", {flat, weights}, {{"transpose_b", int64_t(1)}});
  if (cell.inputBias != kNone)
    products = cell.add(products, node_.reshape(cell.inputBias, {all}));
  if (!together_)
    return node_.reshape(products, {dims[0], dims[1], rows});
  products = node_.reshape(products, {dims[0], dims[1], 2, rows});
  return secondReversed(node_.transpose(products, {0, 2, 1, 3}));
}

/// [steps, 2, ...] with the steps of the second direction in reversed order.
ValueId Recurrent::secondReversed(ValueId value) {
  if (!node_.ok())
    return kNone;
  ValueId second = node_.op("reverse", {node_.part(value, 1, 1, 1)},
                            {{"axes", std::vector<int64_t>{0}}});
  return joined({node_.part(value, 1, 0, 1), second}, 1);
}

/// The step of the input that each direction is at.
std::vector<Dim> Recurrent::times(const Dim &iteration, bool reversed) const {
  Dim fromLast = shape_.steps - Dim(1) - iteration;
  if (together_)
    return {iteration, fromLast};
  return {reversed ? fromLast : iteration};
}

/// Where a sequence is longer than these times: [batch, hidden] of each.
ValueId Recurrent::inside(ValueId lengths, const std::vector<Dim> &times) {
  TensorType type = node_.type(lengths);
  std::vector<ValueId> all;
  for (const Dim &time : times) {
    ValueId longer = node_.compare("gt", lengths,
                                   node_.fillDim(type.dtype, time, type.dims));
    all.push_back(node_.reshape(longer, together_ ? Dims{1, shape_.batch, 1}
                                                  : Dims{shape_.batch, 1}));
  }
  return node_.broadcast(joined(all, 0),
                         withDirections({shape_.batch, shape_.hidden}));
}

/// One step of the cell; returns the output of the step, [batch, hidden]. Past
/// its length, a sequence keeps its state and its output is zero.
ValueId Recurrent::step(Cell &cell, ValueId products, ValueId lengths,
                        const std::vector<Dim> &times) {
  ValueId h = cell.h, c = cell.c;
  (cell.*step_)(products);
  if (lengths == kNone || !node_.ok())
    return cell.h;
  ValueId isInside = inside(lengths, times);
  ValueId output =
      node_.op("select", {isInside, cell.h, node_.fillLike(cell.h, 0)});
  cell.h = node_.op("select", {isInside, cell.h, h});
  if (hasCell_)
    cell.c = node_.op("select", {isInside, cell.c, c});
  return output;
}

ValueId Recurrent::writeOut(Cell &cell, ValueId products, bool reversed) {
  int64_t steps = *shape_.steps.constant();
  std::vector<ValueId> all(size_t(steps), kNone);
  for (int64_t i = 0; node_.ok() && i < steps; ++i) {
    std::vector<Dim> at = times(Dim(i), reversed);
    int64_t time = *at.front().constant();
    ValueId output =
        step(cell, sliceFirst(node_, products, time), lengths_, at);
    all[size_t(time)] = node_.reshape(
        output, {1, together_ ? 2 : 1, shape_.batch, shape_.hidden});
  }
  return joined(all, 0);
}

/// The weights are read inside, so that they are constants there.
ValueId Recurrent::loop(Cell &cell, ValueId products, int64_t direction,
                        bool reversed) {
  LoopBuilder loop(node_, shape_.steps);
  std::vector<ValueId> states = {cell.h};
  if (hasCell_)
    states.push_back(cell.c);
  if (!loop.begin(states))
    return kNone;
  Cell inner = makeCell(direction);
  inner.h = loop.carried()[0];
  inner.c = hasCell_ ? loop.carried()[1] : kNone;
  std::vector<Dim> at = times(loop.iteration(), reversed);
  ValueId output = step(inner, loop.row(node_.capture(products), at.front()),
                        node_.capture(lengths_), at);
  states = {inner.h};
  if (hasCell_)
    states.push_back(inner.c);
  std::vector<ValueId> results = loop.end(states, {output});
  if (!node_.ok())
    return kNone;
  cell.h = results[0];
  cell.c = hasCell_ ? results[1] : kNone;
  ValueId all = results.back();
  if (reversed)
    all = node_.op("reverse", {all}, {{"axes", std::vector<int64_t>{0}}});
  return node_.reshape(
      all, {shape_.steps, together_ ? 2 : 1, shape_.batch, shape_.hidden});
}

/// One direction, or both.
Results Recurrent::runDirection(int64_t direction, bool reversed) {
  Cell cell = makeCell(direction);
  readStates(cell, direction);
  ValueId products = inputProducts(cell, direction);
  std::optional<int64_t> steps = shape_.steps.constant();
  bool few = steps && *steps >= 1 && *steps <= kMostSteps;
  ValueId all = few ? writeOut(cell, products, reversed)
                    : loop(cell, products, direction, reversed);
  Dims last{together_ ? 2 : 1, shape_.batch, shape_.hidden};
  ValueId c = hasCell_ ? node_.reshape(cell.c, last) : kNone;
  return {together_ ? secondReversed(all) : all, node_.reshape(cell.h, last),
          c};
}

ValueId Recurrent::joined(std::vector<ValueId> values, int64_t axis) {
  return values.size() == 1 ? values[0]
                            : node_.op("concat", values, {{"axis", axis}});
}

void Recurrent::outputs(const std::vector<Results> &directions) {
  std::vector<ValueId> all, h, c;
  for (const Results &direction : directions) {
    all.push_back(direction.all);
    h.push_back(direction.h);
    c.push_back(direction.c);
  }
  ValueId y = joined(all, 1);
  node_.out(0, shape_.batchFirst ? node_.transpose(y, {2, 0, 1, 3}) : y);
  auto outState = [&](size_t output, const std::vector<ValueId> &states) {
    ValueId value = joined(states, 0);
    node_.out(output,
              shape_.batchFirst ? node_.transpose(value, {1, 0, 2}) : value);
  };
  outState(1, h);
  if (hasCell_)
    outState(2, c);
}

void Recurrent::run(std::vector<std::string> activations,
                    std::string_view flag) {
  node_.roundOnce();
  std::string direction = node_.string("direction", "forward");
  bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse")
    return node_.reject("its direction is '" + direction + "'");
  shape_.directions = both ? 2 : 1;
  if (!readShape())
    return;
  flag_ = !flag.empty() && node_.flag(flag, false);
  activations_ = readActivations(node_, std::move(activations), both);
  together_ = both && areAlike();
  std::vector<Results> directions;
  for (int64_t i = 0; node_.ok() && i < (together_ ? 1 : shape_.directions);
       ++i)
    directions.push_back(runDirection(i, i == 1 || direction == "reverse"));
  if (node_.ok())
    outputs(directions);
}

} // namespace

void onnxRnn(Node &node) {
  Recurrent(node, 1, false, &Cell::stepRnn).run({"Tanh"}, "");
}

void onnxGru(Node &node) {
  Recurrent(node, 3, false, &Cell::stepGru)
      .run({"Sigmoid", "Tanh"}, "linear_before_reset");
}

void onnxLstm(Node &node) {
  Recurrent(node, 4, true, &Cell::stepLstm)
      .run({"Sigmoid", "Tanh", "Tanh"}, "input_forget");
}

} // namespace backplane::frontend
