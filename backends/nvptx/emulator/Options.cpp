// SPDX-License-Identifier: Apache-2.0
#include "Options.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>

namespace emulator {
namespace {

std::mutex mutex;
std::string last;

bool parseNumber(const std::string &text, uint64_t &number) {
  char *end = nullptr;
  number = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && !*end && text[0] != '-';
}

bool setSchedule(Options &options, const std::string &value) {
  if (value == "in-order")
    options.schedule = Schedule::InOrder;
  else if (value == "reversed")
    options.schedule = Schedule::Reversed;
  else if (value == "random")
    options.schedule = Schedule::Random;
  else
    return false;
  return true;
}

bool apply(Options &options, const std::string &name,
           const std::string &value) {
  if (name == "schedule")
    return setSchedule(options, value);
  if (name == "modules") {
    options.modules = value;
    return true;
  }
  uint64_t number = 0;
  if (!parseNumber(value, number))
    return false;
  if (name == "seed") {
    options.seed = number;
    return true;
  }
  if (name == "limit") {
    if (!number || number > 1'000'000'000)
      return false;
    options.limit = number * 1'000'000;
    return true;
  }
  if (name == "total") {
    if (number > 1'000'000'000)
      return false;
    options.total = number * 1'000'000;
    return true;
  }
  if (number > 1)
    return false;
  if (name == "checks")
    options.poison = options.races = number;
  else if (name == "poison")
    options.poison = number;
  else if (name == "races")
    options.races = number;
  else if (name == "log")
    options.log = number;
  else
    return false;
  return true;
}

Options fromEnvironment() {
  Options options;
  const char *text = std::getenv("BP_CUDA_EMULATOR");
  std::istringstream list(text ? text : "");
  for (std::string item; std::getline(list, item, ',');) {
    size_t equals = item.find('=');
    if (equals == std::string::npos ||
        !apply(options, item.substr(0, equals), item.substr(equals + 1)))
      std::fprintf(stderr,
                   "cuda emulator: BP_CUDA_EMULATOR has '%s', which is no "
                   "option with a value; see bp_cuda_emulator.h\n",
                   item.c_str());
  }
  return options;
}

Options &options() {
  static Options instance = fromEnvironment();
  return instance;
}

} // namespace

Options currentOptions() {
  std::scoped_lock lock(mutex);
  return options();
}

bool setOption(const std::string &name, const std::string &value) {
  std::scoped_lock lock(mutex);
  return apply(options(), name, value);
}

void report(const std::string &text) {
  std::scoped_lock lock(mutex);
  last = text;
  if (options().log)
    std::fprintf(stderr, "cuda emulator: %s\n", text.c_str());
}

size_t lastReport(std::span<char> text) {
  std::scoped_lock lock(mutex);
  if (!text.empty())
    text[last.copy(text.data(), text.size() - 1)] = '\0';
  return last.size();
}

} // namespace emulator
