// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/OnThreads.h"

#include "llvm/ADT/SmallVector.h"

#include <csignal>
#include <pthread.h>

using namespace backplane;

/// As deep as the first thread of a process has it: passes recurse.
static constexpr size_t stackBytes = 8u << 20;

static void *callBody(void *body) {
  (*static_cast<llvm::function_ref<void()> *>(body))();
  return nullptr;
}

/// Signals that are for the application's own threads. Those that a thread's
/// own instructions raise are not: where they are blocked the system ends the
/// process without asking any handler.
static sigset_t signalsOfOthers() {
  sigset_t set;
  sigfillset(&set);
  for (int own : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP})
    sigdelset(&set, own);
  return set;
}

static bool start(pthread_t &thread, llvm::function_ref<void()> &body) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return false;
  pthread_attr_setstacksize(&attributes, stackBytes);
  sigset_t blocked = signalsOfOthers(), before;
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  bool started = pthread_create(&thread, &attributes, callBody, &body) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

void backplane::runOnThreads(unsigned threads,
                             llvm::function_ref<void()> body) {
  llvm::SmallVector<pthread_t> started;
  started.reserve(threads);
  pthread_t thread;
  while (started.size() + 1 < threads && start(thread, body))
    started.push_back(thread);
  body();
  for (pthread_t other : started)
    pthread_join(other, nullptr);
}
