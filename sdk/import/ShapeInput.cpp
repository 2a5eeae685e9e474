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

Dim requireSize(Node &node, const DataElement &element, std::string_view what,
                size_t at, std::optional<Dim> most,
                std::optional<size_t> axis) {
  if (element.known)
    return requireSize(node, *element.known, what);
  return readSize(node, element.value,
                  std::string(what) + "_" + std::to_string(at), std::move(most),
                  axis);
}

Dims requireSizes(Node &node, size_t input, std::string_view what) {
  std::vector<DataElement> elements = elementsOf(node, input, what);
  if (node.ok() && node.inputType(input).rank() != 1)
    node.reject("its " + std::string(what) + " has rank 0, but must have " +
                "rank 1");
  Dims dims;
  for (size_t i = 0; node.ok() && i < elements.size(); ++i)
    dims.push_back(requireSize(node, elements[i], what, i, std::nullopt, i));
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
