// SPDX-License-Identifier: Apache-2.0
//
// Loop and Scan as a `while` of the graph.
#include "Loop.h"
#include "OnnxHandlers.h"

namespace backplane::frontend {

namespace {

/// From here on a number of iterations means "until the condition fails".
constexpr int64_t kEndless = int64_t(1) << 31;

/// The one element of a value as a scalar.
ValueId scalar(Node &node, ValueId value) {
  return node.ok() ? node.reshape(value, {}) : kNone;
}

/// ONNX Loop: its number of iterations and condition, both optional.
class Loop {
public:
  explicit Loop(Node &node) : node_(node) {}
  void run();

private:
  void readCount();
  void readCondition();
  std::optional<Dim> stackedLimit(size_t carried, size_t stacked);
  void importBody(LoopBuilder &loop, const onnx::GraphProto &body);
  void finish(LoopBuilder &loop, size_t carried);
  ValueId firstPredicate();
  ValueId nextPredicate(LoopBuilder &loop);
  ValueId below(const Dim &iteration, ValueId count);

  Node &node_;
  std::optional<Dim> limit_;  ///< iterations, when known
  ValueId count_ = kNone;     ///< iterations, when data say
  ValueId condition_ = kNone; ///< first condition, when data say
  ValueId first_ = kNone;     ///< first predicate, of all that
  NamedValue *nextCondition_ = nullptr;
  std::vector<NamedValue *> outputs_;
};

void Loop::readCount() {
  if (!node_.has(0))
    return;
  const TensorType &type = node_.inputType(0);
  if (type.dtype != DType::I64)
    return node_.reject("its number of iterations is " + type.str() +
                        ", but must be one i64");
  const Known *known = node_.known(0);
  if (!known) {
    count_ = scalar(node_, node_.value(0));
    return;
  }
  if (known->elements.size() != 1)
    return node_.reject("its number of iterations is " + type.str() +
                        ", but must be one i64");
  Dim count = known->elements[0].value;
  if (!known->elements[0].nonNegative)
    count = max(count, Dim(0));
  if (count.constant().value_or(0) < kEndless)
    limit_ = count;
}

void Loop::readCondition() {
  if (!node_.has(1))
    return;
  const TensorType &type = node_.inputType(1);
  if (type.dtype != DType::Bool)
    return node_.reject("its condition is " + type.str() +
                        ", but must be one bool");
  const Known *known = node_.known(1);
  if (known && known->elements.size() == 1)
    if (auto value = known->elements[0].value.constant()) {
      if (!*value)
        limit_ = Dim(0);
      return;
    }
  condition_ = scalar(node_, node_.value(1));
}

/// i < count
ValueId Loop::below(const Dim &iteration, ValueId count) {
  return node_.compare("lt", node_.fillDim(DType::I64, iteration, {}), count);
}

ValueId Loop::firstPredicate() {
  ValueId predicate = condition_;
  Dim zero(0);
  ValueId counted = count_ == kNone ? kNone : below(zero, count_);
  if (predicate == kNone && counted == kNone)
    return node_.op("constant", {},
                    {{"value", Bytes{1}},
                     {"dtype", int64_t(DType::Bool)},
                     {"dims", Dims()}});
  if (predicate == kNone || counted == kNone)
    return predicate == kNone ? counted : predicate;
  return node_.op("and", {predicate, counted});
}

/// Inside: the condition that the body gives, and whether there is another
/// iteration to run.
ValueId Loop::nextPredicate(LoopBuilder &loop) {
  ValueId going = scalar(node_, node_.materialise(nextCondition_));
  if (node_.ok() && node_.type(going).dtype != DType::Bool)
    node_.reject("its body gives a condition of " + node_.type(going).str());
  ValueId count = kNone;
  Dim next = loop.iteration() + Dim(1);
  if (count_ != kNone)
    count = node_.capture(count_);
  else if (limit_)
    count = node_.fillDim(DType::I64, *limit_, {});
  if (count == kNone)
    return going;
  return node_.op("and", {going, below(next, count)});
}

/// How many rows are stacked: as many as iterations, or as the model declares
/// for the first output that is.
std::optional<Dim> Loop::stackedLimit(size_t carried, size_t stacked) {
  if (limit_ || stacked == 0)
    return limit_;
  for (size_t i = carried; i < carried + stacked; ++i) {
    const onnx::TypeProto *type =
        node_.importer().declared(node_.outputName(i));
    if (!type || !type->tensor_type().has_shape() ||
        !type->tensor_type().shape().dim_size())
      continue;
    if (auto dim =
            node_.importer().declaredDim(type->tensor_type().shape().dim(0)))
      return dim;
  }
  node_.refuse("output '" + node_.outputName(carried) +
               "', which has as many rows as data say, is not supported; "
               "declare its shape");
  return std::nullopt;
}

void Loop::importBody(LoopBuilder &loop, const onnx::GraphProto &body) {
  node_.bind(body.input(0).name(),
             knownScalar(DType::I64, {loop.iteration(), true}));
  node_.bind(body.input(1).name(),
             knownScalar(DType::Bool, KnownElement::number(1)));
  for (size_t i = 0; i < loop.carried().size(); ++i)
    node_.bind(body.input(int(i) + 2).name(), loop.carried()[i]);
  outputs_ = node_.nested(body);
  if (node_.ok())
    nextCondition_ = outputs_[0];
}

void Loop::finish(LoopBuilder &loop, size_t carried) {
  std::vector<ValueId> next, stacked;
  for (size_t i = 1; i < outputs_.size(); ++i)
    (i <= carried ? next : stacked).push_back(node_.materialise(outputs_[i]));
  const std::optional<Known> &known = nextCondition_->known;
  bool goesOn = known && known->elements.size() == 1 &&
                known->elements[0].value == Dim(1);
  bool counts = count_ == kNone && limit_;
  std::vector<ValueId> results;
  if (goesOn && condition_ == kNone && counts)
    results = loop.end(next, stacked);
  else
    results = loop.end(next, stacked, first_, nextPredicate(loop));
  for (size_t i = 0; i < results.size(); ++i)
    node_.out(i, results[i]);
}

void Loop::run() {
  const onnx::GraphProto *body = node_.graphAttribute("body");
  size_t carried = node_.inputCount() < 2 ? 0 : node_.inputCount() - 2;
  if (body && (size_t(body->input_size()) != carried + 2 ||
               size_t(body->output_size()) != node_.outputCount() + 1 ||
               node_.outputCount() < carried))
    node_.reject("its body has " + std::to_string(body->input_size()) +
                 " inputs and " + std::to_string(body->output_size()) +
                 " outputs, which does not fit its own");
  readCount();
  readCondition();
  std::vector<ValueId> initial;
  for (size_t i = 0; i < carried; ++i)
    initial.push_back(node_.value(i + 2));
  if (!node_.ok())
    return;
  first_ = firstPredicate();
  LoopBuilder loop(node_, stackedLimit(carried, node_.outputCount() - carried));
  if (!loop.begin(std::move(initial)))
    return;
  importBody(loop, *body);
  if (node_.ok())
    finish(loop, carried);
}

// ---- Scan ----

/// What each input or output of a Scan says about its axis.
struct ScanAxis {
  int64_t axis = 0;
  bool reversed = false;
};

class Scan {
public:
  explicit Scan(Node &node) : node_(node) {}
  void run();

private:
  std::vector<ScanAxis> readAxes(std::string_view axes,
                                 std::string_view directions, size_t count);
  ValueId axisFirst(ValueId value, int64_t axis);
  std::vector<ValueId> iterate(std::vector<ValueId> states,
                               std::vector<ValueId> sequences);
  void importBody(LoopBuilder &loop, const std::vector<ValueId> &sequences);
  ValueId placed(ValueId stacked, const ScanAxis &axis);
  void runBatches();

  Node &node_;
  const onnx::GraphProto *body_ = nullptr;
  size_t states_ = 0, sequences_ = 0, stacked_ = 0;
  std::vector<ScanAxis> inputs_, outputs_;
  std::vector<NamedValue *> given_;
  Dim length_;
};

std::vector<ScanAxis> Scan::readAxes(std::string_view axes,
                                     std::string_view directions,
                                     size_t count) {
  std::vector<ScanAxis> result(count);
  std::vector<int64_t> places =
      axes.empty() ? std::vector<int64_t>() : node_.i64s(axes);
  std::vector<int64_t> turned = node_.i64s(directions);
  if ((!places.empty() && places.size() != count) ||
      (!turned.empty() && turned.size() != count))
    node_.reject("it has not one axis and direction for each of " +
                 std::to_string(count));
  for (size_t i = 0; node_.ok() && i < count; ++i) {
    result[i].axis = places.empty() ? 0 : places[i];
    result[i].reversed = !turned.empty() && turned[i] == 1;
  }
  return result;
}

/// The value with one axis moved to the front.
ValueId Scan::axisFirst(ValueId value, int64_t axis) {
  if (!node_.ok())
    return kNone;
  size_t rank = node_.type(value).rank();
  if (rank == 0) {
    node_.reject("a scanned input is a scalar");
    return kNone;
  }
  size_t first = node_.axis(axis, rank);
  std::vector<int64_t> permutation = {int64_t(first)};
  for (size_t i = 0; i < rank; ++i)
    if (i != first)
      permutation.push_back(int64_t(i));
  return node_.transpose(value, permutation);
}

void Scan::importBody(LoopBuilder &loop,
                      const std::vector<ValueId> &sequences) {
  for (size_t i = 0; i < states_; ++i)
    node_.bind(body_->input(int(i)).name(), loop.carried()[i]);
  for (size_t i = 0; i < sequences_; ++i) {
    Dim index = inputs_[i].reversed ? length_ - Dim(1) - loop.iteration()
                                    : loop.iteration();
    node_.bind(body_->input(int(states_ + i)).name(),
               loop.row(node_.capture(sequences[i]), index));
  }
  given_ = node_.nested(*body_);
}

/// What is stacked, in its order and at its axis.
ValueId Scan::placed(ValueId stacked, const ScanAxis &axis) {
  if (!node_.ok())
    return kNone;
  if (axis.reversed)
    stacked =
        node_.op("reverse", {stacked}, {{"axes", std::vector<int64_t>{0}}});
  size_t rank = node_.type(stacked).rank();
  size_t place = node_.axis(axis.axis, rank);
  std::vector<int64_t> permutation;
  for (size_t i = 1; i < rank; ++i)
    permutation.push_back(int64_t(i));
  permutation.insert(permutation.begin() + long(place), 0);
  return node_.transpose(stacked, permutation);
}

/// States, then what is stacked.
std::vector<ValueId> Scan::iterate(std::vector<ValueId> states,
                                   std::vector<ValueId> sequences) {
  for (size_t i = 0; i < sequences.size(); ++i)
    sequences[i] = axisFirst(sequences[i], inputs_[i].axis);
  if (!node_.ok())
    return {};
  length_ = node_.type(sequences[0]).dims[0];
  for (ValueId &sequence : sequences) {
    Dims dims = node_.type(sequence).dims;
    dims[0] = length_;
    sequence = node_.withDims(sequence, dims);
  }
  LoopBuilder loop(node_, length_);
  if (!loop.begin(std::move(states)))
    return {};
  importBody(loop, sequences);
  std::vector<ValueId> next, stacked;
  for (size_t i = 0; i < given_.size(); ++i)
    (i < states_ ? next : stacked).push_back(node_.materialise(given_[i]));
  if (!node_.ok())
    return {};
  std::vector<ValueId> results = loop.end(next, stacked);
  for (size_t i = states_; i < results.size(); ++i)
    results[i] = placed(results[i], outputs_[i - states_]);
  return results;
}

/// Before opset 9 all values have a batch as their first axis.
void Scan::runBatches() {
  std::vector<ValueId> values;
  for (size_t i = 1; i < node_.inputCount(); ++i)
    values.push_back(node_.value(i));
  if (node_.has(0))
    node_.refuse("lengths of its sequences are not supported");
  for (ValueId &value : values) {
    Dims dims = node_.type(value).dims;
    if (dims.empty() || dims[0] != Dim(1))
      return node_.refuse("a batch of anything but 1 is not supported");
    value = node_.reshape(value, Dims(dims.begin() + 1, dims.end()));
  }
  if (!node_.ok())
    return;
  std::vector<ValueId> results =
      iterate({values.begin(), values.begin() + long(states_)},
              {values.begin() + long(states_), values.end()});
  for (size_t i = 0; node_.ok() && i < results.size(); ++i) {
    Dims dims = node_.type(results[i]).dims;
    dims.insert(dims.begin(), Dim(1));
    node_.out(i, node_.reshape(results[i], dims));
  }
}

void Scan::run() {
  body_ = node_.graphAttribute("body");
  bool batched = node_.opset() < 9;
  size_t inputs = node_.inputCount() - (batched ? 1 : 0);
  int64_t sequences = node_.i64("num_scan_inputs", 0);
  if (sequences < 1 || size_t(sequences) > inputs)
    return node_.reject("num_scan_inputs is " + std::to_string(sequences) +
                        ", of " + std::to_string(inputs) + " inputs");
  sequences_ = size_t(sequences);
  states_ = inputs - sequences_;
  if (!body_ || size_t(body_->input_size()) != inputs ||
      size_t(body_->output_size()) != node_.outputCount() ||
      node_.outputCount() < states_)
    return node_.reject("its body does not have the inputs and outputs that "
                        "it needs");
  stacked_ = node_.outputCount() - states_;
  inputs_ =
      readAxes(batched ? "" : "scan_input_axes",
               batched ? "directions" : "scan_input_directions", sequences_);
  outputs_ = readAxes(batched ? "" : "scan_output_axes",
                      batched ? "" : "scan_output_directions", stacked_);
  if (!node_.ok())
    return;
  if (batched)
    return runBatches();
  std::vector<ValueId> values = node_.values();
  if (!node_.ok())
    return;
  std::vector<ValueId> results =
      iterate({values.begin(), values.begin() + long(states_)},
              {values.begin() + long(states_), values.end()});
  for (size_t i = 0; i < results.size(); ++i)
    node_.out(i, results[i]);
}

} // namespace

void onnxLoop(Node &node) { Loop(node).run(); }
void onnxScan(Node &node) { Scan(node).run(); }

} // namespace backplane::frontend
