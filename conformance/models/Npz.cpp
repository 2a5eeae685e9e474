// SPDX-License-Identifier: Apache-2.0
#include "Npz.h"

#include "conformance/report/StrictJson.h"
#include "sdk/support/Npy.h"

#include <cstring>
#include <sstream>

namespace backplane::conformance {

namespace {

/// Walks the local headers of a zip archive (APPNOTE.TXT 4.3.7).
class Archive {
public:
  Archive(const std::string &path, std::string_view bytes)
      : path_(path), rest_(bytes) {}

  bool atMember() const { return rest_.starts_with("PK\3\4"); }

  struct Member {
    std::string_view name, bytes;
  };
  Result<Member> next() {
    constexpr size_t fixed = 30;
    if (rest_.size() < fixed)
      return damaged();
    auto method = number<uint16_t>(8), flags = number<uint16_t>(6);
    uint64_t size = number<uint32_t>(18);
    size_t name = number<uint16_t>(26), extra = number<uint16_t>(28);
    if (method != 0 || (flags & 8) || rest_.size() < fixed + name + extra)
      return damaged();
    if (size == UINT32_MAX)
      size = longSize(fixed + name, extra);
    size_t start = fixed + name + extra;
    if (size > rest_.size() - start)
      return damaged();
    Member member{rest_.substr(fixed, name), rest_.substr(start, size)};
    rest_.remove_prefix(start + size);
    return member;
  }

private:
  template <typename T> T number(size_t at) const {
    T value;
    std::memcpy(&value, rest_.data() + at, sizeof(T));
    return value;
  }

  /// The compressed size in a zip64 extra field (4.5.3), which comes first.
  uint64_t longSize(size_t at, size_t length) const {
    if (length < 20 || number<uint16_t>(at) != 1)
      return UINT64_MAX;
    return number<uint64_t>(at + 12);
  }

  Status damaged() const {
    return dataLoss("'" + path_ +
                    "' is no .npz file as numpy.savez writes them");
  }

  const std::string &path_;
  std::string_view rest_;
};

} // namespace

Result<std::map<std::string, Tensor>> readNpz(const std::string &path) {
  constexpr uint64_t most = 256 << 20;
  auto text = readTextFile(path, most);
  if (!text)
    return text.status();
  std::map<std::string, Tensor> arrays;
  Archive archive(path, *text);
  while (archive.atMember()) {
    auto member = archive.next();
    if (!member)
      return member.status();
    std::istringstream stream{std::string(member->bytes)};
    auto array = readNpy(stream, path + ":" + std::string(member->name));
    if (!array)
      return array.status();
    std::string name(member->name.substr(0, member->name.rfind(".npy")));
    arrays[name] = {static_cast<DType>(array->dtype()), array->dims(),
                    Bytes(array->data(), array->data() + array->size())};
  }
  if (arrays.empty())
    return dataLoss("'" + path + "' has no arrays");
  return arrays;
}

} // namespace backplane::conformance
