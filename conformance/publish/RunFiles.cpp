// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/RunFiles.h"

#include "conformance/publish/Publish.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t maxReport = 64 << 20;

Status stray(const fs::path &path, const std::string &why) {
  return dataLoss("'" + path.string() + "' " + why);
}

bool isSeal(const std::string &name) {
  return name == "manifest.json" || name == "manifest.sig";
}

bool isRunFile(const RunFolder &folder, const std::string &name) {
  constexpr std::string_view names[] = {"run.json",     "records.jsonl",
                                        "summary.json", "junit.xml",
                                        "report.html",  "mustpass.txt"};
  return std::ranges::count(names, name) != 0 ||
         (name == "waivers.json" && !folder.facts.waiversHash.empty()) ||
         (folder.sealed && isSeal(name));
}

/// "graph.bpg", "input0.npy", "weight-….npy" and so on.
bool isFailureFile(const std::string &name) {
  if (name == "graph.bpg" || name == "README.md")
    return true;
  if (!name.ends_with(".npy"))
    return false;
  if (name.starts_with("weight-"))
    return true;
  for (std::string_view kind : {"input", "expected", "output"})
    if (name.starts_with(kind))
      return std::all_of(name.begin() + ptrdiff_t(kind.size()), name.end() - 4,
                         [](unsigned char c) { return std::isdigit(c); });
  return false;
}

/// Entries of a folder, none of which is a link or a device.
Result<std::vector<fs::directory_entry>> entriesOf(const fs::path &path) {
  std::vector<fs::directory_entry> entries;
  std::error_code code;
  for (fs::directory_iterator at(path, code), end; !code && at != end;
       at.increment(code)) {
    fs::file_status status = at->symlink_status(code);
    if (!fs::is_regular_file(status) && !fs::is_directory(status))
      return stray(at->path(), "is neither a file nor a folder");
    entries.push_back(*at);
  }
  if (code)
    return notFound("cannot list '" + path.string() + "': " + code.message());
  return entries;
}

Status checkFailure(const fs::path &path) {
  auto entries = entriesOf(path);
  if (!entries)
    return entries.status();
  for (const fs::directory_entry &entry : *entries)
    if (entry.is_directory() ||
        !isFailureFile(entry.path().filename().string()))
      return stray(entry.path(), "is no file of a failing graph");
  return {};
}

Status checkFailures(const RunFolder &folder, const fs::path &path) {
  std::set<std::string> names;
  for (const std::string &id : folder.failing)
    names.insert(folderNameOf(id));
  auto entries = entriesOf(path);
  if (!entries)
    return entries.status();
  for (const fs::directory_entry &entry : *entries) {
    if (!entry.is_directory() ||
        !names.contains(entry.path().filename().string()))
      return stray(entry.path(), "stands among the failures, and no case of "
                                 "this name fails");
    if (Status s = checkFailure(entry.path()); !s.ok())
      return s;
  }
  return {};
}

Status checkNames(const RunFolder &folder) {
  auto entries = entriesOf(folder.path);
  if (!entries)
    return entries.status();
  for (const fs::directory_entry &entry : *entries) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && name == "failures") {
      if (Status s = checkFailures(folder, entry.path()); !s.ok())
        return s;
    } else if (entry.is_directory() || !isRunFile(folder, name)) {
      return stray(entry.path(), "is no file of a run");
    }
  }
  return {};
}

Status checkText(const std::string &path, const std::string &expected) {
  auto text = readTextFile(path, maxReport);
  if (!text)
    return text.status();
  if (*text != expected)
    return stray(path, "does not say what the records give");
  return {};
}

} // namespace

Status conformance::checkRunFiles(const RunFolder &folder) {
  if (Status s = checkNames(folder); !s.ok())
    return s;
  auto hash = sha256OfFile(folder.path + "/records.jsonl");
  if (!hash)
    return hash.status();
  for (const auto &[name, text] :
       reportFiles(folder.facts, folder.verdict, folder.records, *hash))
    if (Status s = checkText(folder.path + "/" + name, text); !s.ok())
      return s;
  return checkText(folder.path + "/mustpass.txt", folder.list);
}

Status conformance::checkShardFiles(const std::string &path, bool sealed,
                                    const std::vector<std::string> &shards) {
  auto entries = entriesOf(path);
  if (!entries)
    return entries.status();
  for (const fs::directory_entry &entry : *entries) {
    bool known = entry.is_directory()
                     ? std::ranges::count(shards, entry.path().string()) != 0
                     : sealed && isSeal(entry.path().filename().string());
    if (!known)
      return stray(entry.path(), "is no shard of the run");
  }
  return {};
}
