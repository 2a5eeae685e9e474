// SPDX-License-Identifier: Apache-2.0
//
// StrictJson.h: JSON from outside, read without mercy: no key twice, no member
// that nobody asked for, no wrong type, no text of any length.
#ifndef BACKPLANE_CONFORMANCE_REPORT_STRICTJSON_H
#define BACKPLANE_CONFORMANCE_REPORT_STRICTJSON_H

#include "backplane/cpp/Result.h"

#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace backplane::conformance {

/// One JSON value with nothing after it; data loss says what is wrong.
Result<nlohmann::json> parseStrictJson(std::string_view text);

/// Reads the members of one object. The first problem is kept in `status`, and
/// everything after it is left alone.
class ObjectReader {
public:
  static constexpr size_t maxText = 4096, maxItems = 4096;

  /// `where` names the object in messages.
  ObjectReader(const nlohmann::json &json, std::string where);

  /// Whether the object has a member, which it need not have.
  bool has(const char *key) const { return json_->contains(key); }
  void read(const char *key, std::string &out);
  void read(const char *key, bool &out);
  void read(const char *key, uint64_t &out);
  void read(const char *key, uint32_t &out);
  void read(const char *key, std::vector<std::string> &out);
  void read(const char *key,
            std::vector<std::pair<std::string, std::string>> &out);
  /// The items of a list of objects, or none.
  std::vector<ObjectReader> readObjects(const char *key);
  /// Keeps a problem that the caller found.
  void fail(const std::string &what);
  /// The first problem, a member that was not asked for included.
  Status finish();
  const Status &status() const { return status_; }

private:
  const nlohmann::json *find(const char *key);
  bool checkText(const char *key, const nlohmann::json &value);

  const nlohmann::json *json_;
  std::string where_;
  Status status_;
  std::set<std::string> known_;
};

/// A whole file of at most `maxBytes`; not found, or data loss with its name.
Result<std::string> readTextFile(const std::string &path, uint64_t maxBytes);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_STRICTJSON_H
