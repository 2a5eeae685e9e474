// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Graph.h"

#include "sdk/graph/Control.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

void bp::loadGraphDialects(MLIRContext &context) {
  context.loadDialect<BpDialect, func::FuncDialect>();
}

static Attribute symbolTable(Builder &b, const backplane::Graph &graph) {
  SmallVector<Attribute> symbols;
  for (const backplane::Symbol &symbol : graph.symbols)
    symbols.push_back(b.getDictionaryAttr({
        b.getNamedAttr("name", b.getStringAttr(symbol.name)),
        b.getNamedAttr("minimum", b.getI64IntegerAttr(symbol.minimum)),
        b.getNamedAttr("maximum", b.getI64IntegerAttr(symbol.maximum)),
        b.getNamedAttr("divisor", b.getI64IntegerAttr(symbol.divisor)),
    }));
  return b.getArrayAttr(symbols);
}

static Attribute assertionTable(Builder &b, const backplane::Graph &graph) {
  SmallVector<Attribute> assertions;
  for (const backplane::DimAssertion &assertion : graph.assertions)
    assertions.push_back(b.getDictionaryAttr({
        b.getNamedAttr(
            "dims",
            bp::DimsAttr::get(b.getContext(), {assertion.lhs, assertion.rhs})),
        b.getNamedAttr("message", b.getStringAttr(assertion.message)),
    }));
  return b.getArrayAttr(assertions);
}

static Attribute variableTable(Builder &b, const backplane::Graph &graph) {
  SmallVector<Attribute> variables;
  for (const backplane::Variable &variable : graph.variables)
    variables.push_back(b.getDictionaryAttr({
        b.getNamedAttr("name", b.getStringAttr(variable.name)),
        b.getNamedAttr(
            "type", TypeAttr::get(bp::toType(b.getContext(), variable.type))),
        b.getNamedAttr("initial", b.getStringAttr(variable.initial)),
    }));
  return b.getArrayAttr(variables);
}

static void setTables(ModuleOp module, const backplane::Graph &graph) {
  Builder b(module.getContext());
  module->setAttr(bp::nameAttr, b.getStringAttr(graph.name));
  module->setAttr(bp::symbolsAttr, symbolTable(b, graph));
  module->setAttr(bp::assertionsAttr, assertionTable(b, graph));
  module->setAttr(bp::variablesAttr, variableTable(b, graph));
}

/// An empty function `main` with the inputs and outputs of the graph.
static func::FuncOp addMain(OpBuilder &b, const backplane::Graph &graph) {
  SmallVector<Type> inputs, outputs;
  for (backplane::ValueId input : graph.inputs)
    inputs.push_back(bp::toType(b.getContext(), graph.type(input)));
  for (const backplane::GraphOutput &output : graph.outputs)
    outputs.push_back(bp::toType(b.getContext(), graph.type(output.value)));
  auto main = func::FuncOp::create(b, b.getUnknownLoc(), "main",
                                   b.getFunctionType(inputs, outputs));
  // All at once: each change makes a new list of everything.
  auto named = [&](StringRef name) {
    return b.getDictionaryAttr(
        b.getNamedAttr(bp::nameAttr, b.getStringAttr(name)));
  };
  SmallVector<DictionaryAttr> inputNames, outputNames;
  for (backplane::ValueId input : graph.inputs)
    inputNames.push_back(named(graph.values[input].name));
  for (const backplane::GraphOutput &output : graph.outputs)
    outputNames.push_back(named(output.name));
  main.setAllArgAttrs(inputNames);
  main.setAllResultAttrs(outputNames);
  return main;
}

namespace {

/// Appends the ops of a verified graph.
class OpImporter {
public:
  /// `path` leads to the graph, see Bp_ControlOp.
  OpImporter(OpBuilder &b, const backplane::Graph &graph,
             ArrayRef<int64_t> path)
      : b_(b), graph_(graph), path_(path), values_(graph.values.size()) {}

  /// Gives the outputs. `inputs` stand for those of the graph.
  SmallVector<Value> run(ValueRange inputs) {
    for (auto [input, value] : llvm::zip(graph_.inputs, inputs))
      values_[input] = value;
    for (const backplane::Op &op : graph_.ops) {
      addOp(op);
      controls_ += !op.regions.empty();
    }
    SmallVector<Value> outputs;
    for (const backplane::GraphOutput &output : graph_.outputs)
      outputs.push_back(values_[output.value]);
    return outputs;
  }

private:
  void addOp(const backplane::Op &op) {
    MLIRContext *context = b_.getContext();
    Location location = b_.getUnknownLoc();
    if (!op.location.empty())
      location = NameLoc::get(b_.getStringAttr(op.location));
    bool control = backplane::isControl(op.name);
    OperationState state(location, control ? "bp.control" : "bp." + op.name);
    for (backplane::ValueId operand : op.operands)
      state.addOperands(values_[operand]);
    for (backplane::ValueId result : op.results)
      state.addTypes(bp::toType(context, graph_.type(result)));
    if (control)
      addControl(op, state);
    else
      state.addAttributes(bp::fromAttributes(
          context, *backplane::findOp(op.name), op.attributes));
    Operation *created = b_.create(state);
    for (auto [id, value] : llvm::zip(op.results, created->getResults()))
      values_[id] = value;
  }

  void addControl(const backplane::Op &op, OperationState &state) {
    SmallVector<int64_t> path(path_);
    path.push_back(controls_);
    auto dims = [&](std::string_view name) {
      return bp::DimsAttr::get(b_.getContext(), op.dims(name));
    };
    state.addAttribute("kind", b_.getStringAttr(op.name));
    state.addAttribute("condition", dims("condition"));
    state.addAttribute("conditional", b_.getBoolAttr(op.i64("conditional")));
    state.addAttribute("carried", b_.getI64IntegerAttr(op.i64("carried")));
    state.addAttribute("limit", dims("limit"));
    state.addAttribute("path", b_.getDenseI64ArrayAttr(path));
  }

  OpBuilder &b_;
  const backplane::Graph &graph_;
  ArrayRef<int64_t> path_;
  std::vector<Value> values_;
  int64_t controls_ = 0; ///< ops with regions so far
};

/// The op with regions of this number.
const backplane::Op &controlAt(const backplane::Graph &graph, int64_t number) {
  for (const backplane::Op &op : graph.ops)
    if (!op.regions.empty() && number-- == 0)
      return op;
  llvm_unreachable("a path leads to an op with regions");
}

} // namespace

const backplane::Op &bp::controlOf(ControlOp op,
                                   const backplane::Graph &graph) {
  ArrayRef<int64_t> path = op.getPath();
  const backplane::Op *found = &controlAt(graph, path[0]);
  for (size_t i = 1; i + 1 < path.size(); i += 2)
    found = &controlAt(found->regions[size_t(path[i])], path[i + 1]);
  return *found;
}

void bp::inlineRegion(ControlOp op, unsigned number,
                      const backplane::Graph &region) {
  SmallVector<int64_t> path(op.getPath());
  path.push_back(number);
  OpBuilder b(op);
  size_t first = op.getOperands().size() - region.inputs.size();
  SmallVector<Value> outputs =
      OpImporter(b, region, path).run(op.getOperands().drop_front(first));
  op->replaceAllUsesWith(outputs);
  op->erase();
}

OwningOpRef<ModuleOp> bp::importGraph(MLIRContext &context,
                                      const backplane::Graph &graph) {
  loadGraphDialects(context);
  OpBuilder b(&context);
  if (auto status = graph.verify(); !status.ok()) {
    emitError(b.getUnknownLoc()) << status.message();
    return {};
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, b.getUnknownLoc());
  setTables(*module, graph);
  b.setInsertionPointToEnd(module->getBody());
  func::FuncOp main = addMain(b, graph);
  b.setInsertionPointToStart(main.addEntryBlock());
  SmallVector<Value> outputs =
      OpImporter(b, graph, {}).run(main.getArguments());
  func::ReturnOp::create(b, b.getUnknownLoc(), outputs);
  return module;
}
