// SPDX-License-Identifier: Apache-2.0
//
// Control.cpp: branches, exits, barriers and fences.
#include "Lanes.h"

namespace emulator {

namespace handlers {

void jump(Warp &warp, const Inst &inst) { warp.branch(warp.mask, inst.target); }

void exit(Warp &warp, const Inst &) { warp.exit(warp.mask); }

} // namespace handlers

namespace {

// Lanes with the same index of the table go together.
void indexedJump(Warp &warp, const Inst &inst) {
  const auto &table = warp.launch->kernel->tables[inst.a];
  const uint32_t *index = warp.values<uint32_t>(inst, 0);
  uint32_t left = warp.mask;
  if (left != warp.lanes)
    warp.fault(
        CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(left)),
        "brx.idx under a guard that not all lanes pass is not supported");
  while (left) {
    auto lane = uint32_t(std::countr_zero(left));
    uint32_t value = index[lane];
    if (value >= table.size())
      warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                 "the index " + std::to_string(value) +
                     " is beyond the table of " + std::to_string(table.size()) +
                     " labels");
    uint32_t same = 0;
    for (uint32_t i = lane; i < kLanes; ++i)
      same |= uint32_t((left >> i & 1) && index[i] == value) << i;
    warp.branch(same, table[value]);
    left &= ~same;
  }
}

void trap(Warp &warp, const Inst &) {
  warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION,
             uint32_t(std::countr_zero(warp.mask)), "the kernel traps");
}

void nothing(Warp &, const Inst &) {}

void pause(Warp &warp, const Inst &) { warp.yields = true; }

// Other lanes of the warp that ran meanwhile come before.
void warpBarrier(Warp &warp, const Inst &inst) {
  uint32_t members = *warp.values<uint32_t>(inst, 0);
  warp.gather(members);
}

// inst.a: 0 waits, 1 .and, 2 .or, 3 .popc, 4 arrives only. inst.b: sources are
// the barrier and, with 1, the number of threads.
void barrier(Warp &warp, const Inst &inst) {
  if (!warp.gather(warp.live))
    return;
  uint32_t first = inst.results;
  auto lane = uint32_t(std::countr_zero(warp.mask));
  uint32_t number = warp.values<uint32_t>(inst, first)[lane];
  uint32_t expected = inst.b ? warp.values<uint32_t>(inst, first + 1)[lane] : 0;
  if (number >= 16)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
               "there is no barrier " + std::to_string(number) +
                   ", the last is 15");
  if (expected % kLanes != 0)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
               "a barrier counts whole warps, not " + std::to_string(expected) +
                   " threads");
  if (inst.a >= 1 && inst.a <= 3) {
    uint32_t value = warp.predicate(inst, first + 1 + inst.b);
    value = (inst.c ? ~value : value) & warp.live;
    Barrier &state = warp.block->barriers[number];
    if (value != warp.live)
      state.all = 0;
    state.any |= value;
    state.count += uint32_t(std::popcount(value));
    warp.reduction = &inst;
  }
  warp.block->arrive(warp, number, expected, inst.a != 4);
}

bool decodeBranch(Decoder &d) {
  d.take("uni");
  d.builder.jumpTo(d.operand(0).name);
  d.finish(handlers::jump, Class::Control);
  return true;
}

bool decodeIndexedBranch(Decoder &d) {
  d.take("idx");
  d.take("uni");
  const auto *labels = d.builder.targets(d.operand(1).name);
  if (!labels)
    d.bad("'" + d.operand(1).name + "' has no .branchtargets in front of it");
  d.inst.a = d.builder.table(*labels);
  d.inst.flags |= kSink;
  d.source(d.operand(0), Type::U32);
  d.finish(indexedJump, Class::Control);
  return true;
}

bool decodeBarrier(Decoder &d) {
  if (d.has("cluster"))
    d.bad("barriers of clusters are not supported");
  d.take("cta");
  d.take("aligned");
  if (d.take("warp")) {
    d.take("sync");
    d.source(d.operand(0), Type::B32);
    d.inst.flags |= kSink;
    d.finish(warpBarrier, Class::Control);
    return true;
  }
  bool arrives = d.take("arrive"), reduces = d.take("red");
  d.take("sync");
  d.inst.a = arrives ? 4 : 0;
  size_t at = 0;
  if (reduces) {
    d.inst.a = d.take("and") ? 1 : d.take("or") ? 2 : 3;
    Type type = d.inst.a == 3 ? (d.take("popc"), Type::U32) : Type::Pred;
    d.takeType();
    d.result(d.operand(at++), type);
  }
  d.source(d.operand(at++), Type::U32);
  size_t left = d.count() - at;
  d.inst.b = left > (reduces ? 1u : 0u);
  if (d.inst.b)
    d.source(d.operand(at++), Type::U32);
  if (reduces) {
    d.inst.c = d.operand(at).negated;
    d.source(d.operand(at++), Type::Pred);
  }
  d.inst.flags |= kSink;
  d.finish(barrier, Class::Control);
  return true;
}

// Bulk copies and wgmma see what was written before.
void fenceProxies(Warp &warp, const Inst &) {
  warp.block->shared.fenceProxies();
}

bool decodeFence(Decoder &d) {
  const bool proxies =
      d.is("fence") && d.has("proxy") && d.has("async") && !d.has("global");
  d.ignore({"cta", "cluster", "gpu", "gl", "sys", "sc", "acq_rel", "acquire",
            "release", "proxy", "async", "async::generic", "alias", "global",
            "shared::cta", "shared::cluster", "mbarrier_init",
            "sync_restrict"});
  d.finish(proxies ? fenceProxies : nothing, Class::Control);
  return true;
}

} // namespace

bool decodeControl(Decoder &d) {
  if (d.is("bra"))
    return decodeBranch(d);
  if (d.is("brx"))
    return decodeIndexedBranch(d);
  if (d.is("bar") || d.is("barrier"))
    return decodeBarrier(d);
  if (d.is("membar") || d.is("fence"))
    return decodeFence(d);
  if (d.is("ret") || d.is("exit")) {
    d.take("uni");
    d.finish(handlers::exit, Class::Control);
    return true;
  }
  if (d.is("trap") || d.is("brkpt")) {
    d.finish(trap, Class::Control);
    return true;
  }
  if (d.is("nanosleep")) {
    d.take("u32");
    d.finish(pause, Class::Control);
    return true;
  }
  if (d.is("griddepcontrol") || d.is("setmaxnreg")) {
    d.needs(90);
    d.ignore(
        {"wait", "launch_dependents", "inc", "dec", "sync", "aligned", "u32"});
    d.finish(nothing, Class::Control);
    return true;
  }
  return false;
}

} // namespace emulator
