// SPDX-License-Identifier: Apache-2.0
//
// Watchdog.h: what ends the tool when a call of a session takes too long.
#ifndef BACKPLANE_TOOLS_BP_WATCHDOG_H
#define BACKPLANE_TOOLS_BP_WATCHDOG_H

#include "Commands.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace backplane {

/// Ends the tool when a call of a session takes too long: what a driver was
/// given it may still write to, so that nothing can be returned. All that it
/// needs it has before the first call.
class Watchdog {
public:
  explicit Watchdog(const RunOptions &options);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

  /// The time of the next call starts.
  void nextCall();

private:
  void watch();
  [[noreturn]] void end(unsigned call) const;

  std::chrono::duration<double> timeout_;
  unsigned calls_, call_ = 0;
  bool over_ = false;
  std::string text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_WATCHDOG_H
