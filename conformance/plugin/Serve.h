// SPDX-License-Identifier: Apache-2.0
//
// Serve.h: the worker that runs checks of a plug-in.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_SERVE_H
#define BACKPLANE_CONFORMANCE_PLUGIN_SERVE_H

#include "hal/worker/Serve.h"

namespace backplane::checks {

/// As worker::serveRuns, with checks in place of artifacts.
int serveChecks(const worker::WorkerOptions &options);

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_SERVE_H
