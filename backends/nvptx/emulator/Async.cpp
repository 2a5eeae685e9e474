// SPDX-License-Identifier: Apache-2.0
//
// Async.cpp: cp.async and its groups. A copy is made at once, but nobody may
// read its bytes before the lanes that began it have waited for its group.
#include "Access.h"
#include "Lanes.h"

namespace emulator {
namespace {

// Sources: shared address, global address, and perhaps the bytes to read.
void copyAsync(Warp &warp, const Inst &inst) {
  const uint32_t size = inst.bytes;
  Inst part = inst;
  part.space = Space::Shared;
  part.offset = int64_t(int32_t(inst.a));
  Access to(warp, part, 0, size, Use::Write);
  uint32_t counts[kLanes];
  uint32_t reading = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    counts[i] = inst.sources > 2 ? warp.values<uint32_t>(inst, 2)[i] : size;
    if (warp.mask >> i & 1 && counts[i] > size)
      warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, i,
                 "more bytes are read than copied");
    reading |= uint32_t(counts[i] > 0) << i;
  }
  for (uint32_t i = 0; i < kLanes; ++i)
    if (warp.mask >> i & 1)
      std::memset(to.pointer[i], 0, size);
  // Lanes that read nothing have any address.
  const uint32_t all = warp.mask;
  warp.mask &= reading;
  if (warp.mask) {
    part.space = Space::Global;
    part.offset = inst.offset;
    Access from(warp, part, 1, size, Use::Read);
    for (uint32_t i = 0; i < kLanes; ++i)
      if (warp.mask >> i & 1)
        std::memcpy(to.pointer[i], from.pointer[i], counts[i]);
  }
  warp.mask = all;
  for (uint32_t i = 0; i < kLanes; ++i)
    if (all >> i & 1) {
      warp.block->shared.pending(to.address[i], size);
      warp.openCopies.push_back({uint32_t(to.address[i]), size});
    }
}

void land(Warp &warp, std::vector<Warp::Copy> &copies) {
  for (const Warp::Copy &copy : copies)
    warp.block->shared.arrived(copy.shared, copy.bytes);
  copies.clear();
}

void commitGroup(Warp &warp, const Inst &) {
  warp.copyGroups.push_back(std::move(warp.openCopies));
  warp.openCopies.clear();
}

// Waits until at most inst.a of the last groups are under way.
void waitGroup(Warp &warp, const Inst &inst) {
  auto &groups = warp.copyGroups;
  size_t done = groups.size() > inst.a ? groups.size() - inst.a : 0;
  for (size_t i = 0; i < done; ++i)
    land(warp, groups[i]);
  groups.erase(groups.begin(), groups.begin() + ptrdiff_t(done));
}

void waitAll(Warp &warp, const Inst &) {
  for (auto &group : warp.copyGroups)
    land(warp, group);
  warp.copyGroups.clear();
  land(warp, warp.openCopies);
}

bool decodeCopy(Decoder &d) {
  d.ignore({"async", "ca", "cg", "L2::64B", "L2::128B", "L2::256B"});
  if (!d.take("shared") && !d.take("shared::cta"))
    d.bad("expected .shared");
  if (!d.take("global"))
    d.bad("expected .global");
  auto size = uint32_t(d.immediate(d.operand(2)));
  if (size != 4 && size != 8 && size != 16)
    d.bad("4, 8 or 16 bytes are copied, not " + std::to_string(size));
  d.address(d.operand(0), Space::Shared);
  d.inst.a = uint32_t(int32_t(d.inst.offset));
  d.address(d.operand(1), Space::Global);
  if (d.count() > 3)
    d.source(d.operand(3), Type::U32);
  d.inst.space = Space::Shared;
  d.inst.bytes = uint8_t(size);
  d.inst.flags |= kSink;
  d.finish(copyAsync, Class::Memory);
  return true;
}

} // namespace

bool decodeAsync(Decoder &d) {
  if (!d.is("cp") || d.has("bulk") || d.has("mbarrier") || !d.has("async"))
    return false;
  if (d.take("commit_group")) {
    d.take("async");
    d.finish(commitGroup, Class::Control);
    return true;
  }
  if (d.take("wait_group")) {
    d.take("async");
    d.inst.a = uint32_t(d.immediate(d.operand(0)));
    d.finish(waitGroup, Class::Control);
    return true;
  }
  if (d.take("wait_all")) {
    d.take("async");
    d.finish(waitAll, Class::Control);
    return true;
  }
  return decodeCopy(d);
}

} // namespace emulator
