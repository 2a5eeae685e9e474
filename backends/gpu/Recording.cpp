// SPDX-License-Identifier: Apache-2.0
#include "Recording.h"

#include <cstdio>

namespace backplane::gpu {

bool Recording::holds(std::span<const uint64_t> bound) const {
  return bound_ &&
         std::equal(bound.begin(), bound.end(), bound_->begin(), bound_->end());
}

Outcome Recording::firstError() const {
  Outcome outcome;
  for (size_t i = 0; i < ops_.size() && !outcome.status; ++i)
    if (uint32_t word = errorWord(i)) {
      plugin::KernelFailure failure = plugin::kernelFailure(word, ops_[i]);
      outcome.status = failure.code;
      std::snprintf(outcome.message, sizeof outcome.message, "op %u: %s",
                    failure.op, failure.what);
    }
  return outcome;
}

RecordingPool::Place RecordingPool::take(List &fresh) {
  List &from = idle.empty() ? fresh : idle;
  used.splice(used.end(), from, from.begin());
  return std::prev(used.end());
}

RecordingPool::Place RecordingPool::take(List &fresh,
                                         std::span<const uint64_t> bound) {
  constexpr size_t kept = 2;
  auto found = std::find_if(idle.begin(), idle.end(),
                            [&](const auto &one) { return one->holds(bound); });
  bool isFull = idle.size() + used.size() >= kept && !idle.empty();
  if (found == idle.end() && isFull)
    --found; // what has not run for longest
  if (found == idle.end())
    used.splice(used.end(), fresh, fresh.begin());
  else
    used.splice(used.end(), idle, found);
  return std::prev(used.end());
}

std::optional<uint32_t> unknownCommand(Commands commands) {
  for (const bp_header_t *command : commands)
    switch (command->type) {
    case bp_command_dispatch_t_TYPE:
    case bp_command_copy_t_TYPE:
    case bp_command_fill_t_TYPE:
    case bp_command_barrier_t_TYPE:
      break;
    default:
      return command->type;
    }
  return std::nullopt;
}

uint64_t scratchOf(const bp_command_dispatch_t &dispatch, uint64_t entryBytes) {
  uint64_t each =
      dispatch.workspace_bytes ? dispatch.workspace_bytes : entryBytes;
  uint64_t groups = 1;
  for (uint32_t size : dispatch.grid)
    groups = size && groups > maxScratch / size ? maxScratch : groups * size;
  return each && groups > maxScratch / each ? maxScratch : each * groups;
}

} // namespace backplane::gpu
