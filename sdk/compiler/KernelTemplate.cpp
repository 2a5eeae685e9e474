// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/KernelTemplate.h"

#include "sdk/compiler/Stages.h"
#include "sdk/dialect/Attributes.h"
#include "sdk/lower/Destination.h"
#include "sdk/lower/DimToIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace backplane;

/// Elements as `lower` has them: integers without a sign, bits of others.
static std::string storageName(DType dtype) {
  bool isMlirFloat = isFloat(dtype) && bitWidth(dtype) > 8;
  return isMlirFloat
             ? std::string(name(dtype))
             : "i" + std::to_string(std::max(8u, unsigned(bitWidth(dtype))));
}

/// The IR with an alias `!T` for each dtype of a choice.
static std::string withAliases(const RegisteredKernel &kernel,
                               const KernelGraph &graph) {
  std::string text;
  for (auto [name, dtype] : llvm::zip_equal(kernel.text.dtypes, graph.dtypes))
    text += "!" + name + " = " + storageName(dtype) + "\n";
  return text + kernel.ir;
}

/// Whether all ops are of dialects that every target's pipelines take.
static LogicalResult checkDialects(func::FuncOp function) {
  constexpr StringRef known[] = {"affine", "arith", "linalg", "math",
                                 "memref", "scf",   "tensor", "vector"};
  WalkResult result = function.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    bool isKnown = isa<func::FuncOp, func::ReturnOp>(op) ||
                   llvm::is_contained(known, dialect);
    if (!isKnown)
      op->emitError("IR of a kernel has no ")
          << op->getName() << "; it is made of "
          << llvm::join(ArrayRef(known), ", ");
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// The function of a template. A failure is a diagnostic.
static FailureOr<func::FuncOp> readFunction(ModuleOp module,
                                            const KernelTemplate &call) {
  auto function = module.lookupSymbol<func::FuncOp>(call.name);
  if (!function || function.isExternal())
    return module.emitError("the IR has no function ") << call.name;
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("the function of a kernel has one block");
  size_t wanted = call.arguments.size() + call.scalars.size();
  if (function.getNumArguments() != wanted)
    return function.emitError("it has ")
           << function.getNumArguments() << " arguments, the text asks for "
           << wanted << ": " << call.inputCount << " inputs, "
           << call.arguments.size() - call.inputCount << " outputs, "
           << call.scalars.size() << " numbers";
  size_t outputs = call.arguments.size() - call.inputCount;
  if (function.getNumResults() != outputs)
    return function.emitError("it has ")
           << function.getNumResults() << " results, the text " << outputs;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    bool isTensor = i < call.arguments.size();
    if (isTensor ? !isa<RankedTensorType>(type) : !type.isIndex())
      return function.emitError("argument ")
             << i << " is " << type << ", it should be "
             << (isTensor ? "a tensor" : "an index");
  }
  if (failed(checkDialects(function)))
    return failure();
  return function;
}

namespace {

/// Builds the new body of a dispatch.
class Instance {
public:
  Instance(func::FuncOp dispatch, func::FuncOp function,
           const KernelTemplate &call)
      : dispatch_(dispatch), function_(function), call_(call),
        builder_(dispatch.getLoc(), dispatch.getContext()) {}

  LogicalResult run();

private:
  void bindSymbols();
  FailureOr<OpFoldResult> sizeOf(const Dim &dim);
  FailureOr<mlir::Value> scalar(const Dim &dim);
  FailureOr<SmallVector<OpFoldResult>> sizesOf(const Dims &dims);
  FailureOr<Dims> dimsOf(unsigned argument);
  FailureOr<mlir::Value> reshape(mlir::Value value, const Dims &from,
                                 const Dims &to);
  FailureOr<mlir::Value> argument(size_t binding);
  FailureOr<mlir::Value> result(size_t binding, mlir::Value value);
  FailureOr<mlir::Value> cast(mlir::Value value, Type type);

  func::FuncOp dispatch_, function_;
  const KernelTemplate &call_;
  ImplicitLocOpBuilder builder_;
  bp::DimToIndex symbols_;
};

} // namespace

void Instance::bindSymbols() {
  auto count = [&](StringRef name) {
    return unsigned(dispatch_->getAttrOfType<IntegerAttr>(name).getInt());
  };
  unsigned next = count(bp::inputsAttr) + count(bp::outputsAttr);
  for (StringAttr symbol : dispatch_->getAttrOfType<ArrayAttr>(bp::symbolsAttr)
                               .getAsRange<StringAttr>())
    symbols_.bind(symbol, dispatch_.getArgument(next++));
}

FailureOr<OpFoldResult> Instance::sizeOf(const Dim &dim) {
  return symbols_.materialize(builder_, builder_.getLoc(), dim.str());
}

FailureOr<mlir::Value> Instance::scalar(const Dim &dim) {
  auto size = sizeOf(dim);
  if (failed(size))
    return failure();
  return getValueOrCreateConstantIndexOp(builder_, builder_.getLoc(), *size);
}

FailureOr<SmallVector<OpFoldResult>> Instance::sizesOf(const Dims &dims) {
  SmallVector<OpFoldResult> sizes;
  for (const Dim &dim : dims) {
    auto size = sizeOf(dim);
    if (failed(size))
      return failure();
    sizes.push_back(*size);
  }
  return sizes;
}

/// What the dispatch says of the sizes of an argument.
FailureOr<Dims> Instance::dimsOf(unsigned argument) {
  Dims dims;
  auto texts = dispatch_.getArgAttrOfType<ArrayAttr>(argument, bp::dimsAttr);
  for (StringAttr text : texts.getAsRange<StringAttr>()) {
    auto dim = Dim::parse(text.getValue().str());
    if (!dim)
      return dispatch_.emitError(dim.message());
    dims.push_back(*dim);
  }
  return dims;
}

FailureOr<mlir::Value> Instance::cast(mlir::Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!tensor::CastOp::areCastCompatible(value.getType(), type))
    return function_.emitError("it has ")
           << type << " where the model has " << value.getType();
  return tensor::CastOp::create(builder_, type, value).getResult();
}

/// The same elements in their order with other sizes, through one axis.
FailureOr<mlir::Value> Instance::reshape(mlir::Value value, const Dims &from,
                                         const Dims &to) {
  if (from == to)
    return value;
  if (from.empty() || to.empty())
    return function_.emitError("a scalar is a tensor in the model");
  auto all = [](size_t rank) {
    SmallVector<ReassociationIndices> groups(1);
    for (size_t i = 0; i < rank; ++i)
      groups[0].push_back(int64_t(i));
    return groups;
  };
  if (from.size() > 1)
    value = tensor::CollapseShapeOp::create(builder_, value, all(from.size()));
  if (to.size() == 1)
    return value;
  auto sizes = sizesOf(to);
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> shape = decomposeMixedValues(*sizes).first;
  int64_t count = 1;
  for (int64_t size : shape)
    count = ShapedType::isDynamic(size) || ShapedType::isDynamic(count)
                ? ShapedType::kDynamic
                : count * size;
  Type element = getElementTypeOrSelf(value.getType());
  auto whole = cast(value, RankedTensorType::get(count, element));
  if (failed(whole))
    return failure();
  return tensor::ExpandShapeOp::create(builder_,
                                       RankedTensorType::get(shape, element),
                                       *whole, all(to.size()), *sizes)
      .getResult();
}

/// What the function gets for a binding of the text. One that is absent has no
/// elements.
FailureOr<mlir::Value> Instance::argument(size_t binding) {
  auto type =
      llvm::cast<RankedTensorType>(function_.getArgument(binding).getType());
  int32_t number = call_.arguments[binding];
  if (number < 0) {
    SmallVector<OpFoldResult> sizes;
    for (int64_t size : type.getShape())
      sizes.push_back(builder_.getIndexAttr(std::max<int64_t>(size, 0)));
    mlir::Value empty =
        tensor::EmptyOp::create(builder_, sizes, type.getElementType());
    return cast(empty, type);
  }
  auto dims = dimsOf(unsigned(number));
  if (failed(dims))
    return failure();
  auto value = reshape(dispatch_.getArgument(unsigned(number)), *dims,
                       call_.dims[binding]);
  return failed(value) ? value : cast(*value, type);
}

/// What the dispatch returns of a result of the function.
FailureOr<mlir::Value> Instance::result(size_t binding, mlir::Value value) {
  unsigned number = unsigned(call_.arguments[binding]);
  auto type =
      llvm::cast<RankedTensorType>(dispatch_.getArgument(number).getType());
  auto dims = dimsOf(number);
  if (failed(dims))
    return failure();
  auto shaped = reshape(value, call_.dims[binding], *dims);
  return failed(shaped) ? shaped : cast(*shaped, type);
}

LogicalResult Instance::run() {
  Block &body = dispatch_.front();
  while (!body.empty())
    body.back().erase();
  builder_.setInsertionPointToEnd(&body);
  bindSymbols();
  IRMapping values;
  for (size_t i = 0; i < function_.getNumArguments(); ++i) {
    size_t tensors = call_.arguments.size();
    auto value = i < tensors ? argument(i) : scalar(call_.scalars[i - tensors]);
    if (failed(value))
      return failure();
    values.map(function_.getArgument(i), *value);
  }
  for (Operation &op : function_.front().without_terminator())
    builder_.clone(op, values);
  SmallVector<mlir::Value> results;
  for (auto [i, value] :
       llvm::enumerate(function_.front().getTerminator()->getOperands())) {
    size_t binding = call_.inputCount + i;
    if (call_.arguments[binding] < 0)
      continue;
    auto returned = result(binding, values.lookup(value));
    if (failed(returned))
      return failure();
    results.push_back(*returned);
  }
  func::ReturnOp::create(builder_, results);
  return success();
}

KernelTemplate backplane::templateFor(const bp::KernelMatch &match,
                                      const Substitution &symbols) {
  const RegisteredKernel &kernel = *match.kernel;
  const KernelText &text = kernel.text;
  const KernelGraph &graph = text.graphs[match.graph];
  KernelTemplate call{.ir = withAliases(kernel, graph),
                      .name = text.name,
                      .inputCount = text.inputCount,
                      .arguments = match.bindings};
  Substitution sizes;
  for (const auto &[name, dim] : match.symbols)
    sizes.emplace(name, dim.substitute(symbols));
  for (size_t i = 0; i < text.bindings.size(); ++i) {
    Dims dims;
    if (int32_t number = graph.bindings[i]; number >= 0) {
      const Graph &from = graph.graph;
      ValueId value = i < text.inputCount ? from.inputs[size_t(number)]
                                          : from.outputs[size_t(number)].value;
      for (const Dim &dim : from.type(value).dims)
        dims.push_back(dim.substitute(sizes));
    }
    call.dims.push_back(std::move(dims));
  }
  for (const backplane::Symbol &symbol : text.symbols)
    call.scalars.push_back(sizes.at(symbol.name));
  for (int64_t choice : graph.choices)
    call.scalars.emplace_back(choice);
  for (uint32_t i = 0; i < text.inputCount; ++i)
    if (text.isOptional[i])
      call.scalars.emplace_back(int64_t(graph.bindings[i] >= 0));
  return call;
}

/// A choice of the text without a model: its own sizes.
static bp::KernelMatch plainMatch(const RegisteredKernel &kernel,
                                  size_t graph) {
  bp::KernelMatch match;
  match.kernel = &kernel;
  match.graph = graph;
  for (const backplane::Symbol &symbol : kernel.text.symbols)
    match.symbols.emplace(symbol.name, Dim::symbol(symbol.name));
  match.bindings = kernel.text.graphs[graph].bindings;
  return match;
}

Status backplane::checkTemplate(const RegisteredKernel &kernel) {
  for (const KernelGraph &graph : kernel.text.graphs)
    for (const backplane::Value &value : graph.graph.values)
      if (bitWidth(value.type.dtype) < 8 && value.type.dtype != DType::Bool)
        return invalidArgument("a kernel that is IR has no elements of less "
                               "than 8 bits");
  MLIRContext context(dialects(), MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(context);
  for (size_t i = 0; i < kernel.text.graphs.size(); ++i) {
    KernelTemplate call = templateFor(plainMatch(kernel, i), {});
    auto module = parseSourceString<ModuleOp>(call.ir, &context, "the IR");
    if (!module || failed(readFunction(*module, call)))
      return diagnostics.take(invalidArgument("its IR cannot be used"));
  }
  return {};
}

LogicalResult backplane::applyTemplate(ModuleOp module,
                                       const KernelTemplate &call) {
  auto ir = parseSourceString<ModuleOp>(call.ir, module.getContext(), "the IR");
  if (!ir)
    return failure();
  auto function = readFunction(*ir, call);
  func::FuncOp dispatch = *module.getOps<func::FuncOp>().begin();
  if (failed(function) || failed(Instance(dispatch, *function, call).run()))
    return failure();
  PassManager manager(module.getContext());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (failed(manager.run(module)))
    return failure();
  bp::assignDestinations(dispatch);
  return success();
}
