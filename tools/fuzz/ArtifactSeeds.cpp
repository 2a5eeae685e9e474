// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"
#include "sdk/package/Layout.h"
#include "sdk/package/test/Sample.h"

#include <cstring>
#include <functional>

namespace backplane::fuzz {

namespace {

Bytes readAll(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// Packs metadata that no writer would take into the file of another artifact;
/// the target puts the hash right.
void writeBroken(const fs::path &path, const Bytes &good,
                 const fb::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishArtifactBuffer(builder, fb::Artifact::Pack(builder, &artifact));
  layout::Header header;
  std::memcpy(&header, good.data(), sizeof(header));
  uint64_t weights =
      layout::alignUp(sizeof(header) + builder.GetSize(), layout::pageBytes);
  Bytes bytes(weights + header.weightsBytes);
  std::copy_n(good.begin() + long(header.weightsOffset), header.weightsBytes,
              bytes.begin() + long(weights));
  header.metadataBytes = builder.GetSize();
  header.weightsOffset = weights;
  header.fileBytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), builder.GetBufferPointer(),
              builder.GetSize());
  write(path, bytes);
}

/// What is wrong with an executable.
std::vector<std::function<void(fb::VariantT &)>> breaksOfExecutables() {
  using V = fb::VariantT;
  return {
      [](V &v) { v.executables[0]->entries[0]->subgroup_size = 3; },
      [](V &v) { v.executables[0]->entries[0]->parameter_count = 99; },
      [](V &v) { v.executables[0]->entries[0]->driver_data.resize(9999); },
      [](V &v) { v.executables[0]->entries[0]->access.resize(999); },
      [](V &v) { v.executables[0]->entries.clear(); },
      [](V &v) {
        v.executables[0]->native = std::make_unique<fb::NativeKernelT>();
      },
      [](V &v) {
        v.executables[0]->native = std::make_unique<fb::NativeKernelT>();
        v.executables[0]->blob.clear();
        v.executables[0]->format = "native";
      },
  };
}

/// What is wrong in one place, in the sample that is split over two devices.
std::vector<std::function<void(fb::VariantT &)>> breaks() {
  using V = fb::VariantT;
  auto command = [](V &v, size_t i) { return v.program->commands[i].get(); };
  auto choice = [=](V &v) { return command(v, 7)->body.AsControl(); };
  auto loop = [=](V &v) { return command(v, 8)->body.AsControl(); };
  auto first = [=](V &v) { return command(v, 0)->body.AsDispatch(); };
  auto slots = [](V &v) -> auto & { return v.program->slots; };
  return {
      [](V &) {},
      [=](V &v) { slots(v)[11]->device = 2; },
      [=](V &v) { slots(v)[12]->device = 0; },
      [=](V &v) { slots(v)[12]->reuse = 9; },
      [=](V &v) { slots(v)[9]->device = 1; },
      [=](V &v) { slots(v)[12]->offset = 0; },
      [=](V &v) { slots(v)[5]->bytes = "0-1"; },
      [=](V &v) { slots(v)[3]->bytes = "20"; },
      [=](V &v) { slots(v)[0]->index = 7; },
      [=](V &v) { slots(v)[2]->index = 7; },
      [=](V &v) { slots(v)[3]->index = 7; },
      [=](V &v) { slots(v)[4]->index = 7; },
      [=](V &v) { slots(v)[7]->reuse = 77; },
      [](V &v) { v.executables[1]->device = 7; },
      [](V &v) { v.regions[0]->device = 2; },
      [](V &v) { v.regions[0]->device = 1; },
      [](V &v) { v.regions[0]->program.reset(); },
      [](V &v) { v.regions[1]->iteration = "n"; },
      [](V &v) { v.regions.resize(1); },
      [](V &v) { v.init->slots[1]->device = 1; },
      [](V &v) { v.init->slots[1]->bytes = "n"; },
      [](V &v) { v.init->slots[2]->bytes = "n"; },
      [](V &v) { v.init->commands.resize(1); },
      [](V &v) { v.devices[0]->driver.clear(); },
      [](V &v) { v.program->arenas = {128, 128}; },
      [](V &v) { v.program->arenas.clear(); },
      [=](V &v) { choice(v)->kind = fb::ControlKind(9); },
      [=](V &v) { choice(v)->regions.pop_back(); },
      [=](V &v) { choice(v)->regions[1] = 2; },
      [=](V &v) { choice(v)->results[0] = 0; },
      [=](V &v) { choice(v)->results[0] = 70; },
      [=](V &v) { choice(v)->results[0] = 3; },
      [=](V &v) { choice(v)->results[0] = 4; },
      [=](V &v) { choice(v)->condition = ""; },
      [=](V &v) {
        v.init->commands.push_back(std::make_unique<fb::CommandT>());
        v.init->commands.back()->body.Set(fb::ControlT(*choice(v)));
      },
      [](V &v) { v.regions[0]->program->slots[0]->index = 1; },
      [](V &v) { v.regions[0]->inputs = {"0-1"}; },
      [](V &v) { v.regions[0]->outputs = {"n*"}; },
      [=](V &v) { loop(v)->limit = ""; },
      [=](V &v) { loop(v)->limit = "0-1"; },
      [=](V &v) { loop(v)->carried = 2; },
      [=](V &v) { first(v)->executable = 9; },
      [=](V &v) { first(v)->entry = 9; },
      [=](V &v) { first(v)->grid.pop_back(); },
      [=](V &v) { first(v)->constants.clear(); },
      [=](V &v) { first(v)->flops = "n*0-1"; },
      [=](V &v) { first(v)->workspace = "0-1"; },
      [=](V &v) { first(v)->bindings[0]->slot = 99; },
      [=](V &v) { first(v)->bindings[0]->offset = "4096"; },
      [=](V &v) { first(v)->bindings[0]->length = "64"; },
      [=](V &v) { command(v, 5)->body.AsFill()->pattern_size = 3; },
      [=](V &v) { command(v, 4)->body.AsCopy()->source.reset(); },
  };
}

} // namespace

Status writeArtifacts(const fs::path &folder) {
  const fs::path path = folder / "sample.bpx";
  int number = 0;
  auto changes = breaks();
  for (const auto &change : breaksOfExecutables())
    changes.push_back(change);
  for (const auto &change : changes) {
    fb::ArtifactT artifact;
    WeightPool pool;
    sample::fullArtifact(artifact, pool);
    if (number == 0)
      if (Status s = sample::write(path.string(), artifact, pool); !s.ok())
        return s;
    Bytes good = readAll(path);
    std::unique_ptr<fb::ArtifactT> whole(
        fb::GetArtifact(good.data() + sizeof(layout::Header))->UnPack());
    sample::split(*whole);
    change(*whole->variants[0]);
    std::memcpy(good.data() + offsetof(layout::Header, version),
                &splitArtifactVersion, sizeof(splitArtifactVersion));
    writeBroken(folder / ("split" + std::to_string(number++)), good, *whole);
  }
  fb::ArtifactT launching;
  WeightPool pool;
  sample::fullArtifact(launching, pool);
  sample::extendLaunches(launching);
  if (Status s =
          sample::write((folder / "launches.bpx").string(), launching, pool);
      !s.ok())
    return s;
  fb::ArtifactT reading;
  sample::fullArtifact(reading, pool);
  sample::addRead(reading);
  if (Status s = sample::write((folder / "reads.bpx").string(), reading, pool);
      !s.ok())
    return s;
  // As they are: cut at sizes that the target leaves alone, and damaged.
  for (size_t size : {size_t(7), size_t(71), size_t(1023)}) {
    Bytes good = readAll(path);
    good.resize(size);
    write(folder / ("cut" + std::to_string(size)), good);
  }
  return {};
}

} // namespace backplane::fuzz
