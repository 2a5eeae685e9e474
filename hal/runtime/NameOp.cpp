// SPDX-License-Identifier: Apache-2.0
//
// NameOp.cpp: "op 3: …" of a device becomes the names of the model's ops.
#include "NameOp.h"

#include <algorithm>
#include <charconv>

namespace backplane::rt {
namespace {

struct OpMention {
  size_t begin = 0, end = 0; ///< of "op N: " in the message
  uint32_t op = 0;
};

/// The first "op N: " that starts the message or one of its parts.
std::optional<OpMention> findOp(std::string_view message) {
  for (size_t at = message.find("op "); at != std::string_view::npos;
       at = message.find("op ", at + 1)) {
    if (at != 0 && !message.substr(0, at).ends_with(": "))
      continue;
    OpMention mention{at, 0, 0};
    const char *first = message.data() + at + 3;
    const char *last = message.data() + message.size();
    auto [next, error] = std::from_chars(first, last, mention.op);
    if (error != std::errc() || !std::string_view(next, last).starts_with(": "))
      continue;
    mention.end = size_t(next - message.data()) + 2;
    return mention;
  }
  return std::nullopt;
}

std::string opName(const program::Dispatch &dispatch) {
  return dispatch.ops.empty() ? dispatch.name
                              : eachOnce(dispatch.ops, " or ") + " (dispatch " +
                                    dispatch.name + ")";
}

} // namespace

Status nameOp(const Status &failure, const Program &program) {
  std::optional<OpMention> mention = findOp(failure.message());
  if (!mention || mention->op == 0 || mention->op > program.commands.size())
    return failure;
  const auto *dispatch =
      std::get_if<program::Dispatch>(&program.commands[mention->op - 1]);
  if (!dispatch)
    return failure;
  return Status(failure.code(), opName(*dispatch) + ": " +
                                    failure.message().substr(mention->end));
}

std::string eachOnce(std::span<const std::string> ops,
                     std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < ops.size(); ++i)
    if (!std::ranges::count(ops.first(i), ops[i]))
      text += (i ? std::string(separator) : "") + ops[i];
  return text;
}

} // namespace backplane::rt
