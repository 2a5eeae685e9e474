// SPDX-License-Identifier: Apache-2.0
//
// Runs.cpp: dispatches again and again, with other data and sizes between.
#include "Changes.h"
#include "RunGroups.h"

namespace backplane::checks {
namespace {

void repeats(Trial &trial, int times) {
  ModelFixture model(trial);
  Bytes expected = model.run(1);
  for (int i = 0; i < times && model.good(); ++i)
    model.expectSame(model.run(1), expected, "run " + std::to_string(i + 2));
}

/// One command list again and again: what an earlier run left behind is not
/// part of the next.
void sameMemory(Trial &trial, int times, How how) {
  ModelFixture model(trial);
  Bytes expected = model.run(2);
  if (!model.good())
    return;
  Call call(model.fixture, model.compiled, model.executables, model.sizes(), 2);
  for (int i = 0; i < times && model.good(); ++i) {
    model.queue->run(call.commands(), how);
    model.expectSame(call.outputs(), expected, "run " + std::to_string(i + 1));
  }
}

/// Other data, other results; the same data, the same.
void alternates(Trial &trial) {
  ModelFixture model(trial);
  Bytes a = model.run(1), b = model.run(1000);
  trial.expect(!model.good() || a != b,
               "other inputs give the same outputs: is anything computed?");
  for (int i = 0; i < 8 && model.good(); ++i)
    model.expectSame(model.run(i % 2 ? 1000 : 1), i % 2 ? b : a,
                     "a run between runs with other data");
}

/// Large and small sizes in turn, by one loaded executable.
void sizesInTurn(Trial &trial) {
  constexpr unsigned scales[] = {0, 1, 2, 3, 4, 5, 6, 3, 0, 6, 1, 5, 2};
  std::map<unsigned, Bytes> expected;
  for (unsigned scale : scales)
    if (!expected.contains(scale)) {
      ModelFixture fresh(trial);
      expected[scale] = fresh.run(4, {}, How::Execute, scale);
    }
  ModelFixture model(trial);
  for (unsigned scale : scales)
    model.expectSame(model.run(4, {}, How::Execute, scale), expected[scale],
                     "a run after runs with other sizes");
}

void severalInOneList(Trial &trial) {
  ModelFixture model(trial);
  Bytes first = model.run(6), second = model.run(7);
  if (!model.good())
    return;
  Call a(model.fixture, model.compiled, model.executables, model.sizes(), 6);
  Call b(model.fixture, model.compiled, model.executables, model.sizes(), 7);
  Commands all;
  for (int i = 0; i < 3; ++i)
    all.append(a.commands()).append(b.commands()).barrier();
  model.queue->run(all);
  model.expectSame(a.outputs(), first, "the first of two calls in one list");
  model.expectSame(b.outputs(), second, "the second of two calls in one list");
}

/// Kernels on the host's pool leave no thread changed.
void leavesTheProcess(Trial &trial) {
  Changes changes;
  {
    ModelFixture model(trial);
    for (int i = 0; i < 5 && model.good(); ++i)
      (void)model.run(1);
  }
  changes.expectNone(trial);
}

} // namespace

void addRuns(Checks &all) {
  for (const ModelName &model : modelNames) {
    Group group(all, std::string("L2/") + model.name + "/run",
                "A dispatch gives the same bits for the same inputs, whatever "
                "ran before.",
                {"workspace", "cache", "race"});
    group.of(model.name);
    Depth depth = model.smoke ? Depth::Smoke : Depth::Standard;
    group.add("30-times", depth, repeats, 30);
    for (How how : allWays)
      group.add(std::string("same-memory-") + name(how), sameMemory, 10, how);
    group.add("other-data-between", depth, alternates);
    group.add("several-in-one-list", severalInOneList);
    group.add("leaves-the-process", leavesTheProcess);
    if (model.dynamic)
      group.add("sizes-in-turn", sizesInTurn);
    addPlaces(all, model);
    addHosts(all, model);
    addFences(all, model);
    if (model.indexed)
      addErrors(all, model);
  }
}

} // namespace backplane::checks
