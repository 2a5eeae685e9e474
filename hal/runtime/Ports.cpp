// SPDX-License-Identifier: Apache-2.0
#include "Ports.h"

namespace backplane::rt {

PortBinder::PortBinder(std::shared_ptr<Device> device,
                       std::shared_ptr<Budget> budget,
                       std::shared_ptr<Buffer> nothing, size_t portCount)
    : device_(std::move(device)), budget_(std::move(budget)),
      nothing_(std::move(nothing)), imports_(portCount * importsPerPort),
      next_(portCount, 0) {
  // A CPU reaches memory through the pointer itself, so an import stays right
  // when the application frees the memory and gets the same address again.
  // Another device may have pinned the old pages.
  const bp_device_info_t &info = device_->info().c();
  keepsImports_ = info.kind == BP_DEVICE_KIND_CPU &&
                  (info.flags & BP_DEVICE_UNIFIED_MEMORY) != 0;
  // One with memory of its own copies what it reads anyway. Pinning pages for
  // that costs more than another copy, and ends what was recorded for them.
  usesImports_ = !isDiscrete(*device_);
}

std::shared_ptr<Buffer> PortBinder::import(size_t port, void *data,
                                           uint64_t bytes, bool readOnly) {
  if (!usesImports_)
    return nullptr;
  if (!keepsImports_)
    return device_->import(data, bytes, readOnly);
  Import *known = &imports_[port * importsPerPort];
  for (size_t i = 0; i < importsPerPort; ++i)
    if (known[i].data == data && known[i].bytes == bytes)
      return known[i].buffer;
  Import &slot = known[next_[port]];
  next_[port] = uint8_t((next_[port] + 1) % importsPerPort);
  slot = {data, bytes, device_->import(data, bytes, readOnly)};
  return slot.buffer;
}

Result<std::shared_ptr<Buffer>> PortBinder::stage(uint64_t bytes) {
  auto best = idleStaging_.end();
  for (auto it = idleStaging_.begin(); it != idleStaging_.end(); ++it)
    if ((*it)->size() >= bytes && (*it)->size() / 2 <= bytes &&
        (best == idleStaging_.end() || (*it)->size() < (*best)->size()))
      best = it;
  if (best != idleStaging_.end()) {
    std::shared_ptr<Buffer> buffer = std::move(*best);
    idleStaging_.erase(best);
    return buffer;
  }
  Result<std::shared_ptr<Buffer>> fresh =
      allocate(*device_, budget_, Use::Staging, bytes);
  if (fresh || idleStaging_.empty())
    return fresh;
  // Idle buffers of other sizes may be what is in the way.
  idleStaging_.clear();
  return allocate(*device_, budget_, Use::Staging, bytes);
}

Status PortBinder::bindInput(size_t port, void *data, uint64_t bytes,
                             PortMemory &memory) {
  memory = {};
  memory.buffer = bytes ? import(port, data, bytes, true) : nothing_;
  if (memory.buffer)
    return {};
  Result<std::shared_ptr<Buffer>> staging = stage(bytes);
  if (!staging)
    return staging.status();
  memory.buffer = std::move(*staging);
  memory.staged = true;
  return memory.buffer->write(
      0, {static_cast<const uint8_t *>(data), size_t(bytes)});
}

Status PortBinder::bindOutput(size_t port, void *data, uint64_t bytes,
                              PortMemory &memory) {
  memory = {};
  memory.buffer = bytes ? import(port, data, bytes, false) : nothing_;
  if (memory.buffer)
    return {};
  Result<std::shared_ptr<Buffer>> staging = stage(bytes);
  if (!staging)
    return staging.status();
  memory = {std::move(*staging), 0, true, data, bytes};
  return {};
}

void PortBinder::release(PortMemory &memory) {
  constexpr size_t maxIdle = 64;
  if (memory.staged && memory.buffer && idleStaging_.size() < maxIdle)
    idleStaging_.push_back(std::move(memory.buffer));
  memory = {};
}

} // namespace backplane::rt
