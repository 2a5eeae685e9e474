// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/HtmlParts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

using namespace backplane;
using namespace backplane::conformance;
using namespace backplane::conformance::html;

namespace {

/// All records of one row and column.
struct Cell {
  uint64_t run = 0, good = 0, warned = 0, unsupported = 0;
  double limitUsed = 0;

  void add(const Record &record) {
    if (record.status == CaseStatus::NotSupported) {
      ++unsupported;
      return;
    }
    ++run;
    good += isGood(record.status);
    warned += record.status == CaseStatus::QualityWarning;
    if (!std::isnan(record.limitUsed))
      limitUsed = std::max(limitUsed, record.limitUsed);
  }
};

using Grid = std::map<std::string, std::map<std::string, Cell>>;

/// The dtypes that occur, wide floats first, as DType numbers them.
std::vector<std::string> dtypesOf(const Grid &grid) {
  std::set<std::pair<uint32_t, std::string>> found;
  for (const auto &[row, cells] : grid)
    for (const auto &[dtype, cell] : cells) {
      auto type = parseDType(dtype);
      found.emplace(type ? static_cast<uint32_t>(*type) : UINT32_MAX, dtype);
    }
  std::vector<std::string> names;
  for (const auto &[order, text] : found)
    names.push_back(text);
  return names;
}

/// How deep the green of a cell is: 14 % for exact results, 62 % at half of
/// the limit, where amber starts.
std::string depthOf(double limitUsed) {
  double share = std::clamp(limitUsed / 0.5, 0.0, 1.0);
  return std::to_string(14 + static_cast<int>(48 * share)) + "%";
}

std::string cellHtml(const Cell *cell) {
  if (!cell)
    return "<td></td>";
  if (cell->run == 0)
    return "<td><b class=\"s\" title=\"" + count(cell->unsupported) +
           " cases: not declared by the target\">–</b></td>";
  const std::string title =
      count(cell->good) + " of " + count(cell->run) +
      " good; largest share of a limit used: " + number(cell->limitUsed);
  if (cell->good < cell->run)
    return "<td><b class=\"b\" title=\"" + title + "\">" + count(cell->good) +
           "/" + count(cell->run) + "</b></td>";
  if (cell->warned)
    return "<td><b class=\"w\" title=\"" + title + "\">" + count(cell->good) +
           "</b></td>";
  return "<td><b class=\"g\" style=\"--s:" + depthOf(cell->limitUsed) +
         "\" title=\"" + title + "\">" + count(cell->good) + "</b></td>";
}

std::string gridHtml(const Grid &grid, const std::string &first) {
  std::vector<std::string> dtypes = dtypesOf(grid);
  std::string out = "<div class=\"wide\"><table class=\"map\"><thead><tr><th>" +
                    first + "</th>";
  for (const std::string &dtype : dtypes)
    out += "<th>" + escape(dtype) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto &[row, cells] : grid) {
    out += "<tr><th>" + escape(row) + "</th>";
    for (const std::string &dtype : dtypes) {
      auto at = cells.find(dtype);
      out += cellHtml(at == cells.end() ? nullptr : &at->second);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

Grid gridOf(const std::vector<Record> &records, int first, int last) {
  Grid grid;
  for (const Record &record : records)
    if (record.layer >= first && record.layer <= last &&
        parseDType(record.dtype))
      grid[record.op][record.dtype].add(record);
  return grid;
}

constexpr const char *binLabels[] = {"0", "½", "1", "2", "4", "16", "256", "∞"};
/// The first bin beyond correct rounding.
constexpr size_t beyondRounding = 2;

std::string plot(const UlpHistogram &bins) {
  uint64_t most = *std::max_element(bins.begin(), bins.end());
  std::string out = "<svg viewBox=\"0 0 168 58\" role=\"img\">"
                    "<line x1=\"0\" x2=\"168\" y1=\"46.5\" y2=\"46.5\"/>";
  for (size_t i = 0; i < bins.size(); ++i) {
    // Logarithmic, so that one element in a million shows.
    double height = bins[i]
                        ? 3 + 37 * std::log1p(static_cast<double>(bins[i])) /
                                  std::log1p(static_cast<double>(most))
                        : 0;
    std::string x = std::to_string(i * 21);
    out += std::string("<rect") + (i > beyondRounding ? " class=\"far\"" : "") +
           " x=\"" + x + "\" y=\"" + number(46 - height) +
           "\" width=\"18\" height=\"" + number(height) +
           "\" rx=\"2\"><title>" + count(bins[i]) +
           " elements</title></rect><text x=\"" + std::to_string(i * 21 + 9) +
           "\" y=\"56\">" + binLabels[i] + "</text>";
  }
  return out + "</svg>";
}

using Sums = std::map<std::string, std::map<std::string, UlpHistogram>>;

/// By dtype, then op; ops without any error are left out.
Sums sumsOf(const std::vector<Record> &records) {
  Sums sums;
  for (const Record &record : records) {
    auto type = parseDType(record.dtype);
    if (!type || !isFloat(*type) || record.elements == 0)
      continue;
    UlpHistogram &sum = sums[record.dtype][record.op];
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += record.ulps[i];
  }
  for (auto &[dtype, ops] : sums)
    std::erase_if(ops, [](const auto &item) {
      return std::all_of(item.second.begin() + 1, item.second.end(),
                         [](uint64_t n) { return n == 0; });
    });
  return sums;
}

std::string plots(const std::map<std::string, UlpHistogram> &ops) {
  std::string out = "<div class=\"plots\">\n";
  for (const auto &[op, sum] : ops) {
    uint64_t elements = 0;
    for (uint64_t bin : sum)
      elements += bin;
    out += "<figure><figcaption>" + escape(op) + "<span>" + count(elements) +
           "</span></figcaption>" + plot(sum) + "</figure>\n";
  }
  return out + "</div>\n";
}

} // namespace

std::string html::heatMaps(const std::vector<Record> &records) {
  std::string out =
      heading("ops", "Ops and dtypes",
              "Good cases per op and dtype. Hover a cell for the largest share "
              "of an error limit that any of its cases used.") +
      "<div class=\"legend\"><span><i class=\"ramp\"></i>all good, from exact "
      "to half of the limit</span><span><i class=\"w\"></i>good, with more "
      "than "
      "half of a limit used</span><span><i style=\"background:var(--bad)\"></i>"
      "some not good</span><span><i class=\"s\"></i>not declared by the target"
      "</span></div>" +
      gridHtml(gridOf(records, 3, 3), "op");
  Grid graphs = gridOf(records, 4, 6);
  if (!graphs.empty())
    out += "<h3>Graphs, models and random graphs</h3>" +
           gridHtml(graphs, "family");
  return out;
}

std::string html::checkGroups(const std::vector<Record> &records) {
  std::map<std::pair<int, std::string>, Cell> groups;
  for (const Record &record : records)
    if (record.layer <= 2 || record.layer == 7)
      groups[{record.layer, record.op}].add(record);
  if (groups.empty())
    return "";
  TextTable rows = {{"layer", "group", "cases", "good", "not supported"}};
  for (const auto &[key, cell] : groups)
    rows.push_back({std::to_string(key.first), key.second,
                    count(cell.run + cell.unsupported), count(cell.good),
                    count(cell.unsupported)});
  return heading("checks", "Interface, driver and executables",
                 "What the plug-in does beyond computing: its C interface, "
                 "memory, queues, executables, and behaviour under stress.") +
         table(rows);
}

std::string html::histograms(const std::vector<Record> &records) {
  std::string out = heading(
      "errors", "Error in units in the last place",
      "Elements by error, at most the value below the bar, over all cases of "
      "an op; heights are logarithmic. Up to ½ is correctly rounded; amber "
      "lies beyond 1. Ops without any error are left out.");
  bool any = false;
  const Sums sums = sumsOf(records);
  for (const auto &[dtype, ops] : sums) {
    if (ops.empty())
      continue;
    bool isOpen = dtype == "f32" || (!any && !sums.contains("f32"));
    out += std::string("<details") + (isOpen ? " open" : "") + "><summary>" +
           escape(dtype) + " <span class=\"soft\">" + count(ops.size()) +
           " ops</span></summary>" + plots(ops) + "</details>\n";
    any = true;
  }
  return any ? out : out + "<p>No op has any error.</p>\n";
}
