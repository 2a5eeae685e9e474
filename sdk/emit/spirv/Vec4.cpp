// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/Vec4.h"
#include "sdk/dialect/Attributes.h"

#include "sdk/emit/gpu/Contiguous.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <array>
#include <map>

using namespace mlir;
using namespace backplane;

namespace {

/// How far an index is followed to what it is computed from.
constexpr unsigned kMostDepth = 16;

/// An index as a sum of multiples of values, and a number.
struct Place {
  std::map<void *, uint64_t> terms;
  uint64_t rest = 0;

  void add(Value value, uint64_t factor, unsigned depth);
};

/// The accesses of one vec4 that were met so far.
struct Vec4 {
  Value buffer;
  Place start; ///< of its first element
  std::array<Operation *, kVec4> lanes{};
  Operation *first = nullptr; ///< in the order of the code

  bool isWhole() const { return !llvm::is_contained(lanes, nullptr); }
};

using Vec4s = SmallVector<Vec4>;

class Merger {
public:
  Merger(func::FuncOp func, bool halves)
      : func_(func), b_(func.getLoc(), func.getContext()), halves_(halves) {}

  void run(Block &block);

private:
  void visit(Operation &op);
  void noteLoad(memref::LoadOp load);
  void noteStore(memref::StoreOp store);
  std::optional<Place> indexInVec4(Value buffer, Value index);
  void finishLoads();
  void finishStores();
  Value vectors(Value buffer);
  Value quarter(Value value, unsigned depth);
  Value number(Operation *access);

  func::FuncOp func_;
  ImplicitLocOpBuilder b_;
  bool halves_;
  Vec4s loads_, stores_;
  llvm::DenseMap<Value, Value> vectors_;
};

} // namespace

void Place::add(Value value, uint64_t factor, unsigned depth) {
  llvm::APInt known;
  if (matchPattern(value, m_ConstantInt(&known))) {
    rest += factor * uint64_t(known.getSExtValue());
    return;
  }
  Operation *op = depth < kMostDepth ? value.getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::AddIOp>(op)) {
    add(op->getOperand(0), factor, depth + 1);
    return add(op->getOperand(1), factor, depth + 1);
  }
  if (isa_and_nonnull<arith::SubIOp>(op)) {
    add(op->getOperand(0), factor, depth + 1);
    return add(op->getOperand(1), 0 - factor, depth + 1);
  }
  if (isa_and_nonnull<arith::MulIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&known)))
    return add(op->getOperand(0), factor * uint64_t(known.getSExtValue()),
               depth + 1);
  uint64_t &count = terms[value.getAsOpaquePointer()];
  count += factor;
  if (count == 0)
    terms.erase(value.getAsOpaquePointer());
}

/// The largest of 1, 2 and 4 that divides a number. It does so modulo every
/// power of two, too.
static uint64_t divisorOf(uint64_t number) {
  return number % 4 == 0 ? 4 : number % 2 == 0 ? 2 : 1;
}

static uint64_t divisorOf(Value value, unsigned depth = 0) {
  llvm::APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return divisorOf(uint64_t(known.getSExtValue()));
  if (depth == kMostDepth)
    return 1;
  auto of = [&](Value part) { return divisorOf(part, depth + 1); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar()
               ? std::min(of(loop.getLowerBound()), of(loop.getStep()))
               : 1;
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::RemSIOp>(op))
    return std::min(of(op->getOperand(0)), of(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return divisorOf(of(op->getOperand(0)) * of(op->getOperand(1)));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return std::min(of(select.getTrueValue()), of(select.getFalseValue()));
  return 1;
}

static bool startsVec4(const Place &place) {
  return llvm::all_of(place.terms, [](const auto &term) {
    Value value = Value::getFromOpaquePointer(term.first);
    return divisorOf(divisorOf(value) * divisorOf(term.second)) == kVec4;
  });
}

/// A storage buffer of elements that vectors of four are made of.
static bool hasVec4(Value buffer, bool halves) {
  auto type = cast<MemRefType>(buffer.getType());
  return isa<BlockArgument>(buffer) && type.getRank() == 1 &&
         type.isDynamicDim(0) &&
         (type.getElementType().isF32() ||
          type.getElementType().isInteger(32) ||
          (halves && type.getElementType().isInteger(16)));
}

/// Memory that other invocations, or other bindings, may have as well.
static bool isStorage(Value buffer) { return isa<BlockArgument>(buffer); }

/// Whether an op, or one within it, may write to storage or waits for others.
static bool mayWrite(Operation &op) {
  return op
      .walk([](Operation *inner) {
        auto store = dyn_cast<memref::StoreOp>(inner);
        bool writes = store && isStorage(store.getMemRef());
        return writes || isa<gpu::BarrierOp>(inner) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool mayRead(Operation &op) {
  return op
      .walk([](memref::LoadOp load) {
        return isStorage(load.getMemRef()) ? WalkResult::interrupt()
                                           : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The argument that has the same binding as vectors of four.
Value Merger::vectors(Value buffer) {
  Value &found = vectors_[buffer];
  if (found)
    return found;
  auto type = cast<MemRefType>(buffer.getType());
  auto vector = VectorType::get({kVec4}, type.getElementType());
  Block &entry = func_.front();
  found = entry.addArgument(MemRefType::get({ShapedType::kDynamic}, vector),
                            buffer.getLoc());
  func_.setType(b_.getFunctionType(entry.getArgumentTypes(), {}));
  func_.setArgAttr(entry.getNumArguments() - 1, bp::bindingAttr,
                   func_.getArgAttr(cast<BlockArgument>(buffer).getArgNumber(),
                                    bp::bindingAttr));
  return found;
}

/// A quarter of a multiple of four.
Value Merger::quarter(Value value, unsigned depth) {
  llvm::APInt known;
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b_, number);
  };
  if (matchPattern(value, m_ConstantInt(&known)))
    return index(known.getSExtValue() / kVec4);
  Operation *op = depth < kMostDepth ? value.getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::MulIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&known)) &&
      isOfVec4(known.getSExtValue()))
    return b_.createOrFold<arith::MulIOp>(op->getOperand(0),
                                          index(known.getSExtValue() / kVec4));
  if (isa_and_nonnull<arith::AddIOp>(op) &&
      divisorOf(op->getOperand(0)) == kVec4 &&
      divisorOf(op->getOperand(1)) == kVec4)
    return b_.createOrFold<arith::AddIOp>(
        quarter(op->getOperand(0), depth + 1),
        quarter(op->getOperand(1), depth + 1));
  return arith::ShRSIOp::create(b_, value, index(2));
}

/// The number of the vector that a vec4 is. Its first element may have a place
/// that is a sum of what is no multiple of four.
Value Merger::number(Operation *access) {
  auto load = dyn_cast<memref::LoadOp>(access);
  Value index = load ? load.getIndices().front()
                     : cast<memref::StoreOp>(access).getIndices().front();
  return quarter(index, 0);
}

void Merger::finishLoads() {
  for (Vec4 &vec4 : loads_) {
    if (!vec4.isWhole())
      continue;
    b_.setInsertionPoint(vec4.first);
    b_.setLoc(vec4.first->getLoc());
    Value all =
        memref::LoadOp::create(b_, vectors(vec4.buffer), number(vec4.first));
    for (auto [lane, load] : llvm::enumerate(vec4.lanes)) {
      Value part = spirv::CompositeExtractOp::create(b_, all, {int32_t(lane)});
      load->getResult(0).replaceAllUsesWith(part);
    }
    for (Operation *load : vec4.lanes)
      load->erase();
  }
  loads_.clear();
}

void Merger::finishStores() {
  for (Vec4 &vec4 : stores_) {
    if (!vec4.isWhole())
      continue;
    Operation *last = vec4.first;
    SmallVector<Value> parts;
    for (Operation *store : vec4.lanes) {
      last = last->isBeforeInBlock(store) ? store : last;
      parts.push_back(cast<memref::StoreOp>(store).getValue());
    }
    b_.setInsertionPoint(last);
    b_.setLoc(last->getLoc());
    auto type = VectorType::get({kVec4}, parts.front().getType());
    Value all = spirv::CompositeConstructOp::create(b_, type, parts);
    memref::StoreOp::create(b_, all, vectors(vec4.buffer),
                            number(vec4.lanes[0]));
    for (Operation *store : vec4.lanes)
      store->erase();
  }
  stores_.clear();
}

/// The place of an element of a line of vec4; none when it may lie anywhere
/// in one.
std::optional<Place> Merger::indexInVec4(Value buffer, Value index) {
  Place place;
  place.add(index, 1, 0);
  if (!hasVec4(buffer, halves_) || !startsVec4(place))
    return std::nullopt;
  return place;
}

/// The vec4 that a place lies in.
static Vec4 &vec4Of(Vec4s &vec4, Value buffer, Place place) {
  place.rest -= place.rest % kVec4;
  auto found = llvm::find_if(vec4, [&](const Vec4 &vec4) {
    return vec4.buffer == buffer && vec4.start.rest == place.rest &&
           vec4.start.terms == place.terms;
  });
  return found != vec4.end() ? *found : vec4.emplace_back(Vec4{buffer, place});
}

void Merger::noteLoad(memref::LoadOp load) {
  auto place = indexInVec4(load.getMemRef(), load.getIndices().front());
  if (!place)
    return;
  Vec4 &vec4 = vec4Of(loads_, load.getMemRef(), *place);
  Operation *&lane = vec4.lanes[place->rest % kVec4];
  if (!lane)
    lane = load;
  if (!vec4.first)
    vec4.first = load;
}

/// Two stores to one buffer that are apart by anything but a number may be to
/// the same place.
void Merger::noteStore(memref::StoreOp store) {
  auto place = indexInVec4(store.getMemRef(), store.getIndices().front());
  bool apart = place && llvm::all_of(stores_, [&](const Vec4 &vec4) {
                 return vec4.buffer != store.getMemRef() ||
                        vec4.start.terms == place->terms;
               });
  if (!apart)
    finishStores();
  if (!place)
    return;
  Vec4 *vec4 = &vec4Of(stores_, store.getMemRef(), *place);
  if (vec4->lanes[place->rest % kVec4]) {
    finishStores();
    vec4 = &vec4Of(stores_, store.getMemRef(), *place);
  }
  vec4->lanes[place->rest % kVec4] = store;
  if (!vec4->first)
    vec4->first = store;
}

/// Loads move up to the first of their vec4, so no write may lie in between;
/// stores move down to the last, so nothing but stores to other places may.
void Merger::visit(Operation &op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  auto store = dyn_cast<memref::StoreOp>(op);
  if (mayRead(op))
    finishStores();
  if (mayWrite(op))
    finishLoads();
  if (load && isStorage(load.getMemRef()))
    noteLoad(load);
  else if (store && isStorage(store.getMemRef()))
    noteStore(store);
  else if (mayWrite(op))
    finishStores();
}

void Merger::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(op);
  finishLoads();
  finishStores();
}

void backplane::mergeVec4(func::FuncOp func, bool halves) {
  SmallVector<Block *> blocks;
  func.walk([&](Block *block) { blocks.push_back(block); });
  Merger merger(func, halves);
  for (Block *block : blocks)
    merger.run(*block);
}

namespace {

/// A vec4's first element and the number of one of its elements in it.
struct Lane {
  Value first, number;
};

/// None unless the value is such an element, and the size of whole vec4.
std::optional<Lane> findLane(Value value, Value size) {
  auto sum = value.getDefiningOp<arith::AddIOp>();
  llvm::APInt number;
  if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&number)) ||
      !number.ult(kVec4) || divisorOf(size) != kVec4 ||
      divisorOf(sum.getLhs()) != kVec4)
    return std::nullopt;
  return Lane{sum.getLhs(), sum.getRhs()};
}

LogicalResult divideLane(arith::DivUIOp op, PatternRewriter &rewriter) {
  auto lane = findLane(op.getLhs(), op.getRhs());
  if (!lane)
    return failure();
  rewriter.replaceOpWithNewOp<arith::DivUIOp>(op, lane->first, op.getRhs());
  return success();
}

LogicalResult restOfLane(arith::RemUIOp op, PatternRewriter &rewriter) {
  auto lane = findLane(op.getLhs(), op.getRhs());
  if (!lane)
    return failure();
  Value rest =
      arith::RemUIOp::create(rewriter, op.getLoc(), lane->first, op.getRhs());
  rewriter.replaceOpWithNewOp<arith::AddIOp>(op, rest, lane->number);
  return success();
}

} // namespace

void backplane::addVec4Patterns(RewritePatternSet &patterns) {
  patterns.add(divideLane).add(restOfLane);
}
