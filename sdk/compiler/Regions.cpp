// SPDX-License-Identifier: Apache-2.0
//
// Regions.cpp: ops with regions in the compiler. An `if` whose condition turns
// out to be constant gives way to the ops of its branch; the other regions
// become programs.
#include "sdk/compiler/Variant.h"

#include "sdk/graph/Control.h"
#include "sdk/package/Check.h"

using namespace mlir;
using namespace backplane;

/// What the condition of an `if` always is, once constants are folded.
std::optional<bool> VariantCompiler::knownCondition(bp::ControlOp op) const {
  if (op.getKind() != "if")
    return std::nullopt;
  std::vector<Dim> condition = op.getCondition().getDims();
  if (!condition.empty()) {
    std::optional<int64_t> value = condition[0].constant();
    return value ? std::optional(*value != 0) : std::nullopt;
  }
  mlir::Value predicate = op.getOperand(0);
  while (auto reshape = predicate.getDefiningOp<bp::ReshapeOp>())
    predicate = reshape.getX();
  if (auto constant = predicate.getDefiningOp<bp::ConstantOp>())
    if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return bp::toBytes(elements)[0] != 0;
  if (auto weight = predicate.getDefiningOp<bp::WeightOp>())
    if (const Weight *found = pool_.find(std::string_view(weight.getId()));
        found && found->data.size() == 1)
      return found->data[0] != 0;
  return std::nullopt;
}

/// Whether any `if` gave way to one of its regions. One with checks of its own
/// stays: they are asked when it is entered.
Result<bool> VariantCompiler::decideIfs(ModuleOp module, const Graph &graph,
                                        std::optional<unsigned> device) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<bp::ControlOp> ops(main.getOps<bp::ControlOp>());
  bool any = false;
  for (bp::ControlOp op : ops) {
    std::optional<bool> taken = knownCondition(op);
    const backplane::Op &control = bp::controlOf(op, graph);
    if (!taken || !control.regions[*taken ? 0 : 1].assertions.empty())
      continue;
    Graph region = control.regions[*taken ? 0 : 1];
    region.symbols = symbolsInside(graph.symbols, region);
    auto ops = primitives(region, device.value_or(0), !device);
    if (!ops)
      return ops.status().within(control.location);
    variant_->report.push_back(control.location + ": always takes " +
                               (*taken ? "then" : "else"));
    bp::inlineRegion(op, *taken ? 0 : 1, *ops);
    any = true;
  }
  return any;
}

static std::unique_ptr<fb::RegionT> describeRegion(const Graph &region) {
  auto result = std::make_unique<fb::RegionT>();
  result->name = region.name;
  for (ValueId input : region.inputs)
    result->inputs.push_back(region.type(input).bytes().str());
  for (const GraphOutput &output : region.outputs)
    result->outputs.push_back(region.type(output.value).bytes().str());
  for (const DimAssertion &assertion : region.assertions) {
    result->checks.push_back(std::make_unique<fb::CheckT>());
    result->checks.back()->lhs = assertion.lhs.str();
    result->checks.back()->rhs = assertion.rhs.str();
    result->checks.back()->message = assertion.message;
  }
  return result;
}

Result<uint32_t> VariantCompiler::compileRegion(const backplane::Op &op,
                                                size_t number,
                                                const Graph &around,
                                                unsigned device) {
  if (variant_->regions.size() >= limits::regions)
    return unimplemented(op.location + ": a model has at most " +
                         std::to_string(limits::regions) +
                         " regions that run, this one has more");
  Graph region = op.regions[number];
  // An artifact has no ranges of iterations, so no memory is planned with them.
  for (backplane::Symbol &iteration : region.symbols)
    iteration.maximum = INT64_MAX;
  std::string part = op.name != "if" ? "body" : number == 0 ? "then" : "else";
  region.name = op.location + ", " + part;
  region.symbols = symbolsInside(around.symbols, region);
  size_t report = variant_->report.size();
  auto program = compileProgram(
      region, part + std::to_string(variant_->regions.size()) + ".", device);
  if (!program)
    return program.status().within(region.name);
  for (size_t i = report; i < variant_->report.size(); ++i)
    if (!StringRef(variant_->report[i]).starts_with("in "))
      variant_->report[i] = "in " + region.name + ": " + variant_->report[i];
  auto described = describeRegion(region);
  if (op.name == "while")
    described->iteration = op.string("iteration");
  described->device = uint8_t(device);
  described->program = std::make_unique<fb::ProgramT>(std::move(*program));
  variant_->regions.push_back(std::move(described));
  return uint32_t(variant_->regions.size() - 1);
}

/// Each region that is left becomes a program; the op learns its number.
Status VariantCompiler::compileRegions(ModuleOp module, const Graph &graph) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (bp::ControlOp control : main.getOps<bp::ControlOp>()) {
    const backplane::Op &op = bp::controlOf(control, graph);
    SmallVector<int64_t> programs;
    for (size_t i = 0; i < op.regions.size(); ++i) {
      auto number = compileRegion(op, i, graph, bp::deviceOf(control));
      if (!number) {
        if (number.status().code() == BP_STATUS_UNIMPLEMENTED)
          refuse(control, number.status());
        return number.status();
      }
      programs.push_back(*number);
    }
    control.setPrograms(programs);
  }
  return {};
}
