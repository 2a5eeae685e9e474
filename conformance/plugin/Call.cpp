// SPDX-License-Identifier: Apache-2.0
//
// Call.cpp: a program of an artifact over memory of a check. Every slot has
// memory of its own; nothing is planned, so that nothing hides behind a plan.
#include "Compiled.h"
#include "sdk/package/Check.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace backplane::checks {

/// Small whole numbers, in which sums come out the same in any order.
template <typename T>
static Bytes numbers(uint64_t count, uint64_t seed, int64_t low, int64_t high) {
  Bytes bytes(count * sizeof(T));
  Bytes random = noise(count, seed);
  for (uint64_t i = 0; i < count; ++i) {
    T value = T(low + int64_t(random[i]) % (high - low + 1));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

Bytes Call::dataOf(const Compiled::Port &port, uint64_t seed) const {
  uint64_t bytes = port.bytes(symbols_);
  if (port.name == "index") {
    Bytes data = numbers<int64_t>(bytes / 8, seed, 0, 4);
    if (layout_.badIndex >= 0 && data.size() >= 32)
      std::memcpy(data.data() + 24, &layout_.badIndex, 8);
    return data;
  }
  if (port.dtype == DType::F32)
    return numbers<float>(bytes / 4, seed, -3, 3);
  if (port.dtype == DType::I32)
    return numbers<int32_t>(bytes / 4, seed, -100, 100);
  return numbers<int8_t>(bytes, seed, -100, 100);
}

/// What an output holds before a call: other bytes each time, so that two calls
/// agree on what both of them write and on nothing else.
static Bytes stale(uint64_t size) {
  static std::atomic<uint64_t> calls = 0;
  return noise(size, ++calls);
}

Call::Call(Fixture &fixture, const Compiled &compiled,
           const std::vector<std::unique_ptr<Executable>> &executables,
           const SymbolValues &symbols, uint64_t seed, const Layout &layout)
    : fixture_(fixture), compiled_(compiled), executables_(executables),
      symbols_(symbols), layout_(layout) {
  if (!fixture.good() || !compiled.good())
    return;
  placePorts(seed);
  runInit();
  add(compiled.variant().program, commands_);
}

/// Ports in buffers of their own or one after another in one, with gaps.
void Call::placePorts(uint64_t seed) {
  uint64_t step = std::max<uint64_t>(fixture_.info().binding_alignment, 1);
  uint64_t gap = layout_.before * step, total = 0;
  auto room = [&](const Compiled::Port &port) {
    return (gap + port.bytes(symbols_) + layout_.after + step - 1) / step *
           step;
  };
  for (const auto *ports : {&compiled_.inputs(), &compiled_.outputs()})
    for (const Compiled::Port &port : *ports)
      total += room(port);
  uint64_t start = 0;
  for (const auto *ports : {&compiled_.inputs(), &compiled_.outputs()})
    for (const Compiled::Port &port : *ports) {
      if (!layout_.oneBuffer || buffers_.empty()) {
        uint64_t bytes = gap + port.bytes(symbols_) + layout_.after;
        buffers_.emplace_back(
            fixture_, layout_.oneBuffer ? total : std::max<uint64_t>(bytes, 1));
        buffers_.back().write(0, Bytes(buffers_.back().size(), layout_.fill));
        start = 0;
      }
      bool input = ports == &compiled_.inputs();
      Bytes data = input ? dataOf(port, seed++) : stale(port.bytes(symbols_));
      if (!input)
        held_.insert(held_.end(), data.begin(), data.end());
      place(port, data, start + gap);
      start += room(port);
    }
}

void Call::place(const Compiled::Port &port, const Bytes &data,
                 uint64_t start) {
  Buffer &buffer = buffers_.back();
  ports_.push_back({&buffer, start, port.bytes(symbols_)});
  if (!data.empty())
    buffer.write(start, data);
}

Range Call::make(uint64_t bytes) {
  buffers_.emplace_back(fixture_, std::max<uint64_t>(bytes, 1));
  return {&buffers_.back(), 0, bytes};
}

uint64_t Call::number(const Dim &dim) {
  Result<int64_t> value = dim.evaluate(symbols_);
  fixture_.trial().expectOk(value.status(), "an expression of the artifact");
  return value ? uint64_t(*value) : 0;
}

Range Call::rangeOf(const Slot &slot) {
  switch (slot.kind) {
  case SlotKind::Input:
    return ports_[slot.index];
  case SlotKind::Output:
    return ports_[compiled_.inputs().size() + slot.index];
  case SlotKind::Constant:
    if (!constants_.contains(slot.index))
      constants_[slot.index] = make(number(*slot.bytes));
    return constants_[slot.index];
  case SlotKind::Weight:
    if (!weights_.contains(slot.index)) {
      auto bytes = compiled_.weight(slot.index);
      weights_[slot.index] = make(bytes.size());
      buffers_.back().write(0, bytes);
    }
    return weights_[slot.index];
  case SlotKind::Transient:
    return make(number(*slot.bytes));
  default:
    fixture_.trial().skip("the model has variables");
    return make(1);
  }
}

Range Call::bind(const SlotRange &binding, const std::vector<Range> &slots) {
  Range range = slots[binding.slot];
  uint64_t offset = binding.offset ? number(*binding.offset) : 0;
  uint64_t length =
      binding.length ? number(*binding.length) : range.length - offset;
  return {range.buffer, range.offset + offset, length};
}

Dispatch Call::dispatchOf(const program::Dispatch &from, uint32_t op,
                          const std::vector<Range> &slots) {
  Dispatch dispatch;
  dispatch.executable = executables_[from.executable]->handle();
  dispatch.entry = from.entry;
  dispatch.op = op;
  for (uint32_t axis = 0; axis < 3; ++axis)
    dispatch.grid[axis] = uint32_t(number(from.grid[axis]));
  if (from.workspace)
    dispatch.workspaceBytes = number(*from.workspace);
  for (const Dim &constant : from.constants)
    dispatch.constants.push_back(uint32_t(number(constant)));
  for (const Dim &parameter : from.parameters)
    dispatch.parameters.push_back(int64_t(number(parameter)));
  if (from.sharedBytes)
    dispatch.sharedBytes = number(*from.sharedBytes);
  std::copy_n(from.cluster.begin(), 3, dispatch.cluster);
  for (const SlotRange &binding : from.bindings)
    dispatch.bindings.push_back(bind(binding, slots));
  return dispatch;
}

void Call::add(const Program &program, Commands &commands) {
  std::vector<Range> slots;
  for (const Slot &slot : program.slots)
    slots.push_back(rangeOf(slot));
  for (uint32_t i = 0; i < program.commands.size(); ++i) {
    const program::Command &command = program.commands[i];
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
      Dispatch one = dispatchOf(*dispatch, i + 1, slots);
      if (one.grid[0] && one.grid[1] && one.grid[2])
        commands.dispatch(std::move(one));
    } else if (const auto *copy = std::get_if<program::Copy>(&command)) {
      Range from = bind(copy->source, slots);
      Range to = bind(copy->target, slots);
      commands.copy(*from.buffer, from.offset, *to.buffer, to.offset,
                    to.length);
    } else if (const auto *fill = std::get_if<program::Fill>(&command)) {
      Range to = bind(fill->target, slots);
      commands.fill(*to.buffer, to.offset, to.length, fill->pattern,
                    fill->patternSize);
    } else if (std::holds_alternative<program::Barrier>(command)) {
      commands.barrier();
    } else {
      fixture_.trial().skip("the model has commands that the host runs");
    }
  }
}

void Call::runInit() {
  if (compiled_.variant().init.commands.empty())
    return;
  Commands commands;
  add(compiled_.variant().init, commands);
  Queue queue(fixture_);
  queue.run(commands);
}

Bytes Call::outputs() {
  Bytes all;
  for (size_t i = compiled_.inputs().size(); i < ports_.size(); ++i) {
    Bytes one = ports_[i].buffer->read(ports_[i].offset, ports_[i].length);
    all.insert(all.end(), one.begin(), one.end());
  }
  fixture_.trial().expect(
      all != held_ || all.size() < 8 || !fixture_.good(),
      "the outputs hold what they held before, although the "
      "work has completed");
  return all;
}

void Call::expectRestIntact() {
  if (!fixture_.good())
    return;
  for (size_t i = compiled_.inputs().size(); i < ports_.size(); ++i) {
    Range &port = ports_[i];
    Bytes written = port.buffer->read(port.offset, port.length);
    if (fixture_.good())
      std::copy(written.begin(), written.end(),
                port.buffer->model.begin() + int64_t(port.offset));
  }
  for (const Range &port : ports_)
    port.buffer->expect("memory beside the outputs of a dispatch");
}

} // namespace backplane::checks
