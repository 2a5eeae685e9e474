// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"
#include "conformance/publish/Archive.h"
#include "conformance/report/Facts.h"
#include "conformance/report/Record.h"
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"

#include <functional>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr uint32_t cases = 3;

/// A run in the parts that Run.cpp puts together.
struct Run {
  RunFacts facts;
  std::vector<Record> planned, found;
  std::string waivers, summary, manifest, signature, more, list = "the list\n",
                                                           keys;
};

Record plannedCase(uint32_t number) {
  Record record;
  record.id = "L3/exp/f32/n/" + std::to_string(number);
  record.unit = "L3/exp/f32/n";
  record.layer = 3;
  record.op = "exp";
  record.dtype = "f32";
  record.dataSet = "uniform";
  record.tested = {.elements = 10, .rank = 1, .macs = 10};
  record.status = number == 0 ? CaseStatus::NotSupported : CaseStatus::Fail;
  return record;
}

Record passing(Record record) {
  if (record.status == CaseStatus::NotSupported)
    return record;
  record.status = CaseStatus::Pass;
  record.limitUsed = 0.25;
  record.inputHash = std::string(32, '1');
  record.outputHash = std::string(32, '2');
  record.tested.runs = 1;
  return record;
}

Run goodRun(uint32_t shard = 1, uint32_t shards = 1) {
  Run run;
  run.facts.suite = "0.2.0";
  run.facts.date = "2026-11-21T10:00:00Z";
  run.facts.device = "acme://0";
  run.facts.cases = cases;
  run.facts.mustpass = "list";
  run.facts.shard = shard;
  run.facts.shards = shards;
  for (uint32_t i = shard - 1; i < cases; i += shards) {
    run.planned.push_back(plannedCase(i));
    run.found.push_back(passing(run.planned.back()));
  }
  return run;
}

std::string linesOf(const std::vector<Record> &records) {
  std::string lines;
  for (const Record &record : records)
    lines += toJson(record) + "\n";
  return lines;
}

std::string textOf(const Run &run) {
  std::string text = toJson(run.facts);
  for (const std::string &part :
       {linesOf(run.found), run.waivers, run.summary, run.manifest,
        run.signature, linesOf(run.planned), run.more, run.list, run.keys})
    text += "\x1E" + part;
  return text;
}

std::string textOf(const std::vector<Run> &shards) {
  std::string text;
  for (const Run &shard : shards)
    text += (text.empty() ? "" : "\x1D") + textOf(shard);
  return text;
}

using Changes = std::vector<std::function<void(Run &)>>;

Changes changesOfRecords() {
  return {
      [](Run &) {},
      [](Run &run) { run.found.pop_back(); },
      [](Run &run) { run.found.push_back(run.found[1]); },
      [](Run &run) { run.found[1].id = "L3/absent"; },
      [](Run &run) { run.found[1].seed = 77; },
      [](Run &run) { run.found[1].status = CaseStatus::NotSupported; },
      [](Run &run) { run.found[0].status = CaseStatus::Pass; },
      [](Run &run) { run.found[1].limitUsed = 1.5; },
      [](Run &run) { run.found[1].tested.elements = 1 << 30; },
      [](Run &run) { run.found[1].outputHash.clear(); },
      [](Run &run) { run.found[1].runMs = -1; },
      [](Run &run) { run.found[1].status = CaseStatus::QualityWarning; },
      [](Run &run) { run.found[0].outputHash = std::string(32, '2'); },
      [](Run &run) { run.found[1].status = CaseStatus::Waived; },
      [](Run &run) { run.planned.clear(); },
      [](Run &run) { run.planned[0].layer = run.found[0].layer = 8; },
  };
}

/// `failing` gives a case a folder among the failures.
Changes changesOfFiles() {
  auto failing = [](Run &run, const std::string &file) {
    run.found[1].status = CaseStatus::Fail;
    run.more = "failures/L3_exp_f32_n_1/" + file;
  };
  Changes changes = {
      [](Run &run) { run.facts.mustpass = "another list"; },
      [](Run &run) { run.facts.waiversHash = "00", run.waivers = "{}"; },
      [](Run &run) { run.facts.waiversHash = "00"; },
      [](Run &run) { run.facts.challenge = "x"; },
      [](Run &run) { run.facts.date = "2027-01-01T00:00:00Z"; },
      [](Run &run) { run.summary = "{}"; },
      [](Run &run) { run.list.clear(); },
      [](Run &run) { run.more = "notes.txt"; },
      [](Run &run) { run.more = "notes/"; },
      [](Run &run) { run.more = "@notes"; },
      [](Run &run) { run.more = "failures/L3_exp_f32_n_1/graph.bpg"; },
      [](Run &run) { run.more = "failures/x"; },
      [](Run &run) { run.more = "@failures/x"; },
      [](Run &run) { run.more = "@failures/x/y"; },
      [](Run &run) { run.waivers = "{}"; },
  };
  for (const char *date : {"2026-11-21", "x"})
    changes.emplace_back([=](Run &run) {
      run.facts.waiversHash = "made right";
      run.facts.date = date;
      run.waivers = R"({"format": 1, "waivers": []})";
    });
  changes.emplace_back([](Run &run) {
    run.facts.waiversHash = "made right";
    run.waivers = "{}";
  });
  for (const char *file :
       {"graph.bpg", "README.md\nfailures/L3_exp_f32_n_1/weight-a.npy",
        "input0.npy", "output.npy", "expectedx.npy", "other.npy", "run.sh",
        "folder/"})
    changes.emplace_back([=](Run &run) { failing(run, file); });
  return changes;
}

Changes changesOfSeals() {
  const std::string none =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  auto listing = [](const std::string &files, const std::string &root) {
    return [=](Run &run) {
      run.manifest = R"({"version": 1, "root": ")" + root + R"(", "files": {)" +
                     files + "}}";
    };
  };
  Changes changes = {
      listing("", none),
      listing(R"("absent": "00")", none),
      listing(R"("run.json": "00")", none),
      [](Run &run) { run.manifest = R"({"version": 2})"; },
      [](Run &run) { run.manifest = "x"; },
      [](Run &run) { run.manifest = R"({"version": 1})"; },
  };
  const std::string key(64, '0'), signature(128, '1');
  for (const std::string &text :
       {key, key + "\n" + signature, key + "\n", "x\n" + signature,
        key + "0\n" + signature, "acme " + key,
        "# nobody\nacme " + key + " # x", std::string("acme"),
        "a " + key + "\nb " + key, "acme " + key + " x"}) {
    changes.emplace_back([=](Run &run) { run.signature = text; });
    changes.emplace_back([=](Run &run) { run.keys = text; });
  }
  return changes;
}

/// Texts that no run writes.
std::vector<std::string> damaged() {
  const std::string sep = "\x1E", head = toJson(goodRun().facts),
                    lines = linesOf(goodRun().found);
  const std::string none =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  auto alone = [&](const std::string &root) {
    return sep + sep + sep + sep + R"({"version": 1, "root": ")" + root +
           R"(", "files": {}})";
  };
  return {"x",
          head,
          head + "\n" + sep + lines,
          head + sep + lines + "cut {",
          head + sep + "{}\n",
          head + sep + " " + lines,
          alone(none),
          alone("00"),
          std::string(10, '\x1E')
              .replace(7, 1,
                       "\x1E"
                       "folder/")};
}

std::vector<std::string> shards() {
  Run first = goodRun(1, 2), second = goodRun(2, 2), other = second;
  other.facts.seed = 5;
  Run sealed = second, stray = first, broken = second;
  sealed.more = "2/manifest.json";
  stray.more = "README\nx/";
  broken.found.pop_back();
  return {textOf({first, second}), textOf({first, first}),
          textOf({first}),         textOf({first, second, second}),
          textOf({first, other}),  textOf({first, sealed}),
          textOf({stray, second}), textOf({first, broken})};
}

/// A run that is verified, and runs of which each differs from it in one place.
std::vector<std::string> runSeeds() {
  std::vector<std::string> texts;
  for (const Changes &changes :
       {changesOfRecords(), changesOfFiles(), changesOfSeals()})
    for (const auto &change : changes) {
      Run run = goodRun();
      change(run);
      texts.push_back(textOf(run));
    }
  for (const auto &more : {damaged(), shards()})
    texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

/// The text of facts with one value of another kind each, and what it stood for
/// under an unknown name.
std::vector<std::string> withWrongMembers(const std::string &facts) {
  std::vector<std::string> texts;
  for (const auto &[name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{
           {"device", "1"},
           {"device", R"("\u0001")"},
           {"device", '"' + std::string(5000, 'x') + '"'},
           {"strict", "1"},
           {"shard", "4294967296"},
           {"shard", "-1"},
           {"filters", "1"},
           {"filters", R"(["a", 1])"},
           {"filters", R"(["a"])"},
           {"models", "1"},
           {"models", R"({"a": 1})"},
           {"numerics", "1"},
           {"numerics", "[1]"}}) {
    const std::string key = '"' + name + "\":";
    std::string text = facts;
    if (size_t at = text.find(key); at != text.npos)
      text.replace(at, key.size(), key + " " + value + ", \"more\":");
    texts.push_back(text);
  }
  return texts;
}

} // namespace

Status fuzz::writeSubmissions(const fs::path &root) {
  Record record;
  record.id = "L3/exp/f32/n/special";
  RunFacts facts;
  facts.date = "2026-11-21T10:00:00Z";
  facts.numerics = {{"DOT", "f32", 24, 0, 8}};
  facts.environment = {{"processor", "x"}};
  std::vector<std::string> texts = withWrongMembers(toJson(facts));
  texts.push_back(toJson(record));
  texts.push_back(toJson(facts));
  texts.push_back(mustpassText({record.id, "L3/add/f32/n/uniform"}));
  writeTexts(folderOf(root, "records"), texts);
  const std::string waivers =
      R"({"format": 1, "waivers": [{"id": "a", "cases": ["L3/exp/*"],
           "devices": ["acme:*"], "suite_versions": ["0.2.*"],
           "reason": "r", "url": "https://x", "owner": "o",
           "expires": "2027-01-01"}]})";
  writeTexts(folderOf(root, "waivers"), {waivers});
  writeTexts(folderOf(root, "run"), runSeeds());
  return packArchive(
      (root / "waivers").string(),
      (folderOf(root, "submission") / "sample.tar.zst").string());
}
