// SPDX-License-Identifier: Apache-2.0
//
// Manifest.cpp: one manifest, read and checked.
#include "hal/core/Manifest.h"
#include "hal/core/MemberReader.h"

#include <algorithm>
#include <filesystem>

namespace backplane {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr size_t maxManifestBytes = 64 * 1024;

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

} // namespace backplane
