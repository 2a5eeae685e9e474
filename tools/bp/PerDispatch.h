// SPDX-License-Identifier: Apache-2.0
//
// PerDispatch.h: what the calls of a trace spent their time on.
#ifndef BACKPLANE_TOOLS_BP_PERDISPATCH_H
#define BACKPLANE_TOOLS_BP_PERDISPATCH_H

#include "Roof.h"
#include "backplane/cpp/Result.h"

#include <optional>
#include <string>
#include <vector>

namespace backplane {

/// A span of a trace.
struct TraceSpan {
  std::string track; ///< "host://cpu"; "host" for what the host does
  std::string name, category, kernel, ops, clock;
  double begin = 0, end = 0; ///< ns
  double bytes = 0, flops = 0;
};

/// The spans of a file that bp_context_trace_end wrote.
Result<std::vector<TraceSpan>> readTrace(const std::string &path);

/// Refuses spans of devices that do not tell when each command ran.
Status checkClocks(const std::vector<TraceSpan> &spans);

/// The dispatches of one kernel, or the copies or fills of a device. Figures
/// are medians over the calls, of the sum in a call.
struct KernelTime {
  std::string device, kernel;          ///< no kernel: copies or fills
  std::vector<std::string> names, ops; ///< each once, in order
  double count = 0, ns = 0, bytes = 0, flops = 0;
  bool allFlops = true; ///< whether all its dispatches have FLOPs
};

/// Of the median call.
struct CallTimes {
  std::vector<KernelTime> kernels; ///< what costs most first
  size_t calls = 0;
  double ns = 0;   ///< from the first command's begin to the last one's end
  double gaps = 0; ///< in which no command runs
};

/// The times of every call in the trace, of which there is one at least.
CallTimes timesOf(const std::vector<TraceSpan> &spans);

/// Both take the roof of host://cpu, if it counts.
std::string tableOf(const CallTimes &times, const std::optional<Roof> &roof);
std::string jsonOf(const CallTimes &times, const std::optional<Roof> &roof);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_PERDISPATCH_H
