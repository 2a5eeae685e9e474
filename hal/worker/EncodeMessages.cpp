// SPDX-License-Identifier: Apache-2.0
#include "MessageFields.h"

#include <type_traits>

namespace backplane::worker {
namespace {

/// Bytes that follow the table, as its field names them.
struct Behind {
  fb::Attached size;
  operator const fb::Attached *() const { return &size; }
};

/// A payload in the making: a table with its size in front, then the bytes that
/// it has attached.
class Writer {
public:
  auto operator()(const std::string &text) {
    return builder_.CreateString(text);
  }
  auto operator()(const std::vector<std::string> &texts) {
    return builder_.CreateVectorOfStrings(texts);
  }
  Behind operator()(const Payload &bytes) {
    attached_.push_back(bytes);
    return {fb::Attached(bytes.size())};
  }
  template <typename T> auto operator()(const std::vector<T> &items) {
    if constexpr (std::is_arithmetic_v<T>) {
      return builder_.CreateVector(items);
    } else {
      std::vector<decltype((*this)(items.front()))> tables;
      for (const T &item : items)
        tables.push_back((*this)(item));
      return builder_.CreateVector(tables);
    }
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  T operator()(const T &number) {
    return number;
  }
  template <typename T> auto operator()(const T &message) {
    auto fields = fieldsOf(message);
    // Braces: parts and attached bytes follow one another in this order.
    auto create = [this](const auto &...members) {
      std::tuple parts{(*this)(members)...};
      return std::apply(
          [this](const auto &...part) {
            return decltype(fields)::Table::Traits::Create(builder_, part...);
          },
          parts);
    };
    return std::apply(create, fields.members);
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

} // namespace

template <typename Message> Payload encode(const Message &message) {
  Writer out;
  return out.finish(out(message));
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
