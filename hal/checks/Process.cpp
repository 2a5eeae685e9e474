// SPDX-License-Identifier: Apache-2.0
#include "Process.h"

#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

namespace backplane::checks {

/// Field `index` of /proc/self/statm in bytes; 0 where there is none.
static uint64_t memoryField(int index) {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  for (int i = 0; i <= index; ++i)
    if (!(file >> pages))
      return 0;
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
}

uint64_t residentBytes() {
  uint64_t resident = memoryField(1), shared = memoryField(2);
  return resident > shared ? resident - shared : 0;
}

uint64_t dataBytes() { return memoryField(5); }

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
