// SPDX-License-Identifier: Apache-2.0
#include "Taken.h"

namespace backplane::frontend {

ValueId takenPositions(Node &node, ValueId mask, const Dim &count) {
  ValueId ones = node.cast(mask, DType::I64);
  ValueId total = node.reduce("sum", ones, {0}, false);
  if (!node.ok())
    return kNone;
  auto taken = node.importer().read(total, count, node.outputName(0) + "_count",
                                    node.location());
  if (!taken) {
    node.fail(taken.status());
    return kNone;
  }
  // The others go to one more element at the end, which is cut off.
  ValueId before = node.op("cumulative", {ones},
                           {{"kind", std::string("sum")},
                            {"axis", int64_t(0)},
                            {"exclusive", int64_t(1)},
                            {"reverse", int64_t(0)}});
  ValueId target = node.op(
      "select", {mask, before, node.fillDim(DType::I64, *taken, {count})});
  ValueId all =
      node.op("scatter",
              {node.fillInteger(DType::I64, 0, {*taken + 1}), target,
               node.counter({count}, 0)},
              {{"axis", int64_t(0)}, {"combine", std::string("none")}});
  return node.slice(all, {0}, {*taken});
}

} // namespace backplane::frontend
