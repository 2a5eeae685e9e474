// SPDX-License-Identifier: Apache-2.0
#include "Messages.h"

#include <cstdio>
#include <cstring>
#include <type_traits>

namespace backplane::worker {
namespace {

template <typename Visitor, typename T>
void visit(Visitor &visitor, T &message);

/// One description of a message serves both directions: a Writer appends what
/// it visits, a Reader fills it.
class Writer {
public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const T &value) {
    append(&value, sizeof(value));
  }
  void operator()(const std::string &text) {
    (*this)(uint64_t(text.size()));
    append(text.data(), text.size());
  }
  template <typename T> void operator()(const std::vector<T> &items);

  Payload take() { return std::move(bytes_); }

private:
  void put(const std::string &text) { (*this)(text); }
  template <typename T> void put(const T &item) { visit(*this, item); }
  void append(const void *data, size_t size) {
    const auto *first = static_cast<const uint8_t *>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }

  Payload bytes_;
};

class Reader {
public:
  explicit Reader(std::span<const uint8_t> rest) : rest_(rest) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T &value) {
    copy(&value, sizeof(value));
  }
  void operator()(std::string &text) {
    if (uint64_t size = count(1); size <= rest_.size()) {
      text.resize(size_t(size));
      copy(text.data(), text.size());
    }
  }
  template <typename T> void operator()(std::vector<T> &items);

  Status finish() const {
    return good_ && rest_.empty()
               ? Status()
               : dataLoss("the payload of a frame is damaged");
  }

private:
  void take(std::string &text) { (*this)(text); }
  template <typename T> void take(T &item) { visit(*this, item); }
  /// A number of items of at least `itemBytes`; 0 when they cannot be there.
  uint64_t count(size_t itemBytes) {
    uint64_t items = 0;
    (*this)(items);
    if (items > rest_.size() / itemBytes) {
      good_ = false;
      return 0;
    }
    return items;
  }
  void copy(void *target, size_t size) {
    if (size > rest_.size())
      good_ = false;
    if (!good_ || !size)
      return;
    std::memcpy(target, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }

  std::span<const uint8_t> rest_;
  bool good_ = true;
};

template <typename T> void Writer::operator()(const std::vector<T> &items) {
  (*this)(uint64_t(items.size()));
  if constexpr (std::is_arithmetic_v<T>)
    append(items.data(), items.size() * sizeof(T));
  else
    for (const T &item : items)
      put(item);
}

template <typename T> void Reader::operator()(std::vector<T> &items) {
  if constexpr (std::is_arithmetic_v<T>) {
    items.resize(size_t(count(sizeof(T))));
    copy(items.data(), items.size() * sizeof(T));
  } else {
    // A text holds a count of 8 bytes, any other item at least two of them or
    // a count and numbers.
    uint64_t n = count(std::is_same_v<T, std::string> ? 8 : 16);
    for (uint64_t i = 0; good_ && i < n; ++i)
      take(items.emplace_back());
  }
}

template <typename Visitor, typename T> void visit(Visitor &v, T &m) {
  using M = std::remove_const_t<T>;
  if constexpr (std::is_same_v<M, WireTensor>)
    v(m.dtype), v(m.dims), v(m.data);
  else if constexpr (std::is_same_v<M, WireFile>)
    v(m.name), v(m.sha256);
  else if constexpr (std::is_same_v<M, WireNumerics>)
    v(m.opClass), v(m.dtype), v(m.accumulatorBits), v(m.rounding), v(m.flags);
  else if constexpr (std::is_same_v<M, WireDevice>)
    v(m.uri), v(m.plugin), v(m.manifest), v(m.refusal), v(m.id), v(m.name),
        v(m.identity), v(m.kind), v(m.flags), v(m.maxBindings),
        v(m.maxConstants), v(m.workerCount), v(m.maxGrid), v(m.maxBufferSize),
        v(m.maxBindingRange), v(m.bindingAlignment), v(m.memoryBytes),
        v(m.formats), v(m.features);
  else if constexpr (std::is_same_v<M, Hello>)
    v(m.version), v(m.machine), v(m.devices), v(m.device), v(m.deviceName),
        v(m.plugin), v(m.deviceFlags), v(m.deviceKind), v(m.target),
        v(m.storageDTypes), v(m.computeDTypes), v(m.numerics), v(m.files),
        v(m.budget);
  else if constexpr (std::is_same_v<M, ArtifactMessage>)
    v(m.hash), v(m.bytes);
  else if constexpr (std::is_same_v<M, RunMessage>)
    v(m.artifact), v(m.inputs), v(m.floatFill), v(m.otherFill), v(m.session);
  else if constexpr (std::is_same_v<M, OfferMessage>)
    v(m.hash);
  else if constexpr (std::is_same_v<M, OpenMessage>)
    v(m.artifact), v(m.memoryBudget), v(m.variant);
  else if constexpr (std::is_same_v<M, OpenedMessage>)
    v(m.session), v(m.dispatches), v(m.choice);
  else if constexpr (std::is_same_v<M, SessionMessage>)
    v(m.session);
  else if constexpr (std::is_same_v<M, BundleMessage>)
    v(m.kind), v(m.version), v(m.target), v(m.device), v(m.facts), v(m.bundle);
  else if constexpr (std::is_same_v<M, AnswerMessage>)
    v(m.run), v(m.type), v(m.payload);
  else if constexpr (std::is_same_v<M, EndMessage>)
    v(m.frames);
  else if constexpr (std::is_same_v<M, ResultMessage>)
    v(m.outputs), v(m.milliseconds), v(m.cpuMilliseconds), v(m.damage);
  else if constexpr (std::is_same_v<M, BatchMessage>)
    v(m.runs), v(m.mode), v(m.rounds), v(m.spareMemory);
  else if constexpr (std::is_same_v<M, BatchedMessage>)
    v(m.results), v(m.odd), v(m.oddRun), v(m.oddRound);
  else if constexpr (std::is_same_v<M, BeginMessage>)
    v(m.device), v(m.threads), v(m.memoryLimit), v(m.cacheFolder);
  else if constexpr (std::is_same_v<M, SurroundMessage>)
    v(m.variables), v(m.directory), v(m.locale), v(m.mask), v(m.files);
  else if constexpr (std::is_same_v<M, CompileMessage>)
    v(m.graph), v(m.weights);
  else if constexpr (std::is_same_v<M, JobMessage>)
    v(m.model), v(m.output), v(m.dumpDir), v(m.targets), v(m.symbols),
        v(m.minimums), v(m.maximums), v(m.flags), v(m.graph.graph),
        v(m.graph.weights), v(m.cacheDir), v(m.pluginFiles),
        v(m.addPluginFiles), v(m.select), v(m.disable), v(m.trustedDirs);
  else if constexpr (std::is_same_v<M, CompiledMessage>)
    v(m.artifact), v(m.milliseconds);
  else if constexpr (std::is_same_v<M, CheckMessage>)
    v(m.check), v(m.artifact), v(m.again);
  else if constexpr (std::is_same_v<M, CheckedMessage>)
    v(m.outcome), v(m.text), v(m.milliseconds);
  else
    v(m.code), v(m.text);
}

template <typename T> Payload encodeAny(const T &message) {
  Writer writer;
  visit(writer, message);
  return writer.take();
}

/// Whether a device of a greeting has a grid of three sizes.
Status checkDevices(const std::vector<WireDevice> &devices) {
  for (const WireDevice &device : devices)
    if (device.maxGrid.size() != 3)
      return dataLoss("a device in a frame is damaged");
  return {};
}

Status checkTensors(const std::vector<WireTensor> &tensors) {
  for (const WireTensor &tensor : tensors) {
    bool sane = tensor.dims.size() <= 16 && tensor.dtype < BP_DTYPE_COUNT_;
    for (int64_t dim : tensor.dims)
      sane &= dim >= 0;
    if (!sane)
      return dataLoss("a tensor in a frame has a damaged type");
  }
  return {};
}

/// What the fields of a message must be beyond their types.
template <typename T> Status check(const T &) { return {}; }
Status check(const Hello &message) { return checkDevices(message.devices); }
Status check(const RunMessage &message) { return checkTensors(message.inputs); }
Status check(const ResultMessage &message) {
  return checkTensors(message.outputs);
}
template <typename T> Status checkAll(const std::vector<T> &messages) {
  for (const T &message : messages)
    if (Status s = check(message); !s.ok())
      return s;
  return {};
}
Status check(const BatchMessage &message) {
  if (message.mode > BatchMessage::Threads || message.rounds == 0)
    return dataLoss("a batch in a frame is damaged");
  return checkAll(message.runs);
}
Status check(const BatchedMessage &message) {
  Status status = checkAll(message.results);
  return status.ok() ? checkAll(message.odd) : status;
}
Status check(const CompileMessage &message) {
  return checkTensors(message.weights);
}
Status check(const JobMessage &message) {
  if (message.minimums.size() != message.symbols.size() ||
      message.maximums.size() != message.symbols.size())
    return dataLoss("a job in a frame has damaged limits");
  return checkTensors(message.graph.weights);
}
Status check(const AnswerMessage &message) {
  bool known = message.type == uint32_t(FrameType::Result) ||
               message.type == uint32_t(FrameType::Checked) ||
               message.type == uint32_t(FrameType::Error);
  return known ? Status() : dataLoss("an answer has a damaged type");
}

template <typename T>
Status decodeAny(std::span<const uint8_t> payload, T &message) {
  message = T();
  Reader reader(payload);
  visit(reader, message);
  Status status = reader.finish();
  return status.ok() ? check(message) : status;
}

} // namespace

Payload encode(const Hello &message) { return encodeAny(message); }
Payload encode(const ArtifactMessage &message) { return encodeAny(message); }
Payload encode(const RunMessage &message) { return encodeAny(message); }
Payload encode(const ResultMessage &message) { return encodeAny(message); }
Payload encode(const CompileMessage &message) { return encodeAny(message); }
Payload encode(const JobMessage &message) { return encodeAny(message); }
Payload encode(const CompiledMessage &message) { return encodeAny(message); }
Payload encode(const CheckMessage &message) { return encodeAny(message); }
Payload encode(const CheckedMessage &message) { return encodeAny(message); }
Payload encode(const ErrorMessage &message) { return encodeAny(message); }
Payload encode(const OfferMessage &message) { return encodeAny(message); }
Payload encode(const OpenMessage &message) { return encodeAny(message); }
Payload encode(const OpenedMessage &message) { return encodeAny(message); }
Payload encode(const SessionMessage &message) { return encodeAny(message); }
Payload encode(const BundleMessage &message) { return encodeAny(message); }
Payload encode(const AnswerMessage &message) { return encodeAny(message); }
Payload encode(const EndMessage &message) { return encodeAny(message); }
Payload encode(const BatchMessage &message) { return encodeAny(message); }
Payload encode(const BatchedMessage &message) { return encodeAny(message); }
Payload encode(const BeginMessage &message) { return encodeAny(message); }
Payload encode(const SurroundMessage &message) { return encodeAny(message); }

Status decode(std::span<const uint8_t> payload, Hello &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, ArtifactMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, RunMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, ResultMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, CompileMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, JobMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, CompiledMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, CheckMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, CheckedMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, ErrorMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, OfferMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, OpenMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, OpenedMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, SessionMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, BundleMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, AnswerMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, EndMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, BatchMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, BatchedMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, BeginMessage &message) {
  return decodeAny(payload, message);
}
Status decode(std::span<const uint8_t> payload, SurroundMessage &message) {
  return decodeAny(payload, message);
}

} // namespace backplane::worker
