// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/PageJson.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace backplane;
using namespace backplane::conformance;
using Json = nlohmann::json;

namespace {

/// All records of one row and column.
struct Cell {
  uint64_t run = 0, good = 0, warned = 0, unsupported = 0;
  double limitUsed = 0;

  void add(const Record &record) {
    if (!isTaken(record.status)) {
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
int shadeOf(double limitUsed) {
  double share = std::clamp(limitUsed / 0.5, 0.0, 1.0);
  return 14 + static_cast<int>(48 * share);
}

Json cellJson(const Cell *cell) {
  if (!cell)
    return {{"kind", ""}};
  if (cell->run == 0)
    return {{"kind", "s"},
            {"shade", ""},
            {"title", count(cell->unsupported) +
                          " cases: not declared by the target, or "
                          "refused"},
            {"text", "–"}};
  bool bad = cell->good < cell->run, plain = !bad && !cell->warned;
  return {{"kind", bad     ? "b"
                   : plain ? "g"
                           : "w"},
          {"shade", plain ? std::to_string(shadeOf(cell->limitUsed)) : ""},
          {"title", count(cell->good) + " of " + count(cell->run) +
                        " good; largest share of a limit used: " +
                        number(cell->limitUsed)},
          {"text", count(cell->good) + (bad ? "/" + count(cell->run) : "")}};
}

Json gridJson(const Grid &grid, const char *title, const char *first) {
  std::vector<std::string> dtypes = dtypesOf(grid);
  Json rows = Json::array();
  for (const auto &[row, cells] : grid) {
    Json list = Json::array();
    for (const std::string &dtype : dtypes) {
      auto at = cells.find(dtype);
      list.push_back(cellJson(at == cells.end() ? nullptr : &at->second));
    }
    rows.push_back({{"name", row}, {"cells", list}});
  }
  return {
      {"title", title}, {"first", first}, {"dtypes", dtypes}, {"rows", rows}};
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

Json barsJson(const UlpHistogram &bins) {
  uint64_t most = *std::max_element(bins.begin(), bins.end());
  Json bars = Json::array();
  for (size_t i = 0; i < bins.size(); ++i) {
    // Logarithmic, so that one element in a million shows.
    double height = bins[i]
                        ? 3 + 37 * std::log1p(static_cast<double>(bins[i])) /
                                  std::log1p(static_cast<double>(most))
                        : 0;
    bars.push_back({{"far", i > beyondRounding},
                    {"x", std::to_string(i * 21)},
                    {"middle", std::to_string(i * 21 + 9)},
                    {"y", number(46 - height)},
                    {"height", number(height)},
                    {"elements", count(bins[i])},
                    {"label", binLabels[i]}});
  }
  return bars;
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

Json plotsJson(const std::map<std::string, UlpHistogram> &ops) {
  Json plots = Json::array();
  for (const auto &[op, sum] : ops)
    plots.push_back({{"op", op},
                     {"elements", count(std::accumulate(sum.begin(), sum.end(),
                                                        uint64_t(0)))},
                     {"bars", barsJson(sum)}});
  return plots;
}

} // namespace

Json conformance::gridsJson(const std::vector<Record> &records) {
  Json grids = {gridJson(gridOf(records, 3, 3), "", "op")};
  Grid graphs = gridOf(records, 4, 6);
  if (!graphs.empty())
    grids.push_back(
        gridJson(graphs, "Graphs, models and random graphs", "family"));
  return grids;
}

Json conformance::checksJson(const std::vector<Record> &records) {
  std::map<std::pair<int, std::string>, Cell> groups;
  for (const Record &record : records)
    if (record.layer <= 2 || record.layer == 7)
      groups[{record.layer, record.op}].add(record);
  Json rows = Json::array();
  for (const auto &[key, cell] : groups)
    rows.push_back({{"layer", std::to_string(key.first)},
                    {"group", key.second},
                    {"cases", count(cell.run + cell.unsupported)},
                    {"good", count(cell.good)},
                    {"unsupported", count(cell.unsupported)}});
  return rows.empty() ? Json(false) : Json{{"groups", rows}};
}

Json conformance::histogramsJson(const std::vector<Record> &records) {
  Json list = Json::array();
  const Sums sums = sumsOf(records);
  for (const auto &[dtype, ops] : sums)
    if (!ops.empty())
      list.push_back(
          {{"dtype", dtype},
           {"open", dtype == "f32" || (list.empty() && !sums.contains("f32"))},
           {"count", count(ops.size())},
           {"ops", plotsJson(ops)}});
  return list;
}
