// SPDX-License-Identifier: Apache-2.0
#include "CheckMessages.h"
#include "MessageFields.h"

namespace backplane::worker {
namespace {

Status damaged() { return dataLoss("the payload of a frame is damaged"); }

/// Reads a verified table. All together its members are no larger than it: a
/// table of strangers may name one of its parts many times.
class MessageReader {
public:
  MessageReader(size_t tableBytes, std::span<const uint8_t> attached)
      : left_(tableBytes), attached_(attached) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(T from, T &to) {
    to = from;
  }
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
  void operator()(const Table *from, T &to) {
    auto read = [&]<size_t... I>(std::index_sequence<I...>, auto &...members) {
      ((*this)(from->template get_field<I>(), members), ...);
    };
    if (from)
      std::apply(
          [&](auto &...members) {
            read(std::index_sequence_for<decltype(members)...>(), members...);
          },
          fieldsOf(to).members);
  }
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

} // namespace

template <typename Message>
Status decode(std::span<const uint8_t> payload, Message &message) {
  using Table = typename decltype(fieldsOf(message))::Table;
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
