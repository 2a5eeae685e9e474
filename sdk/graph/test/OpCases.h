// SPDX-License-Identifier: Apache-2.0
//
// OpCases.h: uses of every op, as tables.
#ifndef BACKPLANE_GRAPH_TEST_OPCASES_H
#define BACKPLANE_GRAPH_TEST_OPCASES_H

#include "TestGraphs.h"

namespace backplane::test {

struct OpCase {
  std::string op;
  std::vector<std::string> operands;
  Attributes attributes;
  std::string expected;
};

/// `expected` holds the result types.
std::vector<OpCase> goodCases();
/// `expected` holds the number of the broken constraint, "C1".
std::vector<OpCase> badCases();
/// `expected` holds the whole message: counts, dtypes and attributes.
std::vector<OpCase> wrongUses();

} // namespace backplane::test

#endif // BACKPLANE_GRAPH_TEST_OPCASES_H
