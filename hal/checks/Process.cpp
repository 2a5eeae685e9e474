// SPDX-License-Identifier: Apache-2.0
#include "Process.h"

#include <cstdio>
#include <filesystem>
#include <malloc.h>
#include <unistd.h>

namespace backplane::checks {

uint64_t residentBytes() {
  unsigned long long total = 0, resident = 0, shared = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (!file)
    return 0;
  int found = std::fscanf(file, "%llu %llu %llu", &total, &resident, &shared);
  std::fclose(file);
  return found == 3 ? (resident - shared) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

uint64_t dataBytes() {
  unsigned long long pages = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (!file)
    return 0;
  int found = std::fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages);
  std::fclose(file);
  return found == 1 ? pages * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

uint64_t heapBytes() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static unsigned entriesOf(const char *folder) {
  std::error_code code;
  unsigned count = 0;
  for (std::filesystem::directory_iterator entry(folder, code), end;
       !code && entry != end; entry.increment(code))
    ++count;
  return count;
}

unsigned threadCount() { return entriesOf("/proc/self/task"); }
unsigned openFileCount() { return entriesOf("/proc/self/fd"); }

} // namespace backplane::checks
