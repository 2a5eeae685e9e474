// SPDX-License-Identifier: Apache-2.0
#include "OnnxOps.h"

#include <algorithm>
#include <charconv>

namespace backplane::frontend {

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

/// Calls `visit` for each attribute until it returns true.
template <typename Visit>
bool anyAttribute(std::string_view list, Visit visit) {
  while (!list.empty()) {
    size_t space = std::min(list.find(' '), list.size());
    if (visit(parseRange(list.substr(0, space))))
      return true;
    list.remove_prefix(std::min(space + 1, list.size()));
  }
  return false;
}

std::string rangeText(int64_t since, int64_t until) {
  return std::to_string(since) +
         (until == kNewestOpset ? "+" : "–" + std::to_string(until));
}

std::string attributesText(const OnnxOp &op) {
  std::string text;
  anyAttribute(op.attributes, [&](const AttributeRange &range) {
    text += (text.empty() ? "`" : ", `") + std::string(range.name) + "`";
    if (range.since != kOldestOpset || range.until != kNewestOpset)
      text += " (" + rangeText(range.since, range.until) + ")";
    return false;
  });
  return text;
}

} // namespace

bool allowsAttribute(const OnnxOp &op, std::string_view attribute,
                     int64_t opset) {
  return anyAttribute(op.attributes, [&](const AttributeRange &range) {
    return range.name == attribute && opset >= range.since &&
           opset <= range.until;
  });
}

std::string onnxReferencePage() {
  std::string page =
      "<!-- Written by `bp-onnx --list` from sdk/import/OnnxTable.cpp; do not "
      "edit. -->\n"
      "# ONNX ops\n\n"
      "Models of the opsets " +
      std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) +
      " of the domain `ai.onnx` are imported. Any other op, domain, attribute "
      "or element type is refused by name.\n"
      "Opsets in parentheses are those in which an attribute exists.\n\n"
      "A node that takes several ops that round is computed in f32 where its "
      "inputs are narrower floats, and each output is rounded once; a bias of "
      "Gemm, Conv and ConvTranspose is added to the rounded product, whose "
      "sums "
      "are of f32.\n\n"
      "| op | opsets | attributes | limits |\n|---|---|---|---|\n";
  for (const OnnxOp &op : onnxOps())
    page += "| " + std::string(op.name) + " | " +
            rangeText(op.since, op.until) + " | " + attributesText(op) + " | " +
            std::string(op.note) + " |\n";
  return page;
}

} // namespace backplane::frontend
