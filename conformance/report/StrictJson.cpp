// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/StrictJson.h"

#include <filesystem>
#include <fstream>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::json;

Result<Json> conformance::parseStrictJson(std::string_view text) {
  constexpr int deepest = 32;
  std::vector<std::set<std::string>> keys;
  std::string problem;
  auto check = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (depth > deepest && problem.empty())
      problem = "nested deeper than " + std::to_string(deepest);
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key &&
             !keys.back().insert(parsed.get<std::string>()).second &&
             problem.empty())
      problem = "the key '" + parsed.get<std::string>() + "' stands twice";
    return problem.empty();
  };
  Json json = Json::parse(text, check, false);
  if (!problem.empty())
    return dataLoss(problem);
  if (json.is_discarded())
    return dataLoss("not JSON");
  return json;
}

ObjectReader::ObjectReader(const Json &json, std::string where)
    : json_(&json), where_(std::move(where)) {
  if (!json.is_object())
    fail("not an object");
}

void ObjectReader::fail(const std::string &what) {
  if (status_.ok())
    status_ = dataLoss(where_ + ": " + what);
}

const Json *ObjectReader::find(const char *key) {
  known_.insert(key);
  if (!status_.ok())
    return nullptr;
  auto at = json_->find(key);
  if (at != json_->end())
    return &*at;
  fail("'" + std::string(key) + "' is missing");
  return nullptr;
}

bool ObjectReader::checkText(const char *key, const Json &value) {
  if (!value.is_string()) {
    fail("'" + std::string(key) + "' is not text");
    return false;
  }
  const auto &text = value.get_ref<const std::string &>();
  if (text.size() > maxText)
    fail("'" + std::string(key) + "' is longer than " +
         std::to_string(maxText) + " bytes");
  for (char c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F)
      fail("'" + std::string(key) + "' has control characters");
  return status_.ok();
}

void ObjectReader::read(const char *key, std::string &out) {
  const Json *value = find(key);
  if (value && checkText(key, *value))
    out = *value;
}

void ObjectReader::read(const char *key, bool &out) {
  const Json *value = find(key);
  if (value && !value->is_boolean())
    fail("'" + std::string(key) + "' is neither true nor false");
  else if (value)
    out = *value;
}

void ObjectReader::read(const char *key, uint64_t &out) {
  const Json *value = find(key);
  if (value && !value->is_number_unsigned())
    fail("'" + std::string(key) + "' is not a count");
  else if (value)
    out = *value;
}

void ObjectReader::read(const char *key, uint32_t &out) {
  uint64_t wide = 0;
  read(key, wide);
  if (wide > UINT32_MAX)
    fail("'" + std::string(key) + "' does not fit into 32 bits");
  else
    out = static_cast<uint32_t>(wide);
}

void ObjectReader::read(const char *key, std::vector<std::string> &out) {
  const Json *value = find(key);
  if (value && (!value->is_array() || value->size() > maxItems))
    return fail("'" + std::string(key) + "' is not a list of at most " +
                std::to_string(maxItems) + " texts");
  for (size_t i = 0; value && i < value->size(); ++i)
    if (checkText(key, (*value)[i]))
      out.push_back((*value)[i]);
}

void ObjectReader::read(const char *key,
                        std::vector<std::pair<std::string, std::string>> &out) {
  const Json *value = find(key);
  if (value && (!value->is_object() || value->size() > maxItems))
    return fail("'" + std::string(key) + "' is not an object of at most " +
                std::to_string(maxItems) + " texts");
  if (!value)
    return;
  for (const auto &[name, text] : value->items())
    if (checkText(key, name) && checkText(key, text))
      out.emplace_back(name, text);
}

std::vector<ObjectReader> ObjectReader::readObjects(const char *key) {
  const Json *value = find(key);
  std::vector<ObjectReader> items;
  if (!value)
    return items;
  if (!value->is_array() || value->size() > maxItems) {
    fail("'" + std::string(key) + "' is not a list of at most " +
         std::to_string(maxItems) + " objects");
    return items;
  }
  for (size_t i = 0; i < value->size(); ++i)
    items.emplace_back((*value)[i],
                       where_ + ": " + key + "[" + std::to_string(i) + "]");
  return items;
}

Status ObjectReader::finish() {
  if (!status_.ok())
    return status_;
  for (const auto &[name, value] : json_->items())
    if (!known_.contains(name))
      fail("'" + name.substr(0, 100) + "' is not known");
  return status_;
}

Result<std::string> conformance::readTextFile(const std::string &path,
                                              uint64_t maxBytes) {
  std::error_code code;
  uint64_t size = std::filesystem::file_size(path, code);
  if (code)
    return notFound("cannot read '" + path + "': " + code.message());
  if (size > maxBytes)
    return dataLoss("'" + path + "' has " + std::to_string(size) +
                    " bytes; at most " + std::to_string(maxBytes) +
                    " are taken");
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    return dataLoss("cannot read all of '" + path + "'");
  return text;
}
