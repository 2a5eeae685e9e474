// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractEmit.h"

#include "sdk/emit/cpu/ContractDots.h"
#include "sdk/emit/cpu/ContractEpilogue.h"
#include "sdk/emit/cpu/ContractGemv.h"
#include "sdk/emit/cpu/ContractKernel.h"
#include "sdk/emit/cpu/ContractPack.h"
#include "sdk/emit/cpu/ContractPaths.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

/* ---- The plan ---- */

static int64_t staticProduct(ArrayRef<unsigned> loops,
                             ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (unsigned loop : loops) {
    if (ShapedType::isDynamic(sizes[loop]))
      return -1;
    product *= sizes[loop];
  }
  return product;
}

/// Rows of A up to which B is better read in whole rows than in panels, where
/// no instruction multiplies more than pairs.
static constexpr int64_t kGemvRows = 16;

/// Rows of A, or an unknown number, for which bytes of B are widened by tile.
static constexpr int64_t kFewWidened = 24;

/// Whether elements can be read one at a time and converted.
static bool isReadable(const Contraction &c, Value inBody,
                       const ContractionOperand &operand) {
  return c.takesAsStored(inBody, operand) ||
         operand.widening != ContractionOperand::Widening::None;
}

/// Whether rows of A are what the kernel takes, where they lie.
static bool takesRowsOfA(const Contraction &c, const VnniPlan &vnni,
                         int64_t k) {
  if (!vnni.narrow)
    return c.takesAsStored(c.left, c.lhs);
  return vnni.block == 1 && k % vnni.perLane == 0 &&
         getElementTypeOrSelf(c.lhs.memref) == vnni.narrow;
}

/// Columns up to which rows of A are multiplied with columns of B as vectors of
/// k: where columns as lanes would leave a quarter of them idle.
static int64_t dotColumns(const Contraction &c, const VnniPlan &vnni,
                          const VectorWidth &width, int64_t m) {
  bool areRows = c.m.size() == 1 && c.n.size() == 1 && c.k.size() == 1 &&
                 !c.blockOfA && !c.hasBlocksOfB() && !c.lhs.padded() &&
                 !c.rhs.padded();
  bool areMany = m < 0 || m > kGemvRows;
  bool areFloats = isa<FloatType>(c.accumulator) && !vnni.narrow;
  return areRows && areMany && areFloats && !width.scalable
             ? width.count * 3 / 4
             : 0;
}

static ContractShape readShape(Contraction &c, const VnniPlan &vnni,
                               const ContractMachine &machine, int64_t window) {
  SmallVector<int64_t> known = c.op.getStaticLoopRanges();
  ContractShape shape;
  shape.m = staticProduct(c.m, known);
  shape.n = staticProduct(c.n, known);
  shape.k = staticProduct(c.k, known);
  shape.outer = staticProduct(c.outer, known);
  shape.lanes = machine.width.count;
  shape.registers = machine.registers;
  shape.cacheBytes = machine.cacheBytes;
  shape.gathersB = !c.nMergedInB && !c.hasBlocksOfB();
  bool runsInA = c.kMergedInA && c.kEndsA;
  bool rowsLieInA = runsInA && shape.k > 0;
  bool rowsLieInB = c.nMergedInB && c.k.size() == 1;
  shape.rowsOfA = takesRowsOfA(c, vnni, shape.k) && rowsLieInA && shape.m > 0;
  shape.blockOfA = c.blockOfA;
  shape.blockOfB = c.blockOfB;
  shape.rowsOfB = c.takesAsStored(c.right, c.rhs) && rowsLieInB;
  if (isReadable(c, c.left, c.lhs) && isReadable(c, c.right, c.rhs) &&
      rowsLieInA && rowsLieInB)
    shape.gemvRows = vnni.perLane == 1 || multipliesPairs(vnni) ? kGemvRows : 1;
  if (runsInA)
    shape.dotColumns = dotColumns(c, vnni, machine.width, shape.m);
  shape.bytesOfB = llvm::divideCeil(
      getElementTypeOrSelf(c.op->getOperand(c.b)).getIntOrFloatBitWidth(), 8);
  shape.perLane = vnni.perLane;
  shape.block = vnni.block;
  shape.window = window;
  shape.temporaries = isa<FloatType>(c.accumulator) && !vnni.narrow ? 1 : 2;
  bool widensB = c.blockOfB && c.depthOfBlock == 1 &&
                 c.rhs.widening != ContractionOperand::Widening::None;
  if (widensB && vnni.perLane > 1)
    shape.temporaries += 2; // the order of bytes
  if (widensB)
    shape.loadsOfB = 5;
  else if (c.blockOfB && multipliesPairs(vnni))
    shape.loadsOfB = 3;
  // Integers gather no rounding error.
  if (vnni.narrow && vnni.narrow.isInteger())
    shape.deepest *= vnni.perLane;
  if (vnni.tiles) {
    shape.tileRows = kTileRows;
    shape.tileDepth = kTileDepth;
    // Sums are loaded and stored for each block.
    shape.deepest *= window > 1 ? 4 : 2;
    shape.rowsOfA = shape.rowsOfB = false;
  }
  return shape;
}

/// Whether some micro tile is as wide as whole blocks of columns.
static bool takesBlocks(int64_t columns, const VectorWidth &width) {
  return !width.scalable && columns % width.count == 0 &&
         columns <= 4 * width.count;
}

/// Whether bytes of k that blocks have side by side are what an instruction
/// multiplies at once, as they are or widened on the way.
static bool multipliesBlocks(const Contraction &c, const VnniPlan &vnni) {
  return vnni.narrow && vnni.block == 1 && vnni.perLane == c.depthOfBlock;
}

/// Whether bytes in blocks of columns are multiplied where they lie, as many
/// rows at once as an instruction takes, which then may not end beyond k.
/// Unless they are contiguous each tile widens or orders them anew, which few
/// tiles do at less cost than a copy.
static bool readsBytes(const Contraction &c, const VnniPlan &vnni,
                       const VectorWidth &width) {
  linalg::GenericOp op = c.op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t k = staticProduct(c.k, sizes), m = staticProduct(c.m, sizes);
  int64_t step = vnni.tiles ? kTileDepth : vnni.perLane;
  bool ends = step == 1 || (k > 0 && k % step == 0);
  bool fewRows = step == 1 ? m <= kFewWidened : m > 0 && m <= 4 * step;
  return c.blockToPack && takesBlocks(c.blockToPack, width) &&
         vnni.block == 1 && ends &&
         (c.depthOfBlock > 1 || (fewRows && !vnni.tiles));
}

/// Makes room for the image in the groups of a plan. False where its copies do
/// not fit the cache, or are more than panels of all columns would be.
static bool placeImage(ImageTile &image, const ContractPlan &plan,
                       const ContractMachine &machine) {
  int64_t columns = plan.transposed ? plan.groupM : plan.groupN;
  // Panels, or tiles of pixels, end behind it.
  int64_t slack = (std::max(plan.vectors, plan.rows) + 1) * machine.width.count;
  image.place(columns, plan.depth, slack);
  bool pays = plan.transposed || image.channelPitch <= image.window() * columns;
  return pays && image.elements * 4 <= machine.cacheBytes / 2;
}

/* ---- The loops ---- */

/// `result` is the work-group with the rows and columns of C, `s` the one with
/// those that are computed.
static void emitBlocked(const ContractScope &s, const ContractScope &result) {
  ContractPacker packer(s, result);
  MicroKernel kernel(s, packer);
  ContractEpilogue epilogue(result);
  packer.prepareColumns();
  Value sizeK = s.operands.sizeK;
  auto finishLast = [&](Value firstK, function_ref<void()> finish) {
    Value last = s.lessOrEqual(sizeK, s.add(firstK, s.index(s.plan.depth)));
    s.manyBlocks() ? s.ifElse(last, finish, nullptr) : finish();
  };
  auto emitTile = [&](Value panelB, Value panelA, Value firstK, Value countK,
                      MicroKernel::Panel panel) {
    auto finish = [&](ValueRange sums) {
      epilogue.finishSums(sums, panelB, panelA);
    };
    if (epilogue.takesRegisters())
      return kernel.multiply(panelB, panelA, firstK, countK, panel, finish);
    kernel.multiply(panelB, panelA, firstK, countK, panel);
    if (!s.plan.transposed)
      finishLast(firstK, [&] {
        epilogue.finishTile(kernel.tiles, kernel.startOfTile(panelB, panelA),
                            panelB, panelA);
      });
  };
  // Returns the row of the next tile.
  auto emitPacking = [&](Value panelB, Value firstK, Value countK) {
    auto emitFirst = [&] {
      emitTile(panelB, s.index(0), firstK, countK,
               MicroKernel::Panel::ToBePacked);
      return s.index(s.plan.rows);
    };
    if (s.restColumns() == 0)
      return emitFirst();
    return s.either(s.isFull(panelB), s.builder.getIndexType(), emitFirst, [&] {
      packer.packRest(panelB, firstK, countK);
      return s.index(0);
    });
  };
  auto emitPanel = [&](Value panelB, Value firstK, Value countK) {
    kernel.enterPanel(panelB, countK);
    Value begin =
        s.plan.packsInTile ? emitPacking(panelB, firstK, countK) : s.index(0);
    s.forRange(begin, s.countM, s.plan.rows, [&](Value panelA) {
      emitTile(panelB, panelA, firstK, countK, MicroKernel::Panel::Packed);
    });
    if (s.plan.transposed)
      finishLast(firstK, [&] {
        Value start = kernel.startOfTile(panelB, s.index(0));
        epilogue.finishTransposed(s, kernel.tiles, start, panelB);
      });
  };
  auto emitBlock = [&](Value firstK, Value countK) {
    packer.packB(firstK, countK);
    if (s.plan.packA)
      packer.packA(firstK, countK);
    s.forRange(s.index(0), s.countN, s.panelN(),
               [&](Value panelB) { emitPanel(panelB, firstK, countK); });
  };
  if (!s.manyBlocks())
    return emitBlock(s.index(0), sizeK);
  // At least once, so that an empty sum is stored too.
  Value end = s.builder.createOrFold<arith::MaxSIOp>(s.loc, sizeK, s.index(1));
  s.forRange(s.index(0), end, s.plan.depth, [&](Value firstK) {
    emitBlock(firstK, s.minimum(s.index(s.plan.depth), s.sub(sizeK, firstK)));
  });
}

void emitBlocked(const ContractScope &scope) { emitBlocked(scope, scope); }

/* ---- Few pixels ---- */

/// Whether outputs are lanes, as the weight lies in blocks of enough of them.
/// `pixels` is negative where it is not known.
static bool isTransposed(const Contraction &c, int64_t pixels,
                         const std::optional<ImageTile> &image,
                         const ContractMachine &machine) {
  // What a convolution of few pixels has (sdk/layout/ArrangeWeights.cpp).
  constexpr int64_t block = 16;
  bool rowsLie = image || (c.nMergedInB && c.k.size() == 1);
  bool asStored =
      c.takesAsStored(c.right, c.rhs) || (c.depthOfBlock > 1 && image);
  return c.blockOfA == block && pixels > 0 && rowsLie &&
         takesBlocks(block, machine.width) && asStored;
}

/// The same with A and B, and rows and columns, in each other's place.
static Contraction transpose(Contraction c) {
  std::swap(c.lhs, c.rhs);
  std::swap(c.a, c.b);
  std::swap(c.left, c.right);
  std::swap(c.m, c.n);
  std::swap(c.blockOfA, c.blockOfB);
  c.kMergedInA = c.nMergedInB = false;
  return c;
}

static ContractOperands transpose(ContractOperands operands) {
  std::swap(operands.a, operands.b);
  std::swap(operands.sizeM, operands.sizeN);
  operands.padded.clear();
  return operands;
}

static ContractPlan planTransposed(const ContractShape &shape) {
  ContractPlan plan = planContraction(shape);
  plan.transposed = true;
  plan.packA = false;
  return plan;
}

/// False where the image does not fit the cache.
static bool emitTransposed(const VectorBuilder &b, const Contraction &c,
                           const VnniPlan &vnni, std::optional<ImageTile> image,
                           const ContractMachine &machine) {
  Contraction computed = transpose(c);
  ContractShape shape =
      readShape(computed, vnni, machine, image ? image->depth() : 1);
  shape.fewRows = shape.rowsOfA = true;
  // Lower tiles read the weight too often.
  for (size_t rows = 3; image && rows < shape.leftOut.size(); ++rows)
    shape.leftOut[rows] = image->leftOut(int64_t(rows));
  ContractProblem problem = {computed, planTransposed(shape), vnni, {}};
  if (image && !placeImage(*image, problem.plan, machine))
    return false;
  problem.image = image;
  tellPaths(problem);
  ContractProblem result = {c, problem.plan, vnni, readOperands(b, c),
                            problem.image};
  problem.operands = transpose(result.operands);
  std::swap(result.plan.groupM, result.plan.groupN);
  OpBuilder::InsertionGuard guard(b.builder);
  SmallVector<Value> ids = enterGroup(b, problem);
  ContractScope scope(b, problem, ids);
  std::swap(ids.end()[-1], ids.end()[-2]);
  emitBlocked(scope, ContractScope(b, result, ids));
  return true;
}

/// Whether copying panels takes about as long as multiplying them, as there are
/// few rows: the first tile then copies what it multiplies.
static bool packsInTile(const ContractShape &shape, const ContractPlan &plan) {
  constexpr int64_t fewRows = 128;
  return shape.rowsOfB && plan.packB && !plan.gemv && !plan.dots &&
         !shape.copiesImage && shape.perLane == 1 && shape.m > plan.rows &&
         shape.m <= fewRows;
}

/// What the groups of a contraction are, its B copied as an image where that
/// can be.
static ContractProblem planProblem(const VectorBuilder &b, Contraction c,
                                   const VnniPlan &vnni,
                                   std::optional<ImageTile> image,
                                   const ContractMachine &machine) {
  auto planWith = [&](int64_t window, bool copiesImage) {
    ContractShape shape = readShape(c, vnni, machine, window);
    shape.copiesImage = copiesImage;
    if (copiesImage && !image->oneLine())
      shape.halo = image->rowReach() * image->pixelsOfRow();
    ContractPlan plan = planContraction(shape);
    plan.wholeTiles = shape.m > 0 && shape.m % plan.rows == 0;
    plan.packsInTile = packsInTile(shape, plan);
    return plan;
  };
  if (image) {
    ContractPlan plan = planWith(image->depth(), true);
    if (placeImage(*image, plan, machine))
      return {c, plan, vnni, readOperands(b, c), image};
  }
  return {c, planWith(vnni.narrow ? 1 : c.window, false), vnni,
          readOperands(b, c)};
}

void emitContraction(OpBuilder &builder, const Contraction &contraction,
                     const ContractMachine &machine) {
  Contraction c = contraction;
  if (!takesBlocks(c.blockOfB, machine.width))
    c.blockOfB = 0;
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  VnniPlan vnni = planVnni(c, machine.products, staticProduct(c.m, sizes),
                           staticProduct(c.k, sizes));
  if (c.depthOfBlock > 1 && !multipliesBlocks(c, vnni))
    c.blockOfA = c.blockToPack = 0;
  bool isNarrow = vnni.narrow || c.accumulator.isF32();
  if (!isNarrow || machine.width.scalable ||
      c.blockToPack % machine.width.count != 0)
    c.blockToPack = 0;
  if (readsBytes(c, vnni, machine.width))
    std::swap(c.blockOfB, c.blockToPack);
  std::optional<ImageTile> image;
  bool packsInOrder =
      !vnni.narrow || (vnni.narrow.isInteger() && vnni.block == 1);
  if (packsInOrder && !machine.width.scalable)
    image = matchImageTile(c, vnni.perLane);
  VectorBuilder b(builder, c.op.getLoc(), machine.width);
  if (isTransposed(c, staticProduct(c.n, sizes), image, machine) &&
      emitTransposed(b, c, vnni, image, machine))
    return;
  // Elements of A are not widened one by one.
  if (multipliesPairs(vnni))
    c.blockOfA = 0;
  ContractProblem problem = planProblem(b, c, vnni, image, machine);
  tellPaths(problem);
  OpBuilder::InsertionGuard guard(builder);
  ContractScope scope(b, problem, enterGroup(b, problem));
  if (problem.plan.dots)
    return DotsBuilder(scope).run();
  if (problem.plan.gemv)
    return GemvBuilder(scope).run();
  emitBlocked(scope);
}

} // namespace backplane
