// SPDX-License-Identifier: Apache-2.0
#include "Memory.h"

#include <numeric>

namespace backplane::rt {
namespace {

constexpr const char *useNames[] = {"weights", "constants", "variables",
                                    "arena",   "staging",   "values"};
/// What any device asks of the offset of a binding at most.
constexpr uint64_t pieceAlignment = 256;

} // namespace

bool isDiscrete(const Device &device) {
  return device.info().c().flags & BP_DEVICE_DISCRETE;
}

uint64_t Budget::total() const {
  std::lock_guard lock(mutex_);
  return std::accumulate(used_.begin(), used_.end(), uint64_t(0));
}

Status Budget::take(Use use, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  uint64_t total = std::accumulate(used_.begin(), used_.end(), uint64_t(0));
  if (limit_ != 0 && (total > limit_ || bytes > limit_ - total)) {
    std::string parts;
    for (size_t i = 0; i < used_.size(); ++i)
      if (used_[i] != 0)
        parts += (parts.empty() ? "" : ", ") + std::string(useNames[i]) + " " +
                 std::to_string(used_[i]);
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  std::string("memory budget of ") + std::to_string(limit_) +
                      " bytes: " + std::to_string(bytes) + " are needed for " +
                      useNames[size_t(use)] + ", " + std::to_string(total) +
                      " are in use" +
                      (parts.empty() ? "" : " (" + parts + ")") +
                      "; raise the budget or use smaller shapes");
  }
  used_[size_t(use)] += bytes;
  return {};
}

void Budget::give(Use use, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  used_[size_t(use)] -= bytes;
}

Result<std::shared_ptr<Buffer>> allocate(Device &device,
                                         const std::shared_ptr<Budget> &budget,
                                         Use use, uint64_t bytes) {
  if (Status s = budget->take(use, bytes); !s.ok())
    return s;
  Result<std::shared_ptr<Buffer>> buffer = device.allocate(
      bytes, use == Use::Staging ? BP_SPACE_STAGING : BP_SPACE_DEVICE);
  if (!buffer) {
    budget->give(use, bytes);
    return buffer.status().within("cannot allocate " + std::to_string(bytes) +
                                  " bytes for " + useNames[size_t(use)]);
  }
  Buffer *raw = buffer->get();
  return std::shared_ptr<Buffer>(
      raw, [owner = std::move(*buffer), budget, use, bytes](Buffer *) mutable {
        owner.reset();
        budget->give(use, bytes);
      });
}

Result<Pieces> allocatePieces(Device &device,
                              const std::shared_ptr<Budget> &budget, Use use,
                              const std::map<uint32_t, uint64_t> &sizes) {
  Pieces pieces;
  uint64_t end = 0;
  for (auto [number, bytes] : sizes) {
    pieces.offsets[number] = end;
    if (bytes > (uint64_t(1) << 61) || end > (uint64_t(1) << 61))
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    std::string(useNames[size_t(use)]) + " overflow");
    end += (bytes + pieceAlignment - 1) / pieceAlignment * pieceAlignment;
  }
  if (end == 0)
    return pieces;
  Result<std::shared_ptr<Buffer>> buffer = allocate(device, budget, use, end);
  if (!buffer)
    return buffer.status();
  pieces.buffer = std::move(*buffer);
  return pieces;
}

Status clear(Buffer &buffer, uint64_t offset, uint64_t bytes) {
  static const std::vector<uint8_t> zeros(1 << 16, 0);
  while (bytes > 0) {
    uint64_t size = std::min<uint64_t>(bytes, zeros.size());
    if (Status s = buffer.write(offset, std::span(zeros).first(size)); !s.ok())
      return s;
    offset += size;
    bytes -= size;
  }
  return {};
}

} // namespace backplane::rt
