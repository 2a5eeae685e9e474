// SPDX-License-Identifier: Apache-2.0
//
// Facts.h: run.json, what is known of a run besides its records: suite, device,
// declaration, choice of cases, environment. Together with the records it is
// all that a verdict is computed from.
#ifndef BACKPLANE_CONFORMANCE_REPORT_FACTS_H
#define BACKPLANE_CONFORMANCE_REPORT_FACTS_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace backplane::conformance {

/// bp_numerics_t of one op class and dtype.
struct DeclaredNumerics {
  std::string opClass, dtype;
  uint32_t accumulatorBits = 0, rounding = 0, flags = 0;
  uint32_t operandBits = 0;
};

using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// A registered kernel that was judged, as its set describes it.
struct JudgedKernel {
  std::string set, version;      ///< of the set
  std::vector<std::string> text; ///< lines
  uint64_t weights = 0; ///< bit i: input i of the text is a weight in models

  /// The lines as one text.
  std::string whole() const;
};

struct RunFacts {
  std::string suite;  ///< version of the suite: "0.2.0"
  std::string commit; ///< of the suite's source, "-dirty" after a changed one
  std::string date;   ///< UTC, when the run started: "2026-11-21T16:00:00Z"

  std::string device; ///< URI
  std::string deviceName, plugin, target;
  /// What part of the suite the badge is for: a name of Profiles.h, or "whole".
  std::string profile = "whole";
  std::string emulator; ///< that the worker runs in: "qemu-aarch64"; or empty
  uint32_t deviceKind = 0;                       ///< BP_DEVICE_KIND_
  uint32_t deviceFlags = 0;                      ///< BP_DEVICE_
  uint64_t storageDTypes = 0, computeDTypes = 0; ///< bp_dtype_set_t
  std::vector<DeclaredNumerics> numerics;
  TextPairs pluginFiles; ///< name and SHA-256 of each file of the plug-in

  std::string depth = "smoke"; ///< or standard, full
  uint64_t seed = 0;           ///< of the data; of a badge officialSeed
  /// Multiply-adds that one case may take: --budget, or what the device
  /// declares; 0: as many as the depth has.
  uint64_t budget = 0;
  uint64_t bufferBytes = 0; ///< of the largest buffer that the device has
  std::string challenge;    ///< text of a verifier that goes into officialSeed
  uint32_t shard = 1, shards = 1;
  std::vector<std::string> filters, excludes;
  /// Functions were held to the strict limits, and each case ran twice.
  bool strict = false;
  /// Name and SHA-256 of each file of the real models that took part.
  TextPairs models;
  /// Those whose cases (layer 8) took part.
  std::vector<JudgedKernel> kernels;
  uint64_t cases = 0;   ///< of the depth, whatever was chosen of them
  std::string mustpass; ///< SHA-256 of their ids, sorted, one a line
  /// Variables of the environment that workers saw beside the usual ones.
  TextPairs variables;
  std::string waiversHash; ///< SHA-256 of waivers.json; empty: there is none
  TextPairs environment;   ///< names and values, for people
};

/// The version of the set of a kernel "SET.NAME"; empty: it was not judged.
std::string setVersionOf(const RunFacts &facts, std::string_view kernel);

/// The seed that the data of a badge have: a function of the suite's version,
/// the contents of the plug-in's files and the challenge, so that nothing can
/// be fitted to the data before all three are fixed. Never 0.
uint64_t officialSeed(const RunFacts &facts);

/// One JSON object, indented, with a line end; names in objects are sorted.
std::string toJson(const RunFacts &facts);
/// Reads what toJson writes and refuses all else.
Result<RunFacts> parseFacts(std::string_view text);
/// The first fact that differs between two runs whose records may be mixed, as
/// "depth: smoke, not full"; date and environment may differ. Empty: none.
std::string differenceOf(const RunFacts &a, const RunFacts &b);
/// Whether only a part of the cases was chosen by globs.
inline bool isFiltered(const RunFacts &facts) {
  return !facts.filters.empty() || !facts.excludes.empty();
}

/// Whether other devices run what the first one refuses: "acme+host".
inline bool isHelped(std::string_view device) {
  return device.find('+') != std::string_view::npos;
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_FACTS_H
