// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "backplane/hal.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Sizes.h"
#include "conformance/compare/SelfCheck.h"
#include "conformance/kernels/KernelUnits.h"
#include "conformance/models/RealModels.h"
#include "conformance/publish/Publish.h"
#include "conformance/publish/Seal.h"
#include "conformance/report/Outcomes.h"
#include "conformance/report/Profiles.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/SuiteVersion.h"
#include "conformance/repro/SaveFailures.h"
#include "conformance/runner/Mustpass.h"
#include "hal/worker/Workers.h"
#include "sdk/support/Hash.h"
#include "sdk/support/ReadableText.h"
#ifdef BP_WITH_IMPORT
#include "sdk/import/Import.h"
#endif
#include "sdk/support/AtomicFile.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace backplane::conformance {
namespace {

#ifdef BP_WITH_IMPORT
constexpr auto importModel = importOnnx;
#else
Result<Model> importModel(const std::string &) {
  return unimplemented("this build has no importer");
}
#endif

/// A sanitizer takes more private memory than any limit would leave.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

uint64_t memoryLimit(const RunOptions &options) {
  if (sanitized && !options.memoryMiB)
    return 0;
  uint64_t all =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  return options.memoryMiB ? options.memoryMiB << 20 : all / 4 * 3;
}

/// Where the programs of workers are.
std::string folderOf(const RunOptions &options) {
  std::error_code code;
  if (!options.workerFolder.empty())
    return options.workerFolder;
  return std::filesystem::read_symlink("/proc/self/exe", code)
      .parent_path()
      .string();
}

/// The commands of both workers, behind --launcher or a worker's own.
Result<worker::WorkerCommands> commandsOf(const RunOptions &options) {
  bool remote = worker::RemoteUri::matches(options.device);
  if (remote && !(options.launcher + options.workerFolder).empty())
    return invalidArgument("--launcher and --worker-folder do not go with "
                           "device '" +
                           options.device +
                           "', whose worker has a launcher of its own");
  auto commands = worker::commandsFor(options.device, folderOf(options));
  auto launcher = worker::Launcher::parse(options.launcher);
  if (!commands || !launcher)
    return commands ? launcher.status() : commands.status();
  if (!remote) {
    commands->run = launcher->command(commands->run);
    commands->compile = launcher->command(commands->compile);
  }
  return commands;
}

/// Applications are started on this machine only.
Status setUpApplication(RunOptions &options) {
  JobOptions &job = options.suite.job;
  ApplicationOptions &application = job.application;
  application.begin.device = options.device;
  application.begin.memoryLimit = memoryLimit(options);
  application.timeout = job.timeout;
  application.seed = options.suite.selection.seed;
  std::string program = folderOf(options) + "/bp-application";
  std::error_code code;
  if (!worker::RemoteUri::matches(options.device) && options.launcher.empty() &&
      std::filesystem::exists(program, code))
    application.program = program;
  if (job.disguise && application.program.empty())
    return invalidArgument("--disguise needs a device of this machine, no "
                           "launcher, and bp-application beside this program");
  return {};
}

} // namespace

Status setUpJob(RunOptions &options) {
  JobOptions &job = options.suite.job;
  auto commands = commandsOf(options);
  if (!commands)
    return commands.status();
  job.worker = std::move(commands->run);
  job.compiler = std::move(commands->compile);
  for (std::vector<std::string> *command : {&job.worker, &job.compiler}) {
    command->emplace_back("--memory-limit");
    command->push_back(std::to_string(memoryLimit(options)));
  }
  job.timeout = std::chrono::seconds(options.timeoutSeconds);
  job.keepGoing = options.keepGoing;
  job.helped = options.suite.helped = isHelped(options.device);
  job.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  return setUpApplication(options);
}

namespace {

void showProgress(SuiteOptions &suite) {
  if (isatty(STDERR_FILENO))
    suite.progress = [](size_t done, size_t total, size_t bad) {
      std::fprintf(stderr, "\r%zu of %zu units, %zu bad cases ", done, total,
                   bad);
      if (done == total)
        std::fputc('\n', stderr);
    };
}

using NamedHash = std::pair<std::string, std::string>;

void addDevice(RunFacts &facts, const worker::Hello &compiles,
               const worker::Hello &runs) {
  facts.device = compiles.device;
  facts.deviceName = runs.deviceName;
  facts.plugin = runs.plugin;
  facts.target = compiles.target;
  facts.deviceKind = runs.deviceKind;
  facts.deviceFlags = runs.deviceFlags;
  facts.storageDTypes = compiles.storageDTypes;
  facts.computeDTypes = compiles.computeDTypes;
  for (const worker::WireNumerics &n : compiles.numerics)
    facts.numerics.push_back({n.opClass,
                              std::string(name(static_cast<DType>(n.dtype))),
                              n.accumulatorBits, n.rounding, n.flags});
  for (const worker::WireFile &file : compiles.files)
    facts.pluginFiles.emplace_back(file.name, file.sha256);
  // Files of the other machine may have the same names.
  for (const worker::WireFile &file : runs.files) {
    NamedHash pair(file.name, file.sha256);
    if (std::ranges::count(facts.pluginFiles, pair))
      continue;
    if (std::ranges::count(facts.pluginFiles, pair.first, &NamedHash::first))
      pair.first = "worker/" + pair.first;
    facts.pluginFiles.push_back(std::move(pair));
  }
}

/// Lines of a text without what a record of it cannot hold.
std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return lines;
}

/// The kernels that are judged: those that both workers have.
Status addKernels(RunFacts &facts, const worker::Hello &compiles,
                  const worker::Hello &runs) {
  auto same = [](const worker::WireKernel &kernel) {
    return std::pair(kernel.set, kernel.text);
  };
  for (const worker::WireKernel &kernel : compiles.kernels) {
    if (!std::ranges::count(runs.kernels, same(kernel), same))
      return Status(BP_STATUS_FAILED_PRECONDITION,
                    "the set of kernels '" + kernel.set +
                        "' is not on the machine that runs; install it there, "
                        "or leave it out with BACKPLANE_PLUGINS_DISABLE");
    JudgedKernel judged{kernel.set, kernel.version, linesOf(kernel.text)};
    for (uint32_t binding : kernel.weights)
      judged.weights |= uint64_t(binding < 64) << (binding & 63);
    facts.kernels.push_back(std::move(judged));
  }
  return {};
}

/// "qemu-aarch64" when a command runs its program in an emulator that is known
/// by its name; else empty.
std::string emulatorIn(const std::vector<std::string> &command) {
  for (const std::string &word : command) {
    std::string program = std::filesystem::path(word).filename().string();
    if (program.starts_with("qemu-") || program == "box64" ||
        program == "fex-emu" || program == "FEXInterpreter")
      return program;
  }
  return {};
}

/// Multiply-adds of one case where an emulator or the host's processor stands
/// in for a device that declares no budget.
constexpr uint64_t emulatedBudget = uint64_t(1) << 27;

/// The largest buffer of the device that a worker greets with; 0: not known.
uint64_t bufferBytesOf(const worker::Hello &hello) {
  for (const worker::WireDevice &device : hello.devices)
    if (device.refusal.empty() && !device.id.empty() &&
        device.name == hello.deviceName)
      return device.maxBufferSize;
  return 0;
}

/// Whether a budget is none: the depth takes no more.
bool isAtLeastDepth(uint64_t budget, Depth depth) {
  return static_cast<double>(budget) >= limitsOf(depth, 0).work;
}

/// What sizes must keep to: the budget that is given or that the device
/// declares, and its largest buffer.
void takeLimits(const worker::Hello &compiles, const worker::Hello &runs,
                RunOptions &options, RunFacts &facts) {
  Selection &selection = options.suite.selection;
  uint64_t budget = selection.budget;
  for (uint64_t declared : {compiles.budget, runs.budget})
    if (!selection.budget && declared && (!budget || declared < budget))
      budget = declared;
  if (!budget && isEmulated(facts))
    budget = emulatedBudget;
  // What the depth does not ask is not claimed.
  if (isAtLeastDepth(budget, selection.depth))
    budget = 0;
  selection.budget = facts.budget = budget;
  selection.bufferBytes = facts.bufferBytes = bufferBytesOf(runs);
}

} // namespace

Status identify(RunOptions &options, RunFacts &facts) {
  Job probe(options.suite.job);
  auto compiles = probe.hello();
  if (!compiles)
    return compiles.status();
  auto runs = probe.runHello();
  if (!runs)
    return runs.status();
  if (compiles->version != productVersion() ||
      runs->version != productVersion())
    return invalidArgument("the workers have version " + runs->version +
                           ", the suite " + productVersion() +
                           "; install the same everywhere");
  facts.emulator = emulatorIn(options.suite.job.worker);
  if (worker::RemoteUri::matches(options.device))
    facts.environment.emplace_back("worker", runs->machine);
  addDevice(facts, *compiles, *runs);
  if (Status s = addKernels(facts, *compiles, *runs); !s.ok())
    return s;
  takeLimits(*compiles, *runs, options, facts);
  options.suite.job.compileFiles = compiles->files;
  options.suite.job.runFiles = runs->files;
  return {};
}

Status checkUnchanged(const RunOptions &options) {
  Job probe(options.suite.job);
  if (auto compiles = probe.hello(); !compiles)
    return compiles.status();
  return probe.runHello().status();
}

namespace {

/// What is known of a run before its cases are chosen.
Result<RunFacts> factsOf(RunOptions &options, const ModelFiles &models) {
  RunFacts facts;
  facts.suite = suiteVersion;
  facts.commit = suiteCommit();
  facts.date = now();
  facts.depth = options.depth;
  facts.profile = options.suite.profile;
  facts.challenge = options.challenge;
  facts.shard = options.suite.shard;
  facts.shards = options.suite.shards;
  facts.filters = options.suite.filters;
  facts.excludes = options.suite.excludes;
  facts.strict = options.suite.job.strict;
  facts.models = models;
  facts.environment = environmentOf(options);
  facts.variables = cleanEnvironment(options.variables);
  if (Status s = setUpJob(options); !s.ok())
    return s;
  if (Status s = identify(options, facts); !s.ok())
    return s;
  facts.seed = options.seed.value_or(officialSeed(facts));
  return facts;
}

/// Reads --waivers and keeps a copy beside the records.
Result<std::vector<Waiver>> takeWaivers(const RunOptions &options,
                                        RunFacts &facts) {
  if (options.waivers.empty())
    return std::vector<Waiver>();
  auto text = readTextFile(options.waivers, 1 << 20);
  if (!text)
    return text.status();
  auto waivers = parseWaivers(*text, *parseDate(facts.date));
  if (!waivers)
    return waivers.status().within(options.waivers);
  std::span bytes(reinterpret_cast<const uint8_t *>(text->data()),
                  text->size());
  facts.waiversHash = sha256(bytes);
  std::error_code code;
  std::filesystem::create_directories(options.out, code);
  if (Status s = writeFileAtomically(options.out + "/waivers.json", bytes);
      !s.ok())
    return s;
  return waivers;
}

Status writeList(const std::string &folder, const Plan &plan) {
  std::string text = mustpassText(plan.mustpass);
  return writeFileAtomically(
      folder + "/mustpass.txt",
      {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

int listCases(const Plan &plan) {
  for (const std::string &id : plan.ids())
    std::puts(id.c_str());
  return passed;
}

} // namespace

Result<FoundModels> takeModels(RunOptions &options) {
  if (options.models.empty())
    return FoundModels();
  auto found = findModels(options.models);
  if (!found)
    return found.status().within("--models");
  auto units = plannedModels(found->files);
  if (!units)
    return units.status();
  options.suite.models = std::move(*units);
  return found;
}

Status loadModels(const FoundModels &found, Plan &plan) {
  for (Unit &unit : plan.units)
    if (unit.op == realModelOp)
      if (Status s = loadModel(found, importModel, unit); !s.ok())
        return s.within("--models");
  return {};
}

namespace {

/// So that nobody waits for a badge that cannot come.
void warnOfSmallSizes(const RunFacts &facts) {
  const LeastSizes least = minSizes(facts), given = tooSmall(facts);
  if (facts.depth == "smoke")
    return;
  if (given.multiplyAdds)
    std::fprintf(stderr,
                 "note: the budget is %" PRIu64 " multiply-adds a case, Full "
                 "asks for %" PRIu64 "; give --budget, or declare more in the "
                 "manifest\n",
                 given.multiplyAdds, least.multiplyAdds);
  if (given.bufferBytes)
    std::fprintf(stderr,
                 "note: the largest buffer has %" PRIu64
                 " bytes, Full asks for %" PRIu64 "\n",
                 given.bufferBytes, least.bufferBytes);
}

/// Registered kernels that the facts name take part.
Status addKernelUnits(const RunFacts &facts, SuiteOptions &suite) {
  auto units = kernelUnits(facts.kernels, suite.selection);
  if (!units)
    return units.status().within("a set that cannot be judged is left out "
                                 "with BACKPLANE_PLUGINS_DISABLE");
  suite.kernels = std::move(*units);
  return {};
}

/// Runs, judges and writes everything.
Result<RunVerdict> runAll(RunOptions &options, const FoundModels &models) {
  auto facts = factsOf(options, models.files);
  if (!facts)
    return facts.status();
  options.suite.selection.seed = facts->seed;
  if (Status s = addKernelUnits(*facts, options.suite); !s.ok())
    return s;
  auto planned = planSuite(options.suite);
  if (!planned)
    return planned.status();
  Plan &plan = *planned;
  if (Status s = loadModels(models, plan); !s.ok())
    return s;
  facts->cases = plan.mustpass.size();
  facts->mustpass = hashOfIds(plan.mustpass);
  // As who reads run.json has them: sorted.
  facts = parseFacts(toJson(*facts));
  if (!facts)
    return facts.status();
  warnOfSmallSizes(*facts);
  showProgress(options.suite);
  auto waivers = takeWaivers(options, *facts);
  if (!waivers)
    return waivers.status();
  auto records = runSuite(options.suite, plan, *facts);
  if (!records)
    return records.status();
  if (Status s = checkUnchanged(options); !s.ok())
    return s;
  RunVerdict verdict = judgeRun(*facts, *records, plan.ids(), *waivers);
  printVerdict(verdict, *records);
  auto saved = saveFailures(plan.units, *records, options.suite.job,
                            options.out, options.device);
  if (!saved)
    return saved.status();
  if (*saved > 0)
    std::printf("%zu failing graphs, made small, are in %s/failures\n", *saved,
                options.out.c_str());
  if (Status s = writeList(options.out, plan); !s.ok())
    return s;
  if (Status s = writeReports(options.out, *facts, verdict, *records); !s.ok())
    return s;
  if (!options.sign.empty())
    if (Status s = sealFolder(options.out, options.sign); !s.ok())
      return s;
  return verdict;
}

} // namespace

int fail(const Status &status) {
  std::fprintf(stderr, "bp conformance: %s\n",
               readableMessage(status.message()).c_str());
  return cannot;
}

static Depth depthNamed(const std::string &name) {
  return name == "smoke"      ? Depth::Smoke
         : name == "standard" ? Depth::Standard
                              : Depth::Full;
}

Status readChoice(RunOptions &options) {
  SuiteOptions &suite = options.suite;
  suite.selection.depth = depthNamed(options.depth);
  suite.folder = options.out;
  suite.selection.seed = options.seed.value_or(0);
  const char *end = options.shard.data() + options.shard.size();
  auto [slash, first] = std::from_chars(options.shard.data(), end, suite.shard);
  bool whole = first == std::errc() && slash != end && *slash == '/';
  if (whole) {
    auto [rest, second] = std::from_chars(slash + 1, end, suite.shards);
    whole = second == std::errc() && rest == end;
  }
  if (!whole || suite.shard < 1 || suite.shard > suite.shards)
    return invalidArgument("--shard '" + options.shard +
                           "' is not of the form I/N with 1 <= I <= N");
  return {};
}

Result<Plan> planOf(const RunFacts &facts) {
  RunOptions options;
  options.depth = facts.depth;
  options.shard =
      std::to_string(facts.shard) + "/" + std::to_string(facts.shards);
  options.seed = facts.seed;
  if (Status s = readChoice(options); !s.ok())
    return s;
  if (isAtLeastDepth(facts.budget, options.suite.selection.depth))
    return dataLoss("run.json: a budget of " + std::to_string(facts.budget) +
                    " multiply-adds is more than the depth takes");
  options.suite.selection.budget = facts.budget;
  options.suite.selection.bufferBytes = facts.bufferBytes;
  options.suite.profile = facts.profile;
  options.suite.helped = isHelped(facts.device);
  options.suite.filters = facts.filters;
  options.suite.excludes = facts.excludes;
  auto models = plannedModels(facts.models);
  if (!models)
    return models.status();
  options.suite.models = std::move(*models);
  if (Status s = addKernelUnits(facts, options.suite); !s.ok())
    return s;
  return planSuite(options.suite);
}

/// Text of a device or a submission without what would steer a terminal, but
/// for the characters of `kept`.
static std::string plain(std::string text, std::string_view kept = "") {
  for (char &c : text)
    if (kept.find(c) == std::string_view::npos &&
        (static_cast<unsigned char>(c) < ' ' || c == 0x7F))
      c = c == '\n' ? ' ' : '?';
  return text;
}

void printVerdict(const RunVerdict &verdict,
                  const std::vector<Record> &records) {
  for (const Record &record : records)
    if (isBad(record.status))
      std::printf("%s %s: %s\n", std::string(name(record.status)).c_str(),
                  plain(record.id).c_str(), plain(record.reason).c_str());
  for (const auto &[layer, row] : verdict.counts) {
    std::printf("layer %d:", layer);
    for (const auto &[status, count] : row)
      std::printf(" %zu %s", size_t(count), std::string(name(status)).c_str());
    std::printf("\n");
  }
  std::printf("%s%s%s", plain(outcomesText(records), "\n").c_str(),
              limitsText(verdict).c_str(), tableText(verdict).c_str());
  for (const std::string &problem : verdict.problems)
    std::printf("problem: %s\n", problem.c_str());
  std::printf("verdict: %s%s\n", verdict.title().c_str(),
              verdict.passed ? "" : " (not passed)");
}

/// --list and --repro, which has the sizes that the device gets.
static int oneCommand(RunOptions &options, const FoundModels &found) {
  RunFacts facts;
  if (!options.list) {
    cleanEnvironment(options.variables);
    if (Status s = setUpJob(options); !s.ok())
      return fail(s);
    if (Status s = identify(options, facts); !s.ok())
      return fail(s);
    // Each depth has cases of its own.
    SuiteOptions asked = options.suite;
    asked.selection.depth = depthNamed(options.depth);
    if (Status s = addKernelUnits(facts, asked); !s.ok())
      return fail(s);
    options.suite.kernels = std::move(asked.kernels);
  }
  auto plan = planSuite(options.suite);
  if (!plan && !options.repro.empty())
    return fail(invalidArgument("--repro '" + options.repro +
                                "' is no case; see --list --depth full; real "
                                "models need --models"));
  if (!plan)
    return fail(plan.status());
  if (options.list)
    return listCases(*plan);
  if (Status s = loadModels(found, *plan); !s.ok())
    return fail(s);
  if (Status s = checkComparator(); !s.ok())
    return fail(s.within("the comparator is broken"));
  return reproCommand(options, *plan);
}

int runCommand(RunOptions &options) {
  if (options.listProfiles) {
    std::fputs(profilesText().c_str(), stdout);
    return passed;
  }
  if (Status s = readChoice(options); !s.ok())
    return fail(s);
  if (!options.repro.empty()) {
    options.suite.selection.depth = Depth::Full;
    options.suite.filters = {options.repro};
  }
  auto found = takeModels(options);
  if (!found)
    return fail(found.status());
  if (options.list || !options.repro.empty())
    return oneCommand(options, *found);
  if (options.out.empty())
    return fail(invalidArgument("--out is missing: the folder for records and "
                                "report"));
  if (Status s = checkComparator(); !s.ok())
    return fail(s.within("the comparator is broken"));
  auto verdict = runAll(options, *found);
  if (!verdict)
    return fail(verdict.status());
  std::printf("report in %s/report.html\n", options.out.c_str());
  return verdict->passed ? passed : notPassed;
}

} // namespace backplane::conformance
