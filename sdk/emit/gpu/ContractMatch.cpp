// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Contiguous.h"
#include "sdk/emit/gpu/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace backplane {

/// Below these sizes, tiles are mostly empty.
constexpr int64_t kLeastRows = 4, kLeastColumns = 8, kLeastDepth = 8;
/// Columns of sums of an invocation, but where there are so many tiles of more
/// that each multiprocessor has some.
constexpr int64_t kColumns = 4, kManyTiles = 512;
/// Some software devices end a shader after 65535 iterations of its loops.
constexpr int64_t kMostDepth = 100000;

bool GpuOperand::uses(linalg::GenericOp op, unsigned loop) const {
  return llvm::any_of(inputs, [&](OpOperand *input) {
    return op.getMatchingIndexingMap(input).isFunctionOfDim(loop);
  });
}

namespace {

struct Matcher {
  GpuContraction c;
  SmallVector<int64_t> sizes;
  int64_t minRows = kLeastRows;

  bool run(func::FuncOp func);
  bool read(const GroupSums &sums);
  bool findOperands();
  bool readOperand(Value value, GpuOperand &factor);
  bool sortLoops();
  bool worthwhile();
};

} // namespace

/// A body of plain arithmetic on its arguments.
static bool isPlain(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
           !isa<linalg::IndexOp, tensor::ExtractOp>(op);
  });
}

bool Matcher::read(const GroupSums &sums) {
  c.sums = sums;
  c.op = sums.op;
  sizes = c.op.getStaticLoopRanges();
  // To what the sums start with, a product of zeros must add nothing.
  auto number = dyn_cast<FloatAttr>(sums.init);
  return isPlain(*c.op.getBody()) &&
         (!number || number.getValue().isPosZero()) && findOperands();
}

bool Matcher::readOperand(Value value, GpuOperand &factor) {
  factor.value = value;
  Block &body = *c.op.getBody();
  llvm::SmallSetVector<unsigned, 4> inputs;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value part = work.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(part);
    if (argument && argument.getOwner() == &body)
      inputs.insert(argument.getArgNumber());
    else if (!argument && part.getDefiningOp()->getBlock() == &body)
      llvm::append_range(work, part.getDefiningOp()->getOperands());
  }
  for (unsigned input : inputs) {
    if (input >= unsigned(c.op.getNumDpsInputs()))
      return false;
    factor.inputs.push_back(c.op.getDpsInputOperand(input));
  }
  return !factor.inputs.empty();
}

bool Matcher::findOperands() {
  Block &body = *c.op.getBody();
  Value accumulator = body.getArguments().back();
  c.sum = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(c.sum) ||
      !accumulator.hasOneUse())
    return false;
  bool first = c.sum->getOperand(0) == accumulator;
  if (!first && c.sum->getOperand(1) != accumulator)
    return false;
  c.product = c.sum->getOperand(first ? 1 : 0).getDefiningOp();
  return isa_and_nonnull<arith::MulFOp, arith::MulIOp>(c.product) &&
         c.product->getBlock() == &body &&
         c.product->getOperand(0) != c.product->getOperand(1) &&
         readOperand(c.product->getOperand(0), c.a) &&
         readOperand(c.product->getOperand(1), c.b);
}

/// Whether neighbours of a factor in memory differ in k.
static bool isInnermost(const GpuContraction &c, const GpuOperand &factor) {
  linalg::GenericOp op = c.op;
  for (OpOperand *input : factor.inputs) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0)
      continue;
    AffineExpr last = map.getResults().back();
    auto has = [&](ArrayRef<unsigned> loops) {
      return llvm::any_of(
          loops, [&](unsigned loop) { return last.isFunctionOfDim(loop); });
    };
    return has(c.k) && !has(c.m) && !has(c.n);
  }
  return false;
}

void GpuContraction::findInnermost() {
  a.kIsInnermost = isInnermost(*this, a);
  b.kIsInnermost = isInnermost(*this, b);
}

bool Matcher::sortLoops() {
  AffineMap result = c.op.getIndexingMapsArray().back();
  bool found = false;
  for (AffineExpr expr : llvm::reverse(result.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    bool inA = c.a.uses(c.op, loop), inB = c.b.uses(c.op, loop);
    if (!found && inA != inB && sizes[loop] != 1) {
      found = true;
      if (inA) {
        std::swap(c.a, c.b);
        std::swap(inA, inB);
      }
    }
    auto &group = inA == inB ? c.outer : inA ? c.m : c.n;
    group.insert(group.begin(), loop);
  }
  for (unsigned loop = 0; loop < c.op.getNumLoops(); ++loop)
    if (!result.isFunctionOfDim(loop))
      c.k.push_back(loop);
  c.findInnermost();
  return found;
}

bool Matcher::worthwhile() {
  auto atLeast = [&](ArrayRef<unsigned> loops, int64_t least) {
    int64_t size = sizeOf(sizes, loops);
    return ShapedType::isDynamic(size) || size >= least;
  };
  return atLeast(c.m, minRows) && atLeast(c.n, kLeastColumns) &&
         atLeast(c.k, kLeastDepth) && sizeOf(sizes, c.k) <= kMostDepth &&
         !c.m.empty() && !c.n.empty();
}

bool Matcher::run(func::FuncOp func) {
  auto sums = findSums(func);
  return sums && read(*sums) && sortLoops() && worthwhile();
}

std::optional<GpuContraction> readProducts(const GroupSums &sums,
                                           const GpuTarget &target) {
  Matcher matcher;
  matcher.c.target = target;
  if (!matcher.read(sums))
    return std::nullopt;
  return matcher.c;
}

std::optional<GpuContraction>
matchGpuContraction(func::FuncOp func, const GpuTarget &target, bool anyRows) {
  Matcher matcher;
  if (anyRows)
    matcher.minRows = 1;
  matcher.c.target = target;
  if (!matcher.run(func))
    return std::nullopt;
  return matcher.c;
}

Operation *findWidening(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1)
    return nullptr;
  Block &body = *op.getBody();
  Operation *value = body.getTerminator()->getOperand(0).getDefiningOp();
  bool widens =
      isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(value);
  return widens && value->getOperand(0) == body.getArgument(0) ? value
                                                               : nullptr;
}

int64_t sumsFor(int64_t size, int64_t invocations, int64_t most) {
  if (ShapedType::isDynamic(size))
    return std::min<int64_t>(4, most);
  int64_t sums = 1;
  while (sums < most && sums * invocations < size)
    sums *= 2;
  return sums;
}

/// Whether both factors are read as lines, which cost little for each element.
static bool areLines(GpuContraction &c) {
  auto isLines = [&](const GpuOperand &factor, ArrayRef<unsigned> rows) {
    ArrayRef<unsigned> loops = factor.kIsInnermost ? ArrayRef(c.k) : rows;
    return llvm::all_of(factor.inputs, [&](OpOperand *input) {
      return areContiguous(c.op, *input, loops);
    });
  };
  return isLines(c.a, c.m) && isLines(c.b, c.n);
}

std::optional<int64_t> tileCount(GpuContraction &c, int64_t tileM,
                                 int64_t tileN) {
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  int64_t count = 1;
  for (auto [loops, tile] : {std::pair(&c.outer, int64_t(1)),
                             std::pair(&c.m, tileM), std::pair(&c.n, tileN)}) {
    int64_t size = sizeOf(sizes, *loops);
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    count *= int64_t(llvm::divideCeil(uint64_t(size), uint64_t(tile)));
  }
  return count;
}

GpuTile planGpuTile(GpuContraction &c) {
  auto sizes = c.op.getStaticLoopRanges();
  int64_t groupRows = c.target.groupSize / GpuTile::kGroupColumns;
  int64_t rows = sumsFor(sizeOf(sizes, c.m), groupRows, c.target.tileRows);
  auto tileOf = [&](int64_t maxColumns) -> GpuTile {
    // As many columns as leave room for the tile in the memory of a work-group.
    int64_t columnBytes = c.target.tileRows * groupRows *
                          GpuTile::kGroupColumns *
                          (c.type().getIntOrFloatBitWidth() / 8);
    int64_t most = std::clamp<int64_t>(
        int64_t(llvm::bit_floor(uint64_t(c.target.sharedBytes / columnBytes))),
        1, std::min(maxColumns, c.target.tileColumns));
    return {groupRows, rows,
            std::min(sumsFor(sizeOf(sizes, c.n), GpuTile::kGroupColumns, most),
                     most)};
  };
  GpuTile wide = tileOf(c.target.tileColumns);
  int64_t tiles = tileCount(c, wide.m(), wide.n()).value_or(0);
  return tiles >= kManyTiles && areLines(c) ? wide : tileOf(kColumns);
}

} // namespace backplane
