// SPDX-License-Identifier: Apache-2.0
#include "Work.h"

#include <algorithm>
#include <chrono>
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

Buffer::Buffer(Rig &rig, uint64_t size, uint32_t space, uint64_t alignment)
    : rig_(rig), size_(size) {
  if (!rig.good())
    return;
  exists_ = rig.take(callPlugin("buffer_allocate",
                                rig.tables().memory.buffer_allocate,
                                rig.device(), space, size, alignment, &handle_),
                     "allocation of " + std::to_string(size) + " bytes");
  model.assign(exists_ ? size : 0, 0);
}

Buffer::Buffer(Rig &rig, uint8_t *memory, uint64_t size, bool readOnly)
    : rig_(rig), size_(size) {
  if (!rig.good())
    return;
  Status status = callPlugin(
      "buffer_import", rig.tables().memory2.buffer_import, rig.device(),
      static_cast<void *>(memory), size, uint8_t(readOnly), &handle_);
  if (status.code() == BP_STATUS_UNIMPLEMENTED)
    rig.trial().skip("the driver cannot import memory of the host");
  if (!rig.good())
    return;
  exists_ = rig.take(status, "import of " + std::to_string(size) + " bytes");
  model.assign(memory, memory + size);
}

Buffer::~Buffer() {
  if (exists_)
    callPluginVoid("buffer_free", rig_.tables().memory.buffer_free,
                   rig_.device(), handle_);
}

uint8_t *Buffer::map() {
  void *pointer = nullptr;
  if (!rig_.good())
    return nullptr;
  Status status = callPlugin("buffer_map", rig_.tables().memory2.buffer_map,
                             rig_.device(), handle_, &pointer);
  if (status.code() == BP_STATUS_UNIMPLEMENTED)
    return nullptr;
  if (rig_.take(status, "buffer_map"))
    rig_.trial().expect(pointer, "buffer_map gave no pointer");
  return static_cast<uint8_t *>(pointer);
}

void Buffer::write(uint64_t offset, std::span<const uint8_t> data) {
  if (!rig_.good())
    return;
  const void *bytes = data.data();
  if (rig_.take(callPlugin("buffer_write", rig_.tables().memory.buffer_write,
                           rig_.device(), handle_, offset, bytes,
                           uint64_t(data.size())),
                "buffer_write"))
    std::copy(data.begin(), data.end(), model.begin() + int64_t(offset));
}

Bytes Buffer::read(uint64_t offset, uint64_t size) {
  // What surrounds the target must stay as it was.
  constexpr uint64_t margin = 32;
  Bytes bytes(size + 2 * margin, 0x3C);
  if (!rig_.good())
    return {};
  void *target = bytes.data() + margin;
  rig_.take(callPlugin("buffer_read", rig_.tables().memory.buffer_read,
                       rig_.device(), handle_, offset, target, size),
            "buffer_read");
  auto touched = [](uint8_t byte) { return byte != 0x3C; };
  rig_.trial().expect(
      std::none_of(bytes.begin(), bytes.begin() + margin, touched) &&
          std::none_of(bytes.end() - margin, bytes.end(), touched),
      "buffer_read of " + std::to_string(size) +
          " bytes wrote beside its target");
  return {bytes.begin() + margin, bytes.end() - margin};
}

void Buffer::fill(uint64_t seed) { write(0, noise(size_, seed)); }

void Buffer::expect(const std::string &what) {
  Bytes found = read(0, size_);
  if (!rig_.good())
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
  rig_.trial().fail(what + text);
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
  if (!changed_.wait_for(lock, trial.subject().patience,
                         [&] { return count_ > 0; }))
    trial.abandon("the completion of a queue_execute did not come in time");
}

Status Done::wait(const Rig &rig) {
  std::unique_lock lock(mutex_);
  await(rig.trial(), lock);
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

Timeline::Timeline(Rig &rig, uint64_t initial) : rig_(rig) {
  if (rig.good() && !rig.tables().hasSemaphore)
    rig.trial().skip("the driver has no semaphores of its own");
  if (!rig.good())
    return;
  exists_ = rig.take(callPlugin("semaphore_create",
                                rig.tables().semaphore.semaphore_create,
                                rig.device(), initial, &handle_),
                     "semaphore_create");
}

Timeline::~Timeline() {
  if (exists_)
    callPluginVoid("semaphore_destroy",
                   rig_.tables().semaphore.semaphore_destroy, rig_.device(),
                   handle_);
}

Status Timeline::query(uint64_t &value) const {
  return callPlugin("semaphore_query", rig_.tables().semaphore.semaphore_query,
                    rig_.device(), handle_, &value);
}

Status Timeline::signal(uint64_t value) const {
  return callPlugin("semaphore_signal",
                    rig_.tables().semaphore.semaphore_signal, rig_.device(),
                    handle_, value);
}

Status Timeline::wait(uint64_t value, uint64_t timeoutNs) const {
  return callPlugin("semaphore_wait", rig_.tables().semaphore.semaphore_wait,
                    rig_.device(), handle_, value, timeoutNs);
}

void Timeline::expectReached(uint64_t value) const {
  if (!rig_.good())
    return;
  Status status = wait(value, rig_.patienceNs());
  if (status.code() == BP_STATUS_DEADLINE_EXCEEDED)
    rig_.trial().abandon("semaphore value " + std::to_string(value) +
                         " was not reached in time");
  rig_.take(status, "semaphore_wait");
}

void Timeline::expectValue(uint64_t value) const {
  uint64_t found = ~value;
  if (rig_.good() && rig_.take(query(found), "semaphore_query"))
    rig_.trial().expect(found == value,
                        "the semaphore has value " + std::to_string(found) +
                            ", expected " + std::to_string(value));
}

} // namespace backplane::checks
