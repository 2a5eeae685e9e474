// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/MatrixPlan.h"

#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

/// Bytes of k in a block of a factor, work-groups that keep a GPU busy, blocks
/// in memory at once, and sums of a subgroup along m and n at most.
constexpr int64_t kDepthBytes = 64, kBusyGroups = 128, kStages = 3;
constexpr int64_t kMostRows = 64, kMostColumns = 64;
/// Instructions of a subgroup below which a tile reads more than it computes.
constexpr int64_t kLeastTile = 2;
/// Rows up to which a product does little else than read its other factor, a
/// block of which has so much of k, less where more rows are.
constexpr int64_t kFewRows = 64, kDepthBytesOfFew = 256;
constexpr int64_t kStagesOfFew = 4, kLeastStagesOfFew = 3;
/// Blocks in memory where all come through registers, and so at once.
constexpr int64_t kStagesOfRegisters = 2;

/// What an op widens.
static std::optional<NarrowFactor> narrowFactor(Operation *widening,
                                                Value value) {
  Type type = widening->getOperand(0).getType();
  if (type.isF16())
    return NarrowFactor{value, type, MatrixElement::F16};
  if (type.isBF16())
    return NarrowFactor{value, type, MatrixElement::BF16};
  if (type.isInteger(8))
    return NarrowFactor{value, type,
                        isa<arith::ExtSIOp>(widening) ? MatrixElement::S8
                                                      : MatrixElement::U8};
  return std::nullopt;
}

/// The op that widened the elements of a tensor, through what moves them or
/// adds zeros; null if there is none.
static Operation *findWideningOf(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return findWidening(generic);
  if (auto pad = dyn_cast_or_null<tensor::PadOp>(op)) {
    Value value = pad.getConstantPaddingValue();
    bool zero = value && (matchPattern(value, m_Zero()) ||
                          matchPattern(value, m_PosZeroFloat()));
    return zero ? findWideningOf(pad.getSource()) : nullptr;
  }
  if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                      tensor::ExtractSliceOp, tensor::CastOp>(op))
    return findWideningOf(op->getOperand(0));
  return nullptr;
}

std::optional<NarrowFactor> narrowFactor(const GpuOperand &factor) {
  Operation *op = factor.value.getDefiningOp();
  if (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return narrowFactor(op, op->getOperand(0));
  // An operand as it is; two operands would be an op of the body.
  Operation *before = op ? nullptr : findWideningOf(factor.inputs[0]->get());
  return before ? narrowFactor(before, factor.value) : std::nullopt;
}

static std::optional<MatrixElement> sumElement(Type type) {
  if (type.isF32())
    return MatrixElement::F32;
  if (type.isInteger(32))
    return MatrixElement::S32;
  return std::nullopt;
}

bool multiplies(const GpuContraction &c, const MatrixInstruction &instruction,
                const NarrowFactor &a, const NarrowFactor &b) {
  return instruction.a == a.element && instruction.b == b.element &&
         instruction.sum == sumElement(c.type()) &&
         c.target.hasMatrixShape(a.element, instruction.m, instruction.n,
                                 instruction.k);
}

static const MatrixInstruction *findInstruction(const GpuContraction &c,
                                                const MatrixUnit &unit,
                                                const NarrowFactor &a,
                                                const NarrowFactor &b) {
  const auto *found = llvm::find_if(
      unit.instructions(), [&](const MatrixInstruction &instruction) {
        return multiplies(c, instruction, a, b) &&
               instruction.lanes() == c.target.clusterSize;
      });
  return found == unit.instructions().end() ? nullptr : found;
}

/// One of opaque matrices.
static std::optional<MatrixPlan> findOpaque(const GpuContraction &c,
                                            const MatrixUnit &unit,
                                            const NarrowFactor &a,
                                            const NarrowFactor &b) {
  MatrixPlan plan = {&unit};
  plan.opaque = unit.opaqueMatrices();
  if (!plan.opaque || c.target.groupSize < plan.lanes())
    return std::nullopt;
  for (const MatrixInstruction &instruction : plan.opaque->instructions())
    if (!plan.instruction && multiplies(c, instruction, a, b))
      plan.instruction = &instruction;
  return plan.instruction ? std::optional(plan) : std::nullopt;
}

/// Whether lanes have the words of pieces as they load them for each other:
/// so many of a fragment, word l % 4 of line l / 4 in lane l.
static bool isOfLines(const FragmentLayout &layout, int64_t wordElements,
                      int64_t words) {
  const MatrixPlace lanes[] = {
      {0, wordElements}, {0, 2 * wordElements}, {1, 0}, {2, 0}, {4, 0}};
  auto same = [](MatrixPlace x, MatrixPlace y) {
    return x.row == y.row && x.column == y.column;
  };
  return layout.elements() == words * wordElements &&
         llvm::equal(layout.lane, ArrayRef(lanes), same);
}

static const LineLoads *findLoads(const MatrixPlan &plan,
                                  MatrixElement element) {
  const MatrixInstruction &i = *plan.instruction;
  int64_t wordElements = 4 / bytesOf(element);
  return isOfLines(i.layoutA, wordElements, 4) &&
                 isOfLines(i.layoutB, wordElements, 2)
             ? plan.unit->lineLoads()
             : nullptr;
}

StagedFactor stageFactor(GpuContraction &c, const MatrixPlan &plan,
                         const NarrowFactor &narrow, GpuOperand operand,
                         ArrayRef<unsigned> loops, int64_t rows,
                         int64_t depth) {
  operand.value = narrow.value;
  StagedFactor factor = {operand, narrow.type, loops, rows, depth};
  bool transposable =
      factor.wordElements() == 1 || plan.opaque ||
      ((plan.loads || plan.products) && factor.elementBytes() == 2);
  factor.alongK = operand.kIsInnermost || !transposable;
  factor.panel = plan.products
                     ? MemoryProducts::kLineBytes / factor.elementBytes()
                     : factor.lineElements();
  factor.padWords = plan.opaque ? OpaqueMatrices::kLineWords : 0;
  factor.transposes = factor.alongK && !operand.kIsInnermost;
  ArrayRef<unsigned> inLine = factor.alongK ? ArrayRef(c.k) : loops;
  int64_t size = sizeOf(c.op.getStaticLoopRanges(), inLine);
  int64_t piece = factor.pieceElements();
  auto inputs = [&](function_ref<bool(OpOperand &)> test) {
    return llvm::all_of(operand.inputs,
                        [&](OpOperand *input) { return test(*input); });
  };
  bool whole = !ShapedType::isDynamic(size) && size % piece == 0;
  bool contiguous =
      whole && !factor.transposes && inputs([&](OpOperand &input) {
        return areContiguous(c.op, input, inLine);
      });
  factor.copies = contiguous && plan.unit->lineCopies() &&
                  isa<BlockArgument>(narrow.value) &&
                  narrow.value.getType() == narrow.type &&
                  inputs([&](OpOperand &input) {
                    return areLinesOfBuffer(c.op, input, inLine, piece);
                  });
  factor.lanes = contiguous ? piece : factor.wordElements();
  if (factor.copies && plan.products && plan.unit->blockCopies() &&
      factor.lines() <= BlockCopies::kMostLines)
    factor.blocks = findBlockTensor(c.op, *operand.inputs.front(), inLine,
                                    factor.alongK ? loops : ArrayRef(c.k));
  if (factor.blocks) {
    factor.blocks->tensor.element = narrow.element;
    factor.blocks->tensor.lineElements = factor.panel;
    factor.blocks->tensor.lines = factor.lines();
  }
  return factor;
}

/// As many instructions as the size asks for: 1, 2, 4 and so on up to `most`;
/// half of that where it is not known.
static int64_t share(int64_t size, int64_t step, int64_t most) {
  if (ShapedType::isDynamic(size))
    return most / 2;
  int64_t count = 1;
  while (count < most && count * step < size)
    count *= 2;
  return count;
}

int64_t countFor(int64_t size, int64_t step, int64_t most) {
  return ShapedType::isDynamic(size) ? most : sumsFor(size, step, most);
}

bool isBusy(GpuContraction &c, const MatrixPlan &plan) {
  return tileCount(c, plan.tileM(), plan.tileN()).value_or(kBusyGroups) >=
         kBusyGroups;
}

static bool hasFewRows(GpuContraction &c) {
  int64_t rows = sizeOf(c.op.getStaticLoopRanges(), c.m);
  return !ShapedType::isDynamic(rows) && rows <= kFewRows;
}

namespace {

/// Sizes of tiles: large ones read less, small ones are more.
struct TilePlanner {
  GpuContraction &c;
  MatrixPlan &plan;
  NarrowFactor a, b;
  SmallVector<int64_t> sizes;

  void run();
  bool fits();
  /// Code with opaque matrices has all memory that it declares.
  int64_t sharedBytes() const {
    return plan.opaque ? c.target.maxSharedBytes : c.target.sharedBytes;
  }
  bool stage(int64_t depthBytes, int64_t maxStages, int64_t minStages);
  /// Whether a block of so many bytes holds all of k, and more.
  bool holdsAllOfK(int64_t bytes) const {
    int64_t size = sizeOf(sizes, c.k);
    return !ShapedType::isDynamic(size) && size * bytesOf(a.element) < bytes;
  }
};

} // namespace

/// With blocks of so many bytes of k, as many as fit, at least `minStages`.
bool TilePlanner::stage(int64_t depthBytes, int64_t maxStages,
                        int64_t minStages) {
  int64_t depth = depthBytes / bytesOf(a.element);
  plan.a = stageFactor(c, plan, a, c.a, c.m, plan.tileM(), depth);
  plan.b = stageFactor(c, plan, b, c.b, c.n, plan.tileN(), depth);
  plan.stages = plan.opaque ? kStagesOfRegisters : maxStages;
  while (plan.stages > minStages &&
         plan.stages * plan.stageWords() * 4 > sharedBytes())
    --plan.stages;
  return 4 * plan.memoryWords() <= sharedBytes();
}

bool TilePlanner::fits() {
  if (hasFewRows(c))
    for (int64_t bytes = kDepthBytesOfFew; bytes > kDepthBytes; bytes /= 2)
      if (!holdsAllOfK(bytes) && stage(bytes, kStagesOfFew, kLeastStagesOfFew))
        return true;
  return stage(kDepthBytes, kStages, 2);
}

void TilePlanner::run() {
  const MatrixInstruction &instruction = *plan.instruction;
  int64_t subgroups = c.target.groupSize / plan.lanes();
  bool few = hasFewRows(c);
  int64_t least = few ? 1 : kLeastTile;
  plan.subgroupsN = few ? subgroups : std::min<int64_t>(2, subgroups);
  plan.subgroupsM = subgroups / plan.subgroupsN;
  plan.rows = share(sizeOf(sizes, c.m), plan.subgroupsM * instruction.m,
                    kMostRows / instruction.m);
  plan.columns = share(sizeOf(sizes, c.n), plan.subgroupsN * instruction.n,
                       kMostColumns / instruction.n);
  while (!fits() || (!isBusy(c, plan) && plan.rows * plan.columns > least)) {
    if (plan.rows == 1 && plan.columns == 1)
      return;
    // What comes through registers is read by each row of work-groups.
    bool costly = plan.a.copies && !plan.b.copies;
    bool wide = plan.columns > 1 && (costly || plan.tileN() >= plan.tileM());
    (wide || plan.rows == 1 ? plan.columns : plan.rows) /= 2;
  }
}

std::optional<MatrixPlan> findMatrixInstruction(GpuContraction &c,
                                                const MatrixUnit &unit,
                                                const NarrowFactor &a,
                                                const NarrowFactor &b) {
  MatrixPlan plan = {&unit, findInstruction(c, unit, a, b)};
  if (!plan.instruction)
    return std::nullopt;
  plan.loads = findLoads(plan, a.element);
  return plan;
}

std::optional<MatrixPlan> planMatrix(GpuContraction &c,
                                     const MatrixUnit &unit) {
  auto a = narrowFactor(c.a), b = narrowFactor(c.b);
  if ((!a || !b) && c.type().isF32()) {
    a = NarrowFactor{c.a.value, c.type(), MatrixElement::TF32};
    b = NarrowFactor{c.b.value, c.type(), MatrixElement::TF32};
  }
  if (!a || !b)
    return std::nullopt;
  auto inMemory = planMemoryProducts(c, unit, *a, *b);
  if (inMemory && (isBusy(c, *inMemory) || !hasFewRows(c)))
    return inMemory;
  auto plan = findMatrixInstruction(c, unit, *a, *b);
  if (!plan)
    plan = findOpaque(c, unit, *a, *b);
  if (!plan)
    return std::nullopt;
  TilePlanner planner{c, *plan, *a, *b, c.op.getStaticLoopRanges()};
  planner.run();
  return planner.fits() ? plan : std::nullopt;
}

} // namespace backplane
