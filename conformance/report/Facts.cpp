// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Facts.h"

#include "conformance/report/Profiles.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <cctype>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t formatVersion = 3;

Json toObject(const TextPairs &pairs) {
  // The one without an order of insertion sorts names.
  nlohmann::json json = nlohmann::json::object();
  for (const auto &[name, value] : pairs)
    json[name] = value;
  return json;
}

Json toJsonValue(const std::vector<DeclaredNumerics> &numerics) {
  Json json = Json::array();
  for (const DeclaredNumerics &n : numerics) {
    json.push_back({{"class", n.opClass},
                    {"dtype", n.dtype},
                    {"accumulator_bits", n.accumulatorBits},
                    {"rounding", n.rounding},
                    {"flags", n.flags}});
    if (n.operandBits)
      json.back()["operand_bits"] = n.operandBits;
  }
  return json;
}
Json toJsonValue(const std::vector<JudgedKernel> &kernels) {
  Json json = Json::array();
  for (const JudgedKernel &kernel : kernels)
    json.push_back({{"set", kernel.set},
                    {"version", kernel.version},
                    {"text", kernel.text},
                    {"weights", kernel.weights}});
  return json;
}
Json toJsonValue(const TextPairs &pairs) { return toObject(pairs); }
template <typename T> Json toJsonValue(const T &value) { return value; }

/// Calls visit(key, member) for all members that two parts of one run share.
template <typename F, typename Visit> void eachShared(F &facts, Visit visit) {
  visit("suite", facts.suite);
  visit("commit", facts.commit);
  visit("device", facts.device);
  visit("device_name", facts.deviceName);
  visit("plugin", facts.plugin);
  visit("target", facts.target);
  visit("profile", facts.profile);
  visit("emulator", facts.emulator);
  visit("device_kind", facts.deviceKind);
  visit("device_flags", facts.deviceFlags);
  visit("storage_dtypes", facts.storageDTypes);
  visit("compute_dtypes", facts.computeDTypes);
  visit("numerics", facts.numerics);
  visit("plugin_files", facts.pluginFiles);
  visit("depth", facts.depth);
  visit("seed", facts.seed);
  visit("budget", facts.budget);
  visit("buffer_bytes", facts.bufferBytes);
  visit("challenge", facts.challenge);
  visit("shards", facts.shards);
  visit("filters", facts.filters);
  visit("excludes", facts.excludes);
  visit("strict", facts.strict);
  visit("models", facts.models);
  visit("kernels", facts.kernels);
  visit("cases", facts.cases);
  visit("mustpass", facts.mustpass);
  visit("variables", facts.variables);
  visit("waivers_sha256", facts.waiversHash);
}

template <typename F, typename Visit> void eachMember(F &facts, Visit visit) {
  eachShared(facts, visit);
  visit("shard", facts.shard);
  visit("date", facts.date);
  visit("environment", facts.environment);
}

void readItem(ObjectReader &item, DeclaredNumerics &out) {
  item.read("class", out.opClass);
  item.read("dtype", out.dtype);
  item.read("accumulator_bits", out.accumulatorBits);
  item.read("rounding", out.rounding);
  item.read("flags", out.flags);
  // Absent where all bits count.
  if (item.has("operand_bits"))
    item.read("operand_bits", out.operandBits);
}
void readItem(ObjectReader &item, JudgedKernel &out) {
  item.read("set", out.set);
  item.read("version", out.version);
  item.read("text", out.text);
  item.read("weights", out.weights);
}
template <typename T>
  requires requires(ObjectReader &item, T &out) { readItem(item, out); }
void readInto(ObjectReader &reader, const char *key, std::vector<T> &out) {
  for (ObjectReader &item : reader.readObjects(key)) {
    T one;
    readItem(item, one);
    if (Status s = item.finish(); !s.ok())
      return reader.fail(s.message());
    out.push_back(std::move(one));
  }
}
template <typename T>
void readInto(ObjectReader &reader, const char *key, T &out) {
  reader.read(key, out);
}

/// "2026-11-21T16:00:00Z".
bool isTime(const std::string &text) {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:ddZ";
  return std::ranges::equal(text, form, [](char c, char expected) {
    return expected == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0
                           : c == expected;
  });
}

void checkValues(const RunFacts &facts, ObjectReader &reader) {
  if (facts.depth != "smoke" && facts.depth != "standard" &&
      facts.depth != "full")
    reader.fail("'depth' is none of smoke, standard, full");
  if (!isTime(facts.date))
    reader.fail("'date' is not of the form 2026-11-21T16:00:00Z");
  if (facts.profile != wholeProfile && !findProfile(facts.profile))
    reader.fail("'profile' is not one that this suite has");
  if (facts.shard < 1 || facts.shard > facts.shards)
    reader.fail("'shard' is not one of its shards");
}

} // namespace

std::string JudgedKernel::whole() const {
  std::string all;
  for (const std::string &line : text)
    all += line + "\n";
  return all;
}

std::string conformance::setVersionOf(const RunFacts &facts,
                                      std::string_view kernel) {
  std::string_view set = kernel.substr(0, kernel.find('.'));
  auto found = std::ranges::find(facts.kernels, set, &JudgedKernel::set);
  return found == facts.kernels.end() ? "" : found->version;
}

uint64_t conformance::officialSeed(const RunFacts &facts) {
  std::vector<std::string> lines;
  for (const auto &[name, hash] : facts.pluginFiles)
    lines.push_back("file " + hash + "\n");
  std::ranges::sort(lines);
  std::string text = "backplane suite " + facts.suite + "\n";
  for (const std::string &line : lines)
    text += line;
  text += "challenge " + facts.challenge;
  std::string digest = sha256(asBytes(text));
  uint64_t seed = std::stoull(digest.substr(0, 16), nullptr, 16);
  return seed ? seed : 1;
}

std::string conformance::toJson(const RunFacts &facts) {
  Json json;
  json["format"] = formatVersion;
  eachMember(facts, [&](const char *key, const auto &member) {
    json[key] = toJsonValue(member);
  });
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunFacts> conformance::parseFacts(std::string_view text) {
  auto json = parseStrictJson(text);
  if (!json)
    return json.status().within("run.json");
  ObjectReader reader(*json, "run.json");
  RunFacts facts;
  uint64_t format = 0;
  reader.read("format", format);
  if (reader.status().ok() && format != formatVersion)
    return dataLoss("run.json: 'format' is " + std::to_string(format) +
                    ", this suite reads " + std::to_string(formatVersion) +
                    "; use the suite that made the run");
  eachMember(facts, [&](const char *key, auto &member) {
    readInto(reader, key, member);
  });
  checkValues(facts, reader);
  if (Status s = reader.finish(); !s.ok())
    return s;
  return facts;
}

std::string conformance::differenceOf(const RunFacts &a, const RunFacts &b) {
  Json first, second;
  eachShared(a, [&](const char *key, const auto &member) {
    first[key] = toJsonValue(member);
  });
  eachShared(b, [&](const char *key, const auto &member) {
    second[key] = toJsonValue(member);
  });
  auto textOf = [](const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace)
        .substr(0, 200);
  };
  for (const auto &[key, value] : first.items())
    if (value != second[key])
      return key + ": " + textOf(value) + ", not " + textOf(second[key]);
  return {};
}
