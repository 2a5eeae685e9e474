// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

/// Pieces of 16 bytes that go through all banks of memory once.
constexpr int64_t kPiecesOfBanks = 8;
/// Pieces of a factor that an invocation holds at most.
constexpr int64_t kMostHeld = 8;

Value MatrixScope::placeWord(const StagedFactor &factor, Value line,
                             Value place) {
  int64_t pieces = factor.panelPieces(), words = LineLoads::kBytes / 4;
  Value panel;
  if (factor.pieces() > pieces) {
    panel = mul(div(place, pieces), factor.panelWords());
    place = rem(place, pieces);
  }
  Value word =
      add(mul(line, pieces * words + factor.padWords), mul(place, words));
  return panel ? add(panel, word) : word;
}

Value MatrixScope::wordOf(const StagedFactor &factor, Value line,
                          Value lineInPiece, Value piece) {
  if (factor.padWords)
    return placeWord(factor, line, piece);
  int64_t pieces = factor.panelPieces();
  Value key = pieces >= kPiecesOfBanks
                  ? lineInPiece
                  : rem(div(lineInPiece, kPiecesOfBanks / pieces), pieces);
  // A load of words reads two neighbouring pieces of four lines.
  if (factor.isOfWords())
    key = mul(
        rem(key, std::max<int64_t>(std::min(pieces, kPiecesOfBanks) / 2, 1)),
        2);
  // The key changes places in a panel, never the panel.
  return placeWord(factor, line, b.createOrFold<arith::XOrIOp>(piece, key));
}

Value MatrixScope::addressOf(Value buffer, Value element, int64_t bytes) {
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, buffer);
  return add(base, mul(element, bytes));
}

/// Entries of neighbouring bits that double are one number.
MatrixPlaceValues MatrixScope::placeOfLane(const FragmentLayout &layout) {
  ArrayRef<MatrixPlace> bits = layout.lane;
  MatrixPlaceValues place = {index(0), index(0)};
  for (size_t first = 0; first < bits.size();) {
    size_t end = first + 1;
    while (end < bits.size() && bits[end].row == 2 * bits[end - 1].row &&
           bits[end].column == 2 * bits[end - 1].column)
      ++end;
    Value part =
        rem(div(lane, int64_t(1) << first), int64_t(1) << (end - first));
    place.row = add(place.row, mul(part, bits[first].row));
    place.column = add(place.column, mul(part, bits[first].column));
    first = end;
  }
  return place;
}

void MatrixScope::storeWord(Value value, Value at) {
  if (!value.getType().isInteger(32))
    value = arith::BitcastOp::create(b, b.getI32Type(), value);
  memref::StoreOp::create(b, value, memory, at);
}

Value MatrixScope::loadWord(Value at, Type type) {
  Value word = memref::LoadOp::create(b, memory, at);
  return type.isInteger(32) ? word
                            : Value(arith::BitcastOp::create(b, type, word));
}

void MatrixScope::endGroup() {
  if (plan.copiesLines())
    plan.unit->lineCopies()->endGroup(b);
}

void MatrixScope::waitForGroups(int64_t open) {
  if (plan.copiesLines())
    plan.unit->lineCopies()->waitForGroups(b, open);
}

/// The buffer of a factor that is an input as it is.
static Value bufferOf(const StagedFactor &factor) {
  return factor.operand.inputs.front()
      ->get()
      .getDefiningOp<bufferization::ToTensorOp>()
      .getBuffer();
}

void MatrixScope::readBufferSizes() {
  for (const StagedFactor *factor : {&plan.a, &plan.b})
    if (factor->copies)
      bufferSizes[bufferOf(*factor)] =
          memref::getMixedSizes(b, b.getLoc(), bufferOf(*factor));
}

/// Starts the copy of a whole line, which lies on one side of each edge.
void MatrixScope::copyLine(const StagedFactor &factor, Value word, Value rowAt,
                           Value kAt, Value size) {
  OpOperand &input = *factor.operand.inputs.front();
  Value buffer = bufferOf(factor);
  AffineMap map = c.op.getMatchingIndexingMap(&input);
  Values all = indicesAt(factor.loops, rowAt, kAt), place;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    place.push_back(getValueOrCreateConstantIndexOp(
        b, b.getLoc(),
        affine::makeComposedFoldedAffineApply(b, b.getLoc(), map.getSubMap({i}),
                                              getAsOpFoldResult(all))));
  Value element = affine::AffineLinearizeIndexOp::create(
      b, place, bufferSizes.lookup(buffer), true);
  Value inside = below(rowAt, size, factor.rows, Value());
  inside = below(kAt, sizeK, factor.depth, inside);
  Value bytes;
  if (inside)
    bytes =
        arith::SelectOp::create(b, inside, index(LineLoads::kBytes), index(0));
  plan.unit->lineCopies()->copy(
      b, addressOf(memory, word, 4),
      addressOf(buffer, element, factor.elementBytes()), bytes);
}

/// A value that was widened as it was before.
static Value narrow(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(type))
    return arith::TruncFOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

/// Neighbours, each with a condition of its own where an edge may lie between
/// them.
FailureOr<ContractScope::Values>
MatrixScope::readContiguous(const StagedFactor &factor, Value rowAt, Value kAt,
                            Value size) {
  auto sizes = c.op.getStaticLoopRanges();
  int64_t along = sizeOf(sizes, factor.alongK ? ArrayRef(c.k) : factor.loops);
  bool together = !ShapedType::isDynamic(along) && along % factor.lanes == 0;
  int64_t lanes = together ? factor.lanes : 1;
  Values all;
  for (int64_t lane = 0; lane < factor.lanes; lane += lanes) {
    Value row = factor.alongK ? rowAt : add(rowAt, index(lane));
    Value k = factor.alongK ? add(kAt, index(lane)) : kAt;
    Value inside = below(row, size, factor.rows, Value());
    inside = below(k, sizeK, factor.depth, inside);
    auto values =
        guarded(inside, lanes, factor.type, [&]() -> FailureOr<Values> {
          auto read = readLanes(factor.operand, factor.loops, factor.alongK,
                                row, k, lanes);
          if (succeeded(read))
            for (Value &value : *read)
              value = narrow(b, value, factor.type);
          return read;
        });
    if (failed(values))
      return failure();
    llvm::append_range(all, *values);
  }
  return all;
}

LogicalResult MatrixScope::copyByRegisters(const StagedFactor &factor,
                                           Value word, Value rowAt, Value kAt,
                                           Value size) {
  auto elements = readContiguous(factor, rowAt, kAt, size);
  if (failed(elements))
    return failure();
  for (auto [i, value] :
       llvm::enumerate(packWords(b, *elements, factor.wordElements())))
    storeWord(value, add(word, index(int64_t(i))));
  return success();
}

/// What an invocation copies at once: neighbours in a line. Invocations side by
/// side copy what lies side by side in memory.
MatrixScope::UnitPlace MatrixScope::placeOfUnit(const StagedFactor &factor,
                                                Value unit) {
  int64_t inLine = factor.lineElements() / factor.lanes;
  Value line =
      factor.transposes ? rem(unit, factor.lines()) : div(unit, inLine);
  Value along =
      factor.transposes ? div(unit, factor.lines()) : rem(unit, inLine);
  return {line, mul(along, factor.lanes)};
}

Value MatrixScope::wordOfUnit(const StagedFactor &factor, Value first,
                              UnitPlace place) {
  Value word = wordOf(factor, place.line, rem(place.line, LineLoads::kLines),
                      div(place.along, factor.pieceElements()));
  return add(add(first, word), div(rem(place.along, factor.pieceElements()),
                                   factor.wordElements()));
}

MatrixPlaceValues MatrixScope::elementOfUnit(const StagedFactor &factor,
                                             Value start, Value firstK,
                                             UnitPlace place) {
  return {add(start, factor.alongK ? place.line : place.along),
          add(firstK, factor.alongK ? place.along : place.line)};
}

LogicalResult MatrixScope::copyPart(const StagedFactor &factor, Value first,
                                    Value start, Value size, Value firstK,
                                    Value unit) {
  UnitPlace place = placeOfUnit(factor, unit);
  MatrixPlaceValues at = elementOfUnit(factor, start, firstK, place);
  Value word = wordOfUnit(factor, first, place);
  if (!factor.copies)
    return copyByRegisters(factor, word, at.row, at.column, size);
  copyLine(factor, word, at.row, at.column, size);
  return success();
}

bool MatrixScope::canHold(const StagedFactor &factor) const {
  int64_t units = factor.units(), group = c.target.groupSize;
  return !factor.copies && factor.lanes == factor.pieceElements() &&
         units % group == 0 && units / group <= kMostHeld;
}

FailureOr<ContractScope::Values> MatrixScope::hold(const StagedFactor &factor,
                                                   Value start, Value size,
                                                   Value firstK) {
  Values words;
  for (int64_t i = 0; i < factor.units() / c.target.groupSize; ++i) {
    UnitPlace place = placeOfUnit(factor, heldUnit(i));
    MatrixPlaceValues at = elementOfUnit(factor, start, firstK, place);
    auto elements = readContiguous(factor, at.row, at.column, size);
    if (failed(elements))
      return failure();
    llvm::append_range(words, packWords(b, *elements, factor.wordElements()));
  }
  return words;
}

void MatrixScope::release(const StagedFactor &factor, Value first,
                          ValueRange held) {
  int64_t each = factor.lanes / factor.wordElements();
  for (auto [number, value] : llvm::enumerate(held)) {
    Value unit = heldUnit(int64_t(number) / each);
    Value word = wordOfUnit(factor, first, placeOfUnit(factor, unit));
    storeWord(value, add(word, index(int64_t(number) % each)));
  }
}

LogicalResult MatrixScope::fill(const StagedFactor &factor, Value first,
                                Value start, Value size, Value firstK) {
  int64_t units = factor.units(), group = c.target.groupSize;
  OpBuilder::InsertionGuard guard(b);
  Value unit = thread;
  if (units < group) {
    Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, thread,
                                      index(units));
    auto branch = scf::IfOp::create(b, has);
    b.setInsertionPointToStart(branch.thenBlock());
  } else if (units > group) {
    auto loop = scf::ForOp::create(b, index(0), index(units / group), index(1));
    b.setInsertionPoint(loop.getBody()->getTerminator());
    unit = add(thread, mul(loop.getInductionVar(), group));
  }
  return copyPart(factor, first, start, size, firstK, unit);
}

} // namespace backplane
