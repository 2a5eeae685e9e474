// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/BadgeTable.h"

#include "conformance/report/Profiles.h"
#include "conformance/report/Relaxed.h"
#include "conformance/report/Wording.h"

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
/// Ends of the units of checks that look at what a driver need not have: tables
/// and ways of its own to map (and so to show where memory starts), import,
/// signal and record, buffers over 4 GiB;
/// and at the compiler of its library, which may be in another.
constexpr std::string_view optionalChecks[] = {
    "map",    "import",       "timeline",     "submit",
    "record", "slots",        "run-recorded", "run-submitted",
    "far",    "graph-passes", "partition",    "align"};

/// Units of layer 7 that run in processes like those of any application.
bool needsApplication(const std::string &unit) {
  return unit.starts_with("L7/application/") ||
         unit.starts_with("L7/surroundings/");
}

bool computes(const RunFacts &facts, DType dtype) {
  return facts.computeDTypes >> uint32_t(dtype) & 1;
}

/// The dtypes of a list that the target does not compute with.
std::vector<std::string> lacking(const RunFacts &facts,
                                 const std::vector<DType> &dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes)
    if (!computes(facts, dtype))
      names.emplace_back(name(dtype));
  return names;
}

/// Collects the table.
class Table {
public:
  Table(const RunFacts &facts, const std::vector<Record> &records,
        RunVerdict &verdict)
      : facts_(facts), records_(records), verdict_(verdict),
        profile_(findProfile(facts.profile)) {}

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
  void addDTypes(Badge badge, const std::vector<DType> &dtypes);
  void addOps();
  void addChecks();
  using Choice = std::function<bool(const Record &)>;
  void addNone(Badge badge, const std::string &text, const Choice &counts,
               bool (*isWrong)(CaseStatus));
  void addCases(Badge badge, const std::string &where, const Choice &counts);
  void addSums(Badge badge, uint32_t minF32, bool narrow,
               const std::string &text);
  void addProbes();
  void addModels();
  void addStrict();

  const RunFacts &facts_;
  const std::vector<Record> &records_;
  RunVerdict &verdict_;
  const Profile *profile_; ///< null: the badge is for everything
};

void Table::addChoice() {
  std::vector<std::string> parts;
  if (isFiltered(facts_))
    parts.emplace_back("--filter or --exclude chose a part");
  if (facts_.shards > 1)
    parts.push_back("this is shard " + std::to_string(facts_.shard) + " of " +
                    std::to_string(facts_.shards) + "; merge them all");
  if (isHelped(facts_.device))
    parts.emplace_back("another device may help; name one device alone");
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

void Table::addDTypes(Badge badge, const std::vector<DType> &dtypes) {
  std::vector<std::string> names;
  for (DType dtype : dtypes)
    names.emplace_back(name(dtype));
  addList(badge, "computes with " + join(names, names.size()),
          lacking(facts_, dtypes), "not with ");
}

/// Every op of the table, or of the profile, runs in some dtype that the target
/// computes with.
void Table::addOps() {
  std::set<std::string, std::less<>> ran, asked;
  for (const Record &record : records_) {
    asked.insert(record.op);
    if (isTaken(record.status))
      ran.insert(record.op);
  }
  std::vector<std::string> missing;
  for (const OpSpec &op : opTable())
    if (!ran.contains(op.name) && !isStructural(op.name) &&
        (!profile_ || profile_->ops.contains(op.name)))
      missing.push_back(std::string(op.name) + (asked.contains(op.name)
                                                    ? ""
                                                    : " (the suite has no "
                                                      "case)"));
  addList(Badge::Core,
          profile_ ? "every op of the profile ran"
                   : "every op of the table ran",
          missing, "not: ");
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
      ran[record.unit] |= isTaken(record.status);
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

void Table::addNone(Badge badge, const std::string &text, const Choice &counts,
                    bool (*isWrong)(CaseStatus)) {
  std::vector<std::string> bad;
  uint64_t all = 0;
  for (const Record &record : records_) {
    if (!counts(record))
      continue;
    ++all;
    if (isWrong(record.status))
      bad.push_back(record.id);
  }
  add(badge, text, bad.empty(),
      bad.empty() ? plural(all, "case")
                  : std::to_string(bad.size()) + " of " + plural(all, "case") +
                        ": " + join(bad, 3));
}

/// A device that is never wrong where it computes may still refuse: that is
/// no failure, but no badge for the whole either.
void Table::addCases(Badge badge, const std::string &where,
                     const Choice &counts) {
  addNone(badge, "no bad case" + where, counts, isBad);
  addNone(badge, "the target refuses no case" + where, counts, isDeclined);
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
  addNone(
      Badge::Core, "probes confirm the declared numerics",
      [](const Record &record) { return record.op == probeOp; }, isBad);
}

/// No badge asks for real models, as not everyone has their files.
void Table::addModels() {
  auto isModel = [](const Record &record) { return record.op == realModelOp; };
  if (!facts_.models.empty())
    return addNone(Badge::Full, "real models, which run.json names", isModel,
                   [](CaseStatus status) { return !isGood(status); });
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
  // Random graphs and whole models have ops of all profiles.
  addLayers(Badge::Core,
            profile_ ? std::vector{0, 1, 2, 3} : std::vector{0, 1, 2, 3, 6});
  using enum DType;
  addDTypes(Badge::Core,
            profile_ ? profile_->dtypes : std::vector{F32, I32, I64, Bool});
  addSums(Badge::Core, 11, false, "sums of f32 in 11 bits or more");
  addOps();
  addChecks();
  addProbes();
  addCases(Badge::Core, " in layers 0 to 3 and 6", [](const Record &record) {
    return record.layer <= 3 || record.layer == 6;
  });
  add(Badge::Full, "depth standard or full", facts_.depth != "smoke",
      "depth " + facts_.depth);
  addSizes();
  addLayers(Badge::Full,
            profile_ ? std::vector{4, 7} : std::vector{4, 5, 6, 7});
  addModels();
  if (!profile_)
    addDTypes(Badge::Full, {F16, I8, U8});
  addSums(Badge::Full, 24, true,
          "sums of f16, bf16 and f32 in 24 bits or more, of f64 in 53");
  addCases(Badge::Full, "", [](const Record &) { return true; });
  addStrict();
}

} // namespace

void conformance::fillBadgeTable(const RunFacts &facts,
                                 const std::vector<Record> &records,
                                 RunVerdict &verdict) {
  Table(facts, records, verdict).fill();
}
