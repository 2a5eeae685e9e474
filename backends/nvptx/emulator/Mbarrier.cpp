// SPDX-License-Identifier: Apache-2.0
//
// Mbarrier.cpp: barriers in shared memory, and the bulk copies that they wait
// for. The ISA leaves the 64 bits of a barrier open. Here, from the lowest on:
// 20 bits of arrivals that are still to come, 20 of those of a phase, 23 of
// bytes that are still to come (signed), and the parity of the phase.
#include "Mbarrier.h"
#include "Lanes.h"

namespace emulator {
namespace {

struct Barrier64 {
  uint32_t pending, expected;
  int32_t bytes;
  bool phase;
};

Barrier64 unpack(uint64_t word) {
  return {uint32_t(word & 0xfffff), uint32_t(word >> 20 & 0xfffff),
          int32_t(int64_t(word << 1) >> 41), bool(word >> 63)};
}
uint64_t pack(const Barrier64 &b) {
  return uint64_t(b.pending) | uint64_t(b.expected) << 20 |
         (uint64_t(uint32_t(b.bytes)) & 0x7fffff) << 40 |
         uint64_t(b.phase) << 63;
}

Barrier64 read(const Access &access, uint32_t lane) {
  uint64_t word = 0;
  std::memcpy(&word, access.pointer[lane], 8);
  return unpack(word);
}

// Writes the barrier; when nothing is outstanding, the phase is over.
void write(Warp &warp, const Access &access, uint32_t lane, Barrier64 b) {
  if (b.pending == 0 && b.bytes == 0) {
    b.pending = b.expected;
    b.phase = !b.phase;
    for (Block::BulkCopy &copy : warp.block->bulkCopies)
      copy.landed |= copy.barrier == access.address[lane];
  }
  uint64_t word = pack(b);
  std::memcpy(access.pointer[lane], &word, 8);
}

// A warp has found a phase over: what was copied for it may be read.
void receive(Warp &warp, uint64_t barrier) {
  auto done = [&](const Block::BulkCopy &copy) {
    return copy.landed && copy.barrier == barrier;
  };
  auto &copies = warp.block->bulkCopies;
  for (const Block::BulkCopy &copy : copies)
    if (done(copy))
      warp.block->shared.arrived(copy.shared, copy.bytes);
  std::erase_if(copies, done);
}

template <class F> void eachLane(const Warp &warp, F &&visit) {
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1)
    visit(uint32_t(std::countr_zero(lanes)));
}

void arriveAt(Warp &warp, const Access &access, uint32_t lane, uint32_t count,
              int32_t bytes) {
  Barrier64 b = read(access, lane);
  b.bytes += bytes;
  if (count > b.pending)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
               "more arrivals than the barrier waits for: " +
                   std::to_string(b.pending) + " are outstanding");
  b.pending -= count;
  write(warp, access, lane, b);
}

void init(Warp &warp, const Inst &inst) {
  Access access(warp, inst, 0, 8, Use::Write);
  const uint32_t *count = warp.values<uint32_t>(inst, 1);
  eachLane(warp, [&](uint32_t lane) {
    if (count[lane] == 0 || count[lane] > 0xfffff)
      warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
                 "a barrier of " + std::to_string(count[lane]) + " arrivals");
    uint64_t word = pack({count[lane], count[lane], 0, false});
    std::memcpy(access.pointer[lane], &word, 8);
  });
}

void invalidate(Warp &warp, const Inst &inst) {
  Access access(warp, inst, 0, 8, Use::Write, warp.mask);
}

// inst.a: 1 with .expect_tx, 2 arrives no more after this phase; inst.b: the
// last source is a number of arrivals or of bytes.
void arrive(Warp &warp, const Inst &inst) {
  const uint32_t first = inst.results;
  Access access(warp, inst, first, 8, Use::Atomic);
  eachLane(warp, [&](uint32_t lane) {
    uint64_t before = 0;
    std::memcpy(&before, access.pointer[lane], 8);
    uint32_t number = inst.b ? warp.values<uint32_t>(inst, first + 1)[lane] : 1;
    if (inst.a & 2) {
      Barrier64 b = unpack(before);
      b.expected -= std::min(number, b.expected);
      uint64_t word = pack(b);
      std::memcpy(access.pointer[lane], &word, 8);
    }
    if (inst.a & 1)
      arriveAt(warp, access, lane, 1, int32_t(number));
    else
      arriveAt(warp, access, lane, number, 0);
    if (inst.results)
      warp.values<uint64_t>(inst, 0)[lane] = before;
  });
}

// expect_tx and complete_tx.
void transact(Warp &warp, const Inst &inst) {
  Access access(warp, inst, 0, 8, Use::Atomic);
  const uint32_t *bytes = warp.values<uint32_t>(inst, 1);
  eachLane(warp, [&](uint32_t lane) {
    int32_t change = int32_t(bytes[lane]);
    arriveAt(warp, access, lane, 0, inst.a ? -change : change);
  });
}

// Whether the phase is over: of a state that an arrival gave, or of a parity.
void testWait(Warp &warp, const Inst &inst) {
  Access access(warp, inst, 1, 8, Use::Atomic);
  uint32_t done = 0;
  eachLane(warp, [&](uint32_t lane) {
    bool phase = inst.a ? warp.values<uint32_t>(inst, 2)[lane] & 1
                        : unpack(warp.values<uint64_t>(inst, 2)[lane]).phase;
    bool isOver = read(access, lane).phase != phase;
    done |= uint32_t(isOver) << lane;
    if (isOver)
      receive(warp, access.address[lane]);
  });
  setPredicate(warp, warp.predicate(inst, 0), done);
  // Those that found it over may use what came before; the others let the warps
  // run that they wait for.
  if (done)
    warp.block->shared.separate();
  else
    warp.yields = true;
}

void pendingCount(Warp &warp, const Inst &inst) {
  const uint64_t *state = warp.values<uint64_t>(inst, 1);
  store(warp, warp.values<uint32_t>(inst, 0),
        [=](uint32_t i) { return unpack(state[i]).pending; });
}

// All asynchronous copies of these lanes are done; they arrive.
void arriveOfCopies(Warp &warp, const Inst &inst) {
  Access access(warp, inst, 0, 8, Use::Atomic);
  for (const Warp::Copy &copy : warp.openCopies)
    warp.block->shared.arrived(copy.shared, copy.bytes);
  warp.openCopies.clear();
  eachLane(warp, [&](uint32_t lane) {
    // Without .noinc the arrival is one more than the barrier knows of.
    if (!inst.a) {
      Barrier64 b = read(access, lane);
      ++b.pending;
      uint64_t word = pack(b);
      std::memcpy(access.pointer[lane], &word, 8);
    }
    arriveAt(warp, access, lane, 1, 0);
  });
}

// One lane copies `count` bytes; others have their own copies.
void bulkCopy(Warp &warp, Space to, Space from, const uint64_t *target,
              const uint64_t *source, uint32_t lane, uint32_t count) {
  if (count % 16 != 0)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane,
               "a bulk copy has a multiple of 16 bytes, not " +
                   std::to_string(count));
  const uint32_t all = warp.mask;
  warp.mask = 1u << lane;
  uint64_t targets[kLanes] = {}, sources[kLanes] = {};
  for (uint32_t at = 0; at < count; at += 16) {
    targets[lane] = target[lane] + at;
    sources[lane] = source[lane] + at;
    Access input(warp, from, sources, 16, Use::Read);
    if (from == Space::Shared)
      if (const char *text =
              warp.block->shared.readAsync(sources[lane], 16, warp.index))
        warp.fault(CUDA_ERROR_LAUNCH_FAILED, lane,
                   std::string("a bulk copy: ") + text);
    Access output(warp, to, targets, 16, Use::Write);
    std::memcpy(output.pointer[lane], input.pointer[lane], 16);
  }
  warp.mask = all;
}

// Sources: target, source, bytes and perhaps the barrier; inst.a, b and c are
// the offsets of their addresses, inst.space is where the target is.
void copyBulk(Warp &warp, const Inst &inst) {
  const bool toShared = inst.space == Space::Shared;
  uint64_t target[kLanes], source[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    target[lane] = wordOf(warp, inst, 0, lane) + int32_t(inst.a);
    source[lane] = wordOf(warp, inst, 1, lane) + int32_t(inst.b);
    uint64_t low = windowBase(1) - 1;
    (toShared ? target : source)[lane] &= low;
  }
  const uint32_t *bytes = warp.values<uint32_t>(inst, 2);
  eachLane(warp, [&](uint32_t lane) {
    bulkCopy(warp, inst.space, toShared ? Space::Global : Space::Shared, target,
             source, lane, bytes[lane]);
  });
  if (!toShared)
    return;
  Inst barrier = inst;
  barrier.offset = int32_t(inst.c);
  Access access(warp, barrier, 3, 8, Use::Atomic);
  eachLane(warp, [&](uint32_t lane) {
    completeCopy(warp, access, lane, target[lane], bytes[lane]);
  });
}

void nothing(Warp &, const Inst &) {}

void takeScope(Decoder &d) {
  d.ignore({"release", "acquire", "relaxed", "cta", "cluster"});
}

bool decodeArrive(Decoder &d, bool drops) {
  takeScope(d);
  bool expects = d.take("expect_tx");
  d.take("noComplete");
  Space space = d.takeSpace(Space::Generic);
  d.take("b64");
  d.inst.a = uint32_t(expects) | uint32_t(drops) << 1;
  // The state may be left out or go nowhere.
  if (d.operand(0).kind == Operand::Name)
    d.result(d.operand(0), Type::B64);
  size_t at = d.operand(0).kind == Operand::Address ? 0 : 1;
  d.address(d.operand(at), space);
  d.inst.b = d.count() > at + 1;
  if (d.inst.b)
    d.source(d.operand(at + 1), Type::B32);
  d.finish(arrive, Class::Control);
  return true;
}

bool decodeWait(Decoder &d) {
  takeScope(d);
  d.inst.a = d.take("parity");
  Space space = d.takeSpace(Space::Generic);
  d.take("b64");
  d.result(d.operand(0), Type::Pred);
  d.address(d.operand(1), space);
  d.source(d.operand(2), d.inst.a ? Type::B32 : Type::B64);
  // A hint of how long to wait may follow.
  d.finish(testWait, Class::Control);
  return true;
}

bool decodeBarrierOperation(Decoder &d) {
  if (d.take("arrive"))
    return decodeArrive(d, false);
  if (d.take("arrive_drop"))
    return decodeArrive(d, true);
  if (d.take("test_wait"))
    return decodeWait(d);
  if (d.take("try_wait")) {
    d.needs(90);
    return decodeWait(d);
  }
  if (d.take("pending_count")) {
    d.take("b64");
    d.result(d.operand(0), Type::B32);
    d.source(d.operand(1), Type::B64);
    d.finish(pendingCount, Class::Control);
    return true;
  }
  takeScope(d);
  bool isInit = d.take("init"), isInval = d.take("inval");
  bool expects = d.take("expect_tx"), completes = d.take("complete_tx");
  Space space = d.takeSpace(Space::Generic);
  d.take("b64");
  d.address(d.operand(0), space);
  if (!isInval)
    d.source(d.operand(1), Type::B32);
  d.inst.a = completes;
  d.finish(isInit                 ? init
           : isInval              ? invalidate
           : expects || completes ? transact
                                  : nullptr,
           Class::Control);
  return true;
}

// cp.async.bulk between global memory and the shared memory of the block.
bool decodeBulk(Decoder &d) {
  d.needs(90);
  d.ignore({"async", "bulk"});
  if (d.has("multicast::cluster"))
    d.bad("copies to clusters are not supported");
  if (d.take("commit_group") || d.take("wait_group")) {
    d.take("read");
    d.finish(nothing, Class::Control);
    return true;
  }
  bool toGlobal = d.take("bulk_group");
  // The target is the first of the spaces.
  Space to =
      d.has("shared::cluster") || !toGlobal ? Space::Shared : Space::Global;
  d.ignore({"shared::cluster", "shared::cta", "global",
            "mbarrier::complete_tx::bytes", "L2::cache_hint"});
  d.address(d.operand(0), Space::Generic);
  d.inst.a = uint32_t(int32_t(d.inst.offset));
  d.address(d.operand(1), Space::Generic);
  d.inst.b = uint32_t(int32_t(d.inst.offset));
  d.source(d.operand(2), Type::B32);
  if (!toGlobal) {
    d.address(d.operand(3), Space::Generic);
    d.inst.c = uint32_t(int32_t(d.inst.offset));
  }
  d.inst.space = to;
  d.inst.bytes = 16;
  d.inst.flags |= to == Space::Global ? kReadsAsync : 0;
  d.finish(copyBulk, Class::Memory);
  return true;
}

} // namespace

void completeCopy(Warp &warp, const Access &barrier, uint32_t lane,
                  uint64_t shared, uint32_t bytes) {
  warp.block->shared.pending(shared, bytes);
  warp.block->shared.writtenAsync(shared, bytes);
  warp.block->bulkCopies.push_back({barrier.address[lane], shared, bytes});
  arriveAt(warp, barrier, lane, 0, -int32_t(bytes));
}

bool decodeMbarrier(Decoder &d) {
  d.inst.flags |= kSink;
  if (d.is("mbarrier"))
    return decodeBarrierOperation(d);
  if (d.is("cp") && d.has("mbarrier")) {
    d.ignore({"async", "mbarrier", "arrive"});
    d.inst.a = d.take("noinc");
    Space space = d.takeSpace(Space::Generic);
    d.take("b64");
    d.address(d.operand(0), space);
    d.finish(arriveOfCopies, Class::Control);
    return true;
  }
  if (d.is("cp") && d.has("tensor"))
    return decodeTensorCopy(d);
  if (d.is("cp") && d.has("bulk"))
    return decodeBulk(d);
  d.inst.flags &= uint8_t(~kSink);
  return false;
}

} // namespace emulator
