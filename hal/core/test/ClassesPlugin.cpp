// SPDX-License-Identifier: Apache-2.0
#include "ClassesPlugin.h"
#include "backplane/cpp/Compiler.h"

#include <functional>
#include <map>

namespace backplane {

bp_graph_t *smallGraph() {
  const bp_graph_table_t *table = graphTable();
  auto builder = plugin::GraphBuilder::create(table, "small");
  const bp_string_t dims[] = {toC("4"), toC("4")};
  uint32_t x = *builder->input("x", BP_DTYPE_F32, dims);
  const uint32_t both[] = {x, x};
  auto y = builder->op("matmul", both);
  EXPECT_TRUE(y.ok()) << y.message();
  EXPECT_TRUE(builder->output((*y)[0], "y").ok());
  auto graph = builder->finish();
  EXPECT_TRUE(graph.ok()) << graph.message();
  auto wire = graph->view().write();
  bp_graph_t *open = nullptr;
  EXPECT_EQ(table->graph_open({wire->data(), wire->size()}, &open, nullptr),
            BP_STATUS_OK);
  return open;
}

namespace {

template <typename T> bp_status_t taken(void *, const T *) {
  return BP_STATUS_OK;
}

/// Calls each member once; gives the status of one of them.
class Calls {
public:
  explicit Calls(Loaded &loaded) : loaded_(loaded) {}

  bp_status_t call(const std::string &member) {
    const std::map<std::string, std::function<bp_status_t()>> calls = {
        {"initialize", [&] { return loaded_.status; }},
        {"enumerate", [&] { return enumerate(); }},
        {"open", [&] { return open(); }},
        {"targets", [&] { return targets(); }},
        {"claim", [&] { return claim(); }},
        {"compile", [&] { return compile(); }},
        {"graphPasses", [&] { return graphPasses(); }},
        {"runGraphPass", [&] { return runGraphPass(); }},
        {"describe", [&] { return describe(); }},
    };
    if (auto found = calls.find(member); found != calls.end())
      return found->second();
    return callDevice(member);
  }

private:
  bp_status_t last() const { return loaded_.error.code; }
  const bp_plugin_info_t &info() const { return loaded_.info; }

  bp_status_t open() {
    bp_device_t *device = loaded_.open();
    if (!device)
      return last();
    info().driver->close(device);
    return BP_STATUS_OK;
  }
  bp_status_t enumerate() {
    const bp_device_sink_t sink = {taken, nullptr};
    return info().driver->enumerate(loaded_.self, &loaded_.none, &sink,
                                    &loaded_.error);
  }
  bp_status_t targets() {
    const bp_target_sink_t sink = {taken, nullptr};
    return info().compiler->targets(loaded_.self, &sink, &loaded_.error);
  }
  bp_status_t claim() {
    bp_claim_t claim = {BP_HEADER(bp_claim_t), 0, {}, 0, nullptr};
    bp_graph_t *graph = smallGraph();
    bp_status_t status =
        info().compiler->claim(loaded_.self, toC("classes-target"), graph,
                               graphTable(), &claim, &loaded_.error);
    graphTable()->graph_close(graph);
    return status;
  }
  bp_status_t compile() {
    bp_graph_t *graph = smallGraph();
    bp_compile_request_t request = {};
    request.header = BP_HEADER(bp_compile_request_t);
    request.graph = graph;
    request.graph_table = graphTable();
    request.entry_name = toC("entry");
    const bp_compiled_sink_t sink = {
        [](void *, const bp_compiled_t *compiled) {
          const bp_launch_t &launch = *compiled->launches[0];
          bool right = compiled->launch_count == 1 &&
                       view(launch.grid[0]) == "4" &&
                       view(launch.entry->name) == "entry" &&
                       launch.entry->binding_count == 2 &&
                       view(launch.parameters[0]) == "4";
          return bp_status_t(right ? BP_STATUS_OK : BP_STATUS_DATA_LOSS);
        },
        nullptr};
    bp_status_t status =
        info().compiler->compile(loaded_.self, &request, &sink, &loaded_.error);
    graphTable()->graph_close(graph);
    return status;
  }
  bp_status_t graphPasses() {
    const bp_graph_pass_sink_t sink = {taken, nullptr};
    return info().compiler->graph_passes(loaded_.self, toC("classes-target"),
                                         &sink, &loaded_.error);
  }
  bp_status_t runGraphPass() {
    bp_graph_t *graph = smallGraph();
    plugin::GraphView opened(graphTable(), graph);
    auto wire = opened.write();
    bp_graph_pass_request_t request = {};
    request.header = BP_HEADER(bp_graph_pass_request_t);
    request.target = toC("classes-target");
    request.pass = toC("classes-pass");
    request.graph = {wire->data(), wire->size()};
    request.graph_table = graphTable();
    uint64_t size = 0;
    const bp_bytes_sink_t sink = {[](void *context, bp_bytes_t bytes) {
                                    *static_cast<uint64_t *>(context) =
                                        bytes.size;
                                    return bp_status_t(BP_STATUS_OK);
                                  },
                                  &size};
    bp_status_t status = info().compiler->run_graph_pass(loaded_.self, &request,
                                                         &sink, &loaded_.error);
    EXPECT_TRUE(status || size == wire->size());
    graphTable()->graph_close(graph);
    return status;
  }
  bp_status_t describe() {
    std::string bodies;
    const bp_kernel_sink_t sink = {
        [](void *context, const bp_kernel_t *kernel) {
          auto &all = *static_cast<std::string *>(context);
          all += kernel->body ? "code;" : std::string(view(kernel->ir)) + ";";
          return bp_status_t(BP_STATUS_OK);
        },
        &bodies};
    bp_status_t status =
        info().kernels->describe(loaded_.self, &sink, &loaded_.error);
    EXPECT_TRUE(status || bodies == "func.func @same;code;") << bodies;
    return status;
  }

  bp_status_t callDevice(const std::string &member);
  bp_status_t callMemory(const std::string &member, bp_device_t *device);
  bp_status_t callQueue(const std::string &member, bp_device_t *device);

  Loaded &loaded_;
};

bp_status_t Calls::callMemory(const std::string &member, bp_device_t *device) {
  const auto *memory2 = static_cast<const bp_memory2_table_t *>(
      info().plugin->get_table(loaded_.self, toC("backplane.memory2"), 0));
  bp_error_t *error = &loaded_.error;
  int64_t value = 42, found = 0;
  bp_buffer_t *buffer = nullptr;
  if (member == "import") {
    bp_status_t code =
        memory2->buffer_import(device, &value, 8, 1, &buffer, error);
    if (!code)
      info().memory->buffer_free(device, buffer);
    return code;
  }
  bp_status_t code = info().memory->buffer_allocate(device, BP_SPACE_DEVICE, 64,
                                                    64, &buffer, error);
  if (code || member == "allocate") {
    if (!code)
      info().memory->buffer_free(device, buffer);
    return code;
  }
  void *mapped = nullptr;
  code = info().memory->buffer_write(device, buffer, 8, &value, 8, error);
  if (member == "read" || (!code && member.empty()))
    code = info().memory->buffer_read(device, buffer, 8, &found, 8, error);
  if (member == "map")
    code = memory2->buffer_map(device, buffer, &mapped, error);
  EXPECT_TRUE(code || !mapped || static_cast<int64_t *>(mapped)[1] == 42);
  EXPECT_TRUE(code || member != "read" || found == 42);
  info().memory->buffer_free(device, buffer);
  return code;
}

bp_status_t Calls::callQueue(const std::string &member, bp_device_t *device) {
  bp_queue_t *queue = nullptr;
  bp_error_t *error = &loaded_.error;
  bp_status_t code =
      info().queue->queue_create(device, BP_QUEUE_COMPUTE, &queue, error);
  if (code)
    return code;
  struct Done {
    bp_status_t code = BP_STATUS_UNKNOWN;
    std::string text;
    int times = 0;
  } done;
  const bp_completion_t completion = {
      [](void *context, bp_status_t status, bp_string_t message) {
        auto &done = *static_cast<Done *>(context);
        done = {status, std::string(view(message)), done.times + 1};
      },
      &done};
  const bp_command_barrier_t barrier = {BP_HEADER(bp_command_barrier_t)};
  const bp_header_t *commands[] = {&barrier.header};
  if (member == "run") {
    code = info().queue->queue_execute(queue, commands, 1, &completion, error);
    EXPECT_EQ(code, BP_STATUS_OK);
    EXPECT_EQ(done.times, 1);
    code = done.code;
    error->message = done.text;
  } else if (member == "executeTimed") {
    const auto *timed = static_cast<const bp_timestamps_table_t *>(
        info().plugin->get_table(loaded_.self, toC("backplane.timestamps"), 0));
    bp_timestamp_t times[1] = {};
    code = timed->queue_execute_timed(queue, commands, 1, times, &completion,
                                      error);
    EXPECT_EQ(done.times, code ? 0 : 1);
  }
  info().queue->queue_destroy(device, queue);
  return code;
}

bp_status_t Calls::callDevice(const std::string &member) {
  bp_device_t *device = loaded_.open();
  EXPECT_TRUE(device) << loaded_.error.message;
  if (!device)
    return last();
  bp_status_t code = BP_STATUS_OK;
  if (member == "load") {
    bp_executable_info_t blob = {};
    const int64_t number = 1;
    bp_executable_t *executable = nullptr;
    blob.header = BP_HEADER(bp_executable_info_t);
    blob.format = toC("classes-1");
    blob.blob = {&number, sizeof(number)};
    code = info().executable->executable_load(device, &blob, &executable,
                                              &loaded_.error);
    if (!code)
      info().executable->executable_unload(device, executable);
  } else if (member == "record") {
    const auto *recorder =
        static_cast<const bp_command_buffer_table_t *>(info().plugin->get_table(
            loaded_.self, toC("backplane.command_buffer"), 0));
    bp_command_buffer_t *commands = nullptr;
    code = recorder->command_buffer_create(device, nullptr, 0, &commands,
                                           &loaded_.error);
    if (!code)
      recorder->command_buffer_destroy(device, commands);
  } else if (member == "createQueue" || member == "run" ||
             member == "executeTimed") {
    code = callQueue(member, device);
  } else {
    code = callMemory(member, device);
  }
  info().driver->close(device);
  return code;
}

} // namespace

bp_status_t call(Loaded &loaded, const std::string &member) {
  return Calls(loaded).call(member);
}

} // namespace backplane
