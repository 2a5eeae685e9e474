// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the text of a dim. What is read comes back from its own text,
// and its value lies within its bounds.
#include "sdk/graph/Dim.h"

#include <cstdlib>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<Dim> dim = Dim::parse({reinterpret_cast<const char *>(data), size});
  if (!dim)
    return 0;
  Result<Dim> again = Dim::parse(dim->str());
  if (!again || !(*again == *dim))
    std::abort();
  std::set<std::string> names;
  dim->collectSymbols(names);
  SymbolValues values;
  SymbolRanges ranges;
  int64_t next = 1;
  for (const std::string &name : names) {
    values[name] = next;
    ranges[name] = {next / 2, next + 3};
    next = next * 3 + 1 < (int64_t(1) << 40) ? next * 3 + 1 : 2;
  }
  Result<int64_t> value = dim->evaluate(values);
  std::optional<Interval> bounds = dim->bounds(ranges);
  if (value && bounds && (*value < bounds->low || *value > bounds->high))
    std::abort();
  return 0;
}
