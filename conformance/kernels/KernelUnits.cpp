// SPDX-License-Identifier: Apache-2.0
#include "KernelUnits.h"

#include "GraphRules.h"
#include "KernelDomain.h"
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Data.h"
#include "conformance/cases/Work.h"
#include "sdk/kernels/FixSize.h"

#include <algorithm>

namespace backplane::conformance {
namespace {

/// Data sets beside `uniform`, with what kernels of their own often lack.
constexpr const char *floatSets[] = {
    "nans",     "zeros",      "wide",        "equal",    "masked",
    "offset",   "cancel",     "alternating", "sparse",   "rising",
    "large",    "subnormals", "corners",     "falling",  "cancellation",
    "all-one",  "all-zero",   "outliers",    "integers", "distant",
    "negative", "positive"};
/// Of one op: values within a longer graph overflow, where the oracle has its
/// exact result.
constexpr const char *hugeSets[] = {"special", "mixture", "magnitudes"};
constexpr const char *integerSets[] = {"special", "bits",   "mixture",
                                       "equal",   "zeros",  "rails",
                                       "rising",  "sparse", "integers"};

/// What a depth gives the cases of one kernel.
struct Effort {
  double edgeWork, jointWork, elements, largeElements;
  size_t sizes;       ///< of all choices together
  size_t minOfChoice; ///< sizes of one choice
  size_t repeats;     ///< sizes for each data set
};

Effort effortOf(Depth depth) {
  if (depth == Depth::Smoke)
    return {1 << 15, 1 << 17, 1 << 13, 1 << 17, 320, 40, 2};
  if (depth == Depth::Standard)
    return {1 << 18, 1 << 20, 1 << 16, 1 << 18, 900, 60, 3};
  return {1 << 20, 1 << 22, 1 << 18, 1 << 20, 2400, 80, 4};
}

/// "T = f16, S = [2,2], without bias" as a part of an id:
/// "T=f16+S=2,2+without-bias".
std::string partOf(std::string choice) {
  auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at; (at = choice.find(from)) != std::string::npos;)
      choice.replace(at, from.size(), to);
  };
  replace(" = ", "=");
  replace(", ", "+");
  replace("[", "");
  replace("]", "");
  replace(" ", "-");
  return choice.empty() ? "all" : choice;
}

/// Makes an input of a graph a weight of random numbers; its type is static.
Status makeWeight(Unit &unit, size_t input, const InputRule &rule) {
  Graph &graph = unit.graph;
  ValueId value = graph.inputs[input];
  TensorType type = graph.type(value);
  Case data;
  data.dataSet = "uniform";
  data.seed = hashText(unit.id);
  Tensor tensor = madeInput(type, rule, input, data);
  auto id = unit.weights.add(type, std::move(tensor.data));
  if (!id)
    return id.status();
  Op op;
  op.name = "weight";
  op.results = {value};
  op.attributes = {
      {"id", *id}, {"dtype", int64_t(type.dtype)}, {"dims", type.dims}};
  graph.ops.insert(graph.ops.begin(), std::move(op));
  return {};
}

/// The inputs of the text that are weights.
std::set<uint32_t> weightsOf(const JudgedKernel &kernel,
                             const KernelText &text) {
  std::set<uint32_t> weights;
  for (uint32_t i = 0; i < text.inputCount; ++i)
    if (kernel.weights >> i & 1)
      weights.insert(i);
  return weights;
}

/// The units of one choice.
class ChoiceUnits {
public:
  ChoiceUnits(const JudgedKernel &kernel, const KernelText &text,
              const KernelGraph &choice, const Selection &selection)
      : kernel_(kernel), text_(text), choice_(choice), selection_(selection) {}

  Status run(std::vector<Unit> &units) {
    std::set<std::string> fixed = fixedSymbols(text_, choice_, weights_);
    std::vector<SymbolValues> sizes = domain(fixed);
    if (sizes.empty())
      return invalidArgument(
          "no sizes were found that meet the conditions of kernel '" +
          text_.name + "'" +
          (choice_.choice.empty() ? "" : " (" + choice_.choice + ")"));
    std::map<SymbolValues, size_t> known;
    for (const SymbolValues &all : sizes) {
      SymbolValues numbers;
      for (const std::string &symbol : fixed)
        numbers[symbol] = all.at(symbol);
      auto [at, isNew] = known.try_emplace(numbers, made_.size());
      if (isNew)
        if (Status s = add(numbers); !s.ok())
          return s;
      addCase(made_[at->second], "uniform", all);
    }
    addData(sizes, fixed, known);
    for (Unit &unit : made_)
      units.push_back(std::move(unit));
    return {};
  }

private:
  std::vector<SymbolValues> domain(const std::set<std::string> &fixed) {
    DomainOptions options;
    options.edges = {effort_.edgeWork, effort_.elements};
    options.joint = {effort_.jointWork, effort_.elements};
    options.large = {effort_.jointWork, effort_.largeElements};
    for (Limits *limits : {&options.edges, &options.joint, &options.large}) {
      if (selection_.budget)
        limits->work = std::min(limits->work, double(selection_.budget));
      limits->bytes = double(selection_.bufferBytes);
    }
    options.maxSizes =
        std::max(effort_.minOfChoice, effort_.sizes / text_.graphs.size());
    options.maxFixed = fixed.empty() ? 1 : effort_.minOfChoice;
    options.seed = seedOf(selection_, id_);
    return drawDomain(text_, choice_.graph, fixed, options);
  }

  /// A unit with numbers in the place of some symbols.
  Status add(const SymbolValues &numbers) {
    Unit unit;
    unit.id = id_;
    for (const auto &[symbol, value] : numbers)
      unit.id += "/" + symbol + "=" + std::to_string(value);
    unit.layer = 8;
    unit.op = name_;
    unit.kernel = name_;
    unit.dtype = dtype_;
    unit.depth = Depth::Smoke;
    unit.graph = choice_.graph;
    unit.graph.name = unit.id;
    for (const auto &[symbol, value] : numbers) {
      auto graph = fixSymbol(std::move(unit.graph), symbol, value);
      if (!graph)
        return invalidArgument("the graph of kernel '" + text_.name +
                               "' does not take " + symbol + " = " +
                               std::to_string(value));
      unit.graph = std::move(*graph);
    }
    unit.rules = rulesOf(unit.graph);
    if (Status s = addWeights(unit); !s.ok())
      return s;
    setDTypes(unit);
    made_.push_back(std::move(unit));
    return {};
  }

  Status addWeights(Unit &unit) {
    std::vector<ValueId> inputs;
    std::vector<InputRule> rules;
    for (size_t i = 0; i < unit.graph.inputs.size(); ++i) {
      if (isWeight(i)) {
        if (Status s = makeWeight(unit, i, unit.rules[i]); !s.ok())
          return s;
        continue;
      }
      inputs.push_back(unit.graph.inputs[i]);
      rules.push_back(unit.rules[i]);
    }
    unit.graph.inputs = std::move(inputs);
    unit.rules = std::move(rules);
    return {};
  }

  bool isWeight(size_t input) const {
    return std::ranges::any_of(weights_, [&](uint32_t binding) {
      return choice_.bindings[binding] == int32_t(input);
    });
  }

  void addCase(Unit &unit, const std::string &dataSet,
               const SymbolValues &sizes) {
    SymbolValues symbols;
    for (const Symbol &symbol : unit.graph.symbols)
      symbols[symbol.name] = sizes.at(symbol.name);
    Case made = makeCase(selection_, unit.id, Depth::Smoke, dataSet, symbols);
    if (std::ranges::find(unit.cases, made.id, &Case::id) == unit.cases.end())
      unit.cases.push_back(std::move(made));
  }

  /// Data sets at a few sizes that have elements, but not the most.
  void addData(const std::vector<SymbolValues> &sizes,
               const std::set<std::string> &fixed,
               const std::map<SymbolValues, size_t> &known) {
    std::vector<const SymbolValues *> fit;
    for (const SymbolValues &all : sizes)
      if (workOf(choice_.graph, all).elements >= 16 && hasElements(all))
        fit.push_back(&all);
    if (fit.empty())
      for (const SymbolValues &all : sizes)
        fit.push_back(&all);
    std::vector<std::string> names = dataSetNames();
    uint64_t seed = seedOf(selection_, id_ + "/data");
    for (size_t i = 0; i < names.size(); ++i)
      for (size_t repeat = 0; repeat < effort_.repeats; ++repeat) {
        const SymbolValues &all =
            *fit[randomBits(seed, i * 16 + repeat) % fit.size()];
        SymbolValues numbers;
        for (const std::string &symbol : fixed)
          numbers[symbol] = all.at(symbol);
        addCase(made_[known.at(numbers)], names[i], all);
      }
  }

  bool hasElements(const SymbolValues &sizes) const {
    return std::ranges::all_of(
        choice_.graph.values, [&](const backplane::Value &value) {
          auto count = value.type.elementCount().evaluate(sizes);
          return count && *count > 0;
        });
  }

  std::vector<std::string> dataSetNames() const {
    bool isFloatKernel =
        std::ranges::any_of(choice_.graph.inputs, [&](ValueId input) {
          return isFloat(choice_.graph.type(input).dtype);
        });
    std::vector<std::string> names;
    if (isFloatKernel)
      names.assign(std::begin(floatSets), std::end(floatSets));
    else
      names.assign(std::begin(integerSets), std::end(integerSets));
    if (isFloatKernel && choice_.graph.ops.size() == 1)
      names.insert(names.end(), std::begin(hugeSets), std::end(hugeSets));
    size_t inputs = made_[0].graph.inputs.size();
    for (size_t input = 0; isFloatKernel && input < inputs; ++input)
      if (std::string reach = "reach-" + std::to_string(input);
          isDataSet(reach))
        names.push_back(reach);
    return names;
  }

  const JudgedKernel &kernel_;
  const KernelText &text_;
  const KernelGraph &choice_;
  const Selection &selection_;
  Effort effort_ = effortOf(selection_.depth);
  std::string name_ = kernel_.set + "." + text_.name;
  DType dtype_ = choice_.graph.type(choice_.graph.outputs[0].value).dtype;
  std::string id_ = "L8/" + name_ + "/" + std::string(name(dtype_)) + "/" +
                    partOf(choice_.choice);
  std::set<uint32_t> weights_ = weightsOf(kernel_, text_);
  std::vector<Unit> made_;
};

/// Whether some axis has each symbol of the text: without, no model can say its
/// size, and the compiler never uses the kernel.
bool isReachable(const KernelText &text, const Graph &graph) {
  std::set<std::string> used;
  for (const backplane::Value &value : graph.values)
    for (const Dim &dim : value.type.dims)
      dim.collectSymbols(used);
  return std::ranges::all_of(text.symbols, [&](const Symbol &symbol) {
    return used.contains(symbol.name);
  });
}

} // namespace

Result<std::vector<Unit>> kernelUnits(const JudgedKernel &kernel,
                                      const Selection &selection) {
  auto text = parseKernelText(kernel.whole());
  if (!text)
    return text.status();
  std::vector<Unit> units;
  for (const KernelGraph &choice : text->graphs)
    if (isReachable(*text, choice.graph))
      if (Status s = ChoiceUnits(kernel, *text, choice, selection).run(units);
          !s.ok())
        return s;
  if (units.empty())
    return invalidArgument("kernel '" + text->name +
                           "' has symbols that are the size of no axis");
  return units;
}

Result<std::vector<Unit>> kernelUnits(const std::vector<JudgedKernel> &kernels,
                                      const Selection &selection) {
  std::vector<Unit> all;
  for (const JudgedKernel &kernel : kernels) {
    auto units = kernelUnits(kernel, selection);
    if (!units)
      return units.status().within("kernels of '" + kernel.set + "'");
    std::ranges::move(*units, std::back_inserter(all));
  }
  return all;
}

} // namespace backplane::conformance
