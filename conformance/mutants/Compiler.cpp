// SPDX-License-Identifier: Apache-2.0
//
// The compiler's side: claims what the reference claims once composites are
// decomposed, so that composites arrive whole, and stores the graph of a
// dispatch as its blob.
#include "Tables.h"

#include "sdk/graph/Decompose.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/graph/Wire.h"

#include <atomic>

namespace backplane::mutants {

namespace {

/// Replaces declared numerics of float sums, of all classes for flushing.
bool isChanged(const Declares &declares, const bp_numerics_t &numerics) {
  bool isFloatType = isFloat(DType(numerics.dtype));
  bool isSum = view(numerics.op_class) == "DOT";
  bool flushes =
      declares.flags & (BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT);
  return declares.changed && isFloatType && numerics.dtype != BP_DTYPE_F64 &&
         (isSum || flushes);
}

/// Hands the reference target on under the mutant's names.
struct Renamed {
  const Mutant &mutant;
  const bp_target_sink_t &sink;

  static bp_status_t put(void *context, const bp_target_t *target) {
    auto &renamed = *static_cast<Renamed *>(context);
    const Declares &declares = renamed.mutant.declares;
    std::string name = targetName(renamed.mutant);
    std::deque<bp_numerics_t> numerics;
    std::vector<const bp_numerics_t *> list;
    for (uint64_t i = 0; i < target->numerics_count; ++i) {
      bp_numerics_t &one = numerics.emplace_back(*target->numerics[i]);
      if (isChanged(declares, one)) {
        if (view(one.op_class) == "DOT")
          one.accumulator_bits = declares.dotBits;
        one.rounding = declares.rounding;
        one.flags = declares.flags;
      }
      list.push_back(&one);
    }
    bp_target_t copy = *target;
    copy.name = copy.format = toC(name);
    copy.description = toC(renamed.mutant.title);
    copy.driver = toC("mutant");
    if (!renamed.mutant.fuses)
      copy.fusion = 0; // each op is a dispatch of its own
    copy.numerics = list.data();
    return renamed.sink.put(renamed.sink.context, &copy);
  }
};

bp_status_t targets(void *pointer, const bp_target_sink_t *sink,
                    bp_error_t *error) {
  auto &self = *static_cast<PluginSelf *>(pointer);
  if (!self.mutant)
    return BP_STATUS_OK;
  Renamed renamed{*self.mutant, *sink};
  bp_target_sink_t inside = {&Renamed::put, &renamed};
  return self.inner->compiler->targets(self.innerSelf, &inside, error);
}

/// A graph of the host as one of this library.
Result<Graph> copyOf(const bp_graph_t *graph, const bp_graph_table_t *table,
                     Bytes &wire) {
  bp_bytes_sink_t sink = {
      [](void *context, bp_bytes_t bytes) {
        const auto *data = static_cast<const uint8_t *>(bytes.data);
        static_cast<Bytes *>(context)->assign(data, data + bytes.size);
        return bp_status_t(BP_STATUS_OK);
      },
      &wire};
  if (bp_status_t status = table->graph_write(graph, &sink))
    return Status(status, "the graph of the host cannot be written");
  return readGraph(wire);
}

/// Whether claim was shown nodes named as exporters name them; compile is shown
/// no names.
std::atomic<bool> hasSeenNames;

void lookForNames(const Graph &graph) {
  for (const Op &op : graph.ops)
    if (op.location.starts_with("/"))
      hasSeenNames = true;
}

/// Tells the kernel's run (m242).
void tellOfNames(Graph &graph, Bytes &wire) {
  if (!hasSeenNames)
    return;
  for (Op &op : graph.ops)
    op.location = "/";
  wire = writeGraph(graph);
}

bp_status_t claim(void *pointer, bp_string_t, const bp_graph_t *graph,
                  const bp_graph_table_t *table, bp_claim_t *outClaim,
                  bp_error_t *error) {
  auto &self = *static_cast<PluginSelf *>(pointer);
  Bytes wire;
  Result<Graph> copy = copyOf(graph, table, wire);
  if (copy)
    lookForNames(*copy);
  if (copy)
    copy = decompose(*copy, [](const Op &) { return false; });
  if (!copy)
    return fail(self, error, copy.status());
  bp_graph_t *primitives = wrapGraph(std::move(*copy));
  bp_status_t status = self.inner->compiler->claim(
      self.innerSelf, toC("ref"), primitives, graphTable(), outClaim, error);
  graphTable()->graph_close(primitives);
  return status;
}

bp_status_t compile(void *pointer, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *error) {
  auto &self = *static_cast<PluginSelf *>(pointer);
  Bytes wire;
  Result<Graph> graph = copyOf(request->graph, request->graph_table, wire);
  if (!graph)
    return fail(self, error, graph.status());
  tellOfNames(*graph, wire);
  std::vector<uint8_t> access(graph->inputs.size(), BP_ACCESS_READ);
  access.resize(access.size() + graph->outputs.size(), BP_ACCESS_WRITE);
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = request->entry_name;
  entry.binding_access = access.data();
  entry.binding_count = uint32_t(access.size());
  entry.constant_count = uint32_t(graph->symbols.size());
  for (uint32_t &size : entry.workgroup_size)
    size = 1;
  bp_compiled_t compiled = {BP_HEADER(bp_compiled_t)};
  compiled.blob = {wire.data(), wire.size()};
  compiled.entry = &entry;
  for (bp_string_t &size : compiled.grid)
    size = toC("1");
  return sink->put(sink->context, &compiled);
}

} // namespace

const bp_compiler_table_t compilerTable = {BP_HEADER(bp_compiler_table_t),
                                           &targets,
                                           &claim,
                                           nullptr,
                                           &compile,
                                           nullptr};

} // namespace backplane::mutants
