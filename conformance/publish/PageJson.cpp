// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/PageJson.h"

#include "conformance/report/Probed.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::json;

namespace {

constexpr size_t worstCases = 40;
constexpr size_t listedFailures = 500;

constexpr const char *layerNames[] = {
    "C interface",        "Driver", "Executables",   "Ops",
    "Graphs and fusions", "Models", "Random graphs", "Stress and faults",
    "Registered kernels"};

std::string layerName(int layer) {
  std::string text = std::to_string(layer);
  bool known = layer >= 0 && layer < static_cast<int>(std::size(layerNames));
  return known ? text + " · " + layerNames[layer] : text;
}

uint64_t total(const std::map<CaseStatus, uint64_t> &row,
               std::initializer_list<CaseStatus> statuses) {
  uint64_t sum = 0;
  for (CaseStatus status : statuses)
    if (auto at = row.find(status); at != row.end())
      sum += at->second;
  return sum;
}

/// Counts of one layer, or of all, by colour.
struct Tally {
  uint64_t pass, warned, unsupported, refused, excused, bad = 0, all = 0;

  explicit Tally(const std::map<CaseStatus, uint64_t> &row)
      : pass(total(row, {CaseStatus::Pass})),
        warned(total(row, {CaseStatus::QualityWarning})),
        unsupported(total(row, {CaseStatus::NotSupported})),
        refused(total(row, {CaseStatus::Refused, CaseStatus::Assisted})),
        excused(total(row, {CaseStatus::Waived, CaseStatus::XFail})) {
    for (const auto &[status, number] : row) {
      all += number;
      bad += isBad(status) ? number : 0;
    }
  }
};

/// What stands below an earned badge.
std::string subtitle(const RunVerdict &verdict) {
  uint64_t cases = 0;
  for (const auto &[layer, row] : verdict.counts)
    cases += Tally(row).all;
  return count(cases) + " cases, " +
         (verdict.bad       ? count(verdict.bad) + " not good"
          : verdict.refused ? count(verdict.refused) + " refused"
                            : "all good");
}

Json medalJson(const RunVerdict &verdict) {
  bool earned = verdict.badge != Badge::None;
  std::string badge(name(verdict.badge));
  std::string relaxed = verdict.relaxed.empty() ? "" : "-R";
  return {{"kind", earned           ? badge
                   : verdict.passed ? "part"
                                    : "failed"},
          {"title", earned           ? badge + relaxed
                    : verdict.passed ? "All good"
                                     : "No badge"},
          {"text", earned ? subtitle(verdict) : verdict.title()}};
}

Json problemsJson(const RunVerdict &verdict) {
  Json problems = Json::array();
  for (const std::string &mark : verdict.marks)
    if (mark == "host")
      problems.push_back("The device is the processor of the host.");
    else if (mark == "emulated")
      problems.push_back("Device or machine is emulated.");
    else
      problems.push_back("Marked: " + mark + ".");
  for (const std::string &problem : verdict.problems)
    problems.push_back(problem);
  return problems;
}

Json tile(const char *kind, uint64_t value, const char *label) {
  return {
      {"kind", value ? kind : ""}, {"value", count(value)}, {"label", label}};
}

Json tilesJson(const RunVerdict &verdict, const std::vector<Record> &records) {
  std::map<CaseStatus, uint64_t> all;
  uint64_t elements = 0;
  for (const Record &record : records) {
    ++all[record.status];
    elements += record.elements;
  }
  Tally tally(all);
  return {tile("", records.size(), "cases"),
          tile("", elements, "elements compared"),
          tile("g", tally.pass, "pass"),
          tile("w", tally.warned, "pass, over half of a limit"),
          tile("", tally.unsupported, "not declared"),
          tile("", tally.refused, "refused"),
          tile("w", tally.excused, "waived"),
          tile("b", verdict.bad, "not good")};
}

/// One card per badge, each requirement met or not.
Json badgesJson(const RunVerdict &verdict) {
  Json badges = Json::array();
  for (Badge badge : {Badge::Core, Badge::Full, Badge::Strict}) {
    Json lines = Json::array();
    for (const Requirement &line : verdict.table)
      if (line.badge == badge)
        lines.push_back(
            {{"met", line.met}, {"text", line.text}, {"detail", line.detail}});
    badges.push_back({{"name", name(badge)},
                      {"earned", verdict.badge >= badge},
                      {"requirements", lines}});
  }
  return badges;
}

Json layerJson(int layer, const Tally &tally) {
  Json parts = Json::array(), counts = Json::array();
  auto add = [&](const char *kind, uint64_t value) {
    char width[32];
    std::snprintf(width, sizeof width, "%.3f",
                  100 * static_cast<double>(value) /
                      static_cast<double>(tally.all));
    if (value)
      parts.push_back({{"kind", kind}, {"width", width}});
  };
  add("b", tally.bad);
  add("g", tally.pass);
  add("w", tally.warned + tally.excused);
  add("s", tally.unsupported + tally.refused);
  for (uint64_t value : {tally.all, tally.pass, tally.warned, tally.unsupported,
                         tally.refused, tally.excused, tally.bad})
    counts.push_back(count(value));
  return {{"name", layerName(layer)}, {"parts", parts}, {"counts", counts}};
}

Json layersJson(const RunVerdict &verdict) {
  Json layers = Json::array();
  for (const auto &[layer, row] : verdict.counts)
    layers.push_back(layerJson(layer, Tally(row)));
  return layers;
}

const char *colourOf(CaseStatus status) {
  return isBad(status)                          ? "b"
         : status == CaseStatus::QualityWarning ? "w"
         : status == CaseStatus::Pass           ? "g"
                                                : "";
}

Json caseJson(const RunFacts &facts, const Record &record) {
  std::string command = "bp conformance --device '" + facts.device +
                        "' --repro '" + record.id + "'";
  if (facts.seed)
    command += " --seed " + std::to_string(facts.seed);
  if (facts.strict)
    command += " --strict";
  if (record.layer == 8 && facts.depth != "smoke")
    command +=
        " --depth " + facts.depth; // each depth has kernel cases of its own
  return {{"kind", colourOf(record.status)},
          {"status", name(record.status)},
          {"limit", number(record.limitUsed)},
          {"got", record.got},
          {"want", record.want},
          {"reason", record.reason},
          {"command", command}};
}

Json failedJson(const RunFacts &facts, const std::vector<Record> &records) {
  Json cases = Json::array();
  size_t all = 0;
  for (const Record &record : records)
    if (isBad(record.status) && ++all <= listedFailures)
      cases.push_back(caseJson(facts, record));
  if (cases.empty())
    return false;
  std::string note = count(all) + (all == 1 ? " case" : " cases");
  if (all > cases.size())
    note += ", the first " + count(cases.size()) + " are listed";
  return {{"note", note}, {"cases", cases}};
}

Json closestJson(const RunFacts &facts, const std::vector<Record> &records) {
  std::vector<const Record *> rows;
  for (const Record &record : records)
    if (isGood(record.status) && record.limitUsed > 0 &&
        std::any_of(record.ulps.begin() + 2, record.ulps.end(),
                    [](uint64_t elements) { return elements != 0; }))
      rows.push_back(&record);
  std::sort(rows.begin(), rows.end(), [](const Record *a, const Record *b) {
    return std::tie(b->limitUsed, a->id) < std::tie(a->limitUsed, b->id);
  });
  rows.resize(std::min(rows.size(), worstCases));
  Json cases = Json::array();
  for (const Record *record : rows)
    cases.push_back(caseJson(facts, *record));
  return cases;
}

/// Rows of cells; none of them is no table.
Json tableJson(const Json &rows) {
  return rows.empty() ? Json(false) : Json{{"rows", rows}};
}

Json row(std::vector<std::string> cells) { return {{"cells", cells}}; }

Json numericsJson(const RunFacts &facts) {
  Json rows = Json::array();
  for (const DeclaredNumerics &n : facts.numerics)
    rows.push_back(row(
        {n.opClass, n.dtype,
         n.accumulatorBits ? std::to_string(n.accumulatorBits) + " bits"
                           : "as the dtype",
         n.operandBits ? std::to_string(n.operandBits) + " bits" : "all bits",
         n.rounding ? "to zero" : "to nearest",
         n.flags & 1 ? "read as zero" : "kept",
         n.flags & 2 ? "become zero" : "kept",
         n.flags & 4 ? "may round once" : "rounds twice",
         n.flags & 8 ? "bit-identical" : "may differ"}));
  return tableJson(rows);
}

Json probesJson(const std::vector<Record> &records) {
  Json rows = Json::array();
  for (const ProbedFact &fact : probedFacts(records))
    rows.push_back(row({fact.opClass, fact.dtype, fact.property, fact.found,
                        fact.declared, fact.holds ? "yes" : "no"}));
  return tableJson(rows);
}

/// What became of the cases of each registered kernel.
Json kernelsJson(const RunFacts &facts, const std::vector<Record> &records) {
  std::map<std::string, std::map<CaseStatus, uint64_t>> kernels;
  for (const Record &record : records)
    if (record.layer == 8)
      ++kernels[record.op][record.status];
  Json rows = Json::array();
  for (const auto &[kernel, counts] : kernels) {
    uint64_t all = 0, bad = 0, left = 0;
    for (const auto &[status, number] : counts) {
      all += number;
      bad += isGood(status) ? 0 : number;
      left += status == CaseStatus::NotSupported ? number : 0;
    }
    rows.push_back(row({kernel, setVersionOf(facts, kernel), count(all),
                        count(bad), count(left)}));
  }
  return tableJson(rows);
}

Json waiversJson(const RunVerdict &verdict) {
  Json rows = Json::array();
  for (const WaiverUse &use : verdict.waivers.uses)
    rows.push_back(row({use.waiver.id, std::to_string(use.waived),
                        !use.applies  ? "for another device"
                        : use.expired ? "expired"
                                      : "in force",
                        textOf(use.waiver.expires), use.waiver.reason,
                        use.waiver.owner, use.waiver.url}));
  return tableJson(rows);
}

Json testedJson(const RunVerdict &verdict) {
  Json rows = Json::array();
  auto add = [&](const std::string &op, const OpLimits &limits) {
    const Tested &most = limits.most;
    rows.push_back(
        row({op, count(limits.cases), count(most.elements), count(most.rank),
             count(most.macs), number(most.magnitude), count(most.runs),
             number(most.seconds)}));
  };
  add("all", overall(verdict.tested));
  for (const auto &[op, limits] : verdict.tested)
    add(op, limits);
  return rows;
}

Json environmentJson(const RunFacts &facts) {
  Json list = Json::array();
  auto add = [&](const std::string &term, const std::string &text) {
    list.push_back({{"term", term}, {"text", text}});
  };
  add("suite", facts.suite + ", source " + facts.commit);
  add("run", facts.date + ", seed " + std::to_string(facts.seed) + ", shard " +
                 std::to_string(facts.shard) + "/" +
                 std::to_string(facts.shards));
  add("profile", facts.profile);
  if (!facts.challenge.empty())
    add("challenge", facts.challenge);
  if (!facts.emulator.empty())
    add("emulator", facts.emulator);
  for (const auto &[name, value] : facts.variables)
    add("variable " + name, value);
  for (const std::string &glob : facts.filters)
    add("filter", glob);
  for (const std::string &glob : facts.excludes)
    add("exclude", glob);
  for (const auto &[name, value] : facts.environment)
    add(name, value);
  for (const auto &[name, hash] : facts.pluginFiles)
    add("SHA-256 of " + name, hash);
  for (const auto &[name, hash] : facts.models)
    add("SHA-256 of the model file " + name, hash);
  add("SHA-256 of the ids of all " + count(facts.cases) + " cases",
      facts.mustpass);
  return list;
}

} // namespace

std::string conformance::number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string conformance::count(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

Json conformance::pageJson(const RunFacts &facts, const RunVerdict &verdict,
                           const std::vector<Record> &records) {
  std::string relaxed;
  for (const std::string &text : verdict.relaxed)
    relaxed += (relaxed.empty() ? "" : "; ") + text;
  return {
      {"title", verdict.title()},
      {"device", facts.device},
      {"device_name",
       facts.deviceName.empty() ? facts.device : facts.deviceName},
      {"plugin", facts.plugin},
      {"target", facts.target},
      {"suite", facts.suite},
      {"depth", facts.depth},
      {"strict", facts.strict},
      {"date", facts.date.substr(0, 10)},
      {"passed", verdict.badge != Badge::None || verdict.passed},
      {"medal", medalJson(verdict)},
      {"problems", problemsJson(verdict)},
      {"tiles", tilesJson(verdict, records)},
      {"badges", badgesJson(verdict)},
      {"relaxed", relaxed},
      {"layers", layersJson(verdict)},
      {"failed", failedJson(facts, records)},
      {"grids", gridsJson(records)},
      {"checks", checksJson(records)},
      {"histograms", histogramsJson(records)},
      {"closest", closestJson(facts, records)},
      {"numerics", numericsJson(facts)},
      {"probes", probesJson(records)},
      {"kernels", kernelsJson(facts, records)},
      {"tested", testedJson(verdict)},
      {"limits", methodLimits()},
      {"waivers", waiversJson(verdict)},
      {"environment", environmentJson(facts)},
  };
}
