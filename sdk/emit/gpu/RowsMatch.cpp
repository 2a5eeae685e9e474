// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Contiguous.h"
#include "sdk/emit/gpu/Reduction.h"
#include "sdk/emit/gpu/Rows.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace backplane {
namespace {

/// Elements that an invocation keeps in registers, and ops of its code.
constexpr int64_t kMostKept = 32, kMostOps = 4096;

/// What a tensor has to do with the sums of the row at hand.
enum class Part {
  Free,    ///< nothing: any element may be read
  Row,     ///< an element for each row
  Columns, ///< an element for each column of each row
  Other
};

class Matcher {
public:
  Matcher(func::FuncOp func, GpuRows &rows) : func(func), rows(rows) {}
  bool run();

private:
  bool findSums();
  bool addSum(linalg::GenericOp op);
  Part partOf(Value tensor);
  Part partOf(linalg::GenericOp op);
  Part ofReshape(Operation *op);
  bool readsOwnRow(linalg::GenericOp op, bool columns);
  bool isInOrder(linalg::GenericOp op, OpOperand &operand, bool columns);
  std::optional<bool> hasColumns(linalg::GenericOp op);
  bool isMadeByColumns(Value tensor);
  void findResults();
  void findTeam();
  int64_t countOps();

  func::FuncOp func;
  GpuRows &rows;
  llvm::DenseMap<Value, Part> known;
};

} // namespace

/// The sizes that are not 1, which come and go.
static SmallVector<int64_t> longSizes(ArrayRef<int64_t> sizes) {
  return llvm::to_vector(
      llvm::make_filter_range(sizes, [](int64_t size) { return size != 1; }));
}

/// Whether the loops of an op are those of rows and columns; nothing where they
/// are not even those of rows.
std::optional<bool> Matcher::hasColumns(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = longSizes(op.getStaticLoopRanges());
  if (sizes == longSizes(rows.sizes))
    return true;
  if (sizes == longSizes(ArrayRef(rows.sizes).take_front(rows.rowLoops)))
    return false;
  return std::nullopt;
}

/// Whether the axes of an operand are all loops of rows, or of rows and
/// columns, in order.
bool Matcher::isInOrder(linalg::GenericOp op, OpOperand &operand,
                        bool columns) {
  SmallVector<unsigned> wanted;
  auto loops = op.getStaticLoopRanges();
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    if (loops[loop] != 1)
      wanted.push_back(loop);
  if (!columns)
    wanted.truncate(
        longSizes(ArrayRef(rows.sizes).take_front(rows.rowLoops)).size());
  SmallVector<unsigned> found;
  auto shape = cast<RankedTensorType>(operand.get().getType()).getShape();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [expr, size] : llvm::zip(map.getResults(), shape))
    if (auto loop = dyn_cast<AffineDimExpr>(expr); loop && size != 1)
      found.push_back(loop.getPosition());
    else if (size != 1)
      return false;
  return found == wanted;
}

bool Matcher::readsOwnRow(linalg::GenericOp op, bool columns) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    switch (partOf(input->get())) {
    case Part::Free:
      return true;
    case Part::Row:
      return isInOrder(op, *input, false);
    case Part::Columns:
      return columns && isInOrder(op, *input, true);
    case Part::Other:
      return false;
    }
    llvm_unreachable("a part of no kind");
  });
}

Part Matcher::partOf(linalg::GenericOp op) {
  auto depends = [&](OpOperand *input) {
    return partOf(input->get()) != Part::Free;
  };
  if (llvm::none_of(op.getDpsInputOperands(), depends))
    return Part::Free;
  auto columns = hasColumns(op);
  bool inOrder = columns && op.getNumReductionLoops() == 0 &&
                 llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
                   return isInOrder(op, init, *columns);
                 });
  if (!inOrder || !readsOwnRow(op, *columns))
    return Part::Other;
  return *columns ? Part::Columns : Part::Row;
}

/// Axes of size 1 may come and go.
Part Matcher::ofReshape(Operation *op) {
  auto sizesOf = [](Value tensor) {
    return longSizes(cast<RankedTensorType>(tensor.getType()).getShape());
  };
  Part part = partOf(op->getOperand(0));
  bool same = sizesOf(op->getOperand(0)) == sizesOf(op->getResult(0));
  return part == Part::Free || same ? part : Part::Other;
}

Part Matcher::partOf(Value tensor) {
  if (auto found = known.find(tensor); found != known.end())
    return found->second;
  Operation *op = tensor.getDefiningOp();
  Part part = Part::Free;
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    part = partOf(generic);
  else if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    part = ofReshape(op);
  else if (op && llvm::any_of(op->getOperands(), [&](Value operand) {
             return isa<RankedTensorType>(operand.getType()) &&
                    partOf(operand) != Part::Free;
           }))
    part = Part::Other;
  known[tensor] = part;
  return part;
}

/// Whether the first loops are the axes of the result, which may have none.
static bool hasResultOfLoops(linalg::GenericOp op, unsigned loops) {
  ArrayRef<AffineExpr> axes = op.getIndexingMapsArray().back().getResults();
  return axes.size() == loops &&
         llvm::all_of(llvm::enumerate(axes), [](auto axis) {
           auto loop = dyn_cast<AffineDimExpr>(axis.value());
           return loop && loop.getPosition() == axis.index();
         });
}

/// Loops over rows, then over columns; the result has an element for each row.
bool Matcher::addSum(linalg::GenericOp op) {
  GroupSums sum;
  sum.op = op;
  if (op.getNumDpsInits() != 1 || !findInit(sum))
    return false;
  unsigned rowLoops = op.getNumParallelLoops();
  auto types = op.getIteratorTypesArray();
  bool inOrder = llvm::all_of(ArrayRef(types).take_front(rowLoops),
                              linalg::isParallelIterator) &&
                 hasResultOfLoops(op, rowLoops);
  if (!inOrder)
    return false;
  if (rows.sums.empty()) {
    rows.sizes = op.getStaticLoopRanges();
    rows.rowLoops = rowLoops;
  }
  unsigned sumOperand = 0;
  Operation *combiner = findCombiner(op, sum.init, sumOperand);
  if (!combiner || rowLoops != rows.rowLoops ||
      op.getStaticLoopRanges() != rows.sizes || !readsOwnRow(op, true))
    return false;
  rows.sums.push_back({op, sum.init, combiner, sumOperand});
  known[op.getResult(0)] = Part::Row;
  return true;
}

bool Matcher::findSums() {
  SmallVector<linalg::LinalgOp> sums;
  for (Operation &op : func.getBody().front()) {
    if (!isOfTensors(op))
      return false;
    auto sum = dyn_cast<linalg::LinalgOp>(op);
    if (sum && sum.getNumReductionLoops() > 0)
      sums.push_back(sum);
  }
  for (linalg::LinalgOp sum : sums)
    if (linalg::GenericOp generic = asGenericOp(sum);
        !generic || !addSum(generic))
      return false;
  return !rows.sums.empty();
}

/// Whether the loops of a tensor that needs no sum are those of the sums.
bool Matcher::isMadeByColumns(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  return op && op.getNumReductionLoops() == 0 &&
         hasColumns(op).value_or(false) &&
         isInOrder(op, *op.getDpsInitsMutable().begin(), true);
}

void Matcher::findResults() {
  for (auto result : func.getOps<Written>()) {
    Value source = result.getSource();
    while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
               source.getDefiningOp()) &&
           partOf(source) == Part::Other)
      source = source.getDefiningOp()->getOperand(0);
    Part part = partOf(source);
    if (part == Part::Columns ||
        (part == Part::Free && isMadeByColumns(source)))
      rows.ofColumns.push_back(result);
    else if (part == Part::Row)
      rows.ofRows.push_back(result);
    else
      rows.others.push_back(result);
  }
}

int64_t Matcher::countOps() {
  int64_t count = 0;
  func.walk([&](Operation *op) {
    count += isa_and_nonnull<linalg::GenericOp>(op->getParentOp());
  });
  return count;
}

/// A cluster, or a work-group whose invocations keep what they have read as
/// long as that fits registers.
void Matcher::findTeam() {
  rows.group = rows.team = rows.target.groupSize;
  rows.lanes = isOfVec4(rows.columns) ? kVec4 : 1;
  if (rows.columns <= kMostKept * rows.target.clusterSize)
    rows.team = rows.target.clusterSize;
  while (rows.team > rows.target.clusterSize &&
         2 * rows.group <= rows.target.maxGroupSize &&
         rows.columns > kMostKept * rows.group)
    rows.team = rows.group *= 2;
  int64_t kept = rows.parts() * rows.lanes;
  rows.keeps = kept <= kMostKept && kept * countOps() <= kMostOps;
}

bool Matcher::run() {
  if (!findSums())
    return false;
  rows.columns = 1;
  for (int64_t size : ArrayRef(rows.sizes).drop_front(rows.rowLoops)) {
    if (ShapedType::isDynamic(size) || size == 0)
      return false;
    rows.columns *= size;
  }
  findResults();
  bool isOther = llvm::any_of(rows.others, [&](Written result) {
    return partOf(result.getSource()) == Part::Other;
  });
  bool again = llvm::any_of(rows.ofColumns, [&](Written result) {
    return partOf(result.getSource()) != Part::Free;
  });
  if (isOther || (!again && rows.sums.size() < 2))
    return false;
  findTeam();
  return true;
}

std::optional<GpuRows> matchGpuRows(func::FuncOp func,
                                    const GpuTarget &target) {
  GpuRows rows;
  rows.target = target;
  return Matcher(func, rows).run() ? std::optional(std::move(rows))
                                   : std::nullopt;
}

} // namespace backplane
