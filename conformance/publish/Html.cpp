// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr size_t worstCases = 40;
constexpr size_t listedFailures = 500;

constexpr const char *style = R"(
:root{--bg:#fff;--fg:#1c2430;--soft:#667085;--line:#d9dee7;--card:#f6f8fb;
--good:#1a7f4b;--warn:#b7791f;--bad:#c0392b;--bar:#3b74c4}
@media(prefers-color-scheme:dark){:root{--bg:#12161d;--fg:#e6eaf0;--soft:#98a2b3;
--line:#2c3442;--card:#1a2029;--good:#3fb984;--warn:#e0a73c;--bad:#ef6a5b;
--bar:#6aa0ea}}
body{margin:0 auto;max-width:1200px;padding:24px;background:var(--bg);
color:var(--fg);font:15px/1.5 system-ui,sans-serif}
h1{font-size:26px;margin:0}h2{font-size:18px;margin:36px 0 8px}
p.soft,.soft{color:var(--soft)}
.verdict{display:flex;gap:16px;align-items:center;margin:20px 0;padding:16px 20px;
border:1px solid var(--line);border-left:6px solid var(--bad);
background:var(--card);border-radius:6px}
.verdict.pass{border-left-color:var(--good)}
.verdict b{font-size:20px}
.counts{display:flex;flex-wrap:wrap;gap:10px}
.counts div{border:1px solid var(--line);border-radius:6px;padding:8px 14px;
background:var(--card)}
.counts b{display:block;font-size:20px;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px}
th,td{border:1px solid var(--line);padding:3px 8px;text-align:left;
vertical-align:top}
th{background:var(--card);font-weight:600}
td.n{text-align:right;font-variant-numeric:tabular-nums}
.map td{text-align:center;min-width:44px;color:#fff;border-color:var(--bg);
font-variant-numeric:tabular-nums}
.map td.empty{background:none;color:var(--soft)}
.map th{border-color:var(--bg)}
.g{background:var(--good)}.w{background:var(--warn)}.b{background:var(--bad)}
.s{background:#8a94a6}
code{font:12px ui-monospace,monospace;overflow-wrap:anywhere}
svg text{fill:var(--soft);font:10px system-ui,sans-serif}
svg rect{fill:var(--bar)}
)";

std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// All records of one op and dtype.
struct Cell {
  uint64_t run = 0, good = 0, warned = 0, unsupported = 0;
  double limitUsed = 0;
};

using Grid = std::map<std::string, std::map<std::string, Cell>>;

Grid gridOf(const std::vector<Record> &records) {
  Grid grid;
  for (const Record &record : records) {
    Cell &cell = grid[record.op][record.dtype];
    if (record.status == CaseStatus::NotSupported) {
      ++cell.unsupported;
      continue;
    }
    ++cell.run;
    cell.good += isGood(record.status);
    cell.warned += record.status == CaseStatus::QualityWarning;
    if (!std::isnan(record.limitUsed))
      cell.limitUsed = std::max(cell.limitUsed, record.limitUsed);
  }
  return grid;
}

/// The dtypes that occur, wide floats first, as DType numbers them.
std::vector<std::string> dtypesOf(const std::vector<Record> &records) {
  std::set<std::pair<uint32_t, std::string>> found;
  for (const Record &record : records) {
    auto type = parseDType(record.dtype);
    found.emplace(type ? static_cast<uint32_t>(*type) : UINT32_MAX,
                  record.dtype);
  }
  std::vector<std::string> names;
  for (const auto &[order, text] : found)
    names.push_back(text);
  return names;
}

std::string cellHtml(const Cell *cell) {
  if (!cell)
    return "<td class=\"empty\"></td>";
  if (cell->run == 0)
    return "<td class=\"s\" title=\"" + std::to_string(cell->unsupported) +
           " cases: not declared by the target\">–</td>";
  const char *colour = cell->good < cell->run ? "b" : cell->warned ? "w" : "g";
  std::string text = std::to_string(cell->good);
  if (cell->good < cell->run)
    text += "/" + std::to_string(cell->run);
  return std::string("<td class=\"") + colour + "\" title=\"" +
         std::to_string(cell->good) + " of " + std::to_string(cell->run) +
         " good; largest share of a limit used: " + number(cell->limitUsed) +
         "\">" + text + "</td>";
}

std::string heatMap(const std::vector<Record> &records) {
  Grid grid = gridOf(records);
  std::vector<std::string> dtypes = dtypesOf(records);
  std::string out = "<h2>Ops and dtypes</h2><p class=\"soft\">Good cases; red "
                    "cells say of how many. Green: all pass. Amber: some use "
                    "more than half of their limit. Grey: not declared by the "
                    "target.</p><div class=\"wide\"><table class=\"map\"><tr>"
                    "<th>op</th>";
  for (const std::string &dtype : dtypes)
    out += "<th>" + escape(dtype) + "</th>";
  for (const auto &[op, row] : grid) {
    out += "</tr>\n<tr><th>" + escape(op) + "</th>";
    for (const std::string &dtype : dtypes) {
      auto at = row.find(dtype);
      out += cellHtml(at == row.end() ? nullptr : &at->second);
    }
  }
  return out + "</tr></table></div>\n";
}

std::string histogramSvg(const UlpHistogram &bins) {
  uint64_t most = *std::max_element(bins.begin(), bins.end());
  std::string out = "<svg width=\"232\" height=\"44\" role=\"img\">";
  for (size_t i = 0; i < bins.size(); ++i) {
    // Logarithmic, so that one bad element in a million shows.
    double height = bins[i]
                        ? 4 + 26 * std::log1p(static_cast<double>(bins[i])) /
                                  std::log1p(static_cast<double>(most))
                        : 0;
    std::string x = std::to_string(i * 29);
    out += "<rect x=\"" + x + "\" y=\"" + number(32 - height) +
           "\" width=\"25\" height=\"" + number(height) + "\"><title>" +
           std::to_string(bins[i]) + " elements</title></rect>";
  }
  constexpr const char *labels[] = {"0", "½",  "1",   "2",
                                    "4", "16", "256", "more"};
  for (size_t i = 0; i < bins.size(); ++i)
    out += "<text x=\"" + std::to_string(i * 29 + 12) +
           "\" y=\"43\" text-anchor=\"middle\">" + labels[i] + "</text>";
  return out + "</svg>";
}

std::string histograms(const std::vector<Record> &records) {
  std::map<std::pair<std::string, std::string>, UlpHistogram> sums;
  for (const Record &record : records) {
    auto type = parseDType(record.dtype);
    if (!type || !isFloat(*type) || record.elements == 0)
      continue;
    UlpHistogram &sum = sums[{record.op, record.dtype}];
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += record.ulps[i];
  }
  std::string out =
      "<h2>Error in units in the last place</h2><p class=\"soft\">"
      "Elements by error, at most the value below the bar; "
      "heights are logarithmic. Only ops with any error are "
      "shown.</p><table><tr><th>op</th><th>dtype</th>"
      "<th>elements by error</th></tr>";
  for (const auto &[key, sum] : sums) {
    if (std::all_of(sum.begin() + 1, sum.end(),
                    [](uint64_t count) { return count == 0; }))
      continue;
    out += "<tr><th>" + escape(key.first) + "</th><td>" + escape(key.second) +
           "</td><td>" + histogramSvg(sum) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

std::string caseRow(const ReportFacts &facts, const Record &record) {
  return "<tr><td>" + std::string(name(record.status)) +
         "</td><td class=\"n\">" + number(record.limitUsed) +
         "</td><td><code>" + escape(record.got) + "</code></td><td><code>" +
         escape(record.want) + "</code></td><td>" + escape(record.reason) +
         "</td><td><code>bp conformance --device " + escape(facts.device) +
         " --repro '" + escape(record.id) + "'</code></td></tr>\n";
}

std::string caseTable(const ReportFacts &facts, const std::string &title,
                      const std::string &note,
                      const std::vector<const Record *> &rows) {
  std::string out =
      "<h2>" + title + "</h2><p class=\"soft\">" + note +
      "</p><div class=\"wide\"><table><tr><th>status</th><th>share "
      "of limit</th><th>got</th><th>want</th><th>reason</th>"
      "<th>to repeat it</th></tr>\n";
  for (const Record *record : rows)
    out += caseRow(facts, *record);
  return out + "</table></div>\n";
}

std::string failures(const ReportFacts &facts,
                     const std::vector<Record> &records) {
  std::vector<const Record *> rows;
  size_t total = 0;
  for (const Record &record : records)
    if (!isGood(record.status) && ++total <= listedFailures)
      rows.push_back(&record);
  if (rows.empty())
    return "";
  std::string note = std::to_string(total) + " cases";
  if (total > rows.size())
    note += ", the first " + std::to_string(rows.size()) + " are listed";
  return caseTable(facts, "Failed cases", note, rows);
}

std::string worst(const ReportFacts &facts,
                  const std::vector<Record> &records) {
  std::vector<const Record *> rows;
  for (const Record &record : records)
    if (isGood(record.status) && record.limitUsed > 0)
      rows.push_back(&record);
  std::sort(rows.begin(), rows.end(), [](const Record *a, const Record *b) {
    return std::tie(b->limitUsed, a->id) < std::tie(a->limitUsed, b->id);
  });
  rows.resize(std::min(rows.size(), worstCases));
  return caseTable(facts, "Closest to their limit",
                   "Good cases by the share of the limit that their worst "
                   "element uses.",
                   rows);
}

std::string table(const std::string &title, const std::string &note,
                  const TextTable &rows, bool heading) {
  std::string out = "<h2>" + title + "</h2>";
  if (!note.empty())
    out += "<p class=\"soft\">" + note + "</p>";
  if (rows.size() <= (heading ? 1u : 0u))
    return out + "<p>None.</p>\n";
  out += "<div class=\"wide\"><table>";
  for (size_t i = 0; i < rows.size(); ++i) {
    const char *tag = heading && i == 0 ? "th" : "td";
    out += "<tr>";
    for (const std::string &text : rows[i])
      out += std::string("<") + tag + ">" + escape(text) + "</" + tag + ">";
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string counts(const std::vector<Record> &records) {
  std::map<CaseStatus, uint64_t> sums;
  for (const Record &record : records)
    ++sums[record.status];
  std::string out = "<div class=\"counts\"><div><b>" +
                    std::to_string(records.size()) + "</b>cases</div>";
  for (const auto &[status, count] : sums)
    out += "<div><b>" + std::to_string(count) + "</b>" +
           std::string(name(status)) + "</div>";
  return out + "</div>\n";
}

/// One row a layer, one column a status.
std::string layers(const std::vector<Record> &records) {
  std::map<int, std::map<CaseStatus, uint64_t>> sums;
  std::set<CaseStatus> statuses;
  for (const Record &record : records) {
    ++sums[record.layer][record.status];
    statuses.insert(record.status);
  }
  TextTable rows = {{"layer"}};
  for (CaseStatus status : statuses)
    rows[0].emplace_back(name(status));
  for (auto &[layer, row] : sums) {
    rows.push_back({std::to_string(layer)});
    for (CaseStatus status : statuses)
      rows.back().push_back(std::to_string(row[status]));
  }
  return table(
      "Layers",
      "0 the C interface, 1 the driver, 2 executables, 3 ops, 4 graphs "
      "and fusions, 5 models, 6 random graphs, 7 stress.",
      rows, true);
}

} // namespace

std::string conformance::reportHtml(const ReportFacts &facts,
                                    const std::vector<Record> &records) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>" +
      escape(facts.verdict) + ": " + escape(facts.device) + "</title><style>" +
      style + "</style></head><body>\n<h1>Backplane conformance: " +
      escape(facts.device) + "</h1>\n<div class=\"verdict" +
      (facts.passed ? " pass" : "") + "\"><div><b>" + escape(facts.verdict) +
      "</b>";
  for (const std::string &reason : facts.reasons)
    out += "<br>" + escape(reason);
  out += "</div></div>\n" + counts(records) + layers(records);
  out += heatMap(records) + failures(facts, records) + histograms(records);
  out += worst(facts, records);
  out +=
      table("Declared numerics",
            "What the target says of its arithmetic; limits are derived from "
            "it and probes check it.",
            facts.numerics, true);
  out += table("Waivers", "", facts.waivers, true);
  out += table("Environment", "", facts.environment, false);
  return out + "</body></html>\n";
}
