// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Kernels.h"

#include "hal/core/CompilerCalls.h"
#include "sdk/compiler/CompiledKernel.h"
#include "sdk/compiler/Flops.h"
#include "sdk/compiler/GraphPasses.h"
#include "sdk/compiler/KernelInPlace.h"
#include "sdk/compiler/KernelSymbols.h"
#include "sdk/compiler/RegisteredKernels.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/Wire.h"
#include "sdk/lower/Passes.h"
#include "sdk/schedule/InPlace.h"
#include "sdk/support/Error.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"

#include "sdk/support/Hash.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"

#include <dlfcn.h>

using namespace mlir;
using namespace backplane;

namespace {

std::vector<std::string> symbolNames(const Graph &graph) {
  std::vector<std::string> names;
  for (const backplane::Symbol &symbol : graph.symbols)
    names.push_back(symbol.name);
  return names;
}

/// Takes from a graph what does not change its kernel.
Status normalise(Graph &graph) {
  graph.name.clear();
  for (backplane::Op &op : graph.ops)
    op.location.clear();
  return substituteSymbols(graph, toKernelSymbols(symbolNames(graph)));
}

/// Keeps the inputs that the graph, too, lets the result replace.
void keepReplaceable(std::vector<uint32_t> &inputs, const Graph &graph) {
  std::vector<uint32_t> allowed = replaceableInputs(graph);
  std::erase_if(inputs,
                [&](uint32_t i) { return !llvm::is_contained(allowed, i); });
}

/// The hash of the library that this code is in: its passes make the kernels.
const std::string &hashOfCompiler() {
  static const std::string hash = [] {
    Dl_info info;
    static const int anchor = 0;
    if (!dladdr(&anchor, &info) || !info.dli_fname)
      return std::string();
    // Volatile: it is read, not mapped.
    auto file = llvm::MemoryBuffer::getFile(info.dli_fname, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
    if (!file)
      return std::string();
    StringRef bytes = (*file)->getBuffer();
    return hashBytes(
        {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  }();
  return hash;
}

/// The op that gives a dispatch its name, from "conv_3".
std::string baseName(StringRef function) {
  return function.rtrim("0123456789").rtrim('_').str();
}

} // namespace

/// Of a kernel that depends on weights.
static std::string keyOf(const std::string &key, const WeightInputs &weights,
                         const WeightQuestions &questions) {
  std::string text = key + "\n" + weights.answersTo(questions);
  return hashBytes(
      {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

std::string KernelCompiler::keyOf(const Bytes &wire) const {
  std::string text =
      "bp-kernel-8\n" + hashBytes(wire) + "\n" + hashOfCompiler() + "\n" +
      target_.plugin->name + " " + target_.plugin->version + " " +
      target_.plugin->hash + "\n" + target_.name + " " + target_.emitter + " " +
      target_.triple + " " + target_.cpu + " " + target_.features + "\n" +
      LLVM_VERSION_STRING "\n" + target_.toolchain + "\n";
  for (const Property &property : target_.properties)
    text += property.str() + "\n";
  for (const StagePipeline &stage : target_.stages)
    text += stage.stage + "=" + stage.pipeline + "\n";
  return hashBytes(
      {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
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

EmitTarget KernelCompiler::emitTarget() const {
  return {.triple = target_.triple,
          .cpu = target_.cpu,
          .features = target_.features,
          .vectorBits = target_.vectorBits,
          .properties = target_.properties};
}

Result<Kernel> KernelCompiler::emit(func::FuncOp dispatch, const Graph &graph,
                                    const std::string &name) {
  auto module = dispatch->getParentOfType<ModuleOp>();
  OpBuilder builder(dispatch.getContext());
  OwningOpRef<ModuleOp> single = ModuleOp::create(builder, dispatch.getLoc());
  auto copy = cast<func::FuncOp>(builder.clone(*dispatch.getOperation()));
  copy.setName(name);
  single->push_back(copy);
  single->getOperation()->setAttr(bp::symbolsAttr,
                                  module->getAttr(bp::symbolsAttr));
  PassManager manager(single->getContext());
  manager.addPass(bp::createLowerToLinalgPass());
  if (failed(manager.run(*single)))
    return unimplemented("cannot be lowered");
  if (dump_)
    dump_(stage::lower.name, *single);
  std::vector<uint32_t> inPlace = inPlaceInputs(copy);
  std::vector<EmitStage> stages;
  for (const StagePipeline &stage : target_.stages)
    if (findStage(stage.stage)->pipelines == PipelineScope::Dispatch)
      stages.push_back({stage.stage, stage.pipeline});
  EmitTarget target = emitTarget();
  target.contract = mayContract(target_, graph);
  FailureOr<ObjectCode> object =
      compileDispatch(*single, *emitter_, target, stages, dump_);
  if (failed(object))
    return unimplemented("cannot be emitted");
  KernelLaunch launch = {.name = object->entry.name,
                         .grid = std::move(object->entry.grid),
                         .workspace = object->entry.workspace,
                         .access = std::move(object->entry.access),
                         .constantCount = object->entry.constantCount,
                         .workgroup = object->entry.workgroup};
  for (uint32_t i = 0; i < launch.access.size(); ++i)
    launch.bindings.push_back({i, "", ""});
  return Kernel{.code = std::move(object->object),
                .launches = {std::move(launch)},
                .inPlace = std::move(inPlace)};
}

/// A module with the graph of a dispatch as its only function.
static OwningOpRef<ModuleOp> importDispatch(MLIRContext &context,
                                            const Graph &graph) {
  OwningOpRef<ModuleOp> module = bp::importGraph(context, graph);
  if (!module)
    return {};
  auto dispatch = module->lookupSymbol<func::FuncOp>("main");
  OpBuilder builder(&context);
  dispatch->setAttr(bp::dispatchAttr, builder.getUnitAttr());
  std::vector<std::string> names = symbolNames(graph);
  dispatch->setAttr(bp::symbolsAttr, builder.getStrArrayAttr(
                                         llvm::to_vector_of<StringRef>(names)));
  return module;
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
  if (Status s = normalise(*primitives); !s.ok())
    return s;
  return primitives;
}

Result<Kernel>
KernelCompiler::compileByEmitter(func::FuncOp dispatch,
                                 const std::vector<std::string> &symbols,
                                 const Graph &graph, const std::string &name) {
  if (!emitter_)
    return unimplemented("there is no emitter '" + target_.emitter +
                         "'; there are " + emitterNames());
  auto kernel = emit(dispatch, graph, name);
  if (kernel)
    if (Status s = substituteSymbols(*kernel, toKernelSymbols(symbols));
        !s.ok())
      return s;
  return kernel;
}

size_t KernelCompiler::keep(const std::string &key, Kernel kernel,
                            const Graph &graph, bool own) {
  kernel.flops = flopsOf(graph);
  kernels_.push_back(std::move(kernel));
  own_.push_back(own);
  return byKey_[key] = kernels_.size() - 1;
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
  std::string key =
      known == questions_.end() ? base : ::keyOf(base, weights, known->second);
  if (auto found = byKey_.find(key); found != byKey_.end())
    return found->second;
  if (auto kernel = cached(key);
      kernel && checkKernel(*kernel, plain, weights.mask()).ok()) {
    ++hits_;
    return keep(key, std::move(*kernel), plain, true);
  }
  WeightQuestions questions;
  auto kernel = compileByPlugin(
      plain, weights, baseName(dispatch) + "_" + key.substr(0, 16), questions);
  if (!kernel)
    return kernel.status();
  keepReplaceable(kernel->inPlace, plain);
  if (!questions.empty()) {
    WeightQuestions &all = questions_[base];
    for (auto [input, read] : questions)
      all[input] |= read;
    key = ::keyOf(base, weights, all);
  } else if (services_.cachePut) {
    services_.cachePut(key, packKernel(*kernel));
  }
  return keep(key, std::move(*kernel), plain, true);
}

Result<size_t> KernelCompiler::addByEmitter(const std::string &key,
                                            func::FuncOp dispatch,
                                            std::vector<std::string> symbols,
                                            const Graph &plain, bool changed) {
  if (auto found = byKey_.find(key); found != byKey_.end())
    return found->second;
  if (auto kernel = cached(key); kernel && kernel->launches.size() == 1) {
    ++hits_;
    return keep(key, std::move(*kernel), plain, false);
  }
  std::string name = baseName(dispatch.getName()) + "_" + key.substr(0, 16);
  OwningOpRef<ModuleOp> rewritten;
  if (changed) {
    rewritten = importDispatch(*dispatch.getContext(), plain);
    if (!rewritten)
      return internalError("no module");
    dispatch = rewritten->lookupSymbol<func::FuncOp>("main");
    symbols = symbolNames(plain);
  }
  auto kernel = compileByEmitter(dispatch, symbols, plain, name);
  if (!kernel)
    return kernel.status();
  keepReplaceable(kernel->inPlace, plain);
  if (services_.cachePut)
    services_.cachePut(key, packKernel(*kernel));
  return keep(key, std::move(*kernel), plain, false);
}

Result<size_t> KernelCompiler::add(func::FuncOp dispatch,
                                   const WeightInputs &weights, By by) {
  auto graph = bp::exportGraph(dispatch);
  std::string label = dispatch.getName().str();
  if (!graph)
    return graph.status().within(label);
  std::vector<std::string> symbols = symbolNames(*graph);
  if (Status s = normalise(*graph); !s.ok())
    return s.within(label);
  auto plain = passed(*graph, label);
  if (!plain)
    return plain.status().within(label);
  const std::string key = keyOf(writeGraph(*plain));
  bool emits = links() && by == By::Either;
  auto kernel =
      emits && !target_.plugin->table->compile
          ? Result<size_t>(unimplemented("it has no function compile"))
          : addByPlugin(links() ? key + "-compiled" : key, *plain, weights,
                        label);
  if (emits && kernel.code() == BP_STATUS_UNIMPLEMENTED)
    kernel = addByEmitter(key, dispatch, std::move(symbols), *plain,
                          !(*plain == *graph));
  return kernel ? kernel : kernel.status().within(label);
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
  std::vector<std::string> symbols = symbolNames(*graph);
  if (Status s = normalise(*graph); !s.ok())
    return s.within(label);
  std::string key = label + " " + std::to_string(match->kernel->text.version) +
                    " " + keyOf(writeGraph(*graph));
  for (int32_t binding : match->bindings)
    key += " " + std::to_string(binding);
  if (auto found = byKey_.find(key); found != byKey_.end())
    return std::optional(found->second);
  auto kernel = kernelFor(*match, toKernelSymbols(symbols));
  if (!kernel)
    return kernel.status().within(label);
  if (Status s = checkKernel(*kernel, *graph, weights.mask()); !s.ok())
    return s.within(label);
  keepReplaceable(kernel->inPlace, *graph);
  return std::optional(keep(key, std::move(*kernel), *graph, true));
}

uint32_t KernelOrder::positionOf(size_t kernel) {
  auto [at, fresh] = positions_.try_emplace(kernel, uint32_t(kernels_.size()));
  if (fresh)
    kernels_.push_back(kernel);
  return at->second;
}

/// What is no plain number; such a one is in the entry of a launch.
static std::string symbolicWorkspace(const KernelLaunch &launch) {
  auto bytes = Dim::parse(launch.workspace.empty() ? "0" : launch.workspace);
  return !bytes || bytes->constant() ? std::string() : launch.workspace;
}

static Launch launchOf(const KernelLaunch &from, DimReader &reader) {
  Launch launch;
  for (size_t axis = 0; axis < 3; ++axis)
    launch.grid[axis] = reader.dim(from.grid[axis]);
  launch.workspace = reader.maybe(symbolicWorkspace(from));
  for (const std::string &parameter : from.parameters)
    launch.parameters.push_back(reader.dim(parameter));
  launch.sharedBytes = reader.maybe(from.sharedBytes);
  launch.cluster = from.cluster;
  launch.constants = from.constantCount > 0;
  launch.access = from.access;
  for (const LaunchBinding &binding : from.bindings)
    launch.bindings.push_back({binding.binding, reader.maybe(binding.offset),
                               reader.maybe(binding.length)});
  return launch;
}

Result<KernelCompiler::Needs>
KernelCompiler::needs(size_t index,
                      const std::vector<std::string> &symbols) const {
  const Kernel &kernel = kernels_[index];
  DimReader reader(fromKernelSymbols(symbols));
  Needs needs;
  needs.flops = reader.maybe(kernel.flops);
  needs.scratch = reader.maybe(kernel.scratch);
  for (const KernelLaunch &launch : kernel.launches)
    needs.launches.push_back(launchOf(launch, reader));
  for (const KernelLaunch &launch : kernel.initLaunches)
    needs.initLaunches.push_back(launchOf(launch, reader));
  needs.persistentBytes = kernel.persistentBytes;
  return reader.status().ok() ? Result<Needs>(std::move(needs))
                              : Result<Needs>(reader.status());
}

/// Bytes of workspace when they do not depend on symbols, else 0: the dispatch
/// then carries the expression.
static Result<uint64_t> workspaceBytes(const KernelLaunch &launch) {
  auto bytes = Dim::parse(launch.workspace.empty() ? "0" : launch.workspace);
  if (!bytes)
    return bytes.status();
  int64_t value = bytes->constant().value_or(0);
  if (value < 0)
    return internalError(launch.name + ": a workspace of " + launch.workspace +
                         " bytes");
  return uint64_t(value);
}

static Result<Entry> entryOf(const KernelLaunch &launch) {
  auto workspace = workspaceBytes(launch);
  if (!workspace)
    return workspace.status();
  return Entry{.name = launch.name,
               .bindingAccess = launch.access,
               .constantCount = launch.constantCount,
               .workgroupSize = launch.workgroup,
               .workspaceBytes = *workspace,
               .subgroupSize = launch.subgroupSize,
               .parameterCount = uint32_t(launch.parameters.size()),
               .driverData = launch.driverData};
}

std::pair<uint32_t, uint32_t>
KernelCompiler::entryOf(size_t kernel, KernelOrders &orders) const {
  if (own_[kernel])
    return {1 + orders.own.positionOf(kernel), 0};
  return {0, orders.linked.positionOf(kernel)};
}

static Status addEntries(const Kernel &kernel, ExecutableInfo &executable) {
  for (const auto *launches : {&kernel.launches, &kernel.initLaunches})
    for (const KernelLaunch &launch : *launches) {
      auto entry = ::entryOf(launch);
      if (!entry)
        return entry.status();
      executable.entries.push_back(std::move(*entry));
    }
  return {};
}

/// What is linked, as the first executable.
Status KernelCompiler::link(const KernelOrder &order,
                            std::vector<ExecutableInfo> &result) {
  if (order.kernels().empty())
    return {};
  ExecutableInfo executable{.format = target_.format};
  std::vector<ObjectCode> objects;
  for (size_t index : order.kernels()) {
    Kernel &kernel = kernels_[index];
    if (Status s = addEntries(kernel, executable); !s.ok())
      return s;
    objects.push_back(
        {std::move(kernel.code), {.name = kernel.launches.front().name}});
  }
  std::vector<const ObjectCode *> list;
  for (const ObjectCode &object : objects)
    list.push_back(&object);
  auto image = emitter_->link(emitTarget(), list);
  if (!image)
    return image.status().within("the kernels do not link");
  executable.blob = Blob::of(std::move(image->bytes));
  executable.notes = std::move(image->notes);
  result.push_back(std::move(executable));
  return {};
}

Result<std::vector<ExecutableInfo>>
KernelCompiler::executables(const KernelOrders &orders) {
  std::vector<ExecutableInfo> result;
  if (Status s = link(orders.linked, result); !s.ok())
    return s;
  for (size_t index : orders.own.kernels()) {
    Kernel &kernel = kernels_[index];
    ExecutableInfo executable{.format = target_.format};
    if (Status s = addEntries(kernel, executable); !s.ok())
      return s;
    executable.native = kernel.native;
    if (kernel.native)
      executable.format = nativeFormat;
    else
      executable.blob = Blob::of(std::move(kernel.code));
    result.push_back(std::move(executable));
  }
  return result;
}
