// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/KernelScan.h"
#include "sdk/kernels/KernelSyntax.h"

#include "backplane/kernel.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace backplane::syntax {

namespace {

constexpr size_t maxConditions = 64;
constexpr size_t maxBindings = 64;
constexpr size_t maxOps = 256;
constexpr size_t maxList = 64; ///< operands, results, attributes, choices
constexpr size_t maxNumbers = maxConstantBytes;

/// Recursive descent. After the first error nothing is read and every list
/// ends.
class Parser : Scanner {
public:
  explicit Parser(std::string_view text) : Scanner(text) {}
  Result<Kernel> run();

private:
  void header();
  void condition();
  void item();
  void symbols();
  void input(const std::string &name, Offset at, bool isOptional);
  void op(Offset at,
          const std::vector<std::pair<std::string, Offset>> &results);
  void definition();
  void outputs();
  void attribute(Op &op);
  void value(const AttributeSpec &spec, AttributeText &attribute);
  DTypeName dtype();
  Dims dims();
  Dim dim(std::string_view ends);
  std::vector<double> numbers();
  size_t define(const std::string &name, Offset at, bool isInput);
  size_t use();
  bool isNameTaken(std::string_view name);
  void checkSymbols();
  void checkUses();

  Kernel kernel_;
  std::vector<PlacedDim> dims_; ///< all, whose symbols are declared at the end
};

} // namespace

// ---- types ----

DTypeName Parser::dtype() {
  Offset at = offset();
  std::string name = word("a dtype");
  if (std::optional<DType> known = parseDType(name))
    return {*known, std::nullopt};
  for (size_t i = 0; i < kernel_.variables.size(); ++i)
    if (kernel_.variables[i].name == name)
      return {DType::Invalid, i};
  fail(at, "expected a dtype or a variable for one, found " + quoted(name));
  return {};
}

/// Reads up to one of `ends` outside of parentheses.
Dim Parser::dim(std::string_view ends) {
  Offset at = offset();
  std::string_view text = until(ends);
  if (!ok())
    return {};
  Result<Dim> parsed = Dim::parse(text);
  if (!parsed) {
    fail(at, parsed.message());
    return {};
  }
  dims_.push_back({at, *parsed});
  return *parsed;
}

Dims Parser::dims() {
  Dims dims;
  expect("[");
  while (ok() && !take("]")) {
    if (!dims.empty())
      expect(",");
    if (dims.size() == maxRank)
      fail(offset(), "expected at most " + std::to_string(maxRank) + " dims");
    dims.push_back(dim(",]"));
  }
  return dims;
}

// ---- header ----

void Parser::condition() {
  Offset at = offset();
  if (kernel_.conditions.size() == maxConditions)
    return fail(at, "expected at most " + std::to_string(maxConditions) +
                        " conditions");
  if (auto name = peekWord(); Dim::isSymbolName(name) && nextWord() == "in") {
    DTypeVariable variable{word("a name"), {}};
    expect("in");
    if (parseDType(variable.name) || isNameTaken(variable.name))
      fail(at, "the name " + quoted(variable.name) + " is taken");
    expect("[");
    while (ok() && !take("]")) {
      if (!variable.choices.empty())
        expect(",");
      Offset place = offset();
      DTypeName choice = dtype();
      if (ok() && (choice.variable || variable.choices.size() == maxList ||
                   std::ranges::count(variable.choices, choice.dtype)))
        fail(place, "expected dtypes that differ");
      variable.choices.push_back(choice.dtype);
    }
    if (ok() && variable.choices.empty())
      fail(at, "expected at least one dtype for " + variable.name);
    kernel_.variables.push_back(std::move(variable));
    return;
  }
  Condition next{.at = at};
  next.left = dim("<>=!,{");
  for (std::string_view relation : {"==", "!=", "<=", ">=", "<", ">"})
    if (next.relation.empty() && takeSign(relation))
      next.relation = relation;
  if (next.relation.empty())
    fail(offset(), "expected ==, !=, <, <=, > or >=, found " + found());
  next.right = dim("<>=!,{");
  next.text = textFrom(at);
  kernel_.conditions.push_back(std::move(next));
}

void Parser::header() {
  expect("kernel");
  Offset at = offset();
  kernel_.name = word("a name");
  if (ok() && !Dim::isSymbolName(kernel_.name))
    fail(at, "expected a letter or _, then letters, digits and _, at most 64, "
             "found " +
                 quoted(kernel_.name));
  expect("version");
  at = offset();
  int64_t version = integer();
  if (ok() && (version < 1 || version > UINT32_MAX))
    fail(at, "expected a version from 1 to 4294967295");
  kernel_.version = uint32_t(version);
  if (!take("where"))
    return;
  do
    condition();
  while (ok() && take(","));
}

// ---- body ----

bool Parser::isNameTaken(std::string_view name) {
  auto isName = [&](const auto &entry) { return entry.name == name; };
  return std::ranges::count(kernel_.symbols, name) ||
         std::ranges::any_of(kernel_.variables, isName);
}

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
  input.value = define(name, at, true);
  kernel_.inputs.push_back(std::move(input));
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

void Parser::value(const AttributeSpec &spec, AttributeText &attribute) {
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
  std::string names;
  for (const AttributeSpec &attribute : spec.attributes)
    names += (names.empty() ? "" : ", ") + std::string(attribute.name);
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
    Output output{offset(), use()};
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

Result<Kernel> parse(std::string_view text) { return Parser(text).run(); }

} // namespace backplane::syntax
