// SPDX-License-Identifier: Apache-2.0
#include "OutputFiles.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sys/stat.h>

namespace backplane {

namespace fs = std::filesystem;

void OutputFiles::reads(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0)
    read_.emplace(std::pair(uint64_t(info.st_dev), uint64_t(info.st_ino)),
                  path);
}

Status OutputFiles::writes(const std::string &path) {
  if (Status s = checkOutput(path); !s.ok())
    return s;
  struct stat info = {};
  bool there = stat(path.c_str(), &info) == 0;
  auto found = read_.find({uint64_t(info.st_dev), uint64_t(info.st_ino)});
  if (there && found != read_.end())
    return invalidArgument("output '" + path + "' is the input '" +
                           found->second + "'; name another file");
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  folder = fs::weakly_canonical(folder.empty() ? "." : folder, error);
  std::string place = (folder / fs::path(path).filename()).string();
  auto [other, fresh] = written_.emplace(place, path);
  if (!fresh)
    return invalidArgument("output '" + path + "' would be written twice, '" +
                           other->second + "' is the same file");
  return {};
}

/// At most 255 bytes with an extension and the mark of a temporary file.
static std::string fileName(const std::string &name) {
  constexpr size_t maxBytes = 160, kept = 100;
  std::string result = name;
  for (char &c : result)
    if (c == '/' || c == ':' || uint8_t(c) < 0x20 || c == 0x7F)
      c = '_';
  if (result.size() <= maxBytes)
    return result.empty() || result == "." || result == ".." ? "_" + result
                                                             : result;
  size_t end = kept;
  while (end > 0 && (uint8_t(result[end]) & 0xC0) == 0x80)
    --end; // no part of a character
  std::string hash = sha256(asBytes(name));
  return result.substr(0, end) + "-" + hash.substr(0, 16);
}

std::vector<std::string> fileNames(const std::vector<std::string> &names) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  auto take = [&](std::string file) {
    std::ranges::transform(file, file.begin(), [](unsigned char c) {
      return c >= 'A' && c <= 'Z' ? char(c + 32) : char(c);
    });
    return taken.insert(file).second;
  };
  for (const std::string &name : names) {
    std::string file = fileName(name);
    std::string base = file;
    for (size_t number = 2; !take(file); ++number)
      file = base + "-" + std::to_string(number);
    files.push_back(std::move(file));
  }
  return files;
}

} // namespace backplane
