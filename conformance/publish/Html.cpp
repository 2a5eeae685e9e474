// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Html.h"

#include "conformance/publish/HtmlParts.h"
#include "conformance/report/Probed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

using namespace backplane;
using namespace backplane::conformance;
using namespace backplane::conformance::html;

namespace {

constexpr size_t worstCases = 40;
constexpr size_t listedFailures = 500;

constexpr const char *layerNames[] = {
    "C interface",        "Driver", "Executables",   "Ops",
    "Graphs and fusions", "Models", "Random graphs", "Stress and faults"};

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
  uint64_t pass, warned, unsupported, excused, bad = 0, all = 0;

  explicit Tally(const std::map<CaseStatus, uint64_t> &row)
      : pass(total(row, {CaseStatus::Pass})),
        warned(total(row, {CaseStatus::QualityWarning})),
        unsupported(total(row, {CaseStatus::NotSupported})),
        excused(total(row, {CaseStatus::Waived, CaseStatus::XFail})) {
    for (const auto &[status, number] : row) {
      all += number;
      bad += isGood(status) ? 0 : number;
    }
  }
};

/// What stands below an earned badge.
std::string subtitle(const RunVerdict &verdict) {
  uint64_t cases = 0;
  for (const auto &[layer, row] : verdict.counts)
    cases += Tally(row).all;
  return count(cases) + " cases, " +
         (verdict.bad ? count(verdict.bad) + " not good" : "all good");
}

std::string medal(const RunVerdict &verdict) {
  bool earned = verdict.badge != Badge::None;
  std::string title = earned ? std::string(name(verdict.badge)) +
                                   (verdict.relaxed.empty() ? "" : "-R")
                      : verdict.passed ? "All good"
                                       : "No badge";
  std::string kind = earned           ? std::string(name(verdict.badge))
                     : verdict.passed ? "part"
                                      : "failed";
  const char *mark = earned || verdict.passed ? "M20 33l8 8 15-17"
                                              : "M23 23l18 18M41 23L23 41";
  return "<div class=\"medal " + kind +
         "\"><svg viewBox=\"0 0 64 64\"><circle class=\"ring\" cx=\"32\" "
         "cy=\"32\" r=\"29\"/><circle class=\"disc\" cx=\"32\" cy=\"32\" "
         "r=\"23\"/><path class=\"mark\" d=\"" +
         mark + "\"/></svg><div><b>" + title + "</b><span>" +
         escape(earned ? subtitle(verdict) : verdict.title()) +
         "</span></div></div>";
}

std::string hero(const RunFacts &facts, const RunVerdict &verdict) {
  std::string out =
      "<p class=\"eyebrow\">Conformance report</p><div class=\"hero\"><div>"
      "<h1>" +
      escape(facts.deviceName.empty() ? facts.device : facts.deviceName) +
      "</h1><p class=\"soft\">Plug-in " + escape(facts.plugin) + " · device " +
      escape(facts.device) + " · target " + escape(facts.target) +
      "<br>Suite " + escape(facts.suite) + " · depth " + escape(facts.depth) +
      (facts.strict ? " · strict" : "") + " · " +
      escape(facts.date.substr(0, 10)) + "</p></div>" + medal(verdict) +
      "</div>\n";
  for (const std::string &mark : verdict.marks)
    out +=
        "<div class=\"problem\">" +
        std::string(mark == "host" ? "The device is the processor of the host."
                                   : "Device or machine is emulated.") +
        "</div>\n";
  for (const std::string &problem : verdict.problems)
    out += "<div class=\"problem\">" + escape(problem) + "</div>\n";
  return out;
}

std::string tile(const char *kind, uint64_t value, const char *label) {
  return std::string("<div class=\"") + (value ? kind : "") + "\"><b>" +
         count(value) + "</b>" + label + "</div>";
}

std::string tiles(const RunVerdict &verdict,
                  const std::vector<Record> &records) {
  std::map<CaseStatus, uint64_t> all;
  uint64_t elements = 0;
  for (const Record &record : records) {
    ++all[record.status];
    elements += record.elements;
  }
  Tally tally(all);
  return "<div class=\"tiles\">" + tile("", records.size(), "cases") +
         tile("", elements, "elements compared") +
         tile("g", tally.pass, "pass") +
         tile("w", tally.warned, "pass, over half of a limit") +
         tile("", tally.unsupported, "not declared") +
         tile("w", tally.excused, "waived") +
         tile("b", verdict.bad, "not good") + "</div>\n";
}

std::string part(const char *kind, uint64_t value, uint64_t all) {
  if (!value)
    return "";
  char width[32];
  std::snprintf(width, sizeof width, "%.3f",
                100 * static_cast<double>(value) / static_cast<double>(all));
  return std::string("<i class=\"") + kind + "\" style=\"width:" + width +
         "%\"></i>";
}

std::string layers(const RunVerdict &verdict) {
  std::string out =
      heading("layers", "Layers", "") +
      "<div class=\"wide\"><table><thead><tr><th>layer</th><th></th><th "
      "class=\"n\">cases</th><th class=\"n\">pass</th><th class=\"n\">over "
      "half</th><th class=\"n\">not declared</th><th class=\"n\">waived</th>"
      "<th class=\"n\">not good</th></tr></thead><tbody>\n";
  for (const auto &[layer, row] : verdict.counts) {
    Tally tally(row);
    out += "<tr><th>" + layerName(layer) + "</th><td><div class=\"bar\">" +
           part("b", tally.bad, tally.all) + part("g", tally.pass, tally.all) +
           part("w", tally.warned + tally.excused, tally.all) +
           part("s", tally.unsupported, tally.all) + "</div></td>";
    for (uint64_t value : {tally.all, tally.pass, tally.warned,
                           tally.unsupported, tally.excused, tally.bad})
      out += "<td class=\"n\">" + count(value) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

/// One card per badge, each requirement met or not.
std::string badges(const RunVerdict &verdict) {
  std::string out = heading(
      "badge", "What the badge asks for",
      "Each badge asks for all that the ones before it ask for. The suffix -R "
      "says that relaxed numerics are declared.");
  out += "<div class=\"cards\">\n";
  for (Badge badge : {Badge::Core, Badge::Full, Badge::Strict}) {
    bool earned = verdict.badge >= badge;
    out += "<div class=\"card\"><h3>" + std::string(name(badge)) +
           "<span class=\"tag" + (earned ? " g\">earned" : "\">not earned") +
           "</span></h3><ul>";
    for (const Requirement &line : verdict.table)
      if (line.badge == badge)
        out += std::string("<li") + (line.met ? "" : " class=\"no\"") + ">" +
               escape(line.text) +
               (line.detail.empty()
                    ? ""
                    : " <span>" + escape(line.detail) + "</span>") +
               "</li>";
    out += "</ul></div>\n";
  }
  out += "</div>\n";
  if (verdict.relaxed.empty())
    return out;
  out += "<p class=\"soft\" style=\"margin-top:14px\">Relaxed:";
  for (const std::string &text : verdict.relaxed)
    out += " " + escape(text) + ";";
  out.back() = '.';
  return out + "</p>\n";
}

std::string statusTag(CaseStatus status) {
  const char *kind = !isGood(status)                        ? " b"
                     : status == CaseStatus::QualityWarning ? " w"
                     : status == CaseStatus::Pass           ? " g"
                                                            : "";
  return std::string("<span class=\"tag") + kind + "\">" +
         std::string(name(status)) + "</span>";
}

std::string caseRow(const RunFacts &facts, const Record &record) {
  std::string command = "bp conformance --device '" + facts.device +
                        "' --repro '" + record.id + "'";
  if (facts.seed)
    command += " --seed " + std::to_string(facts.seed);
  if (facts.strict)
    command += " --strict";
  return "<tr><td>" + statusTag(record.status) + "</td><td class=\"n\">" +
         number(record.limitUsed) + "</td><td><code>" + escape(record.got) +
         "</code></td><td><code>" + escape(record.want) +
         "</code></td><td class=\"long\">" + escape(record.reason) +
         "<code class=\"cmd\">" + escape(command) + "</code></td></tr>\n";
}

std::string caseTable(const RunFacts &facts,
                      const std::vector<const Record *> &rows) {
  std::string out =
      "<div class=\"wide\"><table><thead><tr><th>status</th><th "
      "class=\"n\">of limit</th><th>got</th><th>want</th><th>reason, and the "
      "line that repeats it</th></tr></thead><tbody>\n";
  for (const Record *record : rows)
    out += caseRow(facts, *record);
  return out + "</tbody></table></div>\n";
}

std::string failures(const RunFacts &facts,
                     const std::vector<Record> &records) {
  std::vector<const Record *> rows;
  size_t all = 0;
  for (const Record &record : records)
    if (!isGood(record.status) && ++all <= listedFailures)
      rows.push_back(&record);
  if (rows.empty())
    return "";
  std::string note = count(all) + (all == 1 ? " case" : " cases");
  if (all > rows.size())
    note += ", the first " + count(rows.size()) + " are listed";
  return heading("failed", "Cases that are not good", note + ".") +
         caseTable(facts, rows);
}

std::string worst(const RunFacts &facts, const std::vector<Record> &records) {
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
  return heading("closest", "Closest to their limit",
                 "Good cases by the share of the limit that their worst "
                 "element uses, without those whose every element is "
                 "correctly rounded.") +
         caseTable(facts, rows);
}

std::string numerics(const RunFacts &facts,
                     const std::vector<Record> &records) {
  TextTable rows = {{"class", "dtype", "accumulator", "rounding",
                     "subnormal operands", "subnormal results", "a·b+c",
                     "from run to run"}};
  for (const DeclaredNumerics &n : facts.numerics)
    rows.push_back({n.opClass, n.dtype,
                    n.accumulatorBits
                        ? std::to_string(n.accumulatorBits) + " bits"
                        : "as the dtype",
                    n.rounding ? "to zero" : "to nearest",
                    n.flags & 1 ? "read as zero" : "kept",
                    n.flags & 2 ? "become zero" : "kept",
                    n.flags & 4 ? "may round once" : "rounds twice",
                    n.flags & 8 ? "bit-identical" : "may differ"});
  TextTable probes = {
      {"class", "dtype", "property", "found", "declared", "holds"}};
  for (const ProbedFact &fact : probedFacts(records))
    probes.push_back({fact.opClass, fact.dtype, fact.property, fact.found,
                      fact.declared, fact.holds ? "yes" : "no"});
  std::string out = heading(
      "numerics", "Declared and probed numerics",
      "What the target says of its arithmetic. Error limits are derived from "
      "it; no vendor supplies a tolerance. Probes hold the device to it.");
  out += rows.size() > 1 ? table(rows) : "<p>Nothing is declared.</p>";
  out += "<h3>Probes</h3>";
  return out +
         (probes.size() > 1 ? table(probes) : "<p>None in this run.</p>\n");
}

std::string waivers(const RunVerdict &verdict) {
  TextTable rows = {
      {"waiver", "cases", "state", "expires", "reason", "owner", "more"}};
  for (const WaiverUse &use : verdict.waivers.uses)
    rows.push_back({use.waiver.id, std::to_string(use.waived),
                    !use.applies  ? "for another device"
                    : use.expired ? "expired"
                                  : "in force",
                    textOf(use.waiver.expires), use.waiver.reason,
                    use.waiver.owner, use.waiver.url});
  return heading("waivers", "Waivers",
                 "Known failures that the vendor explains in public, for at "
                 "most 180 days.") +
         (rows.size() > 1 ? table(rows) : "<p>None.</p>\n");
}

std::string tested(const RunVerdict &verdict) {
  TextTable rows = {{"op", "cases", "elements of a tensor", "rank",
                     "multiply-adds", "magnitude", "runs", "seconds"}};
  auto add = [&](const std::string &op, const OpLimits &limits) {
    const Tested &most = limits.most;
    rows.push_back({op, count(limits.cases), count(most.elements),
                    count(most.rank), count(most.macs), number(most.magnitude),
                    count(most.runs), number(most.seconds)});
  };
  add("all", overall(verdict.tested));
  for (const auto &[op, limits] : verdict.tested)
    add(op, limits);
  std::string out = heading(
      "tested", "How far it was tested, and what that cannot show",
      "The largest of each over the cases that passed: elements of one tensor, "
      "rank, multiply-adds of one call, absolute value of an input, runs of "
      "one executable, seconds in one process.");
  out += table(rows) + "<h3>Limits of the method</h3><ul>\n";
  for (std::string_view limit : methodLimits())
    out += "<li>" + escape(limit) + "</li>\n";
  return out + "</ul>\n";
}

std::string definition(const std::string &term, const std::string &text) {
  return "<dt>" + escape(term) + "</dt><dd>" + escape(text) + "</dd>";
}

std::string environment(const RunFacts &facts) {
  std::string out = heading("environment", "Environment", "") + "<dl>";
  out += definition("suite", facts.suite + ", source " + facts.commit);
  out += definition("run", facts.date + ", seed " + std::to_string(facts.seed) +
                               ", shard " + std::to_string(facts.shard) + "/" +
                               std::to_string(facts.shards));
  out += definition("profile", facts.profile);
  if (!facts.challenge.empty())
    out += definition("challenge", facts.challenge);
  if (!facts.emulator.empty())
    out += definition("emulator", facts.emulator);
  for (const auto &[name, value] : facts.variables)
    out += definition("variable " + name, value);
  for (const std::string &glob : facts.filters)
    out += definition("filter", glob);
  for (const std::string &glob : facts.excludes)
    out += definition("exclude", glob);
  for (const auto &[name, value] : facts.environment)
    out += definition(name, value);
  for (const auto &[name, hash] : facts.pluginFiles)
    out += definition("SHA-256 of " + name, hash);
  for (const auto &[name, hash] : facts.models)
    out += definition("SHA-256 of the model file " + name, hash);
  return out +
         definition("SHA-256 of the ids of all " + count(facts.cases) +
                        " cases",
                    facts.mustpass) +
         "</dl>\n";
}

std::string navigation(bool failed) {
  return "<nav><div><b>Backplane</b><a href=\"#badge\">Badge</a><a "
         "href=\"#layers\">Layers</a><a href=\"#ops\">Ops</a>" +
         std::string(failed ? "<a href=\"#failed\">Failures</a>" : "") +
         "<a href=\"#errors\">Errors</a><a href=\"#closest\">Closest</a><a "
         "href=\"#numerics\">Numerics</a><a href=\"#tested\">Tested</a><a "
         "href=\"#waivers\">Waivers</a><a "
         "href=\"#environment\">Environment</a></div></nav>\n";
}

} // namespace

std::string html::escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string html::number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string html::count(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string html::heading(const std::string &anchor, const std::string &title,
                          const std::string &note) {
  return "<h2 id=\"" + anchor + "\">" + title + "</h2>" +
         (note.empty() ? "" : "<p class=\"note\">" + note + "</p>") + "\n";
}

std::string html::table(const TextTable &rows) {
  std::string out = "<div class=\"wide\"><table>";
  for (size_t i = 0; i < rows.size(); ++i) {
    const char *tag = i == 0 ? "th" : "td";
    out += i == 0 ? "<thead><tr>" : "<tr>";
    for (const std::string &text : rows[i])
      out += std::string("<") + tag + ">" + escape(text) + "</" + tag + ">";
    out += i == 0 ? "</tr></thead><tbody>\n" : "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string conformance::reportHtml(const RunFacts &facts,
                                    const RunVerdict &verdict,
                                    const std::vector<Record> &records) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>" +
      escape(verdict.title()) + " · " + escape(facts.device) +
      "</title><style>" + style + "</style></head><body>\n" +
      navigation(verdict.bad != 0) + "<main>\n" + hero(facts, verdict) +
      tiles(verdict, records) + badges(verdict) + layers(verdict);
  out += failures(facts, records) + heatMaps(records) + checkGroups(records);
  out += histograms(records) + worst(facts, records);
  out += numerics(facts, records) + tested(verdict) + waivers(verdict) +
         environment(facts);
  return out +
         "<footer>Anyone can compute this verdict again from the raw records "
         "beside this page: <code>bp conformance verify FOLDER</code>."
         "</footer></main></body></html>\n";
}
