// SPDX-License-Identifier: Apache-2.0
//
// Disguise.h: an application of the suite that nobody can tell from another
// one: a copy of bp-application under an ordinary name, with ordinary
// arguments, whose parent is not the suite, and graphs with the names that
// exporters give. What it is to do, it learns over its connection.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_DISGUISE_H
#define BACKPLANE_CONFORMANCE_RUNNER_DISGUISE_H

#include "hal/worker/Process.h"
#include "sdk/graph/Graph.h"

namespace backplane::conformance {

/// What outputs hold before a run: as if the memory had been used before.
inline constexpr uint8_t staleByte = 0x3e;

/// How an application is started and what it opens.
struct ApplicationOptions {
  std::string program; ///< bp-application; empty: none can be started here
  std::vector<std::string> launcher; ///< words in front of its command
  worker::BeginMessage begin;
  std::chrono::milliseconds timeout{30000};
  uint64_t seed = 0; ///< of its name
};

/// One application, with the folder that it was copied to.
class Application {
public:
  static Result<std::unique_ptr<Application>>
  start(const ApplicationOptions &options);
  ~Application();
  Application(const Application &) = delete;
  Application &operator=(const Application &) = delete;

  worker::Process &process() { return *process_; }
  /// Its process, which must end before this object.
  std::unique_ptr<worker::Process> take() { return std::move(process_); }
  const std::string &folder() const { return folder_; }

private:
  Application() = default;

  std::string folder_;
  std::unique_ptr<worker::Process> process_;
};

/// The graph with values, symbols and nodes named as exporters name them. Its
/// order of inputs and outputs stays.
Graph disguised(const Graph &graph, uint64_t seed);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_DISGUISE_H
