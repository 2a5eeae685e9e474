// SPDX-License-Identifier: Apache-2.0
//
// Plug-ins of classes (backplane/cpp/) through their tables: what is there and
// what is not, exceptions at each entry, and through the registry.
#include "PluginFolder.h"
#include "backplane/cpp/Compiler.h"
#include "backplane/cpp/Driver.h"
#include "backplane/cpp/Tables.h"
#include "hal/core/Error.h"
#include "hal/core/Host.h"
#include "hal/core/Registry.h"
#include "sdk/graph/GraphTable.h"

#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>

namespace backplane {
namespace {

/// A library of plugins/Classes.cpp, initialised with options.
class Loaded {
public:
  explicit Loaded(std::string_view thrower = "", std::string_view what = "",
                  const char *library = BP_CLASSES_PLUGIN) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    auto query = reinterpret_cast<bp_plugin_query_t>(
        dlsym(handle, BP_PLUGIN_QUERY_SYMBOL));
    info.header = BP_HEADER(bp_plugin_info_t);
    const bp_host_info_t hostInfo = {
        BP_HEADER(bp_host_info_t), 1, BP_ABI_MINOR, {}};
    EXPECT_EQ(query(&hostInfo, &info), BP_STATUS_OK);
    const bp_option_t items[] = {{toC("throw"), toC(thrower)},
                                 {toC("what"), toC(what)}};
    const bp_options_t options = {items, what.empty() ? 1u : 2u};
    status = info.plugin->initialize(&table, &options, &self, &error);
  }
  ~Loaded() {
    if (status == BP_STATUS_OK)
      info.plugin->shutdown(self);
  }
  Loaded(const Loaded &) = delete;
  Loaded &operator=(const Loaded &) = delete;

  bp_device_t *open() {
    bp_device_t *device = nullptr;
    info.driver->open(self, toC("one"), &none, &device, &error);
    return device;
  }

  Host host{HostOptions{.threads = 2, .graphTable = graphTable()}};
  bp_host_t table = host.table(BP_ABI_MINOR);
  bp_plugin_info_t info = {};
  bp_options_t none = {};
  bp_error_t error;
  void *self = nullptr;
  bp_status_t status = BP_STATUS_UNKNOWN;
};

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
    const bp_device_sink_t sink = {[](void *, const bp_device_info_t *) {
                                     return bp_status_t(BP_STATUS_OK);
                                   },
                                   nullptr};
    return info().driver->enumerate(loaded_.self, &loaded_.none, &sink,
                                    &loaded_.error);
  }
  bp_status_t targets() {
    const bp_target_sink_t sink = {
        [](void *, const bp_target_t *) { return bp_status_t(BP_STATUS_OK); },
        nullptr};
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
    const bp_graph_pass_sink_t sink = {[](void *, const bp_graph_pass_t *) {
                                         return bp_status_t(BP_STATUS_OK);
                                       },
                                       nullptr};
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

constexpr const char *members[] = {
    "initialize", "enumerate",   "open",         "targets",     "claim",
    "compile",    "graphPasses", "runGraphPass", "describe",    "allocate",
    "write",      "read",        "map",          "import",      "load",
    "record",     "createQueue", "run",          "executeTimed"};

TEST(CppPlugin, WorksAtEachEntry) {
  for (const char *library : {BP_CLASSES_PLUGIN, BP_CLASSES_PLAIN_PLUGIN})
    for (const char *member : members) {
      Loaded loaded("", "", library);
      EXPECT_EQ(Calls(loaded).call(member), BP_STATUS_OK)
          << member << ": " << loaded.error.message;
    }
}

TEST(CppPlugin, StopsExceptionsAtEachEntry) {
  for (const char *member : members) {
    Loaded loaded(member);
    EXPECT_EQ(Calls(loaded).call(member), BP_STATUS_INTERNAL) << member;
    EXPECT_EQ(loaded.error.message, std::string("thrown in ") + member);
  }
}

TEST(CppPlugin, KeepsWhatAnExceptionSays) {
  for (auto [what, code, text] :
       {std::tuple("memory", BP_STATUS_RESOURCE_EXHAUSTED, "out of memory"),
        std::tuple("failure", BP_STATUS_NOT_FOUND, "it is not there"),
        std::tuple("number", BP_STATUS_INTERNAL, "no std::exception")})
    for (const char *member : {"initialize", "targets", "run"}) {
      Loaded loaded(member, what);
      EXPECT_EQ(Calls(loaded).call(member), code) << what << " " << member;
      EXPECT_NE(loaded.error.message.find(text), std::string::npos)
          << loaded.error.message;
    }
}

TEST(CppPlugin, TakesAnErrorThatIsNull) {
  Loaded loaded("targets");
  const bp_target_sink_t sink = {nullptr, nullptr};
  EXPECT_EQ(loaded.info.compiler->targets(loaded.self, &sink, nullptr),
            BP_STATUS_INTERNAL);
}

TEST(CppPlugin, RefusesUnknownOptions) {
  Loaded loaded;
  void *self = nullptr;
  const bp_option_t unknown = {toC("colour"), toC("red")};
  const bp_options_t options = {&unknown, 1};
  EXPECT_EQ(loaded.info.plugin->initialize(&loaded.table, &options, &self,
                                           &loaded.error),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(loaded.error.message,
            "classes has no option 'colour'; leave it out");
}

/// A refused claim has its reason.
TEST(CppPlugin, ClaimsAndRefuses) {
  Loaded loaded;
  std::string reason;
  const bp_string_sink_t sink = {[](void *context, bp_string_t text) {
                                   *static_cast<std::string *>(context) =
                                       view(text);
                                   return bp_status_t(BP_STATUS_OK);
                                 },
                                 &reason};
  bp_claim_t claim = {BP_HEADER(bp_claim_t), 1, {}, 0, &sink};
  bp_graph_t *graph = smallGraph();
  EXPECT_EQ(loaded.info.compiler->claim(loaded.self, toC("classes-target"),
                                        graph, graphTable(), &claim, nullptr),
            BP_STATUS_OK);
  graphTable()->graph_close(graph);
  EXPECT_FALSE(claim.supported);
  EXPECT_EQ(reason, "no products, found matmul");
}

TEST(CppPlugin, IsFoundByTheRegistry) {
  PluginFolder folder;
  folder.addLibrary(BP_CLASSES_PLUGIN, "libclasses.so");
  folder.addFile("classes.bp.json",
                 R"({"format": 1, "name": "classes", "version": "1.0.0",
                     "abi": {"major": 0, "minor_low": 1},
                     "driver": "libclasses.so", "compiler": "libclasses.so",
                     "kernels": "libclasses.so"})");
  auto registry = Registry::create(folder.options(), graphTable());
  auto listings = registry->listings();
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_EQ(listings[0].refusal, "");
  EXPECT_EQ(listings[0].uri, "classes://one");
  EXPECT_EQ(listings[0].requiredMinor, 1u);
  EXPECT_EQ(registry->compilers().size(), 1u);
  EXPECT_EQ(registry->kernelSets().size(), 1u);
  EXPECT_TRUE(registry->device("classes").ok());
}

// ---- Tables of what a class has ----

/// A compiler of one member, without options or host.
struct Least {
  static constexpr plugin::Description description = {
      .name = "least", .vendor = "test", .version = "0.0.1"};
  Status targets(plugin::TargetSink) { return {}; }
};

TEST(CppPlugin, HasNoTableThatItHasNoMembersFor) {
  bp_plugin_info_t info = {};
  info.header = BP_HEADER(bp_plugin_info_t);
  EXPECT_EQ(plugin::Library<Least>::query(nullptr, &info), BP_STATUS_OK);
  EXPECT_EQ(info.driver, nullptr);
  EXPECT_EQ(info.kernels, nullptr);
  EXPECT_EQ(info.flags, 0u);
  EXPECT_EQ(info.built_minor, uint32_t(BP_ABI_MINOR));
  ASSERT_NE(info.compiler, nullptr);
  EXPECT_EQ(info.compiler->header.size, sizeof(bp_compiler_table_t));
  EXPECT_NE(info.compiler->targets, nullptr);
  EXPECT_EQ(info.compiler->claim, nullptr);
  EXPECT_EQ(info.compiler->stages, nullptr);
  EXPECT_EQ(info.compiler->compile, nullptr);
  EXPECT_EQ(info.compiler->graph_passes, nullptr);
  EXPECT_EQ(info.plugin->get_table(nullptr, toC("backplane.memory2"), 0),
            nullptr);
}

/// A driver that fills in its tables itself, one optional one among them.
struct Tabled {
  static constexpr plugin::Description description = {
      .name = "tabled", .vendor = "test", .version = "0.0.1"};
  static constexpr bp_driver_table_t driver = {};
  static constexpr bp_memory2_table_t memory2 = {};
  static plugin::Tables tables() {
    plugin::Tables own = {};
    own.driver = &driver;
    own.memory2 = &memory2;
    return own;
  }
};

TEST(CppPlugin, HandsOutTablesOfTheDriver) {
  bp_plugin_info_t info = {};
  info.header = BP_HEADER(bp_plugin_info_t);
  EXPECT_EQ(plugin::Library<Tabled>::query(nullptr, &info), BP_STATUS_OK);
  EXPECT_EQ(info.driver, &Tabled::driver);
  EXPECT_EQ(info.compiler, nullptr);
  auto table = [&](std::string_view name) {
    return info.plugin->get_table(nullptr, toC(name), 0);
  };
  EXPECT_EQ(table("backplane.memory2"), &Tabled::memory2);
  EXPECT_EQ(table("backplane.semaphore"), nullptr);
  EXPECT_EQ(table("backplane.other"), nullptr);
}

TEST(CppPlugin, SaysWhatAnErrorWordMeans) {
  auto told = [](uint32_t word) {
    Status status = plugin::kernelStatus(word, 4);
    return std::pair(status.code(), status.message().substr(0, 26));
  };
  using Told = std::pair<bp_status_t, std::string>;
  EXPECT_EQ(told(BP_KERNEL_ERROR(BP_KERNEL_ERROR_INDEX, 0)),
            Told(BP_STATUS_OUT_OF_RANGE, "op 4: an index is out of r"));
  EXPECT_EQ(told(BP_KERNEL_ERROR(BP_KERNEL_ERROR_DIVISION, 9)),
            Told(BP_STATUS_OUT_OF_RANGE, "op 9: an integer is divide"));
  EXPECT_EQ(told(BP_KERNEL_ERROR(BP_KERNEL_ERROR_ITERATIONS, 0)),
            Told(BP_STATUS_UNIMPLEMENTED, "op 4: the device ends loop"));
  EXPECT_EQ(told(BP_KERNEL_ERROR(200, 0)),
            Told(BP_STATUS_OUT_OF_RANGE, "op 4: the kernel reports a"));
}

/// An older host gives a shorter struct, behind which nothing is written.
TEST(CppPlugin, WritesWhatTheHostHasRoomFor) {
  bp_plugin_info_t info = {};
  info.header = {bp_plugin_info_t_TYPE,
                 uint32_t(offsetof(bp_plugin_info_t, driver)), nullptr};
  const auto *untouched = reinterpret_cast<const bp_compiler_table_t *>(8);
  info.compiler = untouched;
  EXPECT_EQ(plugin::Library<Least>::query(nullptr, &info), BP_STATUS_OK);
  EXPECT_EQ(info.header.size, offsetof(bp_plugin_info_t, driver));
  EXPECT_EQ(info.compiler, untouched);
  EXPECT_NE(info.plugin, nullptr);
}

/// A driver whose queue completes later, with semaphores and without memory2.
struct Later {
  struct Device {
    struct Buffer {};
    struct Executable {};
    struct Semaphore {
      Result<uint64_t> value() { return reached; }
      Status signal(uint64_t to) {
        reached = to;
        return {};
      }
      Status wait(uint64_t to, uint64_t) {
        return reached >= to ? Status()
                             : Status(BP_STATUS_DEADLINE_EXCEEDED, "not yet");
      }
      uint64_t reached = 0;
    };
    struct Queue {
      Status execute(plugin::Commands, plugin::Completion) {
        return invalidArgument("refused");
      }
      Status submit(std::span<const bp_timepoint_t>,
                    std::span<const bp_timepoint_t>, plugin::Commands) {
        return {};
      }
    };
    Result<std::unique_ptr<Buffer>> allocate(uint32_t, uint64_t, uint64_t) {
      return std::unique_ptr<Buffer>(); // says OK and makes nothing
    }
    Status write(Buffer &, uint64_t, std::span<const std::byte>) { return {}; }
    Status read(Buffer &, uint64_t, std::span<std::byte>) { return {}; }
    Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &) {
      return std::make_unique<Executable>();
    }
    Result<std::unique_ptr<Queue>> createQueue(uint32_t) {
      return std::make_unique<Queue>();
    }
    Result<std::unique_ptr<Semaphore>> createSemaphore(uint64_t initial) {
      return std::make_unique<Semaphore>(Semaphore{initial});
    }
  };
  static constexpr plugin::Description description = {.name = "later",
                                                      .vendor = "test",
                                                      .version = "0.0.1",
                                                      .unloadable = true};
  Status enumerate(plugin::Options, plugin::DeviceSink) { return {}; }
  Result<std::unique_ptr<Device>> open(std::string_view, plugin::Options) {
    return std::make_unique<Device>();
  }
};

TEST(CppPlugin, HasTheTablesOfItsMembers) {
  Host host(HostOptions{.threads = 1});
  bp_host_t table = host.table(BP_ABI_MINOR);
  bp_plugin_info_t info = {};
  info.header = BP_HEADER(bp_plugin_info_t);
  EXPECT_EQ(plugin::Library<Later>::query(nullptr, &info), BP_STATUS_OK);
  EXPECT_EQ(info.flags, uint64_t(BP_PLUGIN_UNLOADABLE));
  EXPECT_EQ(info.compiler, nullptr);
  bp_options_t none = {};
  bp_error_t error;
  void *self = nullptr;
  ASSERT_EQ(info.plugin->initialize(&table, &none, &self, &error),
            BP_STATUS_OK);
  auto get = [&](std::string_view name, uint32_t version = 0) {
    return info.plugin->get_table(self, toC(name), version);
  };
  EXPECT_EQ(get("backplane.memory2"), nullptr);
  EXPECT_EQ(get("backplane.timestamps"), nullptr);
  EXPECT_EQ(get("backplane.semaphore", 1), nullptr);
  const auto *semaphores =
      static_cast<const bp_semaphore_table_t *>(get("backplane.semaphore"));
  ASSERT_NE(semaphores, nullptr);
  bp_device_t *device = nullptr;
  ASSERT_EQ(info.driver->open(self, {}, &none, &device, &error), BP_STATUS_OK);
  bp_semaphore_t *semaphore = nullptr;
  uint64_t value = 0;
  EXPECT_EQ(semaphores->semaphore_create(device, 3, &semaphore, &error), 0);
  EXPECT_EQ(semaphores->semaphore_signal(device, semaphore, 5, &error), 0);
  EXPECT_EQ(semaphores->semaphore_query(device, semaphore, &value, &error), 0);
  EXPECT_EQ(value, 5u);
  EXPECT_EQ(semaphores->semaphore_wait(device, semaphore, 6, 0, &error),
            BP_STATUS_DEADLINE_EXCEEDED);
  semaphores->semaphore_destroy(device, semaphore);
  bp_buffer_t *buffer = nullptr;
  EXPECT_EQ(info.memory->buffer_allocate(device, 0, 8, 8, &buffer, &error),
            BP_STATUS_INTERNAL);
  EXPECT_EQ(error.message, "the plug-in says OK but makes nothing");
  bp_queue_t *queue = nullptr;
  ASSERT_EQ(info.queue->queue_create(device, 0, &queue, &error), 0);
  const bp_completion_t completion = {};
  EXPECT_EQ(info.queue->queue_execute(queue, nullptr, 0, &completion, &error),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(semaphores->queue_submit(queue, nullptr, 0, nullptr, 0, nullptr, 0,
                                     &error),
            BP_STATUS_OK);
  info.queue->queue_destroy(device, queue);
  info.driver->close(device);
  info.plugin->shutdown(self);
}

} // namespace
} // namespace backplane
