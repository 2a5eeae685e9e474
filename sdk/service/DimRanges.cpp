// SPDX-License-Identifier: Apache-2.0
#include "DimRanges.h"
#include "sdk/support/Joined.h"

#include <algorithm>

namespace backplane::rt {
namespace {

std::string textOf(int64_t minimum, int64_t maximum) {
  return std::to_string(minimum) + ".." +
         (maximum == INT64_MAX ? "" : std::to_string(maximum));
}

Status unknownSymbol(const Graph &graph, const std::string &name) {
  std::string list = joined(graph.symbols, ", ", &Symbol::name);
  return notFound("the model has no symbolic dim '" + name + "'; there is " +
                  (list.empty() ? "none" : list));
}

Status narrow(Symbol &symbol, const DimRange &range) {
  int64_t low = std::max(symbol.minimum, range.minimum);
  int64_t high = std::min(symbol.maximum, range.maximum);
  if (low > high)
    return invalidArgument("dim " + symbol.name + ": the model allows " +
                           textOf(symbol.minimum, symbol.maximum) + ", " +
                           textOf(range.minimum, range.maximum) +
                           " was asked for");
  symbol.minimum = low;
  symbol.maximum = high;
  return {};
}

/// A read is bounded by the range of its symbol, too, and by one of them.
Status boundRead(Graph &graph, Op &read) {
  std::string name = read.string("symbol");
  Dim bound = read.dims("bound")[0];
  for (const Symbol &symbol : graph.symbols)
    if (symbol.name == name && symbol.maximum != INT64_MAX)
      bound = min(bound, Dim(symbol.maximum));
  if (bound == Dim(INT64_MAX))
    return unimplemented(
        read.location + ": data decide the size " + name +
        ", and nothing shows how large it may be; give its range, as '--dim " +
        name + "=0..MAX' of bp compile or dims of the compile options");
  read.attributes["bound"] = Dims{bound};
  return {};
}

} // namespace

Status narrowDims(Graph &graph, std::span<const DimRange> ranges) {
  for (const DimRange &range : ranges) {
    if (range.minimum < 0 || range.maximum < range.minimum)
      return invalidArgument("dim " + range.symbol + ": the range " +
                             textOf(range.minimum, range.maximum) +
                             " is empty or negative; give MIN..MAX with 0 <= "
                             "MIN <= MAX");
    auto found = std::find_if(
        graph.symbols.begin(), graph.symbols.end(),
        [&](const Symbol &symbol) { return symbol.name == range.symbol; });
    if (found == graph.symbols.end())
      return unknownSymbol(graph, range.symbol);
    if (Status s = narrow(*found, range); !s.ok())
      return s;
  }
  for (Op &op : graph.ops)
    if (op.name == "read")
      if (Status s = boundRead(graph, op); !s.ok())
        return s;
  return {};
}

} // namespace backplane::rt
