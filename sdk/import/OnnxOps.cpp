// SPDX-License-Identifier: Apache-2.0
#include "OnnxOps.h"

#include "OnnxHandlers.h"

#include <algorithm>
#include <charconv>

namespace backplane::frontend {

namespace {
#include "OnnxTable.inc"
} // namespace

std::span<const OnnxOp> onnxOps() { return kOps; }

const OnnxOp *findOnnxOp(std::string_view name) {
  std::span<const OnnxOp> ops = onnxOps();
  auto found = std::lower_bound(
      ops.begin(), ops.end(), name,
      [](const OnnxOp &op, std::string_view key) { return op.name < key; });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

namespace {

/// "name@7-12" taken apart.
struct AttributeRange {
  std::string_view name;
  int64_t since = kOldestOpset, until = kNewestOpset;
};

int64_t toNumber(std::string_view text, int64_t otherwise) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

AttributeRange parseRange(std::string_view text) {
  size_t at = text.find('@');
  AttributeRange range{text.substr(0, at)};
  if (at == std::string_view::npos)
    return range;
  text.remove_prefix(at + 1);
  range.since = toNumber(text, range.since);
  if (size_t dash = text.find('-'); dash != std::string_view::npos)
    range.until = toNumber(text.substr(dash + 1), range.until);
  return range;
}

} // namespace

bool allowsAttribute(const OnnxOp &op, std::string_view attribute,
                     int64_t opset) {
  std::string_view list = op.attributes;
  while (!list.empty()) {
    size_t space = std::min(list.find(' '), list.size());
    AttributeRange range = parseRange(list.substr(0, space));
    if (range.name == attribute && opset >= range.since && opset <= range.until)
      return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

} // namespace backplane::frontend
