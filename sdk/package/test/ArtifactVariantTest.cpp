// SPDX-License-Identifier: Apache-2.0
//
// What variants require, and those that are split over devices.
#include "Artifacts.h"

using namespace backplane;
using namespace backplane::sample;

namespace {

TEST_F(Artifacts, SaysWhatAVariantRequires) {
  fb::VariantT &variant = *artifact_.variants[0];
  auto requirements = [&] {
    return reopened()->metadata().variants[0].requirements;
  };
  EXPECT_EQ(requirements(), std::vector<std::string>());
  variant.program->commands[0]->body.AsDispatch()->grid[0] = "select(n, 2, 1)";
  EXPECT_EQ(requirements(), std::vector<std::string>{"dims.select"});
}

TEST_F(Artifacts, ReadsNothingOfAVariantThatRequiresTheUnknown) {
  artifact_.variants.push_back(
      std::make_unique<fb::VariantT>(*artifact_.variants[0]));
  fb::VariantT &later = *artifact_.variants[1];
  later.target = "later";
  later.requirements = {"dims.select", "launch.clusters"};
  later.program->commands[0]->body.AsDispatch()->grid[0] = "cluster of n";
  auto file = reopened();
  ASSERT_TRUE(file);
  const auto &variants = file->metadata().variants;
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].unknownRequirement, "");
  EXPECT_EQ(variants[1].unknownRequirement, "launch.clusters");
  EXPECT_EQ(variants[1].target, "later");
  EXPECT_TRUE(variants[1].program.commands.empty());
  EXPECT_TRUE(variants[1].executables.empty());
}

TEST_F(Artifacts, SplitsAVariantOverDevices) {
  sample::split(artifact_);
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents()[4], 3);
  EXPECT_EQ(refusal(), "opened");
  Bytes bytes = contents();
  bytes[4] = 2;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has artifact version 2, what it holds needs version 3");
}

TEST_F(Artifacts, RefusesABadSplit) {
  auto in = [&](const auto &change) {
    return refusalIn([&](auto &a) {
      sample::split(a);
      change(*a.variants[0]);
    });
  };
  EXPECT_EQ(in([](auto &) {}), "written");
  EXPECT_EQ(in([](auto &v) { v.program->slots[11]->device = 2; }),
            "program: slot 11: it lies on device 2, of 2");
  EXPECT_EQ(in([](auto &v) { v.executables[1]->device = 7; }),
            "executable 1 is for device 7, of 2");
  EXPECT_EQ(in([](auto &v) { v.regions[0]->device = 2; }),
            "region 0 runs on device 2, of 2");
  EXPECT_EQ(in([](auto &v) { v.executables[1]->device = 0; }),
            "executable 1 has format 'wire', its variant 'elf-x86_64'");
  EXPECT_EQ(in([](auto &v) { v.devices[0]->driver.clear(); }),
            "device 1 lacks a target, a driver or a format");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->device = 0; }),
            "program: command 11: slot 12 lies on device 0, the command runs "
            "on 1");
  EXPECT_EQ(in([](auto &v) { v.program->slots[11]->bytes = "20"; }),
            "program: command 9: it copies 16 bytes to 20");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->offset = 0; }),
            "program: slots 11 and 12 overlap while both are in use");
  EXPECT_EQ(in([](auto &v) { v.program->arenas = {64}; }),
            "program: slot 12: it lies at 64 with 16 bytes, the arena has "
            "64");
  EXPECT_EQ(in([](auto &v) { v.program->arenas = {128, 128}; }),
            "program: it has more arenas than devices");
  EXPECT_EQ(in([](auto &v) { v.program->arenas.clear(); }),
            "program: slot 11: it has a place, but no limited size or no "
            "arena");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->reuse = 9; }),
            "program: slot 12: it reuses slot 9 of another device");
  EXPECT_EQ(in([](auto &v) { v.program->slots[9]->device = 1; }),
            "program: command 8: slot 9 lies on device 1, the command runs on "
            "0");
  EXPECT_EQ(in([](auto &v) { v.regions[0]->device = 1; }),
            "region 0: slot 0: it lies on device 0, its region runs on 1");
  EXPECT_EQ(in([](auto &v) { v.init->slots[1]->device = 1; }),
            "program: slot 4: Constant 0 lies on devices 1 and 0");
  EXPECT_EQ(in([](auto &v) {
              while (v.devices.size() < 16)
                v.devices.push_back(
                    std::make_unique<fb::VariantDeviceT>(*v.devices[0]));
            }),
            "it is split over 17 devices, the limit is 16");
}

} // namespace
