// SPDX-License-Identifier: Apache-2.0
//
// Units of elementwise ops: every dtype, one symbolic axis, all special values
// and all of their pairs, and every bit pattern of the narrow types.
#include "CaseBuilder.h"
#include "Data.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <map>

namespace backplane::conformance {

namespace {

/// Smoke for few of the many units of compare and cast.
Depth firstDepth(const std::string &op, DType dtype,
                 const Attributes &attributes) {
  if (op == "compare")
    return smokeOf(dtype);
  if (op != "cast")
    return Depth::Smoke;
  auto to = DType(std::get<int64_t>(attributes.at("dtype")));
  return isFloat(dtype) && isFloat(to) ? Depth::Smoke
                                       : std::min(smokeOf(dtype), smokeOf(to));
}

void addOwnCases(CaseBuilder &builder, const std::string &op, DType dtype,
                 Depth first) {
  if ((op == "div" || op == "rem") && !isFloat(dtype))
    builder.addErrors(smokeOf(dtype), {{"n", 17}});
  if (op == "cast" || op == "round_even")
    builder.addCase(first, "ties", {{"n", 1021}});
  if (op == "cast" && bitWidth(dtype) > 16) // others have all patterns
    builder.addCase(Depth::Standard, "bits", {{"n", 32771}});
  if (op == "sin" || op == "cos" || op == "tan")
    builder.addCase(first, "pi", {{"n", 1021}});
}

void addCases(CaseBuilder &builder, DType dtype, size_t inputs, Depth first) {
  auto specials = static_cast<int64_t>(specialBits(dtype).size());
  builder.addCase(first, "special",
                  {{"n", inputs == 2 ? specials * specials : specials}});
  for (int64_t n : {0, 1, 7, 15, 17, 31, 33, 63, 65, 127, 257, 1021})
    builder.addCase(Depth::Standard, "uniform", {{"n", n}});
  builder.addCase(Depth::Standard, "bits", {{"n", 4099}});
  unsigned patterns = bitWidth(dtype) * static_cast<unsigned>(inputs);
  if (patterns <= 16 && dtype != DType::Bool)
    builder.addCase(Depth::Standard, "exhaustive",
                    {{"n", int64_t(1) << patterns}});
}

/// Adds what goes wrong with one pair of dtypes.
void addCastTags(DType from, DType to, std::vector<std::string> &tags) {
  auto isF8 = [](DType dtype) {
    return isFloat(dtype) && bitWidth(dtype) <= 8;
  };
  auto digits = [](DType dtype) {
    return isFloat(dtype) ? formatOf(dtype).precision
                          : static_cast<int>(bitWidth(dtype));
  };
  if (isFloat(to) && from != DType::Bool && digits(from) > digits(to))
    tags.emplace_back("cast-rounding");
  if (!isFloat(to))
    tags.emplace_back("wrap");
  if (isF8(to))
    tags.emplace_back("f8-overflow");
  if (isF8(from) || isF8(to))
    tags.emplace_back("f8-format");
}

/// What goes wrong with an op, beside tails.
std::vector<std::string> tagsOf(const std::string &op, DType dtype) {
  std::vector<std::string> tags = {"tail", "zero-size"};
  if (isFloat(dtype))
    tags.insert(tags.end(), {"nan", "negative-zero", "ftz"});
  else if (dtype != DType::Bool)
    tags.insert(tags.end(), {"wrap", "integer-sign"});
  if (bitWidth(dtype) == 4)
    tags.emplace_back("nibbles");
  static const std::multimap<std::string, std::string> own = {
      {"round_even", "half-away"},
      {"div", "reciprocal"},
      {"recip", "reciprocal"},
      {"log1p", "log1p"},
      {"softplus", "log1p"},
      {"sin", "range-reduction"},
      {"cos", "range-reduction"},
      {"tan", "range-reduction"},
      {"gelu", "gelu"},
      {"exp", "bias"},
      {"log", "bias"},
      {"tanh", "bias"},
      {"erf", "bias"},
      {"sqrt", "bias"}};
  for (auto [at, end] = own.equal_range(op); at != end; ++at)
    tags.push_back(at->second);
  return tags;
}

void makeUnit(const Sink &sink, const std::string &op, DType dtype,
              size_t inputs, const std::string &variant,
              const Attributes &attributes) {
  std::vector<std::string> tags = tagsOf(op, dtype);
  if (op == "cast")
    addCastTags(dtype, DType(std::get<int64_t>(attributes.at("dtype"))), tags);
  CaseBuilder builder(sink, op, dtype, variant, std::move(tags));
  Dim n = builder.symbol("n");
  std::vector<ValueId> operands;
  for (size_t i = 0; i < inputs; ++i) {
    InputRule rule;
    if (i == 1 && (op == "div" || op == "rem"))
      rule.kind = InputRule::Kind::Divisor;
    operands.push_back(builder.input(dtype, {n}, rule));
  }
  builder.output(builder.add(op, operands, attributes));
  Depth first = firstDepth(op, dtype, attributes);
  addCases(builder, dtype, inputs, first);
  addOwnCases(builder, op, dtype, first);
  builder.finish();
}

void makePlain(const Sink &sink) {
  for (const char *op :
       {"neg",          "abs",        "sign",     "floor",      "ceil",
        "round_even",   "trunc",      "not",      "is_nan",     "is_inf",
        "sqrt",         "rsqrt",      "recip",    "exp",        "log",
        "log1p",        "expm1",      "sin",      "cos",        "tan",
        "atan",         "tanh",       "erf",      "relu",       "sigmoid",
        "silu",         "hard_swish", "softplus", "leaky_relu", "elu",
        "hard_sigmoid", "gelu",       "asin",     "acos",       "sinh",
        "cosh",         "asinh",      "acosh",    "atanh",      "softsign",
        "mish"})
    for (DType dtype : dtypesOf(op))
      makeUnit(sink, op, dtype, 1, "n", {});
  for (const char *op : {"add", "sub", "mul", "min", "max", "div", "rem", "pow",
                         "and", "or", "xor", "shl", "shr"})
    for (DType dtype : dtypesOf(op))
      makeUnit(sink, op, dtype, 2, "n", {});
}

} // namespace

void makeElementwise(const Sink &sink) {
  makePlain(sink);
  for (DType dtype : dtypesOf("compare"))
    for (const char *direction : {"eq", "ne", "lt", "le", "gt", "ge"})
      makeUnit(sink, "compare", dtype, 2, direction,
               {{"direction", std::string(direction)}});
  for (DType from : dtypesOf("cast"))
    for (DType to : dtypesOf("cast"))
      makeUnit(sink, "cast", from, 1, "to-" + std::string(name(to)),
               {{"dtype", static_cast<int64_t>(to)}});
}

} // namespace backplane::conformance
