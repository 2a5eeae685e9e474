// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Graph.h"

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
  for (auto [i, input] : llvm::enumerate(graph.inputs))
    main.setArgAttr(i, bp::nameAttr, b.getStringAttr(graph.values[input].name));
  for (auto [i, output] : llvm::enumerate(graph.outputs))
    main.setResultAttr(i, bp::nameAttr, b.getStringAttr(output.name));
  return main;
}

/// Appends one op of a verified graph.
static void addOp(OpBuilder &b, const backplane::Graph &graph,
                  const backplane::Op &op, MutableArrayRef<Value> values) {
  MLIRContext *context = b.getContext();
  Location location = b.getUnknownLoc();
  if (!op.location.empty())
    location = NameLoc::get(b.getStringAttr(op.location));
  OperationState state(location, "bp." + op.name);
  for (backplane::ValueId operand : op.operands)
    state.addOperands(values[operand]);
  for (backplane::ValueId result : op.results)
    state.addTypes(bp::toType(context, graph.type(result)));
  state.addAttributes(
      bp::fromAttributes(context, *backplane::findOp(op.name), op.attributes));
  Operation *created = b.create(state);
  for (auto [id, value] : llvm::zip(op.results, created->getResults()))
    values[id] = value;
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
  std::vector<Value> values(graph.values.size());
  for (auto [input, argument] : llvm::zip(graph.inputs, main.getArguments()))
    values[input] = argument;
  for (const backplane::Op &op : graph.ops)
    addOp(b, graph, op, values);
  SmallVector<Value> outputs;
  for (const backplane::GraphOutput &output : graph.outputs)
    outputs.push_back(values[output.value]);
  func::ReturnOp::create(b, b.getUnknownLoc(), outputs);
  return module;
}
