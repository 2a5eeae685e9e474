// SPDX-License-Identifier: Apache-2.0
//
// Limits.h: what a verdict does not reach. A badge says how far each op was
// tested, what the device is, and what no suite of this kind can see.
#ifndef BACKPLANE_CONFORMANCE_REPORT_LIMITS_H
#define BACKPLANE_CONFORMANCE_REPORT_LIMITS_H

#include "conformance/report/Facts.h"
#include "conformance/report/Record.h"

#include <map>
#include <span>

namespace backplane::conformance {

/// Of one op the largest of each, over the cases that passed.
struct OpLimits {
  uint64_t cases = 0;
  Tested most;
};

/// By op, those of graphs and models included.
std::map<std::string, OpLimits> testedLimits(std::span<const Record> records);
/// The largest of all ops.
OpLimits overall(const std::map<std::string, OpLimits> &limits);
/// "16,384 elements, rank 6, 1.2e+08 multiply-adds, values to 3.4e+38, 12 runs
/// of an executable, 104 s in one process".
std::string textOf(const Tested &tested);
/// One op a line, in columns.
std::string limitsTable(const std::map<std::string, OpLimits> &limits);

/// Device or machine is an emulator, as far as plug-in and commands say so.
bool isEmulated(const RunFacts &facts);

/// Whether the device is where the suite starts no application: behind a worker
/// or a launcher.
bool isElsewhere(const RunFacts &facts);

/// The least sizes that Full asks for: a device that declares less is right
/// where nobody looked. About a second of a slow accelerator, or of an
/// emulator.
struct LeastSizes {
  uint64_t multiplyAdds = 0; ///< of one case
  uint64_t bufferBytes = 0;  ///< of the largest buffer
};
LeastSizes minSizes(const RunFacts &facts);
/// What a run keeps to that is below the least sizes; 0: nothing.
LeastSizes tooSmall(const RunFacts &facts);

/// "host": the device is the processor of the machine that drives it;
/// "emulated": device or machine is an emulator. As far as the plug-in and the
/// commands of the workers say so. "no applications": it ran in workers alone.
/// Then what sizes were kept to.
std::vector<std::string> marksOf(const RunFacts &facts);
/// What this kind of test cannot show, one sentence each.
std::span<const std::string_view> methodLimits();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_LIMITS_H
