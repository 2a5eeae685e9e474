// SPDX-License-Identifier: Apache-2.0
//
// PluginFolder.h: a temporary folder with plug-ins, for tests of the loader.
#ifndef BACKPLANE_CORE_TEST_PLUGINFOLDER_H
#define BACKPLANE_CORE_TEST_PLUGINFOLDER_H

#include "hal/core/LoaderOptions.h"

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace backplane {

/// Exists as long as this object.
class PluginFolder {
public:
  PluginFolder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "bp-plugins-XXXXXX";
    path_ = std::filesystem::canonical(mkdtemp(pattern.data()));
  }
  ~PluginFolder() { std::filesystem::remove_all(path_); }
  PluginFolder(const PluginFolder &) = delete;
  PluginFolder &operator=(const PluginFolder &) = delete;

  std::string path(const std::string &name = "") const { return path_ / name; }

  std::string addFile(const std::string &name, const std::string &text) {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

  /// Copies a built library here, writable by its owner only.
  std::string addLibrary(const std::string &from, const std::string &name) {
    namespace fs = std::filesystem;
    fs::copy_file(from, path_ / name, fs::copy_options::overwrite_existing);
    fs::permissions(path_ / name, fs::perms::owner_all);
    return path_ / name;
  }

  /// A manifest of a driver that is fit for use.
  std::string addDriver(const std::string &from, const std::string &name,
                        const std::string &version = "1.0.0") {
    std::string library = "lib" + name + "-" + version + ".so";
    addLibrary(from, library);
    return addFile(name + "-" + version + ".bp.json",
                   R"({"format": 1, "name": ")" + name + R"(", "version": ")" +
                       version + R"(", "abi": {"major": 0, "minor_low": 1},)" +
                       R"("driver": ")" + library + R"("})");
  }

  /// Options that look here only.
  LoaderOptions options() const {
    LoaderOptions options;
    options.searchDirs = {path_};
    options.threads = 2;
    return options;
  }

private:
  std::filesystem::path path_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_TEST_PLUGINFOLDER_H
