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

} // namespace

ByNumber<void (*)()> processMutants() {
  return {{270, flush},     {271, roundUp},     {272, flush},
          {273, flush},     {274, setLocale},   {275, changeFolder},
          {276, maskFiles}, {277, blockSignal}, {278, handleSignal},
          {279, trap}};
}

} // namespace backplane::mutants
