// SPDX-License-Identifier: Apache-2.0
#include "ControlRunner.h"
#include "NameOp.h"
#include "StepRun.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// Plans of regions that one tuple of shapes keeps.
constexpr size_t maxRegionPlans = 1024;

/// A pointer that keeps nothing alive.
std::shared_ptr<Buffer> borrowed(Buffer *buffer) {
  return {std::shared_ptr<void>(), buffer};
}

bool same(const SlotBinding &a, const SlotBinding &b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.length == b.length;
}

Status wrongSize(const char *what, size_t number, uint64_t found,
                 uint64_t expected) {
  return dataLoss(std::string(what) + " " + std::to_string(number) + " has " +
                  std::to_string(found) + " bytes, its region says " +
                  std::to_string(expected));
}

} // namespace

/// A While that runs.
struct ControlRunner::Loop {
  const program::Control &control;
  size_t first = 0; ///< operands before the carried ones: the predicate
  bool hasLimit = false;
  int64_t limit = 0;
  bool odd = false; ///< whether odd iterations write to the results
  int64_t iteration = 0;
  Memories current; ///< what is carried
  Memories captured;
  Memories other;           ///< scratch for what is carried
  Memories inputs, outputs; ///< of an iteration
  SlotBinding predicate;    ///< what the region says; without bytes: nothing
  Memories staging;         ///< for stacked results whose parts are not aligned
  std::vector<uint64_t> parts; ///< bytes of an iteration, per stacked result

  bool hasPredicate() const { return first != 0; }
  size_t carried() const { return control.carried; }
};

uint64_t ControlRunner::alignment() const {
  return std::max<uint64_t>(side().alignment(), 64);
}

SlotBinding ControlRunner::entry(const SlotBinding &memory) const {
  if (memory.length == 0)
    return {side().residents.nothing.get(), 0, 0};
  return memory;
}

Level &ControlRunner::level(size_t depth) {
  if (side().levels.size() <= depth)
    side().levels.resize(depth + 1);
  return side().levels[depth];
}

/// Nothing uses the memory of a level when it is entered.
Status ControlRunner::grow(std::shared_ptr<Buffer> &buffer, uint64_t bytes) {
  if (bytes == 0 || (buffer && buffer->size() >= bytes))
    return {};
  buffer.reset();
  auto fresh = allocate(*side().device, context_.budget, Use::Arena, bytes);
  if (!fresh)
    return fresh.status();
  buffer = std::move(*fresh);
  return {};
}

// ---- programs and regions ----

Status ControlRunner::runProgram(const ProgramPlan &plan,
                                 const Program &program, const Tables &tables,
                                 size_t depth) {
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    if (Status s = runPart(context_.sides, plan.parts[i], tables); !s.ok())
      return nameOp(s, program);
    if (i == plan.controls.size())
      break;
    const ResolvedControl &control = plan.controls[i];
    device_ = control.device;
    if (Status s = runControl(control, tables[device_], depth); !s.ok())
      return s.within(control.control->op);
  }
  return {};
}

Result<uint64_t> ControlRunner::bytesOf(const Dim &dim) {
  Result<int64_t> value = context_.evaluator(dim);
  if (!value)
    return value.status();
  if (*value < 0)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "'" + dim.str() + "' is " + std::to_string(*value));
  return uint64_t(*value);
}

Status ControlRunner::checkRegion(const RegionInfo &region) {
  for (const DimAssertion &check : region.checks) {
    Result<int64_t> lhs = context_.evaluator(check.lhs);
    Result<int64_t> rhs = context_.evaluator(check.rhs);
    if (!lhs || !rhs)
      return (lhs ? rhs.status() : lhs.status()).within(check.message);
    if (*lhs != *rhs)
      return invalidArgument(check.message + ": expected " + check.lhs.str() +
                             " == " + check.rhs.str() + ", found " +
                             std::to_string(*lhs) + " and " +
                             std::to_string(*rhs));
  }
  return {};
}

Result<std::shared_ptr<const RegionPlan>>
ControlRunner::makePlan(uint32_t number) {
  const RegionInfo &region = context_.variant.regions[number];
  if (Status s = checkRegion(region); !s.ok())
    return s;
  auto plan = std::make_shared<RegionPlan>();
  for (auto [list, sizes] : {std::pair(&region.inputs, &plan->inputBytes),
                             std::pair(&region.outputs, &plan->outputBytes)})
    for (const Dim &dim : *list) {
      Result<uint64_t> bytes = bytesOf(dim);
      if (!bytes)
        return bytes.status();
      sizes->push_back(*bytes);
    }
  auto inputs = uint32_t(region.inputs.size());
  auto outputs = uint32_t(region.outputs.size());
  auto place = [&](const Slot &slot) -> Result<Binding> {
    if (slot.kind == SlotKind::Input)
      return Binding{nullptr, 0, plan->inputBytes[slot.index], slot.index};
    if (slot.kind == SlotKind::Output)
      return Binding{nullptr, 0, plan->outputBytes[slot.index],
                     inputs + slot.index};
    return context_.resident(slot);
  };
  ResolveContext context{context_.executables, place, inputs + outputs,
                         context_.sides};
  Result<ProgramPlan> program =
      planProgram(region.program, context_.evaluator, context);
  if (!program)
    return program.status();
  plan->program = std::move(*program);
  return std::shared_ptr<const RegionPlan>(std::move(plan));
}

Result<std::shared_ptr<const RegionPlan>>
ControlRunner::planOf(uint32_t region) {
  key_.region = region;
  key_.values.clear();
  const SymbolValues &values = context_.evaluator.values();
  for (const std::string &name : context_.iterationsUsed[region])
    if (auto value = values.find(name); value != values.end())
      key_.values.push_back(value->second);
  if (auto known = context_.plans.find(key_); known != context_.plans.end())
    return known->second;
  Result<std::shared_ptr<const RegionPlan>> plan = makePlan(region);
  if (!plan)
    return plan;
  if (context_.plans.size() >= maxRegionPlans)
    context_.plans.clear();
  context_.plans[key_] = *plan;
  return plan;
}

Status ControlRunner::enter(uint32_t region, const Memories &inputs,
                            const Memories &outputs, size_t depth) {
  Result<std::shared_ptr<const RegionPlan>> plan = planOf(region);
  if (!plan)
    return plan.status();
  const RegionPlan &known = **plan;
  if (tables_.size() <= depth)
    tables_.resize(depth + 1, Tables(context_.sides.size()));
  Tables &tables = tables_[depth];
  for (std::vector<SlotBinding> &table : tables)
    table.clear();
  std::vector<SlotBinding> &table = tables[device_];
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].length != known.inputBytes[i])
      return wrongSize("operand", i, inputs[i].length, known.inputBytes[i]);
    table.push_back(entry(inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].length != known.outputBytes[i])
      return wrongSize("result", i, outputs[i].length, known.outputBytes[i]);
    table.push_back(entry(outputs[i]));
  }
  if (Status s = grow(level(depth).arena, known.program.arenaBytes[device_]);
      !s.ok())
    return s;
  Buffer *arena = level(depth).arena.get();
  table.push_back({arena ? arena : side().residents.nothing.get(), 0, 0});
  return runProgram(known.program, context_.variant.regions[region].program,
                    tables, depth);
}

// ---- decisions ----

Status ControlRunner::copy(const SlotBinding &source,
                           const SlotBinding &target) {
  if (source.length != target.length)
    return dataLoss("it carries " + std::to_string(source.length) +
                    " bytes to a result of " + std::to_string(target.length));
  if (source.length == 0 || same(source, target))
    return {};
  Command command =
      Copy{{borrowed(source.buffer), source.offset, source.length, 0},
           {borrowed(target.buffer), target.offset, target.length, 0}};
  return side().queue->run({&command, 1});
}

Status ControlRunner::runControl(const ResolvedControl &resolved,
                                 std::span<const SlotBinding> table,
                                 size_t depth) {
  auto memories = [&](const std::vector<Binding> &places) {
    Memories result;
    for (const Binding &place : places)
      result.push_back(memoryOf(place, table));
    return result;
  };
  const program::Control &control = *resolved.control;
  Memories operands = memories(resolved.operands);
  Memories results = memories(resolved.results);
  if (control.kind == program::ControlKind::If)
    return runIf(control, operands, results, depth + 1);
  return runWhile(control, operands, results, depth + 1);
}

Status ControlRunner::runIf(const program::Control &control,
                            const Memories &operands, const Memories &results,
                            size_t depth) {
  bool taken = false;
  size_t first = 0;
  if (!control.condition) {
    Result<bool> value = predicate(operands[first++]);
    if (!value)
      return value.status();
    taken = *value;
  } else {
    Result<int64_t> value = context_.evaluator(*control.condition);
    if (!value)
      return value.status();
    taken = *value != 0;
  }
  Memories inputs(operands.begin() + long(first), operands.end());
  return enter(control.regions[taken ? 0 : 1], inputs, results, depth);
}

// ---- loops ----

/// Sizes and scratch memory of a loop.
Status ControlRunner::prepare(Loop &loop, const Memories &operands,
                              const Memories &results, size_t depth) {
  uint64_t unit = alignment(), bytes = 0;
  auto place = [&](uint64_t size) {
    SlotBinding memory{nullptr, bytes, size};
    bytes += (size + unit - 1) / unit * unit;
    return memory;
  };
  auto first = operands.begin() + long(loop.first);
  loop.current.assign(first, first + long(loop.carried()));
  loop.captured.assign(first + long(loop.carried()), operands.end());
  for (const SlotBinding &value : loop.current)
    loop.other.push_back(place(value.length));
  loop.predicate = place(loop.hasPredicate() ? 1 : 0);
  for (size_t i = loop.carried(); i < results.size(); ++i) {
    uint64_t part = loop.limit ? results[i].length / uint64_t(loop.limit) : 0;
    if (part * uint64_t(loop.limit) != results[i].length)
      return dataLoss("stacked result " + std::to_string(i) + " has " +
                      std::to_string(results[i].length) + " bytes for " +
                      std::to_string(loop.limit) + " iterations");
    loop.parts.push_back(part);
    loop.staging.push_back(place(part % unit ? part : 0));
  }
  Level &memory = level(depth);
  if (Status s = grow(memory.scratch, bytes); !s.ok())
    return s;
  Buffer *scratch = memory.scratch.get();
  for (Memories *list : {&loop.other, &loop.staging})
    for (SlotBinding &value : *list)
      value.buffer = scratch;
  loop.predicate.buffer = scratch;
  return {};
}

/// One iteration: the region reads what is carried at one place and writes it
/// at the other.
Status ControlRunner::iterate(Loop &loop, const Memories &results,
                              size_t depth) {
  bool toResults = (loop.iteration % 2 != 0) == loop.odd;
  Memories &inputs = loop.inputs, &outputs = loop.outputs;
  inputs = loop.current;
  outputs.clear();
  inputs.insert(inputs.end(), loop.captured.begin(), loop.captured.end());
  if (loop.hasPredicate())
    outputs.push_back(loop.predicate);
  for (size_t i = 0; i < loop.carried(); ++i)
    outputs.push_back(toResults ? results[i] : loop.other[i]);
  auto part = [&](size_t i) -> SlotBinding {
    const SlotBinding &whole = results[loop.carried() + i];
    uint64_t bytes = loop.parts[i];
    return {whole.buffer, whole.offset + uint64_t(loop.iteration) * bytes,
            bytes};
  };
  for (size_t i = 0; i < loop.parts.size(); ++i)
    outputs.push_back(loop.staging[i].length ? loop.staging[i] : part(i));
  if (Status s = enter(loop.control.regions[0], inputs, outputs, depth);
      !s.ok())
    return s;
  for (size_t i = 0; i < loop.parts.size(); ++i)
    if (loop.staging[i].length)
      if (Status s = copy(loop.staging[i], part(i)); !s.ok())
        return s;
  auto carried = outputs.begin() + long(loop.first);
  loop.current.assign(carried, carried + long(loop.carried()));
  return {};
}

Status ControlRunner::finish(Loop &loop, const Memories &results) {
  for (size_t i = 0; i < loop.carried(); ++i)
    if (Status s = copy(loop.current[i], results[i]); !s.ok())
      return s;
  return {};
}

/// Runs the body until its predicate, which `going` is, or the limit ends it.
Status ControlRunner::turn(Loop &loop, const Memories &results, bool &going,
                           size_t depth) {
  const RegionInfo &body = context_.variant.regions[loop.control.regions[0]];
  const std::string &symbol = body.iteration;
  Status status;
  while (going && (!loop.hasLimit || loop.iteration < loop.limit)) {
    if (!symbol.empty())
      context_.evaluator.set(symbol, loop.iteration);
    status = iterate(loop, results, depth);
    if (!status.ok()) {
      status = status.within("iteration " + std::to_string(loop.iteration));
      break;
    }
    ++loop.iteration;
    if (!loop.hasPredicate())
      continue;
    Result<bool> next = predicate(loop.predicate);
    status = next.status();
    going = next && *next;
  }
  context_.evaluator.unset(symbol);
  return status;
}

Status ControlRunner::runWhile(const program::Control &control,
                               const Memories &operands,
                               const Memories &results, size_t depth) {
  Loop loop{control};
  loop.first = control.conditional ? 1 : 0;
  loop.hasLimit = control.limit.has_value();
  if (loop.hasLimit) {
    Result<uint64_t> limit = bytesOf(*control.limit);
    if (!limit)
      return limit.status().within("limit");
    loop.limit = int64_t(*limit);
  }
  loop.odd = loop.hasLimit && loop.limit % 2 == 0;
  if (Status s = prepare(loop, operands, results, depth); !s.ok())
    return s;
  Result<bool> going =
      loop.hasPredicate() ? predicate(operands[0]) : Result<bool>(true);
  if (!going)
    return going.status();
  if (Status s = turn(loop, results, *going, depth); !s.ok())
    return s;
  if (loop.hasPredicate() && !loop.parts.empty() &&
      (*going || loop.iteration != loop.limit))
    return Status(BP_STATUS_OUT_OF_RANGE,
                  std::string(*going ? "it goes on after " : "it ends after ") +
                      std::to_string(loop.iteration) +
                      " iterations, its stacked results have room for " +
                      std::to_string(loop.limit));
  return finish(loop, results);
}

} // namespace backplane::rt
