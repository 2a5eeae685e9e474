// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PickDevice.h"

#include <gtest/gtest.h>

namespace backplane {
namespace {

std::shared_ptr<const DeviceInfo>
device(std::string_view id, uint32_t flags = 0, std::string_view refusal = {}) {
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(id);
  info.flags = flags;
  info.refusal = toC(refusal);
  return *DeviceInfo::copy(&info);
}

std::string idOf(const DeviceUri &uri, const DeviceInfos &infos) {
  auto found = pickDevice(uri, infos);
  return found ? std::string((*found)->id()) : found.message();
}

TEST(PickDevice, TakesIdsNumbersAndTheFirst) {
  DeviceInfos infos = {device("pci-1", 0, "it is off"), device("pci-2"),
                       device("emu", BP_DEVICE_EMULATED)};
  EXPECT_EQ(idOf({"acme", "pci-2", {}}, infos), "pci-2");
  EXPECT_EQ(idOf({"acme", "1", {}}, infos), "pci-2");
  EXPECT_EQ(idOf({"acme", "", {}}, infos), "pci-2");
  EXPECT_EQ(idOf({"acme", "emu", {}}, infos), "emu");
  EXPECT_EQ(idOf({"acme", "0", {}}, infos),
            "device acme://0 cannot be used: it is off");
  EXPECT_EQ(idOf({"acme", "3", {}}, infos),
            "device acme://3 does not exist or cannot be used, the driver has "
            "pci-1, pci-2, emu");
}

/// An id that is a number is that device, whatever its place.
TEST(PickDevice, PrefersIdsToNumbers) {
  DeviceInfos infos = {device("1"), device("0")};
  EXPECT_EQ(idOf({"acme", "0", {}}, infos), "0");
  EXPECT_EQ(idOf({"acme", "1", {}}, infos), "1");
}

TEST(PickDevice, TakesAnEmulatedOneByItsNameWhereAnotherIsThere) {
  DeviceInfos infos = {device("pci-1", 0, "it is off"),
                       device("emu", BP_DEVICE_EMULATED)};
  EXPECT_EQ(idOf({"acme", "", {}}, infos),
            "device acme:// cannot be used: it is off; acme://emu is emulated, "
            "and taken by its full name only");
  EXPECT_EQ(idOf({"acme", "", {}}, {infos[1]}), "emu");
}

} // namespace
} // namespace backplane
