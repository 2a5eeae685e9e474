// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "conformance/compare/SelfCheck.h"
#include "conformance/models/RealModels.h"
#include "conformance/publish/Publish.h"
#include "conformance/publish/Seal.h"
#include "conformance/report/Profiles.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/SuiteVersion.h"
#include "conformance/repro/SaveFailures.h"
#include "conformance/runner/Mustpass.h"
#include "sdk/support/Hash.h"
#include "sdk/support/ReadableText.h"
#ifdef BP_WITH_IMPORT
#include "sdk/import/Import.h"
#endif
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TextViews.h"

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

void showProgress(SuiteOptions &suite) {
  if (isatty(STDERR_FILENO))
    suite.progress = [](size_t done, size_t total, size_t bad) {
      std::fprintf(stderr, "\r%zu of %zu units, %zu bad cases ", done, total,
                   bad);
      if (done == total)
        std::fputc('\n', stderr);
    };
}

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
  std::span<const uint8_t> bytes = asBytes(*text);
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
  return writeFileAtomically(folder + "/mustpass.txt", asBytes(text));
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

/// Runs, judges and writes everything.
Result<RunVerdict> runAll(RunOptions &options, const FoundModels &models) {
  auto facts = factsOf(options, models.files);
  if (!facts)
    return facts.status();
  options.suite.selection.seed = facts->seed;
  if (Status s = addKernelUnits(facts->kernels, options.suite); !s.ok())
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
  if (Status s = addKernelUnits(facts.kernels, options.suite); !s.ok())
    return s;
  return planSuite(options.suite);
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
    if (Status s = addKernelUnits(facts.kernels, asked); !s.ok())
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
