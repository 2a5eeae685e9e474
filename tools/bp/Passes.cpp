// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/support/JsonString.h"
#include "sdk/support/PublishedPasses.h"

#include <algorithm>
#include <cstdio>

namespace backplane {
namespace {

std::string text(std::string_view view) { return std::string(view); }

/// Whether the stage and the pass that were asked for are there.
Status checkNames(const PassesOptions &options) {
  std::vector<std::string> stageNames, passNames;
  for (const Stage *stage : stages)
    stageNames.emplace_back(stage->name);
  for (const PublishedPass &pass : publishedPasses())
    passNames.emplace_back(pass.name);
  if (!options.stage.empty() && !findStage(options.stage))
    return invalidArgument("there is no stage '" + options.stage + "'" +
                           suggestion(options.stage, stageNames));
  if (!options.name.empty() && !findPublishedPass(options.name))
    return invalidArgument("there is no published pass '" + options.name + "'" +
                           suggestion(options.name, passNames));
  return {};
}

std::vector<const PublishedPass *> chosen(const PassesOptions &options) {
  std::vector<const PublishedPass *> passes;
  for (const Stage *stage : stages)
    for (const PublishedPass &pass : publishedPasses())
      if (pass.stage == stage->name &&
          (options.stage.empty() || options.stage == pass.stage) &&
          (options.name.empty() || options.name == pass.name))
        passes.push_back(&pass);
  return passes;
}

void print(const PublishedPass &pass) {
  std::printf("%s: %s\n", text(pass.name).c_str(), text(pass.summary).c_str());
  for (auto [key, value] : {std::pair("stage", pass.stage),
                            {"promise", pass.promise},
                            {"needs", pass.needs},
                            {"gives", pass.gives}})
    std::printf("  %-8s %s\n", key, text(value).c_str());
  for (const PassOption &option : pass.options)
    std::printf("  option   %s (%s): %s\n", text(option.name).c_str(),
                text(option.type).c_str(), text(option.description).c_str());
}

std::string jsonOf(const PublishedPass &pass) {
  std::string options;
  for (const PassOption &option : pass.options)
    options += (options.empty() ? "" : ", ") + std::string("{\"name\": ") +
               jsonString(option.name) +
               ", \"type\": " + jsonString(option.type) +
               ", \"description\": " + jsonString(option.description) + "}";
  std::string fields;
  for (auto [key, value] : {std::pair("name", pass.name),
                            {"summary", pass.summary},
                            {"stage", pass.stage},
                            {"promise", pass.promise},
                            {"needs", pass.needs},
                            {"gives", pass.gives}})
    fields += "\"" + std::string(key) + "\": " + jsonString(value) + ", ";
  return "  {" + fields + "\"options\": [" + options + "]}";
}

} // namespace

int runPasses(const PassesOptions &options) {
  if (Status s = checkNames(options); !s.ok())
    return fail(s);
  std::string json;
  for (const PublishedPass *pass : chosen(options)) {
    if (options.json)
      json += (json.empty() ? "" : ",\n") + jsonOf(*pass);
    else
      print(*pass);
  }
  if (options.json)
    std::printf("[\n%s\n]\n", json.c_str());
  return 0;
}

} // namespace backplane
