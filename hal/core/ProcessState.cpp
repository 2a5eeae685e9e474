// SPDX-License-Identifier: Apache-2.0
#include "hal/core/ProcessState.h"
#include "hal/core/FloatScope.h"

#include <array>
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <locale.h>
#include <pthread.h>
#include <unistd.h>

extern char **environ;

namespace backplane {
namespace {

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(number));
  return text;
}

constexpr const char *roundings[] = {"nearest", "down", "up", "zero"};
#if defined(__x86_64__)
constexpr uint32_t roundingBits = 3u << 13;

std::string roundingMode(const FloatState &state) {
  return std::string(roundings[(state.sse >> 13) & 3]) + "/" +
         roundings[(state.x87Control >> 10) & 3];
}
std::string floatMode(const FloatState &state) {
  return hex(state.sse & ~roundingBits & ~0x3Fu) + "/" +
         hex(state.x87Control & ~(3u << 10));
}
/// Registers in use: MMX code that forgets emms leaves all of them so.
std::string floatStack() {
  uint32_t unit[7];
  __asm__ volatile("fnstenv %0\n\tfldenv %0" : "+m"(unit));
  return hex(unit[2] & 0xFFFF);
}
#elif defined(__aarch64__)
constexpr uint32_t roundingBits = 3u << 22;

std::string roundingMode(const FloatState &state) {
  constexpr const char *order[] = {roundings[0], roundings[2], roundings[1],
                                   roundings[3]};
  return order[(state.control >> 22) & 3];
}
std::string floatMode(const FloatState &state) {
  return hex(state.control & ~uint64_t(roundingBits));
}
std::string floatStack() { return ""; }
#endif

/// The handlers of all signals that have one, "10=0x7f… ".
std::string handlers() {
  std::string all;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0 &&
        action.sa_handler != SIG_DFL)
      all += std::to_string(signal) + "=" +
             hex(reinterpret_cast<uintptr_t>(action.sa_handler)) + " ";
  }
  return all;
}

std::string blockedSignals() {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_SETMASK, nullptr, &set);
  std::string all;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&set, signal) == 1)
      all += std::to_string(signal) + " ";
  return all;
}

std::string folder() {
  std::array<char, 4096> path = {};
  return getcwd(path.data(), path.size()) ? path.data() : "";
}

/// Read where that changes nothing for other threads, unlike umask().
std::string creationMask() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Umask:"))
      return line.substr(line.find_first_not_of("\t ", 6));
  return "";
}

std::string environment() {
  std::string all;
  for (char **entry = environ; *entry; ++entry)
    all += std::string(*entry) + "\n";
  return all;
}

/// Of this thread, when it has one of its own.
std::string threadLocale() {
  locale_t own = uselocale(nullptr);
  return own == LC_GLOBAL_LOCALE ? "that of the process"
                                 : hex(reinterpret_cast<uintptr_t>(own));
}

std::string inQuotes(const std::string &value) {
  constexpr size_t most = 100;
  return "\"" + value.substr(0, most) + "\"";
}

std::atomic<const ProcessReport *> watch{nullptr};

void writeToStandardError(const char *function, const ProcessItem &change) {
  std::fprintf(stderr, "backplane: %s of a plug-in changes %s\n", function,
               change.value.c_str());
}

class Look : public CallLook {
public:
  explicit Look(const char *function) : function_(function) {}

  void compare() override {
    const ProcessReport *report = watch.load(std::memory_order_acquire);
    for (const ProcessItem &change : processChanges(before_, processState()))
      if (report)
        (*report)(function_, change);
      else
        writeToStandardError(function_, change);
  }

private:
  const char *function_;
  std::vector<ProcessItem> before_ = processState();
};

} // namespace

std::vector<ProcessItem> processState() {
  FloatState state = FloatState::now();
  const char *name = setlocale(LC_ALL, nullptr);
  return {{"rounding mode", roundingMode(state)},
          {"floating-point mode", floatMode(state)},
          {"x87 stack", floatStack()},
          {"signal mask", blockedSignals()},
          {"signal handlers", handlers()},
          {"locale", name ? name : ""},
          {"thread's locale", threadLocale()},
          {"working folder", folder()},
          {"creation mask", creationMask()},
          {"environment", environment()}};
}

std::vector<ProcessItem> processChanges(const std::vector<ProcessItem> &before,
                                        const std::vector<ProcessItem> &after) {
  std::vector<ProcessItem> changes;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].value == after[i].value)
      continue;
    std::string text = std::string("the ") + before[i].name;
    // The environment is long and none of a log's business.
    if (before[i].name != std::string_view("environment"))
      text += " from " + inQuotes(before[i].value) + " to " +
              inQuotes(after[i].value);
    changes.push_back({before[i].name, std::move(text)});
  }
  return changes;
}

ProcessWatch::ProcessWatch(ProcessReport report)
    : report_(std::move(report)), before_(callLooker.load()) {
  watch.store(&report_);
  callLooker.store(&lookAtProcess, std::memory_order_release);
}

ProcessWatch::~ProcessWatch() {
  callLooker.store(before_);
  watch.store(nullptr);
}

std::unique_ptr<CallLook> lookAtProcess(const char *function) {
  return std::make_unique<Look>(function);
}

} // namespace backplane
