// SPDX-License-Identifier: Apache-2.0
#include "Messages.h"

#include "messages_generated.h"

#include <type_traits>

namespace backplane::worker {
namespace {

/// A payload in the making: a table with its size in front, then the bytes that
/// it has attached.
class Writer {
public:
  flatbuffers::FlatBufferBuilder &builder() { return builder_; }
  auto operator()(const std::string &text) {
    return builder_.CreateString(text);
  }
  auto operator()(const std::vector<std::string> &texts) {
    return builder_.CreateVectorOfStrings(texts);
  }
  template <typename T> auto operator()(const std::vector<T> &items) {
    if constexpr (std::is_arithmetic_v<T>) {
      return builder_.CreateVector(items);
    } else {
      std::vector<decltype(write(*this, items.front()))> tables;
      for (const T &item : items)
        tables.push_back(write(*this, item));
      return builder_.CreateVector(tables);
    }
  }
  template <typename T> auto operator()(const T &message) {
    return write(*this, message);
  }
  fb::Attached attach(const Payload &bytes) {
    attached_.push_back(bytes);
    return fb::Attached(bytes.size());
  }

  template <typename Table> Payload finish(flatbuffers::Offset<Table> root) {
    builder_.FinishSizePrefixed(root);
    std::span<const uint8_t> table = builder_.GetBufferSpan();
    size_t size = table.size();
    for (std::span<const uint8_t> bytes : attached_)
      size += bytes.size();
    Payload payload;
    payload.reserve(size);
    payload.assign(table.begin(), table.end());
    for (std::span<const uint8_t> bytes : attached_)
      payload.insert(payload.end(), bytes.begin(), bytes.end());
    return payload;
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::span<const uint8_t>> attached_;
};

// ---- Each message, its members in their order ----

auto write(Writer &out, const WireTensor &m) {
  fb::Attached data = out.attach(m.data);
  return fb::CreateTensor(out.builder(), m.dtype, out(m.dims), &data);
}

auto write(Writer &out, const WireNumerics &m) {
  return fb::CreateNumerics(out.builder(), out(m.opClass), m.dtype,
                            m.accumulatorBits, m.rounding, m.flags,
                            m.operandBits);
}

auto write(Writer &out, const WireFile &m) {
  return fb::CreateFile(out.builder(), out(m.name), out(m.sha256));
}

auto write(Writer &out, const WireProperty &m) {
  return fb::CreateProperty(out.builder(), out(m.key), m.kind, m.i64, m.f64,
                            out(m.text), out(m.i64s));
}

auto write(Writer &out, const WireKernel &m) {
  return fb::CreateKernel(out.builder(), out(m.set), out(m.version),
                          out(m.text), out(m.weights));
}

auto write(Writer &out, const WireDevice &m) {
  return fb::CreateDevice(
      out.builder(), out(m.uri), out(m.plugin), out(m.manifest), out(m.refusal),
      out(m.id), out(m.name), out(m.identity), m.kind, m.flags, m.maxBindings,
      m.maxConstants, m.workerCount, out(m.maxGrid), m.maxBufferSize,
      m.maxBindingRange, m.bindingAlignment, m.memoryBytes, out(m.formats),
      out(m.features), out(m.properties));
}

auto write(Writer &out, const Hello &m) {
  return fb::CreateHello(
      out.builder(), out(m.version), out(m.machine), out(m.devices),
      out(m.device), out(m.deviceName), out(m.plugin), m.deviceFlags,
      m.deviceKind, out(m.target), m.storageDTypes, m.computeDTypes,
      out(m.numerics), out(m.kernels), out(m.files), m.budget, m.bufferBytes);
}

auto write(Writer &out, const ArtifactMessage &m) {
  fb::Attached bytes = out.attach(m.bytes);
  return fb::CreateArtifact(out.builder(), out(m.hash), &bytes);
}

auto write(Writer &out, const OfferMessage &m) {
  return fb::CreateOffer(out.builder(), out(m.hash));
}

auto write(Writer &out, const OpenMessage &m) {
  return fb::CreateOpen(out.builder(), out(m.artifact), m.memoryBudget,
                        m.variant);
}

auto write(Writer &out, const OpenedMessage &m) {
  return fb::CreateOpened(out.builder(), m.session, m.dispatches,
                          out(m.choice));
}

auto write(Writer &out, const SessionMessage &m) {
  return fb::CreateSession(out.builder(), m.session);
}

auto write(Writer &out, const RunMessage &m) {
  return fb::CreateRun(out.builder(), out(m.artifact), out(m.inputs),
                       m.floatFill, m.otherFill, m.session);
}

auto write(Writer &out, const ResultMessage &m) {
  return fb::CreateResult(out.builder(), out(m.outputs), m.milliseconds,
                          m.cpuMilliseconds, out(m.damage));
}

auto write(Writer &out, const BatchMessage &m) {
  return fb::CreateBatch(out.builder(), out(m.runs), m.mode, m.rounds,
                         m.spareMemory);
}

auto write(Writer &out, const BatchedMessage &m) {
  return fb::CreateBatched(out.builder(), out(m.results), out(m.odd), m.oddRun,
                           m.oddRound);
}

auto write(Writer &out, const BeginMessage &m) {
  return fb::CreateBegin(out.builder(), out(m.device), m.threads, m.memoryLimit,
                         out(m.cacheFolder));
}

auto write(Writer &out, const SurroundMessage &m) {
  return fb::CreateSurround(out.builder(), out(m.variables), out(m.directory),
                            out(m.locale), m.mask, m.files, m.threads,
                            m.processors, m.memory);
}

auto write(Writer &out, const CompileMessage &m) {
  fb::Attached graph = out.attach(m.graph);
  auto weights = out(m.weights);
  return fb::CreateCompile(out.builder(), &graph, weights, out(m.kernel));
}

auto write(Writer &out, const JobMessage &m) {
  return fb::CreateJob(out.builder(), out(m.model), out(m.output),
                       out(m.dumpDir), out(m.targets), out(m.symbols),
                       out(m.minimums), out(m.maximums), m.flags, out(m.kernel),
                       out(m.graph), out(m.cacheDir), out(m.pluginFiles),
                       out(m.addPluginFiles), out(m.select), out(m.disable),
                       out(m.trustedDirs), m.threads);
}

auto write(Writer &out, const CompiledMessage &m) {
  fb::Attached artifact = out.attach(m.artifact);
  return fb::CreateCompiled(out.builder(), &artifact, m.milliseconds);
}

auto write(Writer &out, const CheckMessage &m) {
  return fb::CreateCheck(out.builder(), out(m.check), out(m.artifact),
                         out(m.again));
}

auto write(Writer &out, const CheckedMessage &m) {
  return fb::CreateChecked(out.builder(), m.outcome, out(m.text),
                           m.milliseconds);
}

auto write(Writer &out, const BundleMessage &m) {
  return fb::CreateBundle(out.builder(), out(m.kind), out(m.version),
                          out(m.target), out(m.device), out(m.facts),
                          out(m.bundle));
}

auto write(Writer &out, const AnswerMessage &m) {
  fb::Attached payload = out.attach(m.payload);
  return fb::CreateAnswer(out.builder(), out(m.run), m.type, &payload);
}

auto write(Writer &out, const EndMessage &m) {
  return fb::CreateEnd(out.builder(), m.frames);
}

auto write(Writer &out, const ErrorMessage &m) {
  return fb::CreateError(out.builder(), m.code, out(m.text));
}

} // namespace

template <typename Message> Payload encode(const Message &message) {
  Writer out;
  return out.finish(write(out, message));
}

template Payload encode(const Hello &message);
template Payload encode(const ArtifactMessage &message);
template Payload encode(const RunMessage &message);
template Payload encode(const ResultMessage &message);
template Payload encode(const CompileMessage &message);
template Payload encode(const JobMessage &message);
template Payload encode(const CompiledMessage &message);
template Payload encode(const CheckMessage &message);
template Payload encode(const CheckedMessage &message);
template Payload encode(const ErrorMessage &message);
template Payload encode(const OfferMessage &message);
template Payload encode(const OpenMessage &message);
template Payload encode(const OpenedMessage &message);
template Payload encode(const SessionMessage &message);
template Payload encode(const BundleMessage &message);
template Payload encode(const AnswerMessage &message);
template Payload encode(const EndMessage &message);
template Payload encode(const BatchMessage &message);
template Payload encode(const BatchedMessage &message);
template Payload encode(const BeginMessage &message);
template Payload encode(const SurroundMessage &message);

} // namespace backplane::worker
