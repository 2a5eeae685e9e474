// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Publish.h"

#include "conformance/publish/Html.h"
#include "hal/core/FileHash.h"
#include "sdk/package/AtomicFile.h"

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

Status write(const std::string &folder, const char *name,
             const std::string &text) {
  return writeFileAtomically(
      folder + "/" + name,
      {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

} // namespace

std::string conformance::summaryJson(const RunFacts &facts,
                                     const RunVerdict &verdict,
                                     const std::string &recordsHash) {
  Json json;
  json["format"] = 1;
  json["title"] = verdict.title();
  json["badge"] = name(verdict.badge);
  json["passed"] = verdict.passed;
  json["partial"] = verdict.partial;
  json["suite"] = facts.suite;
  json["device"] = facts.device;
  json["depth"] = facts.depth;
  json["models"] = Json::object();
  for (const auto &[name, hash] : facts.models)
    json["models"][name] = hash;
  json["cases"] = facts.cases;
  json["bad"] = verdict.bad;
  json["layers"] = countsJson(verdict);
  json["table"] = tableJson(verdict);
  json["missing"] = verdict.missing();
  json["relaxed"] = verdict.relaxed;
  json["problems"] = verdict.problems;
  json["waivers"] = waiversJson(verdict);
  json["mustpass_sha256"] = facts.mustpass;
  json["records_sha256"] = recordsHash;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status conformance::writeReports(const std::string &folder,
                                 const RunFacts &facts,
                                 const RunVerdict &verdict,
                                 const std::vector<Record> &records) {
  auto hash = sha256OfFile(folder + "/records.jsonl");
  if (!hash)
    return hash.status();
  if (Status s =
          write(folder, "summary.json", summaryJson(facts, verdict, *hash));
      !s.ok())
    return s;
  if (Status s = write(folder, "junit.xml", junitXml(facts, records)); !s.ok())
    return s;
  return write(folder, "report.html", reportHtml(facts, verdict, records));
}
