// SPDX-License-Identifier: Apache-2.0
//
// Importer.h: one import of an ONNX graph: the graph being built and what each
// ONNX name stands for. The ops themselves are in the Onnx*.cpp files.
#ifndef BACKPLANE_IMPORT_IMPORTER_H
#define BACKPLANE_IMPORT_IMPORTER_H

#include "Known.h"
#include "sdk/graph/Model.h"

#include <deque>

namespace backplane::frontend {

/// What an ONNX name stands for. Constants and known integers become ops of the
/// graph only when an op needs them as data.
struct NamedValue {
  TensorType type;
  std::string name;
  std::optional<ValueId> value; ///< of the graph that `depth` regions enclose
  size_t depth = 0;
  std::optional<HostTensor> host;
  std::optional<Known> known;
  /// What host and known are as a value, by number of the graph.
  std::map<size_t, ValueId> constants;
};

/// A finished region. Its inputs are those that were added to its graph, then
/// one for each value of the graph around it that it uses.
struct Region {
  Graph graph;
  std::vector<ValueId> captured;
  std::string iteration; ///< symbol that counts, or empty
};

class Importer {
public:
  explicit Importer(std::shared_ptr<OnnxFile> file) : file_(std::move(file)) {}
  /// Imports the whole model, once.
  Result<Model> run();

  /// The graph that ops are appended to: the model's or the innermost region.
  Graph &graph() {
    return scopes_.empty() ? model_.graph : scopes_.back().graph;
  }
  OnnxFile &file() { return *file_; }
  std::shared_ptr<const void> fileOwner() const { return file_; }
  /// The opset of the domain ai.onnx.
  int64_t opset() const { return opset_; }

  /// The tensor of this name, or null. Pointers stay valid.
  NamedValue *find(const std::string &name);
  /// Gives a name a meaning; fails when it has one.
  Status define(const std::string &name, NamedValue tensor);
  Status alias(const std::string &name, NamedValue *tensor);
  /// Gives a name of a nested graph a meaning, which hides the one that it has
  /// around it.
  void shadow(const std::string &name, NamedValue tensor);
  /// What the model says about the type of a name, or null.
  const onnx::TypeProto *declared(const std::string &name) const;
  /// The size that an axis is declared to have, when it is a number or a size
  /// of an input.
  std::optional<Dim>
  declaredDim(const onnx::TensorShapeProto::Dimension &dim) const;
  /// Whether the model gives the size a name of its own: not a number, not an
  /// expression, not a size that it leaves open.
  bool isNamed(const Dim &dim) const;
  /// Whether a node or an output of the graph reads the name.
  bool isUsed(const std::string &name) const { return used_.count(name) != 0; }

  /// The value of graph() that holds the tensor's data.
  Result<ValueId> materialise(NamedValue &tensor);

  // ---- regions and nested graphs ----
  /// Starts a region in graph(). Its own inputs are added before anything else.
  Status beginRegion(std::string name);
  /// Gives the region the symbol that counts its iterations, which are `limit`.
  Dim addIteration(const std::optional<Dim> &limit);
  /// Ends the region; what was defined in it has no name any more.
  Region endRegion();
  /// A value of the graph around the region as one of the region.
  ValueId capture(ValueId outer);
  Result<std::vector<ValueId>> addControl(Op op);
  /// Imports the initialisers and nodes of a nested graph, which sees all names
  /// around it. Its own are known until forget is called with the mark that was
  /// taken before.
  Status addNested(const onnx::GraphProto &nested);
  /// What random ops draw other numbers by, as a u64 of graph(): the number of
  /// the call of the session, mixed in loops with those of the iterations. The
  /// first use gives the model the variable that counts calls.
  Result<ValueId> randomCounter() { return randomCounterAt(scopes_.size()); }
  /// The number of a random op without a seed.
  uint32_t nextRandomOp() { return randomOps_++; }
  size_t nameMark() const { return order_.size(); }
  void forget(size_t mark);
  /// Appends an op and checks the size of its results.
  Result<std::vector<ValueId>> add(std::string_view op,
                                   std::vector<ValueId> operands,
                                   Attributes attributes,
                                   const std::string &location);
  /// Appends a read of an i64 scalar: a size that data decide, at most `bound`.
  /// `name` says what its symbol is called after. Regions have none.
  Result<Dim> read(ValueId value, const Dim &bound, const std::string &name,
                   const std::string &location);
  /// Makes the equality of two dims a condition of the program, unless it can
  /// be seen now; fails when it can be seen not to hold.
  Status assertEqual(const Dim &a, const Dim &b, const std::string &location,
                     std::string_view why);

  /// Keeps that a size broadcasts to another one, and so does what has become
  /// the first one: `inCall` where the call tells whether it is 1, else they
  /// are equal.
  void noteMeeting(const Dim &from, const Dim &to, bool inCall);
  /// `inCall` of what was kept.
  std::optional<bool> meeting(const Dim &from, const Dim &to) const;
  /// Whether that equality is a condition already.
  bool isAsserted(const Dim &a, const Dim &b);

private:
  Status runSteps();
  Status checkModel();
  Status checkOps();
  Status addInputs();
  Status addInput(const onnx::ValueInfoProto &input);
  Result<Dim> inputDim(const onnx::TensorShapeProto::Dimension &dim,
                       const std::string &fallback);
  Result<Dim> symbolFor(const std::string &text, int64_t maximum = INT64_MAX);
  Status addInitializers();
  Status addNodes();
  Status addNodes(const onnx::GraphProto &graph);
  Status addInitializer(const onnx::TensorProto &proto,
                        std::optional<std::span<const uint8_t>> raw);
  Status checkOps(const onnx::GraphProto &graph,
                  const std::map<std::string, int64_t> &versions,
                  std::set<std::pair<std::string, std::string>> &refused,
                  std::string &message) const;
  Status addOutputs();
  Status addOutput(const onnx::ValueInfoProto &output);
  void collectUses(const onnx::GraphProto &graph);
  ValueId captureAt(size_t depth, ValueId value, size_t from);
  Result<ValueId> randomCounterAt(size_t depth);
  Result<ValueId> countCalls();
  Result<ValueId> countIterations(size_t depth);
  Result<ValueId> materialiseKnown(const Known &known,
                                   const std::string &location);
  /// Whether a constant is a weight; counts those that could be either.
  bool isWeight(const HostTensor &host);
  Result<ValueId> materialiseHost(const HostTensor &host,
                                  const std::string &location);

  /// A region under construction.
  struct Scope {
    Graph graph;
    std::vector<ValueId> captured;
    std::map<ValueId, ValueId> inner; ///< by captured value
    std::string iteration;
    size_t number = 0;
    size_t names = 0; ///< known when it began
    std::optional<ValueId> randomCounter;
  };

  std::shared_ptr<OnnxFile> file_;
  Model model_;
  std::deque<Scope> scopes_; ///< innermost last
  size_t regions_ = 0;       ///< so far; the model's graph has number 0
  std::optional<ValueId> randomCounter_;
  uint32_t randomOps_ = 0; ///< without a seed, so far
  size_t floatLists_ = 0;  ///< small ones of different elements so far
  int64_t opset_ = 0;
  std::deque<NamedValue> tensors_;
  std::map<std::string, NamedValue *> names_;
  /// The names in their order, each with what it meant before.
  std::vector<std::pair<std::string, NamedValue *>> order_;
  std::set<std::string> used_;
  std::map<Dim, std::map<Dim, bool>> meetings_; ///< to, from: inCall
  std::map<std::string, std::string> symbols_;  ///< dim_param to symbol
  std::map<std::string, const onnx::TypeProto *> declared_;
};

/// "Conv node '/enc/conv1'", or by its first output when it has no name.
std::string describe(const onnx::NodeProto &node);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_IMPORTER_H
