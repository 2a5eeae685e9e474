// SPDX-License-Identifier: Apache-2.0
//
// Compiler.h: a compiler, and a set of registered kernels, as members of the
// plug-in class. compiler.h and kernel.h say what each function promises.
//
// A compiler has
//   Status targets(TargetSink);
// and, where it does more than that:
//   Claim claim(std::string_view target, GraphView);
//   Status stages(std::string_view target, StageSink);
//   Result<Compiled> compile(const CompileRequest &);
//   Status graphPasses(std::string_view target, GraphPassSink);
//   Result<std::optional<Graph>> runGraphPass(std::string_view target,
//                                             std::string_view pass,
//                                             GraphView);
//                                       nothing: the graph stays as it is
//
// A set of kernels has
//   Status describe(KernelSink);
// and, for kernels that are functions:
//   Result<bp_native_function_t> resolve(std::string_view kernel,
//                                        uint32_t version, std::string_view
//                                        entry, const bp_device_info_t &);
#ifndef BACKPLANE_CPP_COMPILER_H
#define BACKPLANE_CPP_COMPILER_H

#include "backplane/cpp/Compiled.h"
#include "backplane/cpp/Graph.h"
#include "backplane/cpp/Plugin.h"

#include <optional>
#include <utility>

namespace backplane::plugin {

/// Receives the targets; what they point to is copied.
class TargetSink {
public:
  explicit TargetSink(const bp_target_sink_t *sink) : sink_(sink) {}
  Status put(const bp_target_t &target) const {
    bp_status_t code = sink_->put(sink_->context, &target);
    return code ? Status(code, "the host refuses the target '" +
                                   std::string(view(target.name)) + "'")
                : Status();
  }

private:
  const bp_target_sink_t *sink_;
};

/// Receives pipelines for stages.
class StageSink {
public:
  explicit StageSink(const bp_stage_sink_t *sink) : sink_(sink) {}
  Status put(std::string_view stage, std::string_view pipeline) const {
    bp_status_t code = sink_->put(sink_->context, toC(stage), toC(pipeline));
    return code ? Status(code, "the host refuses the pipeline for '" +
                                   std::string(stage) + "'")
                : Status();
  }

private:
  const bp_stage_sink_t *sink_;
};

/// Receives graph passes.
class GraphPassSink {
public:
  explicit GraphPassSink(const bp_graph_pass_sink_t *sink) : sink_(sink) {}
  Status put(std::string_view name, std::string_view description,
             std::string_view stage) const {
    bp_graph_pass_t pass = {};
    pass.header = BP_HEADER(bp_graph_pass_t);
    pass.name = toC(name);
    pass.description = toC(description);
    pass.stage = toC(stage);
    bp_status_t code = sink_->put(sink_->context, &pass);
    return code ? Status(code, "the host refuses the pass '" +
                                   std::string(name) + "'")
                : Status();
  }

private:
  const bp_graph_pass_sink_t *sink_;
};

/// The handles of the device that `resolve` is asked about; null: it has none.
inline const bp_device_handles_t *handlesOf(const bp_device_info_t &device) {
  const auto *part = static_cast<const bp_header_t *>(device.header.next);
  while (part && part->type != bp_device_handles_t_TYPE)
    part = static_cast<const bp_header_t *>(part->next);
  return reinterpret_cast<const bp_device_handles_t *>(part);
}

/// Receives registered kernels.
class KernelSink {
public:
  explicit KernelSink(const bp_kernel_sink_t *sink) : sink_(sink) {}
  /// `text` is that of docs/reference/kernels.md, `target` a glob over names,
  /// `cost` ns as an expression, as bp_kernel_t has it; empty: less than
  /// generated code.
  Status put(std::string_view text, std::string_view target,
             const Compiled &body, std::string_view cost = {}) const {
    CompiledStructs structs(body);
    bp_kernel_t kernel = of(text, target, cost);
    kernel.body = &structs.c();
    return put(kernel);
  }
  /// A kernel whose body is MLIR text.
  Status putIr(std::string_view text, std::string_view target,
               std::string_view ir, std::string_view cost = {}) const {
    bp_kernel_t kernel = of(text, target, cost);
    kernel.ir = toC(ir);
    return put(kernel);
  }

private:
  static bp_kernel_t of(std::string_view text, std::string_view target,
                        std::string_view cost) {
    bp_kernel_t kernel = {};
    kernel.header = BP_HEADER(bp_kernel_t);
    kernel.text = toC(text);
    kernel.target = toC(target);
    kernel.cost = toC(cost);
    return kernel;
  }
  Status put(const bp_kernel_t &kernel) const {
    bp_status_t code = sink_->put(sink_->context, &kernel);
    return code ? Status(code, "the host refuses the kernel") : Status();
  }

  const bp_kernel_sink_t *sink_;
};

/// The answer of `claim`.
struct Claim {
  bool supported = true;
  double costNs = 0;
  std::string reason = {}; ///< why not

  static Claim refuse(std::string reason) {
    return {.supported = false, .reason = std::move(reason)};
  }
};

/// What `compile` is asked for. Valid for the call.
class CompileRequest {
public:
  explicit CompileRequest(const bp_compile_request_t *request) : c_(request) {}

  std::string_view target() const { return view(c_->target); }
  GraphView graph() const { return {c_->graph_table, c_->graph}; }
  std::string_view entryName() const { return view(c_->entry_name); }
  Options options() const { return Options(&c_->options); }
  /// The values of an input that is a weight, dense; nothing for others. What
  /// is compiled after a call runs with the same weight only.
  std::optional<std::span<const std::byte>> weight(uint32_t input) const {
    bp_string_t id = {};
    bp_bytes_t values = {};
    if (!hasReader() ||
        c_->weights->read(c_->weights->context, input, &id, &values))
      return std::nullopt;
    return std::span(static_cast<const std::byte *>(values.data), values.size);
  }
  /// Whether an input is a weight, without reading it.
  bool isWeight(uint32_t input) const {
    return hasReader() && c_->weights->read(c_->weights->context, input,
                                            nullptr, nullptr) == BP_STATUS_OK;
  }

private:
  bool hasReader() const {
    return c_->header.size > offsetof(bp_compile_request_t, weights) &&
           c_->weights;
  }
  const bp_compile_request_t *c_;
};

template <typename T>
concept CompilerClass =
    requires(T plugin, TargetSink sink) { plugin.targets(sink); };
template <typename T>
concept ClaimsOps = requires(T plugin, std::string_view target,
                             GraphView graph) { plugin.claim(target, graph); };
template <typename T>
concept HasStages = requires(T plugin, std::string_view target,
                             StageSink sink) { plugin.stages(target, sink); };
template <typename T>
concept CompilesDispatches = requires(T plugin, const CompileRequest &request) {
  plugin.compile(request);
};
template <typename T>
concept HasGraphPasses =
    requires(T plugin, std::string_view target, GraphPassSink sink) {
      plugin.graphPasses(target, sink);
    };
template <typename T>
concept KernelClass =
    requires(T plugin, KernelSink sink) { plugin.describe(sink); };
template <typename T>
concept ResolvesKernels =
    requires(T plugin, std::string_view name, const bp_device_info_t &device) {
      plugin.resolve(name, uint32_t(1), name, device);
    };

/// The thunks and the table of a compiler.
template <CompilerClass T> struct CompilerTables<T> {
  static void addTo(bp_plugin_info_t &info) { info.compiler = &table; }

private:
  static_assert(
      ClaimsOps<T> || !requires { &T::claim; },
      "claim is a public member Claim claim(std::string_view target, "
      "GraphView)");
  static_assert(
      HasStages<T> || !requires { &T::stages; },
      "stages is a public member Status stages(std::string_view "
      "target, StageSink)");
  static_assert(
      CompilesDispatches<T> || !requires { &T::compile; },
      "compile is a public member Result<Compiled> compile(const "
      "CompileRequest &)");
  static_assert(
      HasGraphPasses<T> || !requires { &T::graphPasses; },
      "graphPasses is a public member Status "
      "graphPasses(std::string_view target, GraphPassSink)");

  static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                             bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      return own.plugin->targets(TargetSink(sink));
    });
  }

  static bp_status_t claim(void *self, bp_string_t target,
                           const bp_graph_t *graph,
                           const bp_graph_table_t *graph_table,
                           bp_claim_t *out_claim, bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      Claim answer =
          own.plugin->claim(view(target), GraphView(graph_table, graph));
      out_claim->supported = answer.supported;
      out_claim->cost_ns = answer.costNs;
      const bp_string_sink_t *reason = out_claim->reason;
      if (answer.supported || !reason)
        return {};
      return putReason(*reason, answer.reason);
    });
  }

  static Status putReason(const bp_string_sink_t &sink,
                          const std::string &reason) {
    bp_status_t code = sink.put(sink.context, toC(reason));
    return code ? Status(code, "the host does not take the reason") : Status();
  }

  static bp_status_t stages(void *self, bp_string_t target,
                            const bp_stage_sink_t *sink,
                            bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      return own.plugin->stages(view(target), StageSink(sink));
    });
  }

  static bp_status_t compile(void *self, const bp_compile_request_t *request,
                             const bp_compiled_sink_t *sink,
                             bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      Result<Compiled> made = own.plugin->compile(CompileRequest(request));
      if (!made)
        return made.status();
      CompiledStructs structs(*made);
      bp_status_t code = sink->put(sink->context, &structs.c());
      return code ? Status(code, "the host refuses what was compiled")
                  : Status();
    });
  }

  static bp_status_t graphPasses(void *self, bp_string_t target,
                                 const bp_graph_pass_sink_t *sink,
                                 bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      return own.plugin->graphPasses(view(target), GraphPassSink(sink));
    });
  }

  static bp_status_t runGraphPass(void *self,
                                  const bp_graph_pass_request_t *request,
                                  const bp_bytes_sink_t *sink,
                                  bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      auto wire = std::span(static_cast<const std::byte *>(request->graph.data),
                            request->graph.size);
      Result<Graph> graph = Graph::open(request->graph_table, wire);
      if (!graph)
        return Status(BP_STATUS_INVALID_ARGUMENT, graph.message());
      Result<std::optional<Graph>> made = own.plugin->runGraphPass(
          view(request->target), view(request->pass), graph->view());
      if (!made || !*made)
        return made.status();
      bp_status_t code =
          request->graph_table->graph_write((*made)->view().c(), sink);
      return code ? Status(code, "the host does not take the graph") : Status();
    });
  }

  static constexpr bp_compiler_table_t makeTable() {
    bp_compiler_table_t made = {};
    made.header = BP_HEADER(bp_compiler_table_t);
    made.targets = targets;
    if constexpr (ClaimsOps<T>)
      made.claim = claim;
    if constexpr (HasStages<T>)
      made.stages = stages;
    if constexpr (CompilesDispatches<T>)
      made.compile = compile;
    if constexpr (HasGraphPasses<T>) {
      made.graph_passes = graphPasses;
      made.run_graph_pass = runGraphPass;
    }
    return made;
  }
  static constexpr bp_compiler_table_t table = makeTable();
};

/// The thunks and the table of a set of kernels.
template <KernelClass T> struct KernelTables<T> {
  static void addTo(bp_plugin_info_t &info) { info.kernels = &table; }

private:
  static_assert(
      ResolvesKernels<T> || !requires { &T::resolve; },
      "resolve is a public member Result<bp_native_function_t> "
      "resolve(std::string_view kernel, uint32_t version, "
      "std::string_view entry, const bp_device_info_t &)");

  static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                              bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      return own.plugin->describe(KernelSink(sink));
    });
  }

  static bp_status_t resolve(void *self, bp_string_t kernel, uint32_t version,
                             bp_string_t entry, const bp_device_info_t *device,
                             bp_native_function_t *out_function,
                             bp_error_t *error) noexcept {
    auto &own = Self<T>::of(self);
    return guarded(own.host, error, [&]() -> Status {
      Result<bp_native_function_t> found =
          own.plugin->resolve(view(kernel), version, view(entry), *device);
      if (!found)
        return found.status();
      out_function->cpu = found->cpu;
      out_function->self = found->self;
      if (BP_HAS(out_function, bp_native_function_t, launch))
        out_function->launch = found->launch;
      return {};
    });
  }

  static constexpr bp_kernels_table_t makeTable() {
    bp_kernels_table_t made = {};
    made.header = BP_HEADER(bp_kernels_table_t);
    made.describe = describe;
    if constexpr (ResolvesKernels<T>)
      made.resolve = resolve;
    return made;
  }
  static constexpr bp_kernels_table_t table = makeTable();
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_COMPILER_H
