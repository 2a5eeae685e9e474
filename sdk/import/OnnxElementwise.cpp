// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic, comparison, logic, conversion: ops on each element.
#include "OnnxHandlers.h"

#include <cmath>

namespace backplane::frontend {

namespace {

/// Logical ops take bool; the same ops of the graph take integers as well.
void requireBool(Node &node) {
  for (size_t i = 0; i < node.inputCount(); ++i)
    if (node.inputType(i).dtype != DType::Bool)
      node.reject("it needs bool operands, found " + node.inputType(i).str());
}

bool isLogical(const Node &node) {
  return node.opType() == "And" || node.opType() == "Or" ||
         node.opType() == "Xor" || node.opType() == "Not";
}

/// The result at import, when both operands are known; else the op.
void knownOrOp(Node &node, std::string_view knownOp, ValueId (*emit)(Node &)) {
  if (node.known(0) && node.known(1))
    if (auto result = knownBinary(knownOp, *node.known(0), *node.known(1)))
      return node.out(0, *result);
  node.out(0, emit(node));
}

} // namespace

void onnxUnary(Node &node) {
  if (isLogical(node))
    requireBool(node);
  if (node.known(0))
    if (auto result = knownUnary(node.target(), *node.known(0)))
      return node.out(0, *result);
  node.out(0, node.op(node.target(), {node.value(0)}));
}

void onnxBinary(Node &node) {
  if (isLogical(node))
    requireBool(node);
  knownOrOp(node, node.target(), [](Node &n) {
    return n.binary(n.target(), n.value(0), n.value(1));
  });
}

void onnxVariadic(Node &node) {
  bool mean = node.opType() == "Mean";
  if (node.inputCount() == 1)
    return node.outSame(0, 0);
  std::optional<Known> folded;
  if (!mean && node.known(0))
    folded = *node.known(0);
  for (size_t i = 1; folded && i < node.inputCount(); ++i)
    folded = node.known(i) ? knownBinary(node.target(), *folded, *node.known(i))
                           : std::nullopt;
  if (folded)
    return node.out(0, *folded);
  if (mean || (node.target() == "add" && node.inputCount() > 2))
    node.roundOnce();
  ValueId result = node.value(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    result = node.binary(node.target(), result, node.value(i));
  if (mean)
    result = node.op(
        "div", {result,
                node.fillLike(result, static_cast<double>(node.inputCount()))});
  node.out(0, result);
}

void onnxCompare(Node &node) {
  knownOrOp(node, node.target(), [](Node &n) {
    auto both = n.broadcastAll(std::vector{n.value(0), n.value(1)});
    return n.compare(n.target(), both[0], both[1]);
  });
}

void onnxWhere(Node &node) {
  if (node.inputType(0).dtype != DType::Bool)
    node.reject("its condition is " + node.inputType(0).str() +
                ", but must be bool");
  if (node.known(0) && node.known(1) && node.known(2))
    if (auto result =
            knownSelect(*node.known(0), *node.known(1), *node.known(2)))
      return node.out(0, *result);
  node.out(0, node.op("select", node.broadcastAll(node.values())));
}

/// An integer to a power that is a number, by squaring.
static ValueId integerPower(Node &node, ValueId x, int64_t exponent) {
  std::optional<ValueId> result;
  for (ValueId square = x; exponent > 0; exponent /= 2) {
    if (exponent % 2)
      result = result ? node.op("mul", {*result, square}) : square;
    if (exponent > 1)
      square = node.op("mul", {square, square});
  }
  return result ? *result : node.fillLike(x, 1);
}

/// The exponent may have another dtype; the result has that of the base.
void onnxPow(Node &node) {
  DType base = node.inputType(0).dtype, exponent = node.inputType(1).dtype;
  std::optional<double> constant = node.constantNumber(1);
  ValueId x = node.value(0);
  if (!isFloat(base)) {
    bool known = constant && *constant >= 0 && *constant <= 64 &&
                 std::trunc(*constant) == *constant;
    if (!known)
      return node.refuse("an integer base needs a constant exponent, a whole "
                         "number from 0 to 64");
    return *constant == 1
               ? node.outSame(0, 0)
               : node.out(0, integerPower(node, x, int64_t(*constant)));
  }
  bool exact = exponent == base || (constant && std::fabs(*constant) <= 2048) ||
               (base == DType::F64 && exponent == DType::F32);
  if (!exact)
    return node.refuse("an exponent of " + node.inputType(1).str() +
                       " with a base of " + node.inputType(0).str() +
                       " must be a constant of at most 2048");
  // A constant such as 0.1 in f32 may not be exact in a narrower base.
  if (exponent != base && isFloat(exponent) &&
      bitWidth(exponent) >= bitWidth(base) &&
      std::trunc(*constant) != *constant)
    return node.refuse("an exponent of " + node.inputType(1).str() +
                       " with a base of " + node.inputType(0).str() +
                       " must be an integer");
  node.out(0, node.binary("pow", x, node.cast(node.value(1), base)));
}

/// fmod 0: the sign of the divisor; fmod 1: the sign of the dividend.
void onnxMod(Node &node) {
  bool truncated = node.flag("fmod", false);
  DType dtype = node.inputType(0).dtype;
  if (node.known(0) && node.known(1))
    if (auto result = knownBinary(truncated ? "rem" : "mod", *node.known(0),
                                  *node.known(1)))
      return node.out(0, *result);
  auto both = node.broadcastAll(std::vector{node.value(0), node.value(1)});
  ValueId rest = node.op("rem", both);
  if (truncated || isUnsignedInteger(dtype))
    return node.out(0, rest);
  ValueId zero = node.fillLike(rest, 0);
  ValueId signs = node.op("xor", {node.compare("lt", rest, zero),
                                  node.compare("lt", both[1], zero)});
  ValueId wrong = node.op("and", {signs, node.compare("ne", rest, zero)});
  node.out(0,
           node.op("select", {wrong, node.op("add", {rest, both[1]}), rest}));
}

namespace {

/// What is out of range wraps, as in the node tests of ONNX; `cast` saturates
/// floats, and wraps integers.
ValueId castToNibble(Node &node, ValueId value, DType to) {
  if (node.ok() && isFloat(node.type(value).dtype))
    value = node.cast(value, DType::I32);
  return node.cast(value, to);
}

void castTo(Node &node, DType to) {
  if (to == node.inputType(0).dtype)
    return node.outSame(0, 0);
  if (isStoredFloat(to))
    return node.out(0, castToStored(node, node.value(0), to));
  if (bitWidth(to) == 4)
    return node.out(0, castToNibble(node, node.value(0), to));
  if (node.known(0))
    if (auto result = knownCast(*node.known(0), to))
      return node.out(0, *result);
  node.out(0, node.cast(node.value(0), to));
}

} // namespace

void onnxCast(Node &node) {
  if (!node.hasAttribute("to"))
    return node.reject("attribute 'to' is missing");
  DType to = node.dtype("to", DType::Invalid);
  if (node.ok())
    castTo(node, to);
}

void onnxCastLike(Node &node) { castTo(node, node.inputType(1).dtype); }

void onnxSign(Node &node) {
  ValueId x = node.value(0);
  DType dtype = node.type(x).dtype;
  if (isFloat(dtype))
    return node.out(0, node.op("sign", {x}));
  ValueId zero = node.fillLike(x, 0);
  ValueId above = node.cast(node.compare("gt", x, zero), dtype);
  ValueId below = node.cast(node.compare("lt", x, zero), dtype);
  node.out(0, node.op("sub", {above, below}));
}

void onnxIsInf(Node &node) {
  bool negative = node.flag("detect_negative", true);
  bool positive = node.flag("detect_positive", true);
  ValueId x = node.value(0);
  ValueId infinite = node.op("is_inf", {x});
  if (negative != positive)
    infinite = node.op("and", {infinite, node.compare(positive ? "gt" : "lt", x,
                                                      node.fillLike(x, 0))});
  if (!negative && !positive)
    infinite = node.fillLike(infinite, 0);
  node.out(0, infinite);
}

void onnxIdentity(Node &node) { node.outSame(0, 0); }

} // namespace backplane::frontend
