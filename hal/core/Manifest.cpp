// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Manifest.h"
#include "sdk/support/Glob.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

namespace backplane {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr size_t maxManifestBytes = 64 * 1024;
constexpr size_t maxFilesPerFolder = 1024;
constexpr size_t maxTextBytes = 256;
constexpr const char *extension = ".bp.json";

/// Takes members out of a JSON object and keeps the first complaint.
class MemberReader {
public:
  explicit MemberReader(const Json &object) : object_(object) {}

  Status status;

  /// Complains about a member of another name than these.
  void onlyHas(std::initializer_list<const char *> known) {
    const std::vector<std::string> names(known.begin(), known.end());
    for (const auto &[key, value] : object_.items())
      if (std::find(names.begin(), names.end(), key) == names.end()) {
        std::string near = nearestName(key, names);
        complain(key,
                 "is not a member that a manifest has" +
                     (near.empty() ? "" : ", did you mean \"" + near + "\"?"));
      }
  }

  std::string text(const char *key, bool required) {
    const Json *value = find(key, required);
    if (!value)
      return "";
    if (!value->is_string())
      return complain(key, "is not a string");
    const std::string &text = value->get_ref<const std::string &>();
    if (text.size() > maxTextBytes || text.find('\0') != std::string::npos)
      return complain(key, "is longer than 256 bytes or holds a zero byte");
    return text;
  }

  uint32_t number(const char *key, bool required) {
    return uint32_t(count(key, required, std::numeric_limits<uint32_t>::max(),
                          "is not a small non-negative integer"));
  }

  uint64_t count(const char *key, bool required, uint64_t most,
                 const char *complaint) {
    const Json *value = find(key, required);
    if (!value)
      return 0;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > most) {
      complain(key, complaint);
      return 0;
    }
    return value->get<uint64_t>();
  }

  std::vector<std::string> texts(const char *key) {
    std::vector<std::string> result;
    const Json *value = find(key, false);
    if (!value)
      return result;
    if (!value->is_array())
      complain(key, "is not a list of strings");
    else
      for (const Json &item : *value)
        if (item.is_string())
          result.push_back(item.get<std::string>());
        else
          complain(key, "is not a list of strings");
    return result;
  }

  /// A member that is an object, or an empty one.
  Json object(const char *key, bool required) {
    const Json *value = find(key, required);
    if (value && !value->is_object())
      complain(key, "is not an object");
    return value && value->is_object() ? *value : Json::object();
  }

  /// A member that is an object or a list of objects.
  std::vector<Json> objects(const char *key) {
    const Json *value = find(key, true);
    if (!value)
      return {};
    if (value->is_object())
      return {*value};
    if (!value->is_array() || value->empty() ||
        !std::all_of(value->begin(), value->end(),
                     [](const Json &item) { return item.is_object(); }))
      complain(key, "is not an object or a list of objects");
    return value->is_array() ? value->get<std::vector<Json>>()
                             : std::vector<Json>();
  }

  std::string complain(std::string_view key, std::string_view what) {
    if (status.ok())
      status =
          invalidArgument("\"" + std::string(key) + "\" " + std::string(what));
    return "";
  }

private:
  const Json *find(const char *key, bool required) {
    auto it = object_.find(key);
    if (it != object_.end())
      return &*it;
    if (required)
      complain(key, "is missing");
    return nullptr;
  }

  const Json &object_;
};

bool isName(std::string_view name) {
  auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= 32 && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letter(c) || digit(c) || c == '_' || c == '-';
         });
}

bool isSha256(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

} // namespace

/// The canonical path of a library that the manifest in `folder` names.
static Result<std::string> resolveLibrary(const fs::path &folder,
                                          const char *key,
                                          const std::string &name) {
  std::string what = "\"" + std::string(key) + "\": " + name;
  if (fs::path(name).is_absolute())
    return invalidArgument(what + " is an absolute path; libraries stand in "
                                  "the folder of their manifest");
  std::error_code error;
  fs::path path = fs::canonical(folder / name, error);
  if (error)
    return notFound(what + ": " + error.message());
  std::string prefix = folder.string() + "/";
  if (path.string().compare(0, prefix.size(), prefix) != 0)
    return invalidArgument(what + " lies outside of the manifest's folder");
  return path.string();
}

static Status readLibraries(MemberReader &reader, Manifest &manifest) {
  fs::path folder = fs::path(manifest.path).parent_path();
  for (auto [key, out] : {std::pair("driver", &manifest.driver),
                          std::pair("compiler", &manifest.compiler),
                          std::pair("kernels", &manifest.kernels)}) {
    std::string name = reader.text(key, false);
    if (name.empty())
      continue;
    Result<std::string> path = resolveLibrary(folder, key, name);
    if (!path)
      return path.status();
    *out = *path;
  }
  if (reader.status.ok() && manifest.driver.empty() &&
      manifest.compiler.empty() && manifest.kernels.empty())
    return invalidArgument(
        "names no library: a \"driver\", a \"compiler\" or \"kernels\"");
  return reader.status;
}

/// A pass of a list, or what is wrong with it.
static Status readPass(const Json &json, Manifest &manifest) {
  if (!json.is_object())
    return invalidArgument("\"list\" is not a list of objects");
  MemberReader reader(json);
  reader.onlyHas({"name", "stage", "summary"});
  DeclaredPass pass;
  pass.name = reader.text("name", true);
  pass.stage = reader.text("stage", true);
  pass.summary = reader.text("summary", true);
  const std::string prefix = manifest.name + "-";
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (reader.status.ok() &&
      (!pass.name.starts_with(prefix) || pass.name == prefix ||
       !std::ranges::all_of(pass.name.substr(prefix.size()), isLetter)))
    reader.complain("name", "is not \"" + prefix +
                                "\" and more of a-z, 0-9 and -: " + pass.name);
  for (const DeclaredPass &other : manifest.passes.passes)
    if (other.name == pass.name)
      reader.complain("name", "is there twice: " + pass.name);
  manifest.passes.passes.push_back(std::move(pass));
  return reader.status;
}

static Status readPasses(MemberReader &reader, Manifest &manifest) {
  Json json = reader.object("passes", false);
  if (!reader.status.ok() || json.empty())
    return reader.status;
  PassLibrary &passes = manifest.passes;
  MemberReader inner(json);
  inner.onlyHas({"library", "llvm", "list"});
  const std::string name = inner.text("library", true);
  passes.llvm = inner.text("llvm", true);
  if (!inner.status.ok())
    return inner.status;
  if (!json.contains("list") || !json["list"].is_array() ||
      json["list"].empty())
    return invalidArgument("\"list\" names no pass");
  for (const Json &item : json["list"])
    if (Status s = readPass(item, manifest); !s.ok())
      return s;
  if (manifest.compiler.empty())
    return invalidArgument("they are for pipelines of a \"compiler\", and the "
                           "manifest names none");
  Result<std::string> path =
      resolveLibrary(fs::path(manifest.path).parent_path(), "library", name);
  if (!path)
    return path.status();
  passes.path = *path;
  return {};
}

static Status readHashes(MemberReader &reader, Manifest &manifest) {
  Json hashes = reader.object("sha256", false);
  MemberReader inner(hashes);
  inner.onlyHas({"driver", "compiler", "kernels", "passes"});
  manifest.driverSha256 = inner.text("driver", false);
  manifest.compilerSha256 = inner.text("compiler", false);
  manifest.kernelsSha256 = inner.text("kernels", false);
  manifest.passes.sha256 = inner.text("passes", false);
  for (const std::string &hash :
       {manifest.driverSha256, manifest.compilerSha256, manifest.kernelsSha256,
        manifest.passes.sha256})
    if (!hash.empty() && !isSha256(hash))
      inner.complain("sha256", "is not 64 lower-case hexadecimal digits");
  return inner.status.within("\"sha256\"");
}

static Status readConformance(MemberReader &reader, Manifest &manifest) {
  Json conformance = reader.object("conformance", false);
  MemberReader inner(conformance);
  inner.onlyHas({"multiply_adds"});
  manifest.multiplyAdds = inner.count("multiply_adds", false, uint64_t(1) << 53,
                                      "is not an integer from 0 to 2^53");
  return inner.status.within("\"conformance\"");
}

static Status readOptions(MemberReader &reader, Manifest &manifest) {
  Json options = reader.object("options", false);
  MemberReader inner(options);
  for (const auto &[key, value] : options.items())
    manifest.options[key] = inner.text(key.c_str(), true);
  return inner.status.within("\"options\"");
}

static Status readMembers(const Json &json, Manifest &manifest) {
  if (!json.is_object())
    return invalidArgument("not a JSON object");
  MemberReader reader(json);
  if (uint32_t format = reader.number("format", true);
      reader.status.ok() && format != manifestFormat)
    return unimplemented("\"format\" is " + std::to_string(format) +
                         ", this host reads " + std::to_string(manifestFormat));
  reader.onlyHas({"format", "name", "version", "vendor", "arch", "abi",
                  "driver", "compiler", "kernels", "passes", "sha256",
                  "cpu_features", "options", "conformance"});
  manifest.name = reader.text("name", true);
  manifest.version = reader.text("version", true);
  manifest.vendor = reader.text("vendor", false);
  manifest.arch = reader.text("arch", false);
  manifest.cpuFeatures = reader.texts("cpu_features");
  std::vector<Json> versions = reader.objects("abi");
  if (!reader.status.ok())
    return reader.status;
  for (const Json &version : versions) {
    MemberReader inner(version);
    inner.onlyHas({"major", "minor_low"});
    manifest.abi.push_back(
        {inner.number("major", true), inner.number("minor_low", true)});
    if (!inner.status.ok())
      return inner.status.within("\"abi\"");
  }
  if (!isName(manifest.name)) {
    manifest.name.clear();
    return invalidArgument("\"name\" is not of the form [a-z][a-z0-9_-]{0,31}");
  }
  if (Status status = readHashes(reader, manifest); !status.ok())
    return status;
  if (Status status = readConformance(reader, manifest); !status.ok())
    return status;
  if (Status status = readOptions(reader, manifest); !status.ok())
    return status;
  if (Status status = readLibraries(reader, manifest); !status.ok())
    return status;
  return readPasses(reader, manifest).within("\"passes\"");
}

/// The JSON value in `text`; a failure says at which line and column.
static Result<Json> parseJson(const std::vector<uint8_t> &text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error &error) {
    std::string_view before(reinterpret_cast<const char *>(text.data()),
                            text.size());
    before = before.substr(0, error.byte ? error.byte - 1 : 0);
    size_t lineStart = before.rfind('\n') + 1;
    auto line = 1 + std::count(before.begin(), before.end(), '\n');
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.size(), why.find(": ") + 1));
    return invalidArgument(
        "not valid JSON, line " + std::to_string(line) + ", column " +
        std::to_string(before.size() - lineStart + 1) + ":" + std::string(why));
  } catch (const Json::exception &error) {
    return invalidArgument(std::string("not valid JSON: ") + error.what());
  }
}

Result<Manifest> readManifest(const std::string &path, const FileTrust &trust) {
  Result<TrustedFile> file = trust.open(path, "manifest");
  if (!file)
    return file.status();
  std::string what = "manifest " + path;
  if (file->size() > maxManifestBytes)
    return invalidArgument(what + ": larger than 64 KiB, no manifest is");
  auto text = file->read(maxManifestBytes);
  if (!text)
    return text.status();
  Manifest manifest;
  manifest.path = file->path();
  Result<Json> json = parseJson(*text);
  if (!json)
    return json.status().within(what);
  if (Status status = readMembers(*json, manifest); !status.ok())
    return status.within(what);
  return manifest;
}

static bool anyMatches(const std::vector<std::string> &globs,
                       std::string_view name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string &glob) {
    return matchesGlob(glob, name);
  });
}

static bool listHas(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == item)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// Why this host cannot serve any of the versions.
static std::string abiRefusal(const std::vector<AbiVersion> &versions) {
  const std::string major = std::to_string(BP_ABI_MAJOR);
  std::string majors;
  for (const AbiVersion &version : versions) {
    majors += (majors.empty() ? "" : " or ") + std::to_string(version.major);
    if (version.major != BP_ABI_MAJOR)
      continue;
    if (version.minorLow <= BP_ABI_MINOR)
      return "";
    return "needs ABI version " + major + "." +
           std::to_string(version.minorLow) + ", this host has " + major + "." +
           std::to_string(BP_ABI_MINOR) + "; update Backplane";
  }
  return "needs ABI major version " + majors + ", this host has " + major;
}

std::string manifestRefusal(const Manifest &manifest,
                            const LoaderOptions &options,
                            const bp_host_cpu_t &cpu) {
  if (!options.select.empty() && !anyMatches(options.select, manifest.name))
    return "not selected by the options";
  if (anyMatches(options.disable, manifest.name))
    return "disabled by the options";
  if (!manifest.arch.empty() && manifest.arch != view(cpu.architecture))
    return "built for " + manifest.arch + ", this machine is " +
           std::string(view(cpu.architecture));
  if (std::string refusal = abiRefusal(manifest.abi); !refusal.empty())
    return refusal;
  for (const std::string &feature : manifest.cpuFeatures)
    if (!listHas(view(cpu.features), feature))
      return "needs the CPU feature " + feature + ", which this machine lacks";
  return "";
}

int compareVersions(std::string_view a, std::string_view b) {
  auto take = [](std::string_view &text) {
    uint64_t value = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      value = std::min<uint64_t>(value * 10 + uint64_t(text.front() - '0'),
                                 std::numeric_limits<uint32_t>::max());
      text.remove_prefix(1);
    }
    if (!text.empty() && text.front() == '.')
      text.remove_prefix(1);
    return value;
  };
  for (int part = 0; part < 3; ++part) {
    uint64_t left = take(a), right = take(b);
    if (left != right)
      return left < right ? -1 : 1;
  }
  return 0;
}

/// Manifest files of a folder in the order of their names.
static std::vector<std::string> filesOf(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end && files.size() < maxFilesPerFolder;
       it.increment(error)) {
    std::string path = it->path();
    if (path.size() > strlen(extension) && path.ends_with(extension))
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

static std::vector<std::string> candidateFiles(const LoaderOptions &options) {
  if (options.pluginFiles)
    return *options.pluginFiles;
  std::vector<std::string> files = options.addPluginFiles;
  for (const std::string &folder : options.searchDirs)
    for (std::string &file : filesOf(folder))
      files.push_back(std::move(file));
  return files;
}

static bool ofSystem(const FoundManifest &found) {
  static const std::string folder = systemPluginDir();
  return fs::path(found.path).parent_path() == folder;
}

/// Refuses one of two plug-ins of one name and gives the other. Of one vendor's
/// the later version stays. Another vendor's takes a name that is not its own:
/// the system's stays, else the first.
static FoundManifest &refuseOne(FoundManifest &first, FoundManifest &second) {
  const Manifest &a = first.manifest, &b = second.manifest;
  if (a.vendor == b.vendor) {
    bool later = compareVersions(a.version, b.version) < 0;
    FoundManifest &stays = later ? second : first;
    FoundManifest &goes = later ? first : second;
    goes.refusal = "version " + goes.manifest.version +
                   " gives way to version " + stays.manifest.version + " of " +
                   stays.path;
    goes.givesWay = true;
    return stays;
  }
  bool system = ofSystem(second) && !ofSystem(first);
  FoundManifest &stays = system ? second : first;
  FoundManifest &goes = system ? first : second;
  goes.refusal = "the name \"" + goes.manifest.name + "\" is that of " +
                 stays.path + " by vendor \"" + stays.manifest.vendor +
                 "\"; give this plug-in another name";
  return stays;
}

/// Leaves one usable manifest per plug-in name.
static void refuseDuplicates(std::vector<FoundManifest> &found) {
  std::map<std::string, FoundManifest *> best;
  for (FoundManifest &one : found) {
    if (!one.refusal.empty())
      continue;
    FoundManifest *&winner = best[one.manifest.name];
    winner = winner ? &refuseOne(*winner, one) : &one;
  }
}

std::vector<FoundManifest> findManifests(const LoaderOptions &options,
                                         const bp_host_cpu_t &cpu) {
  std::vector<FoundManifest> found;
  for (const std::string &file : candidateFiles(options)) {
    Result<Manifest> manifest = readManifest(file, options.trust);
    FoundManifest one;
    one.path = manifest ? manifest->path : file;
    bool known = std::any_of(
        found.begin(), found.end(),
        [&](const FoundManifest &other) { return other.path == one.path; });
    if (known)
      continue;
    if (manifest) {
      one.manifest = *manifest;
      one.refusal = manifestRefusal(*manifest, options, cpu);
    } else {
      one.refusal = manifest.message();
    }
    found.push_back(std::move(one));
  }
  refuseDuplicates(found);
  return found;
}

} // namespace backplane
