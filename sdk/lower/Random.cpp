// SPDX-License-Identifier: Apache-2.0
//
// random_bits: each element computes the block of four words that it is part
// of, in products of 32 by 32 bits as 64-bit integers.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

using namespace bp;
using namespace bp::lower;

namespace {

/// Words are i64 below 2^32.
class Philox {
public:
  explicit Philox(ImplicitLocOpBuilder &b)
      : b(b), mask(constant(0xFFFFFFFF)), width(constant(32)) {}

  /// One word of the block: all ten rounds, then a choice.
  Value word(Value element, Value key, Value counter) {
    Value block = arith::ShRUIOp::create(b, element, constant(2));
    words = {low(block), high(block), low(counter), high(counter)};
    std::array<Value, 2> keys = {low(key), high(key)};
    for (int64_t round = 0; round < 10; ++round)
      mix(plus(keys[0], round * 0x9E3779B9), plus(keys[1], round * 0xBB67AE85));
    Value result = words[3];
    Value lane = arith::AndIOp::create(b, element, constant(3));
    for (int64_t i = 2; i >= 0; --i) {
      Value isIt =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, constant(i));
      result = arith::SelectOp::create(b, isIt, words[size_t(i)], result);
    }
    return arith::TruncIOp::create(b, b.getI32Type(), result);
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  Value low(Value value) { return arith::AndIOp::create(b, value, mask); }
  Value high(Value value) { return arith::ShRUIOp::create(b, value, width); }
  Value plus(Value key, int64_t step) {
    return low(arith::AddIOp::create(b, key, constant(step)));
  }

  void mix(Value lowKey, Value highKey) {
    Value first = arith::MulIOp::create(b, words[0], constant(0xD2511F53));
    Value second = arith::MulIOp::create(b, words[2], constant(0xCD9E8D57));
    auto put = [&](Value product, Value word, Value key) -> Value {
      Value mixed = arith::XOrIOp::create(b, high(product), word);
      return arith::XOrIOp::create(b, mixed, key);
    };
    words = {put(second, words[1], lowKey), low(second),
             put(first, words[3], highKey), low(first)};
  }

  ImplicitLocOpBuilder &b;
  Value mask, width;
  std::array<Value, 4> words;
};

} // namespace

LogicalResult lower::lowerRandomBits(Lowering &lowering, RandomBitsOp op) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type type = op.getResult().getType();
  std::vector<backplane::Dim> dims = dimsOf(type);
  std::vector<backplane::Dim> flat = {backplane::product(dims)};
  Sizes sizes = lowering.sizes(DimsAttr::get(op.getContext(), flat));
  auto everywhere = [&](Value operand) {
    View view = lowering.plainView(operand);
    if (!view.isScalar())
      view.map = AffineMap::get(1, 0, builder.getContext());
    return view;
  };
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    Value index = linalg::IndexOp::create(inner, 0);
    Value element =
        arith::IndexCastOp::create(inner, inner.getI64Type(), index);
    return SmallVector<Value>{Philox(inner).word(element, args[0], args[1])};
  };
  Value bits =
      lowering.parallel({everywhere(op.getKey()), everywhere(op.getCounter())},
                        lowering.empty(sizes, elementOf(type).storage), body);
  lowering.setTensor(op.getResult(),
                     lowering.reshape(bits, flat, dims, lowering.sizes(type)));
  return success();
}
