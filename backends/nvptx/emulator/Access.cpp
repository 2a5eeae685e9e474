// SPDX-License-Identifier: Apache-2.0
#include "Access.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace emulator {
namespace {

const char *verb(Use use) {
  return use == Use::Read    ? "reads "
         : use == Use::Write ? "writes "
                             : "changes ";
}

std::string hex(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, address);
  return text;
}

template <class F> void eachLane(uint32_t lanes, F &&visit) {
  for (; lanes; lanes &= lanes - 1)
    visit(uint32_t(std::countr_zero(lanes)));
}

} // namespace

Access::Access(Warp &warp, const Inst &inst, uint32_t operand, uint32_t size,
               Use use, uint32_t undefined)
    : space(inst.space), warp(warp), size(size), use(use) {
  addresses(inst, operand);
  check(undefined);
}

Access::Access(Warp &warp, Space where, const uint64_t *addresses,
               uint32_t size, Use use)
    : space(where), warp(warp), size(size), use(use) {
  std::copy_n(addresses, kLanes, address);
  checkAlignment();
  check(0);
}

void Access::check(uint32_t undefined) {
  if (space == Space::Generic) {
    generic(undefined);
    return;
  }
  pattern();
  switch (space) {
  case Space::Shared:
    shared(warp.mask, undefined);
    break;
  case Space::Local:
    local(warp.mask);
    break;
  case Space::Param:
    param(warp.mask);
    break;
  default:
    global(warp.mask);
  }
}

void Access::addresses(const Inst &inst, uint32_t operand) {
  const Reg &reg = warp.reg(inst, operand);
  const uint64_t offset = uint64_t(inst.offset);
  if (reg.width == 8) {
    const uint64_t *from = warp.at<uint64_t>(reg);
    for (uint32_t i = 0; i < kLanes; ++i)
      address[i] = from[i] + offset;
  } else {
    const uint32_t *from = warp.at<uint32_t>(reg);
    for (uint32_t i = 0; i < kLanes; ++i)
      address[i] = from[i] + offset;
  }
  checkAlignment();
}

// Natural alignment of the whole access.
void Access::checkAlignment() {
  uint64_t low = 0;
  const uint32_t mask = warp.mask;
  for (uint32_t i = 0; i < kLanes; ++i)
    low |= mask >> i & 1 ? address[i] : 0;
  if (low & (size - 1))
    eachLane(mask, [&](uint32_t lane) {
      if (address[lane] & (size - 1))
        warp.fault(CUDA_ERROR_MISALIGNED_ADDRESS, lane,
                   "the address " + hex(address[lane]) +
                       " is not a multiple of " + std::to_string(size));
    });
}

// How the addresses follow each other.
void Access::pattern() {
  uint32_t first = uint32_t(std::countr_zero(warp.mask));
  uint64_t same = 0, following = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint64_t differs = address[i] ^ address[first];
    same |= warp.mask >> i & 1 ? differs : 0;
    following |= address[i] ^ (address[0] + uint64_t(i) * size);
  }
  uniform = !same;
  contiguous = warp.mask == kAll && !following;
}

void Access::outside(uint32_t lane, const std::string &where) const {
  warp.fault(CUDA_ERROR_ILLEGAL_ADDRESS, lane,
             verb(use) + std::to_string(size) + " bytes at " +
                 hex(address[lane]) + ", " + where);
}

void Access::global(uint32_t lanes) {
  Launch &launch = *warp.launch;
  Counters &counters = launch.counters;
  uint64_t bytes = uint64_t(std::popcount(lanes)) * size;
  (use == Use::Read ? counters.global_load_bytes
                    : counters.global_store_bytes) += bytes;
  ++counters.global_requests;
  if (contiguous) {
    if (const Allocation *found =
            launch.find(address[0], uint64_t(size) * kLanes)) {
      uint8_t *base = found->host + (address[0] - found->base);
      for (uint32_t i = 0; i < kLanes; ++i)
        pointer[i] = base + size_t(i) * size;
      counters.global_sectors +=
          ((address[0] + bytes - 1) >> 5) - (address[0] >> 5) + 1;
      counters.global_ideal_sectors += (bytes + 31) / 32;
      return;
    }
    contiguous = false;
  }
  const Allocation *last = nullptr;
  eachLane(lanes, [&](uint32_t i) {
    if (!last || !last->contains(address[i], size))
      last = launch.find(address[i], size);
    if (!last)
      outside(i, memory().describe(address[i]));
    pointer[i] = last->host + (address[i] - last->base);
  });
  countSectors(lanes);
}

void Access::countSectors(uint32_t lanes) {
  uint64_t sectors[kLanes * 2];
  uint64_t starts[kLanes];
  uint32_t count = 0, distinct = 0;
  auto add = [](uint64_t *list, uint32_t &used, uint64_t value) {
    for (uint32_t i = used; i-- > 0;)
      if (list[i] == value)
        return;
    list[used++] = value;
  };
  eachLane(lanes, [&](uint32_t i) {
    add(sectors, count, address[i] >> 5);
    add(starts, distinct, address[i]);
  });
  warp.launch->counters.global_sectors += count;
  warp.launch->counters.global_ideal_sectors +=
      (uint64_t(distinct) * size + 31) / 32;
}

// Further passes that one pass through the 32 banks leaves over: different
// words of a bank need one each.
uint32_t Access::conflicts(uint32_t lanes, uint32_t words) const {
  uint64_t first[32];
  uint32_t used = 0;
  bool single = true;
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    for (uint32_t k = 0; k < words; ++k) {
      uint64_t word = (address[std::countr_zero(rest)] >> 2) + k;
      uint32_t bank = word & 31;
      if (!(used >> bank & 1))
        first[bank] = word;
      used |= 1u << bank;
      single &= first[bank] == word;
    }
  if (single)
    return 0;
  uint64_t seen[32][32];
  uint8_t counts[32] = {};
  uint32_t passes = 1;
  eachLane(lanes, [&](uint32_t i) {
    for (uint32_t k = 0; k < words; ++k) {
      uint64_t word = (address[i] >> 2) + k;
      uint64_t *list = seen[word & 31];
      uint8_t &count = counts[word & 31];
      if (std::find(list, list + count, word) == list + count)
        list[count++] = word;
      passes = std::max<uint32_t>(passes, count);
    }
  });
  return passes - 1;
}

// A pass serves all lanes with 4 bytes, half of them with 8, a quarter with 16.
void Access::countBanks(uint32_t lanes) {
  Counters &counters = warp.launch->counters;
  uint32_t words = std::max(1u, size / 4);
  uint32_t group = kLanes / words;
  for (uint32_t from = 0; from < kLanes; from += group) {
    uint32_t some = lanes & ((group == 32 ? kAll : (1u << group) - 1) << from);
    if (!some)
      continue;
    ++counters.shared_accesses;
    counters.shared_conflicts += conflicts(some, words);
  }
}

void Access::shared(uint32_t lanes, uint32_t undefined) {
  SharedMemory &memory = warp.block->shared;
  Counters &counters = warp.launch->counters;
  uint64_t bytes = uint64_t(std::popcount(lanes)) * size;
  (use == Use::Read ? counters.shared_load_bytes
                    : counters.shared_store_bytes) += bytes;
  const uint64_t end = memory.data.size();
  eachLane(lanes, [&](uint32_t i) {
    if (address[i] > end || size > end - address[i])
      outside(i, "the block has " + std::to_string(end) +
                     " bytes of shared memory");
    pointer[i] = memory.data.data() + address[i];
  });
  auto wrong = [&](uint32_t lane, uint32_t count) {
    return use == Use::Read ? memory.read(address[lane], count, warp.index)
           : use == Use::Write
               ? memory.write(address[lane], count, warp.index,
                              !(undefined >> lane & 1))
               : memory.atomic(address[lane], count, warp.index);
  };
  auto check = [&](uint32_t lane) {
    if (const char *text = wrong(lane, size))
      warp.fault(CUDA_ERROR_LAUNCH_FAILED, lane,
                 verb(use) + std::to_string(size) + " bytes at " +
                     hex(address[lane]) + ": " + text);
  };
  if (contiguous && !undefined) {
    counters.shared_accesses += std::max(1u, size / 4);
    if (!wrong(0, size * kLanes))
      return;
  }
  if (uniform && use == Use::Read) {
    ++counters.shared_accesses;
    check(uint32_t(std::countr_zero(lanes)));
    return;
  }
  countBanks(lanes);
  uint64_t last = ~uint64_t(0);
  eachLane(lanes, [&](uint32_t lane) {
    // Reading the same again tells nothing new.
    if (use != Use::Read || address[lane] != last)
      check(lane);
    last = address[lane];
  });
}

void Access::local(uint32_t lanes) {
  const uint64_t end = warp.launch->kernel->localBytes;
  warp.launch->counters.local_bytes += uint64_t(std::popcount(lanes)) * size;
  contiguous = false;
  eachLane(lanes, [&](uint32_t i) {
    if (address[i] > end || size > end - address[i])
      outside(i, "the thread has " + std::to_string(end) +
                     " bytes of local memory");
    pointer[i] = warp.local + size_t(i) * end + address[i];
  });
}

void Access::param(uint32_t lanes) {
  std::vector<uint8_t> &parameters = warp.launch->parameters;
  const uint64_t end = parameters.size();
  contiguous = false;
  eachLane(lanes, [&](uint32_t i) {
    if (address[i] > end || size > end - address[i])
      outside(i,
              "the kernel has " + std::to_string(end) + " bytes of parameters");
    if (use != Use::Read)
      outside(i, "parameters cannot be written");
    pointer[i] = parameters.data() + address[i];
  });
}

// Each lane goes to the space whose window its address is in.
void Access::generic(uint32_t undefined) {
  uint32_t lanesOf[5] = {};
  eachLane(warp.mask, [&](uint32_t i) {
    uint64_t window = windowOf(address[i]);
    if (window > kParamWindow)
      outside(i, memory().describe(address[i]));
    lanesOf[window <= kDeviceWindow ? 0 : window] |= 1u << i;
    if (window > kDeviceWindow)
      address[i] &= windowBase(1) - 1;
  });
  pattern();
  auto run = [&](uint32_t lanes, Space where, auto member) {
    if (!lanes)
      return;
    if (lanes == warp.mask)
      space = where;
    else
      contiguous = uniform = false;
    (this->*member)(lanes);
  };
  uint32_t inShared = lanesOf[kSharedWindow];
  run(lanesOf[0], Space::Global, &Access::global);
  run(lanesOf[kLocalWindow], Space::Local, &Access::local);
  run(lanesOf[kParamWindow], Space::Param, &Access::param);
  if (inShared) {
    if (inShared == warp.mask)
      space = Space::Shared;
    else
      contiguous = uniform = false;
    shared(inShared, undefined);
  }
}

} // namespace emulator
