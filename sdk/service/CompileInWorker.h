// SPDX-License-Identifier: Apache-2.0
//
// CompileInWorker.h: a job in a process of its own, which may take no more than
// the job's limits. Whatever ends that process is a status here.
#ifndef BACKPLANE_SERVICE_COMPILEINWORKER_H
#define BACKPLANE_SERVICE_COMPILEINWORKER_H

#include "CompileJob.h"
#include "hal/core/LoaderOptions.h"

namespace backplane::rt {

/// Whether this process is such a worker already.
bool isCompileWorker();

/// Whether the system limits the memory of this process. LLVM crashes where it
/// gets none.
bool isMemoryLimited();

/// Writes the artifact to `path`; with an empty one to the cache alone. The
/// targets of the job are chosen. A limit that was hit is
/// BP_STATUS_RESOURCE_EXHAUSTED or BP_STATUS_DEADLINE_EXCEEDED.
Status compileInWorker(const CompileJob &job, const LoaderOptions &options,
                       const std::string &path);

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_COMPILEINWORKER_H
