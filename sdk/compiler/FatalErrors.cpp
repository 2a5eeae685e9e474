// SPDX-License-Identifier: Apache-2.0
//
// LLVM calls a handler that must not return; ours throws through LLVM's code,
// which is compiled without cleanups: it leaks, as it would in a process that
// ends, and holds no lock that we take.
#include "sdk/compiler/FatalErrors.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace backplane {
namespace {

struct FatalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

thread_local bool catching = false;

void onError(void *, const char *reason, bool) {
  if (catching)
    throw FatalError(reason);
  std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
}

void onBadAlloc(void *, const char *reason, bool) {
  if (catching)
    throw std::bad_alloc();
  std::fprintf(stderr, "LLVM ERROR: out of memory: %s\n", reason);
}

/// The handlers are of the process: the first of several installs them.
class Handlers {
public:
  Handlers() : saved_(llvm::SavePrettyStackState()) {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0) {
      llvm::install_fatal_error_handler(onError);
      llvm::install_bad_alloc_error_handler(onBadAlloc);
    }
    outer_ = std::exchange(catching, true);
  }
  ~Handlers() {
    catching = outer_;
    // Entries of frames that are gone.
    llvm::RestorePrettyStackState(saved_);
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0) {
      llvm::remove_fatal_error_handler();
      llvm::remove_bad_alloc_error_handler();
    }
  }
  Handlers(const Handlers &) = delete;
  Handlers &operator=(const Handlers &) = delete;

private:
  static inline std::mutex mutex;
  static inline int users = 0;
  const void *saved_;
  bool outer_;
};

} // namespace

Status catchFatalErrors(const std::function<Status()> &body) {
  Handlers handlers;
  try {
    return body();
  } catch (const FatalError &error) {
    return internalError(std::string("LLVM gave up: ") + error.what());
  } catch (const std::bad_alloc &) {
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "the compiler is out of memory");
  }
}

Status catchSignals(const std::function<void()> &body) {
  constexpr int firstSignal = 128; // as shells tell it
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext context;
  if (context.RunSafely(body))
    return {};
  int signal = context.RetCode - firstSignal;
  return internalError("ended with signal " + std::to_string(signal) + " (" +
                       strsignal(signal) + ")");
}

} // namespace backplane
