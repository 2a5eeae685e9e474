// SPDX-License-Identifier: Apache-2.0
//
// KernelText.cpp: the graphs that a text stands for, one for each choice of
// dtypes and of optional inputs.
#include "sdk/kernels/KernelChoices.h"
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/support/Element.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace backplane {

namespace {

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
  Result<std::vector<int64_t>> order(const syntax::Layout &layout,
                                     size_t rank) const;
  Status addInput(KernelGraph &result, size_t input);
  Result<KernelGraph> graph();
  Status addOp(Graph &graph, const syntax::Op &op);
  bool skip(const syntax::Op &op, Status &status);
  Result<Attributes> attributes(const syntax::Op &op) const;
  Result<Bytes> encode(const syntax::Op &op,
                       const std::vector<double> &numbers) const;
  Status addOutputs(KernelGraph &result);
  Status wrong(syntax::Offset at, const std::string &message) const {
    return invalidArgument(syntax::placeOf(source_, at) + message);
  }

  std::string_view source_;
  syntax::Kernel kernel_;
  KernelChoices choices_{kernel_};
  KernelText result_;
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

// ---- ops ----

/// Numbers as elements of the op's dtype, which hold them exactly if they are
/// integers.
Result<Bytes> Expander::encode(const syntax::Op &op,
                               const std::vector<double> &numbers) const {
  DType type = DType::Invalid;
  for (const syntax::AttributeText &attribute : op.attributes)
    if (const auto *name = std::get_if<syntax::DTypeName>(&attribute.value))
      type = choices_.dtype(*name);
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
      attributes.emplace(attribute.name, int64_t(choices_.dtype(*type)));
    } else if (const auto *named =
                   std::get_if<syntax::ValueName>(&attribute.value)) {
      attributes.emplace(attribute.name, choices_.value(named->variable));
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
                              choices_.text());
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
    std::string choice = choices_.text();
    return wrong(op.at,
                 results.message() + (choice.empty() ? "" : ", " + choice));
  }
  graph.ops.back().location = "%" + kernel_.values[op.results[0]].name;
  for (size_t i = 0; i < results->size(); ++i)
    values_[op.results[i]] = (*results)[i];
  return {};
}

/// The axes of a value in the order in which they are stored.
Result<std::vector<int64_t>> Expander::order(const syntax::Layout &layout,
                                             size_t rank) const {
  std::vector<int64_t> identity(rank);
  std::iota(identity.begin(), identity.end(), 0);
  const Attribute &value = choices_.value(layout.variable);
  const auto *axes = std::get_if<std::vector<int64_t>>(&value);
  if (!axes || !std::ranges::is_permutation(*axes, identity))
    return wrong(layout.at, syntax::textOf(value) + " is no order of " +
                                std::to_string(rank) + " axes");
  return *axes;
}

/// A value as its ops see it, and as it is stored.
static Result<ValueId> reorder(Graph &graph, ValueId value,
                               const std::vector<int64_t> &order) {
  if (std::ranges::is_sorted(order))
    return value;
  auto moved = graph.add("transpose", {value}, {{"permutation", order}});
  return moved ? Result<ValueId>((*moved)[0]) : moved.status();
}

Status Expander::addInput(KernelGraph &result, size_t number) {
  const syntax::Input &input = kernel_.inputs[number];
  Graph &graph = result.graph;
  result.bindings.push_back(
      choices_.isAbsent(number) ? -1 : int32_t(graph.inputs.size()));
  if (choices_.isAbsent(number))
    return {};
  Dims stored = input.dims;
  std::vector<int64_t> back(stored.size());
  std::iota(back.begin(), back.end(), 0);
  if (input.layout) {
    auto axes = order(*input.layout, stored.size());
    if (!axes)
      return axes.status();
    for (size_t i = 0; i < stored.size(); ++i) {
      stored[i] = input.dims[size_t((*axes)[i])];
      back[size_t((*axes)[i])] = int64_t(i);
    }
  }
  auto value = reorder(graph,
                       graph.addInput(kernel_.values[input.value].name,
                                      {choices_.dtype(input.dtype), stored}),
                       back);
  if (!value)
    return value.status();
  values_[input.value] = *value;
  return {};
}

Status Expander::addOutputs(KernelGraph &result) {
  Graph &graph = result.graph;
  for (const syntax::Output &output : kernel_.outputs) {
    Known value = values_[output.value];
    result.bindings.push_back(value ? int32_t(graph.outputs.size()) : -1);
    if (!value)
      continue;
    if (output.layout) {
      auto axes = order(*output.layout, graph.type(*value).rank());
      auto stored =
          axes ? reorder(graph, *value, *axes) : Result<ValueId>(axes.status());
      if (!stored)
        return stored.status();
      value = *stored;
    }
    if (std::ranges::count(graph.inputs, *value))
      return wrong(output.at, "the output is an input, " + choices_.text());
    for (const GraphOutput &other : graph.outputs)
      if (other.value == *value)
        return wrong(output.at,
                     "two outputs are one value, " + choices_.text());
    graph.addOutput(*value, kernel_.values[output.value].name);
  }
  if (graph.outputs.empty())
    return wrong(kernel_.outputs[0].at,
                 "no output is left, " + choices_.text());
  return {};
}

Result<KernelGraph> Expander::graph() {
  KernelGraph result;
  result.choice = choices_.text();
  result.graph.name = kernel_.name;
  result.graph.symbols = result_.symbols;
  values_.assign(kernel_.values.size(), std::nullopt);
  result.choices = choices_.values();
  result.dtypes = choices_.dtypes();
  for (size_t i = 0; i < kernel_.inputs.size(); ++i)
    if (Status s = addInput(result, i); !s.ok())
      return s;
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
  auto count = choices_.count();
  if (!count)
    return count.status();
  result_.name = kernel_.name;
  result_.version = kernel_.version;
  if (Status s = addSymbols(); !s.ok())
    return s;
  for (const syntax::Input &input : kernel_.inputs) {
    result_.bindings.push_back(kernel_.values[input.value].name);
    result_.isOptional.push_back(input.isOptional);
  }
  for (const syntax::DTypeVariable &variable : kernel_.dtypes)
    result_.dtypes.push_back(variable.name);
  result_.inputCount = uint32_t(kernel_.inputs.size());
  for (const syntax::ValueVariable &variable : kernel_.variables)
    result_.variables.push_back(variable.name);
  for (const syntax::Output &output : kernel_.outputs)
    result_.bindings.push_back(kernel_.values[output.value].name);
  for (size_t i = 0; i < *count; ++i) {
    choices_.choose(i);
    if (choices_.isRepeated())
      continue;
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
