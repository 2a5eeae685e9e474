// SPDX-License-Identifier: Apache-2.0
//
// Serve.h: the two workers: one runs artifacts on a device, one compiles
// graphs. Each answers requests in order until its tool closes the connection;
// what goes wrong inside takes this process only.
#ifndef BACKPLANE_WORKER_SERVE_H
#define BACKPLANE_WORKER_SERVE_H

#include "backplane/cpp/Result.h"

#include <optional>
#include <string>
#include <vector>

namespace backplane::worker {

struct WorkerOptions {
  std::string device = "host"; ///< URI
  unsigned threads = 0;        ///< of the pool, 0: one per core
  uint64_t memoryLimit = 0;    ///< bytes of private memory, 0: none
  bool plain = false;          ///< memory of tensors is that of malloc
  /// Run checks of the plug-in in place of artifacts.
  bool checks = false;
  /// Say which devices there are and stop.
  bool list = false;
  /// Write what is asked to this file; empty: no.
  std::string record;
  /// A bundle and its results to answer from; empty: no.
  std::vector<std::string> replay;
  /// Of a compile worker: a target to compile for in place of a device's.
  std::string target;
  /// Of a compile worker: compile models into files, with the plug-ins and the
  /// cache that each request names.
  bool jobs = false;
  /// Folder for large artifacts; empty: none; "auto": in the cache folder of
  /// the user.
  std::string cacheDir;
  /// Of the context; "-": it has no cache.
  std::string contextCache = "-";
};

/// Reads the options of a worker program, the same for both. Prints help or
/// what is wrong and gives the exit code when the program is to end.
std::optional<int> parseWorkerOptions(int argc, char **argv,
                                      WorkerOptions &options);

/// Keeps standard input and output for frames: what anybody prints afterwards
/// goes to standard error. Serves; gives the exit code.
int serveRuns(const WorkerOptions &options);
int serveList(const WorkerOptions &options);
/// Writes artifacts, runs and checks to a file; answers nothing of use.
int serveRecording(const std::string &path);
/// Answers runs and checks of a bundle with what its results say.
int serveReplay(const std::string &bundle, const std::string &results);
/// `bp-worker run`, from its name on; see Bundle.h. `serveChecks` answers the
/// checks of a bundle as serveRuns does its runs.
int runBundle(int argc, char **argv,
              int (*serveChecks)(const WorkerOptions &options));
/// The process on trial of hal/core/Trial.h: "trial", the manifest and folders
/// that are trusted.
int serveTrial(int argc, char **argv);
int serveCompiles(const WorkerOptions &options);
int serveJobs(const WorkerOptions &options);
/// An application: what it opens, it learns from its first request. Compiles
/// and runs, with all plug-ins that there are, in memory of malloc.
int serveApplication();

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_SERVE_H
