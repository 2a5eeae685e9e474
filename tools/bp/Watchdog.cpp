// SPDX-License-Identifier: Apache-2.0
#include "Watchdog.h"
#include "sdk/support/ReadableText.h"

#include <cstdio>
#include <system_error>
#include <unistd.h>

namespace backplane {

Watchdog::Watchdog(const RunOptions &options)
    : timeout_(options.timeout), calls_(options.repeat),
      text_("of '" + readable(options.model.path, 300) + "' on device '" +
            readable(options.model.device, 300) + "'") {
  if (timeout_.count() <= 0)
    return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error &error) {
    std::fprintf(stderr, "bp: warning: nobody watches over --timeout: %s\n",
                 error.what());
  }
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void Watchdog::nextCall() {
  std::lock_guard lock(mutex_);
  ++call_;
  changed_.notify_all();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    const unsigned call = call_;
    bool moved = changed_.wait_for(lock, timeout_,
                                   [&] { return over_ || call_ != call; });
    if (!moved && call)
      end(call);
  }
}

void Watchdog::end(unsigned call) const {
  dprintf(STDERR_FILENO,
          "bp: call %u of %u %s did not complete within %g s and is still in "
          "flight; see --timeout, and bp lint for the driver\n",
          call, calls_, text_.c_str(), timeout_.count());
  _exit(1);
}

} // namespace backplane
