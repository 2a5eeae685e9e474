// SPDX-License-Identifier: Apache-2.0
#include "ModuleFile.h"
#include "Error.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace emulator {
namespace {

// FNV-1a of 64 bits, in hexadecimal: a name, no protection.
std::string hashOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(hash));
  return digits.data();
}

// Other processes may write the same file: each renames one of its own.
void write(const std::string &path, const std::string &text) {
  std::string own = path + "." + std::to_string(getpid());
  std::ofstream file(own, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(own.c_str(), path.c_str()))
    fail(CUDA_ERROR_OPERATING_SYSTEM,
         "the option modules: '" + path + "' cannot be written");
}

} // namespace

std::string keptText(const std::string &text, const std::string &folder) {
  if (folder.empty())
    return text;
  std::string path = folder + "/" + hashOf(text) + ".ptx";
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    write(path, text);
    return text;
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace emulator
