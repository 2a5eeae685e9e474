// SPDX-License-Identifier: Apache-2.0
//
// Every function of backplane.h with arguments that are wrong: a status and a
// message, never a crash.
#include "hal/runtime/test/Models.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

using namespace backplane;
using namespace backplane::test;

namespace {

bp_status_t keep(void *, bp_string_t) { return BP_STATUS_OK; }
bp_status_t keepDevice(void *, const bp_device_listing_t *) {
  return BP_STATUS_OK;
}
bp_status_t keepKernel(void *, const bp_kernel_listing_t *) {
  return BP_STATUS_OK;
}
bp_status_t keepTarget(void *, const bp_target_listing_t *) {
  return BP_STATUS_OK;
}

/// Good arguments for every function.
struct Good {
  Good() {
    Draft draft;
    fixed(draft);
    artifact = std::move(*test::open(context, draft, folder / "model.bpx"));
    session =
        std::move(*createSession(artifact, {BP_HEADER(bp_session_options_t)}));
    bp_device_buffer_create(context.get(), toC("host"), 64, &outBuffer,
                            nullptr);
    buffer.reset(outBuffer);
    bp_timeline_t *made = nullptr;
    bp_timeline_create(&made, nullptr);
    timeline.reset(made);
  }

  Folder folder;
  Context context = hostContext();
  Artifact artifact;
  Session session;
  bp_string_sink_t sink = {keep, nullptr};
  bp_device_listing_sink_t devices = {keepDevice, nullptr};
  bp_target_listing_sink_t targets = {keepTarget, nullptr};
  bp_kernel_listing_sink_t kernels = {keepKernel, nullptr};
  bp_context_options_t contextOptions = {BP_HEADER(bp_context_options_t)};
  bp_compile_options_t compile = {BP_HEADER(bp_compile_options_t)};
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
  Floats xs{{8}}, ys{{8}};
  bp_tensor_t x = xs.c(), y = ys.c();
  int64_t dims[8] = {};
  int64_t *rooms[1] = {dims};
  bp_context_t *outContext = nullptr;
  bp_artifact_t *outArtifact = nullptr;
  bp_session_t *outSession = nullptr;
  bp_call_t *outCall = nullptr;
  bp_device_buffer_t *outBuffer = nullptr;
  DLManagedTensorVersioned *outTensor = nullptr;
  bp_value_t value = {BP_HEADER(bp_value_t)};
  Handle<bp_device_buffer_t, bp_device_buffer_destroy> buffer;
  Handle<bp_timeline_t, bp_timeline_destroy> timeline;
};

/// One wrong call.
struct Wrong {
  std::string name; ///< function, then what is wrong
  std::function<bp_status_t(Good &, bp_error_t *)> call;
};

const bp_string_t noText = {nullptr, 5};
const bp_string_t endless = {"x", UINT64_MAX};
const bp_string_t zeroInside = {"/tmp/a\0b", 8};
constexpr uint32_t many = UINT32_MAX;

/// Handles of every other kind in the place of one.
template <typename Handle> std::vector<Handle *> notThese(Good &g) {
  std::vector<void *> all = {nullptr, g.context.get(), g.artifact.get(),
                             g.session.get(), g.dims};
  std::vector<Handle *> others;
  for (void *one : all) {
    bool same =
        (std::is_same_v<Handle, bp_context_t> && one &&
         one == g.context.get()) ||
        (std::is_same_v<Handle, bp_artifact_t> && one &&
         one == g.artifact.get()) ||
        (std::is_same_v<Handle, bp_session_t> && one && one == g.session.get());
    if (!same)
      others.push_back(static_cast<Handle *>(one));
  }
  return others;
}

#define BP_WRONG(function, what, ...)                                          \
  Wrong {                                                                      \
    #function " " what,                                                        \
        [](Good &g, bp_error_t *e) { return function(__VA_ARGS__); }           \
  }

template <typename T, typename Change>
const T *with(const T &from, T &copy, Change change) {
  copy = from;
  change(copy);
  return &copy;
}

bp_compile_options_t changedCompile;
bp_session_options_t changedSession;
bp_context_options_t changedContext;

template <typename Change>
const bp_compile_options_t *compileWith(Good &g, Change change) {
  return with(g.compile, changedCompile, change);
}
template <typename Change>
const bp_session_options_t *sessionWith(Good &g, Change change) {
  return with(g.options, changedSession, change);
}
template <typename Change>
const bp_context_options_t *contextWith(Good &g, Change change) {
  return with(g.contextOptions, changedContext, change);
}
bp_chooser_t noChooser = {nullptr, nullptr};
bp_string_sink_t noPut = {nullptr, nullptr};
bp_device_listing_sink_t noDevicePut = {nullptr, nullptr};
bp_target_listing_sink_t noTargetPut = {nullptr, nullptr};
bp_kernel_listing_sink_t noKernelPut = {nullptr, nullptr};

const Wrong wrongOptions[] = {
    BP_WRONG(bp_context_create, "no place", &g.contextOptions, nullptr, e),
    BP_WRONG(bp_context_create, "a struct of another type",
             reinterpret_cast<bp_context_options_t *>(&g.compile),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "size 0",
             contextWith(g, [](auto &o) { o.header.size = 0; }), &g.outContext,
             e),
    BP_WRONG(bp_context_create, "a huge size",
             contextWith(g, [](auto &o) { o.header.size = many; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "files at NULL",
             contextWith(g, [](auto &o) { o.plugin_file_count = 3; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "endless files",
             contextWith(g, [](auto &o) { o.plugin_file_count = UINT64_MAX; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "added files at NULL",
             contextWith(g, [](auto &o) { o.add_plugin_file_count = 3; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "names at NULL",
             contextWith(g, [](auto &o) { o.select_count = 1; }), &g.outContext,
             e),
    BP_WRONG(bp_context_create, "disabled names at NULL",
             contextWith(g, [](auto &o) { o.disable_count = 1; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "trusted folders at NULL",
             contextWith(g, [](auto &o) { o.trusted_dir_count = 1; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "a relative trusted folder",
             contextWith(g,
                         [](auto &o) {
                           static const bp_string_t dot = toC(".");
                           o.trusted_dirs = &dot;
                           o.trusted_dir_count = 1;
                         }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "a cache folder at NULL",
             contextWith(g, [](auto &o) { o.cache_dir = noText; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "an endless cache folder",
             contextWith(g, [](auto &o) { o.cache_dir = endless; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "a cache folder with a zero inside",
             contextWith(g, [](auto &o) { o.cache_dir = zeroInside; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "a worker file at NULL",
             contextWith(g, [](auto &o) { o.workers_file = noText; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "a million threads",
             contextWith(g, [](auto &o) { o.threads = 1000000; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "flags",
             contextWith(g, [](auto &o) { o.flags = 0x7FFFFFFE; }),
             &g.outContext, e),
    BP_WRONG(bp_context_create, "reserved",
             contextWith(g, [](auto &o) { o.reserved = 1; }), &g.outContext, e),
    BP_WRONG(bp_context_create, "reserved2",
             contextWith(g, [](auto &o) { o.reserved2 = 1; }), &g.outContext,
             e),
};

const Wrong wrongContexts[] = {
    BP_WRONG(bp_context_devices, "no sink", g.context.get(), nullptr, e),
    BP_WRONG(bp_context_devices, "no put", g.context.get(), &noDevicePut, e),
    BP_WRONG(bp_context_device, "no device", g.context.get(), noText,
             &g.devices, e),
    BP_WRONG(bp_context_device, "no sink", g.context.get(), toC("host"),
             nullptr, e),
    BP_WRONG(bp_context_device, "no put", g.context.get(), toC("host"),
             &noDevicePut, e),
    BP_WRONG(bp_context_device, "unknown", g.context.get(), toC("?"),
             &g.devices, e),
    BP_WRONG(bp_context_workers, "no sink", g.context.get(), nullptr, e),
    BP_WRONG(bp_context_workers, "no put", g.context.get(), &noPut, e),
    BP_WRONG(bp_context_worker_devices, "no name", g.context.get(), noText,
             &g.devices, e),
    BP_WRONG(bp_context_worker_devices, "an endless name", g.context.get(),
             endless, &g.devices, e),
    BP_WRONG(bp_context_worker_devices, "no sink", g.context.get(),
             toC("local"), nullptr, e),
    BP_WRONG(bp_context_worker_devices, "no put", g.context.get(), toC("local"),
             &noDevicePut, e),
    BP_WRONG(bp_context_worker_devices, "unknown", g.context.get(), toC("?"),
             &g.devices, e),
    BP_WRONG(bp_context_targets, "no device", g.context.get(), noText,
             &g.targets, e),
    BP_WRONG(bp_context_targets, "an endless device", g.context.get(), endless,
             &g.targets, e),
    BP_WRONG(bp_context_targets, "no sink", g.context.get(), toC("host"),
             nullptr, e),
    BP_WRONG(bp_context_targets, "no put", g.context.get(), toC("host"),
             &noTargetPut, e),
    BP_WRONG(bp_context_kernels, "no sink", g.context.get(), nullptr, e),
    BP_WRONG(bp_context_kernels, "no put", g.context.get(), &noKernelPut, e),
    BP_WRONG(bp_context_trace_begin, "no path", g.context.get(), noText, e),
    BP_WRONG(bp_context_trace_begin, "an empty path", g.context.get(), toC(""),
             e),
    BP_WRONG(bp_context_trace_begin, "an endless path", g.context.get(),
             endless, e),
    BP_WRONG(bp_context_trace_begin, "a device", g.context.get(),
             toC("/dev/null"), e),
    BP_WRONG(bp_context_trace_begin, "a folder", g.context.get(), toC("/tmp"),
             e),
    BP_WRONG(bp_context_trace_end, "none is on", g.context.get(), e),
};

const Wrong wrongArtifacts[] = {
    BP_WRONG(bp_artifact_compile, "no path", g.context.get(), noText,
             &g.compile, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "an empty path", g.context.get(), toC(""),
             nullptr, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "an endless path", g.context.get(), endless,
             &g.compile, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "no place", g.context.get(), toC("m.onnx"),
             &g.compile, nullptr, e),
    BP_WRONG(bp_artifact_compile, "options of another type", g.context.get(),
             toC("m.onnx"),
             reinterpret_cast<bp_compile_options_t *>(&g.options),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "targets at NULL", g.context.get(),
             toC("m.onnx"), compileWith(g, [](auto &o) { o.target_count = 2; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "endless targets", g.context.get(),
             toC("m.onnx"),
             compileWith(g,
                         [](auto &o) {
                           o.targets = &endless;
                           o.target_count = UINT64_MAX;
                         }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "an endless target", g.context.get(),
             toC("m.onnx"),
             compileWith(g,
                         [](auto &o) {
                           o.targets = &endless;
                           o.target_count = 1;
                         }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "a driver at NULL", g.context.get(),
             toC("m.onnx"), compileWith(g, [](auto &o) { o.driver = noText; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "a dump folder at NULL", g.context.get(),
             toC("m.onnx"),
             compileWith(g, [](auto &o) { o.dump_dir = noText; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "an output at NULL", g.context.get(),
             toC("m.onnx"),
             compileWith(g, [](auto &o) { o.output_path = noText; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "an output with a zero inside",
             g.context.get(), toC("m.onnx"),
             compileWith(g, [](auto &o) { o.output_path = zeroInside; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "a kernel at NULL", g.context.get(),
             toC("m.onnx"), compileWith(g, [](auto &o) { o.kernel = noText; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "dims at NULL", g.context.get(),
             toC("m.onnx"), compileWith(g, [](auto &o) { o.dim_count = 2; }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "a symbol at NULL", g.context.get(),
             toC("m.onnx"),
             compileWith(g,
                         [](auto &o) {
                           static const bp_dim_range_t dim = {noText, 1, 2};
                           o.dims = &dim;
                           o.dim_count = 1;
                         }),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile, "flags", g.context.get(), toC("m.onnx"),
             compileWith(g, [](auto &o) { o.flags = many; }), &g.outArtifact,
             e),
    BP_WRONG(bp_artifact_compile, "reserved", g.context.get(), toC("m.onnx"),
             compileWith(g, [](auto &o) { o.reserved = 7; }), &g.outArtifact,
             e),
    BP_WRONG(bp_artifact_compile_graph, "no graph", g.context.get(),
             bp_bytes_t{nullptr, 100}, nullptr, 0, nullptr, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile_graph, "an endless graph", g.context.get(),
             bp_bytes_t{"x", UINT64_MAX}, nullptr, 0, nullptr, &g.outArtifact,
             e),
    BP_WRONG(bp_artifact_compile_graph, "an empty graph", g.context.get(),
             bp_bytes_t{nullptr, 0}, nullptr, 0, nullptr, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile_graph, "weights at NULL", g.context.get(),
             bp_bytes_t{"x", 1}, nullptr, 3, nullptr, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile_graph, "endless weights", g.context.get(),
             bp_bytes_t{"x", 1}, &g.x, many, nullptr, &g.outArtifact, e),
    BP_WRONG(bp_artifact_compile_graph, "no place", g.context.get(),
             bp_bytes_t{"x", 1}, nullptr, 0, nullptr, nullptr, e),
    BP_WRONG(bp_artifact_open, "no path", g.context.get(), noText,
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_open, "an endless path", g.context.get(), endless,
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_open, "a device", g.context.get(), toC("/dev/zero"),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_open, "a folder", g.context.get(), toC("/"),
             &g.outArtifact, e),
    BP_WRONG(bp_artifact_open, "no place", g.context.get(), toC("m.bpx"),
             nullptr, e),
    BP_WRONG(bp_artifact_open_bytes, "no bytes", g.context.get(),
             bp_bytes_t{nullptr, 100}, &g.outArtifact, e),
    BP_WRONG(bp_artifact_open_bytes, "an empty file", g.context.get(),
             bp_bytes_t{nullptr, 0}, &g.outArtifact, e),
    BP_WRONG(bp_artifact_open_bytes, "endless bytes", g.context.get(),
             bp_bytes_t{"x", UINT64_MAX}, &g.outArtifact, e),
    BP_WRONG(bp_artifact_open_bytes, "no place", g.context.get(),
             bp_bytes_t{"x", 1}, nullptr, e),
    BP_WRONG(bp_artifact_describe, "no sink", g.artifact.get(), nullptr, e),
    BP_WRONG(bp_artifact_describe, "no put", g.artifact.get(), &noPut, e),
    BP_WRONG(bp_artifact_explain, "no sink", g.artifact.get(), nullptr, e),
    BP_WRONG(bp_artifact_explain, "no put", g.artifact.get(), &noPut, e),
    BP_WRONG(bp_artifact_select, "no sink", g.artifact.get(), &g.options,
             nullptr, e),
    BP_WRONG(bp_artifact_select, "no put", g.artifact.get(), &g.options, &noPut,
             e),
    BP_WRONG(bp_artifact_select, "a device at NULL", g.artifact.get(),
             sessionWith(g, [](auto &o) { o.device = noText; }), &g.sink, e),
};

const Wrong wrongSessions[] = {
    BP_WRONG(bp_session_create, "no place", g.artifact.get(), &g.options,
             nullptr, e),
    BP_WRONG(bp_session_create, "options of another type", g.artifact.get(),
             reinterpret_cast<bp_session_options_t *>(&g.compile),
             &g.outSession, e),
    BP_WRONG(bp_session_create, "a device at NULL", g.artifact.get(),
             sessionWith(g, [](auto &o) { o.device = noText; }), &g.outSession,
             e),
    BP_WRONG(bp_session_create, "an endless device", g.artifact.get(),
             sessionWith(g, [](auto &o) { o.device = endless; }), &g.outSession,
             e),
    BP_WRONG(bp_session_create, "an empty chooser", g.artifact.get(),
             sessionWith(g, [](auto &o) { o.chooser = &noChooser; }),
             &g.outSession, e),
    BP_WRONG(bp_session_create, "flags", g.artifact.get(),
             sessionWith(g, [](auto &o) { o.flags = many; }), &g.outSession, e),
    BP_WRONG(bp_session_explain, "no sink", g.session.get(), nullptr, e),
    BP_WRONG(bp_session_explain, "no put", g.session.get(), &noPut, e),
    BP_WRONG(bp_session_output_shapes, "inputs at NULL", g.session.get(),
             nullptr, 1, g.rooms, e),
    BP_WRONG(bp_session_output_shapes, "too many inputs", g.session.get(), &g.x,
             many, g.rooms, e),
    BP_WRONG(bp_session_output_shapes, "no inputs", g.session.get(), nullptr, 0,
             g.rooms, e),
    BP_WRONG(bp_session_output_shapes, "no rooms", g.session.get(), &g.x, 1,
             nullptr, e),
    BP_WRONG(
        bp_session_output_shapes, "a room at NULL", g.session.get(), &g.x, 1,
        [] {
          static int64_t *const none[1] = {nullptr};
          return none;
        }(),
        e),
    BP_WRONG(bp_session_output_bounds, "inputs at NULL", g.session.get(),
             nullptr, 1, g.rooms, e),
    BP_WRONG(bp_session_output_bounds, "no inputs", g.session.get(), nullptr, 0,
             g.rooms, e),
    BP_WRONG(bp_session_output_bounds, "no rooms", g.session.get(), &g.x, 1,
             nullptr, e),
    BP_WRONG(bp_session_run, "inputs at NULL", g.session.get(), nullptr, 1,
             &g.y, 1, e),
    BP_WRONG(bp_session_run, "outputs at NULL", g.session.get(), &g.x, 1,
             nullptr, 1, e),
    BP_WRONG(bp_session_run, "too many inputs", g.session.get(), &g.x, many,
             &g.y, 1, e),
    BP_WRONG(bp_session_run, "too many outputs", g.session.get(), &g.x, 1, &g.y,
             many, e),
    BP_WRONG(bp_session_run, "nothing", g.session.get(), nullptr, 0, nullptr, 0,
             e),
    BP_WRONG(bp_session_submit, "inputs at NULL", g.session.get(), nullptr, 1,
             &g.y, 1, &g.outCall, e),
    BP_WRONG(bp_session_submit, "outputs at NULL", g.session.get(), &g.x, 1,
             nullptr, 1, &g.outCall, e),
    BP_WRONG(bp_session_submit, "too many inputs", g.session.get(), &g.x, many,
             &g.y, 1, &g.outCall, e),
    BP_WRONG(bp_session_submit, "no place", g.session.get(), &g.x, 1, &g.y, 1,
             nullptr, e),
};

const bp_value_t *const noValues[1] = {nullptr};
bp_value_t *const noOutputs[1] = {nullptr};

const Wrong wrongValues[] = {
    BP_WRONG(bp_device_buffer_create, "no device", g.context.get(), noText, 8,
             &g.outBuffer, e),
    BP_WRONG(bp_device_buffer_create, "an unknown device", g.context.get(),
             toC("none"), 8, &g.outBuffer, e),
    BP_WRONG(bp_device_buffer_create, "a worker", g.context.get(),
             toC("worker:local/host"), 8, &g.outBuffer, e),
    BP_WRONG(bp_device_buffer_create, "size 0", g.context.get(), toC("host"), 0,
             &g.outBuffer, e),
    BP_WRONG(bp_device_buffer_create, "an endless size", g.context.get(),
             toC("host"), UINT64_MAX, &g.outBuffer, e),
    BP_WRONG(bp_device_buffer_create, "no place", g.context.get(), toC("host"),
             8, nullptr, e),
    BP_WRONG(bp_device_buffer_write, "NULL", g.buffer.get(), 0, nullptr, 8, e),
    BP_WRONG(bp_device_buffer_write, "too much", g.buffer.get(), 0, g.dims, 65,
             e),
    BP_WRONG(bp_device_buffer_write, "outside", g.buffer.get(), UINT64_MAX,
             g.dims, 8, e),
    BP_WRONG(bp_device_buffer_read, "NULL", g.buffer.get(), 0, nullptr, 8, e),
    BP_WRONG(bp_device_buffer_read, "outside", g.buffer.get(), 57, g.dims, 8,
             e),
    BP_WRONG(bp_timeline_create, "no place",
             (void(g), static_cast<bp_timeline_t **>(nullptr)), e),
    BP_WRONG(bp_timeline_signal, "0", g.timeline.get(), 0, e),
    BP_WRONG(bp_timeline_fail, "OK", g.timeline.get(), BP_STATUS_OK, toC("x"),
             e),
    BP_WRONG(bp_timeline_fail, "no text", g.timeline.get(),
             BP_STATUS_UNAVAILABLE, noText, e),
    BP_WRONG(bp_timeline_wait, "in vain", g.timeline.get(), 9, 1000, e),
    BP_WRONG(bp_session_run_values, "inputs at NULL", g.session.get(), nullptr,
             1, noOutputs, 1, e),
    BP_WRONG(bp_session_run_values, "a value at NULL", g.session.get(),
             noValues, 1, noOutputs, 1, e),
    BP_WRONG(bp_session_run_values, "too many", g.session.get(), noValues, many,
             noOutputs, 1, e),
    BP_WRONG(bp_session_run_values, "nothing", g.session.get(), nullptr, 0,
             nullptr, 0, e),
    BP_WRONG(bp_session_submit_values, "no place", g.session.get(), noValues, 1,
             noOutputs, 1, nullptr, e),
    BP_WRONG(bp_session_submit_values, "a value at NULL", g.session.get(),
             noValues, 1, noOutputs, 1, &g.outCall, e),
    BP_WRONG(bp_value_from_dlpack, "no tensor", nullptr, &g.value, e),
    BP_WRONG(bp_value_from_dlpack, "no place",
             reinterpret_cast<DLManagedTensorVersioned *>(g.dims), nullptr, e),
    BP_WRONG(bp_value_to_dlpack, "no value", nullptr, &g.outTensor, e),
    BP_WRONG(bp_value_to_dlpack, "no place", &g.value, nullptr, e),
    BP_WRONG(bp_value_to_dlpack, "a struct of another type",
             reinterpret_cast<bp_value_t *>(&g.compile), &g.outTensor, e),
};

/// What may be wrong about one tensor.
const std::pair<const char *, void (*)(bp_tensor_t &)> wrongTensors[] = {
    {"no data", [](bp_tensor_t &t) { t.data = nullptr; }},
    {"no dims", [](bp_tensor_t &t) { t.dims = nullptr; }},
    {"size 0", [](bp_tensor_t &t) { t.size = 0; }},
    {"an endless size", [](bp_tensor_t &t) { t.size = UINT64_MAX; }},
    {"dtype 0", [](bp_tensor_t &t) { t.dtype = BP_DTYPE_INVALID; }},
    {"an unknown dtype", [](bp_tensor_t &t) { t.dtype = bp_dtype_t(12345); }},
    {"rank 0", [](bp_tensor_t &t) { t.rank = 0; }},
    {"an endless rank", [](bp_tensor_t &t) { t.rank = many; }},
    {"a negative size of an axis",
     [](bp_tensor_t &t) {
       static const int64_t dims[] = {-8};
       t.dims = dims;
     }},
    {"an overflowing shape",
     [](bp_tensor_t &t) {
       static const int64_t dims[] = {INT64_MAX};
       t.dims = dims;
     }},
};

class Arguments : public testing::Test {
protected:
  void refused(const std::string &name,
               const std::function<bp_status_t(bp_error_t *)> &call) {
    SCOPED_TRACE(name);
    tried_.insert(name.substr(0, name.find(' ')));
    bp_error_t *error = bp_error_create();
    EXPECT_NE(call(error), BP_STATUS_OK);
    std::string message(view(bp_error_message(error)));
    EXPECT_GE(message.size(), 5u);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    bp_error_destroy(error);
    EXPECT_NE(call(nullptr), BP_STATUS_OK);
  }
  void refused(std::span<const Wrong> all) {
    for (const Wrong &wrong : all)
      refused(wrong.name,
              [&](bp_error_t *error) { return wrong.call(good_, error); });
  }

  Good good_;
  std::set<std::string> tried_;
};

TEST_F(Arguments, ThatAreWrongAreRefused) {
  refused(wrongOptions);
  refused(wrongContexts);
  refused(wrongArtifacts);
  refused(wrongSessions);
  refused(wrongValues);
  EXPECT_EQ(tried_.size(), 33u);
  // Everything still works.
  EXPECT_EQ(
      bp_session_run(good_.session.get(), &good_.x, 1, &good_.y, 1, nullptr),
      BP_STATUS_OK);
  EXPECT_EQ(good_.ys.values[0], 5);
}

TEST_F(Arguments, TensorsThatAreWrongAreRefused) {
  bp_session_t *s = good_.session.get();
  for (const auto &[what, change] : wrongTensors) {
    bp_tensor_t x = good_.x, y = good_.y;
    change(x);
    refused(std::string("bp_session_run input with ") + what,
            [&](bp_error_t *e) {
              return bp_session_run(s, &x, 1, &good_.y, 1, e);
            });
    refused(std::string("bp_session_submit input with ") + what,
            [&](bp_error_t *e) {
              return bp_session_submit(s, &x, 1, &good_.y, 1, &good_.outCall,
                                       e);
            });
    refused(std::string("bp_artifact_compile_graph weight with ") + what,
            [&](bp_error_t *e) {
              return bp_artifact_compile_graph(good_.context.get(), {"x", 1},
                                               &x, 1, nullptr,
                                               &good_.outArtifact, e);
            });
    change(y);
    refused(std::string("bp_session_run output with ") + what,
            [&](bp_error_t *e) {
              return bp_session_run(s, &good_.x, 1, &y, 1, e);
            });
  }
}

TEST_F(Arguments, ContextsOfAnotherKindAreRefused) {
  Good &g = good_;
  for (bp_context_t *c : notThese<bp_context_t>(g)) {
    for (const auto &[name, call] : std::initializer_list<
             std::pair<const char *, std::function<bp_status_t(bp_error_t *)>>>{
             {"devices",
              [&](auto *e) { return bp_context_devices(c, &g.devices, e); }},
             {"device",
              [&](auto *e) {
                return bp_context_device(c, toC("host"), &g.devices, e);
              }},
             {"workers",
              [&](auto *e) { return bp_context_workers(c, &g.sink, e); }},
             {"worker_devices",
              [&](auto *e) {
                return bp_context_worker_devices(c, toC("local"), &g.devices,
                                                 e);
              }},
             {"targets",
              [&](auto *e) {
                return bp_context_targets(c, toC("host"), &g.targets, e);
              }},
             {"kernels",
              [&](auto *e) { return bp_context_kernels(c, &g.kernels, e); }},
             {"trace_begin",
              [&](auto *e) { return bp_context_trace_begin(c, toC("t"), e); }},
             {"trace_end", [&](auto *e) { return bp_context_trace_end(c, e); }},
             {"compile",
              [&](auto *e) {
                return bp_artifact_compile(c, toC("m"), nullptr, &g.outArtifact,
                                           e);
              }},
             {"compile_graph",
              [&](auto *e) {
                return bp_artifact_compile_graph(c, {"x", 1}, nullptr, 0,
                                                 nullptr, &g.outArtifact, e);
              }},
             {"open",
              [&](auto *e) {
                return bp_artifact_open(c, toC("m"), &g.outArtifact, e);
              }},
             {"open_bytes", [&](auto *e) {
                return bp_artifact_open_bytes(c, {"x", 1}, &g.outArtifact, e);
              }}})
      refused(name, call);
    bp_context_destroy(c);
  }
}

TEST_F(Arguments, ArtifactsAndSessionsOfAnotherKindAreRefused) {
  Good &g = good_;
  for (bp_artifact_t *a : notThese<bp_artifact_t>(g)) {
    refused("describe",
            [&](auto *e) { return bp_artifact_describe(a, &g.sink, e); });
    refused("explain",
            [&](auto *e) { return bp_artifact_explain(a, &g.sink, e); });
    refused("select", [&](auto *e) {
      return bp_artifact_select(a, nullptr, &g.sink, e);
    });
    refused("create", [&](auto *e) {
      return bp_session_create(a, nullptr, &g.outSession, e);
    });
    EXPECT_NE(bp_artifact_input(a, 0, &g.info), BP_STATUS_OK);
    EXPECT_NE(bp_artifact_output(a, 0, &g.info), BP_STATUS_OK);
    EXPECT_EQ(bp_artifact_input_count(a), 0u);
    EXPECT_EQ(bp_artifact_output_count(a), 0u);
    EXPECT_EQ(bp_artifact_bytes(a).size, 0u);
    bp_artifact_destroy(a);
  }
  for (bp_session_t *s : notThese<bp_session_t>(g)) {
    refused("reset", [&](auto *e) { return bp_session_reset(s, e); });
    refused("explain",
            [&](auto *e) { return bp_session_explain(s, &g.sink, e); });
    refused("output_shapes", [&](auto *e) {
      return bp_session_output_shapes(s, &g.x, 1, g.rooms, e);
    });
    refused("output_bounds", [&](auto *e) {
      return bp_session_output_bounds(s, &g.x, 1, g.rooms, e);
    });
    refused("run",
            [&](auto *e) { return bp_session_run(s, &g.x, 1, &g.y, 1, e); });
    refused("submit", [&](auto *e) {
      return bp_session_submit(s, &g.x, 1, &g.y, 1, &g.outCall, e);
    });
    EXPECT_EQ(bp_session_choice(s).size, 0u);
    EXPECT_EQ(bp_session_remote_ms(s), 0);
    EXPECT_EQ(bp_session_dispatch_count(s), 0u);
    bp_session_destroy(s);
  }
  for (bp_device_buffer_t *b : notThese<bp_device_buffer_t>(g)) {
    refused("write", [&](auto *e) {
      return bp_device_buffer_write(b, 0, g.dims, 8, e);
    });
    refused("read",
            [&](auto *e) { return bp_device_buffer_read(b, 0, g.dims, 8, e); });
    EXPECT_EQ(bp_device_buffer_size(b), 0u);
    EXPECT_EQ(bp_device_buffer_map(b), nullptr);
    EXPECT_EQ(bp_device_buffer_device(b).size, 0u);
    bp_device_buffer_destroy(b);
  }
  for (bp_timeline_t *t : notThese<bp_timeline_t>(g)) {
    refused("signal", [&](auto *e) { return bp_timeline_signal(t, 1, e); });
    refused("wait", [&](auto *e) { return bp_timeline_wait(t, 0, 1, e); });
    EXPECT_EQ(bp_timeline_value(t), 0u);
    bp_timeline_destroy(t);
  }
  for (bp_call_t *call : notThese<bp_call_t>(g)) {
    refused("wait", [&](auto *e) { return bp_call_wait(call, e); });
    EXPECT_EQ(bp_call_done(call), 1);
  }
  bp_error_destroy(nullptr);
  EXPECT_EQ(bp_error_message(nullptr).size, 0u);
  bp_context_options_from_env(nullptr);
  bp_context_options_from_env(
      reinterpret_cast<bp_context_options_t *>(&g.compile));
}

TEST_F(Arguments, InfosThatAreWrongAreRefused) {
  bp_artifact_t *a = good_.artifact.get();
  for (auto *get : {bp_artifact_input, bp_artifact_output}) {
    EXPECT_NE(get(a, 0, nullptr), BP_STATUS_OK);
    EXPECT_NE(get(a, many, &good_.info), BP_STATUS_OK);
    bp_tensor_info_t info = good_.info;
    info.header.size = 3;
    EXPECT_NE(get(a, 0, &info), BP_STATUS_OK);
    info.header = {7, sizeof(info), nullptr};
    EXPECT_NE(get(a, 0, &info), BP_STATUS_OK);
    // A struct of an older header gets what it has room for.
    info = good_.info;
    info.header.size = sizeof(bp_header_t) + sizeof(bp_string_t);
    EXPECT_EQ(get(a, 0, &info), BP_STATUS_OK);
    EXPECT_EQ(info.dims, nullptr);
  }
}

/// Every function of the header stands in this file.
TEST(ArgumentsTest, NamesEveryFunction) {
  auto textOf = [](const char *path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  std::string header, own = textOf(BP_OWN_SOURCE);
  std::istringstream files(BP_HEADER_FILES);
  for (std::string file; files >> file;)
    header += textOf(file.c_str());
  std::regex declared("BP_API [^;(]*?(bp_[a-z_]+)\\(");
  size_t count = 0;
  for (std::sregex_iterator it(header.begin(), header.end(), declared), end;
       it != end; ++it, ++count)
    if ((*it)[1] != "bp_version" && (*it)[1] != "bp_error_create")
      EXPECT_NE(own.find((*it)[1].str()), std::string::npos) << (*it)[1];
  EXPECT_GT(count, 30u);
}

} // namespace
