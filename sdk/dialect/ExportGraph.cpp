// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Graph.h"

using namespace mlir;
using backplane::Graph;
using backplane::Status;

namespace {

/// Writes one function as a graph.
class Exporter {
public:
  explicit Exporter(func::FuncOp function) : function_(function) {}

  backplane::Result<Graph> run();

private:
  Status addTables();
  Status addSymbols(ArrayAttr names);
  Status addInputs();
  Status addOp(Operation &op);
  Status addOutputs(func::ReturnOp op);
  backplane::Result<backplane::ValueId> define(Value value);

  func::FuncOp function_;
  Graph graph_;
  llvm::DenseMap<Value, backplane::ValueId> ids_;
};

StringRef textOf(DictionaryAttr entry, StringRef key) {
  auto text = entry.getAs<StringAttr>(key);
  return text ? text.getValue() : StringRef();
}

/// The dictionaries of a table attribute; none when it is absent.
SmallVector<DictionaryAttr> entriesOf(Operation *op, StringRef table) {
  SmallVector<DictionaryAttr> entries;
  if (auto array = op ? op->getAttrOfType<ArrayAttr>(table) : ArrayAttr())
    for (Attribute entry : array)
      if (auto dictionary = dyn_cast<DictionaryAttr>(entry))
        entries.push_back(dictionary);
  return entries;
}

int64_t numberOf(DictionaryAttr entry, StringRef key, int64_t otherwise) {
  auto number = entry.getAs<IntegerAttr>(key);
  return number ? number.getValue().getSExtValue() : otherwise;
}

backplane::Symbol symbolOf(DictionaryAttr entry) {
  return {textOf(entry, "name").str(), numberOf(entry, "minimum", 0),
          numberOf(entry, "maximum", INT64_MAX), numberOf(entry, "divisor", 1)};
}

std::string nameOr(StringAttr name, StringRef otherwise, size_t index) {
  if (name && !name.getValue().empty())
    return name.getValue().str();
  return (otherwise + Twine(index)).str();
}

} // namespace

unsigned bp::deviceOf(Operation *op) {
  auto device = op->getAttrOfType<IntegerAttr>(deviceAttr);
  return device ? unsigned(device.getInt()) : 0;
}

Value bp::onDeviceOf(Operation *op, Value made) {
  if (Attribute device = op->getAttr(deviceAttr))
    made.getDefiningOp()->setAttr(deviceAttr, device);
  return made;
}

std::vector<backplane::Symbol> bp::symbolsOf(ModuleOp module) {
  std::vector<backplane::Symbol> symbols;
  for (DictionaryAttr entry : entriesOf(module, symbolsAttr))
    symbols.push_back(symbolOf(entry));
  return symbols;
}

Status Exporter::addSymbols(ArrayAttr names) {
  SmallVector<DictionaryAttr> known;
  if (!names.empty())
    known = entriesOf(function_->getParentOfType<ModuleOp>(), bp::symbolsAttr);
  for (Attribute name : names) {
    auto text = dyn_cast<StringAttr>(name);
    if (!text)
      return backplane::invalidArgument("bp.symbols lists names only");
    auto found = llvm::find_if(known, [&](DictionaryAttr entry) {
      return textOf(entry, "name") == text.getValue();
    });
    graph_.symbols.push_back(found != known.end()
                                 ? symbolOf(*found)
                                 : backplane::Symbol{text.str()});
  }
  return {};
}

Status Exporter::addTables() {
  if (auto names = function_->getAttrOfType<ArrayAttr>(bp::symbolsAttr)) {
    graph_.name = function_.getName().str();
    return addSymbols(names);
  }
  auto module = function_->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  if (auto name = module->getAttrOfType<StringAttr>(bp::nameAttr))
    graph_.name = name.str();
  graph_.symbols = bp::symbolsOf(module);
  for (DictionaryAttr entry : entriesOf(module, bp::assertionsAttr))
    if (auto dims = entry.getAs<bp::DimsAttr>("dims"))
      if (auto pair = dims.getDims(); pair.size() == 2)
        graph_.assertions.push_back(
            {pair[0], pair[1], textOf(entry, "message").str()});
  for (DictionaryAttr entry : entriesOf(module, bp::variablesAttr)) {
    auto type = entry.getAs<TypeAttr>("type");
    auto tensor = bp::toTensorType(type ? type.getValue() : Type());
    if (!tensor)
      return tensor.status().within(bp::variablesAttr);
    graph_.variables.push_back(
        {textOf(entry, "name").str(), *tensor, textOf(entry, "initial").str()});
  }
  return {};
}

backplane::Result<backplane::ValueId> Exporter::define(Value value) {
  auto type = bp::toTensorType(value.getType());
  if (!type)
    return type.status();
  backplane::ValueId id = graph_.addValue(std::move(*type));
  ids_[value] = id;
  return id;
}

Status Exporter::addInputs() {
  for (BlockArgument argument : function_.getArguments()) {
    auto id = define(argument);
    if (!id)
      return id.status();
    unsigned index = argument.getArgNumber();
    graph_.values[*id].name =
        nameOr(function_.getArgAttrOfType<StringAttr>(index, bp::nameAttr),
               "in", index);
    graph_.inputs.push_back(*id);
  }
  return {};
}

Status Exporter::addOp(Operation &op) {
  const backplane::OpSpec *spec = nullptr;
  if (op.getName().getDialectNamespace() == "bp")
    spec = backplane::findOp(op.getName().stripDialect());
  if (!spec)
    return backplane::invalidArgument("a graph holds bp ops only, found " +
                                      op.getName().getStringRef().str());
  backplane::Op result;
  result.name = spec->name;
  result.location = bp::locationText(op.getLoc());
  auto attributes = bp::toAttributes(*spec, op.getAttrDictionary());
  if (!attributes)
    return attributes.status().within(result.name);
  result.attributes = std::move(*attributes);
  result.version = minVersion(*spec, result.attributes);
  for (Value operand : op.getOperands()) {
    auto found = ids_.find(operand);
    if (found == ids_.end())
      return backplane::invalidArgument(result.name +
                                        " uses a value from outside");
    result.operands.push_back(found->second);
  }
  for (Value value : op.getResults()) {
    auto id = define(value);
    if (!id)
      return id.status().within(result.name);
    result.results.push_back(*id);
  }
  graph_.ops.push_back(std::move(result));
  return {};
}

Status Exporter::addOutputs(func::ReturnOp op) {
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    auto found = ids_.find(value);
    if (found == ids_.end())
      return backplane::invalidArgument("a value from outside is returned");
    graph_.addOutput(
        found->second,
        nameOr(function_.getResultAttrOfType<StringAttr>(i, bp::nameAttr),
               "out", i));
  }
  return {};
}

backplane::Result<Graph> Exporter::run() {
  if (function_.isExternal() || !function_.getBody().hasOneBlock())
    return backplane::invalidArgument("a graph is a function of one block");
  if (auto status = addTables(); !status.ok())
    return status;
  if (auto status = addInputs(); !status.ok())
    return status;
  for (Operation &op : function_.front()) {
    auto end = dyn_cast<func::ReturnOp>(op);
    if (auto status = end ? addOutputs(end) : addOp(op); !status.ok())
      return status;
  }
  if (auto status = graph_.verify(); !status.ok())
    return status;
  return std::move(graph_);
}

backplane::Result<Graph> bp::exportGraph(func::FuncOp function) {
  return Exporter(function).run();
}
