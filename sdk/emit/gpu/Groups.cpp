// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Groups.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/gpu/ElementResults.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace backplane {

linalg::GenericOp asGenericOp(linalg::LinalgOp op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation()))
    return generic;
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  auto generic = linalg::generalizeNamedOp(rewriter, op);
  return succeeded(generic) ? *generic : nullptr;
}

LogicalResult
rewriteDispatches(ModuleOp module,
                  function_ref<LogicalResult(func::FuncOp)> rewrite,
                  function_ref<LogicalResult(OpPassManager &)> clean) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(bp::inputsAttr) && failed(rewrite(func)))
      return failure();
  OpPassManager passes("builtin.module");
  addCleanup(passes);
  return clean(passes);
}

bool isOfTensors(Operation &op) {
  bool known = isMemoryEffectFree(&op) ||
               isa<Written, func::ReturnOp, bufferization::ToTensorOp>(op);
  return known && !isa<scf::SCFDialect>(op.getDialect());
}

/// The last op with sums: others, in front of it, are part of its operands.
static linalg::GenericOp lastSum(func::FuncOp func) {
  linalg::LinalgOp last;
  for (Operation &op : func.getBody().front()) {
    if (!isOfTensors(op))
      return nullptr;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && linalgOp.getNumReductionLoops() > 0)
      last = linalgOp;
  }
  return last && last.getNumDpsInits() == 1 ? asGenericOp(last) : nullptr;
}

/// Whether the user's elements are those of what it uses, or computed from
/// them, one by one, in the same order or with axes permuted.
static bool keepsElements(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() != 0 ||
      !generic.isDpsInput(&use))
    return false;
  auto isPermutation = [&](OpOperand &operand) {
    return generic.getMatchingIndexingMap(&operand).isPermutation();
  };
  return isPermutation(use) &&
         llvm::all_of(generic.getDpsInitsMutable(), isPermutation);
}

static bool findResults(func::FuncOp func, GroupSums &sums) {
  SmallVector<Value> work{sums.op.getResult(0)};
  llvm::DenseSet<Value> known(work.begin(), work.end());
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      if (isa<Written>(use.getOwner()))
        continue;
      if (!keepsElements(use))
        return false;
      for (Value result : use.getOwner()->getResults())
        if (known.insert(result).second)
          work.push_back(result);
    }
  for (auto result : func.getOps<Written>())
    (known.contains(result.getSource()) ? sums.results : sums.others)
        .push_back(result);
  return !sums.results.empty();
}

bool findInit(GroupSums &sums) {
  auto fill = sums.op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Attribute constant;
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&constant)))
    return false;
  sums.init = cast<TypedAttr>(constant);
  Type type = sums.init.getType();
  return type.isF32() || type.isF64() || type.isInteger(32) ||
         type.isInteger(64);
}

std::optional<GroupSums> findSums(func::FuncOp func) {
  GroupSums sums;
  sums.op = lastSum(func);
  if (!sums.op || !findInit(sums) || !findResults(func, sums) ||
      !sums.op.getIndexingMapsArray().back().isProjectedPermutation())
    return std::nullopt;
  return sums;
}

int64_t sizeOf(ArrayRef<int64_t> sizes, ArrayRef<unsigned> loops) {
  int64_t all = 1;
  for (unsigned loop : loops) {
    if (ShapedType::isDynamic(sizes[loop]))
      return ShapedType::kDynamic;
    all *= sizes[loop];
  }
  return all;
}

Value GroupLoops::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value GroupLoops::product(ArrayRef<unsigned> loops) {
  Value all = index(1);
  for (unsigned loop : loops)
    all = b.createOrFold<arith::MulIOp>(all, sizes[loop]);
  return all;
}

void GroupLoops::split(Value number, ArrayRef<unsigned> loops,
                       SmallVector<Value> &indices) {
  if (loops.size() == 1)
    indices[loops.front()] = number;
  if (loops.size() < 2)
    return;
  SmallVector<Value> basis;
  for (unsigned loop : loops)
    basis.push_back(sizes[loop]);
  auto parts = affine::AffineDelinearizeIndexOp::create(
      b, number, getAsOpFoldResult(basis), /*hasOuterBound=*/true);
  for (auto [loop, part] : llvm::zip(loops, parts.getResults()))
    indices[loop] = part;
}

SmallVector<Value> GroupLoops::enter(ArrayRef<Value> counts) {
  Value groups = index(1);
  for (Value count : counts)
    groups = b.createOrFold<arith::MulIOp>(groups, count);
  auto mapping = b.getArrayAttr(gpu::GPUBlockMappingAttr::get(
      b.getContext(), gpu::MappingId::LinearDim0));
  auto loop = scf::ForallOp::create(b, getAsOpFoldResult({groups}),
                                    ValueRange(), mapping);
  b.setInsertionPoint(loop.getTerminator());
  if (counts.empty())
    return {};
  auto parts = affine::AffineDelinearizeIndexOp::create(
      b, loop.getInductionVars().front(), getAsOpFoldResult(counts),
      /*hasOuterBound=*/true);
  return SmallVector<Value>(parts.getResults());
}

Value GroupLoops::share(int64_t count, Type element) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  return memref::AllocOp::create(
      b, MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space));
}

SmallVector<Value> inOrder(ImplicitLocOpBuilder &b, ValueRange place,
                           ArrayRef<OpFoldResult> from,
                           ArrayRef<OpFoldResult> to) {
  if (to.empty())
    return {};
  Value number = place.empty() ? Value(arith::ConstantIndexOp::create(b, 0))
                               : Value(affine::AffineLinearizeIndexOp::create(
                                     b, place, from, /*disjoint=*/true));
  auto parts = affine::AffineDelinearizeIndexOp::create(b, number, to,
                                                        /*hasOuterBound=*/true);
  return SmallVector<Value>(parts.getResults());
}

namespace {

/// Follows the place of a sum to what is made of it.
struct PlaceFinder {
  ImplicitLocOpBuilder &b;
  const GroupSums &sums;
  ValueRange place; ///< in the result of the sums
  bool permutes = false;

  /// Nothing where `tensor` is not made of the sums.
  std::optional<SmallVector<Value>> run(Value tensor);
  std::optional<SmallVector<Value>> ofGeneric(linalg::GenericOp op);
};

} // namespace

std::optional<SmallVector<Value>> PlaceFinder::ofGeneric(linalg::GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap from = op.getMatchingIndexingMap(input);
    auto at = from.isPermutation() ? run(input->get()) : std::nullopt;
    if (!at)
      continue;
    AffineMap to = op.getIndexingMapsArray().back();
    permutes |= from != to;
    SmallVector<Value> loops(op.getNumLoops()), result;
    for (auto [axis, value] : llvm::enumerate(*at))
      loops[from.getDimPosition(unsigned(axis))] = value;
    for (unsigned axis = 0; axis < to.getNumResults(); ++axis)
      result.push_back(loops[to.getDimPosition(axis)]);
    return result;
  }
  return std::nullopt;
}

std::optional<SmallVector<Value>> PlaceFinder::run(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (op == sums.op)
    return SmallVector<Value>(place);
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return generic.getNumReductionLoops() == 0 ? ofGeneric(generic)
                                               : std::nullopt;
  if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return std::nullopt;
  Value source = op->getOperand(0);
  auto at = run(source);
  if (!at)
    return std::nullopt;
  return inOrder(b, *at, sizesOf(b, source), sizesOf(b, tensor));
}

/// Where the element of a result is whose sum is at `place`: results have the
/// same order, but for axes that are permuted.
static SmallVector<Value> placeInResult(ImplicitLocOpBuilder &b,
                                        const GroupSums &sums,
                                        ArrayRef<OpFoldResult> extents,
                                        ValueRange place, Written result) {
  PlaceFinder finder{b, sums, place};
  auto found = finder.run(result.getSource());
  if (found && finder.permutes)
    return *found;
  auto to = cast<MemRefType>(result.getDest().getType());
  linalg::GenericOp op = sums.op;
  auto from = cast<RankedTensorType>(op.getResult(0).getType());
  if (to.getShape() == from.getShape() && to.getRank() > 0)
    return SmallVector<Value>(place);
  return inOrder(b, place, extents,
                 memref::getMixedSizes(b, b.getLoc(), result.getDest()));
}

namespace {

/// An element of a result, and where it goes.
struct Element {
  Value value, buffer;
  SmallVector<Value> at;
};

} // namespace

static FailureOr<SmallVector<Element>> computeElements(ImplicitLocOpBuilder &b,
                                                       ElementReader &reader,
                                                       const GroupSums &sums,
                                                       const GroupSum &point) {
  linalg::GenericOp op = sums.op;
  ElementReader::Scope scope(reader);
  reader.know(op.getResult(0), point.sum);
  SmallVector<Value> sizes = reader.loopSizes(op), place;
  SmallVector<OpFoldResult> extents;
  for (AffineExpr expr : op.getIndexingMapsArray().back().getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    place.push_back(point.loops[loop]);
    extents.push_back(getAsOpFoldResult(sizes[loop]));
  }
  SmallVector<Element> elements;
  for (Written result : sums.results) {
    SmallVector<Value> at = placeInResult(b, sums, extents, place, result);
    Value value = reader.read(result.getSource(), at);
    if (!value)
      return failure();
    elements.push_back({value, result.getDest(), at});
  }
  return elements;
}

LogicalResult storeResults(ImplicitLocOpBuilder &b, ElementReader &reader,
                           const GroupSums &sums, ArrayRef<GroupSum> points) {
  SmallVector<SmallVector<Element>> computed;
  for (const GroupSum &point : points) {
    auto elements = computeElements(b, reader, sums, point);
    if (failed(elements))
      return failure();
    computed.push_back(*elements);
  }
  for (size_t i = 0; i < sums.results.size(); ++i)
    for (ArrayRef<Element> elements : computed)
      memref::StoreOp::create(b, elements[i].value, elements[i].buffer,
                              elements[i].at);
  return success();
}

LogicalResult storeResults(ImplicitLocOpBuilder &b, ElementReader &reader,
                           const GroupSums &sums, ValueRange loops, Value sum) {
  return storeResults(b, reader, sums,
                      GroupSum{SmallVector<Value>(loops), sum});
}

LogicalResult finishResults(func::FuncOp func, const GroupSums &sums) {
  OpBuilder builder(func.getBody().front().getTerminator());
  for (Written result : sums.others)
    if (failed(computeResults(builder, result)))
      return failure();
  for (Written result : llvm::concat<const Written>(sums.results, sums.others))
    result.erase();
  return success();
}

} // namespace backplane
