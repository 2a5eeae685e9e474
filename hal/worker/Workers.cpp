// SPDX-License-Identifier: Apache-2.0
#include "Workers.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/LoaderOptions.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace backplane::worker {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr size_t maxFileBytes = 1 << 20, maxWorkers = 256, maxWords = 64,
                 maxWordBytes = 4096;
constexpr unsigned longestTimeout = 86400;

/// Where this product is installed, or built.
fs::path prefix() {
  // <prefix>/lib/backplane/plugins
  return fs::path(systemPluginDir()).parent_path().parent_path().parent_path();
}

/// The AArch64 build: installed beside this one, or the build of the preset.
std::vector<fs::path> arm64Places() {
  return {prefix() / "lib/backplane/arm64/bin/bp-worker",
          prefix().parent_path() / "build-arm64/bin/bp-worker"};
}

/// An AArch64 processor under qemu, on the build for it.
NamedWorker emulatedArm(const char *name, const char *cpu) {
  NamedWorker worker;
  worker.name = name;
  worker.launcher.words = {"qemu-aarch64", "-cpu", cpu, "-L",
                           "/usr/aarch64-linux-gnu"};
  std::error_code code;
  for (const fs::path &place : arm64Places())
    if (worker.program.empty() && fs::exists(place, code))
      worker.program = place.string();
  return worker;
}

std::vector<NamedWorker> predefined() {
  NamedWorker local;
  local.name = "local";
  local.program = (prefix() / "bin/bp-worker").string();
  std::vector<NamedWorker> workers = {
      std::move(local), emulatedArm("arm64", "max,sve-max-vq=2"),
      emulatedArm("arm64-neon", "max,sve=off"),
      emulatedArm("arm64-sve512", "max,sve-max-vq=4")};
  for (NamedWorker &worker : workers)
    worker.origin = "predefined";
  return workers;
}

Status bad(const std::string &worker, const std::string &what) {
  return invalidArgument("worker '" + worker + "': " + what);
}

/// A list of texts, or one text that is split into words.
Result<std::vector<std::string>> wordsOf(const Json &value,
                                         const std::string &what) {
  if (value.is_string()) {
    Result<Launcher> words =
        Launcher::parse(value.get_ref<const std::string &>());
    if (!words)
      return words.status();
    return std::move(words->words);
  }
  std::vector<std::string> words;
  bool good = value.is_array() && value.size() <= maxWords;
  for (size_t i = 0; good && i < value.size(); ++i) {
    good = value[i].is_string();
    if (good)
      words.push_back(value[i].get<std::string>());
    good = good && words.back().size() <= maxWordBytes &&
           words.back().find('\0') == std::string::npos;
  }
  if (!good)
    return invalidArgument("\"" + what + "\" is neither a text nor a list of " +
                           "at most " + std::to_string(maxWords) + " texts");
  return words;
}

/// Fills one member of a worker from the file.
Status readMember(const std::string &key, const Json &value,
                  NamedWorker &worker) {
  if (key == "launcher" || key == "arguments") {
    Result<std::vector<std::string>> words = wordsOf(value, key);
    if (!words)
      return words.status();
    (key == "launcher" ? worker.launcher.words : worker.arguments) =
        std::move(*words);
    return {};
  }
  if (key == "worker" && value.is_string() &&
      !value.get_ref<const std::string &>().empty()) {
    worker.program = value.get<std::string>();
    return {};
  }
  if (key == "shell" && value.is_boolean()) {
    worker.launcher.throughShell = value.get<bool>();
    return {};
  }
  if (key == "timeout" && value.is_number_unsigned() &&
      value.get<uint64_t>() >= 1 && value.get<uint64_t>() <= longestTimeout) {
    worker.timeout = std::chrono::seconds(value.get<uint64_t>());
    return {};
  }
  return invalidArgument(
      "\"" + key.substr(0, 64) +
      "\" is unknown or has a wrong value; there are \"launcher\" and "
      "\"arguments\" (lists of texts), \"worker\" (a path), \"shell\" (true "
      "or false) and \"timeout\" (seconds, 1 to 86400)");
}

Result<NamedWorker> readWorker(const std::string &name, const Json &entry) {
  NamedWorker worker;
  worker.name = name.substr(0, 64);
  if (!isDriverName(name))
    return bad(worker.name, "a name has letters a-z, digits, - and _");
  if (!entry.is_object())
    return bad(name, "is not an object");
  worker.program = "bp-worker";
  if (auto launcher = entry.find("launcher"); launcher != entry.end())
    if (Status s = readMember("launcher", *launcher, worker); !s.ok())
      return bad(name, s.message());
  worker.launcher.throughShell =
      !worker.launcher.words.empty() &&
      fs::path(worker.launcher.words[0]).filename() == "ssh";
  for (const auto &[key, value] : entry.items())
    if (Status s = readMember(key, value, worker); !s.ok())
      return bad(name, s.message());
  return worker;
}

Result<std::vector<NamedWorker>> parseWorkers(const std::string &text) {
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded())
    return invalidArgument("is not JSON");
  auto list = root.is_object() ? root.find("workers") : root.end();
  if (!root.is_object() || list == root.end() || !list->is_object() ||
      root.size() != 1)
    return invalidArgument("does not have the one member \"workers\", an "
                           "object");
  if (list->size() > maxWorkers)
    return invalidArgument("has more than 256 workers");
  std::vector<NamedWorker> workers;
  for (const auto &[name, entry] : list->items()) {
    Result<NamedWorker> worker = readWorker(name, entry);
    if (!worker)
      return worker.status();
    workers.push_back(std::move(*worker));
  }
  return workers;
}

Result<std::vector<NamedWorker>> readFile(const std::string &path,
                                          const FileTrust &trust) {
  std::error_code code;
  if (path.empty() || !fs::exists(path, code))
    return std::vector<NamedWorker>();
  Result<TrustedFile> file = trust.open(path, "worker file");
  if (!file)
    return file.status();
  auto bytes = file->read(maxFileBytes);
  if (!bytes)
    return bytes.status();
  auto workers = parseWorkers(std::string(bytes->begin(), bytes->end()));
  return workers ? workers : workers.status().within("'" + path + "'");
}

} // namespace

/// A text without a plus.
static Result<RemoteUri> parseOne(std::string_view text) {
  constexpr size_t scheme = std::string_view("worker:").size();
  size_t slash = text.find('/');
  RemoteUri uri;
  if (RemoteUri::matches(text) && slash != std::string_view::npos) {
    uri.worker = text.substr(scheme, slash - scheme);
    uri.device = text.substr(slash + 1);
  }
  if (!isDriverName(uri.worker) || uri.device.empty() ||
      RemoteUri::matches(uri.device))
    return invalidArgument("device \"" + std::string(text.substr(0, 256)) +
                           "\" is not of the form worker:NAME/DEVICE");
  if (Result<DeviceUri> device = DeviceUri::parse(uri.device); !device)
    return device.status();
  return uri;
}

Result<RemoteUri> RemoteUri::parse(std::string_view text) {
  std::vector<std::string> parts = splitUris(text);
  Result<RemoteUri> uri = parseOne(parts.front());
  for (size_t i = 1; uri && i < parts.size(); ++i) {
    Result<RemoteUri> more = parseOne(parts[i]);
    if (!more || more->worker != uri->worker)
      return invalidArgument(
          "device '" + std::string(text.substr(0, 256)) + "': '" +
          parts[i].substr(0, 256) + "' is not a device of worker '" +
          uri->worker + "'; devices joined by a plus are those of one " +
          "machine, each written as worker:" + uri->worker + "/DEVICE");
    uri->further.push_back(std::move(more->device));
  }
  return uri;
}

std::string RemoteUri::devices() const {
  std::string all = device;
  for (const std::string &uri : further)
    all += "+" + uri;
  return all;
}

Result<Launcher> Launcher::parse(std::string_view text) {
  Launcher launcher;
  std::vector<std::string> &words = launcher.words;
  char quote = 0;
  bool inWord = false;
  for (char c : text) {
    bool quotes = quote ? c == quote : c == '\'' || c == '"';
    bool ends = !quote && c == ' ';
    if (!ends && !inWord)
      words.emplace_back();
    inWord = !ends;
    if (quotes)
      quote = quote ? 0 : c;
    else if (!ends)
      words.back() += c;
  }
  if (quote)
    return invalidArgument("launcher '" + std::string(text) +
                           "' has an open quote");
  launcher.throughShell =
      !words.empty() && fs::path(words[0]).filename() == "ssh";
  return launcher;
}

std::string quoteForShell(const std::string &word) {
  constexpr const char *harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
                                   "RSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos)
    return word;
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string>
Launcher::command(const std::vector<std::string> &programAndArguments) const {
  std::vector<std::string> command = words;
  for (const std::string &word : programAndArguments)
    command.push_back(throughShell ? quoteForShell(word) : word);
  return command;
}

std::vector<std::string>
NamedWorker::command(const std::vector<std::string> &more) const {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), more.begin(), more.end());
  words = launcher.command(words);
  if (launcher.words.empty())
    return words;
  std::vector<std::string> all = {"env"};
  for (const char *name :
       {"BACKPLANE_PLUGIN_FILES", "BACKPLANE_PLUGINS_SELECT",
        "BACKPLANE_ADD_PLUGIN_FILES", "BACKPLANE_PLUGINS_DISABLE"}) {
    all.emplace_back("-u");
    all.emplace_back(name);
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Result<std::vector<NamedWorker>> readWorkers(const std::string &file,
                                             const FileTrust &trust) {
  Result<std::vector<NamedWorker>> own = readFile(file, trust);
  if (!own)
    return own.status();
  std::vector<NamedWorker> workers = predefined();
  for (NamedWorker &worker : *own) {
    worker.origin = file;
    auto same = std::ranges::find(workers, worker.name, &NamedWorker::name);
    if (same == workers.end())
      workers.push_back(std::move(worker));
    else
      *same = std::move(worker);
  }
  return workers;
}

/// What the user's environment says; see bp_context_options_t.
static Result<LoaderOptions> userOptions() {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  contextOptionsFromEnvironment(&options);
  return loaderOptions(&options);
}

Result<WorkerCommands> commandsFor(const std::string &device,
                                   const std::string &folder) {
  WorkerCommands commands;
  commands.run = {folder + "/bp-worker", "--device", device};
  commands.compile = {folder + "/bp-compile-worker", "--device", device};
  if (!RemoteUri::matches(device))
    return commands;
  Result<RemoteUri> uri = RemoteUri::parse(device);
  if (!uri)
    return uri.status();
  if (!uri->further.empty())
    return invalidArgument("device '" + device +
                           "' is several devices; name one of them");
  Result<LoaderOptions> options = userOptions();
  if (!options)
    return options.status();
  Result<NamedWorker> worker =
      findWorker(uri->worker, options->workersFile, options->trust);
  if (!worker)
    return worker.status();
  commands.run = worker->command({"--device", uri->device});
  return commands;
}

Result<NamedWorker> findWorker(const std::string &name, const std::string &file,
                               const FileTrust &trust) {
  Result<std::vector<NamedWorker>> workers = readWorkers(file, trust);
  if (!workers)
    return workers.status();
  std::vector<std::string> names;
  std::string list;
  for (NamedWorker &worker : *workers) {
    if (worker.name == name && worker.program.empty())
      return Status(BP_STATUS_NOT_FOUND,
                    "worker '" + name +
                        "' needs bp-worker for AArch64, which is neither at " +
                        arm64Places()[0].string() + " nor at " +
                        arm64Places()[1].string() +
                        "; build it with 'tools/build', or alone with "
                        "'cmake --preset arm64 && cmake --build --preset "
                        "arm64'");
    if (worker.name == name)
      return std::move(worker);
    names.push_back(worker.name);
    list += (list.empty() ? "'" : ", '") + worker.name + "'";
  }
  std::string near = nearestName(name, names);
  return notFound("there is no worker '" + name.substr(0, 64) + "'" +
                  (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                  "; there are " + list + "; describe more of them in " +
                  (file.empty() ? "the file that BACKPLANE_WORKERS names"
                                : "'" + file + "'"));
}

} // namespace backplane::worker
