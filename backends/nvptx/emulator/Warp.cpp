// SPDX-License-Identifier: Apache-2.0
//
// Warp.cpp: the lanes of a warp that are at the same instruction run together.
// Where they part, those with the lowest program counter run first, so that
// they meet again where the ways join; lanes at an instruction that needs
// others wait.
#include "Error.h"
#include "Machine.h"

#include <algorithm>

namespace emulator {

void Warp::run(uint64_t budget) {
  const Inst *code = launch->kernel->code.data();
  Counters &counters = launch->counters;
  const bool checks = launch->options.poison;
  yields = false;
  for (; budget && state == WarpState::Ready && !yields; --budget) {
    if (!splits.empty() || !lanes) {
      arrange();
      if (state != WarpState::Ready)
        return;
    }
    const Inst &inst = code[pc];
    next = pc + 1;
    mask = lanes;
    if (++executed > launch->options.limit)
      fault(CUDA_ERROR_LAUNCH_TIMEOUT, 0,
            "the warp has executed " + std::to_string(executed - 1) +
                " instructions, the limit; does a loop never end?");
    if (inst.guarded) {
      if (checks && (poison[inst.guard.id] & lanes))
        checkPoison(inst, poison[inst.guard.id] & lanes);
      uint32_t guard = *at<uint32_t>(inst.guard);
      mask &= inst.guardNegated ? ~guard : guard;
      if (!mask && !(inst.flags & kAlways)) {
        pc = next;
        continue;
      }
    }
    if (inst.flags & kTouchesProduct)
      touch(inst);
    if (checks && !(inst.flags & kOwnPoison)) {
      uint32_t poisoned = 0;
      for (uint32_t i = 0; i < inst.sources; ++i)
        poisoned |= poison[reg(inst, inst.results + i).id];
      poisoned &= mask;
      if (poisoned && (inst.flags & kSink))
        checkPoison(inst, poisoned);
      for (uint32_t i = 0; i < inst.results; ++i) {
        uint32_t &known = poison[reg(inst, i).id];
        known = (known & ~mask) | poisoned;
      }
    }
    ++counters.instructions;
    (&counters.integer_instructions)[size_t(inst.kind)]++;
    if (inst.flags & kMultiplyAdd)
      counters.scalar_multiply_adds += uint32_t(std::popcount(mask)) * inst.c;
    inst.run(*this, inst);
    pc = next;
  }
}

void Warp::checkPoison(const Inst &inst, uint32_t poisoned) const {
  (void)inst;
  fault(CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(poisoned)),
        "the value of a register that was never written is used");
}

bool Warp::makesLater(uint32_t id) const {
  auto makes = [id](const Products &group) {
    return std::find(group.sums.begin(), group.sums.end(), id) !=
           group.sums.end();
  };
  return makes(openProducts) ||
         std::any_of(productGroups.begin(), productGroups.end(), makes);
}

// An instruction other than a product uses registers of products.
void Warp::touch(const Inst &inst) {
  auto reads = [](const Products &group, uint32_t id) {
    return std::find(group.factors.begin(), group.factors.end(), id) !=
           group.factors.end();
  };
  for (uint32_t i = 0; i < uint32_t(inst.results) + inst.sources; ++i) {
    uint32_t id = reg(inst, i).id;
    if (!launch->kernel->productRegisters[id])
      continue;
    touched[id] = 1;
    bool isRead =
        reads(openProducts, id) ||
        std::any_of(productGroups.begin(), productGroups.end(),
                    [&](const auto &group) { return reads(group, id); });
    if (i < inst.results && (isRead || makesLater(id)))
      fault(CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(mask)),
            "a register of a product is written before a wait for the product");
  }
}

// Joins lanes at the same instruction and goes to the lowest one.
void Warp::arrange() {
  if (!lanes) {
    if (!live) {
      state = WarpState::Done;
      block->warpIsDone();
      return;
    }
    select();
  }
  for (size_t i = 0; i < splits.size();) {
    Split &split = splits[i];
    if (split.pc == pc) {
      lanes |= split.lanes;
      splits.erase(splits.begin() + ptrdiff_t(i));
      continue;
    }
    if (!split.waits && split.pc < pc) {
      std::swap(split.pc, pc);
      std::swap(split.lanes, lanes);
      i = 0;
      continue;
    }
    ++i;
  }
}

// Takes the lowest lanes that do not wait.
void Warp::select() {
  size_t best = splits.size();
  for (size_t i = 0; i < splits.size(); ++i)
    if (!splits[i].waits &&
        (best == splits.size() || splits[i].pc < splits[best].pc))
      best = i;
  if (best == splits.size()) {
    pc = splits.front().pc;
    fault(CUDA_ERROR_LAUNCH_FAILED,
          uint32_t(std::countr_zero(splits.front().lanes)),
          "lanes of a warp wait for others that wait elsewhere or never come "
          "(divergent barrier)");
  }
  pc = splits[best].pc;
  lanes = splits[best].lanes;
  splits.erase(splits.begin() + ptrdiff_t(best));
}

bool Warp::gather(uint32_t members) {
  members &= live;
  if ((members & ~mask) == 0)
    return true;
  if ((members & ~lanes) == 0)
    fault(CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(members & ~mask)),
          "a lane that others wait for does not pass the guard of the "
          "instruction (divergent barrier)");
  splits.push_back({pc, lanes, true});
  lanes = 0;
  next = pc;
  return false;
}

void Warp::branch(uint32_t taken, uint32_t target) {
  if (taken == lanes) {
    next = target;
  } else if (taken) {
    ++launch->counters.divergent_branches;
    splits.push_back({target, taken, false});
    lanes &= ~taken;
  }
}

void Warp::exit(uint32_t gone) {
  live &= ~gone;
  lanes &= ~gone;
  // Who waits for these lanes does so no longer.
  for (Split &split : splits)
    split.waits = false;
  if (!live) {
    state = WarpState::Done;
    block->warpIsDone();
  }
}

void Warp::fault(CUresult code, uint32_t lane, const std::string &text) const {
  const Kernel &kernel = *launch->kernel;
  const Kernel::Text &where = kernel.texts[kernel.code[pc].text];
  uint32_t linear = index * kLanes + lane;
  uint32_t x = linear % launch->block[0];
  uint32_t y = linear / launch->block[0] % launch->block[1];
  uint32_t z = linear / launch->block[0] / launch->block[1];
  auto triple = [](uint32_t a, uint32_t b, uint32_t c) {
    return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " +
           std::to_string(c) + ")";
  };
  fail(code, "kernel '" + kernel.name + "', line " +
                 std::to_string(where.line) + ", '" + where.text + "', block " +
                 triple(block->id[0], block->id[1], block->id[2]) +
                 ", thread " + triple(x, y, z) + ": " + text);
}

} // namespace emulator
