// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/DimToIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bp;

namespace {

enum class Operator { Add, Sub, Mul, FloorDiv, CeilDiv, Mod, Min, Max };

/// Deeper nesting than Dim::parse takes is refused, not followed.
constexpr unsigned maxDepth = 256;

/// Reads the text by recursive descent and builds as it goes.
class Reader {
public:
  Reader(OpBuilder &builder, Location loc, StringRef text,
         const llvm::StringMap<Value> &symbols)
      : builder(builder), loc(loc), whole(text), rest(text), symbols(symbols) {}

  FailureOr<OpFoldResult> read() {
    FailureOr<OpFoldResult> value = readSum(0);
    if (failed(value))
      return failure();
    skipSpace();
    return rest.empty() ? value : complain("unexpected \"" + rest + "\"");
  }

private:
  FailureOr<OpFoldResult> complain(const Twine &what) {
    emitError(loc) << "dim \"" << whole << "\": " << what;
    return failure();
  }

  void skipSpace() { rest = rest.ltrim(); }

  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }

  /// A name, or nothing; `peek` leaves it unread.
  StringRef word(bool peek) {
    skipSpace();
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!peek)
      rest = rest.drop_front(name.size());
    return name;
  }

  std::optional<Operator> productOperator() {
    if (consume("*"))
      return Operator::Mul;
    auto found = llvm::StringSwitch<std::optional<Operator>>(word(true))
                     .Case("floordiv", Operator::FloorDiv)
                     .Case("ceildiv", Operator::CeilDiv)
                     .Case("mod", Operator::Mod)
                     .Default(std::nullopt);
    if (found)
      word(false);
    return found;
  }

  FailureOr<OpFoldResult> readSum(unsigned depth) {
    FailureOr<OpFoldResult> left = readProduct(depth);
    while (succeeded(left)) {
      Operator kind = Operator::Add;
      if (consume("-"))
        kind = Operator::Sub;
      else if (!consume("+"))
        return left;
      FailureOr<OpFoldResult> right = readProduct(depth);
      if (failed(right))
        return failure();
      left = combine(kind, *left, *right);
    }
    return left;
  }

  FailureOr<OpFoldResult> readProduct(unsigned depth) {
    FailureOr<OpFoldResult> left = readAtom(depth);
    while (succeeded(left)) {
      std::optional<Operator> kind = productOperator();
      if (!kind)
        return left;
      FailureOr<OpFoldResult> right = readAtom(depth);
      if (failed(right))
        return failure();
      left = combine(*kind, *left, *right);
    }
    return left;
  }

  FailureOr<OpFoldResult> readAtom(unsigned depth) {
    if (depth > maxDepth)
      return complain("too deep");
    if (consume("-")) {
      FailureOr<OpFoldResult> value = readAtom(depth + 1);
      if (failed(value))
        return failure();
      return combine(Operator::Sub, builder.getIndexAttr(0), *value);
    }
    if (consume("(")) {
      FailureOr<OpFoldResult> value = readSum(depth + 1);
      if (succeeded(value) && !consume(")"))
        return complain("missing )");
      return value;
    }
    StringRef name = word(false);
    if (name.empty())
      return complain("a number, symbol or ( must stand at \"" + rest + "\"");
    if (llvm::isDigit(name.front()))
      return number(name);
    if ((name == "min" || name == "max") && consume("("))
      return readCall(name == "min" ? Operator::Min : Operator::Max, depth);
    return symbol(name);
  }

  FailureOr<OpFoldResult> readCall(Operator kind, unsigned depth) {
    FailureOr<OpFoldResult> a = readSum(depth + 1);
    if (failed(a))
      return failure();
    if (!consume(","))
      return complain("missing ,");
    FailureOr<OpFoldResult> b = readSum(depth + 1);
    if (failed(b))
      return failure();
    if (!consume(")"))
      return complain("missing )");
    return combine(kind, *a, *b);
  }

  FailureOr<OpFoldResult> number(StringRef digits) {
    int64_t value;
    if (digits.getAsInteger(10, value))
      return complain("\"" + digits + "\" is no number of 64 bits");
    return OpFoldResult(builder.getIndexAttr(value));
  }

  FailureOr<OpFoldResult> symbol(StringRef name) {
    auto found = symbols.find(name);
    if (found == symbols.end())
      return complain("symbol \"" + name + "\" is not in bp.symbols");
    return OpFoldResult(found->second);
  }

  FailureOr<OpFoldResult> combine(Operator kind, OpFoldResult a,
                                  OpFoldResult b) {
    bool divides = kind == Operator::FloorDiv || kind == Operator::CeilDiv ||
                   kind == Operator::Mod;
    if (divides && isConstantIntValue(b, 0))
      return complain("division by zero");
    Value x = getValueOrCreateConstantIndexOp(builder, loc, a);
    Value y = getValueOrCreateConstantIndexOp(builder, loc, b);
    return getAsOpFoldResult(create(kind, x, y));
  }

  Value create(Operator kind, Value x, Value y) {
    switch (kind) {
    case Operator::Add:
      return builder.createOrFold<arith::AddIOp>(loc, x, y);
    case Operator::Sub:
      return builder.createOrFold<arith::SubIOp>(loc, x, y);
    case Operator::Mul:
      return builder.createOrFold<arith::MulIOp>(loc, x, y);
    case Operator::FloorDiv:
      return builder.createOrFold<arith::FloorDivSIOp>(loc, x, y);
    case Operator::CeilDiv:
      return builder.createOrFold<arith::CeilDivSIOp>(loc, x, y);
    case Operator::Mod: {
      Value quotient = builder.createOrFold<arith::FloorDivSIOp>(loc, x, y);
      Value multiple = builder.createOrFold<arith::MulIOp>(loc, quotient, y);
      return builder.createOrFold<arith::SubIOp>(loc, x, multiple);
    }
    case Operator::Min:
      return builder.createOrFold<arith::MinSIOp>(loc, x, y);
    case Operator::Max:
      return builder.createOrFold<arith::MaxSIOp>(loc, x, y);
    }
    llvm_unreachable("all operators are listed");
  }

  OpBuilder &builder;
  Location loc;
  StringRef whole, rest;
  const llvm::StringMap<Value> &symbols;
};

} // namespace

void DimToIndex::bind(StringRef symbol, Value value) {
  symbols[symbol] = value;
}

FailureOr<OpFoldResult> DimToIndex::materialize(OpBuilder &builder,
                                                Location loc,
                                                StringRef text) const {
  return Reader(builder, loc, text, symbols).read();
}
