// SPDX-License-Identifier: Apache-2.0
#include "Work.h"

#include <algorithm>
#include <cstring>

namespace backplane::checks {

Bytes noise(uint64_t size, uint64_t seed) {
  Bytes bytes(size);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (uint64_t i = 0; i < size; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(bytes.data() + i, &state, std::min<uint64_t>(8, size - i));
  }
  return bytes;
}

// ---- Buffers ----

Buffer::Buffer(Fixture &fixture, uint64_t size, uint32_t space,
               uint64_t alignment)
    : fixture_(fixture), size_(size) {
  if (!fixture.good())
    return;
  exists_ = fixture.take(
      callPlugin("buffer_allocate", fixture.tables().memory.buffer_allocate,
                 fixture.device(), space, size, alignment, &handle_),
      "allocation of " + std::to_string(size) + " bytes");
  model.assign(exists_ ? size : 0, 0);
}

Buffer::Buffer(Fixture &fixture, uint8_t *memory, uint64_t size, bool readOnly)
    : fixture_(fixture), size_(size) {
  if (!fixture.good())
    return;
  Status status = callPlugin(
      "buffer_import", fixture.tables().memory2.buffer_import, fixture.device(),
      static_cast<void *>(memory), size, uint8_t(readOnly), &handle_);
  if (status.code() == BP_STATUS_UNIMPLEMENTED)
    fixture.trial().skip("the driver cannot import memory of the host");
  if (!fixture.good())
    return;
  exists_ =
      fixture.take(status, "import of " + std::to_string(size) + " bytes");
  model.assign(memory, memory + size);
}

Buffer::~Buffer() {
  if (exists_)
    callPluginVoid("buffer_free", fixture_.tables().memory.buffer_free,
                   fixture_.device(), handle_);
}

uint8_t *Buffer::map() {
  void *pointer = nullptr;
  if (!fixture_.good())
    return nullptr;
  Status status = callPlugin("buffer_map", fixture_.tables().memory2.buffer_map,
                             fixture_.device(), handle_, &pointer);
  if (status.code() == BP_STATUS_UNIMPLEMENTED)
    return nullptr;
  if (fixture_.take(status, "buffer_map"))
    fixture_.trial().expect(pointer, "buffer_map gave no pointer");
  return static_cast<uint8_t *>(pointer);
}

void Buffer::write(uint64_t offset, std::span<const uint8_t> data) {
  if (!fixture_.good())
    return;
  const void *bytes = data.data();
  if (fixture_.take(callPlugin("buffer_write",
                               fixture_.tables().memory.buffer_write,
                               fixture_.device(), handle_, offset, bytes,
                               uint64_t(data.size())),
                    "buffer_write"))
    std::copy(data.begin(), data.end(), model.begin() + int64_t(offset));
}

Bytes Buffer::read(uint64_t offset, uint64_t size) {
  // What surrounds the target must stay as it was.
  constexpr uint64_t margin = 32;
  Bytes bytes(size + 2 * margin, 0x3C);
  if (!fixture_.good())
    return {};
  void *target = bytes.data() + margin;
  fixture_.take(callPlugin("buffer_read", fixture_.tables().memory.buffer_read,
                           fixture_.device(), handle_, offset, target, size),
                "buffer_read");
  auto touched = [](uint8_t byte) { return byte != 0x3C; };
  fixture_.trial().expect(
      std::none_of(bytes.begin(), bytes.begin() + margin, touched) &&
          std::none_of(bytes.end() - margin, bytes.end(), touched),
      "buffer_read of " + std::to_string(size) +
          " bytes wrote beside its target");
  return {bytes.begin() + margin, bytes.end() - margin};
}

void Buffer::fill(uint64_t seed) { write(0, noise(size_, seed)); }

void Buffer::expect(const std::string &what) {
  Bytes found = read(0, size_);
  if (!fixture_.good())
    return;
  auto [wrong, right] =
      std::mismatch(found.begin(), found.end(), model.begin());
  if (wrong == found.end())
    return;
  char text[160];
  std::snprintf(text, sizeof(text),
                ": byte %llu of %llu is 0x%02x where 0x%02x belongs",
                static_cast<unsigned long long>(wrong - found.begin()),
                static_cast<unsigned long long>(size_), *wrong, *right);
  fixture_.trial().fail(what + text);
}

// ---- Completions ----

bp_completion_t Done::completion() {
  return {[](void *context, bp_status_t status, bp_string_t message) {
            auto &done = *static_cast<Done *>(context);
            std::lock_guard lock(done.mutex_);
            ++done.count_;
            if (status != BP_STATUS_OK)
              done.status_ = Status(status, std::string(view(message)));
            done.changed_.notify_all();
          },
          this};
}

Done::~Done() {
  std::unique_lock lock(mutex_);
  if (trial_)
    await(*trial_, lock);
}

void Done::expect(Trial &trial) {
  std::lock_guard lock(mutex_);
  trial_ = &trial;
}

void Done::await(Trial &trial, std::unique_lock<std::mutex> &lock) {
  if (!changed_.wait_for(lock, trial.tested().timeout,
                         [&] { return count_ > 0; }))
    trial.abandon("the completion of a queue_execute did not come in time");
}

Status Done::wait(const Fixture &fixture) {
  std::unique_lock lock(mutex_);
  await(fixture.trial(), lock);
  return status_;
}

bool Done::arrived() const {
  std::lock_guard lock(mutex_);
  return count_ > 0;
}

unsigned Done::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

// ---- Timelines ----

Timeline::Timeline(Fixture &fixture, uint64_t initial) : fixture_(fixture) {
  if (fixture.good() && !fixture.tables().hasSemaphore)
    fixture.trial().skip("the driver has no semaphores of its own");
  if (!fixture.good())
    return;
  exists_ = fixture.take(callPlugin("semaphore_create",
                                    fixture.tables().semaphore.semaphore_create,
                                    fixture.device(), initial, &handle_),
                         "semaphore_create");
}

Timeline::~Timeline() {
  if (exists_)
    callPluginVoid("semaphore_destroy",
                   fixture_.tables().semaphore.semaphore_destroy,
                   fixture_.device(), handle_);
}

Status Timeline::query(uint64_t &value) const {
  return callPlugin("semaphore_query",
                    fixture_.tables().semaphore.semaphore_query,
                    fixture_.device(), handle_, &value);
}

Status Timeline::signal(uint64_t value) const {
  return callPlugin("semaphore_signal",
                    fixture_.tables().semaphore.semaphore_signal,
                    fixture_.device(), handle_, value);
}

Status Timeline::wait(uint64_t value, uint64_t timeoutNs) const {
  return callPlugin("semaphore_wait",
                    fixture_.tables().semaphore.semaphore_wait,
                    fixture_.device(), handle_, value, timeoutNs);
}

void Timeline::expectReached(uint64_t value) const {
  if (!fixture_.good())
    return;
  Status status = wait(value, fixture_.timeoutNs());
  if (status.code() == BP_STATUS_DEADLINE_EXCEEDED)
    fixture_.trial().abandon("semaphore value " + std::to_string(value) +
                             " was not reached in time");
  fixture_.take(status, "semaphore_wait");
}

void Timeline::expectValue(uint64_t value) const {
  uint64_t found = ~value;
  if (fixture_.good() && fixture_.take(query(found), "semaphore_query"))
    fixture_.trial().expect(found == value,
                            "the semaphore has value " + std::to_string(found) +
                                ", expected " + std::to_string(value));
}

} // namespace backplane::checks
