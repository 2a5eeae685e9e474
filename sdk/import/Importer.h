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
struct Tensor {
  TensorType type;
  std::string name;
  std::optional<ValueId> value;
  std::optional<HostTensor> host;
  std::optional<Known> known;
};

class Importer {
public:
  explicit Importer(std::shared_ptr<OnnxFile> file) : file_(std::move(file)) {}
  /// Imports the whole model, once.
  Result<Model> run();

  Graph &graph() { return model_.graph; }
  OnnxFile &file() { return *file_; }
  std::shared_ptr<const void> fileOwner() const { return file_; }
  /// The opset of the domain ai.onnx.
  int64_t opset() const { return opset_; }

  /// The tensor of this name, or null. Pointers stay valid.
  Tensor *find(const std::string &name);
  /// Gives a name a meaning; fails when it has one.
  Status define(const std::string &name, Tensor tensor);
  Status alias(const std::string &name, Tensor *tensor);
  /// Whether a node or an output of the graph reads the name.
  bool isUsed(const std::string &name) const { return used_.count(name) != 0; }

  /// The value that holds the tensor's data.
  Result<ValueId> materialise(Tensor &tensor);

  // ---- nested graphs ----
  /// Imports the initialisers and nodes of a nested graph, which sees all names
  /// around it. Its own are known until forget is called with the mark that was
  /// taken before.
  Status addNested(const onnx::GraphProto &nested);
  size_t nameMark() const { return order_.size(); }
  void forget(size_t mark);
  /// Appends an op and checks the size of its results.
  Result<std::vector<ValueId>> add(std::string_view op,
                                   std::vector<ValueId> operands,
                                   Attributes attributes,
                                   const std::string &location);
  /// Makes the equality of two dims a condition of the program, unless it can
  /// be seen now; fails when it can be seen not to hold.
  Status assertEqual(const Dim &a, const Dim &b, const std::string &location,
                     std::string_view why);

private:
  Status runSteps();
  Status checkModel();
  Status checkOps();
  Status addInputs();
  Status addInput(const onnx::ValueInfoProto &input);
  Result<Dim> inputDim(const onnx::TensorShapeProto::Dimension &dim,
                       const std::string &fallback);
  Result<Dim> symbolFor(const std::string &text);
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
  Result<ValueId> materialiseKnown(const Known &known,
                                   const std::string &location);
  Result<ValueId> materialiseHost(const HostTensor &host,
                                  const std::string &location);

  std::shared_ptr<OnnxFile> file_;
  Model model_;
  int64_t opset_ = 0;
  std::deque<Tensor> tensors_;
  std::map<std::string, Tensor *> names_;
  std::vector<std::string> order_; ///< of the names
  std::set<std::string> used_;
  std::map<std::string, std::string> symbols_; ///< dim_param to symbol
};

/// "Conv node '/enc/conv1'", or by its first output when it has no name.
std::string describe(const onnx::NodeProto &node);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_IMPORTER_H
