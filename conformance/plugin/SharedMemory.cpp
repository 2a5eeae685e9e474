// SPDX-License-Identifier: Apache-2.0
//
// SharedMemory.cpp: the optional table "backplane.memory2": mapped buffers and
// imported memory.
#include "Groups.h"
#include "Work.h"
#include "sdk/support/Pages.h"

#include <algorithm>

namespace backplane::checks {
namespace {

// ---- Mapping ----

/// The mapped pointer, or null and a trial that is not supported.
uint8_t *mapOf(Trial &trial, Buffer &buffer) {
  uint8_t *data = buffer.map();
  if (trial.ok() && !data)
    trial.skip("the driver cannot map its memory");
  return data;
}

void expectMapped(Trial &trial, const Buffer &buffer, const uint8_t *data,
                  const char *what) {
  trial.expect(std::equal(buffer.model.begin(), buffer.model.end(), data),
               std::string(what) + " is not seen through the mapping");
}

void mapShowsWrites(Trial &trial, uint32_t space, uint64_t size) {
  Fixture fixture(trial);
  Buffer buffer(fixture, size, space);
  buffer.fill(1);
  const uint8_t *data = mapOf(trial, buffer);
  if (!data)
    return;
  expectMapped(trial, buffer, data, "what was written before");
  buffer.fill(2);
  expectMapped(trial, buffer, data, "what was written afterwards");
}

void readShowsMap(Trial &trial, uint32_t space, uint64_t size) {
  Fixture fixture(trial);
  Buffer buffer(fixture, size, space);
  uint8_t *data = mapOf(trial, buffer);
  if (!data)
    return;
  buffer.model = noise(size, 3);
  std::copy(buffer.model.begin(), buffer.model.end(), data);
  buffer.expect("memory that was written through a mapping");
}

void mapTwice(Trial &trial) {
  Fixture fixture(trial);
  Buffer buffer(fixture, 1000);
  const uint8_t *first = mapOf(trial, buffer);
  trial.expect(!first || buffer.map() == first,
               "a buffer is mapped to another place the second time");
}

void mapBesideQueue(Trial &trial, How how) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 5000), b(fixture, 5000);
  b.fill(2);
  uint8_t *source = mapOf(trial, a);
  const uint8_t *target = mapOf(trial, b);
  if (!source || !target)
    return;
  for (uint64_t i = 0; i < 10 && trial.ok(); ++i) {
    a.model = noise(5000, i);
    std::copy(a.model.begin(), a.model.end(), source);
    queue.run(Commands().copy(a, i, b, 2 * i, 4000), how);
    if (fixture.good())
      expectMapped(trial, b, target, "what a queue has copied");
  }
}

// ---- Importing ----

void importShows(Trial &trial, uint64_t size, bool readOnly) {
  Fixture fixture(trial);
  Pages pages(size + 4096);
  if (!fixture.good() || !pages.end())
    return;
  // Ends as near to the page that nobody may touch as alignment allows.
  uint64_t step = fixture.info().binding_alignment;
  uint8_t *memory = pages.end() - (size + step - 1) / step * step;
  Bytes bytes = noise(size, 4);
  std::copy(bytes.begin(), bytes.end(), memory);
  Buffer buffer(fixture, memory, size, readOnly);
  buffer.expect("imported memory");
}

/// A queue reads imported memory, whose pages may not be written.
void importedSource(Trial &trial, How how) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Pages pages(8192);
  Buffer target(fixture, 8192);
  target.fill(1);
  if (!fixture.good() || !pages.end())
    return;
  uint8_t *memory = pages.end() - 8192;
  Bytes bytes = noise(8192, 5);
  std::copy(bytes.begin(), bytes.end(), memory);
  mprotect(memory, 8192, PROT_READ);
  Buffer source(fixture, memory, 8192, true);
  queue.run(Commands().copy(source, 5, target, 7, 8000), how);
  target.expect("a copy out of read-only imported memory");
}

/// A queue writes imported memory, whose owner sees it.
void importedTarget(Trial &trial, How how) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer source(fixture, 3000);
  source.fill(1);
  Pages pages(4096);
  if (!fixture.good() || !pages.end())
    return;
  uint8_t *memory = pages.end() - 4096;
  Buffer target(fixture, memory, 4096, false);
  queue.run(Commands()
                .copy(source, 0, target, 1000, 3000)
                .barrier()
                .fill(target, 4, 8, 0xABCD, 2),
            how);
  if (fixture.good())
    trial.expect(std::equal(target.model.begin(), target.model.end(), memory),
                 "what a queue wrote is not in the imported memory");
}

/// The memory belongs to the host: it outlives the buffer, unchanged.
void importedStays(Trial &trial) {
  Fixture fixture(trial);
  Pages pages(4096);
  if (!fixture.good() || !pages.end())
    return;
  uint8_t *memory = pages.end() - 4096;
  Bytes bytes = noise(4096, 6);
  std::copy(bytes.begin(), bytes.end(), memory);
  for (int i = 0; i < 20; ++i)
    Buffer buffer(fixture, memory, 4096, i % 2);
  fixture.close();
  trial.expect(std::equal(bytes.begin(), bytes.end(), memory),
               "importing memory changes it");
}

/// Any multiple of binding_alignment is a good start.
void importedAnywhere(Trial &trial) {
  Fixture fixture(trial);
  Pages pages(8192);
  if (!fixture.good() || !pages.end())
    return;
  for (uint64_t i = 1; i <= 8 && fixture.good(); ++i) {
    uint8_t *memory =
        pages.end() - 8192 +
        i * std::max<uint64_t>(fixture.info().binding_alignment, 1);
    Buffer buffer(fixture, memory, 999, false);
    buffer.fill(i);
    if (fixture.good())
      trial.expect(std::equal(buffer.model.begin(), buffer.model.end(), memory),
                   "what was written is not in the imported memory");
  }
}

void addMapping(Checks &all) {
  Group group(all, "L1/map",
              "A mapped buffer is the memory that queues and buffer_read see.");
  for (uint32_t space : {BP_SPACE_DEVICE, BP_SPACE_STAGING})
    for (uint64_t size : {1, 777, 300000}) {
      std::string name =
          std::string(space == BP_SPACE_DEVICE ? "device-" : "staging-") +
          std::to_string(size);
      group.add("shows-writes-" + name, mapShowsWrites, space, size);
      group.add("read-shows-" + name, readShowsMap, space, size);
    }
  group.add("twice", mapTwice);
  for (How how : allWays)
    group.add(std::string("beside-") + name(how),
              how == How::Execute ? Depth::Smoke : Depth::Standard,
              mapBesideQueue, how);
}

} // namespace

void addSharedMemory(Checks &all) {
  addMapping(all);
  Group group(all, "L1/import",
              "Imported memory is used in place, is never written when it was "
              "imported as read-only, and stays the host's.");
  for (bool readOnly : {false, true})
    for (uint64_t size : {1, 63, 4096, 1000003})
      group.add(std::string(readOnly ? "read-only-" : "writable-") +
                    std::to_string(size),
                importShows, size, readOnly);
  for (How how : allWays) {
    Depth depth = how == How::Execute ? Depth::Smoke : Depth::Standard;
    group.add(std::string("source-") + name(how), depth, importedSource, how);
    group.add(std::string("target-") + name(how), depth, importedTarget, how);
  }
  group.add("outlives-its-buffer", importedStays);
  group.add("anywhere-aligned", importedAnywhere);
}

} // namespace backplane::checks
