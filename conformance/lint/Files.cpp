// SPDX-License-Identifier: Apache-2.0
//
// Files.cpp: what can be asked of a plug-in's files without running them.
#include "Lint.h"
#include "conformance/plugin/FileRules.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/LibraryFile.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace backplane::lint {

namespace fs = std::filesystem;

namespace {

constexpr const char *manifestEnd = ".bp.json";

/// Believes everything: what is not to be trusted is read, but not run.
const FileTrust &believing() {
  static const FileTrust trust({"/"});
  return trust;
}

std::string nameOf(const std::string &path) {
  return fs::path(path).filename().string();
}

/// The message of a failure of `what` without its name in front.
std::string without(const std::string &message, const std::string &what) {
  return message.starts_with(what + ": ") ? message.substr(what.size() + 2)
                                          : message;
}

/// Adds a library, or a role to one that is there.
void addLibrary(LintedPlugin &plugin, const std::string &path,
                const std::string &sha256, bool LintedLibrary::*role) {
  if (path.empty())
    return;
  auto is = [&](const LintedLibrary &one) { return one.path == path; };
  auto at = std::ranges::find_if(plugin.libraries, is);
  if (at == plugin.libraries.end()) {
    plugin.libraries.push_back({.path = path});
    at = plugin.libraries.end() - 1;
  }
  (*at).*role = true;
  if (at->sha256.empty())
    at->sha256 = sha256;
}

/// Whether the file is JSON at all; a finding when it is not.
bool isJson(const std::string &path, Report &report) {
  report.ask("BPL001");
  Result<TrustedFile> file = believing().open(path, "manifest");
  constexpr uint64_t most = 64 * 1024;
  auto bytes =
      file ? file->read(most) : Result<std::vector<uint8_t>>(file.status());
  std::string fault = bytes ? "" : bytes.message();
  if (bytes)
    try {
      nlohmann::json parsed =
          nlohmann::json::parse(bytes->begin(), bytes->end());
      (void)parsed;
      return true;
    } catch (const nlohmann::json::parse_error &error) {
      fault = error.what();
      fault.erase(0, fault.find("] ") + 2); // the library's own number
    }
  report.find("BPL001", nameOf(path), fault);
  return false;
}

void readManifestFile(LintedPlugin &plugin, Report &report) {
  const std::string &path = plugin.manifestPath;
  if (!isJson(path, report))
    return;
  report.ask("BPL002");
  report.ask("BPL003");
  Result<Manifest> manifest = readManifest(path, believing());
  if (!manifest)
    return report.find(
        manifest.code() == BP_STATUS_NOT_FOUND ? "BPL003" : "BPL002",
        nameOf(path), without(manifest.message(), "manifest " + path));
  plugin.manifest = *manifest;
  plugin.name = manifest->name;
  addLibrary(plugin, manifest->driver, manifest->driverSha256,
             &LintedLibrary::driver);
  addLibrary(plugin, manifest->compiler, manifest->compilerSha256,
             &LintedLibrary::compiler);
  addLibrary(plugin, manifest->kernels, manifest->kernelsSha256,
             &LintedLibrary::kernels);
}

/// The manifest of the plug-in whose driver a URI names.
Result<std::string> manifestOf(const std::string &uri,
                               const LoaderOptions &loader) {
  Result<DeviceUri> parsed = DeviceUri::parse(uri);
  if (!parsed)
    return parsed.status();
  std::string names;
  for (const FoundManifest &found :
       findManifests(loader, CpuInfo::detect().c())) {
    const std::string &name = found.manifest.name;
    bool unread =
        name.empty() && nameOf(found.path) == parsed->driver + manifestEnd;
    if (unread || (name == parsed->driver && !found.givesWay))
      return found.path;
    names += (names.empty() ? "" : ", ") + (name.empty() ? found.path : name);
  }
  return notFound("there is no plug-in '" + parsed->driver +
                  "', and no file of that name; there is " + names +
                  "; name a manifest, a library or a device of bp devices");
}

void lintHash(LintedPlugin &plugin, const LintedLibrary &library,
              Report &report) {
  report.ask("BPL005");
  if (library.sha256.empty())
    return;
  Result<std::string> made = sha256OfFile(library.path);
  std::string sum = made ? *made : made.message();
  if (sum == library.sha256)
    return;
  plugin.notRun = "it has another sum than its manifest says (BPL005)";
  report.find("BPL005", nameOf(library.path),
              "has the sum " + sum + ", its manifest says " + library.sha256);
}

/// Whether the file is a library that this machine can load.
bool lintKind(const LintedLibrary &library, Report &report) {
  report.ask("BPL101");
  Result<TrustedFile> file = believing().open(library.path, "library");
  Status status = file ? checkLibraryFile(*file) : file.status();
  if (status.ok())
    return true;
  report.find("BPL101", nameOf(library.path),
              without(status.message(), "cannot load the library"));
  return false;
}

struct FileRule {
  const char *number;
  checks::Found (*find)(const checks::ElfFile &file);
};

constexpr FileRule fileRules[] = {
    {"BPL102", checks::lacksQuery},      {"BPL103", checks::foreignExports},
    {"BPL104", checks::uniqueSymbols},   {"BPL105", checks::hostSymbols},
    {"BPL106", checks::sharedCompilers}, {"BPL109", checks::runPaths},
    {"BPL110", checks::executableStack}, {"BPL111", checks::textRelocations},
    {"BPL112", checks::writableCode},    {"BPL113", checks::staticTls},
    {"BPL114", checks::constructors},
};

void lintElf(const LintedLibrary &library, const LintOptions &options,
             Report &report) {
  const std::string name = nameOf(library.path);
  report.ask("BPL115");
  Result<checks::ElfFile> file = checks::ElfFile::read(library.path);
  if (!file)
    return report.find("BPL115", name, file.message());
  for (const FileRule &rule : fileRules) {
    report.ask(rule.number);
    for (const std::string &found : rule.find(*file))
      report.find(rule.number, name, found);
  }
  report.ask("BPL108");
  for (const std::string &found :
       checks::newerVersions(*file, options.glibc, options.glibcxx))
    report.find("BPL108", name, found);
}

/// `arch` of the manifest against the machine of the file.
void lintArch(const LintedPlugin &plugin, const LintedLibrary &library,
              Report &report) {
  const std::string &arch = plugin.manifest->arch;
  report.ask("BPL006");
  Result<checks::ElfFile> file = checks::ElfFile::read(library.path);
  if (arch.empty() || !file)
    return;
  std::string machine = file->header.e_machine == EM_X86_64    ? "x86_64"
                        : file->header.e_machine == EM_AARCH64 ? "aarch64"
                                                               : "";
  if (machine != arch)
    report.find("BPL006", nameOf(plugin.manifestPath),
                "says \"arch\": \"" + arch + "\", " + nameOf(library.path) +
                    " is built for " +
                    (machine.empty() ? "another machine" : machine));
}

void lintTrust(LintedPlugin &plugin, const std::string &path,
               const FileTrust &trust, Report &report) {
  report.ask("BPL004");
  Result<TrustedFile> file = trust.open(path, "file");
  if (file || file.code() != BP_STATUS_PERMISSION_DENIED)
    return;
  report.find("BPL004", nameOf(path), file.message());
  plugin.notRun = "others than you may write its files (BPL004)";
}

} // namespace

Result<LintedPlugin> findPlugin(const std::string &asked,
                                const LoaderOptions &loader, Report &report) {
  LintedPlugin plugin;
  std::error_code code;
  bool manifest = asked.ends_with(manifestEnd);
  bool file = manifest || asked.find(".so") != std::string::npos ||
              fs::is_regular_file(asked, code);
  if (!file) {
    Result<std::string> path = manifestOf(asked, loader);
    if (!path)
      return path.status();
    plugin.uri = asked;
    plugin.manifestPath = *path;
  } else {
    fs::path path = fs::canonical(asked, code);
    if (code)
      return notFound("cannot read '" + asked + "': " + code.message());
    if (manifest)
      plugin.manifestPath = path;
    else
      plugin.libraries.push_back({.path = path});
  }
  if (!plugin.manifestPath.empty())
    readManifestFile(plugin, report);
  return plugin;
}

void lintManifest(LintedPlugin &plugin, const LoaderOptions &loader,
                  Report &report) {
  if (plugin.manifestPath.empty())
    return report.skip("the manifest (BPL001 to BPL013)",
                       "a library was named; name its manifest");
  lintTrust(plugin, plugin.manifestPath, loader.trust, report);
  if (!plugin.manifest)
    return report.skip("the libraries (BPL101 and later)",
                       "the manifest does not say where they are");
  for (const LintedLibrary &library : plugin.libraries) {
    lintHash(plugin, library, report);
    lintArch(plugin, library, report);
  }
  if (report.has("BPL006")) {
    plugin.notRun = "this host does not take it (BPL006)";
    return;
  }
  report.ask("BPL013");
  std::string refusal =
      manifestRefusal(*plugin.manifest, loader, CpuInfo::detect().c());
  if (!refusal.empty()) {
    report.find("BPL013", nameOf(plugin.manifestPath), refusal);
    plugin.notRun = "this host does not take it (BPL013)";
  }
}

void lintFiles(LintedPlugin &plugin, const LintOptions &options,
               const LoaderOptions &loader, Report &report) {
  for (const LintedLibrary &library : plugin.libraries) {
    lintTrust(plugin, library.path, loader.trust, report);
    if (!lintKind(library, report))
      plugin.notRun = "this machine cannot load it (BPL101)";
    else
      lintElf(library, options, report);
  }
}

} // namespace backplane::lint
