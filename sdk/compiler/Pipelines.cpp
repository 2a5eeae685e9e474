// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Pipelines.h"

#include "hal/core/CompilerCalls.h"
#include "sdk/compiler/PassLibraries.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/support/Error.h"
#include "sdk/support/NearestName.h"
#include "sdk/support/PublishedPasses.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace backplane;

namespace {

/// Pipelines for one stage, the preferred one first.
struct Alternatives {
  std::string stage;
  std::vector<std::string> pipelines;
};

/// The passes that a pipeline names. Options stand in braces, anchors
/// ("func.func") in front of parentheses.
std::vector<std::string> passesIn(const std::string &pipeline) {
  std::vector<std::string> names;
  std::string name;
  int braces = 0;
  for (char c : pipeline + ",") {
    if (c == '{' || c == '}')
      braces += c == '{' ? 1 : -1;
    else if (braces > 0 || c == ' ')
      continue;
    else if (c != ',' && c != '(' && c != ')')
      name += c;
    else if (std::string taken = std::exchange(name, {});
             !taken.empty() && c != '(')
      names.push_back(std::move(taken));
  }
  return names;
}

/// What the manifest declares of this name; null: nothing.
const DeclaredPass *findDeclared(const CompilerPlugin &plugin,
                                 std::string_view name) {
  auto found =
      llvm::find_if(plugin.passes.passes, [&](const DeclaredPass &pass) {
        return pass.name == name;
      });
  return found == plugin.passes.passes.end() ? nullptr : &*found;
}

/// What MLIR says about a pipeline, in one line. Of an error in its text the
/// message; the lines below it show the place.
std::string oneLine(StringRef errors) {
  SmallVector<StringRef> lines;
  errors.split(lines, '\n', -1, /*KeepEmpty=*/false);
  bool hasPlaces = errors.contains("error: ");
  std::string text;
  for (StringRef line : lines) {
    auto [place, message] = line.split(hasPlaces ? "error: " : ">: ");
    if (hasPlaces && message.empty())
      continue;
    text += text.empty() ? "" : ": ";
    text += (message.empty() ? line : message).trim();
  }
  return text;
}

/// "; did you mean 'x'?", or nothing when no name is near.
std::string didYouMean(std::string_view name,
                       const std::vector<std::string> &names) {
  std::string found = nearestName(name, names);
  return found.empty() ? "" : "; did you mean '" + found + "'?";
}

std::vector<std::string> passNames(const CompilerPlugin &plugin) {
  std::vector<std::string> names;
  for (const DeclaredPass &pass : plugin.passes.passes)
    names.push_back(pass.name);
  for (const PublishedPass &pass : publishedPasses())
    names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> stageNames() {
  std::vector<std::string> names;
  for (const Stage *stage : stages)
    if (stage->pipelines != PipelineScope::None)
      names.emplace_back(stage->name);
  return names;
}

/// A stage that a plug-in may have a pipeline for.
Status checkStage(const std::string &name) {
  const Stage *stage = findStage(name);
  std::vector<std::string> names = stageNames();
  if (stage && stage->pipelines != PipelineScope::None)
    return {};
  return invalidArgument(
      (stage ? "stage " + name + " takes no pipeline"
             : "there is no stage '" + name + "'" + didYouMean(name, names)) +
      "; pipelines are for " + llvm::join(names, ", "));
}

/// Why pipelines of a plug-in cannot name a pass here; empty: they can.
std::string misfitOfPass(const CompilerPlugin &plugin,
                         const std::string &name) {
  if (findPublishedPass(name))
    return "";
  if (!findDeclared(plugin, name))
    return "'" + name + "' is no published pass" +
           (plugin.passes.path.empty() ? "" : ", nor one of its manifest") +
           didYouMean(name, passNames(plugin));
  return loadPasses(plugin).message();
}

/// Why this host cannot run a pipeline; empty: it can.
std::string misfit(const CompilerPlugin &plugin, const std::string &pipeline) {
  for (const std::string &name : passesIn(pipeline))
    if (std::string why = misfitOfPass(plugin, name); !why.empty())
      return why;
  OpPassManager manager(ModuleOp::getOperationName());
  std::string errors;
  llvm::raw_string_ostream out(errors);
  return succeeded(parsePassPipeline(pipeline, manager, out)) ? ""
                                                              : oneLine(errors);
}

/// Takes one of several; `reasons` gets why not those before.
std::optional<size_t> choose(const CompilerPlugin &plugin,
                             const std::vector<std::string> &pipelines,
                             std::string &reasons) {
  for (size_t i = 0; i < pipelines.size(); ++i) {
    std::string why = misfit(plugin, pipelines[i]);
    if (why.empty())
      return i;
    reasons += "; pipeline " + std::to_string(i + 1) + ": " + why;
  }
  return std::nullopt;
}

/// A remark for each C++ pass of the plug-in that will run.
void tellOwnPasses(Target &target, const StagePipeline &stage) {
  for (const std::string &name : passesIn(stage.pipeline))
    if (findDeclared(*target.plugin, name))
      target.remarks.push_back(
          "target " + target.name + ", stage " + stage.stage + ": runs pass " +
          name + " of " + target.plugin->name + " " + target.plugin->version);
}

Status takeOne(Target &target, const Alternatives &stage) {
  if (Status s = checkStage(stage.stage); !s.ok())
    return s.within("target '" + target.name + "'");
  size_t count = stage.pipelines.size();
  std::string reasons;
  std::optional<size_t> chosen =
      choose(*target.plugin, stage.pipelines, reasons);
  if (!chosen)
    return invalidArgument("target '" + target.name + "', stage " +
                           stage.stage + ": this host has no passes for " +
                           (count == 1 ? "its pipeline" : "its pipelines") +
                           reasons);
  target.stages.push_back({stage.stage, stage.pipelines[*chosen]});
  if (count > 1)
    target.remarks.push_back(
        "target " + target.name + ", stage " + stage.stage + ": pipeline " +
        std::to_string(*chosen + 1) + " of " + std::to_string(count) + reasons);
  tellOwnPasses(target, target.stages.back());
  return {};
}

} // namespace

Status backplane::readStages(Target &target) {
  const CompilerPlugin &plugin = *target.plugin;
  std::vector<Alternatives> all;
  auto put = [&](std::string_view stage, std::string_view pipeline) {
    auto found = llvm::find_if(
        all, [&](const Alternatives &one) { return one.stage == stage; });
    if (found == all.end())
      found = all.insert(found, {std::string(stage), {}});
    found->pipelines.emplace_back(pipeline);
  };
  Status status = callStages(plugin, target.name, put);
  if (status.code() == BP_STATUS_UNIMPLEMENTED && all.empty())
    return {};
  for (size_t i = 0; status.ok() && i < all.size(); ++i)
    status = takeOne(target, all[i]);
  return status.within(plugin.name);
}
