// SPDX-License-Identifier: Apache-2.0
#include "Compiled.h"
#include "hal/core/Requirement.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace backplane::checks {

// ---- The artifact ----

/// Opens bytes as a file without a name.
static Result<std::shared_ptr<ArtifactFile>>
openBytes(std::span<const uint8_t> bytes) {
  int fd = memfd_create("artifact", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
    return Status(BP_STATUS_RESOURCE_EXHAUSTED, "no memory for an artifact");
  auto file = ArtifactFile::open("/proc/self/fd/" + std::to_string(fd));
  close(fd);
  return file;
}

Compiled::Compiled(Fixture &fixture) {
  if (!fixture.good() || !fixture.started())
    return;
  std::span<const uint8_t> bytes = fixture.trial().tested().artifact;
  if (bytes.empty())
    fixture.trial().skip("no compiled model was given");
  if (!fixture.good())
    return;
  auto file = openBytes(bytes);
  if (!fixture.trial().expectOk(file.status(), "the compiled model"))
    return;
  file_ = *file;
  read(fixture);
}

/// The fitting variant of the highest rank.
void Compiled::read(Fixture &fixture) {
  const ArtifactInfo &artifact = file_->metadata();
  DeviceInfo const *device = nullptr;
  auto info = DeviceInfo::copy(&fixture.info());
  if (!fixture.trial().expectOk(info.status(), "the device"))
    return;
  device = info->get();
  for (const VariantInfo &one : artifact.variants) {
    const DeviceNeeds &needs = one.devices.front();
    bool fits = needs.driver == fixture.trial().tested().name &&
                device->hasFormat(needs.format);
    for (const std::string &feature : needs.requiredFeatures)
      fits &= lacking(feature, *device).empty();
    if (fits && (!variant_ || one.rank > variant_->rank))
      variant_ = &one;
  }
  if (!fixture.trial().expect(variant_,
                              "no variant of the compiled model runs on "
                              "the device"))
    return;
  readPorts();
  readBlobs();
}

void Compiled::readPorts() {
  auto portOf = [](const PortInfo &info) {
    return Port{info.name, info.type.dtype, info.type.dims};
  };
  const ArtifactInfo &artifact = file_->metadata();
  for (const PortInfo &input : artifact.inputs)
    inputs_.push_back(portOf(input));
  for (const PortInfo &output : artifact.outputs)
    outputs_.push_back(portOf(output));
  for (const Symbol &symbol : artifact.symbols)
    symbols_.push_back(symbol.name);
}

void Compiled::readBlobs() {
  for (const ExecutableInfo &info : variant_->executables)
    blobs_.push_back({info.format,
                      {info.blob.bytes.begin(), info.blob.bytes.end()},
                      info.entries});
}

std::span<const uint8_t> Compiled::weight(uint32_t index) const {
  const WeightInfo &info = file_->metadata().weights[index];
  return file_->weights().subspan(info.offset, info.size);
}

uint64_t Compiled::Port::bytes(const SymbolValues &symbols) const {
  uint64_t bits = bitWidth(dtype);
  for (const Dim &dim : dims)
    bits *= uint64_t(dim.evaluate(symbols).ok() ? *dim.evaluate(symbols) : 0);
  return bits / 8;
}

// ---- Executables ----

/// executable_load; what it was given is made rubbish of afterwards.
static Status load(Fixture &fixture, const Blob &blob,
                   std::span<const uint8_t> bytes, bp_executable_t **out) {
  std::vector<Entry> kept = blob.entries;
  std::vector<bp_entry_t> entries;
  std::vector<const bp_entry_t *> pointers;
  for (const Entry &from : kept) {
    bp_entry_t entry = {BP_HEADER(bp_entry_t)};
    entry.name = toC(from.name);
    entry.binding_access = from.bindingAccess.data();
    entry.binding_count = uint32_t(from.bindingAccess.size());
    entry.constant_count = from.constantCount;
    std::copy_n(from.workgroupSize.begin(), 3, entry.workgroup_size);
    entry.workspace_bytes = from.workspaceBytes;
    entry.subgroup_size = from.subgroupSize;
    entry.parameter_count = from.parameterCount;
    entry.driver_data = {from.driverData.data(), from.driverData.size()};
    entries.push_back(entry);
  }
  for (const bp_entry_t &entry : entries)
    pointers.push_back(&entry);
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
  info.format = toC(blob.format);
  info.blob = {bytes.data(), bytes.size()};
  info.entries = pointers.data();
  info.entry_count = pointers.size();
  Status status = callPlugin(
      "executable_load", fixture.tables().executable.executable_load,
      fixture.device(), static_cast<const bp_executable_info_t *>(&info), out);
  for (Entry &entry : kept) {
    std::fill(entry.name.begin(), entry.name.end(), '#');
    std::fill(entry.bindingAccess.begin(), entry.bindingAccess.end(), 0xDD);
    std::fill(entry.driverData.begin(), entry.driverData.end(), 0xDD);
  }
  for (bp_entry_t &entry : entries)
    std::memset(static_cast<void *>(&entry), 0xDD, sizeof(entry));
  return status;
}

Executable::Executable(Fixture &fixture, const Blob &blob) : fixture_(fixture) {
  if (!fixture.good())
    return;
  Bytes passing = blob.bytes;
  exists_ =
      fixture.take(load(fixture, blob, passing, &handle_), "executable_load");
  std::fill(passing.begin(), passing.end(), 0xDD);
}

Executable::~Executable() {
  if (exists_)
    callPluginVoid("executable_unload",
                   fixture_.tables().executable.executable_unload,
                   fixture_.device(), handle_);
}

Status Executable::attempt(Fixture &fixture, const Blob &blob,
                           std::span<const uint8_t> bytes) {
  bp_executable_t *handle = nullptr;
  Status status = load(fixture, blob, bytes, &handle);
  if (status.ok())
    callPluginVoid("executable_unload",
                   fixture.tables().executable.executable_unload,
                   fixture.device(), handle);
  return status;
}

// ---- A fixture with a model ----

ModelFixture::ModelFixture(Trial &trial, const HostPlan &plan)
    : fixture(trial, plan) {
  load();
}

void ModelFixture::load() {
  queue.reset();
  executables.clear();
  if (!compiled.good())
    compiled = Compiled(fixture);
  for (const Blob &blob : compiled.blobs())
    executables.push_back(std::make_unique<Executable>(fixture, blob));
  queue = std::make_unique<Queue>(fixture);
}

SymbolValues ModelFixture::sizes(unsigned scale) const {
  constexpr int64_t values[] = {1, 33, 7, 130, 64, 2, 257};
  SymbolValues symbols;
  for (size_t i = 0; i < compiled.symbols().size(); ++i)
    symbols[compiled.symbols()[i]] = values[(scale + 2 * i) % 7];
  return symbols;
}

Bytes ModelFixture::run(uint64_t seed, const Layout &layout, How how,
                        unsigned scale) {
  if (!good())
    return {};
  Call call(fixture, compiled, executables, sizes(scale), seed, layout);
  queue->run(call.commands(), how);
  call.expectRestIntact();
  return call.outputs();
}

void ModelFixture::expectSame(const Bytes &found, const Bytes &expected,
                              const std::string &what) {
  if (!good())
    return;
  auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(),
                              expected.end());
  if (a == found.end() && b == expected.end())
    return;
  fixture.trial().fail(what + " gives other results, from byte " +
                       std::to_string(a - found.begin()) + " of " +
                       std::to_string(found.size()) + " on");
}

} // namespace backplane::checks
