// SPDX-License-Identifier: Apache-2.0
//
// MemberReader.h: members of the JSON objects of a manifest, which is untrusted
// text.
#ifndef BACKPLANE_CORE_MEMBERREADER_H
#define BACKPLANE_CORE_MEMBERREADER_H

#include "backplane/cpp/Result.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace backplane {

/// Takes members out of a JSON object, which outlives it, and keeps the first
/// complaint. What is complained about reads as nothing.
class MemberReader {
public:
  explicit MemberReader(const nlohmann::json &object) : object_(object) {}

  Status status;

  /// Complains about a member of another name than these.
  void onlyHas(std::initializer_list<const char *> known);

  /// At most 256 bytes, none of them zero.
  std::string text(const char *key, bool required);
  std::vector<std::string> texts(const char *key);
  /// Of 32 bits.
  uint32_t number(const char *key, bool required);
  /// At most `max`, or `complaint`.
  uint64_t count(const char *key, bool required, uint64_t max,
                 const char *complaint);
  /// A member that is an object, or an empty one.
  nlohmann::json object(const char *key, bool required);
  /// A member that is an object or a list of objects.
  std::vector<nlohmann::json> objects(const char *key);

  /// The empty text.
  std::string complain(std::string_view key, std::string_view what);

private:
  const nlohmann::json *find(const char *key, bool required);

  const nlohmann::json &object_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_MEMBERREADER_H
