// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"

#include "Error.h"

#include <algorithm>
#include <numeric>

namespace emulator {
namespace {

// Instructions of a warp before the next one has its turn: a warp that waits
// for memory that another one writes must not keep it from running.
constexpr uint64_t kTurn = 20000;

} // namespace

const Allocation *Launch::find(uint64_t address, uint64_t size) {
  for (const Allocation *known : recent)
    if (known && known->contains(address, size))
      return known;
  const Allocation *found = memory().find(address);
  if (!found || found->freed || !found->contains(address, size) ||
      (found->device >= 0 && found->device != device))
    return nullptr;
  recent[nextRecent++ % recent.size()] = found;
  return found;
}

void Launch::run() {
  uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
  ++counters.launches;
  recent = {};
  Block machine(*this);
  // The random schedule visits the blocks by steps that have no factor in
  // common with their number.
  uint64_t step = 1, from = 0;
  if (options.schedule == Schedule::Random && blocks > 2) {
    step = (options.seed * 0x9e3779b97f4a7c15u >> 33) % blocks | 1;
    while (std::gcd(step, blocks) != 1)
      step += 2;
    from = options.seed % blocks;
  }
  uint64_t at = from;
  for (uint64_t i = 0; i < blocks; ++i, at = (at + step) % blocks)
    machine.run(options.schedule == Schedule::Reversed ? blocks - 1 - i : at);
  counters.blocks += blocks;
}

void Launch::add(uint64_t instructions) {
  executed += instructions;
  if (options.total && executed > options.total)
    fail(CUDA_ERROR_LAUNCH_TIMEOUT,
         "kernel '" + kernel->name + "': the launch has executed " +
             std::to_string(executed) + " instructions, more than the limit " +
             std::to_string(options.total) + "; does a loop never end?");
}

Block::Block(Launch &launch) : launch(launch) {
  const Kernel &kernel = *launch.kernel;
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  uint32_t count = (threads + kLanes - 1) / kLanes;
  warps.resize(count);
  files.resize(size_t(count) * kernel.fileBytes + 64);
  poisons.resize(size_t(count) * kernel.registerCount + 1);
  locals.resize(size_t(threads + kLanes) * kernel.localBytes + 1);
  shared.configure(kernel.staticShared + launch.dynamicShared, kernel.granule,
                   launch.options.poison, launch.options.races,
                   kernel.readsAsync);
  auto address = reinterpret_cast<uintptr_t>(files.data());
  uint8_t *aligned = files.data() + ((64 - address % 64) % 64);
  for (uint32_t i = 0; i < count; ++i) {
    Warp &warp = warps[i];
    warp.file = aligned + size_t(i) * kernel.fileBytes;
    warp.poison = poisons.data() + size_t(i) * kernel.registerCount;
    warp.local = locals.data() + size_t(i) * kLanes * kernel.localBytes;
    warp.registers = kernel.registers.data();
    warp.launch = &launch;
    warp.block = this;
    warp.index = i;
    for (auto [reg, value] : kernel.constants)
      if (reg.width == 0) // a predicate: a bit for each lane
        std::memcpy(warp.file + reg.offset, &value, sizeof(kAll));
      else
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          std::memcpy(warp.file + reg.offset + size_t(lane) * reg.width, &value,
                      std::min<uint32_t>(reg.width, 8));
    fillSpecials(warp, true);
  }
}

// The special registers of a lane, in the order of `Special`.
std::array<uint64_t, size_t(Special::One) + 1>
Block::specialsOf(const Warp &warp, uint32_t lane) const {
  const uint32_t *dims = launch.block;
  const uint32_t *grid = launch.grid;
  uint32_t linear = warp.index * kLanes + lane;
  const uint64_t none = 0, one = 1;
  return {linear % dims[0],
          linear / dims[0] % dims[1],
          linear / dims[0] / dims[1],
          dims[0],
          dims[1],
          dims[2],
          id[0],
          id[1],
          id[2],
          grid[0],
          grid[1],
          grid[2],
          lane,
          warp.index,
          warps.size(),
          1u << lane,
          kAll >> (31 - lane),
          (1u << lane) - 1,
          kAll << lane,
          kAll << lane << 1,
          none, // %smid
          one,  // %nsmid
          none, // %gridid
          launch.dynamicShared,
          shared.data.size(),
          none,
          one};
}

void Block::fillSpecials(Warp &warp, bool constant) {
  for (auto [reg, special] : launch.kernel->specials) {
    bool isId = special >= Special::CtaidX && special <= Special::CtaidZ;
    if (isId == constant)
      continue;
    if (isId) {
      uint64_t value = id[size_t(special) - size_t(Special::CtaidX)];
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        std::memcpy(warp.file + reg.offset + size_t(lane) * reg.width, &value,
                    reg.width);
      continue;
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint64_t value = specialsOf(warp, lane)[size_t(special)];
      std::memcpy(warp.file + reg.offset + size_t(lane) * reg.width, &value,
                  reg.width);
    }
  }
}

void Block::reset(uint64_t linear) {
  const Kernel &kernel = *launch.kernel;
  id[0] = uint32_t(linear % launch.grid[0]);
  id[1] = uint32_t(linear / launch.grid[0] % launch.grid[1]);
  id[2] = uint32_t(linear / launch.grid[0] / launch.grid[1]);
  std::fill(poisons.begin(), poisons.end(), kAll);
  std::fill(locals.begin(), locals.end(), uint8_t(0xff));
  barriers = {};
  bulkCopies.clear();
  shared.reset();
  random = launch.options.seed * 0x2545f4914f6cdd1du + linear * 2 + 1;
  for (Warp &warp : warps) {
    for (auto [reg, value] : kernel.constants)
      warp.poison[reg.id] = 0;
    for (auto [reg, special] : kernel.specials)
      warp.poison[reg.id] = 0;
    uint32_t first = warp.index * kLanes;
    uint32_t count = std::min(kLanes, threads - first);
    warp.live = warp.lanes = kAll >> (kLanes - count);
    warp.pc = 0;
    warp.executed = 0;
    warp.state = WarpState::Ready;
    warp.splits.clear();
    warp.reduction = nullptr;
    warp.openCopies.clear();
    warp.copyGroups.clear();
    warp.openProducts = {};
    warp.productGroups.clear();
    warp.fenced = false;
    warp.touched.assign(kernel.productRegisters.size(), 0);
    fillSpecials(warp, false);
  }
}

uint64_t Block::draw() {
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}

// The next warp that can run, from `turn` on, or nullptr.
Warp *Block::choose(size_t &turn) {
  size_t count = warps.size();
  if (launch.options.schedule == Schedule::Random)
    turn = draw() % count;
  for (size_t i = 0; i < count; ++i) {
    size_t at = (turn + i) % count;
    if (launch.options.schedule == Schedule::Reversed)
      at = count - 1 - at;
    if (warps[at].state == WarpState::Ready) {
      turn += i;
      return &warps[at];
    }
  }
  return nullptr;
}

void Block::run(uint64_t linear) {
  reset(linear);
  size_t turn = 0;
  while (Warp *warp = choose(turn)) {
    bool isRandom = launch.options.schedule == Schedule::Random;
    uint64_t before = warp->executed;
    warp->run(isRandom ? 1 + draw() % 64 : kTurn);
    launch.add(warp->executed - before);
    ++turn;
  }
  for (const Warp &warp : warps)
    if (warp.state != WarpState::Done)
      deadlock();
}

void Block::deadlock() const {
  for (const Warp &warp : warps)
    if (warp.state == WarpState::AtBarrier)
      warp.fault(CUDA_ERROR_LAUNCH_FAILED,
                 uint32_t(std::countr_zero(warp.live)),
                 "warps wait at barriers that others never reach "
                 "(divergent barrier)");
  fail(CUDA_ERROR_LAUNCH_FAILED, "kernel '" + launch.kernel->name +
                                     "': no warp can run (divergent barrier)");
}

void Block::arrive(Warp &warp, uint32_t number, uint32_t expected, bool waits) {
  Barrier &barrier = barriers[number];
  ++launch.counters.barriers;
  barrier.expected = std::max(barrier.expected, expected);
  barrier.arrived += kLanes;
  warp.barrier = number;
  if (waits)
    warp.state = WarpState::AtBarrier;
  complete(number);
}

void Block::complete(uint32_t number) {
  Barrier &barrier = barriers[number];
  uint32_t living = 0;
  for (const Warp &warp : warps)
    living += warp.state == WarpState::Done ? 0 : kLanes;
  uint32_t needed = barrier.expected ? barrier.expected : living;
  if (!barrier.arrived || barrier.arrived < needed)
    return;
  for (Warp &warp : warps) {
    if (warp.state != WarpState::AtBarrier || warp.barrier != number)
      continue;
    warp.state = WarpState::Ready;
    if (const Inst *inst = warp.reduction) {
      const Reg &result = warp.reg(*inst, 0);
      if (!result.width) {
        uint32_t value = inst->a == 1 ? barrier.all : barrier.any;
        uint32_t &known = *warp.at<uint32_t>(result);
        known = (known & ~warp.lanes) | (value ? warp.lanes : 0);
      } else {
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          warp.at<uint32_t>(result)[lane] = barrier.count;
      }
      warp.reduction = nullptr;
    }
  }
  barrier = {};
  shared.separate();
}

void Block::warpIsDone() {
  for (uint32_t i = 0; i < barriers.size(); ++i)
    if (barriers[i].arrived)
      complete(i);
}

} // namespace emulator
