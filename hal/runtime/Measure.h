// SPDX-License-Identifier: Apache-2.0
//
// Measure.h: how long a variant takes on a device, by running it: what the
// policies auto:latency and auto:throughput decide by where several devices
// could run an artifact.
#ifndef BACKPLANE_RUNTIME_MEASURE_H
#define BACKPLANE_RUNTIME_MEASURE_H

#include "Select.h"

namespace backplane::rt {

/// Orders the candidates that may run by the time that the best variant of each
/// device takes for a call (for throughput: with several calls in flight). A
/// time comes from the cache or from a short run with inputs of zeros, each
/// symbolic dim at its least value above 0. Nothing is measured where one
/// device is left or where the program waits for data to end a loop; last
/// resorts are not measured either. Writes its reasons into the notes.
void orderByTime(const std::shared_ptr<const LoadedArtifact> &artifact, Aim aim,
                 const SessionRequest &request, Selection &selection);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_MEASURE_H
