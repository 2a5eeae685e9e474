// SPDX-License-Identifier: Apache-2.0
//
// KernelText.cpp: the graphs that a text stands for, one for each choice of
// dtypes and of optional inputs.
#include "sdk/kernels/KernelSyntax.h"
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/support/Element.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace backplane {

namespace {

constexpr size_t maxChoices = 64;

class Expander {
public:
  Expander(std::string_view text, syntax::Kernel kernel)
      : source_(text), kernel_(std::move(kernel)) {}
  Result<KernelText> run();

private:
  /// A value of a choice; none: absent.
  using Known = std::optional<ValueId>;

  Status addSymbols();
  Status narrow(const syntax::Condition &condition);
  Status narrow(Symbol &symbol, const std::string &relation, int64_t bound);
  Result<size_t> countChoices() const;
  void choose(size_t number);
  std::string choiceText() const;
  Result<KernelGraph> graph();
  Status addOp(Graph &graph, const syntax::Op &op);
  bool skip(const syntax::Op &op, Status &status);
  Result<Attributes> attributes(const syntax::Op &op) const;
  Result<Bytes> encode(const syntax::Op &op,
                       const std::vector<double> &numbers) const;
  Status addOutputs(KernelGraph &result);
  DType dtype(const syntax::DTypeName &name) const {
    return name.variable ? dtypes_[*name.variable] : name.dtype;
  }
  Status wrong(syntax::Offset at, const std::string &message) const {
    return invalidArgument(syntax::placeOf(source_, at) + message);
  }

  std::string_view source_;
  syntax::Kernel kernel_;
  KernelText result_;
  std::vector<DType> dtypes_; ///< of each variable, in this choice
  std::vector<bool> absent_;  ///< whether each input is
  std::vector<Known> values_; ///< of each value of the text
};

Dim holds(const syntax::Condition &condition) {
  const Dim &a = condition.left, &b = condition.right;
  if (condition.relation == "==")
    return equal(a, b);
  if (condition.relation == "!=")
    return Dim(1) - equal(a, b);
  if (condition.relation == "<")
    return less(a, b);
  if (condition.relation == ">")
    return less(b, a);
  return Dim(1) - (condition.relation == "<=" ? less(b, a) : less(a, b));
}

/// The relation with its sides changed.
std::string turned(const std::string &relation) {
  std::string text = relation;
  for (char &c : text)
    c = c == '<' ? '>' : c == '>' ? '<' : c;
  return text;
}

} // namespace

// ---- symbols ----

/// What `symbol relation bound` says of the range.
Status Expander::narrow(Symbol &symbol, const std::string &relation,
                        int64_t bound) {
  bool strict = relation.size() == 1;
  if (relation == "!=")
    return {};
  if (relation != ">" && relation != ">=")
    symbol.maximum = std::min(symbol.maximum, bound - strict);
  if (relation != "<" && relation != "<=")
    symbol.minimum = std::max(symbol.minimum, bound + strict);
  return {};
}

/// The divisor that `dim`, equal to 0, is about: `mod` of a symbol.
static std::optional<int64_t> divisorOf(const Dim &dim, const Dim &symbol,
                                        const std::string &text) {
  size_t at = text.find(" mod ");
  if (at == text.npos)
    return std::nullopt;
  int64_t divisor = 0;
  std::from_chars(text.data() + at + 5, text.data() + text.size(), divisor);
  bool is = divisor > 0 && dim == mod(symbol, Dim(divisor));
  return is ? std::optional(divisor) : std::nullopt;
}

/// A condition on one symbol bounds it, where that is plain.
Status Expander::narrow(const syntax::Condition &condition) {
  std::set<std::string> names;
  condition.left.collectSymbols(names);
  condition.right.collectSymbols(names);
  if (names.size() != 1)
    return {};
  auto symbol = std::ranges::find_if(result_.symbols, [&](const Symbol &s) {
    return s.name == *names.begin();
  });
  bool onRight = condition.left.constant().has_value();
  const Dim &dim = onRight ? condition.right : condition.left;
  const Dim &other = onRight ? condition.left : condition.right;
  std::optional<int64_t> bound = other.constant();
  if (!bound || *bound < INT64_MIN / 2 || *bound > INT64_MAX / 2)
    return {};
  Dim name = Dim::symbol(symbol->name);
  if (dim == name)
    return narrow(*symbol,
                  onRight ? turned(condition.relation) : condition.relation,
                  *bound);
  if (condition.relation == "==" && *bound == 0)
    if (auto divisor = divisorOf(dim, name, condition.text);
        divisor && symbol->divisor == 1)
      symbol->divisor = *divisor;
  return {};
}

Status Expander::addSymbols() {
  for (const std::string &name : kernel_.symbols)
    result_.symbols.push_back({name});
  for (const syntax::Condition &condition : kernel_.conditions) {
    Dim dim = holds(condition);
    if (!dim.valid())
      return wrong(condition.at, "the condition is too complex");
    if (dim.constant() == 0)
      return wrong(condition.at, "the condition never holds");
    if (Status s = narrow(condition); !s.ok())
      return s;
    for (const Symbol &symbol : result_.symbols)
      if (symbol.minimum > symbol.maximum)
        return wrong(condition.at, "no size of " + symbol.name + " is left");
    result_.where.push_back({std::move(dim), condition.text});
  }
  return {};
}

// ---- choices ----

Result<size_t> Expander::countChoices() const {
  size_t count = 1;
  auto times = [&](size_t factor) {
    count = std::min(count * factor, maxChoices + 1);
  };
  for (const syntax::DTypeVariable &variable : kernel_.variables)
    times(variable.choices.size());
  for (const syntax::Input &input : kernel_.inputs)
    times(input.isOptional ? 2 : 1);
  if (count > maxChoices)
    return invalidArgument("the dtypes and optional inputs allow more than " +
                           std::to_string(maxChoices) +
                           " choices; register several kernels");
  return count;
}

void Expander::choose(size_t number) {
  dtypes_.clear();
  absent_.clear();
  for (const syntax::DTypeVariable &variable : kernel_.variables) {
    dtypes_.push_back(variable.choices[number % variable.choices.size()]);
    number /= variable.choices.size();
  }
  for (const syntax::Input &input : kernel_.inputs) {
    absent_.push_back(input.isOptional && number % 2);
    number /= input.isOptional ? 2 : 1;
  }
}

std::string Expander::choiceText() const {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : ", ") + part;
  };
  for (size_t i = 0; i < dtypes_.size(); ++i)
    if (kernel_.variables[i].choices.size() > 1)
      add(kernel_.variables[i].name + " = " + std::string(name(dtypes_[i])));
  for (size_t i = 0; i < absent_.size(); ++i)
    if (kernel_.inputs[i].isOptional)
      add((absent_[i] ? "without " : "with ") +
          kernel_.values[kernel_.inputs[i].value].name);
  return text;
}

// ---- ops ----

/// Numbers as elements of the op's dtype, which hold them exactly if they are
/// integers.
Result<Bytes> Expander::encode(const syntax::Op &op,
                               const std::vector<double> &numbers) const {
  DType type = DType::Invalid;
  for (const syntax::AttributeText &attribute : op.attributes)
    if (const auto *name = std::get_if<syntax::DTypeName>(&attribute.value))
      type = dtype(*name);
  if (type == DType::Invalid)
    return wrong(op.at, "numbers need the attribute dtype");
  if (bitWidth(type) % 8 != 0)
    return wrong(op.at, "numbers of " + std::string(name(type)) +
                            " are written as bytes, 0x…");
  if (numbers.size() * (bitWidth(type) / 8) > maxConstantBytes)
    return wrong(op.at, "the numbers have more than " +
                            std::to_string(maxConstantBytes) + " bytes");
  Bytes bytes;
  for (double number : numbers) {
    Bytes element = encodeElement(type, number);
    if (!isFloat(type) && decodeElement(type, element, 0) != number)
      return wrong(op.at, "a number is no " + std::string(name(type)));
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

Result<Attributes> Expander::attributes(const syntax::Op &op) const {
  Attributes attributes;
  for (const syntax::AttributeText &attribute : op.attributes) {
    if (const auto *value = std::get_if<Attribute>(&attribute.value)) {
      attributes.emplace(attribute.name, *value);
    } else if (const auto *type =
                   std::get_if<syntax::DTypeName>(&attribute.value)) {
      attributes.emplace(attribute.name, int64_t(dtype(*type)));
    } else {
      auto bytes = encode(op, std::get<std::vector<double>>(attribute.value));
      if (!bytes)
        return bytes.status();
      attributes.emplace(attribute.name, std::move(*bytes));
    }
  }
  return attributes;
}

/// An op with an absent operand is left out: its other operand takes the place
/// of its result. Without one the result is absent, too.
bool Expander::skip(const syntax::Op &op, Status &status) {
  std::vector<Known> present;
  for (size_t operand : op.operands)
    if (values_[operand])
      present.push_back(values_[operand]);
  if (present.size() == op.operands.size())
    return false;
  constexpr std::string_view neutral[] = {"add", "and", "div", "max", "min",
                                          "mul", "or",  "sub", "xor"};
  bool first = op.spec->name == "sub" || op.spec->name == "div";
  bool known = std::ranges::count(neutral, op.spec->name) > 0;
  if (!present.empty() && !(known && (!first || values_[op.operands[0]])))
    status = wrong(op.at, std::string(op.spec->name) + " cannot be left out, " +
                              choiceText());
  for (size_t result : op.results)
    values_[result] = present.empty() ? std::nullopt : present[0];
  return true;
}

Status Expander::addOp(Graph &graph, const syntax::Op &op) {
  Status status;
  if (skip(op, status))
    return status;
  auto attributes = this->attributes(op);
  if (!attributes)
    return attributes.status();
  std::vector<ValueId> operands;
  for (size_t operand : op.operands)
    operands.push_back(*values_[operand]);
  auto results =
      graph.add(op.spec->name, std::move(operands), std::move(*attributes));
  if (!results) {
    std::string choice = choiceText();
    return wrong(op.at,
                 results.message() + (choice.empty() ? "" : ", " + choice));
  }
  graph.ops.back().location = "%" + kernel_.values[op.results[0]].name;
  for (size_t i = 0; i < results->size(); ++i)
    values_[op.results[i]] = (*results)[i];
  return {};
}

Status Expander::addOutputs(KernelGraph &result) {
  Graph &graph = result.graph;
  for (const syntax::Output &output : kernel_.outputs) {
    Known value = values_[output.value];
    result.bindings.push_back(value ? int32_t(graph.outputs.size()) : -1);
    if (!value)
      continue;
    if (std::ranges::count(graph.inputs, *value))
      return wrong(output.at, "the output is an input, " + choiceText());
    for (const GraphOutput &other : graph.outputs)
      if (other.value == *value)
        return wrong(output.at, "two outputs are one value, " + choiceText());
    graph.addOutput(*value, kernel_.values[output.value].name);
  }
  if (graph.outputs.empty())
    return wrong(kernel_.outputs[0].at, "no output is left, " + choiceText());
  return {};
}

Result<KernelGraph> Expander::graph() {
  KernelGraph result;
  result.choice = choiceText();
  result.graph.name = kernel_.name;
  result.graph.symbols = result_.symbols;
  values_.assign(kernel_.values.size(), std::nullopt);
  for (size_t i = 0; i < kernel_.inputs.size(); ++i) {
    const syntax::Input &input = kernel_.inputs[i];
    result.bindings.push_back(absent_[i] ? -1
                                         : int32_t(result.graph.inputs.size()));
    if (!absent_[i])
      values_[input.value] = result.graph.addInput(
          kernel_.values[input.value].name, {dtype(input.dtype), input.dims});
  }
  for (const syntax::Op &op : kernel_.ops)
    if (Status s = addOp(result.graph, op); !s.ok())
      return s;
  if (Status s = addOutputs(result); !s.ok())
    return s;
  if (Status s = result.graph.verify(); !s.ok())
    return s;
  return result;
}

Result<KernelText> Expander::run() {
  auto count = countChoices();
  if (!count)
    return count.status();
  result_.name = kernel_.name;
  result_.version = kernel_.version;
  if (Status s = addSymbols(); !s.ok())
    return s;
  for (const syntax::Input &input : kernel_.inputs)
    result_.bindings.push_back(kernel_.values[input.value].name);
  result_.inputCount = uint32_t(kernel_.inputs.size());
  for (const syntax::Output &output : kernel_.outputs)
    result_.bindings.push_back(kernel_.values[output.value].name);
  for (size_t i = 0; i < *count; ++i) {
    choose(i);
    auto next = graph();
    if (!next)
      return next.status();
    result_.graphs.push_back(std::move(*next));
  }
  return std::move(result_);
}

Result<KernelText> parseKernelText(std::string_view text) {
  auto kernel = syntax::parse(text);
  if (!kernel)
    return kernel.status();
  return Expander(text, std::move(*kernel)).run();
}

} // namespace backplane
