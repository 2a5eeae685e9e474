// SPDX-License-Identifier: Apache-2.0
//
// The host of the tests, and the plug-in as it loads it.
#include "Harness.h"

#include "sdk/graph/GraphTable.h"
#include "sdk/support/Error.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace reftest {

// ---- host ----

namespace {

std::atomic<int64_t> live = 0;
bp_error_t lastError;

bp_status_t errorSet(void *, bp_error_t *error, bp_status_t status,
                     bp_string_t message) {
  if (error)
    error->message.assign(message.data, message.size);
  return status;
}

void log(void *, uint32_t, bp_string_t) {}

void *allocate(void *, uint64_t size, uint64_t alignment) {
  // What a device cannot have, so that no test needs it.
  if (size > uint64_t(1) << 28)
    return nullptr;
  void *memory = nullptr;
  if (posix_memalign(&memory, std::max<uint64_t>(alignment, sizeof(void *)),
                     size) != 0)
    return nullptr;
  ++live;
  std::memset(memory, 0xCD, size); // nobody may rely on zeros
  return memory;
}

void release(void *, void *pointer) {
  --live;
  std::free(pointer);
}

uint32_t workerCount(void *) { return 2; }

void parallelFor(void *, uint64_t count, bp_loop_body_t body, void *context) {
  std::atomic<uint64_t> at = 0;
  auto work = [&](uint32_t worker) {
    for (uint64_t i; (i = at++) < count;)
      body(context, i, worker);
  };
  if (count < 2)
    return work(0);
  std::thread other(work, 1);
  work(0);
  other.join();
}

const void *getExtension(void *, bp_string_t name, uint32_t version) {
  bool known = std::string(name.data, name.size) == "backplane.graph";
  return known && version == 0 ? &graphTable() : nullptr;
}

} // namespace

const bp_host_t &testHost() {
  static const bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
  static const bp_host_t host = {BP_HEADER(bp_host_t),
                                 nullptr,
                                 BP_ABI_MINOR,
                                 0,
                                 &cpu,
                                 errorSet,
                                 log,
                                 allocate,
                                 release,
                                 workerCount,
                                 parallelFor,
                                 getExtension};
  return host;
}

const bp_graph_table_t &graphTable() { return *backplane::graphTable(); }
int64_t liveAllocations() { return live; }
bp_error_t *errorSlot() { return &lastError; }
std::string takeError() { return std::exchange(lastError.message, {}); }
bp_string_t text(std::string_view value) {
  return {value.data(), value.size()};
}

// ---- plug-in ----

Plugin::Plugin() {
  library_ = dlopen(REF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library_, nullptr) << dlerror();
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(library_, BP_PLUGIN_QUERY_SYMBOL));
  bp_host_info_t host = {BP_HEADER(bp_host_info_t), 0, BP_ABI_MINOR, {}};
  info_.header = BP_HEADER(bp_plugin_info_t);
  EXPECT_EQ(query(&host, &info_), 0);
  bp_options_t none = {};
  EXPECT_EQ(info_.plugin->initialize(&testHost(), &none, &self_, errorSlot()),
            0)
      << takeError();
  EXPECT_EQ(info_.driver->open(self_, text("interpreter"), &none, &device_,
                               errorSlot()),
            0)
      << takeError();
}

Plugin::~Plugin() {
  info_.driver->close(device_);
  info_.plugin->shutdown(self_);
  dlclose(library_);
}

namespace {

struct Capture {
  std::vector<uint8_t> *blob;
  bp_entry_t *entry;
  std::vector<uint8_t> *access;
};

bp_status_t capture(void *context, const bp_compiled_t *compiled) {
  auto *to = static_cast<Capture *>(context);
  auto *bytes = static_cast<const uint8_t *>(compiled->blob.data);
  to->blob->assign(bytes, bytes + compiled->blob.size);
  *to->entry = *compiled->entry;
  to->access->assign(compiled->entry->binding_access,
                     compiled->entry->binding_access +
                         compiled->entry->binding_count);
  to->entry->binding_access = to->access->data();
  for (bp_string_t grid : compiled->grid)
    EXPECT_EQ(std::string(grid.data, grid.size), "1");
  return BP_STATUS_OK;
}

void complete(void *context, bp_status_t status, bp_string_t message) {
  auto *outcome = static_cast<Outcome *>(context);
  outcome->status = status;
  outcome->message.assign(message.data, message.size);
}

/// Inputs filled, outputs with a guard of 64 bytes behind each.
class Bindings {
public:
  Bindings(const Plugin &plugin) : plugin_(plugin) {}
  ~Bindings() {
    for (bp_binding_t &binding : list)
      plugin_.info().memory->buffer_free(plugin_.device(), binding.buffer);
  }
  void add(const std::vector<uint8_t> &bytes) {
    bp_binding_t binding = {nullptr, 64, bytes.size(), 0, 0};
    const bp_memory_table_t *memory = plugin_.info().memory;
    EXPECT_EQ(memory->buffer_allocate(plugin_.device(), BP_SPACE_STAGING,
                                      bytes.size() + 128, 64, &binding.buffer,
                                      errorSlot()),
              0);
    std::vector<uint8_t> all(bytes.size() + 128, 0xAB);
    if (!bytes.empty())
      std::memcpy(all.data() + 64, bytes.data(), bytes.size());
    memory->buffer_write(plugin_.device(), binding.buffer, 0, all.data(),
                         all.size(), errorSlot());
    list.push_back(binding);
  }
  std::vector<uint8_t> read(size_t index) {
    const bp_binding_t &binding = list[index];
    std::vector<uint8_t> all(binding.length + 128);
    plugin_.info().memory->buffer_read(plugin_.device(), binding.buffer, 0,
                                       all.data(), all.size(), errorSlot());
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(all[i], 0xAB) << "written in front of binding " << index;
      EXPECT_EQ(all[all.size() - 1 - i], 0xAB)
          << "written behind binding " << index;
    }
    return {all.begin() + 64, all.end() - 64};
  }
  std::vector<bp_binding_t> list;

private:
  const Plugin &plugin_;
};

Tensor outputTensor(const bp_graph_t *graph, uint32_t index,
                    const std::vector<uint32_t> &symbols) {
  const bp_graph_table_t &table = graphTable();
  uint32_t value = table.output(graph, index);
  bp_value_info_t info;
  table.value_info(graph, value, &info);
  std::vector<int64_t> wide(symbols.begin(), symbols.end());
  Dims dims(info.rank);
  EXPECT_EQ(table.value_shape(graph, value, wide.data(), dims.data()), 0);
  return Tensor(info.dtype, dims);
}

} // namespace

Outcome Plugin::compile(const bp_graph_t *graph, std::vector<uint8_t> &blob,
                        bp_entry_t &entry, std::vector<uint8_t> &access) {
  bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
  request.target = text("ref");
  request.graph = graph;
  request.graph_table = &graphTable();
  request.entry_name = text("main");
  Capture to = {&blob, &entry, &access};
  bp_compiled_sink_t sink = {capture, &to};
  Outcome outcome;
  outcome.status = info_.compiler->compile(self_, &request, &sink, errorSlot());
  outcome.message = takeError();
  return outcome;
}

Outcome Plugin::run(bp_graph_t *graph, const std::vector<Tensor> &inputs,
                    const std::vector<uint32_t> &symbols) {
  std::vector<uint8_t> blob, access;
  bp_entry_t entry = {};
  Outcome outcome = compile(graph, blob, entry, access);
  bp_graph_info_t info;
  graphTable().graph_info(graph, &info);
  for (uint32_t i = 0; i < info.output_count; ++i)
    outcome.outputs.push_back(outputTensor(graph, i, symbols));
  graphTable().graph_close(graph);
  if (outcome.status)
    return outcome;

  bp_executable_t *executable = nullptr;
  const bp_entry_t *entries[] = {&entry};
  bp_executable_info_t load = {BP_HEADER(bp_executable_info_t),
                               text("wire"),
                               {blob.data(), blob.size()},
                               entries,
                               1};
  outcome.status = info_.executable->executable_load(device_, &load,
                                                     &executable, errorSlot());
  outcome.message = takeError();
  if (outcome.status)
    return outcome;

  {
    Bindings bindings(*this);
    for (const Tensor &input : inputs)
      bindings.add(input.bytes);
    for (const Tensor &output : outcome.outputs)
      bindings.add(std::vector<uint8_t>(output.bytes.size(), 0xEE));
    bp_command_dispatch_t dispatch = {BP_HEADER(bp_command_dispatch_t)};
    dispatch.executable = executable;
    dispatch.op = 7;
    dispatch.grid[0] = dispatch.grid[1] = dispatch.grid[2] = 1;
    dispatch.bindings = bindings.list.data();
    dispatch.binding_count = bindings.list.size();
    dispatch.constants = symbols.data();
    dispatch.constant_count = uint32_t(symbols.size());
    const bp_header_t *commands[] = {&dispatch.header};
    bp_queue_t *queue = nullptr;
    info_.queue->queue_create(device_, BP_QUEUE_COMPUTE, &queue, errorSlot());
    bp_completion_t completion = {complete, &outcome};
    outcome.status = BP_STATUS_UNKNOWN;
    EXPECT_EQ(info_.queue->queue_execute(queue, commands, 1, &completion,
                                         errorSlot()),
              0);
    info_.queue->queue_destroy(device_, queue);
    for (size_t i = 0; i < outcome.outputs.size(); ++i)
      outcome.outputs[i].bytes = bindings.read(inputs.size() + i);
  }
  info_.executable->executable_unload(device_, executable);
  return outcome;
}

Outcome runOp(const std::string &op, const std::vector<Tensor> &inputs,
              const Attributes &attributes) {
  Plugin plugin;
  Builder builder;
  std::vector<uint32_t> operands;
  for (const Tensor &input : inputs)
    operands.push_back(builder.input(input));
  builder.output(builder.op(op, operands, attributes));
  bp_graph_t *graph = builder.finish();
  if (!graph)
    return {BP_STATUS_INTERNAL, "no graph", {}};
  return plugin.run(graph, inputs);
}

Tensor runOk(const std::string &op, const std::vector<Tensor> &inputs,
             const Attributes &attributes) {
  Outcome outcome = runOp(op, inputs, attributes);
  EXPECT_EQ(outcome.status, 0) << op << ": " << outcome.message;
  return outcome.outputs.empty() ? Tensor() : outcome.outputs[0];
}

} // namespace reftest
