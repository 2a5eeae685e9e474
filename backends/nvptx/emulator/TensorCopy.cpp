// SPDX-License-Identifier: Apache-2.0
//
// TensorCopy.cpp: cp.async.bulk.tensor: boxes of a tensor between global memory
// and the shared memory of the block. Of a box that reaches out of the tensor
// zeros are read there, and nothing is written.
#include "Lanes.h"
#include "Mbarrier.h"
#include "TensorMap.h"

#include <algorithm>

namespace emulator {
namespace {

// Of one lane: where its box begins in the tensor and in shared memory.
struct Box {
  TensorMap map;
  int64_t from[TensorMap::kMaxRank] = {};
  uint64_t shared = 0;
  uint32_t lane = 0;
};

[[noreturn]] void wrong(const Warp &warp, uint32_t lane,
                        const std::string &text) {
  warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, lane, text);
}

TensorMap readMap(Warp &warp, uint64_t address, uint32_t lane) {
  uint8_t bytes[128];
  const uint32_t all = warp.mask;
  warp.mask = 1u << lane;
  for (uint32_t at = 0; at < sizeof(bytes); at += 64) {
    uint64_t addresses[kLanes] = {};
    addresses[lane] = address + at;
    Access access(warp, Space::Generic, addresses, 64, Use::Read);
    std::memcpy(bytes + at, access.pointer[lane], 64);
  }
  warp.mask = all;
  TensorMap map;
  std::memcpy(&map, bytes, sizeof(map));
  if (map.mark != TensorMap::kMark)
    wrong(warp, lane,
          "there is no tensor map that cuTensorMapEncodeTiled made");
  return map;
}

// The host's bytes of `count` elements of a line of the tensor.
uint8_t *globalLine(Warp &warp, const Box &box, uint64_t address,
                    uint32_t bytes, bool reads) {
  Launch &launch = *warp.launch;
  const Allocation *found = launch.find(address, bytes);
  if (!found)
    warp.fault(CUDA_ERROR_ILLEGAL_ADDRESS, box.lane,
               std::string(reads ? "reads " : "writes ") +
                   std::to_string(bytes) + " bytes of a tensor at " +
                   memory().describe(address));
  Counters &counters = launch.counters;
  (reads ? counters.global_load_bytes : counters.global_store_bytes) += bytes;
  counters.global_sectors += ((address + bytes - 1) >> 5) - (address >> 5) + 1;
  counters.global_ideal_sectors += (bytes + 31) / 32;
  return found->host + (address - found->base);
}

uint64_t sharedPlace(const Box &box, uint64_t offset) {
  uint64_t at = box.shared + offset;
  return box.map.swizzle ? swizzled(at, box.map.swizzle) : at;
}

void check(const Warp &warp, const Box &box, const char *text) {
  if (text)
    warp.fault(CUDA_ERROR_LAUNCH_FAILED, box.lane,
               std::string("a copy of a tensor: ") + text);
}

// One line of a box, whose bytes begin at `offset` of it.
void moveLine(Warp &warp, const Box &box, uint64_t address, uint64_t offset,
              int64_t first, int64_t last, bool reads) {
  const uint32_t size = box.map.elementBytes;
  const uint64_t bytes = uint64_t(box.map.box[0]) * size;
  SharedMemory &memory = warp.block->shared;
  uint8_t line[256 * 8] = {};
  const uint64_t skip = uint64_t(first) * size;
  const auto count = uint32_t(last > first ? (last - first) * size : 0);
  if (reads && count)
    std::memcpy(line + skip, globalLine(warp, box, address + skip, count, true),
                count);
  for (uint64_t at = 0; at < bytes; at += 16) {
    uint64_t place = sharedPlace(box, offset + at);
    check(warp, box,
          reads ? memory.write(place, 16, warp.index, true)
                : memory.readAsync(place, 16, warp.index));
    uint8_t *there = memory.data.data() + place;
    reads ? std::memcpy(there, line + at, 16)
          : std::memcpy(line + at, there, 16);
  }
  if (!reads && count)
    std::memcpy(globalLine(warp, box, address + skip, count, false),
                line + skip, count);
}

// All lines of a box. An index of the outer dimensions tells a line.
void moveBox(Warp &warp, const Box &box, bool reads) {
  const TensorMap &map = box.map;
  const uint64_t bytes = map.boxBytes(), all = warp.block->shared.data.size();
  if (box.shared % 128 != 0)
    warp.fault(CUDA_ERROR_MISALIGNED_ADDRESS, box.lane,
               "the shared memory of a box is not a multiple of 128");
  if (box.shared > all || bytes > all - box.shared)
    warp.fault(CUDA_ERROR_ILLEGAL_ADDRESS, box.lane,
               "a box of " + std::to_string(bytes) + " bytes at " +
                   std::to_string(box.shared) + ", the block has " +
                   std::to_string(all) + " bytes of shared memory");
  const uint64_t lineBytes = uint64_t(map.box[0]) * map.elementBytes;
  const int64_t width = int64_t(map.sizes[0]) + 1;
  const int64_t first = std::clamp<int64_t>(-box.from[0], 0, map.box[0]);
  const int64_t last = std::clamp<int64_t>(width - box.from[0], 0, map.box[0]);
  for (uint64_t line = 0; line < bytes / lineBytes; ++line) {
    uint64_t rest = line;
    bool inside = true;
    auto address = int64_t(map.address) + box.from[0] * map.elementBytes;
    for (uint32_t i = 1; i < map.rank; ++i) {
      int64_t at = box.from[i] + int64_t(rest % map.box[i]);
      rest /= map.box[i];
      inside &= at >= 0 && at <= int64_t(map.sizes[i]);
      address += at * int64_t(map.strides[i]);
    }
    moveLine(warp, box, uint64_t(address), line * lineBytes, first,
             inside ? last : first, reads);
  }
}

// Sources: the map, the coordinates, the shared address and perhaps the
// barrier. inst.a is the rank; inst.b the offset of the shared address, inst.c
// that of the barrier; inst.space is Shared when the copy goes there.
void copyTensor(Warp &warp, const Inst &inst) {
  const bool reads = inst.space == Space::Shared;
  const uint32_t rank = inst.a;
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1) {
    Box box;
    box.lane = uint32_t(std::countr_zero(lanes));
    box.map =
        readMap(warp, wordOf(warp, inst, 0, box.lane) + uint64_t(inst.offset),
                box.lane);
    if (box.map.rank != rank)
      wrong(warp, box.lane,
            "the tensor map has " + std::to_string(box.map.rank) +
                " dimensions, the instruction " + std::to_string(rank));
    for (uint32_t i = 0; i < rank; ++i)
      box.from[i] = warp.values<int32_t>(inst, 1 + i)[box.lane];
    box.shared = (wordOf(warp, inst, 1 + rank, box.lane) +
                  uint64_t(int64_t(int32_t(inst.b)))) &
                 (windowBase(1) - 1);
    moveBox(warp, box, reads);
    if (!reads)
      continue;
    Inst barrier = inst;
    barrier.offset = int32_t(inst.c);
    const uint32_t all = warp.mask;
    warp.mask = 1u << box.lane;
    Access access(warp, barrier, 2 + rank, 8, Use::Atomic);
    completeCopy(warp, access, box.lane, box.shared, box.map.boxBytes());
    warp.mask = all;
  }
}

// Reads the map, so that a wrong one is found; memory has no caches here.
void prefetchTensor(Warp &warp, const Inst &inst) {
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1) {
    auto lane = uint32_t(std::countr_zero(lanes));
    readMap(warp, wordOf(warp, inst, 0, lane) + uint64_t(inst.offset), lane);
  }
}

uint32_t takeRank(Decoder &d) {
  constexpr const char *names[] = {"1d", "2d", "3d", "4d", "5d"};
  for (uint32_t i = 0; i < 5; ++i)
    if (d.take(names[i]))
      return i + 1;
  d.bad("expected a rank, .1d to .5d");
}

// [map, {coordinates}]; the offset of the map is left in inst.offset.
void mapOperand(Decoder &d, const Operand &operand) {
  if (operand.kind != Operand::Address || operand.parts.size() != 1)
    d.bad("expected a tensor map with coordinates");
  Operand map = operand;
  map.parts.clear();
  d.address(map, Space::Generic);
  // A parameter that is named itself.
  if (d.inst.space == Space::Param)
    d.bad("a tensor map is named by its generic address");
  const Operand &coordinates = operand.parts[0];
  if (d.inst.a == 1 && coordinates.kind == Operand::Name)
    return d.source(coordinates, Type::S32);
  if (coordinates.kind != Operand::Vector ||
      coordinates.parts.size() != d.inst.a)
    d.bad("expected " + std::to_string(d.inst.a) + " coordinates");
  for (const Operand &one : coordinates.parts)
    d.source(one, Type::S32);
}

uint32_t sharedOperand(Decoder &d, const Operand &operand) {
  const int64_t before = d.inst.offset;
  d.address(operand, Space::Shared);
  const auto offset = uint32_t(int32_t(d.inst.offset));
  d.inst.offset = before;
  return offset;
}

} // namespace

bool decodeTensorCopy(Decoder &d) {
  d.needs(90);
  if (d.has("reduce") || d.has("multicast::cluster") || d.has("im2col"))
    d.bad("reducing copies of tensors, copies to clusters and im2col are not "
          "supported");
  d.ignore({"async", "bulk", "tensor", "tile", "shared::cta", "shared::cluster",
            "global", "mbarrier::complete_tx::bytes", "L2::cache_hint",
            "cta_group::1"});
  d.inst.a = takeRank(d);
  if (d.take("prefetch")) {
    d.take("L2");
    mapOperand(d, d.operand(0));
    d.finish(prefetchTensor, Class::Memory);
    return true;
  }
  const bool stores = d.take("bulk_group");
  mapOperand(d, d.operand(stores ? 0 : 1));
  d.inst.b = sharedOperand(d, d.operand(stores ? 1 : 0));
  if (!stores)
    d.inst.c = sharedOperand(d, d.operand(2));
  d.inst.space = stores ? Space::Global : Space::Shared;
  d.inst.flags |= stores ? kReadsAsync : 0;
  d.inst.bytes = 16;
  d.finish(copyTensor, Class::Memory);
  return true;
}

} // namespace emulator
