// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Record.h"

#include "conformance/report/StrictJson.h"

#include <cmath>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::pair<CaseStatus, std::string_view> statusNames[] = {
    {CaseStatus::Pass, "Pass"},
    {CaseStatus::Fail, "Fail"},
    {CaseStatus::QualityWarning, "QualityWarning"},
    {CaseStatus::NotSupported, "NotSupported"},
    {CaseStatus::Refused, "Refused"},
    {CaseStatus::Assisted, "Assisted"},
    {CaseStatus::Waived, "Waived"},
    {CaseStatus::XFail, "XFail"},
    {CaseStatus::XPass, "XPass"},
    {CaseStatus::Crash, "Crash"},
    {CaseStatus::Timeout, "Timeout"},
    {CaseStatus::DeviceLost, "DeviceLost"},
    {CaseStatus::ResourceError, "ResourceError"},
    {CaseStatus::OracleError, "OracleError"},
    {CaseStatus::Mistrusted, "Mistrusted"},
    {CaseStatus::Flaky, "Flaky"},
};

/// JSON has no infinity and no NaN: they are text.
Json toNumber(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

void read(const nlohmann::json &json, std::string &out) { json.get_to(out); }
void read(const nlohmann::json &json, double &out) {
  if (json.is_number())
    out = json;
  else if (json == "nan")
    out = NAN;
  else if (json == "inf" || json == "-inf")
    out = json == "inf" ? INFINITY : -INFINITY;
  else
    throw Json::type_error::create(302, "not a number", &json);
}
void read(const nlohmann::json &json, uint64_t &out) {
  if (!json.is_number_unsigned())
    throw Json::type_error::create(302, "not a count", &json);
  out = json;
}
void read(const nlohmann::json &json, int &out) {
  if (!json.is_number_integer())
    throw Json::type_error::create(302, "not an integer", &json);
  out = json;
}
void read(const nlohmann::json &json, std::vector<std::string> &out) {
  json.get_to(out);
}
void read(const nlohmann::json &json, UlpHistogram &out) {
  if (!json.is_array() || json.size() != out.size())
    throw Json::type_error::create(302, "not a histogram", &json);
  for (size_t i = 0; i < out.size(); ++i)
    read(json[i], out[i]);
}
void read(const nlohmann::json &json, CaseStatus &out) {
  auto status = parseCaseStatus(json.get<std::string>());
  if (!status)
    throw Json::type_error::create(302, "not a status", &json);
  out = *status;
}

Json write(const std::string &value) { return value; }
Json write(double value) { return toNumber(value); }
Json write(uint64_t value) { return value; }
Json write(int value) { return value; }
Json write(const std::vector<std::string> &value) { return value; }
Json write(const UlpHistogram &value) { return value; }
Json write(CaseStatus value) { return std::string(name(value)); }

/// Calls visit(key, member) for every member, in the order of the file.
template <typename R, typename Visit> void eachMember(R &record, Visit visit) {
  visit("id", record.id);
  visit("unit", record.unit);
  visit("layer", record.layer);
  visit("op", record.op);
  visit("dtype", record.dtype);
  visit("data", record.dataSet);
  visit("sizes", record.sizes);
  visit("seed", record.seed);
  visit("tags", record.tags);
  visit("status", record.status);
  visit("reason", record.reason);
  visit("limit_used", record.limitUsed);
  visit("worst", record.worst);
  visit("output", record.output);
  visit("got", record.got);
  visit("want", record.want);
  visit("limit", record.limit);
  visit("rms", record.rms);
  visit("bias", record.bias);
  visit("elements", record.elements);
  visit("ulps", record.ulps);
  visit("input_hash", record.inputHash);
  visit("output_hash", record.outputHash);
  visit("compile_ms", record.compileMs);
  visit("run_ms", record.runMs);
  visit("cpu_ms", record.cpuMs);
  visit("tensor_elements", record.tested.elements);
  visit("rank", record.tested.rank);
  visit("macs", record.tested.macs);
  visit("magnitude", record.tested.magnitude);
  visit("runs", record.tested.runs);
  visit("uptime_s", record.tested.seconds);
}

} // namespace

std::string_view conformance::name(CaseStatus status) {
  for (const auto &[value, text] : statusNames)
    if (value == status)
      return text;
  return "unknown";
}

std::optional<CaseStatus> conformance::parseCaseStatus(std::string_view name) {
  for (const auto &[value, text] : statusNames)
    if (text == name)
      return value;
  return std::nullopt;
}

bool conformance::isGood(CaseStatus status) {
  return status == CaseStatus::Pass || status == CaseStatus::QualityWarning ||
         status == CaseStatus::NotSupported || status == CaseStatus::Waived ||
         status == CaseStatus::XFail;
}

bool conformance::isDeclined(CaseStatus status) {
  return status == CaseStatus::Refused || status == CaseStatus::Assisted;
}

bool conformance::isBad(CaseStatus status) {
  return !isGood(status) && !isDeclined(status);
}

bool conformance::isTaken(CaseStatus status) {
  return status != CaseStatus::NotSupported && !isDeclined(status);
}

std::string conformance::folderNameOf(std::string id) {
  for (char &c : id)
    if (c == '/' || c == ',' || c == '=')
      c = '_';
  return id;
}

std::string conformance::toJson(const Record &record) {
  Json json;
  eachMember(record, [&](const char *key, const auto &member) {
    json[key] = write(member);
  });
  // Text from a device may be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Record> conformance::parseRecord(std::string_view line) {
  auto parsed = parseStrictJson(line);
  if (!parsed)
    return parsed.status().within("not a record");
  if (!parsed->is_object())
    return dataLoss("not a record: not one JSON object");
  const nlohmann::json &json = *parsed;
  Record record;
  size_t members = 0;
  const char *current = "";
  try {
    eachMember(record, [&](const char *key, auto &member) {
      current = key;
      read(json.at(key), member);
      ++members;
    });
  } catch (const Json::exception &error) {
    return dataLoss("not a record: '" + std::string(current) +
                    "': " + error.what());
  }
  if (members != json.size())
    return dataLoss("not a record: it has members that no record has");
  return record;
}
