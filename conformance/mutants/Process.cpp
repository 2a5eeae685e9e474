// SPDX-License-Identifier: Apache-2.0
//
// Mutants 270 to 279: plug-ins that compute rightly and change the process of
// their host: what every other thread, and the application after the call,
// computes or does then depends on them.
#include "Mutant.h"

#include <cfenv>
#include <clocale>
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane::mutants {

namespace {

void flush() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24));
#endif
}

void roundUp() { fesetround(FE_UPWARD); }
void trap() { feenableexcept(FE_DIVBYZERO); }
void setLocale() { setlocale(LC_ALL, "C.UTF-8"); }
void maskFiles() { umask(0077); }
void handleSignal() {
  std::signal(SIGUSR1, [](int) {});
}

void changeFolder() {
  if (chdir("/") != 0)
    std::raise(SIGKILL);
}

void blockSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Mutant touching(int number, std::string_view title,
                std::string_view description, Moment moment, void (*touch)()) {
  return {.number = number,
          .family = Family::Runtime,
          .title = title,
          .description = description,
          .tags = {"process"},
          .moment = moment,
          .touch = touch};
}

} // namespace

std::vector<Mutant> processMutants() {
  using enum Moment;
  return {
      touching(270, "flushes when loaded",
               "a constructor of the library turns flushing of denormals on",
               Load, flush),
      touching(271, "rounds up from initialize on",
               "initialize sets upward rounding", Initialize, roundUp),
      touching(272, "flushes after work",
               "queue_execute leaves flushing of denormals on", Execute, flush),
      touching(273, "flushes on the pool",
               "a body of parallel_for leaves flushing on in its thread", Pool,
               flush),
      touching(274, "sets the locale", "initialize sets the locale", Initialize,
               setLocale),
      touching(275, "changes the folder",
               "queue_execute changes the working folder", Execute,
               changeFolder),
      touching(276, "masks files",
               "initialize changes the mask of file permissions", Initialize,
               maskFiles),
      touching(277, "blocks a signal",
               "a body of parallel_for blocks a signal in its thread", Pool,
               blockSignal),
      touching(278, "handles a signal", "initialize installs a handler",
               Initialize, handleSignal),
      touching(279, "traps", "queue_execute unmasks divisions by zero", Execute,
               trap),
  };
}

} // namespace backplane::mutants
