// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Diff.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr double noticed = 0.1;

void compareCase(const Change &change, RunDiff &diff) {
  const Record &before = *change.before, &after = *change.after;
  bool wasGood = isGood(before.status), good = isGood(after.status);
  bool ran = isTaken(before.status), runs = isTaken(after.status);
  if (wasGood && isBad(after.status))
    diff.failed.push_back(change);
  else if (ran && !runs)
    diff.dropped.push_back(change);
  else if (!wasGood && good)
    diff.fixed.push_back(change);
  else if (after.limitUsed > before.limitUsed + noticed)
    diff.looser.push_back(change);
  else if (after.limitUsed < before.limitUsed - noticed)
    diff.tighter.push_back(change);
  else if (before.inputHash == after.inputHash &&
           before.outputHash != after.outputHash)
    diff.changed.push_back(change);
}

std::string lineOf(const Change &change) {
  auto side = [](const Record *record) {
    if (!record)
      return std::string("none");
    char used[32];
    std::snprintf(used, sizeof used, " %.3g", record->limitUsed);
    return std::string(name(record->status)) + used;
  };
  const Record *last = change.after ? change.after : change.before;
  std::string text = "  " + last->id + ": " + side(change.before) + " -> " +
                     side(change.after);
  if (change.after && !isGood(change.after->status))
    text += ": " + change.after->reason.substr(0, 200);
  return text + "\n";
}

} // namespace

RunDiff conformance::compareRuns(const std::vector<Record> &before,
                                 const std::vector<Record> &after) {
  std::unordered_map<std::string_view, const Record *> later, earlier;
  for (const Record &record : after)
    later.emplace(record.id, &record);
  RunDiff diff;
  for (const Record &record : before) {
    earlier.emplace(record.id, &record);
    auto at = later.find(record.id);
    if (at == later.end())
      diff.missing.push_back({&record, nullptr});
    else
      compareCase({&record, at->second}, diff);
  }
  for (const Record &record : after)
    if (!earlier.contains(record.id))
      diff.added.push_back({nullptr, &record});
  auto growth = [](const Change &change) {
    return change.after->limitUsed - change.before->limitUsed;
  };
  std::ranges::sort(diff.looser, std::ranges::greater(), growth);
  std::ranges::sort(diff.tighter, {}, growth);
  return diff;
}

std::string conformance::textOf(const RunDiff &diff, size_t most) {
  const std::pair<const char *, const std::vector<Change> *> kinds[] = {
      {"new failures", &diff.failed},
      {"no longer supported", &diff.dropped},
      {"missing", &diff.missing},
      {"fixed", &diff.fixed},
      {"new cases", &diff.added},
      {"use more of their limit", &diff.looser},
      {"use less of their limit", &diff.tighter},
      {"other results, as good", &diff.changed}};
  std::string out;
  for (const auto &[title, changes] : kinds) {
    if (changes->empty())
      continue;
    out += std::to_string(changes->size()) + " " + title + "\n";
    for (size_t i = 0; i < changes->size() && i < most; ++i)
      out += lineOf((*changes)[i]);
    if (changes->size() > most)
      out += "  and " + std::to_string(changes->size() - most) + " more\n";
  }
  return out.empty() ? "no difference\n" : out;
}
