// SPDX-License-Identifier: Apache-2.0
//
// CheckRead.cpp: commands that define symbols from data.
#include "Check.h"

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

} // namespace

Status bindReads(const ArtifactInfo &artifact,
                 const std::set<std::string, std::less<>> &names,
                 Expressions &expressions) {
  for (const VariantInfo &variant : artifact.variants)
    for (const program::Command &command : variant.program.commands) {
      const auto *read = std::get_if<program::Read>(&command);
      if (!read)
        continue;
      const std::string &symbol = read->symbol;
      if (!names.contains(symbol))
        return bad("a command reads '" + symbol +
                   "', which is no symbol of the artifact");
      if (expressions.isBound(symbol) && !expressions.isRead(symbol))
        return bad("a command reads '" + symbol +
                   "', which an input axis gives");
      expressions.bindRead(symbol);
    }
  return {};
}

/// Defines its symbol, for the commands after it.
Status ProgramChecker::checkRead(const program::Read &read) {
  if (init || region)
    return bad("only the program of a variant reads symbols");
  if (read.slot >= program.slots.size())
    return bad("it names slot " + std::to_string(read.slot) + ", of " +
               std::to_string(program.slots.size()));
  std::optional<int64_t> bytes = slotBytes[read.slot];
  if (bytes != 8)
    return bad("it reads a slot of " +
               (bytes ? std::to_string(*bytes) : "no fixed number of") +
               " bytes, not of 8");
  if (Status s = checkExpression(read.bound, "bound", 0, INT64_MAX); !s.ok())
    return s;
  if (expressions.isBound(read.symbol))
    return bad("it reads '" + read.symbol + "', which has a value");
  expressions.bind(read.symbol);
  return {};
}

/// What the artifact and its slots use, the program has read.
Status ProgramChecker::checkReadsUsed() const {
  for (const PortInfo &output : artifact.outputs)
    for (const Dim &dim : output.type.dims)
      if (Status s = expressions.check(dim); !s.ok())
        return s.within("output '" + output.name + "'");
  for (const DimAssertion &check : artifact.checks)
    for (const Dim *side : {&check.lhs, &check.rhs})
      if (Status s = expressions.check(*side); !s.ok())
        return s.within("check '" + check.message + "'");
  for (size_t i = 0; i < program.slots.size(); ++i)
    if (program.slots[i].bytes)
      if (Status s = expressions.check(*program.slots[i].bytes); !s.ok())
        return s.within("slot " + std::to_string(i));
  return {};
}

} // namespace backplane
