// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Kernels.h"

#include "hal/core/CompilerCalls.h"
#include "sdk/compiler/CompiledKernel.h"
#include "sdk/compiler/Flops.h"
#include "sdk/compiler/GraphPasses.h"
#include "sdk/compiler/KernelInPlace.h"
#include "sdk/compiler/KernelKey.h"
#include "sdk/compiler/KernelSymbols.h"
#include "sdk/compiler/RegisteredKernels.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Error.h"

using namespace mlir;
using namespace backplane;

/// From the symbols of a dispatch to those of its kernel.
static Substitution kernelSymbols(const Graph &graph) {
  std::vector<std::string> names;
  for (const backplane::Symbol &symbol : graph.symbols)
    names.push_back(symbol.name);
  return toKernelSymbols(names);
}

/// The graph without what does not change its kernel.
static Graph withoutNames(Graph graph) {
  graph.name.clear();
  for (backplane::Op &op : graph.ops)
    op.location.clear();
  return graph;
}

/// The graph of a dispatch with the symbols of kernels.
static Result<Graph> graphOf(func::FuncOp dispatch) {
  auto graph = bp::exportGraph(dispatch);
  if (graph)
    if (Status s = substituteSymbols(*graph, kernelSymbols(*graph)); !s.ok())
      return s;
  return graph;
}

/// The op that gives a dispatch its name, from "conv_3".
static std::string baseName(StringRef function) {
  return function.rtrim("0123456789").rtrim('_').str();
}

static std::string entryName(StringRef dispatch, const std::string &key) {
  return baseName(dispatch) + "_" + key.substr(0, 16);
}

Result<Kernel> KernelCompiler::compileByPlugin(const Graph &graph,
                                               const WeightInputs &weights,
                                               const std::string &name,
                                               WeightQuestions &questions) {
  const CompilerPlugin &plugin = *target_.plugin;
  if (std::string why = unlistedOp(target_, graph); !why.empty())
    return unimplemented(why);
  Bytes wire = writeGraph(graph);
  auto dumped = dispatchDump_.write(
      {.target = target_.name, .entry = name, .graph = wire}, weights);
  if (!dumped)
    return dumped.status();
  bp_graph_t *handle = nullptr;
  bp_error_t error;
  bp_status_t code = services_.graphTable->graph_open(
      {wire.data(), wire.size()}, &handle, &error);
  if (code != BP_STATUS_OK)
    return takeError(code, error);
  bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
  request.target = toC(target_.name);
  request.graph = handle;
  request.graph_table = services_.graphTable;
  request.entry_name = toC(name);
  WeightReader reader(weights);
  const bp_weight_reader_t weightReader = reader.c();
  request.weights = &weightReader;
  Kernel kernel;
  Status status =
      callCompile(plugin, request, [&](const bp_compiled_t &compiled) {
        kernel = copyKernel(compiled);
        return checkKernel(kernel, graph, weights.mask());
      });
  services_.graphTable->graph_close(handle);
  DispatchDump::note(*dumped, status);
  questions = reader.questions();
  // What runs once has only weights to work on.
  for (uint32_t i = 0; i < graph.inputs.size() && !kernel.initLaunches.empty();
       ++i)
    questions.try_emplace(i, false);
  if (!status.ok())
    return status.within(plugin.name);
  return kernel;
}

Result<Graph> KernelCompiler::passed(const Graph &plain,
                                     const std::string &label) {
  auto graph = runGraphPasses(services_, target_, stage::lower.name, plain,
                              label, report_);
  if (!graph || *graph == plain)
    return graph;
  auto keep = [&](const backplane::Op &op) {
    return askClaim(services_, target_, *graph, op).supported;
  };
  auto primitives = decompose(*graph, keep, false);
  if (!primitives)
    return primitives.status();
  if (Status s = substituteSymbols(*primitives, kernelSymbols(*primitives));
      !s.ok())
    return s;
  return withoutNames(std::move(*primitives));
}

size_t KernelCompiler::keep(const std::string &key, Kernel kernel,
                            const Graph &graph, bool own) {
  if (auto flops = flopsOf(graph))
    kernel.flops = flops->str();
  made_.push_back({std::move(kernel), own, std::nullopt, {}});
  return byKey_[key] = made_.size() - 1;
}

/// The kernel of the cache, if it has one.
std::optional<Kernel> KernelCompiler::cached(const std::string &key) {
  if (dispatchDump_.isOn()) // every call is to be made
    return std::nullopt;
  auto bytes = services_.cacheGet ? services_.cacheGet(key) : std::nullopt;
  return bytes ? unpackKernel(*bytes) : std::nullopt;
}

Result<size_t> KernelCompiler::addByPlugin(const std::string &base,
                                           const Graph &plain,
                                           const WeightInputs &weights,
                                           const std::string &dispatch) {
  auto known = questions_.find(base);
  std::string key = known == questions_.end()
                        ? base
                        : kernelKey(base, weights, known->second);
  if (auto found = byKey_.find(key); found != byKey_.end())
    return found->second;
  if (auto kernel = cached(key);
      kernel && checkKernel(*kernel, plain, weights.mask()).ok()) {
    ++hits_;
    return keep(key, std::move(*kernel), plain, true);
  }
  WeightQuestions questions;
  auto kernel =
      compileByPlugin(plain, weights, entryName(dispatch, key), questions);
  if (!kernel)
    return kernel.status();
  keepReplaceable(kernel->inPlace, plain);
  if (!questions.empty()) {
    WeightQuestions &all = questions_[base];
    for (auto [input, read] : questions)
      all[input] |= read;
    key = kernelKey(base, weights, all);
  } else if (services_.cachePut) {
    services_.cachePut(key, packKernel(*kernel));
  }
  return keep(key, std::move(*kernel), plain, true);
}

Result<size_t> KernelCompiler::addByEmitter(const std::string &key,
                                            StringRef dispatch,
                                            const Graph &graph,
                                            std::optional<KernelTemplate> ir) {
  if (auto found = byKey_.find(key); found != byKey_.end())
    return found->second;
  if (auto kernel = cached(key); kernel && kernel->launches.size() == 1) {
    ++hits_;
    return keep(key, std::move(*kernel), graph, false);
  }
  if (!emitter_)
    return unimplemented("there is no emitter '" + target_.emitter +
                         "'; there are " + emitterNames());
  size_t index = keep(key, Kernel(), graph, false);
  made_[index].job = jobs_.size();
  jobs_.push_back({&target_, emitter_, graph, entryName(dispatch, key), key,
                   std::move(ir)});
  return index;
}

Result<size_t> KernelCompiler::add(func::FuncOp dispatch,
                                   const WeightInputs &weights, By by) {
  std::string label = dispatch.getName().str();
  auto graph = graphOf(dispatch);
  if (!graph)
    return graph.status().within(label);
  const Graph before = withoutNames(*graph);
  auto plain = passed(before, label);
  if (!plain)
    return plain.status().within(label);
  const std::string key = kernelKey(target_, *plain);
  bool emits = links() && by == By::Either;
  auto kernel =
      emits && !target_.plugin->table->compile
          ? Result<size_t>(unimplemented("it has no function compile"))
          : addByPlugin(links() ? key + "-compiled" : key, *plain, weights,
                        label);
  // Messages name ops, as long as they are those of the model.
  if (emits && kernel.code() == BP_STATUS_UNIMPLEMENTED)
    kernel = addByEmitter(key, label, *plain == before ? *graph : *plain);
  return kernel ? kernel : kernel.status().within(label);
}

void KernelCompiler::takeGenerated() {
  for (auto [key, index] : byKey_) {
    Made &made = made_[index];
    if (!made.job)
      continue;
    Result<Kernel> &kernel = jobs_[*made.job].kernel;
    made.job.reset();
    made.status = kernel.status();
    if (!kernel)
      continue;
    kernel->flops = std::move(made.kernel.flops);
    made.kernel = std::move(*kernel);
  }
  // A kernel that failed is tried again where it is asked for again.
  std::erase_if(byKey_, [&](const auto &known) {
    return !made_[known.second].status.ok();
  });
}

Result<std::optional<size_t>>
KernelCompiler::addRegistered(func::FuncOp dispatch,
                              const WeightInputs &weights) {
  auto match = bp::kernelMatchOf(dispatch, target_.kernels);
  if (!match)
    return std::optional<size_t>();
  std::string label = match->kernel->fullName();
  auto graph = bp::exportGraph(dispatch);
  if (!graph)
    return graph.status().within(label);
  const Substitution symbols = kernelSymbols(*graph);
  if (Status s = substituteSymbols(*graph, symbols); !s.ok())
    return s.within(label);
  std::string key = label + " " + std::to_string(match->kernel->text.version) +
                    " " + kernelKey(target_, withoutNames(*graph));
  for (int32_t binding : match->bindings)
    key += " " + std::to_string(binding);
  if (!match->kernel->ir.empty()) {
    KernelTemplate ir = templateFor(*match, symbols);
    std::string name = dispatch.getName().str();
    auto index = addByEmitter(kernelKey(key, ir.ir), name, *graph, ir);
    return index ? Result<std::optional<size_t>>(*index)
                 : index.status().within(label);
  }
  if (auto found = byKey_.find(key); found != byKey_.end())
    return std::optional(found->second);
  auto kernel = kernelFor(*match, symbols);
  if (!kernel)
    return kernel.status().within(label);
  if (Status s = checkKernel(*kernel, *graph, weights.mask()); !s.ok())
    return s.within(label);
  keepReplaceable(kernel->inPlace, *graph);
  return std::optional(keep(key, std::move(*kernel), *graph, true));
}
