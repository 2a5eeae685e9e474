// SPDX-License-Identifier: Apache-2.0
#include "Compiled.h"
#include "sdk/package/Check.h"

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

Compiled::Compiled(Rig &rig) {
  if (!rig.good() || !rig.started())
    return;
  std::span<const uint8_t> bytes = rig.trial().subject().artifact;
  if (bytes.empty())
    rig.trial().skip("no compiled model was given");
  if (!rig.good())
    return;
  auto file = openBytes(bytes);
  if (!rig.trial().expectOk(file.status(), "the compiled model"))
    return;
  file_ = *file;
  read(rig);
}

/// The fitting variant of the highest rank.
void Compiled::read(Rig &rig) {
  const fb::Artifact &artifact = file_->metadata();
  DeviceInfo const *device = nullptr;
  auto info = DeviceInfo::copy(&rig.info());
  if (!rig.trial().expectOk(info.status(), "the device"))
    return;
  device = info->get();
  for (uint32_t i = 0; i < count(artifact.variants()); ++i) {
    const fb::Variant *one = artifact.variants()->Get(i);
    bool fits = text(one->driver()) == rig.trial().subject().name &&
                device->hasFormat(text(one->format()));
    for (uint32_t f = 0; f < count(one->required_features()); ++f)
      fits &= device->hasFeature(text(one->required_features()->Get(f)));
    if (fits && (!variant_ || one->rank() > variant_->rank()))
      variant_ = one;
  }
  if (!rig.trial().expect(variant_, "no variant of the compiled model runs on "
                                    "the device"))
    return;
  readPorts();
  readBlobs();
}

void Compiled::readPorts() {
  auto portOf = [](const fb::TensorInfo &info) {
    Port port{std::string(text(info.name())), DType(info.dtype()), {}};
    for (uint32_t i = 0; i < count(info.sizes()); ++i) {
      int64_t size = info.sizes()->Get(i);
      auto dim = size >= 0 ? Result<Dim>(Dim(size))
                           : Dim::parse(text(info.exprs()->Get(i)));
      port.dims.push_back(dim ? *dim : Dim());
    }
    return port;
  };
  const fb::Artifact &artifact = file_->metadata();
  for (uint32_t i = 0; i < count(artifact.inputs()); ++i)
    inputs_.push_back(portOf(*artifact.inputs()->Get(i)));
  for (uint32_t i = 0; i < count(artifact.outputs()); ++i)
    outputs_.push_back(portOf(*artifact.outputs()->Get(i)));
  for (uint32_t i = 0; i < count(artifact.symbols()); ++i)
    symbols_.emplace_back(text(artifact.symbols()->Get(i)->name()));
}

void Compiled::readBlobs() {
  for (uint32_t i = 0; i < count(variant_->executables()); ++i) {
    const fb::Executable &info = *variant_->executables()->Get(i);
    Blob blob{std::string(text(info.format())), {}, {}};
    if (info.blob())
      blob.bytes.assign(info.blob()->begin(), info.blob()->end());
    for (const fb::Entry *from : *info.entries()) {
      Entry entry;
      entry.name = text(from->name());
      entry.bindingAccess.assign(from->access()->begin(),
                                 from->access()->end());
      entry.constantCount = from->constant_count();
      for (uint32_t axis = 0; axis < 3; ++axis)
        entry.workgroupSize[axis] = from->workgroup_size()->Get(axis);
      entry.workspaceBytes = from->workspace_bytes();
      blob.entries.push_back(std::move(entry));
    }
    blobs_.push_back(std::move(blob));
  }
}

std::span<const uint8_t> Compiled::weight(uint32_t index) const {
  const fb::WeightInfo &info = *file_->metadata().weights()->Get(index);
  return file_->weights().subspan(info.offset(), info.size());
}

uint64_t Compiled::Port::bytes(const SymbolValues &symbols) const {
  uint64_t bits = bitWidth(dtype);
  for (const Dim &dim : dims)
    bits *= uint64_t(dim.evaluate(symbols).ok() ? *dim.evaluate(symbols) : 0);
  return bits / 8;
}

// ---- Executables ----

/// executable_load; what it was given is made rubbish of afterwards.
static Status load(Rig &rig, const Blob &blob, std::span<const uint8_t> bytes,
                   bp_executable_t **out) {
  std::vector<Entry> kept = blob.entries;
  std::vector<bp_entry_t> entries;
  std::vector<const bp_entry_t *> pointers;
  for (const Entry &from : kept) {
    bp_entry_t entry = {BP_HEADER(bp_entry_t)};
    entry.name = toC(from.name);
    entry.binding_access = from.bindingAccess.data();
    entry.binding_count = uint32_t(from.bindingAccess.size());
    entry.constant_count = from.constantCount;
    std::copy_n(from.workgroupSize, 3, entry.workgroup_size);
    entry.workspace_bytes = from.workspaceBytes;
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
      "executable_load", rig.tables().executable.executable_load, rig.device(),
      static_cast<const bp_executable_info_t *>(&info), out);
  for (Entry &entry : kept) {
    std::fill(entry.name.begin(), entry.name.end(), '#');
    std::fill(entry.bindingAccess.begin(), entry.bindingAccess.end(), 0xDD);
  }
  for (bp_entry_t &entry : entries)
    std::memset(static_cast<void *>(&entry), 0xDD, sizeof(entry));
  return status;
}

Executable::Executable(Rig &rig, const Blob &blob) : rig_(rig) {
  if (!rig.good())
    return;
  Bytes passing = blob.bytes;
  exists_ = rig.take(load(rig, blob, passing, &handle_), "executable_load");
  std::fill(passing.begin(), passing.end(), 0xDD);
}

Executable::~Executable() {
  if (exists_)
    callPluginVoid("executable_unload",
                   rig_.tables().executable.executable_unload, rig_.device(),
                   handle_);
}

Status Executable::attempt(Rig &rig, const Blob &blob,
                           std::span<const uint8_t> bytes) {
  bp_executable_t *handle = nullptr;
  Status status = load(rig, blob, bytes, &handle);
  if (status.ok())
    callPluginVoid("executable_unload",
                   rig.tables().executable.executable_unload, rig.device(),
                   handle);
  return status;
}

// ---- A rig with a model ----

ModelRig::ModelRig(Trial &trial, const HostPlan &plan) : rig(trial, plan) {
  load();
}

void ModelRig::load() {
  queue.reset();
  executables.clear();
  if (!compiled.good())
    compiled = Compiled(rig);
  for (const Blob &blob : compiled.blobs())
    executables.push_back(std::make_unique<Executable>(rig, blob));
  queue = std::make_unique<Queue>(rig);
}

SymbolValues ModelRig::sizes(unsigned scale) const {
  constexpr int64_t values[] = {1, 33, 7, 130, 64, 2, 257};
  SymbolValues symbols;
  for (size_t i = 0; i < compiled.symbols().size(); ++i)
    symbols[compiled.symbols()[i]] = values[(scale + 2 * i) % 7];
  return symbols;
}

Bytes ModelRig::run(uint64_t seed, const Layout &layout, How how,
                    unsigned scale) {
  if (!good())
    return {};
  Call call(rig, compiled, executables, sizes(scale), seed, layout);
  queue->run(call.commands(), how);
  call.expectRestIntact();
  return call.outputs();
}

} // namespace backplane::checks
