// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/FoldConstants.h"

#include "sdk/dialect/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bp;

/// The one element that all have, when there is one.
static std::optional<backplane::Bytes>
splatElement(const backplane::TensorType &type, const backplane::Bytes &bytes) {
  size_t width = backplane::bitWidth(type.dtype) / 8;
  if (width == 0 || bytes.size() < width)
    return std::nullopt;
  for (size_t i = width; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - width])
      return std::nullopt;
  return backplane::Bytes(bytes.begin(), bytes.begin() + long(width));
}

/// A constant for what is the same everywhere, else a weight.
static FailureOr<Value> materialize(OpBuilder &b, Value old,
                                    backplane::Bytes bytes,
                                    backplane::WeightPool &pool) {
  auto type = *toTensorType(old.getType());
  Type element = toType(b.getContext(), type.dtype);
  auto dims = DimsAttr::get(b.getContext(), type.dims);
  if (auto splat = splatElement(type, bytes))
    return ConstantOp::create(b, old.getLoc(), old.getType(),
                              toElements(b.getContext(), type, *splat),
                              TypeAttr::get(element), dims)
        .getResult();
  auto id = pool.add(type, std::move(bytes));
  if (!id)
    return emitError(old.getLoc()) << id.message();
  return WeightOp::create(b, old.getLoc(), old.getType(), b.getStringAttr(*id),
                          TypeAttr::get(element), dims)
      .getResult();
}

namespace {

/// One call of a function with `bp.fold`.
class Folding {
public:
  Folding(func::CallOp call, func::FuncOp function)
      : call_(call), function_(function) {}

  backplane::Result<std::vector<backplane::Bytes>>
  evaluate(const Evaluate &evaluate, const backplane::WeightPool &pool);
  LogicalResult replace(std::vector<backplane::Bytes> outputs,
                        backplane::WeightPool &pool);
  /// Puts the ops back.
  void undo();

private:
  func::CallOp call_;
  func::FuncOp function_;
};

} // namespace

backplane::Result<std::vector<backplane::Bytes>>
Folding::evaluate(const Evaluate &evaluate, const backplane::WeightPool &pool) {
  auto graph = exportGraph(function_);
  if (!graph)
    return graph.status();
  std::vector<std::span<const uint8_t>> inputs;
  for (Value operand : call_.getOperands()) {
    while (auto reshape = operand.getDefiningOp<ReshapeOp>())
      operand = reshape.getX();
    auto weight = operand.getDefiningOp<WeightOp>();
    const backplane::Weight *found =
        weight ? pool.find(std::string_view(weight.getId())) : nullptr;
    if (!found)
      return backplane::internalError("an operand is no weight of the pool");
    inputs.push_back(found->data);
  }
  if (!evaluate)
    return backplane::unimplemented("there is no reference device");
  auto outputs = evaluate(*graph, inputs);
  if (outputs && outputs->size() != call_.getNumResults())
    return backplane::internalError("the reference device gave " +
                                    std::to_string(outputs->size()) +
                                    " outputs");
  return outputs;
}

LogicalResult Folding::replace(std::vector<backplane::Bytes> outputs,
                               backplane::WeightPool &pool) {
  OpBuilder b(call_);
  for (auto [result, bytes] : llvm::zip(call_.getResults(), outputs)) {
    FailureOr<Value> value = materialize(b, result, std::move(bytes), pool);
    if (failed(value))
      return failure();
    result.replaceAllUsesWith(*value);
  }
  call_.erase();
  function_.erase();
  return success();
}

void Folding::undo() {
  OpBuilder b(call_);
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip(function_.getArguments(), call_.getOperands()))
    mapping.map(argument, operand);
  for (Operation &op : function_.front().without_terminator())
    b.clone(op, mapping);
  Operation *end = function_.front().getTerminator();
  for (auto [result, value] : llvm::zip(call_.getResults(), end->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call_.erase();
  function_.erase();
}

LogicalResult bp::foldConstants(ModuleOp module, const Evaluate &evaluate,
                                backplane::WeightPool &pool,
                                std::vector<std::string> &report) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<func::CallOp> calls(main.getOps<func::CallOp>());
  for (func::CallOp call : calls) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!function || !function->hasAttr(bp::foldAttr))
      continue;
    size_t count = function.front().getOperations().size() - 1;
    Folding folding(call, function);
    auto outputs = folding.evaluate(evaluate, pool);
    if (!outputs) {
      report.push_back("constant folding: " + std::to_string(count) +
                       " ops stay: " + outputs.message());
      folding.undo();
      continue;
    }
    report.push_back("constant folding: " + std::to_string(count) +
                     " ops became " + std::to_string(outputs->size()) +
                     " values");
    if (failed(folding.replace(std::move(*outputs), pool)))
      return failure();
  }
  return success();
}
