// SPDX-License-Identifier: Apache-2.0
#include "LargeBuilder.h"

#include "Data.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

bool contains(const std::vector<std::string> &names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A case of a large unit before its sizes are chosen.
struct Slot {
  std::string name;
  Method method = Method::Repeats;
  size_t number = 0;                   ///< of drawSizes
  const SymbolValues *known = nullptr; ///< not drawn
  Depth depth = Depth::Standard;
};

std::string_view suffixOf(Method method) {
  return method == Method::Products ? "-integers" : "";
}

/// Makes the units of one description.
class Family {
public:
  Family(const Sink &sink, const LargeGraph &graph)
      : sink_(sink), selection_(sink.selection), graph_(graph) {
    if (graph.numbers.empty())
      model_ = builderOf(graph.variant, {}).graph();
  }

  void run() {
    if (selection_.depth < graph_.depth)
      return;
    bool hasSymbols = graph_.numbers.empty();
    if (hasSymbols)
      putUnit(graph_.variant, slots(), Form::Symbols);
    // Without symbols each slot is a unit of its own.
    std::vector<Slot> alone = hasSymbols ? statics() : slots();
    for (const Slot &slot : alone)
      putUnit(graph_.variant + "-static-" + slot.name, {slot}, Form::Numbers);
    if (!graph_.weights.empty())
      putUnit(graph_.variant + "-weights", {statics().front()}, Form::Weights);
  }

private:
  enum class Form { Symbols, Numbers, Weights };

  std::vector<Slot> slots() const {
    std::vector<Slot> all;
    for (const KnownSizes &known : graph_.known) {
      bool isProduct = graph_.isProduct && hashText(known.name) % 2;
      all.push_back({known.name, isProduct ? Method::Products : Method::Repeats,
                     0, &known.values, graph_.depth});
    }
    size_t count = std::min(graph_.slots, slotsOf(graph_.axes));
    for (size_t i = 0; i < count; ++i)
      for (Method method : {Method::Repeats, Method::Products})
        if (isTaken(i, method))
          all.push_back({"drawn-" + std::to_string(i), method, i});
    // Larger than others by the limits of the depth.
    bool hasMore = selection_.depth == Depth::Full && count > 0;
    for (size_t i = 0; i < 2 && hasMore; ++i)
      all.push_back({"full-" + std::to_string(i),
                     graph_.isProduct ? Method::Products : Method::Repeats, i,
                     nullptr, Depth::Full});
    return all;
  }

  /// Both methods where all sizes are large, then one after the other.
  bool isTaken(size_t slot, Method method) const {
    if (!graph_.isProduct)
      return method == Method::Repeats;
    return slot == 1 || (slot % 2 == 0) == (method == Method::Products);
  }

  std::vector<Slot> statics() const {
    std::vector<Slot> all;
    for (size_t i = 0; i < graph_.statics; ++i)
      all.push_back(
          {"drawn-" + std::to_string(i),
           graph_.isProduct && i % 2 == 0 ? Method::Products : Method::Repeats,
           i});
    return all;
  }

  /// The graph with a symbol for each axis that is not in `numbers`.
  CaseBuilder builderOf(const std::string &variant,
                        const SymbolValues &numbers) const {
    CaseBuilder builder(sink_, graph_.op, graph_.dtype, variant, graph_.tags);
    for (const Axis &axis : graph_.axes)
      if (!numbers.contains(axis.symbol))
        builder.symbol(axis.symbol);
    graph_.build(builder, [&](const char *name) {
      auto number = numbers.find(name);
      return number == numbers.end() ? Dim::symbol(name) : Dim(number->second);
    });
    return builder;
  }

  /// Values of the axes that must be numbers.
  SymbolValues numbersOf(const SymbolValues &sizes) const {
    SymbolValues numbers;
    for (const auto &[name, value] : sizes)
      if (contains(graph_.numbers, name))
        numbers.emplace(name, value);
    return numbers;
  }

  const char *dataSetOf(const Slot &slot) const {
    bool isExact = graph_.exactData && slot.number % 2 == 0;
    return isExact ? graph_.exactData : graph_.dataSet;
  }

  Limits limitsFor(const Slot &slot) const {
    Limits limits = limitsOf(slot.depth, selection_.budget);
    bool isFirst = !slot.known && slot.number == 0 && graph_.isLargest;
    if (!isFirst) {
      limits.work *= graph_.share;
      limits.elements *= graph_.share;
    }
    if (graph_.hasLargeBuffers)
      limits.elements = limits.work;
    limits.bytes = static_cast<double>(selection_.bufferBytes);
    return limits;
  }

  SymbolValues sizesOf(const Slot &slot, const std::string &variant) const {
    uint64_t seed =
        seedOf(selection_, graph_.op + "/" + std::string(name(graph_.dtype)) +
                               variant + slot.name);
    Limits limits = limitsFor(slot);
    auto isIn = [&](const Graph &graph, const SymbolValues &sizes) {
      return isWithin(limits, graph, sizes) &&
             (slot.method == Method::Products ||
              isWithinOracle(graph, graph_.repeated, sizes,
                             graph_.oracleElements));
    };
    auto fits = [&](const SymbolValues &sizes) {
      return model_ ? isIn(*model_, sizes)
                    : isIn(builderOf(variant, numbersOf(sizes)).graph(), sizes);
    };
    return slot.known ? fitSizes(graph_.axes, *slot.known, fits)
                      : drawSizes(graph_.axes, slot.number, seed, fits);
  }

  void putUnit(const std::string &variant, const std::vector<Slot> &slots,
               Form form) const {
    SymbolValues first = sizesOf(slots.front(), variant);
    CaseBuilder builder = builderOf(variant, numbersOf(first));
    for (const Slot &slot : slots) {
      SymbolValues sizes =
          &slot == &slots.front() ? first : sizesOf(slot, variant);
      bool isProduct = slot.method == Method::Products;
      builder.addLarge(slot.name + std::string(suffixOf(slot.method)),
                       isProduct ? "integers" : dataSetOf(slot), slot.method,
                       std::move(sizes), slot.depth);
    }
    builder.makeLarge({.model = {},
                       .repeated = graph_.repeated,
                       .weights = form == Form::Weights
                                      ? graph_.weights
                                      : std::vector<size_t>()},
                      form != Form::Symbols);
    builder.finish();
  }

  const Sink &sink_;
  const Selection &selection_;
  const LargeGraph &graph_;
  std::optional<Graph> model_; ///< where no axis must be a number
};

} // namespace

void askForEveryElement(LargeGraph &graph) {
  graph.repeated.clear();
  graph.oracleElements = maxElements;
  graph.share = 1;
  graph.slots = 1;
  graph.statics = 0;
}

void makeLarge(const Sink &sink, const LargeGraph &graph) {
  Family(sink, graph).run();
}

void makeModelSizes(const Sink &sink) {
  for (auto *part :
       {makeModelProducts, makeModelConvolutions, makeModelLines,
        makeModelMovement, makeModelRandom, makeModelElementwise, makeDrawn})
    part(sink);
}

} // namespace backplane::conformance
