// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Publish.h"

#include "conformance/publish/Html.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <nlohmann/json.hpp>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::ordered_json;

namespace {

Json countsJson(const RunVerdict &verdict) {
  Json layers = Json::object();
  for (const auto &[layer, row] : verdict.counts)
    for (const auto &[status, count] : row)
      layers[std::to_string(layer)][std::string(name(status))] = count;
  return layers;
}

Json tableJson(const RunVerdict &verdict) {
  Json table = Json::array();
  for (const Requirement &line : verdict.table)
    table.push_back({{"badge", name(line.badge)},
                     {"requirement", line.text},
                     {"met", line.met},
                     {"detail", line.detail}});
  return table;
}

Json limitsJson(const OpLimits &limits) {
  const Tested &most = limits.most;
  return {{"cases", limits.cases},       {"tensor_elements", most.elements},
          {"rank", most.rank},           {"macs", most.macs},
          {"magnitude", most.magnitude}, {"runs", most.runs},
          {"uptime_s", most.seconds}};
}

Json testedJson(const RunVerdict &verdict) {
  Json ops = Json::object();
  for (const auto &[op, limits] : verdict.tested)
    ops[op] = limitsJson(limits);
  return {{"overall", limitsJson(overall(verdict.tested))}, {"ops", ops}};
}

Json waiversJson(const RunVerdict &verdict) {
  Json waivers = Json::array();
  for (const WaiverUse &use : verdict.waivers.uses)
    waivers.push_back({{"id", use.waiver.id},
                       {"waived", use.waived},
                       {"applies", use.applies},
                       {"expired", use.expired},
                       {"expires", textOf(use.waiver.expires)}});
  return waivers;
}

} // namespace

/// Cases of each registered kernel, and how many are not good.
static Json kernelsJson(const RunFacts &facts,
                        const std::vector<Record> &records) {
  Json kernels = Json::object();
  for (const Record &record : records) {
    if (record.layer != 8)
      continue;
    Json &kernel = kernels[record.op];
    if (kernel.is_null())
      kernel = {{"set_version", setVersionOf(facts, record.op)},
                {"cases", 0},
                {"bad", 0}};
    kernel["cases"] = kernel["cases"].get<uint64_t>() + 1;
    if (!isGood(record.status))
      kernel["bad"] = kernel["bad"].get<uint64_t>() + 1;
  }
  return kernels;
}

std::string conformance::summaryJson(const RunFacts &facts,
                                     const RunVerdict &verdict,
                                     const std::vector<Record> &records,
                                     const std::string &recordsHash) {
  Json json;
  json["format"] = 3;
  json["title"] = verdict.title();
  json["badge"] = name(verdict.badge);
  json["passed"] = verdict.passed;
  json["partial"] = verdict.partial;
  json["suite"] = facts.suite;
  json["profile"] = facts.profile;
  json["device"] = facts.device;
  json["marks"] = verdict.marks;
  json["emulator"] = facts.emulator;
  json["seed"] = facts.seed;
  json["challenge"] = facts.challenge;
  json["depth"] = facts.depth;
  json["models"] = Json::object();
  for (const auto &[name, hash] : facts.models)
    json["models"][name] = hash;
  json["kernels"] = kernelsJson(facts, records);
  json["cases"] = facts.cases;
  json["bad"] = verdict.bad;
  json["refused"] = verdict.refused;
  json["layers"] = countsJson(verdict);
  json["table"] = tableJson(verdict);
  json["missing"] = verdict.missing();
  json["relaxed"] = verdict.relaxed;
  json["problems"] = verdict.problems;
  json["waivers"] = waiversJson(verdict);
  json["tested"] = testedJson(verdict);
  json["limits_of_the_method"] = methodLimits();
  json["mustpass_sha256"] = facts.mustpass;
  json["records_sha256"] = recordsHash;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::pair<std::string, std::string>>
conformance::reportFiles(const RunFacts &facts, const RunVerdict &verdict,
                         const std::vector<Record> &records,
                         const std::string &recordsHash) {
  return {{"summary.json", summaryJson(facts, verdict, records, recordsHash)},
          {"junit.xml", junitXml(facts, records)},
          {"report.html", reportHtml(facts, verdict, records)}};
}

Status conformance::writeReports(const std::string &folder,
                                 const RunFacts &facts,
                                 const RunVerdict &verdict,
                                 const std::vector<Record> &records) {
  auto hash = sha256OfFile(folder + "/records.jsonl");
  if (!hash)
    return hash.status();
  for (const auto &[name, text] : reportFiles(facts, verdict, records, *hash))
    if (Status s = writeFileAtomically(folder + "/" + name, asBytes(text));
        !s.ok())
      return s;
  return {};
}
