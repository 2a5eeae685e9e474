// SPDX-License-Identifier: Apache-2.0
#include "WaitLimit.h"

#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace backplane::worker {

std::optional<std::chrono::milliseconds> processorTime(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  // The name of the program, in parentheses, may have any character.
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos)
    return std::nullopt;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  // From "state" on, the third one; proc(5) counts from 1.
  constexpr int first = 3, userField = 14;
  std::string skipped;
  for (int field = first; field < userField; ++field)
    fields >> skipped;
  int64_t user = 0, kernel = 0;
  if (!(fields >> user >> kernel))
    return std::nullopt;
  const int64_t ticks = sysconf(_SC_CLK_TCK);
  return std::chrono::milliseconds((user + kernel) * 1000 / ticks);
}

} // namespace backplane::worker
