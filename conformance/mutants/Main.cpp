// SPDX-License-Identifier: Apache-2.0
//
// bp-mutants: runs one mutant through the suite and says which cases find it,
// one JSON object a line. run_mutants.py starts it for each of them.
#include "Hunt.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/ProgramFolder.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace backplane;
using namespace backplane::mutants;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string mutant;
  HuntOptions hunt;
  bool list = false;
};

void print(const Json &line) {
  constexpr auto replace = Json::error_handler_t::replace;
  std::printf("%s\n", line.dump(-1, ' ', false, replace).c_str());
  std::fflush(stdout);
}

int list() {
  for (const Mutant &mutant : allMutants())
    print({{"id", mutant.id()},
           {"number", mutant.number},
           {"family", name(mutant.family)},
           {"title", mutant.title},
           {"description", mutant.description},
           {"tags", mutant.tags},
           {"equivalent", mutant.equivalent},
           {"kills", mutant.kills}});
  return 0;
}

int fail(const std::string &why) {
  std::fprintf(stderr, "bp-mutants: %s\n", readableMessage(why).c_str());
  return 1;
}

int run(const Options &options) {
  if (options.list)
    return list();
  const Mutant *mutant = findMutant(options.mutant);
  if (!mutant)
    return fail("no mutant is called '" + options.mutant + "'; see --list");
  std::string manifest =
      programFolder().string() + "/../lib/backplane/mutants/mutant.bp.json";
  setenv("BACKPLANE_ADD_PLUGIN_FILES", manifest.c_str(), 1);
  setenv("BACKPLANE_CACHE_DIR", "-", 1);
  Hunt hunt(*mutant, options.hunt, [&](const Kill &kill) {
    print({{"mutant", mutant->id()},
           {"case", kill.id},
           {"status", kill.status},
           {"reason", kill.reason.substr(0, 300)},
           {"seconds", kill.seconds}});
  });
  if (Status status = hunt.run(); !status.ok())
    return fail(mutant->id() + ": " + status.message());
  print({{"mutant", mutant->id()},
         {"kills", hunt.kills()},
         {"cases", hunt.cases()},
         {"unsound", hunt.unsound()},
         {"seed", options.hunt.seed},
         {"seconds", hunt.seconds()}});
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  command::holdStandardStreams();
  CLI::App app("Runs a backend that is broken on purpose through the cases "
               "that carry its tags, and prints those that find it.");
  app.name("bp-mutants");
  Options options;
  HuntOptions &hunt = options.hunt;
  app.add_flag("--list", options.list, "print all mutants and stop");
  app.add_option("--run", options.mutant, "id of the mutant");
  app.add_option("--until", hunt.until, "kills after which to stop; 0: never")
      ->capture_default_str();
  app.add_option("--seconds", hunt.seconds, "seconds after which to stop");
  app.add_flag("--everything", hunt.everything,
               "all checks, and all units of the smoke depth");
  app.add_option("--seed", hunt.seed,
                 "what the mutant's thresholds and the data of the cases are "
                 "drawn from");
  app.add_option("--sample", hunt.sample, "every n-th unit of --everything")
      ->check(CLI::PositiveNumber);
  if (auto code = command::parse(app, argc, argv))
    return *code;
  return command::work("bp-mutants", [&] { return run(options); });
}
