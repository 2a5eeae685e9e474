// SPDX-License-Identifier: Apache-2.0
//
// Record.h: the result of one case, and how it is written in records.jsonl, one
// object a line. The records are the evidence: verdict, report and comparison
// of runs are computed from them alone.
#ifndef BACKPLANE_CONFORMANCE_REPORT_RECORD_H
#define BACKPLANE_CONFORMANCE_REPORT_RECORD_H

#include "conformance/compare/Compare.h"

namespace backplane::conformance {

enum class CaseStatus {
  Pass,
  Fail,
  QualityWarning, ///< passes with more than half of a limit used
  NotSupported,   ///< decided from the declaration before running
  Refused,        ///< the target's compiler does not take it and says why
  Assisted,       ///< right, but another device had a part in it
  Waived,
  XFail,
  XPass,
  Crash,
  Timeout,
  DeviceLost,
  ResourceError,
  OracleError,
  Mistrusted, ///< nothing was compared
  Flaky,      ///< two runs of one case differed; counts as Fail
};

std::string_view name(CaseStatus status);
std::optional<CaseStatus> parseCaseStatus(std::string_view name);
/// Whether the device gave what it must, or was not asked.
bool isGood(CaseStatus status);
/// Whether the target did not do a case by itself: Refused or Assisted.
bool isDeclined(CaseStatus status);
/// Whether no verdict with this status in it can pass: neither good nor
/// refused.
bool isBad(CaseStatus status);
/// Whether the target was asked for a case and took it, right or wrong.
bool isTaken(CaseStatus status);

/// How far a case went, for what a badge says of its tests. Zero: not known, or
/// the case did not run.
struct Tested {
  uint64_t elements = 0; ///< of the largest tensor
  uint64_t rank = 0;
  uint64_t macs = 0;    ///< multiply-adds, see Work.h
  double magnitude = 0; ///< largest finite absolute value of its inputs
  uint64_t runs = 0;    ///< of the executable, when the verdict was taken
  double seconds = 0;   ///< that its process had been up by then

  bool operator==(const Tested &) const = default;
};

struct Record {
  std::string id;
  std::string unit;
  int layer = 0;
  std::string op;
  std::string dtype;
  std::string dataSet;
  std::string sizes; ///< "m=17,k=65"
  uint64_t seed = 0;
  std::vector<std::string> tags;
  CaseStatus status = CaseStatus::Fail;
  std::string reason;
  double limitUsed = 0;
  uint64_t worst = 0;
  int output = 0; ///< the output that the worst element belongs to
  std::string got, want;
  double limit = 0, rms = 0, bias = 0;
  uint64_t elements = 0;
  UlpHistogram ulps{};
  std::string inputHash;  ///< XXH3-128 of all inputs
  std::string outputHash; ///< of all outputs
  double compileMs = 0;   ///< of its unit, on the first case only
  double runMs = 0;
  double cpuMs = 0; ///< that the worker computed during the run
  Tested tested;
};

/// The name of a folder for a case: its id without '/', ',' and '='.
std::string folderNameOf(std::string id);

/// One line of JSON without the line end, keys in a fixed order.
std::string toJson(const Record &record);
/// Reads a line; fails on anything that toJson does not write.
Result<Record> parseRecord(std::string_view line);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_RECORD_H
