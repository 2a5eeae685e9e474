// SPDX-License-Identifier: Apache-2.0
//
// What the libraries that run on a machine without a compiler need and export.
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string outputOf(const std::string &command) {
  std::string output;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return output;
  char buffer[4096];
  while (size_t size = fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, size);
  pclose(pipe);
  return output;
}

std::set<std::string> neededBy(const std::string &library) {
  std::istringstream lines(
      outputOf(std::string(BP_READELF) + " -d '" + library + "'"));
  std::set<std::string> needed;
  for (std::string line; std::getline(lines, line);) {
    size_t open = line.find('[');
    if (line.find("(NEEDED)") != std::string::npos && open != std::string::npos)
      needed.insert(line.substr(open + 1, line.find(".so") - open - 1));
  }
  return needed;
}

TEST(Libraries, NeedTheSystemOnly) {
  const std::set<std::string> system = {
      "libc",  "libm",       "libstdc++",       "libgcc_s",
      "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"};
  for (const char *library : {BP_LIBRARY, BP_HOST_LIBRARY}) {
    std::set<std::string> needed = neededBy(library);
    EXPECT_TRUE(needed.contains("libc")) << library;
    for (const std::string &name : needed)
      EXPECT_TRUE(system.contains(name)) << library << " needs " << name;
  }
}

TEST(Libraries, ExportFunctionsOfTheHeaderOnly) {
  std::istringstream lines(
      outputOf(std::string(BP_NM) + " -D --defined-only '" BP_LIBRARY "'"));
  std::set<std::string> exported;
  for (std::string line; std::getline(lines, line);)
    exported.insert(line.substr(line.rfind(' ') + 1));
  std::istringstream header(outputOf("cat " BP_HEADER_FILES));
  std::string text(std::istreambuf_iterator<char>(header), {});
  std::set<std::string> declared;
  for (size_t at = text.find("\nBP_API "); at != std::string::npos;
       at = text.find("\nBP_API ", at + 1)) {
    size_t end = text.find('(', at);
    size_t begin = text.find_last_of(" *\n", end) + 1;
    declared.insert(text.substr(begin, end - begin));
  }
  EXPECT_GT(declared.size(), 20u);
  EXPECT_EQ(exported, declared);
}

TEST(Libraries, AreSmall) {
  EXPECT_LT(std::filesystem::file_size(BP_LIBRARY), 2'000'000u);
}

} // namespace
