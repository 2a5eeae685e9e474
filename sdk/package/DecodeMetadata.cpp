// SPDX-License-Identifier: Apache-2.0
#include "Metadata.h"
#include "Requirements.h"
#include "artifact_generated.h"

#include <unordered_map>

namespace backplane {
namespace {

constexpr unsigned maxDepth = 32, maxTables = 8'000'000;
constexpr uint32_t maxRank = 64;

Status bad(std::string message) { return dataLoss(std::move(message)); }

std::string_view text(const flatbuffers::String *string) {
  return string ? string->string_view() : std::string_view();
}

/// Decodes one buffer; the first failure is kept and makes what follows empty.
class Decoder {
public:
  explicit Decoder(size_t bytes) : left_(bytes / sizeof(uint32_t)) {}

  const Status &status() const { return status_; }

  /// Each element converted. A failure names the element as "WHAT 3".
  template <typename From, typename Convert>
  auto list(std::string_view what, const From *from, Convert convert) {
    std::vector<decltype(convert(from->Get(0)))> to;
    uint32_t size = from ? from->size() : 0;
    if (!take(size))
      return to;
    to.reserve(size);
    for (uint32_t i = 0; i < size && status_.ok(); ++i) {
      to.push_back(convert(from->Get(i)));
      if (!status_.ok())
        failWithin(std::string(what) + " " + std::to_string(i));
    }
    return to;
  }

  std::vector<std::string>
  texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
            *from) {
    return list("text", from, [](const flatbuffers::String *string) {
      return std::string(text(string));
    });
  }

  /// Numbers, of which those of 8 bytes may be misplaced: the verifier looks at
  /// the place of a vector's length only.
  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T> *from) {
    if (!from || !take(from->size()))
      return {};
    if (reinterpret_cast<uintptr_t>(from->Data()) % alignof(T) != 0) {
      fail(bad("a list of numbers is misplaced"));
      return {};
    }
    return {from->begin(), from->end()};
  }

  /// A copy, counted as the elements of 4 bytes that would fill it.
  std::vector<uint8_t> bytes(const flatbuffers::Vector<uint8_t> *from) {
    if (!from || !take((size_t(from->size()) + 3) / 4))
      return {};
    return {from->begin(), from->end()};
  }

  Dim dim(const flatbuffers::String *string) {
    if (auto found = known_.find(string); found != known_.end())
      return found->second;
    Result<Dim> parsed = Dim::parse(text(string));
    if (!parsed)
      fail(parsed.status());
    return known_.emplace(string, parsed ? *parsed : Dim(0)).first->second;
  }
  std::optional<Dim> maybe(const flatbuffers::String *string) {
    return text(string).empty() ? std::nullopt : std::optional(dim(string));
  }
  std::vector<Dim>
  dims(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
           *from) {
    return list("expression", from, [this](const flatbuffers::String *string) {
      return dim(string);
    });
  }

  template <typename To, typename From>
  To choice(From value, To last, const char *what) {
    if (uint64_t(value) > uint64_t(last))
      fail(bad(std::string(what) + " of unknown kind " +
               std::to_string(unsigned(value))));
    return To(value);
  }

  void fail(Status status) {
    if (status_.ok())
      status_ = std::move(status);
  }

  /// Says where the failure is.
  void failWithin(const std::string &what) { status_ = status_.within(what); }

private:
  /// Each element of a list needs 4 bytes at least where nothing is shared, so
  /// that what is decoded is no more than some multiple of the file.
  bool take(size_t elements) {
    if (elements > left_)
      fail(bad("its lists have more elements than its bytes can hold"));
    else
      left_ -= elements;
    return status_.ok();
  }

  Status status_;
  size_t left_;
  // Many places may share one string, also in a hostile file.
  std::unordered_map<const flatbuffers::String *, Dim> known_;
};

Blob blobOf(const flatbuffers::Vector<uint8_t> *bytes) {
  return bytes ? Blob{{bytes->data(), bytes->size()}, nullptr} : Blob();
}

PortInfo portOf(Decoder &d, const fb::TensorInfo *info) {
  PortInfo port;
  if (!info) {
    d.fail(bad("it has no type"));
    return port;
  }
  port.name = text(info->name());
  std::vector<int64_t> sizes = d.numbers(info->sizes());
  uint32_t exprs = info->exprs() ? info->exprs()->size() : 0;
  if (info->dtype() == BP_DTYPE_INVALID || info->dtype() >= BP_DTYPE_COUNT_)
    d.fail(bad("it has unknown dtype " + std::to_string(info->dtype())));
  if (sizes.size() > maxRank || (exprs != 0 && exprs != sizes.size()))
    d.fail(bad("it has rank " + std::to_string(sizes.size()) + " and " +
               std::to_string(exprs) + " expressions"));
  port.type.dtype = DType(info->dtype());
  for (uint32_t i = 0; i < sizes.size() && d.status().ok(); ++i) {
    if (sizes[i] < -1 || (sizes[i] == -1 && exprs == 0))
      d.fail(bad("it has size " + std::to_string(sizes[i]) + " at axis " +
                 std::to_string(i)));
    port.type.dims.push_back(sizes[i] >= 0 || exprs == 0
                                 ? Dim(sizes[i])
                                 : d.dim(info->exprs()->Get(i)));
  }
  return port;
}

DimAssertion checkOf(Decoder &d, const fb::Check *check) {
  return {d.dim(check->lhs()), d.dim(check->rhs()),
          std::string(text(check->message()))};
}

Slot slotOf(Decoder &d, const fb::Slot *info) {
  return {.kind = d.choice(info->kind(), SlotKind::Constant, "it is a slot"),
          .index = info->index(),
          .bytes = d.maybe(info->bytes()),
          .first = info->first(),
          .last = info->last(),
          .offset = info->offset(),
          .reuse = info->reuse(),
          .device = info->device()};
}

SlotRange rangeOf(Decoder &d, const fb::Binding *info) {
  if (info)
    return {info->slot(), d.maybe(info->offset()), d.maybe(info->length())};
  d.fail(bad("a command names no slot"));
  return {};
}

void copyThree(Decoder &d, const std::vector<uint32_t> &from,
               std::array<uint32_t, 3> &to, const std::string &what) {
  if (from.size() == to.size())
    std::copy(from.begin(), from.end(), to.begin());
  else
    d.fail(bad(what + " has " + std::to_string(from.size()) + " sizes, not 3"));
}

program::Dispatch dispatchOf(Decoder &d, const fb::Dispatch &info) {
  program::Dispatch dispatch;
  dispatch.executable = info.executable();
  dispatch.entry = info.entry();
  uint32_t sizes = info.grid() ? info.grid()->size() : 0;
  if (sizes != 3)
    d.fail(bad("its grid has " + std::to_string(sizes) + " sizes, not 3"));
  for (uint32_t i = 0; i < 3 && d.status().ok(); ++i)
    dispatch.grid[i] = d.dim(info.grid()->Get(i));
  dispatch.constants = d.dims(info.constants());
  dispatch.bindings =
      d.list("binding", info.bindings(),
             [&](const fb::Binding *binding) { return rangeOf(d, binding); });
  dispatch.name = text(info.name());
  dispatch.ops = d.texts(info.ops());
  dispatch.workspace = d.maybe(info.workspace());
  dispatch.flops = d.maybe(info.flops());
  dispatch.parameters = d.dims(info.parameters());
  dispatch.sharedBytes = d.maybe(info.shared_bytes());
  if (info.cluster())
    copyThree(d, d.numbers(info.cluster()), dispatch.cluster, "its cluster");
  if (info.fallback_for())
    dispatch.fallbackFor = info.fallback_for() - 1;
  return dispatch;
}

program::Control controlOf(Decoder &d, const fb::Control &info) {
  return {.kind = d.choice(info.kind(), program::ControlKind::While,
                           "it is a control"),
          .operands = d.numbers(info.operands()),
          .results = d.numbers(info.results()),
          .regions = d.numbers(info.regions()),
          .condition = d.maybe(info.condition()),
          .conditional = info.conditional(),
          .carried = info.carried(),
          .limit = d.maybe(info.limit()),
          .op = std::string(text(info.op()))};
}

program::Command commandOf(Decoder &d, const fb::Command *info) {
  if (const auto *dispatch = info->body_as_Dispatch())
    return dispatchOf(d, *dispatch);
  if (const auto *copy = info->body_as_Copy())
    return program::Copy{rangeOf(d, copy->source()),
                         rangeOf(d, copy->target())};
  if (const auto *fill = info->body_as_Fill())
    return program::Fill{rangeOf(d, fill->target()), fill->pattern(),
                         fill->pattern_size()};
  if (const auto *control = info->body_as_Control())
    return controlOf(d, *control);
  if (const auto *read = info->body_as_Read())
    return program::Read{read->slot(), std::string(text(read->symbol())),
                         d.dim(read->bound()), std::string(text(read->op()))};
  if (!info->body_as_Barrier())
    d.fail(bad("a command is of no known kind"));
  return program::Barrier();
}

/// `what` it is, for failures; empty: the program of a region.
Program programOf(Decoder &d, const fb::Program *info, std::string_view what) {
  Program program;
  if (!info || !d.status().ok())
    return program;
  program.slots = d.list("slot", info->slots(),
                         [&](const fb::Slot *slot) { return slotOf(d, slot); });
  program.commands =
      d.list("command", info->commands(),
             [&](const fb::Command *command) { return commandOf(d, command); });
  program.arenas = d.numbers(info->arenas());
  program.arenas.insert(program.arenas.begin(), info->arena_bytes());
  if (!d.status().ok() && !what.empty())
    d.failWithin(std::string(what));
  return program;
}

Entry entryOf(Decoder &d, const fb::Entry *info) {
  Entry entry;
  entry.name = text(info->name());
  entry.bindingAccess = d.numbers(info->access());
  entry.constantCount = info->constant_count();
  copyThree(d, d.numbers(info->workgroup_size()), entry.workgroupSize,
            "the work-group of entry '" + entry.name + "'");
  entry.workspaceBytes = info->workspace_bytes();
  entry.subgroupSize = info->subgroup_size();
  entry.parameterCount = info->parameter_count();
  entry.driverData = d.bytes(info->driver_data());
  return entry;
}

ExecutableInfo executableOf(Decoder &d, const fb::Executable *info) {
  ExecutableInfo executable;
  executable.format = text(info->format());
  executable.blob = blobOf(info->blob());
  executable.entries =
      d.list("entry", info->entries(),
             [&](const fb::Entry *entry) { return entryOf(d, entry); });
  executable.device = info->device();
  executable.notes = d.texts(info->notes());
  if (const fb::NativeKernel *native = info->native())
    executable.native = {std::string(text(native->plugin())),
                         std::string(text(native->name())), native->version()};
  return executable;
}

RegionInfo regionOf(Decoder &d, const fb::Region *info) {
  RegionInfo region;
  region.name = text(info->name());
  region.iteration = text(info->iteration());
  region.inputs = d.dims(info->inputs());
  region.outputs = d.dims(info->outputs());
  region.checks = d.list("check", info->checks(), [&](const fb::Check *check) {
    return checkOf(d, check);
  });
  if (!info->program())
    d.fail(bad("it has no program"));
  region.program = programOf(d, info->program(), "");
  region.device = info->device();
  return region;
}

VariantInfo variantOf(Decoder &d, const fb::Variant *info) {
  VariantInfo variant;
  variant.target = text(info->target());
  variant.devices.push_back({variant.target, std::string(text(info->driver())),
                             std::string(text(info->format())),
                             d.texts(info->required_features())});
  for (DeviceNeeds &needs :
       d.list("device", info->devices(), [&](const fb::VariantDevice *device) {
         return DeviceNeeds{std::string(text(device->target())),
                            std::string(text(device->driver())),
                            std::string(text(device->format())),
                            d.texts(device->required_features())};
       }))
    variant.devices.push_back(std::move(needs));
  variant.rank = info->rank();
  variant.requirements = d.texts(info->requirements());
  variant.unknownRequirement = unknownRequirement(variant.requirements);
  if (!variant.unknownRequirement.empty())
    return variant;
  variant.executables = d.list("executable", info->executables(),
                               [&](const fb::Executable *executable) {
                                 return executableOf(d, executable);
                               });
  if (!info->program())
    d.fail(bad("it has no program"));
  variant.program = programOf(d, info->program(), "program");
  variant.init = programOf(d, info->init(), "init program");
  variant.report = d.texts(info->report());
  variant.regions =
      d.list("region", info->regions(),
             [&](const fb::Region *region) { return regionOf(d, region); });
  return variant;
}

Symbol symbolOf(const fb::SymbolInfo *info) {
  return {std::string(text(info->name())), info->minimum(), info->maximum(),
          info->divisor()};
}

WeightInfo weightOf(const fb::WeightInfo *info) {
  return {std::string(text(info->id())),
          info->offset(),
          info->size(),
          {info->hash_low(), info->hash_high()}};
}

} // namespace

Result<ArtifactInfo> decodeMetadata(std::span<const uint8_t> metadata) {
  flatbuffers::Verifier verifier(metadata.data(), metadata.size(), maxDepth,
                                 maxTables);
  if (!fb::VerifyArtifactBuffer(verifier))
    return bad("has malformed metadata");
  const fb::Artifact &info = *fb::GetArtifact(metadata.data());
  Decoder d(metadata.size());
  auto port = [&](const fb::TensorInfo *tensor) { return portOf(d, tensor); };
  ArtifactInfo artifact;
  artifact.producer = text(info.producer());
  artifact.model = text(info.model());
  artifact.symbols = d.list("symbol", info.symbols(), symbolOf);
  artifact.checks = d.list("check", info.checks(), [&](const fb::Check *check) {
    return checkOf(d, check);
  });
  artifact.inputs = d.list("input", info.inputs(), port);
  artifact.outputs = d.list("output", info.outputs(), port);
  artifact.variables = d.list(
      "variable", info.variables(), [&](const fb::VariableInfo *variable) {
        return VariableInfo{portOf(d, variable->type()), variable->initial()};
      });
  artifact.weights = d.list("weight", info.weights(), weightOf);
  artifact.variants =
      d.list("variant", info.variants(),
             [&](const fb::Variant *variant) { return variantOf(d, variant); });
  artifact.graph = blobOf(info.graph());
  if (!d.status().ok())
    return d.status();
  return artifact;
}

} // namespace backplane
