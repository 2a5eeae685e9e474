// SPDX-License-Identifier: Apache-2.0
#include "CheckMessages.h"

#include "messages_generated.h"

namespace backplane::worker {
namespace {

Status damaged() { return dataLoss("the payload of a frame is damaged"); }

/// Reads a verified table. All together its members are no larger than it: a
/// table of strangers may name one of its parts many times.
class MessageReader {
public:
  MessageReader(size_t tableBytes, std::span<const uint8_t> attached)
      : left_(tableBytes), attached_(attached) {}

  void operator()(const flatbuffers::String *from, std::string &to) {
    if (from && take(from->size()))
      to = from->str();
  }
  template <typename T>
  void operator()(const flatbuffers::Vector<T> *from, std::vector<T> &to) {
    if (!from || from->size() == 0)
      return;
    // The verifier asks for the alignment of the length only.
    good_ = good_ && uintptr_t(from->Data()) % alignof(T) == 0;
    if (take(uint64_t(from->size()) * sizeof(T)))
      to.assign(from->begin(), from->end());
  }
  template <typename Table, typename T>
  void operator()(const flatbuffers::Vector<flatbuffers::Offset<Table>> *from,
                  std::vector<T> &to) {
    to.clear();
    for (size_t i = 0; from && i < from->size() && take(itemBytes); ++i)
      (*this)(from->Get(flatbuffers::uoffset_t(i)), to.emplace_back());
  }
  template <typename Table, typename T>
  void operator()(const Table *from, T &to);
  void operator()(const fb::Attached *from, Payload &to) {
    uint64_t size = from ? from->size() : 0;
    good_ = good_ && size <= attached_.size();
    if (!good_)
      return;
    to.assign(attached_.begin(), attached_.begin() + ptrdiff_t(size));
    attached_ = attached_.subspan(size_t(size));
  }

  Status finish() const {
    return good_ && attached_.empty() ? Status() : damaged();
  }

private:
  /// Of a table in a list: its place there and that of its layout.
  static constexpr uint64_t itemBytes = 8;

  bool take(uint64_t bytes) {
    good_ = good_ && bytes <= left_;
    left_ -= good_ ? bytes : 0;
    return good_;
  }

  uint64_t left_;
  std::span<const uint8_t> attached_;
  bool good_ = true;
};

// ---- Each message, its members in their order ----

void read(MessageReader &in, const fb::Tensor &t, WireTensor &m) {
  m.dtype = t.dtype();
  in(t.dims(), m.dims);
  in(t.data(), m.data);
}

void read(MessageReader &in, const fb::Numerics &t, WireNumerics &m) {
  in(t.op_class(), m.opClass);
  m.dtype = t.dtype();
  m.accumulatorBits = t.accumulator_bits();
  m.rounding = t.rounding();
  m.flags = t.flags();
  m.operandBits = t.operand_bits();
}

void read(MessageReader &in, const fb::File &t, WireFile &m) {
  in(t.name(), m.name);
  in(t.sha256(), m.sha256);
}

void read(MessageReader &in, const fb::Property &t, WireProperty &m) {
  in(t.key(), m.key);
  m.kind = t.kind();
  m.i64 = t.i64();
  m.f64 = t.f64();
  in(t.text(), m.text);
  in(t.i64s(), m.i64s);
}

void read(MessageReader &in, const fb::Kernel &t, WireKernel &m) {
  in(t.set(), m.set);
  in(t.version(), m.version);
  in(t.text(), m.text);
  in(t.weights(), m.weights);
}

void read(MessageReader &in, const fb::Device &t, WireDevice &m) {
  in(t.uri(), m.uri);
  in(t.plugin(), m.plugin);
  in(t.manifest(), m.manifest);
  in(t.refusal(), m.refusal);
  in(t.id(), m.id);
  in(t.name(), m.name);
  in(t.identity(), m.identity);
  m.kind = t.kind();
  m.flags = t.flags();
  m.maxBindings = t.max_bindings();
  m.maxConstants = t.max_constants();
  m.workerCount = t.worker_count();
  in(t.max_grid(), m.maxGrid);
  m.maxBufferSize = t.max_buffer_size();
  m.maxBindingRange = t.max_binding_range();
  m.bindingAlignment = t.binding_alignment();
  m.memoryBytes = t.memory_bytes();
  in(t.formats(), m.formats);
  in(t.features(), m.features);
  in(t.properties(), m.properties);
}

void read(MessageReader &in, const fb::Hello &t, Hello &m) {
  in(t.version(), m.version);
  in(t.machine(), m.machine);
  in(t.devices(), m.devices);
  in(t.device(), m.device);
  in(t.device_name(), m.deviceName);
  in(t.plugin(), m.plugin);
  m.deviceFlags = t.device_flags();
  m.deviceKind = t.device_kind();
  in(t.target(), m.target);
  m.storageDTypes = t.storage_dtypes();
  m.computeDTypes = t.compute_dtypes();
  in(t.numerics(), m.numerics);
  in(t.kernels(), m.kernels);
  in(t.files(), m.files);
  m.budget = t.budget();
  m.bufferBytes = t.buffer_bytes();
}

void read(MessageReader &in, const fb::Artifact &t, ArtifactMessage &m) {
  in(t.hash(), m.hash);
  in(t.bytes(), m.bytes);
}

void read(MessageReader &in, const fb::Offer &t, OfferMessage &m) {
  in(t.hash(), m.hash);
}

void read(MessageReader &in, const fb::Open &t, OpenMessage &m) {
  in(t.artifact(), m.artifact);
  m.memoryBudget = t.memory_budget();
  m.variant = t.variant();
}

void read(MessageReader &in, const fb::Opened &t, OpenedMessage &m) {
  m.session = t.session();
  m.dispatches = t.dispatches();
  in(t.choice(), m.choice);
}

void read(MessageReader &, const fb::Session &t, SessionMessage &m) {
  m.session = t.session();
}

void read(MessageReader &in, const fb::Run &t, RunMessage &m) {
  in(t.artifact(), m.artifact);
  in(t.inputs(), m.inputs);
  m.floatFill = t.float_fill();
  m.otherFill = t.other_fill();
  m.session = t.session();
}

void read(MessageReader &in, const fb::Result &t, ResultMessage &m) {
  in(t.outputs(), m.outputs);
  m.milliseconds = t.milliseconds();
  m.cpuMilliseconds = t.cpu_milliseconds();
  in(t.damage(), m.damage);
}

void read(MessageReader &in, const fb::Batch &t, BatchMessage &m) {
  in(t.runs(), m.runs);
  m.mode = t.mode();
  m.rounds = t.rounds();
  m.spareMemory = t.spare_memory();
}

void read(MessageReader &in, const fb::Batched &t, BatchedMessage &m) {
  in(t.results(), m.results);
  in(t.odd(), m.odd);
  m.oddRun = t.odd_run();
  m.oddRound = t.odd_round();
}

void read(MessageReader &in, const fb::Begin &t, BeginMessage &m) {
  in(t.device(), m.device);
  m.threads = t.threads();
  m.memoryLimit = t.memory_limit();
  in(t.cache_folder(), m.cacheFolder);
}

void read(MessageReader &in, const fb::Surround &t, SurroundMessage &m) {
  in(t.variables(), m.variables);
  in(t.directory(), m.directory);
  in(t.locale(), m.locale);
  m.mask = t.mask();
  m.files = t.files();
  m.threads = t.threads();
  m.processors = t.processors();
  m.memory = t.memory();
}

void read(MessageReader &in, const fb::Compile &t, CompileMessage &m) {
  in(t.graph(), m.graph);
  in(t.weights(), m.weights);
  in(t.kernel(), m.kernel);
}

void read(MessageReader &in, const fb::Job &t, JobMessage &m) {
  in(t.model(), m.model);
  in(t.output(), m.output);
  in(t.dump_dir(), m.dumpDir);
  in(t.targets(), m.targets);
  in(t.symbols(), m.symbols);
  in(t.minimums(), m.minimums);
  in(t.maximums(), m.maximums);
  m.flags = t.flags();
  in(t.kernel(), m.kernel);
  in(t.graph(), m.graph);
  in(t.cache_dir(), m.cacheDir);
  in(t.plugin_files(), m.pluginFiles);
  in(t.add_plugin_files(), m.addPluginFiles);
  in(t.select(), m.select);
  in(t.disable(), m.disable);
  in(t.trusted_dirs(), m.trustedDirs);
  m.threads = t.threads();
}

void read(MessageReader &in, const fb::Compiled &t, CompiledMessage &m) {
  in(t.artifact(), m.artifact);
  m.milliseconds = t.milliseconds();
}

void read(MessageReader &in, const fb::Check &t, CheckMessage &m) {
  in(t.check(), m.check);
  in(t.artifact(), m.artifact);
  in(t.again(), m.again);
}

void read(MessageReader &in, const fb::Checked &t, CheckedMessage &m) {
  m.outcome = t.outcome();
  in(t.text(), m.text);
  m.milliseconds = t.milliseconds();
}

void read(MessageReader &in, const fb::Bundle &t, BundleMessage &m) {
  in(t.kind(), m.kind);
  in(t.version(), m.version);
  in(t.target(), m.target);
  in(t.device(), m.device);
  in(t.facts(), m.facts);
  in(t.bundle(), m.bundle);
}

void read(MessageReader &in, const fb::Answer &t, AnswerMessage &m) {
  in(t.run(), m.run);
  m.type = t.type();
  in(t.payload(), m.payload);
}

void read(MessageReader &, const fb::End &t, EndMessage &m) {
  m.frames = t.frames();
}

void read(MessageReader &in, const fb::Error &t, ErrorMessage &m) {
  m.code = t.code();
  in(t.text(), m.text);
}

template <typename Table, typename T>
void MessageReader::operator()(const Table *from, T &to) {
  if (from)
    read(*this, *from, to);
}

/// The table that a message is read from.
template <typename Message, typename Table>
Table tableOf(void (*read)(MessageReader &, const Table &, Message &));

} // namespace

template <typename Message>
Status decode(std::span<const uint8_t> payload, Message &message) {
  using Table = decltype(tableOf<Message>(read));
  using Size = flatbuffers::uoffset_t;
  message = Message();
  uint64_t size = sizeof(Size);
  if (payload.size() >= size)
    size += flatbuffers::ReadScalar<Size>(payload.data());
  if (size > payload.size() || size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return damaged();
  flatbuffers::Verifier verifier(payload.data(), size_t(size));
  if (!verifier.VerifySizePrefixedBuffer<Table>(nullptr))
    return damaged();
  MessageReader in(size_t(size), payload.subspan(size_t(size)));
  in(flatbuffers::GetSizePrefixedRoot<Table>(payload.data()), message);
  Status status = in.finish();
  return status.ok() ? check(message) : status;
}

template Status decode(std::span<const uint8_t> payload, Hello &message);
template Status decode(std::span<const uint8_t> payload,
                       ArtifactMessage &message);
template Status decode(std::span<const uint8_t> payload, RunMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       ResultMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       CompileMessage &message);
template Status decode(std::span<const uint8_t> payload, JobMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       CompiledMessage &message);
template Status decode(std::span<const uint8_t> payload, CheckMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       CheckedMessage &message);
template Status decode(std::span<const uint8_t> payload, ErrorMessage &message);
template Status decode(std::span<const uint8_t> payload, OfferMessage &message);
template Status decode(std::span<const uint8_t> payload, OpenMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       OpenedMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       SessionMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       BundleMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       AnswerMessage &message);
template Status decode(std::span<const uint8_t> payload, EndMessage &message);
template Status decode(std::span<const uint8_t> payload, BatchMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       BatchedMessage &message);
template Status decode(std::span<const uint8_t> payload, BeginMessage &message);
template Status decode(std::span<const uint8_t> payload,
                       SurroundMessage &message);

} // namespace backplane::worker
