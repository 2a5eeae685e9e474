// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the manifest of a plug-in, beside a library and the manifest of
// an older version.
#include "hal/core/Manifest.h"
#include "File.h"

#include <filesystem>
#include <fstream>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz::Folder folder;
  bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
  cpu.architecture = {"x86_64", 6};
  cpu.features = {"avx,avx2", 8};
  auto write = [](const std::string &name, std::string_view text) {
    std::string path = folder.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  };
  std::string_view text(reinterpret_cast<const char *>(data), size);
  write("libacme.so", "");
  write("new.bp.json", text);
  write("old.bp.json", R"({"format": 1, "name": "acme", "version": "0.9",
    "abi": {"major": 0, "minor_low": 1}, "driver": "libacme.so"})");
  LoaderOptions options;
  options.searchDirs = {folder.path()};
  (void)findManifests(options, cpu);
  options.select = {"a*"};
  options.disable = {"acm?"};
  (void)findManifests(options, cpu);
  return 0;
}
