// SPDX-License-Identifier: Apache-2.0
#include "ShapeInput.h"

namespace backplane::frontend {

Dim requireSize(Node &node, const KnownElement &element,
                std::string_view what) {
  std::optional<int64_t> value = element.value.constant();
  if (value && *value < 0)
    node.reject("its " + std::string(what) + " has the entry " +
                std::to_string(*value) + ", which is negative");
  if (!value && !element.nonNegative)
    node.require(max(element.value, Dim(0)), element.value,
                 std::string(what) + " must not be negative");
  return element.value;
}

Dims requireSizes(Node &node, size_t input, std::string_view what) {
  const Known *known = node.requireKnown(input, what);
  if (known && known->dims.size() != 1)
    node.reject("its " + std::string(what) + " has rank " +
                std::to_string(known->dims.size()) + ", but must have rank 1");
  Dims dims;
  if (node.ok())
    for (const KnownElement &element : known->elements)
      dims.push_back(requireSize(node, element, what));
  checkCount(node, dims);
  return dims;
}

void checkCount(Node &node, const Dims &dims) {
  std::vector<int64_t> fixed;
  for (const Dim &dim : dims) {
    if (!dim.valid())
      node.refuse("a size is too large to express");
    if (dim.constant())
      fixed.push_back(*dim.constant());
  }
  Result<int64_t> count = elementCount(fixed);
  if (!count.ok())
    node.fail(count.status());
}

} // namespace backplane::frontend
