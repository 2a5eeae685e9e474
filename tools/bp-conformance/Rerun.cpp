// SPDX-License-Identifier: Apache-2.0
//
// Rerun.cpp: `bp conformance verify --rerun`: a part of a submission is run
// again by who verifies it, on a device of theirs: once with data of a seed
// that nobody knew, and once with the data of the submission, whose bits are
// compared.
#include "Commands.h"
#include "conformance/models/RealModels.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TemporaryFolder.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <random>

namespace backplane::conformance {
namespace {

/// "5%" as a share of 1.
Result<double> shareOf(const std::string &part) {
  double percent = 0;
  const char *end = part.data() + part.size();
  auto [stop, code] = std::from_chars(part.data(), end, percent);
  if (code != std::errc() || stop + 1 != end || *stop != '%' ||
      !(percent > 0 && percent <= 100))
    return invalidArgument("--rerun '" + part +
                           "' is not a percentage above 0, like 5%");
  return percent / 100;
}

/// A number for a unit that nobody can choose.
std::string lot(uint64_t seed, const Unit &unit) {
  std::string text = std::to_string(seed) + " " + unit.id;
  return sha256(asBytes(text));
}

/// Keeps units of each layer, at least one, drawn by the seed.
void draw(Plan &plan, double share, uint64_t seed) {
  std::map<int, std::vector<std::string>> lots;
  for (const Unit &unit : plan.units)
    lots[unit.layer].push_back(lot(seed, unit));
  std::map<int, std::string> last;
  for (auto &[layer, all] : lots) {
    std::ranges::sort(all);
    auto taken = size_t(share * double(all.size()));
    last[layer] = all[std::clamp<size_t>(taken, 1, all.size()) - 1];
  }
  std::erase_if(plan.units, [&](const Unit &unit) {
    return lot(seed, unit) > last[unit.layer];
  });
}

/// What differs between the submission's plug-in and the one that is here.
bool sayDifferences(const RunFacts &submitted, const RunFacts &here) {
  bool same = true;
  auto differ = [&](const std::string &what, const std::string &was,
                    const std::string &is) {
    std::printf("differs: %s was %s, here %s\n", what.c_str(), was.c_str(),
                is.c_str());
    same = false;
  };
  auto hashOf = [](const RunFacts &facts, const std::string &name) {
    for (const auto &[file, hash] : facts.pluginFiles)
      if (file == name)
        return hash;
    return std::string("missing");
  };
  for (const auto &[name, hash] : submitted.pluginFiles)
    if (hashOf(here, name) != hash)
      differ("plug-in file " + name, hash, hashOf(here, name));
  for (const auto &[name, hash] : here.pluginFiles)
    if (hashOf(submitted, name) == "missing")
      differ("plug-in file " + name, "missing", hash);
  if (submitted.target != here.target)
    differ("target", submitted.target, here.target);
  bool declares = submitted.computeDTypes == here.computeDTypes &&
                  submitted.storageDTypes == here.storageDTypes &&
                  submitted.numerics.size() == here.numerics.size();
  for (size_t i = 0; declares && i < here.numerics.size(); ++i) {
    const DeclaredNumerics &a = submitted.numerics[i], &b = here.numerics[i];
    declares = a.opClass == b.opClass && a.dtype == b.dtype &&
               a.accumulatorBits == b.accumulatorBits &&
               a.rounding == b.rounding && a.flags == b.flags;
  }
  if (!declares)
    differ("declaration", "another one", "the plug-in's");
  if (marksOf(submitted) != marksOf(here))
    std::printf("note: one of the two devices is marked as host or emulated "
                "and the other is not\n");
  return same;
}

/// The drawn units with data of one seed, run here.
Result<std::vector<Record>> runAgain(RunOptions &options, RunFacts facts,
                                     uint64_t seed, double share,
                                     uint64_t lots) {
  facts.seed = seed;
  auto plan = planOf(facts);
  if (!plan)
    return plan.status();
  auto models = takeModels(options);
  if (!models)
    return models.status();
  std::erase_if(plan->units, [&](const Unit &unit) {
    return unit.op == realModelOp && options.models.empty();
  });
  draw(*plan, share, lots);
  if (Status s = loadModels(*models, *plan); !s.ok())
    return s;
  TemporaryFolder scratch;
  options.suite.folder = scratch.path();
  options.suite.selection.seed = seed;
  if (scratch.path().empty())
    return Status(BP_STATUS_UNAVAILABLE, "cannot make a temporary folder");
  return runSuite(options.suite, *plan, facts);
}

using ById = std::map<std::string_view, const Record *>;

bool passes(CaseStatus status) {
  return status == CaseStatus::Pass || status == CaseStatus::QualityWarning;
}

/// Cases that the submission passes and that fail here; says each.
size_t countFailures(const ById &submitted, const std::vector<Record> &found) {
  size_t failures = 0;
  for (const Record &record : found) {
    auto at = submitted.find(record.id);
    if (at == submitted.end() || !passes(at->second->status) ||
        passes(record.status))
      continue;
    ++failures;
    std::printf(
        "mismatch: %s, submitted as %s, is %s here: %s\n", record.id.c_str(),
        std::string(name(at->second->status)).c_str(),
        std::string(name(record.status)).c_str(), record.reason.c_str());
  }
  return failures;
}

/// Other inputs than the submission's for the same case are a forgery or
/// another suite; other outputs are so where the target declares that they
/// repeat and it is the same one.
size_t compareBits(const ById &submitted, const std::vector<Record> &found,
                   bool sameDevice) {
  size_t compared = 0, differ = 0, foreign = 0;
  for (const Record &record : found) {
    auto at = submitted.find(record.id);
    if (at == submitted.end() || !passes(at->second->status) ||
        record.inputHash.empty())
      continue;
    if (record.inputHash != at->second->inputHash && ++foreign <= 20)
      std::printf("mismatch: the submission's %s had other inputs\n",
                  record.id.c_str());
    if (record.outputHash.empty())
      continue;
    ++compared;
    if (record.outputHash != at->second->outputHash && ++differ <= 20)
      std::printf("%s: %s gives other bits here\n",
                  sameDevice ? "mismatch" : "note", record.id.c_str());
  }
  std::printf("with the submission's seed: %zu of %zu outputs have the same "
              "bits\n",
              compared - differ, compared);
  return foreign + (sameDevice ? differ : 0);
}

bool isDeterministic(const RunFacts &facts) {
  return std::ranges::all_of(facts.numerics, [](const DeclaredNumerics &n) {
    return (n.flags & 8) != 0;
  });
}

} // namespace

Result<bool> rerun(const StoredRun &submitted, RunOptions &options,
                   const std::string &part) {
  auto share = shareOf(part);
  if (!share)
    return share.status();
  RunFacts facts = submitted.facts, here;
  cleanEnvironment(options.variables);
  options.suite.job.strict = facts.strict;
  if (Status s = setUpJob(options); !s.ok())
    return s;
  if (Status s = identify(options, here); !s.ok())
    return s;
  bool same = sayDifferences(facts, here);
  std::random_device random;
  uint64_t seed =
      options.seed.value_or(uint64_t(random()) << 32 | random()) | 1;
  auto found = runAgain(options, facts, seed, *share, seed);
  if (!found)
    return found.status();
  ById known;
  for (const Record &record : submitted.records)
    known.emplace(record.id, &record);
  size_t bad = countFailures(known, *found);
  if (same && isDeterministic(facts)) {
    auto again = runAgain(options, facts, facts.seed, *share, seed);
    if (!again)
      return again.status();
    bad += countFailures(known, *again);
    bad += compareBits(known, *again, facts.deviceName == here.deviceName);
  }
  std::printf(
      "run again on %s: %zu of %zu cases, seed %llu: %zu mismatches%s\n",
      options.device.c_str(), found->size(), submitted.records.size(),
      static_cast<unsigned long long>(seed), bad,
      same ? "" : "; it is another plug-in than the submission's");
  return bad == 0 && same;
}

} // namespace backplane::conformance
