// SPDX-License-Identifier: Apache-2.0
//
// What a compiler makes of a dispatch, and kernels: cut and damaged.
#include "FakeCompiler.h"
#include "hal/core/KernelSet.h"

using namespace backplane;

namespace {

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

TEST(GuardPage, AClaimThatRunsOverIsFound) {
  FakeCompiler compiler;
  ClaimAnswer answer;
  EXPECT_TRUE(callClaim(compiler.plugin(), "t", nullptr, nullptr, answer).ok());
  compiler.claimBytes = sizeof(bp_claim_t) + 16;
  Status status = callClaim(compiler.plugin(), "t", nullptr, nullptr, answer);
  EXPECT_EQ(status.message(),
            "claim: wrote behind the struct that it was given");
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

} // namespace
