// SPDX-License-Identifier: Apache-2.0
//
// KernelParseHead.cpp: dtypes, dims, and what stands before the body of a text.
#include "sdk/kernels/KernelParser.h"

#include <algorithm>
#include <cctype>

namespace backplane::syntax {

namespace {

constexpr size_t maxConditions = 64;

} // namespace

// ---- types ----

DTypeName Parser::dtype() {
  Offset at = offset();
  std::string name = word("a dtype");
  if (std::optional<DType> known = parseDType(name))
    return {*known, std::nullopt};
  for (size_t i = 0; i < kernel_.dtypes.size(); ++i)
    if (kernel_.dtypes[i].name == name)
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

void Parser::dtypeChoices(Offset at, const std::string &name) {
  DTypeVariable variable{name, {}};
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
  kernel_.dtypes.push_back(std::move(variable));
}

/// A number, `true`, a string or a list of numbers.
Attribute Parser::choice() {
  if (peekSign() == '[')
    return integers(maxNumbers);
  if (peekSign() == '"')
    return string();
  if (peekWord() == "true" || peekWord() == "false")
    return int64_t(boolean());
  return integer();
}

void Parser::valueChoices(Offset at, const std::string &name) {
  ValueVariable variable{.name = name, .at = at};
  do {
    Offset place = offset();
    Attribute next = choice();
    if (ok() && !variable.choices.empty() &&
        (next.index() != variable.choices[0].index() ||
         variable.choices.size() == maxList ||
         std::ranges::count(variable.choices, next)))
      fail(place, "expected values of one kind that differ");
    variable.choices.push_back(std::move(next));
  } while (ok() && take(","));
  expect("]");
  kernel_.variables.push_back(std::move(variable));
}

/// `T in [f32, f16]` or `S in [[1, 1], [2, 2]]`
void Parser::variable() {
  Offset at = offset();
  std::string name = word("a name");
  expect("in");
  if (parseDType(name) || isNameTaken(name))
    fail(at, "the name " + quoted(name) + " is taken");
  expect("[");
  std::string_view first = peekWord();
  bool isWord = !first.empty() && !std::isdigit((unsigned char)(first[0]));
  if (peekSign() == ']' || (isWord && first != "true" && first != "false"))
    return dtypeChoices(at, name);
  valueChoices(at, name);
}

void Parser::condition() {
  Offset at = offset();
  if (kernel_.conditions.size() == maxConditions)
    return fail(at, "expected at most " + std::to_string(maxConditions) +
                        " conditions");
  if (auto name = peekWord(); Dim::isSymbolName(name) && nextWord() == "in")
    return variable();
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

bool Parser::isNameTaken(std::string_view name) {
  auto isName = [&](const auto &entry) { return entry.name == name; };
  return std::ranges::count(kernel_.symbols, name) ||
         std::ranges::any_of(kernel_.dtypes, isName) ||
         std::ranges::any_of(kernel_.variables, isName);
}

} // namespace backplane::syntax
