// SPDX-License-Identifier: Apache-2.0
//
// KernelParse.cpp: the body of the text of a kernel.
#include "sdk/kernels/KernelParser.h"

#include "backplane/kernel.h"
#include "sdk/support/Joined.h"

#include <algorithm>

namespace backplane::syntax {

namespace {

constexpr size_t maxBindings = 64;
constexpr size_t maxOps = 256;

} // namespace

void Parser::symbols() {
  do {
    Offset at = offset();
    std::string name = word("a name");
    if (!ok())
      return;
    if (!Dim::isSymbolName(name))
      return fail(at, quoted(name) + " cannot name a symbol");
    if (isNameTaken(name))
      return fail(at, "the name " + quoted(name) + " is taken");
    if (kernel_.symbols.size() == BP_MAX_CONSTANTS)
      return fail(at, "expected at most " + std::to_string(BP_MAX_CONSTANTS) +
                          " symbols");
    kernel_.symbols.push_back(std::move(name));
  } while (take(","));
}

size_t Parser::define(const std::string &name, Offset at, bool isInput) {
  for (const Value &value : kernel_.values)
    if (value.name == name)
      fail(at, "%" + name + " is defined twice");
  kernel_.values.push_back({name, at, isInput});
  return kernel_.values.size() - 1;
}

size_t Parser::use() {
  Offset at = offset();
  expect("%");
  std::string name = word("a name");
  for (size_t i = 0; ok() && i < kernel_.values.size(); ++i)
    if (kernel_.values[i].name == name) {
      kernel_.values[i].isUsed = true;
      return i;
    }
  fail(at, "%" + name + " is not defined before this");
  return 0;
}

void Parser::input(const std::string &name, Offset at, bool isOptional) {
  if (kernel_.inputs.size() == maxBindings)
    fail(at, "expected at most " + std::to_string(maxBindings) + " inputs");
  if (!kernel_.ops.empty())
    fail(at, "expected inputs before ops");
  Input input{.isOptional = isOptional, .dtype = dtype(), .dims = dims()};
  input.layout = layout();
  input.value = define(name, at, true);
  kernel_.inputs.push_back(std::move(input));
}

/// Reads the name of a variable of values, if it comes next.
std::optional<size_t> Parser::takeVariable() {
  std::string_view name = peekWord();
  for (size_t i = 0; i < kernel_.variables.size(); ++i)
    if (kernel_.variables[i].name == name) {
      word("a name");
      kernel_.variables[i].isUsed = true;
      return i;
    }
  return std::nullopt;
}

std::optional<Layout> Parser::layout() {
  if (!take("layout"))
    return std::nullopt;
  Offset at = offset();
  auto variable = takeVariable();
  if (!variable)
    fail(at, "expected a variable of orders of axes, found " + found());
  return Layout{at, variable.value_or(0)};
}

std::vector<double> Parser::numbers() {
  std::vector<double> numbers;
  if (!take("["))
    return {number()};
  while (ok() && !take("]")) {
    if (!numbers.empty())
      expect(",");
    if (numbers.size() == maxNumbers)
      fail(offset(),
           "expected at most " + std::to_string(maxNumbers) + " numbers");
    numbers.push_back(number());
  }
  return numbers;
}

static bool holds(AttributeKind kind, const Attribute &value) {
  switch (kind) {
  case AttributeKind::I64:
  case AttributeKind::Bool:
    return std::holds_alternative<int64_t>(value);
  case AttributeKind::String:
    return std::holds_alternative<std::string>(value);
  case AttributeKind::I64s:
    return std::holds_alternative<std::vector<int64_t>>(value);
  default:
    return false;
  }
}

void Parser::value(const AttributeSpec &spec, AttributeText &attribute) {
  Offset at = offset();
  if (auto variable = takeVariable()) {
    const ValueVariable &values = kernel_.variables[*variable];
    if (!holds(spec.kind, values.choices[0]))
      fail(at, values.name + " has no values that " + std::string(spec.name) +
                   " may have");
    attribute.value = ValueName{*variable};
    return;
  }
  switch (spec.kind) {
  case AttributeKind::I64:
    attribute.value = Attribute(integer());
    return;
  case AttributeKind::Bool:
    attribute.value = Attribute(int64_t(boolean()));
    return;
  case AttributeKind::DType:
    attribute.value = dtype();
    return;
  case AttributeKind::F64:
    attribute.value = Attribute(number());
    return;
  case AttributeKind::String:
    attribute.value = Attribute(string());
    return;
  case AttributeKind::I64s:
    attribute.value = Attribute(integers(maxNumbers));
    return;
  case AttributeKind::Dims:
    attribute.value = Attribute(dims());
    return;
  case AttributeKind::Bytes:
    if (peekWord().starts_with("0x"))
      attribute.value = Attribute(bytes(maxConstantBytes));
    else
      attribute.value = numbers();
    return;
  }
}

/// "axis, epsilon"
static std::string attributesOf(const OpSpec &spec) {
  std::string names = joined(spec.attributes, ", ", &AttributeSpec::name);
  return names.empty() ? "none" : names;
}

void Parser::attribute(Op &op) {
  Offset at = offset();
  AttributeText attribute{word("the name of an attribute"), {}};
  if (!ok())
    return;
  auto isSame = [&](const auto &other) { return other.name == attribute.name; };
  auto spec = std::ranges::find_if(op.spec->attributes, isSame);
  if (spec == op.spec->attributes.end())
    return fail(at, std::string(op.spec->name) + " has no attribute " +
                        attribute.name + ", it has " + attributesOf(*op.spec));
  if (std::ranges::any_of(op.attributes, isSame))
    return fail(at, "the attribute " + attribute.name + " is there twice");
  expect("=");
  value(*spec, attribute);
  op.attributes.push_back(std::move(attribute));
}

/// Whether the op is a function of its operands alone.
static bool isFunction(const OpSpec &spec) {
  return spec.pure && spec.name != "weight" && spec.name != "variable_read";
}

void Parser::op(Offset at,
                const std::vector<std::pair<std::string, Offset>> &names) {
  if (kernel_.ops.size() == maxOps)
    fail(at, "expected at most " + std::to_string(maxOps) + " ops");
  Op op{.at = offset()};
  std::string name = word("the name of an op");
  op.spec = ok() ? findOp(name) : nullptr;
  if (!op.spec)
    return fail(op.at, "no op has the name " + quoted(name));
  if (!isFunction(*op.spec))
    return fail(op.at,
                "a kernel is a function of its inputs, " + name + " is not");
  if (size_t(op.spec->results) != names.size())
    return fail(op.at, name + " has " + std::to_string(op.spec->results) +
                           " results, found " + std::to_string(names.size()));
  expect("(");
  while (ok() && !take(")")) {
    if (!op.operands.empty())
      expect(",");
    if (op.operands.size() == maxList)
      fail(offset(), "expected at most 64 operands");
    op.operands.push_back(use());
  }
  if (take("{"))
    while (ok() && !take("}")) {
      if (!op.attributes.empty())
        expect(",");
      attribute(op);
    }
  for (const auto &[result, place] : names)
    op.results.push_back(define(result, place, false));
  kernel_.ops.push_back(std::move(op));
}

void Parser::definition() {
  std::vector<std::pair<std::string, Offset>> names;
  Offset start = offset();
  do {
    Offset at = offset();
    expect("%");
    names.emplace_back(word("a name"), at);
    if (names.back().first.size() > 64 || names.size() > maxList)
      fail(at, "expected at most 64 names of at most 64 characters");
  } while (ok() && take(","));
  expect("=");
  bool isOptional = take("optional");
  if (isOptional && peekWord() != "input")
    return fail(offset(), "expected input, found " + found());
  if (!take("input"))
    return op(start, names);
  if (names.size() != 1)
    return fail(start, "expected one name for an input");
  input(names[0].first, start, isOptional);
}

void Parser::outputs() {
  do {
    Output output{offset(), use(), layout()};
    for (const Output &other : kernel_.outputs)
      if (other.value == output.value)
        fail(output.at, "this value is an output already");
    if (ok() && kernel_.values[output.value].isInput)
      fail(output.at, "an input is no output");
    if (kernel_.outputs.size() == maxBindings)
      fail(output.at, "expected at most 64 outputs");
    kernel_.outputs.push_back(output);
  } while (ok() && take(","));
}

void Parser::item() {
  if (take("symbol"))
    return symbols();
  if (take("output"))
    return outputs();
  if (peekSign() != '%')
    return fail(offset(),
                "expected symbol, output or a value, found " + found());
  definition();
}

void Parser::checkSymbols() {
  for (const PlacedDim &placed : dims_) {
    std::set<std::string> names;
    placed.dim.collectSymbols(names);
    for (const std::string &name : names)
      if (!std::ranges::count(kernel_.symbols, name))
        return fail(placed.at, "the symbol " + name + " is not declared");
  }
}

void Parser::checkUses() {
  if (kernel_.outputs.empty())
    return fail(offset(), "expected at least one output");
  for (const Value &value : kernel_.values)
    if (!value.isUsed)
      return fail(value.at, "%" + value.name + " is never used");
  for (const ValueVariable &variable : kernel_.variables)
    if (!variable.isUsed)
      return fail(variable.at, variable.name + " is never used");
}

Result<Kernel> Parser::run() {
  header();
  expect("{");
  while (ok() && !take("}"))
    item();
  if (ok() && !atEnd())
    fail(offset(), "expected the end, found " + found());
  if (ok())
    checkSymbols();
  if (ok())
    checkUses();
  if (!ok())
    return error();
  return std::move(kernel_);
}

std::string textOf(const Attribute &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  if (const auto *number = std::get_if<int64_t>(&value))
    return std::to_string(*number);
  return "[" +
         joined(std::get<std::vector<int64_t>>(value), ",",
                [](int64_t number) { return std::to_string(number); }) +
         "]";
}

Result<Kernel> parse(std::string_view text) { return Parser(text).run(); }

} // namespace backplane::syntax
