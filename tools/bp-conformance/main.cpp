// SPDX-License-Identifier: Apache-2.0
//
// bp-conformance: what `bp conformance` starts. Runs the conformance suite
// against a device and writes records and a report.
#include "backplane/compiler.h"
#include "conformance/cases/Judge.h"
#include "conformance/compare/SelfCheck.h"
#include "conformance/publish/Html.h"
#include "conformance/runner/Suite.h"
#include "sdk/package/AtomicFile.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <unistd.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

struct Options {
  std::string device = "host";
  std::string depth = "smoke";
  SuiteOptions suite;
  std::string shard = "1/1";
  std::string out;
  unsigned timeoutSeconds = 60;
  bool list = false;
};

int fail(const Status &status) {
  std::fprintf(stderr, "bp conformance: %s\n", status.message().c_str());
  return 1;
}

void addOptions(CLI::App &app, Options &options) {
  app.add_option("--device", options.device, "device URI: host, ref, …")
      ->capture_default_str();
  app.add_option("--depth", options.depth, "how many cases")
      ->check(CLI::IsMember({"smoke", "standard", "full"}))
      ->capture_default_str();
  app.add_option("--filter", options.suite.filters,
                 "only cases whose id matches this glob; may be repeated");
  app.add_option("--exclude", options.suite.excludes,
                 "no case whose id matches this glob; may be repeated");
  app.add_option("--shard", options.shard, "I/N: the I-th of N equal parts")
      ->capture_default_str();
  app.add_option("--seed", options.suite.selection.seed,
                 "mixed into the seed of every random case")
      ->capture_default_str();
  app.add_option("--jobs", options.suite.jobs,
                 "cases that run side by side; default: one per core")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--timeout", options.timeoutSeconds,
                 "seconds that one case or compilation may take")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
  app.add_option("--out", options.out, "folder for records and report");
  app.add_flag("--resume", options.suite.resume,
               "go on with the run in --out that was interrupted");
  app.add_flag("--list", options.list, "print the ids of the cases and stop");
}

Status parseShard(Options &options) {
  const char *end = options.shard.data() + options.shard.size();
  auto [slash, first] =
      std::from_chars(options.shard.data(), end, options.suite.shard);
  bool isWhole = first == std::errc() && slash != end && *slash == '/';
  if (isWhole) {
    auto [rest, second] = std::from_chars(slash + 1, end, options.suite.shards);
    isWhole = second == std::errc() && rest == end;
  }
  if (!isWhole || options.suite.shard < 1 ||
      options.suite.shard > options.suite.shards)
    return invalidArgument("--shard '" + options.shard +
                           "' is not of the form I/N with 1 <= I <= N");
  return {};
}

Depth depthOf(const std::string &name) {
  return name == "smoke"      ? Depth::Smoke
         : name == "standard" ? Depth::Standard
                              : Depth::Full;
}

void setUp(Options &options) {
  SuiteOptions &suite = options.suite;
  suite.selection.depth = depthOf(options.depth);
  suite.folder = options.out;
  std::error_code code;
  auto here = std::filesystem::read_symlink("/proc/self/exe", code);
  std::string programs = here.parent_path().string() + "/";
  suite.job.worker = {programs + "bp-worker", "--device", options.device};
  suite.job.compiler = {programs + "bp-compile-worker", "--device",
                        options.device};
  suite.job.timeout = std::chrono::seconds(options.timeoutSeconds);
  suite.job.judgement = {inputsOf, evaluate, judge, isProbe, expectsError};
  if (isatty(STDERR_FILENO))
    suite.progress = [](size_t done, size_t total, size_t bad) {
      std::fprintf(stderr, "\r%zu of %zu units, %zu bad cases ", done, total,
                   bad);
      if (done == total)
        std::fputc('\n', stderr);
    };
}

/// Everything that decides the records, on one line.
std::string describe(const Options &options, const worker::Hello &hello) {
  std::string text = "suite " + hello.version + ", device " + hello.device +
                     ", target " + hello.target + ", depth " + options.depth +
                     ", seed " + std::to_string(options.suite.selection.seed) +
                     ", shard " + options.shard;
  for (const std::string &glob : options.suite.filters)
    text += ", filter " + glob;
  for (const std::string &glob : options.suite.excludes)
    text += ", exclude " + glob;
  return text;
}

TextTable numericsTable(const worker::Hello &hello) {
  TextTable rows = {{"class", "dtype", "accumulator bits", "rounding",
                     "flushes input", "flushes output", "contracts",
                     "deterministic"}};
  auto flag = [](uint32_t flags, uint32_t bit) {
    return std::string(flags & bit ? "yes" : "no");
  };
  for (const worker::WireNumerics &n : hello.numerics)
    rows.push_back({n.opClass, std::string(name(static_cast<DType>(n.dtype))),
                    std::to_string(n.accumulatorBits),
                    n.rounding == BP_ROUNDING_ZERO ? "to zero" : "to nearest",
                    flag(n.flags, BP_NUMERICS_FLUSH_INPUT),
                    flag(n.flags, BP_NUMERICS_FLUSH_OUTPUT),
                    flag(n.flags, BP_NUMERICS_CONTRACT),
                    flag(n.flags, BP_NUMERICS_DETERMINISTIC)});
  return rows;
}

/// Counts by layer and status, then every bad case.
size_t printSummary(const std::vector<Record> &records) {
  std::map<int, std::map<CaseStatus, size_t>> counts;
  size_t bad = 0;
  for (const Record &record : records) {
    ++counts[record.layer][record.status];
    if (isGood(record.status))
      continue;
    ++bad;
    std::printf("%s %s: %s\n", std::string(name(record.status)).c_str(),
                record.id.c_str(), record.reason.c_str());
  }
  for (const auto &[layer, row] : counts) {
    std::printf("layer %d:", layer);
    for (const auto &[status, count] : row)
      std::printf(" %zu %s", count, std::string(name(status)).c_str());
    std::printf("\n");
  }
  return bad;
}

Status writeReport(const Options &options, const worker::Hello &hello,
                   const std::vector<Record> &records, size_t bad) {
  ReportFacts facts;
  facts.device = hello.device;
  facts.passed = bad == 0;
  facts.verdict =
      bad ? std::to_string(bad) + " cases are not good" : "all cases are good";
  facts.reasons = {"No badge: this version of the suite covers a part of the "
                   "ops and layers."};
  facts.numerics = numericsTable(hello);
  facts.environment = {{"run", describe(options, hello)},
                       {"device", hello.deviceName},
                       {"plug-in", hello.plugin}};
  std::string html = reportHtml(facts, records);
  return writeFileAtomically(
      options.out + "/report.html",
      {reinterpret_cast<const uint8_t *>(html.data()), html.size()});
}

int listCases(const std::vector<Unit> &units) {
  for (const Unit &unit : units)
    for (const Case &testCase : unit.cases)
      std::puts(testCase.id.c_str());
  return 0;
}

int run(Options &options) {
  if (auto status = parseShard(options); !status.ok())
    return fail(status);
  setUp(options);
  auto units = chooseUnits(options.suite);
  if (!units)
    return fail(units.status());
  if (options.list)
    return listCases(*units);
  if (options.out.empty())
    return fail(invalidArgument("--out is missing: the folder for records and "
                                "report"));
  if (auto status = checkComparator(); !status.ok())
    return fail(status.within("the comparator is broken"));
  Job probe(options.suite.job);
  auto hello = probe.hello();
  if (!hello)
    return fail(hello.status());
  auto records = runSuite(options.suite, *units, describe(options, *hello));
  if (!records)
    return fail(records.status());
  size_t bad = printSummary(*records);
  if (auto status = writeReport(options, *hello, *records, bad); !status.ok())
    return fail(status);
  std::printf("%s: %zu cases, %zu not good; report in %s/report.html\n",
              hello->device.c_str(), records->size(), bad, options.out.c_str());
  return bad ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("bp conformance: proves that a device computes right numbers, "
               "case by case, against an oracle with derived limits.\n\n"
               "  bp conformance --device ref --out out\n"
               "  bp conformance --device host --depth standard --out out "
               "--resume\n"
               "  bp conformance --list --filter 'L3/softmax/*'\n");
  app.name("bp conformance");
  Options options;
  options.suite.jobs = std::max(1u, std::thread::hardware_concurrency());
  addOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 1 : 0;
  }
  return run(options);
}
