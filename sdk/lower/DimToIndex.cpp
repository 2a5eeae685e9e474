// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/DimToIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bp;

namespace {

enum class Operator {
  Add,
  Sub,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  TruncDiv,
  Less,
  Equal
};

bool divides(Operator kind) {
  return kind == Operator::FloorDiv || kind == Operator::CeilDiv ||
         kind == Operator::Mod || kind == Operator::TruncDiv;
}

/// Deeper nesting than Dim::parse takes is refused, not followed.
constexpr unsigned maxDepth = 256;

/// Reads the text by recursive descent and builds as it goes.
class DimTextReader {
public:
  DimTextReader(OpBuilder &builder, Location loc, StringRef text,
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
    if (rest.starts_with("<")) // as Dim writes what it cannot hold
      return complain("does not fit 64 bits, or is too complex");
    if (name.empty())
      return complain("a number, symbol or ( must stand at \"" + rest + "\"");
    if (llvm::isDigit(name.front()))
      return number(name);
    auto call = llvm::StringSwitch<std::optional<Operator>>(name)
                    .Case("min", Operator::Min)
                    .Case("max", Operator::Max)
                    .Case("truncdiv", Operator::TruncDiv)
                    .Case("less", Operator::Less)
                    .Case("equal", Operator::Equal)
                    .Default(std::nullopt);
    if (call && consume("("))
      return readCall(*call, depth);
    if (name == "select" && consume("("))
      return readSelect(depth);
    return symbol(name);
  }

  /// Operands of a call, with what ends each of them.
  LogicalResult readOperands(MutableArrayRef<OpFoldResult> operands,
                             unsigned depth) {
    for (OpFoldResult &operand : operands) {
      FailureOr<OpFoldResult> value = readSum(depth + 1);
      if (failed(value))
        return failure();
      operand = *value;
      StringRef end = &operand == &operands.back() ? ")" : ",";
      if (!consume(end))
        return complain("missing " + end);
    }
    return success();
  }

  FailureOr<OpFoldResult> readCall(Operator kind, unsigned depth) {
    OpFoldResult operands[2];
    if (failed(readOperands(operands, depth)))
      return failure();
    return combine(kind, operands[0], operands[1]);
  }

  /// Both choices are computed, so a divisor within them is 1 where it is 0:
  /// the one that is not taken must not divide by zero.
  FailureOr<OpFoldResult> readSelect(unsigned depth) {
    OpFoldResult operands[3];
    ++selects;
    LogicalResult read = readOperands(operands, depth);
    --selects;
    if (failed(read))
      return failure();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value condition = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ne, value(operands[0]), zero);
    return getAsOpFoldResult(builder.createOrFold<arith::SelectOp>(
        loc, condition, value(operands[1]), value(operands[2])));
  }

  Value value(OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(builder, loc, number);
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
    if (divides(kind) && isConstantIntValue(b, 0))
      return complain("division by zero");
    Value x = value(a), y = value(b);
    if (divides(kind) && selects > 0)
      y = notZero(y);
    return getAsOpFoldResult(create(kind, x, y));
  }

  Value notZero(Value divisor) {
    if (getConstantIntValue(divisor))
      return divisor;
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value isZero = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, divisor, zero);
    return builder.createOrFold<arith::SelectOp>(loc, isZero, one, divisor);
  }

  /// 1 where the comparison holds, else 0.
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    Value holds = builder.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
    return builder.createOrFold<arith::IndexCastUIOp>(
        loc, builder.getIndexType(), holds);
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
    case Operator::TruncDiv:
      return builder.createOrFold<arith::DivSIOp>(loc, x, y);
    case Operator::Less:
      return compare(arith::CmpIPredicate::slt, x, y);
    case Operator::Equal:
      return compare(arith::CmpIPredicate::eq, x, y);
    }
    llvm_unreachable("all operators are listed");
  }

  OpBuilder &builder;
  Location loc;
  StringRef whole, rest;
  const llvm::StringMap<Value> &symbols;
  unsigned selects = 0; ///< that are being read
};

} // namespace

void DimToIndex::bind(StringRef symbol, Value value) {
  symbols[symbol] = value;
}

FailureOr<OpFoldResult> DimToIndex::materialize(OpBuilder &builder,
                                                Location loc,
                                                StringRef text) const {
  return DimTextReader(builder, loc, text, symbols).read();
}
