// SPDX-License-Identifier: Apache-2.0
//
// Loads.cpp: loading executables: good ones, and damaged ones.
#include "Groups.h"
#include "Models.h"
#include "sdk/support/Pages.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace backplane::checks {
namespace {

/// A good blob loads and computes as at first, whatever was loaded before.
void expectStillRight(ModelFixture &model, const Bytes &expected,
                      const std::string &after) {
  if (!model.good())
    return;
  std::vector<std::unique_ptr<Executable>> again;
  for (const Blob &blob : model.compiled.blobs())
    again.push_back(std::make_unique<Executable>(model.fixture, blob));
  model.executables.swap(again);
  Bytes found = model.run(1);
  model.fixture.trial().expect(!model.good() || found == expected,
                               "the model computes something else after " +
                                   after);
}

// ---- Good blobs ----

void loadOften(Trial &trial) {
  ModelFixture model(trial);
  for (int i = 0; i < 60 && model.good(); ++i)
    for (const Blob &blob : model.compiled.blobs())
      Executable one(model.fixture, blob);
  model.run(1);
}

void loadedTwice(Trial &trial) {
  ModelFixture model(trial);
  Bytes expected = model.run(1);
  if (!model.good())
    return;
  std::vector<std::unique_ptr<Executable>> second;
  for (const Blob &blob : model.compiled.blobs())
    second.push_back(std::make_unique<Executable>(model.fixture, blob));
  trial.expect(model.run(1) == expected || !model.good(),
               "the model computes something else once it is loaded twice");
  model.executables.swap(second);
  trial.expect(model.run(1) == expected || !model.good(),
               "the model that was loaded second computes something else");
  second.clear();
  trial.expect(model.run(1) == expected || !model.good(),
               "the model computes something else once the first of two is "
               "unloaded");
}

void misaligned(Trial &trial, uint64_t shift) {
  ModelFixture model(trial);
  Bytes expected = model.run(1);
  for (const Blob &blob : model.compiled.blobs()) {
    Bytes memory(blob.bytes.size() + 64);
    std::copy(blob.bytes.begin(), blob.bytes.end(),
              memory.begin() + int64_t(shift));
    std::span<const uint8_t> bytes(memory.data() + shift, blob.bytes.size());
    if (model.good())
      model.fixture.take(Executable::attempt(model.fixture, blob, bytes),
                         "executable_load of a blob at an odd address");
  }
  expectStillRight(model, expected, "a load from an odd address");
}

void beforeGuard(Trial &trial) {
  ModelFixture model(trial);
  for (const Blob &blob : model.compiled.blobs()) {
    Pages pages(blob.bytes.size());
    if (!model.good() || !pages.end())
      return;
    uint8_t *memory = pages.end() - blob.bytes.size();
    std::copy(blob.bytes.begin(), blob.bytes.end(), memory);
    model.fixture.take(
        Executable::attempt(model.fixture, blob, {memory, blob.bytes.size()}),
        "executable_load of a blob at the end of a page");
  }
}

/// The bytes of two compilations, in two processes, of one graph.
void compiledTwice(Trial &trial) {
  std::span<const uint8_t> once = trial.tested().artifact;
  std::span<const uint8_t> again = trial.tested().again;
  if (once.empty())
    return trial.skip("no compiled model was given");
  if (!trial.expect(!again.empty(), "the second compilation failed"))
    return;
  auto [a, b] =
      std::mismatch(once.begin(), once.end(), again.begin(), again.end());
  trial.expect(a == once.end() && b == again.end(),
               "two compilations of one graph give artifacts of " +
                   std::to_string(once.size()) + " and " +
                   std::to_string(again.size()) +
                   " bytes that differ from byte " +
                   std::to_string(a - once.begin()) + " on");
}

// ---- Damaged blobs ----

/// Loads damaged blobs. Each is refused with INVALID_ARGUMENT and a reason, or
/// loads because the damage is where nobody looks; it never runs.
class Damage {
public:
  explicit Damage(Trial &trial) : model_(trial), expected_(model_.run(1)) {}
  ~Damage() { expectStillRight(model_, expected_, "damaged blobs"); }

  bool good() const { return model_.good(); }
  const std::vector<Blob> &blobs() const { return model_.compiled.blobs(); }
  void load(const Blob &blob, std::span<const uint8_t> bytes,
            bool mustFail = false) {
    if (!good())
      return;
    Status status = Executable::attempt(model_.fixture, blob, bytes);
    Trial &trial = model_.fixture.trial();
    trial.expect(!status.ok() || !mustFail,
                 "a blob of " + std::to_string(bytes.size()) +
                     " bytes is loaded although nothing of it is right");
    trial.expect(status.ok() || status.code() == BP_STATUS_INVALID_ARGUMENT,
                 "a damaged blob gives status " +
                     std::to_string(status.code()) +
                     ", not INVALID_ARGUMENT: " + status.message());
    trial.expect(status.ok() ||
                     status.message().find("no reason") == std::string::npos,
                 "a damaged blob is refused without a reason");
  }
  /// Damages each of up to `most` places, spread over the blob's first `reach`
  /// bytes, one at a time.
  void spread(uint64_t most, uint64_t reach,
              void (*damage)(Bytes &bytes, uint64_t place)) {
    for (const Blob &blob : blobs()) {
      uint64_t end = std::min<uint64_t>(reach, blob.bytes.size());
      uint64_t step = std::max<uint64_t>(end / most, 1);
      for (uint64_t place = 0; place < end && good(); place += step) {
        Bytes bytes = blob.bytes;
        damage(bytes, place);
        load(blob, bytes);
      }
    }
  }

private:
  ModelFixture model_;
  Bytes expected_;
};

void cutShort(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs()) {
    uint64_t size = blob.bytes.size();
    uint64_t step = std::max<uint64_t>(size / 100, 1);
    for (uint64_t length = 0; length < size && damage.good(); length += step)
      damage.load(blob, {blob.bytes.data(), length}, length < size / 8);
  }
}

void garbage(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs()) {
    for (uint64_t size : {1, 2, 63, 64, 65, 1000, 70000})
      damage.load(blob, noise(size, size), true);
    damage.load(blob, {}, true);
    damage.load(blob, Bytes(4096, 0), true);
    damage.load(blob, Bytes(4096, 0xFF), true);
    const std::string text = "#!/bin/sh\necho this is no executable\n";
    damage.load(blob, asBytes(text), true);
    damage.load(blob, noise(blob.bytes.size(), 9), true);
  }
}

/// The right start, then nothing that belongs there.
void rightStart(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs())
    for (uint64_t kept : {4, 8, 16, 64}) {
      Bytes bytes = noise(blob.bytes.size(), kept);
      kept = std::min<uint64_t>(kept, blob.bytes.size());
      std::copy_n(blob.bytes.begin(), kept, bytes.begin());
      damage.load(blob, bytes);
    }
}

void swappedHalves(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs()) {
    Bytes bytes = blob.bytes;
    std::rotate(bytes.begin(), bytes.begin() + int64_t(bytes.size() / 2),
                bytes.end());
    damage.load(blob, bytes);
  }
}

void withTail(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs())
    for (uint64_t extra : {1, 64, 4096}) {
      Bytes bytes = blob.bytes;
      Bytes tail = noise(extra, extra);
      bytes.insert(bytes.end(), tail.begin(), tail.end());
      damage.load(blob, bytes);
    }
}

/// An ELF image for other machines, word sizes and byte orders.
void foreignMachine(Trial &trial) {
  Damage damage(trial);
  for (const Blob &blob : damage.blobs()) {
    bool elf = blob.bytes.size() > sizeof(Elf64_Ehdr) &&
               std::memcmp(blob.bytes.data(), ELFMAG, SELFMAG) == 0;
    if (!elf)
      return trial.skip("blobs of this format name no machine");
    for (uint16_t machine : {EM_386, EM_ARM, EM_PPC64, EM_RISCV, EM_AMDGPU}) {
      Bytes bytes = blob.bytes;
      std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &machine, 2);
      damage.load(blob, bytes, true);
    }
    Bytes narrow = blob.bytes, swapped = blob.bytes;
    narrow[EI_CLASS] = ELFCLASS32;
    damage.load(blob, narrow, true);
    swapped[EI_DATA] = ELFDATA2MSB;
    damage.load(blob, swapped, true);
  }
}

/// What the entries say need not fit the blob.
void wrongEntries(Trial &trial, void (*change)(Blob &blob)) {
  Damage damage(trial);
  for (Blob blob : damage.blobs()) {
    change(blob);
    damage.load(blob, blob.bytes);
  }
}

void addEntries(Group &group) {
  auto add = [&](const char *name, void (*change)(Blob &)) {
    group.add(name, wrongEntries, change);
  };
  add("entry-renamed", [](Blob &b) { b.entries[0].name = "no_such_entry"; });
  add("entry-name-long",
      [](Blob &b) { b.entries[0].name = std::string(100000, 'e'); });
  add("entry-twice", [](Blob &b) { b.entries.push_back(b.entries[0]); });
  add("no-entries", [](Blob &b) { b.entries.clear(); });
  add("more-bindings",
      [](Blob &b) { b.entries[0].bindingAccess.resize(1000, 1); });
  add("no-bindings", [](Blob &b) { b.entries[0].bindingAccess.clear(); });
  add("more-constants", [](Blob &b) { b.entries[0].constantCount += 7; });
  add("more-parameters", [](Blob &b) { b.entries[0].parameterCount += 1000; });
  add("odd-subgroups", [](Blob &b) { b.entries[0].subgroupSize = 3; });
  add("driver-data",
      [](Blob &b) { b.entries[0].driverData.assign(100000, 0xFF); });
  add("endless-workspace",
      [](Blob &b) { b.entries[0].workspaceBytes = UINT64_MAX; });
}

void addDamage(Checks &all, const std::string &model) {
  Group group(all, "L2/" + model + "/damaged",
              "A damaged or foreign blob is refused with INVALID_ARGUMENT and "
              "a reason, and harms nothing that is loaded after it.",
              {"error-word"});
  group.of(model);
  struct Kind {
    const char *name;
    void (*damage)(Bytes &bytes, uint64_t place);
  };
  static constexpr Kind kinds[] = {
      {"bit", [](Bytes &b, uint64_t p) { b[p] ^= uint8_t(1u << p % 8); }},
      {"zero", [](Bytes &b, uint64_t p) { b[p] = 0; }},
      {"255", [](Bytes &b, uint64_t p) { b[p] = 255; }},
      {"word",
       [](Bytes &b, uint64_t p) {
         std::fill_n(b.begin() + int64_t(p),
                     std::min<uint64_t>(8, b.size() - p), 0xFF);
       }},
      {"block",
       [](Bytes &b, uint64_t p) {
         std::fill_n(b.begin() + int64_t(p),
                     std::min<uint64_t>(64, b.size() - p), 0);
       }},
  };
  for (const Kind &kind : kinds) {
    group.add(std::string(kind.name) + "-in-the-head", [&kind](Trial &trial) {
      Damage(trial).spread(512, 1024, kind.damage);
    });
    group.add(std::string(kind.name) + "-anywhere", [&kind](Trial &trial) {
      Damage(trial).spread(400, UINT64_MAX, kind.damage);
    });
  }
  group.add("cut-short", Depth::Smoke, cutShort);
  group.add("garbage", Depth::Smoke, garbage);
  group.add("right-start", rightStart);
  group.add("swapped-halves", swappedHalves);
  group.add("tail", withTail);
  group.add("foreign-machine", foreignMachine);
  addEntries(group);
}

} // namespace

void addLoads(Checks &all) {
  for (const ModelName &model : modelNames) {
    Group group(all, std::string("L2/") + model.name + "/load",
                "executable_load makes a blob runnable, keeps nothing of what "
                "it was given, and compiling is repeatable.");
    group.of(model.name);
    Depth depth = model.smoke ? Depth::Smoke : Depth::Standard;
    group.add("60-times", loadOften);
    group.add("twice", depth, loadedTwice);
    for (uint64_t shift : {1, 8})
      group.add("misaligned-by-" + std::to_string(shift), misaligned, shift);
    group.add("before-a-guard-page", beforeGuard);
    group.add("compiled-twice", depth, compiledTwice);
    if (model.damaged)
      addDamage(all, model.name);
  }
}

} // namespace backplane::checks
