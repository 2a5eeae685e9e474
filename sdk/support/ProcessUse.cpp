// SPDX-License-Identifier: Apache-2.0
#include "ProcessUse.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace backplane {

namespace {

struct Mapping {
  uint64_t begin = 0, end = 0;
};

/// Reads a line of /proc/self/maps; whether it is memory of this process alone
/// that can be written. Larger ones are address space that sanitizers reserve.
bool isOwnMemory(const std::string &line, Mapping &out) {
  constexpr uint64_t largest = uint64_t(64) << 30;
  char *rest = nullptr;
  out.begin = std::strtoull(line.c_str(), &rest, 16);
  if (*rest != '-')
    return false;
  out.end = std::strtoull(rest + 1, &rest, 16);
  // " rw-p"
  std::string_view access(rest);
  return access.size() > 4 && access[2] == 'w' && access[4] == 'p' &&
         out.begin < out.end && out.end - out.begin <= largest;
}

/// Pages of a mapping that are in memory; one that has vanished has none.
uint64_t pagesInUse(const Mapping &mapping, uint64_t pageBytes) {
  std::array<unsigned char, 4096> pages = {};
  uint64_t count = 0, step = pages.size() * pageBytes;
  for (uint64_t at = mapping.begin; at < mapping.end; at += step) {
    uint64_t bytes = std::min(step, mapping.end - at);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): maps has numbers.
    if (mincore(reinterpret_cast<void *>(at), bytes, pages.data()) == 0)
      count += uint64_t(std::count_if(
          pages.begin(), pages.begin() + ptrdiff_t(bytes / pageBytes),
          [](unsigned char page) { return page & 1; }));
  }
  return count;
}

} // namespace

// Not what the kernel counts for the whole process: an emulator keeps memory
// of its own for each thread that ever ran.
uint64_t residentBytes() {
  const auto pageBytes = uint64_t(sysconf(_SC_PAGESIZE));
  std::ifstream file("/proc/self/maps");
  uint64_t pages = 0;
  Mapping mapping;
  for (std::string line; std::getline(file, line);)
    if (isOwnMemory(line, mapping))
      pages += pagesInUse(mapping, pageBytes);
  return pages * pageBytes;
}

// The sixth number of statm.
uint64_t dataBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  for (int i = 0; i < 6; ++i)
    if (!(file >> pages))
      return 0;
  return pages * uint64_t(sysconf(_SC_PAGESIZE));
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

} // namespace backplane
