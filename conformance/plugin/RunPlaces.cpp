// SPDX-License-Identifier: Apache-2.0
//
// RunPlaces.cpp: where the memory of a dispatch lies.
#include "RunGroups.h"

namespace backplane::checks {
namespace {

/// Every byte of an output is written, and only those.
void everyByte(Trial &trial) {
  ModelFixture model(trial);
  Layout layout;
  layout.fill = 0;
  Bytes expected = model.run(1, layout);
  for (uint8_t fill : {0xFF, 0x5A, 0x80}) {
    layout.fill = fill;
    model.expectSame(model.run(1, layout), expected,
                     "an output that held something else before");
  }
}

void laidOut(Trial &trial, Layout layout, How how) {
  ModelFixture model(trial);
  Bytes expected = model.run(3);
  model.expectSame(model.run(3, layout, how), expected,
                   "another place in memory");
}

/// A call without elements leaves the memory around its ports alone.
void withoutElements(Trial &trial, How how) {
  ModelFixture model(trial);
  if (!model.good())
    return;
  SymbolValues none = model.sizes();
  for (auto &[name, value] : none)
    value = 0;
  Layout gaps;
  gaps.before = 3;
  gaps.after = 100;
  Call call(model.fixture, model.compiled, model.executables, none, 1, gaps);
  model.queue->run(call.commands(), how);
  call.expectRestIntact();
}

} // namespace

void addPlaces(Checks &all, const ModelName &model) {
  Group group(all, std::string("L2/") + model.name + "/memory",
              "A dispatch reads and writes its bindings where they are, whole, "
              "and nothing else.",
              {"offset", "tail", "zero-size"});
  group.of(model.name);
  Depth depth = model.smoke ? Depth::Smoke : Depth::Standard;
  group.add("every-byte-written", depth, everyByte);
  for (How how : allWays) {
    if (model.dynamic)
      group.add(std::string("no-elements-") + name(how), withoutElements, how);
    Layout gaps;
    gaps.before = 3;
    gaps.after = 100;
    group.add(std::string("offsets-") + name(how),
              how == How::Slots ? depth : Depth::Standard, laidOut, gaps, how);
    Layout shared = gaps;
    shared.oneBuffer = true;
    shared.before = 1;
    group.add(std::string("one-buffer-") + name(how), laidOut, shared, how);
  }
}

} // namespace backplane::checks
