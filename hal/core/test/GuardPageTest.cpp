// SPDX-License-Identifier: Apache-2.0
//
// Every growable struct that the host reads, cut to every size that an older
// minor version may have had, in front of a page that nobody may touch: what is
// behind header.size is never read and counts as zero.
#include "Cut.h"
#include "hal/core/CompilerCalls.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/GraphPassCalls.h"
#include "hal/core/KernelSet.h"
#include "hal/core/LoaderOptions.h"
#include "hal/core/Tables.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>

using namespace backplane;

namespace {

/// What a reader must see of a struct that was cut.
template <typename T> T zeroFilled(const T &whole, uint32_t size) {
  T expected = {};
  std::memcpy(static_cast<void *>(&expected), &whole, size);
  expected.header.size = sizeof(T);
  return expected;
}

/// A table with something in every slot.
template <typename T> T fullTable(uint32_t type) {
  T table;
  std::memset(static_cast<void *>(&table), 0x11, sizeof(T));
  table.header = {type, sizeof(T), nullptr};
  return table;
}

template <typename T>
void readsTable(uint32_t type, uint32_t required,
                Status (*copy)(const void *, T &)) {
  auto whole = fullTable<T>(type);
  atEachSize<T>(whole, [&](T *table, uint32_t size) {
    T out;
    Status status = copy(table, out);
    EXPECT_EQ(status.ok(), size >= required) << status.message();
  });
}

TEST(GuardPage, TablesOfAPlugin) {
  readsTable<bp_plugin_table_t>(bp_plugin_table_t_TYPE,
                                offsetof(bp_plugin_table_t, get_table),
                                copyPluginTable);
  readsTable<bp_compiler_table_t>(bp_compiler_table_t_TYPE,
                                  offsetof(bp_compiler_table_t, claim),
                                  copyCompilerTable);
  readsTable<bp_kernels_table_t>(bp_kernels_table_t_TYPE,
                                 offsetof(bp_kernels_table_t, resolve),
                                 copyKernelsTable);
}

/// The tables of a driver, one of them cut.
template <typename T>
void readsDriverTable(uint32_t type, const T *bp_plugin_info_t::*member) {
  auto driver = fullTable<bp_driver_table_t>(bp_driver_table_t_TYPE);
  auto memory = fullTable<bp_memory_table_t>(bp_memory_table_t_TYPE);
  auto executable =
      fullTable<bp_executable_table_t>(bp_executable_table_t_TYPE);
  auto queue = fullTable<bp_queue_table_t>(bp_queue_table_t_TYPE);
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.driver = &driver;
  info.memory = &memory;
  info.executable = &executable;
  info.queue = &queue;
  atEachSize<T>(fullTable<T>(type), [&](T *table, uint32_t size) {
    info.*member = table;
    DriverTables out;
    EXPECT_EQ(copyDriverTables(info, out).ok(), size == sizeof(T));
  });
}

TEST(GuardPage, RequiredTablesOfADriver) {
  readsDriverTable(bp_driver_table_t_TYPE, &bp_plugin_info_t::driver);
  readsDriverTable(bp_memory_table_t_TYPE, &bp_plugin_info_t::memory);
  readsDriverTable(bp_executable_table_t_TYPE, &bp_plugin_info_t::executable);
  readsDriverTable(bp_queue_table_t_TYPE, &bp_plugin_info_t::queue);
}

TEST(GuardPage, OptionalTablesOfADriver) {
  std::string warning;
  DriverTables out;
  atEachSize<bp_memory2_table_t>(
      fullTable<bp_memory2_table_t>(bp_memory2_table_t_TYPE),
      [&](auto *table, uint32_t) {
        copyOptionalTables(table, nullptr, nullptr, out, &warning);
        EXPECT_TRUE(out.memory2.buffer_map);
        EXPECT_TRUE(out.memory2.buffer_import);
      });
  atEachSize<bp_semaphore_table_t>(
      fullTable<bp_semaphore_table_t>(bp_semaphore_table_t_TYPE),
      [&](auto *table, uint32_t size) {
        copyOptionalTables(nullptr, table, nullptr, out, &warning);
        EXPECT_EQ(out.hasSemaphore, size == sizeof(*table));
      });
  atEachSize<bp_command_buffer_table_t>(
      fullTable<bp_command_buffer_table_t>(bp_command_buffer_table_t_TYPE),
      [&](auto *table, uint32_t size) {
        copyOptionalTables(nullptr, nullptr, table, out, &warning);
        EXPECT_EQ(out.hasCommandBuffer, size == sizeof(*table));
      });
  atEachSize<bp_timestamps_table_t>(
      fullTable<bp_timestamps_table_t>(bp_timestamps_table_t_TYPE),
      [&](auto *table, uint32_t size) {
        copyTimestamps(table, out, &warning);
        EXPECT_EQ(out.hasTimestamps, size == sizeof(*table));
      });
}

TEST(GuardPage, ADevice) {
  const bp_string_t format = toC("elf");
  bp_device_info_t whole = {BP_HEADER(bp_device_info_t)};
  whole.id = toC("cpu");
  whole.formats = &format;
  whole.format_count = 1;
  whole.max_bindings = 7;
  whole.refusal = toC("it is off");
  const bp_property_t tiles = {
      .key = toC("acme.tiles"), .kind = BP_PROPERTY_I64, .i64 = 4};
  whole.properties = &tiles;
  whole.property_count = 1;
  atEachSize<bp_device_info_t>(whole, [&](auto *device, uint32_t size) {
    Result<std::shared_ptr<const DeviceInfo>> info = DeviceInfo::copy(device);
    EXPECT_EQ(info.ok(), size >= offsetof(bp_device_info_t, name));
    if (!info.ok())
      return;
    bp_device_info_t expected = zeroFilled(whole, size);
    EXPECT_EQ((*info)->c().max_bindings, expected.max_bindings);
    EXPECT_EQ(view((*info)->c().refusal), view(expected.refusal));
    EXPECT_EQ((*info)->c().format_count, expected.format_count);
    EXPECT_EQ((*info)->properties().size(), expected.property_count);
  });
}

TEST(Properties, OfADeviceAreRefusedByKey) {
  const bp_property_t tiles = {
      .key = toC("tiles"), .kind = BP_PROPERTY_I64, .i64 = 4};
  bp_device_info_t device = {BP_HEADER(bp_device_info_t)};
  device.id = toC("npu-0");
  device.properties = &tiles;
  device.property_count = 1;
  EXPECT_EQ(DeviceInfo::copy(&device).message(),
            "device npu-0: property 'tiles': 'tiles' is no well-known key; "
            "prefix a vendor's own, 'acme.tiles'");
  device.property_count = UINT64_MAX;
  EXPECT_FALSE(DeviceInfo::copy(&device).ok());
  device.properties = nullptr;
  EXPECT_FALSE(DeviceInfo::copy(&device).ok());
}

/// A plug-in of a later minor version may describe what this host does not
/// know; what it knows is unchanged.
TEST(Flags, OfALaterVersionAreCleared) {
  bp_device_info_t device = {BP_HEADER(bp_device_info_t)};
  device.id = toC("cpu");
  device.flags = ~0u;
  auto info = DeviceInfo::copy(&device);
  ASSERT_TRUE(info.ok()) << info.message();
  EXPECT_EQ((*info)->c().flags, BP_DEVICE_EMULATED | BP_DEVICE_UNIFIED_MEMORY |
                                    BP_DEVICE_SYNCHRONOUS | BP_DEVICE_DISCRETE);
}

// ---- Compilers ----

/// A compiler plug-in that hands over whatever `self` points to.
struct FakeCompiler {
  const bp_target_t *target = nullptr;
  const bp_compiled_t *compiled = nullptr;
  uint64_t claimBytes = sizeof(bp_claim_t);

  static FakeCompiler &of(void *self) {
    return *static_cast<FakeCompiler *>(self);
  }
  static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                             bp_error_t *) {
    return sink->put(sink->context, of(self).target);
  }
  static bp_status_t compile(void *self, const bp_compile_request_t *,
                             const bp_compiled_sink_t *sink, bp_error_t *) {
    return sink->put(sink->context, of(self).compiled);
  }
  /// Writes as many bytes as the struct of some other version has.
  static bp_status_t claim(void *self, bp_string_t, const bp_graph_t *,
                           const bp_graph_table_t *, bp_claim_t *out,
                           bp_error_t *) {
    auto *bytes = reinterpret_cast<uint8_t *>(out);
    std::memset(bytes + offsetof(bp_claim_t, supported), 0,
                of(self).claimBytes - offsetof(bp_claim_t, supported));
    out->supported = 1;
    return BP_STATUS_OK;
  }

  CompilerPlugin plugin() {
    table.targets = targets;
    table.compile = compile;
    table.claim = claim;
    return {"fake", "1.0.0", "", &table, this};
  }
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
};

bp_target_t fullTarget() {
  static const bp_string_t features[] = {toC("a"), toC("b")};
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("t");
  target.required_features = features;
  target.required_feature_count = 2;
  target.rank = 9;
  target.max_constants = 5;
  target.fusion = BP_FUSE_ELEMENTWISE;
  static const bp_property_t tiles = {
      .key = toC("acme.tiles"), .kind = BP_PROPERTY_I64, .i64 = 4};
  target.properties = &tiles;
  target.property_count = 1;
  target.toolchain = toC("acme-cc 3.2");
  static const bp_op_version_t known = {toC("matmul"), 2, 0};
  target.op_versions = &known;
  target.op_version_count = 1;
  return target;
}

TEST(GuardPage, ATarget) {
  const bp_target_t whole = fullTarget();
  FakeCompiler compiler;
  atEachSize<bp_target_t>(whole, [&](auto *target, uint32_t size) {
    compiler.target = target;
    bp_target_t got = {};
    Status status = callTargets(compiler.plugin(), [&](const bp_target_t &t) {
      got = t;
      if (t.property_count)
        EXPECT_EQ(t.properties[0].i64, 4);
      return Status();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    bp_target_t expected = zeroFilled(whole, size);
    got.numerics = expected.numerics; // the host's own empty lists
    got.properties = expected.properties;
    EXPECT_EQ(std::memcmp(&got, &expected, sizeof(got)), 0);
  });
}

TEST(OpVersions, ThatAreDamagedAreRefused) {
  FakeCompiler compiler;
  auto accept = [](const bp_target_t &) { return Status(); };
  for (bp_op_version_t wrong :
       {bp_op_version_t{{nullptr, 4}, 1, 0}, bp_op_version_t{toC(""), 1, 0},
        bp_op_version_t{toC("neg"), 0, 0}, bp_op_version_t{toC("neg"), 1, 7}}) {
    bp_target_t target = fullTarget();
    target.op_versions = &wrong;
    compiler.target = &target;
    EXPECT_EQ(callTargets(compiler.plugin(), accept).code(),
              BP_STATUS_INVALID_ARGUMENT);
  }
  for (uint64_t count : {uint64_t(1), UINT64_MAX}) {
    bp_target_t target = fullTarget();
    target.op_versions = nullptr;
    target.op_version_count = count;
    compiler.target = &target;
    EXPECT_EQ(callTargets(compiler.plugin(), accept).code(),
              BP_STATUS_INVALID_ARGUMENT);
  }
}

TEST(Properties, OfATargetAreRefusedByKey) {
  const bp_property_t tiles = {
      .key = toC("shared_bytes"), .kind = BP_PROPERTY_F64, .f64 = 4};
  bp_target_t target = fullTarget();
  target.properties = &tiles;
  FakeCompiler compiler;
  compiler.target = &target;
  auto accept = [](const bp_target_t &) { return Status(); };
  EXPECT_EQ(callTargets(compiler.plugin(), accept).message(),
            "target 't': property 'shared_bytes': it has the kind f64, not "
            "i64");
  target.property_count = 0;
  EXPECT_TRUE(callTargets(compiler.plugin(), accept).ok());
  const bp_string_t condition = toC("sm>=");
  target.required_features = &condition;
  target.required_feature_count = 1;
  EXPECT_EQ(callTargets(compiler.plugin(), accept).message(),
            "target 't': the condition 'sm>=' does not end in a 64-bit "
            "integer");
}

TEST(GuardPage, AGraphPass) {
  bp_graph_pass_t whole = {BP_HEADER(bp_graph_pass_t)};
  whole.name = toC("acme-squares");
  whole.description = toC("squares");
  whole.stage = toC("partition");
  static const bp_graph_pass_t *listed;
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
  table.graph_passes = [](void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                          bp_error_t *) {
    return sink->put(sink->context, listed);
  };
  const CompilerPlugin plugin = {"fake", "1.0.0", "", &table, nullptr};
  atEachSize<bp_graph_pass_t>(
      whole, [&](const bp_graph_pass_t *pass, uint32_t size) {
        listed = pass;
        auto passes = callGraphPasses(plugin, "t");
        bp_graph_pass_t expected = zeroFilled(whole, size);
        ASSERT_EQ(passes.ok(), expected.name.size != 0);
        if (!passes)
          return;
        EXPECT_EQ(passes->at(0).name, view(expected.name));
        EXPECT_EQ(passes->at(0).stage, view(expected.stage));
      });
}

TEST(GraphPass, WhatAPassGivesTwiceOrEmptyIsRefused) {
  static int count;
  static uint64_t size;
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
  table.run_graph_pass = [](void *, const bp_graph_pass_request_t *request,
                            const bp_bytes_sink_t *sink, bp_error_t *) {
    bp_status_t status = BP_STATUS_OK;
    for (int i = 0; i < count && !status; ++i)
      status = sink->put(sink->context, {request->graph.data, size});
    return status;
  };
  const CompilerPlugin plugin = {"fake", "1.0.0", "", &table, nullptr};
  auto run = [&](int times, uint64_t bytes) {
    count = times;
    size = bytes;
    return callGraphPass(plugin, "t", "p", Bytes{1, 2}, nullptr);
  };
  EXPECT_FALSE(run(0, 2)->has_value());
  EXPECT_EQ(**run(1, 2), (Bytes{1, 2}));
  EXPECT_EQ(run(2, 2).message(), "gave two graphs");
  EXPECT_EQ(run(1, 0).message(), "gave no bytes for a graph");
}

TEST(GuardPage, NumericsOfATarget) {
  bp_numerics_t whole = {BP_HEADER(bp_numerics_t)};
  whole.op_class = toC("DOT");
  whole.accumulator_bits = 24;
  whole.flags = BP_NUMERICS_CONTRACT;
  FakeCompiler compiler;
  atEachSize<bp_numerics_t>(whole, [&](const bp_numerics_t *numerics,
                                       uint32_t size) {
    bp_target_t target = fullTarget();
    target.numerics = &numerics;
    target.numerics_count = 1;
    compiler.target = &target;
    Status status = callTargets(compiler.plugin(), [&](const bp_target_t &t) {
      bp_numerics_t expected = zeroFilled(whole, size);
      EXPECT_EQ(std::memcmp(t.numerics[0], &expected, sizeof(expected)), 0);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST(Flags, OfATargetOfALaterVersionAreCleared) {
  bp_numerics_t numerics = {BP_HEADER(bp_numerics_t)};
  numerics.flags = ~0u;
  const bp_numerics_t *list = &numerics;
  bp_target_t target = fullTarget();
  target.fusion = ~0u;
  target.numerics = &list;
  target.numerics_count = 1;
  FakeCompiler compiler;
  compiler.target = &target;
  Status status = callTargets(compiler.plugin(), [](const bp_target_t &t) {
    EXPECT_EQ(t.fusion, BP_FUSE_BYTE_PAIRS * 2 - 1);
    EXPECT_EQ(t.numerics[0]->flags, BP_NUMERICS_DETERMINISTIC * 2 - 1);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

/// The host refuses what an application asks for and it does not know.
TEST(Flags, OfALaterApplicationAreRefused) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  options.flags = BP_CONTEXT_MAP_ARTIFACTS * 2;
  EXPECT_EQ(loaderOptions(&options).code(), BP_STATUS_UNIMPLEMENTED);
}

struct CompiledParts {
  CompiledParts() {
    entry.name = toC("f");
    entry.binding_access = access;
    entry.binding_count = 2;
    entry.workspace_bytes = 64;
    compiled.blob = {"ELF", 3};
    compiled.entry = &entry;
    compiled.grid[2] = toC("1");
    compiled.in_place = access;
  }
  uint8_t access[2] = {BP_ACCESS_READ, BP_ACCESS_WRITE};
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  bp_compiled_t compiled = {BP_HEADER(bp_compiled_t)};
};

TEST(GuardPage, ACompiledDispatch) {
  CompiledParts parts;
  FakeCompiler compiler;
  atEachSize<bp_compiled_t>(parts.compiled, [&](auto *compiled, uint32_t size) {
    compiler.compiled = compiled;
    bp_compiled_t got = {};
    Status status = callCompile(compiler.plugin(), {}, [&](const auto &given) {
      got = given;
      return Status();
    });
    EXPECT_EQ(status.ok(), size >= offsetof(bp_compiled_t, grid));
    if (status.ok())
      EXPECT_EQ(got.in_place, zeroFilled(parts.compiled, size).in_place);
  });
}

TEST(GuardPage, AnEntry) {
  CompiledParts parts;
  FakeCompiler compiler;
  compiler.compiled = &parts.compiled;
  atEachSize<bp_entry_t>(parts.entry, [&](auto *entry, uint32_t size) {
    parts.compiled.entry = entry;
    Status status = callCompile(compiler.plugin(), {}, [&](const auto &given) {
      bp_entry_t expected = zeroFilled(parts.entry, size);
      EXPECT_EQ(std::memcmp(given.entry, &expected, sizeof(expected)), 0);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST(GuardPage, TheInteropTable) {
  auto whole = fullTable<bp_interop_table_t>(bp_interop_table_t_TYPE);
  atEachSize<bp_interop_table_t>(whole, [&](auto *table, uint32_t size) {
    DriverTables out;
    std::string warning;
    copyInterop(table, out, &warning);
    const bool isWhole = size == sizeof(bp_interop_table_t);
    EXPECT_EQ(out.interop.device_handles == whole.device_handles, isWhole);
    EXPECT_TRUE(out.interop.device_handles);
  });
}

/// A set of one kernel, whose function is written up to a size.
struct FakeKernels {
  const bp_kernel_t *kernel = nullptr;
  uint32_t functionBytes = 0;

  KernelSet set() {
    static const bp_kernels_table_t table = {
        BP_HEADER(bp_kernels_table_t),
        [](void *self, const bp_kernel_sink_t *sink, bp_error_t *) {
          return sink->put(sink->context,
                           static_cast<FakeKernels *>(self)->kernel);
        },
        [](void *self, bp_string_t, uint32_t, bp_string_t,
           const bp_device_info_t *, bp_native_function_t *out, bp_error_t *) {
          std::memset(static_cast<void *>(&out->cpu), 0x11,
                      static_cast<FakeKernels *>(self)->functionBytes);
          return bp_status_t(BP_STATUS_OK);
        }};
    KernelSet set;
    set.table = &table;
    set.self = this;
    return set;
  }
};

TEST(GuardPage, AKernel) {
  CompiledParts parts;
  bp_kernel_t whole = {BP_HEADER(bp_kernel_t)};
  whole.text = toC("kernel");
  whole.target = toC("*");
  whole.body = &parts.compiled;
  FakeKernels kernels;
  atEachSize<bp_kernel_t>(whole, [&](auto *kernel, uint32_t size) {
    kernels.kernel = kernel;
    Status status =
        callDescribe(kernels.set(), [&](const bp_kernel_t &given) -> Status {
          EXPECT_EQ(view(given.target), "*");
          EXPECT_EQ(given.body->launch_count, 1u);
          return {};
        });
    EXPECT_EQ(status.ok(), size >= offsetof(bp_kernel_t, ir))
        << status.message();
  });
}

TEST(GuardPage, ANativeFunction) {
  FakeKernels kernels;
  constexpr uint32_t rest =
      sizeof(bp_native_function_t) - offsetof(bp_native_function_t, cpu);
  const bp_device_info_t device = {BP_HEADER(bp_device_info_t)};
  for (uint32_t bytes : {0u, 8u, rest, rest + 8, rest + 256}) {
    kernels.functionBytes = bytes;
    auto function = callResolve(kernels.set(), {"a", "b", 1}, "c", device);
    EXPECT_EQ(function.ok(), bytes <= rest) << function.message();
  }
}

/// A compiled dispatch of one listed launch.
struct LaunchParts : CompiledParts {
  LaunchParts() {
    entry.parameter_count = 1;
    launch.entry = &entry;
    launch.grid[0] = toC("2");
    launch.bindings = bindings;
    launch.parameters = &parameter;
    launch.shared_bytes = toC("16");
    launch.cluster[1] = 4;
    compiled.entry = nullptr;
    compiled.in_place = nullptr;
    compiled.launches = &pointer;
    compiled.launch_count = 1;
    compiled.scratch_bytes = toC("64");
  }
  /// What the host makes of it.
  std::string refusal() {
    FakeCompiler compiler;
    compiler.compiled = &compiled;
    return callCompile(compiler.plugin(), {},
                       [](const bp_compiled_t &) { return Status(); })
        .message();
  }
  bp_launch_binding_t bindings[2] = {{1, 0, {}, {}},
                                     {BP_LAUNCH_SCRATCH, 0, {}, {}}};
  bp_string_t parameter = toC("n");
  bp_launch_t launch = {BP_HEADER(bp_launch_t)};
  const bp_launch_t *pointer = &launch;
};

TEST(GuardPage, ALaunch) {
  LaunchParts parts;
  FakeCompiler compiler;
  compiler.compiled = &parts.compiled;
  atEachSize<bp_launch_t>(parts.launch, [&](auto *launch, uint32_t size) {
    parts.pointer = launch;
    bp_launch_t expected = zeroFilled(parts.launch, size);
    Status status = callCompile(compiler.plugin(), {}, [&](const auto &given) {
      EXPECT_EQ(given.launch_count, 1u);
      EXPECT_EQ(given.launches[0]->bindings, expected.bindings);
      EXPECT_EQ(given.launches[0]->cluster[1], expected.cluster[1]);
      EXPECT_EQ(given.entry, given.launches[0]->entry);
      return Status();
    });
    // Its one parameter is needed.
    EXPECT_EQ(status.ok(), expected.parameters != nullptr);
  });
}

TEST(Launches, ThatAreDamagedAreRefused) {
  auto refusal = [](void (*change)(LaunchParts &)) {
    LaunchParts parts;
    change(parts);
    return parts.refusal();
  };
  auto expect = [](const std::string &refusal, const std::string &reason) {
    EXPECT_NE(refusal.find(reason), std::string::npos) << refusal;
  };
  EXPECT_EQ(LaunchParts().refusal(), "");
  expect(refusal([](LaunchParts &p) {
           p.compiled.launch_count = uint64_t(1) << 40;
         }),
         "a list of 1099511627776 launches, at most 64");
  expect(refusal([](LaunchParts &p) { p.compiled.launches = nullptr; }),
         "a list of 1 launches");
  expect(refusal([](LaunchParts &p) { p.pointer = nullptr; }),
         "the launch is missing");
  expect(refusal([](LaunchParts &p) { p.launch.entry = nullptr; }),
         "the entry is missing");
  expect(refusal([](LaunchParts &p) { p.entry.parameter_count = 65; }),
         "65 parameters, at most 64");
  expect(refusal([](LaunchParts &p) { p.launch.parameters = nullptr; }),
         "lacks its 1 parameters");
  expect(refusal([](LaunchParts &p) {
           p.entry.driver_data = {&p, BP_MAX_DRIVER_DATA + 1};
         }),
         "1048577 bytes for its driver");
  expect(refusal([](LaunchParts &p) { p.entry.driver_data = {nullptr, 1}; }),
         "1 bytes for its driver");
  expect(refusal([](LaunchParts &p) { p.bindings[1].offset = {nullptr, 9}; }),
         "a binding has a damaged string");
  expect(refusal([](LaunchParts &p) { p.launch.shared_bytes = {nullptr, 9}; }),
         "a launch has a damaged string");
  expect(refusal([](LaunchParts &p) { p.compiled.in_place = p.access; }),
         "says what is in place");
}

TEST(GuardPage, AClaimThatRunsOverIsFound) {
  FakeCompiler compiler;
  ClaimAnswer answer;
  EXPECT_TRUE(callClaim(compiler.plugin(), "t", nullptr, nullptr, answer).ok());
  compiler.claimBytes = sizeof(bp_claim_t) + 16;
  Status status = callClaim(compiler.plugin(), "t", nullptr, nullptr, answer);
  EXPECT_EQ(status.message(),
            "claim: wrote behind the struct that it was given");
}

// ---- Applications ----

TEST(GuardPage, OptionsOfAContext) {
  bp_context_options_t whole = {BP_HEADER(bp_context_options_t)};
  whole.threads = 3;
  whole.flags = BP_CONTEXT_MAP_ARTIFACTS;
  atEachSize<bp_context_options_t>(whole, [&](auto *cut, uint32_t size) {
    auto options = loaderOptions(cut);
    ASSERT_TRUE(options.ok()) << options.message();
    bp_context_options_t expected = zeroFilled(whole, size);
    EXPECT_EQ(options->threads, expected.threads);
    EXPECT_EQ(options->mapArtifacts, expected.flags != 0);
  });
}

/// An application fills what it has of the struct, however old or new it is.
TEST(GuardPage, OptionsFromTheEnvironment) {
  setenv("BACKPLANE_THREADS", "5", 1);
  setenv("BACKPLANE_MAP_ARTIFACTS", "1", 1);
  const bp_context_options_t whole = {BP_HEADER(bp_context_options_t)};
  atEachSize<bp_context_options_t>(whole, [&](auto *cut, uint32_t size) {
    contextOptionsFromEnvironment(cut);
    EXPECT_EQ(cut->header.size, size);
    if (size > offsetof(bp_context_options_t, threads))
      EXPECT_EQ(cut->threads, 5u);
    if (size == sizeof(whole))
      EXPECT_EQ(cut->flags, BP_CONTEXT_MAP_ARTIFACTS);
  });
  struct {
    bp_context_options_t known;
    uint64_t fresh[2];
  } larger = {whole, {1, 2}};
  larger.known.header.size = sizeof(larger);
  contextOptionsFromEnvironment(&larger.known);
  EXPECT_EQ(larger.known.header.size, sizeof(larger));
  EXPECT_EQ(larger.known.threads, 5u);
  EXPECT_EQ(larger.fresh[0] + larger.fresh[1], 3u);
  unsetenv("BACKPLANE_THREADS");
  unsetenv("BACKPLANE_MAP_ARTIFACTS");
}

TEST(GuardPage, NoMemberIsCut) {
  bp_target_t target = fullTarget();
  target.header.size = sizeof(target) - 4;
  bp_target_t out;
  EXPECT_NE(copyStruct(&target, bp_target_t_TYPE, "target", out)
                .message()
                .find("has a size of 292 bytes"),
            std::string::npos);
}

} // namespace
