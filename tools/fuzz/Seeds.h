// SPDX-License-Identifier: Apache-2.0
//
// Seeds.h: what fuzzing starts from: good inputs, and some that are wrong in
// one place.
#ifndef BACKPLANE_TOOLS_FUZZ_SEEDS_H
#define BACKPLANE_TOOLS_FUZZ_SEEDS_H

#include "sdk/support/Error.h"

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace backplane::fuzz {

namespace fs = std::filesystem;

inline fs::path folderOf(const fs::path &root, const char *target) {
  fs::create_directories(root / target);
  return root / target;
}

inline void write(const fs::path &path, std::span<const uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

inline void writeTexts(const fs::path &folder,
                       const std::vector<std::string> &texts) {
  int number = 0;
  for (const std::string &text : texts)
    write(folder / std::to_string(number++),
          {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

Status writeGraphs(const fs::path &folder);
/// A size that data decide, well and wrongly.
Status writeReads(const fs::path &folder);
/// A loop with a choice in each iteration.
Status writeControl(const fs::path &folder);
Status writeArtifacts(const fs::path &folder);
/// Bundles, their results, and each payload alone, into two folders.
Status writeBundles(const fs::path &root);
/// Records, waivers, runs and submissions, each into its folder.
Status writeSubmissions(const fs::path &root);
void writeKernels(const fs::path &folder);
std::vector<std::string> kernelTexts();
/// Manifests of plug-ins.
std::vector<std::string> manifestSeeds();
/// Names of devices, targets and launchers, conditions, and files of workers.
std::vector<std::string> names();

} // namespace backplane::fuzz

#endif // BACKPLANE_TOOLS_FUZZ_SEEDS_H
