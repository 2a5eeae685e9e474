// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/DispatchDump.h"

#include "hal/core/CompilerCalls.h"
#include "hal/core/PartitionCalls.h"
#include "sdk/compiler/CompiledKernel.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Error.h"
#include "sdk/support/ReadableText.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace backplane {
namespace {

namespace fs = std::filesystem;

std::string weightFile(size_t input) {
  return "weight-" + std::to_string(input) + ".bin";
}

Result<Bytes> readBytes(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return notFound(path.string() + ": cannot be read");
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// "NAME value" for each word of a call.
std::string wordsOf(const DispatchCall &call, const WeightInputs &weights,
                    size_t inputs) {
  std::string text = std::string("function ") +
                     (call.isPartition ? "partition" : "compile") +
                     "\ntarget " + call.target + "\n";
  if (!call.isPartition)
    text += "entry " + call.entry + "\n";
  for (size_t i = 0; i < call.refused.size(); ++i)
    if (call.refused[i])
      text += "refused " + std::to_string(i) + "\n";
  for (size_t i = 0; i < inputs; ++i)
    if (weights.find(uint32_t(i)))
      text += "weight " + std::to_string(i) + "\n";
  return text;
}

/// The weights of a call from its folder, one for each number.
Status readWeights(const fs::path &folder, const Graph &graph,
                   const std::vector<size_t> &numbers, WeightPool &pool,
                   WeightInputs &weights) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!std::ranges::count(numbers, i)) {
      weights.add({});
      continue;
    }
    auto bytes = readBytes(folder / weightFile(i));
    if (!bytes)
      return bytes.status();
    auto id = pool.add(graph.type(graph.inputs[i]), std::move(*bytes));
    if (!id)
      return id.status().within(weightFile(i));
    weights.add({*id, pool.find(*id)});
  }
  return {};
}

std::string failed(const char *what, const Status &status) {
  return std::string(what) + " failed: " + status.message() + "\n";
}

std::string replayPartition(const CompilerPlugin &plugin,
                            const bp_graph_table_t *table,
                            const bp_graph_t *graph, const DispatchCall &call) {
  if (!plugin.table->partition)
    return plugin.name + " has no function partition\n";
  auto sets = callPartition(plugin, call.target, graph, table, call.refused);
  if (!sets)
    return failed("partition", sets.status());
  if (!*sets)
    return "partition has none for this graph\n";
  std::string text;
  for (const PartitionAnswer &set : **sets) {
    text += "partition: " + std::to_string(set.ops.size()) + " ops, " +
            std::to_string(int64_t(set.costNs)) +
            " ns: " + readable(set.reason, 512) + "; ops";
    for (uint32_t op : set.ops)
      text += " " + std::to_string(op);
    text += "\n";
  }
  return text;
}

std::string describe(const Kernel &kernel) {
  std::string text = "compiled: " + std::to_string(kernel.code.size()) +
                     " bytes, " + std::to_string(kernel.launches.size()) +
                     " launches, " +
                     std::to_string(kernel.initLaunches.size()) +
                     " of them once in a session\n";
  for (const auto *launches : {&kernel.launches, &kernel.initLaunches})
    for (const KernelLaunch &launch : *launches) {
      text += "launch " + launch.name + ": grid " + launch.grid[0] + ", " +
              launch.grid[1] + ", " + launch.grid[2] + "; bindings";
      for (const LaunchBinding &binding : launch.bindings)
        text += " " + (binding.binding == BP_LAUNCH_SCRATCH ? "scratch"
                       : binding.binding == BP_LAUNCH_PERSISTENT
                           ? "persistent"
                           : std::to_string(binding.binding));
      text += "\n";
    }
  for (const std::string &note : kernel.notes)
    text += note + "\n";
  return text;
}

std::string replayCompile(const CompilerPlugin &plugin,
                          const bp_graph_table_t *table,
                          const bp_graph_t *handle, const DispatchCall &call,
                          const WeightInputs &weights) {
  auto graph = readGraph(call.graph);
  if (!graph)
    return failed("graph.bpg", graph.status());
  bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
  request.target = toC(call.target);
  request.graph = handle;
  request.graph_table = table;
  request.entry_name = toC(call.entry);
  WeightReader reader(weights);
  const bp_weight_reader_t weightReader = reader.c();
  request.weights = &weightReader;
  Kernel kernel;
  Status status =
      callCompile(plugin, request, [&](const bp_compiled_t &compiled) {
        kernel = copyKernel(compiled);
        return checkKernel(kernel, *graph, weights.mask());
      });
  return status.ok() ? describe(kernel) : failed("compile", status);
}

} // namespace

DispatchDump DispatchDump::fromEnvironment() {
  const char *folder = secure_getenv("BACKPLANE_DUMP_DISPATCHES");
  return DispatchDump(folder ? folder : "");
}

Result<std::string> DispatchDump::write(const DispatchCall &call,
                                        const WeightInputs &weights) const {
  if (!isOn())
    return std::string();
  static std::atomic<unsigned> count = 0;
  std::array<char, 16> number;
  std::snprintf(number.data(), number.size(), "%03u-", count++);
  fs::path folder =
      fs::path(folder_) /
      (number.data() +
       (call.isPartition ? "partition-" + call.target : call.entry));
  std::error_code error;
  fs::create_directories(folder, error);
  if (Status s =
          writeFileAtomically((folder / "graph.bpg").string(), call.graph);
      !s.ok())
    return s;
  size_t inputs = weights.mask().size();
  for (size_t i = 0; i < inputs; ++i)
    if (const auto *input = weights.find(uint32_t(i)))
      if (Status s = writeFileAtomically((folder / weightFile(i)).string(),
                                         input->weight->data);
          !s.ok())
        return s;
  if (Status s = writeFileAtomically(folder / "call.txt",
                                     asBytes(wordsOf(call, weights, inputs)));
      !s.ok())
    return s;
  return folder.string();
}

void DispatchDump::note(const std::string &folder, const Status &outcome) {
  if (!folder.empty())
    std::ofstream(folder + "/call.txt", std::ios::app)
        << "outcome "
        << (outcome.ok() ? "OK" : readable(outcome.message(), 1024)) << "\n";
}

Result<DispatchCall> readDispatch(const std::string &folder, WeightPool &pool,
                                  WeightInputs &weights) {
  auto text = readBytes(fs::path(folder) / "call.txt");
  auto wire = readBytes(fs::path(folder) / "graph.bpg");
  if (!text || !wire)
    return text ? wire.status() : text.status();
  auto graph = readGraph(*wire);
  if (!graph)
    return graph.status().within(folder + "/graph.bpg");
  DispatchCall call;
  call.graph = std::move(*wire);
  std::vector<size_t> numbers, refused;
  std::istringstream lines(std::string(text->begin(), text->end()));
  for (std::string word, value;
       lines >> word && std::getline(lines >> std::ws, value);) {
    size_t number = std::strtoul(value.c_str(), nullptr, 10);
    if (word == "function")
      call.isPartition = value == "partition";
    else if (word == "target")
      call.target = value;
    else if (word == "entry")
      call.entry = value;
    else if (word == "weight")
      numbers.push_back(number);
    else if (word == "refused")
      refused.push_back(number);
    else if (word != "outcome")
      return invalidArgument(folder + "/call.txt: there is no word '" + word +
                             "'");
  }
  if (call.isPartition)
    call.refused.assign(graph->ops.size(), 0);
  for (size_t op : refused)
    if (op < call.refused.size())
      call.refused[op] = 1;
  if (Status s = readWeights(folder, *graph, numbers, pool, weights); !s.ok())
    return s;
  return call;
}

std::string replayDispatch(const CompilerPlugin &plugin,
                           const bp_graph_table_t *table,
                           const DispatchCall &call,
                           const WeightInputs &weights) {
  bp_graph_t *graph = nullptr;
  bp_error_t error;
  bp_status_t code =
      table->graph_open({call.graph.data(), call.graph.size()}, &graph, &error);
  if (code != BP_STATUS_OK)
    return failed("graph.bpg", takeError(code, error));
  std::string text = call.isPartition
                         ? replayPartition(plugin, table, graph, call)
                         : replayCompile(plugin, table, graph, call, weights);
  table->graph_close(graph);
  return text;
}

} // namespace backplane
