// SPDX-License-Identifier: Apache-2.0
//
// NameOp.cpp: "op 3: …" of a device becomes the names of the model's ops.
#include "NameOp.h"
#include "sdk/package/Check.h"

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

std::string opName(const fb::Dispatch &dispatch) {
  std::string ops;
  for (uint32_t i = 0; i < count(dispatch.ops()); ++i)
    ops += (i ? " or " : "") + std::string(text(dispatch.ops()->Get(i)));
  std::string name(text(dispatch.name()));
  return ops.empty() ? name : ops + " (dispatch " + name + ")";
}

} // namespace

Status nameOp(const Status &failure, const fb::Program &program) {
  std::optional<OpMention> mention = findOp(failure.message());
  if (!mention || mention->op == 0 || mention->op > count(program.commands()))
    return failure;
  const auto *dispatch =
      program.commands()->Get(mention->op - 1)->body_as_Dispatch();
  if (!dispatch)
    return failure;
  return Status(failure.code(), opName(*dispatch) + ": " +
                                    failure.message().substr(mention->end));
}

} // namespace backplane::rt
