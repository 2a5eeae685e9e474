// SPDX-License-Identifier: Apache-2.0
#include "Memory.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

namespace emulator {
namespace {

// Memory up to this size is filled; beyond it is zeros that cost nothing until
// they are touched.
constexpr uint64_t kFilled = uint64_t(256) << 20;

std::string name(const Allocation &a) {
  char text[160];
  std::snprintf(text, sizeof(text),
                "buffer %" PRIu64 " (%s, %" PRIu64 " bytes at 0x%" PRIx64 "%s)",
                a.number, a.kind, a.bytes, a.base, a.freed ? ", freed" : "");
  return text;
}

} // namespace

uint64_t Memory::allocate(uint64_t bytes, int device, const char *kind) {
  void *host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED)
    return 0;
  if (bytes <= kFilled)
    std::memset(host, 0xff, bytes);
  std::scoped_lock lock(mutex);
  auto made = std::make_unique<Allocation>();
  *made = {next,  bytes, static_cast<uint8_t *>(host), device, kind, ++count,
           false, true};
  // Neighbours are at least 4 KiB apart: a small overrun hits no buffer.
  next += (bytes + 4096 + 511) & ~uint64_t(511);
  usedBytes[device] += bytes;
  uint64_t base = made->base;
  all[base] = std::move(made);
  return base;
}

void Memory::adopt(void *host, uint64_t bytes, const char *kind) {
  std::scoped_lock lock(mutex);
  auto made = std::make_unique<Allocation>();
  uint64_t base = reinterpret_cast<uint64_t>(host);
  *made = {base,  bytes, static_cast<uint8_t *>(host), -1, kind, ++count,
           false, false};
  all[base] = std::move(made);
}

bool Memory::release(uint64_t base) {
  std::scoped_lock lock(mutex);
  auto found = all.find(base);
  if (found == all.end() || found->second->freed)
    return false;
  Allocation &a = *found->second;
  usedBytes[a.device] -= a.bytes;
  if (a.mapped) {
    munmap(a.host, a.bytes);
    a.freed = true;
    a.host = nullptr;
    freed.push_back(base);
    if (freed.size() > kFreed) {
      all.erase(freed.front());
      freed.pop_front();
    }
  } else {
    // The host gives the same address to others.
    all.erase(found);
  }
  return true;
}

const Allocation *Memory::findLocked(uint64_t address) const {
  auto after = all.upper_bound(address);
  if (after == all.begin())
    return nullptr;
  const Allocation *a = std::prev(after)->second.get();
  return a->contains(address, 1) ? a : nullptr;
}

const Allocation *Memory::find(uint64_t address) {
  std::scoped_lock lock(mutex);
  return findLocked(address);
}

std::string Memory::describe(uint64_t address) {
  std::scoped_lock lock(mutex);
  char text[96];
  if (const Allocation *a = findLocked(address)) {
    std::snprintf(text, sizeof(text), "byte %" PRIu64 " of ",
                  address - a->base);
    return text + name(*a);
  }
  if (!address)
    return "a null pointer";
  auto after = all.upper_bound(address);
  if (after != all.begin()) {
    const Allocation &a = *std::prev(after)->second;
    uint64_t distance = address - a.base - a.bytes;
    if (distance < (1 << 20)) {
      std::snprintf(text, sizeof(text), "%" PRIu64 " bytes behind the end of ",
                    distance);
      return text + name(a);
    }
  }
  if (after != all.end() && after->second->base - address < (1 << 20)) {
    std::snprintf(text, sizeof(text), "%" PRIu64 " bytes in front of ",
                  after->second->base - address);
    return text + name(*after->second);
  }
  return "no buffer is near";
}

uint64_t Memory::used(int device) {
  std::scoped_lock lock(mutex);
  return usedBytes[device];
}

Memory &memory() {
  // Never destroyed: host code may free memory while the process ends.
  static Memory *instance = new Memory;
  return *instance;
}

} // namespace emulator
