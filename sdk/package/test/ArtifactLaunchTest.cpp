// SPDX-License-Identifier: Apache-2.0
//
// What launches and native kernels have beyond bindings.
#include "Artifacts.h"
#include "backplane/hal.h"

#include <algorithm>

using namespace backplane;
using namespace backplane::sample;

namespace {

TEST_F(Artifacts, KeepsWhatLaunchesHave) {
  extendLaunches(artifact_);
  auto file = reopened();
  ASSERT_TRUE(file);
  const VariantInfo &variant = file->metadata().variants[0];
  const Entry &entry = variant.executables[0].entries[0];
  EXPECT_EQ(entry.driverData, (std::vector<uint8_t>{7, 0, 255}));
  EXPECT_EQ(entry.subgroupSize, 32u);
  EXPECT_EQ(entry.parameterCount, 2u);
  const auto &dispatch =
      std::get<program::Dispatch>(variant.program.commands[0]);
  ASSERT_EQ(dispatch.parameters.size(), 2u);
  EXPECT_EQ(*dispatch.parameters[0].evaluate({{"n", 3}}), -3);
  EXPECT_EQ(*dispatch.parameters[1].evaluate({{"n", 3}}), 9000000063);
  EXPECT_EQ(dispatch.sharedBytes->str(), "256*n");
  EXPECT_EQ(dispatch.cluster, (std::array<uint32_t, 3>{2, 1, 4}));
  EXPECT_EQ(variant.requirements,
            (std::vector<std::string>{
                "launch.cluster", "launch.driver_data", "launch.parameters",
                "launch.shared_bytes", "launch.subgroup_size"}));
  EXPECT_EQ(variant.unknownRequirement, "");
}

TEST_F(Artifacts, RefusesBadLaunches) {
  auto in = [&](const auto &change) {
    return refusalIn(change, extendLaunches);
  };
  auto entry = [](fb::ArtifactT &a) -> fb::EntryT & {
    return *a.variants[0]->executables[0]->entries[0];
  };
  EXPECT_EQ(in([](auto &) {}), "written");
  EXPECT_EQ(in([&](auto &a) { entry(a).driver_data.resize(1048576); }),
            "written");
  EXPECT_EQ(in([&](auto &a) { entry(a).parameter_count = 65; }),
            "executable 0: entry 'entry' has 65 parameters, the limit is 64");
  EXPECT_EQ(in([&](auto &a) { entry(a).driver_data.resize(1048577); }),
            "executable 0: entry 'entry' has 1048577 bytes for its driver, the "
            "limit is 1048576");
  for (uint32_t size : {3u, 2048u, 0x80000000u, 0xFFFFFFFFu})
    EXPECT_EQ(in([&](auto &a) { entry(a).subgroup_size = size; }),
              "executable 0: entry 'entry' asks for subgroups of " +
                  std::to_string(size) +
                  ", which is no power of two up to 1024");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).parameters.pop_back(); }),
            "program: command 0: it gives 1 parameters, entry 'entry' takes 2");
  EXPECT_NE(in([](auto &a) {
              firstDispatch(a).parameters[0] = "m";
            }).find("uses symbol 'm'"),
            std::string::npos);
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).shared_bytes = "0-1"; }),
            "program: command 0: shared memory is -1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).shared_bytes = "1073741825"; }),
            "program: command 0: shared memory is 1073741825");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).cluster = {1, 1}; }),
            "program: command 0: its cluster has 2 sizes, not 3");
  for (std::vector<uint32_t> cluster : {std::vector<uint32_t>{0, 1, 1},
                                        {1025, 1, 1},
                                        {64, 64, 1},
                                        {65536, 65536, 65536}})
    EXPECT_EQ(in([&](auto &a) { firstDispatch(a).cluster = cluster; }),
              "program: command 0: its cluster has no size between 1 and 1024 "
              "work-groups");
}

/// A native kernel with the entries of executable 0, in whose place command 0
/// runs.
void addNative(fb::ArtifactT &artifact) {
  auto &executables = artifact.variants[0]->executables;
  auto native = std::make_unique<fb::ExecutableT>();
  native->format = "native";
  for (const auto &entry : executables[0]->entries)
    native->entries.push_back(std::make_unique<fb::EntryT>(*entry));
  native->native = std::make_unique<fb::NativeKernelT>();
  native->native->plugin = "acme";
  native->native->name = "attention";
  native->native->version = 7;
  executables.push_back(std::move(native));
  firstDispatch(artifact).fallback_for = uint32_t(executables.size());
}

TEST_F(Artifacts, KeepsNativeKernels) {
  addNative(artifact_);
  auto file = reopened();
  ASSERT_TRUE(file);
  const VariantInfo &variant = file->metadata().variants[0];
  const ExecutableInfo &native = variant.executables.back();
  ASSERT_TRUE(native.native);
  EXPECT_EQ(native.native->str(), "acme.attention version 7");
  EXPECT_FALSE(variant.executables[0].native);
  const auto &dispatch =
      std::get<program::Dispatch>(variant.program.commands[0]);
  EXPECT_EQ(dispatch.fallbackFor, variant.executables.size() - 1);
  EXPECT_EQ(variant.requirements, (std::vector<std::string>{"launch.native"}));
}

TEST_F(Artifacts, RefusesBadNativeKernels) {
  auto in = [&](const auto &change) {
    return refusalIn([&](fb::ArtifactT &a) {
      addNative(a);
      change(a, *a.variants[0]->executables.back());
    });
  };
  const std::string number =
      std::to_string(artifact_.variants[0]->executables.size());
  EXPECT_EQ(in([](auto &, auto &) {}), "written");
  EXPECT_EQ(in([](auto &, auto &native) { native.blob = {1}; }),
            "executable " + number +
                ": a native kernel has format 'native' or a blob");
  EXPECT_EQ(in([](auto &, auto &native) { native.format = "elf-x86_64"; }),
            "executable " + number +
                ": a native kernel has format 'elf-x86_64' or a blob");
  EXPECT_EQ(in([](auto &, auto &native) { native.native->plugin.clear(); }),
            "executable " + number +
                ": a native kernel has no plug-in or no name");
  EXPECT_EQ(in([](auto &, auto &native) { native.native.reset(); }),
            "executable " + number +
                " has format 'native', its variant 'elf-x86_64'");
  EXPECT_EQ(
      in([](auto &a, auto &) { firstDispatch(a).fallback_for = 1; }),
      "program: command 0: it is a fallback for executable 0, which is no "
      "native kernel");
  EXPECT_EQ(
      in([](auto &a, auto &) { firstDispatch(a).fallback_for = 0xFFFFFFFF; }),
      "program: command 0: it is a fallback for executable 4294967294, "
      "which is no native kernel");
  EXPECT_EQ(in([&](auto &a, auto &) {
              firstDispatch(a).executable = uint32_t(std::stoul(number));
            }),
            "program: command 0: a native kernel has no bindings, or is a "
            "fallback itself");
}

/// What may be absent is not all that writes an output: command 4 does here.
TEST_F(Artifacts, RefusesOutputsThatNativeKernelsAloneWrite) {
  for (bool native : {true, false}) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      addNative(a);
      fb::VariantT &variant = *a.variants[0];
      fb::DispatchT copy(firstDispatch(a));
      copy.fallback_for = 0;
      copy.executable = native ? uint32_t(variant.executables.size() - 1) : 0;
      const auto &slots = variant.program->slots;
      for (size_t i = 0; i < copy.bindings.size(); ++i)
        if (variant.executables[0]->entries[0]->access[i] & BP_ACCESS_WRITE)
          copy.bindings[i]->slot = uint32_t(
              std::ranges::find_if(slots,
                                   [](const auto &slot) {
                                     return slot->kind == fb::SlotKind::Output;
                                   }) -
              slots.begin());
      variant.program->commands[4]->body.Set(std::move(copy));
    });
    EXPECT_EQ(text,
              native ? "variant 0: no command writes output 0" : "written");
  }
}

} // namespace
