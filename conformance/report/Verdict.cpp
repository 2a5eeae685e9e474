// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Verdict.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <set>

using namespace backplane;
using namespace backplane::conformance;

namespace {

/// What is named as the op in records of probes.
constexpr std::string_view probeOp = "numerics";
/// What is named as the op in records of real models.
constexpr std::string_view realModelOp = "real-models";
/// Ops that are in the graphs of other ops' cases and have none of their own;
/// control flow and state are run by the program and no duty of a backend.
constexpr std::string_view structural[] = {
    "assert_dim", "call",          "constant",       "dim",    "if",   "read",
    "scan",       "variable_read", "variable_write", "weight", "while"};

/// Ends of the units of checks that look at what a driver need not have: tables
/// and ways of its own to map, import, signal and record, buffers over 4 GiB.
constexpr std::string_view optionalChecks[] = {
    "map",   "import",       "timeline",      "submit", "record",
    "slots", "run-recorded", "run-submitted", "far"};

/// Units of layer 7 that run in processes like those of any application.
bool needsApplication(const std::string &unit) {
  return unit.starts_with("L7/application/") ||
         unit.starts_with("L7/surroundings/");
}

std::string join(const std::vector<std::string> &texts, size_t most = 8) {
  std::string out;
  for (size_t i = 0; i < texts.size() && i < most; ++i)
    out += (i ? ", " : "") + texts[i];
  if (texts.size() > most)
    out += " and " + std::to_string(texts.size() - most) + " more";
  return out;
}

std::string plural(uint64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool computes(const RunFacts &facts, DType dtype) {
  return facts.computeDTypes >> uint32_t(dtype) & 1;
}

/// The dtypes of a list that the target does not compute with.
std::vector<std::string> lacking(const RunFacts &facts,
                                 std::initializer_list<DType> dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes)
    if (!computes(facts, dtype))
      names.emplace_back(name(dtype));
  return names;
}

uint32_t significandBits(std::string_view dtype) {
  return dtype == "f64"    ? 53
         : dtype == "f32"  ? 24
         : dtype == "f16"  ? 11
         : dtype == "bf16" ? 8
                           : 0;
}

/// Significand bits that sums have when they are not relaxed.
uint32_t fullAccumulator(std::string_view dtype) {
  return std::max(24u, significandBits(dtype));
}

/// Declarations for sums of floats, those with 0 bits counted as the dtype's.
std::vector<DeclaredNumerics> sumsOf(const RunFacts &facts) {
  std::vector<DeclaredNumerics> sums;
  for (DeclaredNumerics n : facts.numerics) {
    bool sum = n.opClass == "DOT" || n.opClass == "REDUCE";
    if (!sum || !significandBits(n.dtype))
      continue;
    if (!n.accumulatorBits)
      n.accumulatorBits = significandBits(n.dtype);
    sums.push_back(std::move(n));
  }
  return sums;
}

std::string describe(const DeclaredNumerics &n) {
  return n.opClass + " of " + n.dtype + " in " +
         std::to_string(n.accumulatorBits) + " bits";
}

std::vector<std::string> relaxedOf(const RunFacts &facts) {
  std::vector<std::string> relaxed;
  for (const DeclaredNumerics &n : sumsOf(facts))
    if (n.accumulatorBits < fullAccumulator(n.dtype))
      relaxed.push_back(describe(n));
  for (const DeclaredNumerics &n : facts.numerics) {
    const std::string what = n.opClass + " of " + n.dtype;
    if (n.rounding != 0)
      relaxed.push_back(what + " rounds to zero");
    if (n.flags & 1)
      relaxed.push_back(what + " flushes subnormal operands");
    if (n.flags & 2)
      relaxed.push_back(what + " flushes subnormal results");
  }
  return relaxed;
}

/// Collects the table.
class Table {
public:
  Table(const RunFacts &facts, const std::vector<Record> &records,
        RunVerdict &verdict)
      : facts_(facts), records_(records), verdict_(verdict) {}

  void fill();

private:
  void add(Badge badge, std::string text, bool met, std::string detail) {
    verdict_.table.push_back({badge, std::move(text), met, std::move(detail)});
  }
  void addList(Badge badge, std::string text,
               const std::vector<std::string> &missing,
               const std::string &prefix) {
    add(badge, std::move(text), missing.empty(),
        missing.empty() ? "" : prefix + join(missing));
  }
  void addChoice();
  void addSizes();
  void addLayers(Badge badge, std::vector<int> layers);
  void addOps();
  void addChecks();
  void addGood(Badge badge, const std::string &text,
               const std::function<bool(const Record &)> &counts);
  void addSums(Badge badge, uint32_t minF32, bool narrow,
               const std::string &text);
  void addProbes();
  void addModels();
  void addStrict();

  const RunFacts &facts_;
  const std::vector<Record> &records_;
  RunVerdict &verdict_;
};

void Table::addChoice() {
  std::vector<std::string> parts;
  if (isFiltered(facts_))
    parts.emplace_back("--filter or --exclude chose a part");
  if (facts_.shards > 1)
    parts.push_back("this is shard " + std::to_string(facts_.shard) + " of " +
                    std::to_string(facts_.shards) + "; merge them all");
  addList(Badge::Core, "all cases of the depth ran", parts, "");
  add(Badge::Core, "files of the plug-in are known by their hashes",
      !facts_.pluginFiles.empty(), "");
  bool official = facts_.seed == officialSeed(facts_);
  add(Badge::Core, "official data, of a seed that depends on those files",
      official, official ? "" : "the seed is " + std::to_string(facts_.seed));
  addList(Badge::Core, "one record for each case, waivers in order",
          verdict_.problems, "");
}

/// Sizes that were not asked say nothing.
void Table::addSizes() {
  const LeastSizes least = minSizes(facts_), given = tooSmall(facts_);
  std::vector<std::string> small;
  if (given.multiplyAdds)
    small.push_back(std::to_string(given.multiplyAdds) + " multiply-adds");
  if (given.bufferBytes)
    small.push_back(std::to_string(given.bufferBytes) + " bytes");
  addList(Badge::Full,
          "takes cases of " + std::to_string(least.multiplyAdds) +
              " multiply-adds, buffers of " +
              std::to_string(least.bufferBytes) + " bytes",
          small, "only ");
}

void Table::addLayers(Badge badge, std::vector<int> layers) {
  std::string text = "cases in layers ";
  std::vector<std::string> missing;
  for (size_t i = 0; i < layers.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(layers[i]);
    if (!verdict_.counts.contains(layers[i]))
      missing.push_back(std::to_string(layers[i]));
  }
  addList(badge, text, missing, "no case of layer ");
}

/// Every op of the table runs in some dtype that the target computes with.
void Table::addOps() {
  std::set<std::string, std::less<>> ran, asked;
  for (const Record &record : records_) {
    asked.insert(record.op);
    if (record.status != CaseStatus::NotSupported)
      ran.insert(record.op);
  }
  std::vector<std::string> missing;
  for (const OpSpec &op : opTable())
    if (!ran.contains(op.name) && !std::ranges::count(structural, op.name))
      missing.push_back(std::string(op.name) + (asked.contains(op.name)
                                                    ? ""
                                                    : " (the suite has no "
                                                      "case)"));
  addList(Badge::Core, "every op of the table ran", missing, "not: ");
}

/// Checks find out themselves what there is to check, but a unit of them that
/// is nothing but NotSupported is one that the driver need not have, or one of
/// dtypes that are not declared.
void Table::addChecks() {
  std::map<std::string, bool> ran;
  for (const Record &record : records_) {
    auto dtype = parseDType(record.dtype);
    if ((record.layer <= 2 || record.layer == 7) &&
        (!dtype || computes(facts_, *dtype)))
      ran[record.unit] |= record.status != CaseStatus::NotSupported;
  }
  bool isHere = !isElsewhere(facts_);
  std::vector<std::string> left;
  for (const auto &[unit, some] : ran)
    if (!some && (isHere || !needsApplication(unit)) &&
        !std::ranges::count(optionalChecks, unit.substr(unit.rfind('/') + 1)))
      left.push_back(unit);
  addList(Badge::Core, "every unit of checks ran that a driver must pass", left,
          "not: ");
}

void Table::addGood(Badge badge, const std::string &text,
                    const std::function<bool(const Record &)> &counts) {
  std::vector<std::string> bad;
  uint64_t all = 0;
  for (const Record &record : records_) {
    if (!counts(record))
      continue;
    ++all;
    if (!isGood(record.status))
      bad.push_back(record.id);
  }
  add(badge, text, bad.empty(),
      bad.empty() ? plural(all, "case")
                  : std::to_string(bad.size()) + " of " + plural(all, "case") +
                        ": " + join(bad, 3));
}

void Table::addSums(Badge badge, uint32_t minF32, bool narrow,
                    const std::string &text) {
  std::vector<std::string> short_;
  for (const DeclaredNumerics &n : sumsOf(facts_)) {
    bool isNarrow = n.dtype == "f16" || n.dtype == "bf16";
    uint32_t least = n.dtype == "f64" ? 53 : isNarrow ? 24 : minF32;
    if ((n.dtype == "f32" || narrow) && n.accumulatorBits < least)
      short_.push_back(describe(n));
  }
  addList(badge, text, short_, "");
}

void Table::addProbes() {
  addGood(Badge::Core, "probes confirm the declared numerics",
          [](const Record &record) { return record.op == probeOp; });
}

/// No badge asks for real models, as not everyone has their files.
void Table::addModels() {
  auto isModel = [](const Record &record) { return record.op == realModelOp; };
  if (!facts_.models.empty())
    return addGood(Badge::Full, "real models, which run.json names", isModel);
  add(Badge::Full, "real models, when given", true, "none was given");
}

void Table::addStrict() {
  add(Badge::Strict, "strict limits, each case twice", facts_.strict,
      facts_.strict ? "" : "run with --strict");
  std::vector<std::string> vague;
  for (const DeclaredNumerics &n : facts_.numerics)
    if (!(n.flags & 8))
      vague.push_back(n.opClass + " of " + n.dtype);
  addList(Badge::Strict, "declares bit-identical results from run to run",
          vague, "not for ");
  add(Badge::Strict, "no waiver", verdict_.waivers.cases == 0,
      verdict_.waivers.cases ? plural(verdict_.waivers.cases, "waived case")
                             : "");
}

void Table::fill() {
  addChoice();
  addLayers(Badge::Core, {0, 1, 2, 3, 6});
  addList(Badge::Core, "computes with f32, i32, i64 and bool",
          lacking(facts_, {DType::F32, DType::I32, DType::I64, DType::Bool}),
          "not with ");
  addSums(Badge::Core, 11, false, "sums of f32 in 11 bits or more");
  addOps();
  addChecks();
  addProbes();
  addGood(Badge::Core, "no bad case in layers 0 to 3 and 6",
          [](const Record &record) {
            return record.layer <= 3 || record.layer == 6;
          });
  add(Badge::Full, "depth standard or full", facts_.depth != "smoke",
      "depth " + facts_.depth);
  addSizes();
  addLayers(Badge::Full, {4, 5, 6, 7});
  addModels();
  addList(Badge::Full, "computes with f16, i8 and u8",
          lacking(facts_, {DType::F16, DType::I8, DType::U8}), "not with ");
  addSums(Badge::Full, 24, true,
          "sums of f16, bf16 and f32 in 24 bits or more, of f64 in 53");
  addGood(Badge::Full, "no bad case", [](const Record &) { return true; });
  addStrict();
}

/// Cases that the run was to have and has not, and the other way round.
std::vector<std::string> comparePlan(const std::vector<Record> &records,
                                     const std::vector<std::string> &planned) {
  std::set<std::string_view> open(planned.begin(), planned.end()), seen;
  uint64_t twice = 0, unknown = 0;
  std::string firstTwice, firstUnknown;
  for (const Record &record : records) {
    if (!seen.insert(record.id).second && twice++ == 0)
      firstTwice = record.id;
    else if (!open.contains(record.id) && unknown++ == 0)
      firstUnknown = record.id;
  }
  for (std::string_view id : seen)
    open.erase(id);
  std::vector<std::string> problems;
  if (twice)
    problems.push_back(plural(twice, "record") + " stand twice: " + firstTwice);
  if (unknown)
    problems.push_back(plural(unknown, "record") +
                       " of no case: " + firstUnknown);
  if (!open.empty())
    problems.push_back(plural(open.size(), "case") +
                       " without a record: " + std::string(*open.begin()));
  return problems;
}

Badge badgeOf(const RunVerdict &verdict) {
  Badge best = Badge::Strict;
  for (const Requirement &line : verdict.table)
    if (!line.met && line.badge <= best)
      best = static_cast<Badge>(static_cast<int>(line.badge) - 1);
  return best;
}

} // namespace

std::string_view conformance::name(Badge badge) {
  constexpr std::string_view names[] = {"no badge", "Core", "Full", "Strict"};
  return names[static_cast<int>(badge)];
}

std::string RunVerdict::title() const {
  if (badge != Badge::None)
    return std::string(name(badge)) + (relaxed.empty() ? "" : "-R") + " badge" +
           (marks.empty() ? "" : " (" + join(marks) + ")");
  if (bad)
    return "no badge: " + plural(bad, "bad case");
  if (!problems.empty())
    return "no badge: " + problems[0];
  if (partial)
    return "no badge: only a part of the cases ran, all of them good";
  return "no badge: " + join(missing(), 1);
}

std::vector<std::string> RunVerdict::missing() const {
  std::vector<std::string> lines;
  Badge next = badge == Badge::Strict
                   ? badge
                   : static_cast<Badge>(static_cast<int>(badge) + 1);
  for (const Requirement &line : table)
    if (!line.met && line.badge <= next)
      lines.push_back(line.text +
                      (line.detail.empty() ? "" : ": " + line.detail));
  return lines;
}

RunVerdict conformance::judgeRun(const RunFacts &facts,
                                 std::vector<Record> &records,
                                 const std::vector<std::string> &planned,
                                 const std::vector<Waiver> &waivers) {
  RunVerdict verdict;
  verdict.partial = isFiltered(facts) || facts.shards > 1;
  verdict.problems = comparePlan(records, planned);
  auto day = parseDate(facts.date);
  if (!day)
    verdict.problems.push_back("the run has no date");
  verdict.waivers = applyWaivers(waivers, facts, day.value_or(Date::max()),
                                 !verdict.partial, records);
  for (const std::string &error : verdict.waivers.errors)
    verdict.problems.push_back(error);
  for (const Record &record : records) {
    ++verdict.counts[record.layer][record.status];
    verdict.bad += !isGood(record.status);
  }
  verdict.relaxed = relaxedOf(facts);
  verdict.marks = marksOf(facts);
  if (verdict.waivers.cases)
    verdict.marks.push_back(plural(verdict.waivers.cases, "waived case"));
  verdict.tested = testedLimits(records);
  Table(facts, records, verdict).fill();
  verdict.badge = badgeOf(verdict);
  verdict.passed = !verdict.bad && verdict.problems.empty() &&
                   (verdict.partial || verdict.badge != Badge::None);
  return verdict;
}

std::string conformance::limitsText(const RunVerdict &verdict) {
  std::string out;
  if (verdict.badge != Badge::None)
    out += limitsTable(verdict.tested);
  OpLimits all = overall(verdict.tested);
  out += "tested in " + plural(all.cases, "case") + " up to " +
         textOf(all.most) + "\n";
  if (verdict.badge != Badge::None)
    for (std::string_view limit : methodLimits())
      out += "limit: " + std::string(limit) + "\n";
  return out;
}

std::string conformance::tableText(const RunVerdict &verdict) {
  std::string out;
  Badge shown = Badge::None;
  for (const Requirement &line : verdict.table) {
    if (line.badge != shown)
      out += std::string(name(line.badge)) + "\n";
    shown = line.badge;
    out += std::string(line.met ? "  + " : "  - ") + line.text +
           (line.detail.empty() ? "" : " (" + line.detail + ")") + "\n";
  }
  if (!verdict.relaxed.empty())
    out += "relaxed, hence -R: " + join(verdict.relaxed) + "\n";
  return out;
}
