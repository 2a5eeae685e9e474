// SPDX-License-Identifier: Apache-2.0
//
// Variants on several devices, hand-made: each is the host, with queues and
// memory of its own.
#include "Models.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::sample;
using namespace backplane::test;

namespace {

/// A variant over two hosts, executables 0 to 2 for the first, 3 to 5 for the
/// second one, in the order of Draft::addVariant.
fb::VariantT &splitVariant(Draft &draft) {
  fb::VariantT &variant = draft.addVariant("toy+toy2", 1);
  auto device = std::make_unique<fb::VariantDeviceT>();
  device->target = "toy2";
  device->driver = variant.driver;
  device->format = variant.format;
  variant.devices.push_back(std::move(device));
  for (size_t i = 0; i < 3; ++i) {
    variant.executables.push_back(
        std::make_unique<fb::ExecutableT>(*variant.executables[i]));
    variant.executables.back()->device = 1;
  }
  return variant;
}

uint32_t add(fb::ProgramT &program, std::unique_ptr<fb::SlotT> slot,
             uint8_t device) {
  slot->device = device;
  program.slots.push_back(std::move(slot));
  return uint32_t(program.slots.size() - 1);
}

void addKernel(fb::VariantT &variant, uint8_t device) {
  auto kernel = std::make_unique<fb::ExecutableT>(*variant.executables[0]);
  kernel->device = device;
  kernel->entries[0]->name = "meet";
  kernel->entries[0]->constant_count = 0;
  variant.executables.push_back(std::move(kernel));
}

/// y = ((x + 1) + 2) * w + 3 with n rows; what adds 2 runs on device 1.
void chain(Draft &draft) {
  uint32_t w = addRows(draft);
  fb::ProgramT &p = *splitVariant(draft).program;
  const char *bytes = "16*n";
  uint32_t x = add(p, slot(fb::SlotKind::Input, 0, bytes), 0);
  uint32_t y = add(p, slot(fb::SlotKind::Output, 0, bytes), 0);
  uint32_t weight = add(p, slot(fb::SlotKind::Weight, w), 0);
  uint32_t one = add(p, transient(bytes, 0, 2), 0);
  uint32_t sent = add(p, transient(bytes, 2, 4), 1);
  uint32_t two = add(p, transient(bytes, 4, 6), 1);
  uint32_t back = add(p, transient(bytes, 6, 8), 0);
  uint32_t product = add(p, transient(bytes, 8, 10), 0);
  auto rows = [] { return std::vector<std::string>{"4*n", "1", "1"}; };
  p.commands.push_back(dispatch(0, rows(), {"1"}, {x, one}));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(one, sent));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(3, rows(), {"2"}, {sent, two}));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(two, back));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(1, rows(), {"4"}, {back, weight, product}));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(0, rows(), {"3"}, {product, y}));
}

/// Two kernels that wait for each other, one on each device.
void meeting(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"2"}));
  for (const char *name : {"y", "z"})
    a.outputs.push_back(tensor(name, DType::F32, {"1"}));
  fb::VariantT &variant = splitVariant(draft);
  addKernel(variant, 0);
  addKernel(variant, 1);
  fb::ProgramT &p = *variant.program;
  for (uint8_t device : {0, 1}) {
    uint32_t x = add(p, slot(fb::SlotKind::Input, 0), device);
    uint32_t y = add(p, slot(fb::SlotKind::Output, device), device);
    p.commands.push_back(dispatch(6u + device, {"1", "1", "1"}, {}, {x, y}));
  }
}

/// A variable on device 1 that x is added to; y is its value plus 1, made on
/// device 0.
void remoteCounter(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"1"}));
  a.outputs.push_back(tensor("y", DType::F32, {"1"}));
  uint32_t w = addWeight(a, draft.pool, floats({10}));
  draft.addVariable("total", {"1"}, int32_t(w));
  fb::ProgramT &p = *splitVariant(draft).program;
  uint32_t x = add(p, slot(fb::SlotKind::Input, 0), 1);
  uint32_t total = add(p, slot(fb::SlotKind::Variable, 0), 1);
  uint32_t made = add(p, transient("4", 0, 2), 1);
  uint32_t sent = add(p, transient("4", 2, 4), 0);
  uint32_t y = add(p, slot(fb::SlotKind::Output, 0), 0);
  p.commands.push_back(dispatch(5, {"1", "1", "1"}, {}, {x, total, made}));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(made, sent));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(0, {"1", "1", "1"}, {"1"}, {sent, y}));
}

class Split : public testing::Test {
protected:
  Session open(void (*make)(Draft &), std::string_view device = "host",
               uint32_t flags = 0) {
    Draft draft;
    make(draft);
    auto artifact = test::open(context_, draft, folder_ / "model.bpx");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC(device);
    options.flags = flags;
    auto session = createSession(artifact_, options);
    reason_ = session ? "" : session.message();
    return session ? std::move(*session) : nullptr;
  }
  static Status run(const Session &session, Floats &x, Floats &y) {
    return runSession(session, {x.c()}, {y.c()});
  }

  Folder folder_;
  Context context_ = hostContext();
  Artifact artifact_;
  std::string reason_;
};

TEST_F(Split, RunsEveryShapeOverTwoDevices) {
  for (std::string_view device : {"host", "host+host"}) {
    Session s = open(&chain, device);
    ASSERT_TRUE(s) << reason_;
    for (int64_t i = 0; i < 40; ++i) {
      int64_t n = i * 37 % 30;
      Floats x({n, 4}), y({n, 4}, -1);
      for (size_t j = 0; j < x.values.size(); ++j)
        x.values[j] = float(j) + float(i);
      Status status = run(s, x, y);
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t j = 0; j < y.values.size(); ++j)
        ASSERT_EQ(y.values[j], (x.values[j] + 3) * float(j % 4 + 1) + 3);
    }
  }
}

TEST_F(Split, CallsInFlightKeepTheirOrder) {
  Session s = open(&remoteCounter);
  ASSERT_TRUE(s) << reason_;
  constexpr size_t calls = 8;
  std::vector<Floats> x(calls, Floats({1}, 1)), y(calls, Floats({1}));
  std::vector<bp_call_t *> flying(calls);
  for (size_t i = 0; i < calls; ++i) {
    bp_tensor_t in = x[i].c(), out = y[i].c();
    ASSERT_EQ(bp_session_submit(s.get(), &in, 1, &out, 1, &flying[i], nullptr),
              BP_STATUS_OK);
  }
  for (size_t i = 0; i < calls; ++i) {
    ASSERT_EQ(bp_call_wait(flying[i], nullptr), BP_STATUS_OK);
    EXPECT_EQ(y[i].values[0], float(12 + i));
  }
}

TEST_F(Split, WorksOnBothDevicesAtOnce) {
  Session s = open(&meeting);
  ASSERT_TRUE(s) << reason_;
  uint32_t counter = 0, *address = &counter;
  Floats x({2}), y({1}), z({1});
  std::memcpy(x.values.data(), &address, sizeof(address));
  Status status = runSession(s, {x.c()}, {y.c(), z.c()});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y.values[0], 1);
  EXPECT_EQ(z.values[0], 1);
}

TEST_F(Split, FailuresTravelAndEndWithTheCall) {
  Session s = open(&remoteCounter);
  ASSERT_TRUE(s) << reason_;
  Floats x({1}), y({1});
  x.values = {-4};
  Status status = run(s, x, y);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("first op"), std::string::npos)
      << status.message();
  ASSERT_EQ(bp_session_reset(s.get(), nullptr), BP_STATUS_OK);
  x.values = {5};
  status = run(s, x, y);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y.values[0], 16);
}

TEST_F(Split, WithoutFallbackAllDevicesMustBeNamed) {
  EXPECT_FALSE(open(chain, "host", BP_SESSION_NO_FALLBACK));
  for (const char *part : {"on a device of driver 'host', which was not asked",
                           "there is to be no fallback"})
    EXPECT_NE(reason_.find(part), std::string::npos) << reason_;
  EXPECT_TRUE(open(chain, "host+host", BP_SESSION_NO_FALLBACK)) << reason_;
}

TEST_F(Split, SaysWhichDeviceIsMissing) {
  auto other = [](Draft &draft) {
    chain(draft);
    draft.artifact.variants[0]->devices[0]->driver = "npu";
  };
  EXPECT_FALSE(open(other));
  EXPECT_NE(reason_.find("npu"), std::string::npos) << reason_;
  EXPECT_FALSE(open(other, "host+host"));
  EXPECT_NE(reason_.find("toy2 is for driver 'npu'"), std::string::npos)
      << reason_;
}

} // namespace
