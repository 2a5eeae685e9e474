// SPDX-License-Identifier: Apache-2.0
//
// Sessions on a driver with the required functions only: weights are uploaded,
// inputs and outputs are staged, recorded commands are kept by the host.
#include "Models.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::sample;

namespace {

/// With an empty program for the driver `mini`.
std::unique_ptr<fb::VariantT> variantFor(const char *target) {
  auto variant = std::make_unique<fb::VariantT>();
  variant->target = target;
  variant->driver = variant->format = "mini";
  variant->program = std::make_unique<fb::ProgramT>();
  return variant;
}

/// y = x, z = the weight, and the state takes x's first bytes while w gets
/// what it was before. Copies only, so any device runs it.
void copies(Draft &draft, size_t weightBytes) {
  fb::ArtifactT &a = draft.artifact;
  draft.addSymbol("n", 0, 5000);
  a.inputs.push_back(tensor("x", DType::U8, {"n"}));
  a.outputs.push_back(tensor("y", DType::U8, {"n"}));
  a.outputs.push_back(tensor("z", DType::U8, {std::to_string(weightBytes)}));
  a.outputs.push_back(tensor("w", DType::U8, {"16"}));
  addWeight(a, draft.pool, Bytes(7, 1));
  uint32_t weight = addWeight(a, draft.pool, Bytes(weightBytes, 9));
  uint32_t other = addWeight(a, draft.pool, Bytes(16, 5));
  auto variable = std::make_unique<fb::VariableInfoT>();
  variable->type = tensor("state", DType::U8, {"16"});
  a.variables.push_back(std::move(variable));
  auto variant = variantFor("toy");
  fb::ProgramT &p = *variant->program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(slot(fb::SlotKind::Weight, weight));
  p.slots.push_back(slot(fb::SlotKind::Output, 1));
  p.slots.push_back(slot(fb::SlotKind::Variable, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 2));
  p.slots.push_back(slot(fb::SlotKind::Weight, other));
  p.slots.push_back(transient("n", 0, 2));
  p.commands.push_back(copy(0, 7));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(7, 1));
  p.commands.push_back(copy(2, 3));
  p.commands.push_back(copy(4, 5));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(6, 4));
  a.variants.push_back(std::move(variant));
}

/// y = (x + 5) + 6, z = x, and w = y: what kernels use and what copies use.
void sums(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  draft.addSymbol("n", 0, 1000);
  a.inputs.push_back(tensor("x", DType::U32, {"n"}));
  for (const char *name : {"y", "z", "w"})
    a.outputs.push_back(tensor(name, DType::U32, {"n"}));
  auto variant = variantFor("toy");
  variant->executables.push_back(executable("mini", {1}, "add", {1, 2}, 1));
  fb::ProgramT &p = *variant->program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  for (uint32_t output : {0, 1, 2})
    p.slots.push_back(slot(fb::SlotKind::Output, output));
  p.slots.push_back(transient("4*n", 0, 2));
  p.commands.push_back(dispatch(0, {"1", "1", "1"}, {"5"}, {0, 4}));
  p.commands.push_back(barrier());
  p.commands.push_back(dispatch(0, {"1", "1", "1"}, {"6"}, {4, 1}));
  p.commands.push_back(copy(0, 2));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(1, 3));
  a.variants.push_back(std::move(variant));
}

/// Device 1 fills y, sends it to device 0, which gives it as z, and copies it
/// to w without waiting for that.
void sends(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  for (const char *name : {"y", "z", "w"})
    a.outputs.push_back(tensor(name, DType::U8, {"16"}));
  auto variant = variantFor("toy+toy2");
  auto device = std::make_unique<fb::VariantDeviceT>();
  device->target = "toy2";
  device->driver = "mini";
  device->format = "mini";
  variant->devices.push_back(std::move(device));
  fb::ProgramT &p = *variant->program;
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 1));
  p.slots.push_back(slot(fb::SlotKind::Output, 2));
  p.slots.push_back(transient("16", 0, 6));
  p.slots.push_back(transient("16", 0, 6));
  for (uint32_t i : {0, 2, 3})
    p.slots[i]->device = 1;
  p.commands.push_back(fill(3, 7));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(3, 4));
  p.commands.push_back(copy(3, 0));
  p.commands.push_back(copy(3, 2));
  p.commands.push_back(barrier());
  p.commands.push_back(copy(4, 1));
  a.variants.push_back(std::move(variant));
}

Context contextWith(const Folder &folder, const char *library) {
  namespace fs = std::filesystem;
  fs::copy_file(library, folder / "libmini.so");
  fs::permissions(folder / "libmini.so", fs::perms::owner_all);
  std::string manifest = folder / "mini.bp.json";
  std::ofstream(manifest)
      << R"({"format": 1, "name": "mini", "version": "1.0.0",)"
      << R"( "abi": {"major": 0, "minor_low": 1}, "driver": "libmini.so"})";
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  bp_string_t file = toC(manifest);
  options.plugin_files = &file;
  options.plugin_file_count = 1;
  options.cache_dir = toC("-");
  auto context = createContext(options);
  EXPECT_TRUE(context.ok()) << context.message();
  return std::move(*context);
}

class Staging : public testing::TestWithParam<size_t> {
protected:
  Folder folder_;
  Context context_ = contextWith(folder_, BP_MINI_PLUGIN);
  bool first_ = true;
};

class Discrete : public testing::Test {
protected:
  Discrete() {
    Draft draft;
    sums(draft);
    auto artifact = open(context_, draft, folder_ / "model.bpx");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC("mini");
    auto session = createSession(artifact_, options);
    EXPECT_TRUE(session.ok()) << session.message();
    session_ = std::move(*session);
  }
  static bp_value_t value(std::vector<uint32_t> *data, const int64_t &count) {
    bp_value_t made = {BP_HEADER(bp_value_t)};
    made.kind = BP_VALUE_TENSOR;
    made.flags = data ? 0 : BP_VALUE_ON_DEVICE;
    made.dtype = data ? BP_DTYPE_U32 : BP_DTYPE_INVALID;
    made.rank = data ? 1 : 0;
    made.dims = data ? &count : nullptr;
    made.data = data ? data->data() : nullptr;
    return made;
  }

  Folder folder_;
  Context context_ = contextWith(folder_, BP_DISCRETE_PLUGIN);
  Artifact artifact_;
  Session session_;
};

TEST_F(Discrete, KernelsGetMemoryOfTheDeviceOnly) {
  for (int64_t n : {100, 0, 1000, 1, 100}) {
    auto count = size_t(n);
    std::vector<uint32_t> x(count, uint32_t(n)), y(count), z(y), w(y);
    bp_tensor_t in = {x.data(), &n, 4 * x.size(), BP_DTYPE_U32, 1};
    std::vector<bp_tensor_t> outputs;
    for (std::vector<uint32_t> *out : {&y, &z, &w})
      outputs.push_back({out->data(), &n, 4 * x.size(), BP_DTYPE_U32, 1});
    Status status = runSession(session_, {in}, outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y, std::vector<uint32_t>(x.size(), uint32_t(n) + 11));
    EXPECT_EQ(z, x);
    EXPECT_EQ(w, y);
  }
}

TEST_F(Discrete, ValuesOfTheDeviceAreNotCopied) {
  int64_t n = 500;
  std::vector<uint32_t> x(500, 3), y(500), z(500), w(500);
  bp_value_t in = value(&x, n);
  // The same shapes with memory on either side, in turn.
  for (int i = 0; i < 4; ++i) {
    bp_value_t onDevice = value(nullptr, n);
    bp_value_t second = value(&z, n), third = value(&w, n);
    Status status = runValues(session_, {&in}, {&onDevice, &second, &third});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(z, std::vector<uint32_t>(500, uint32_t(3 + 22 * i)));
    bp_value_t first = value(&y, n);
    status = runValues(session_, {&onDevice}, {&first, &second, &third});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y, std::vector<uint32_t>(500, uint32_t(3 + 22 * i + 22)));
    EXPECT_EQ(w, y);
    x = y;
    onDevice.release(onDevice.context);
  }
}

// The driver completes the fill when it has what is behind it on the queue.
TEST(LateQueue, GetsWhatFollowsWithoutWaiting) {
  Folder folder;
  Context context = contextWith(folder, BP_LATE_PLUGIN);
  Draft draft;
  sends(draft);
  auto artifact = open(context, draft, folder / "model.bpx");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("mini+mini");
  auto session = createSession(*artifact, options);
  ASSERT_TRUE(session.ok()) << session.message();
  for (int i = 0; i < 20; ++i) {
    Bytes y(16), z(16), w(16);
    int64_t n = 16;
    std::vector<bp_tensor_t> outputs;
    for (Bytes *out : {&y, &z, &w})
      outputs.push_back({out->data(), &n, 16, BP_DTYPE_U8, 1});
    Status status = runSession(*session, {}, outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const Bytes &out : {y, z, w})
      ASSERT_EQ(out[0], 7);
  }
}

TEST_P(Staging, CopiesThroughTheDevice) {
  Draft draft;
  copies(draft, GetParam());
  auto artifact = open(context_, draft, folder_ / "model.bpx");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("mini");
  auto session = createSession(*artifact, options);
  ASSERT_TRUE(session.ok()) << session.message();
  for (int64_t n : {1000, 0, 5000, 1000, 17, 1}) {
    Bytes x(size_t(n), uint8_t(n + 1)), y(size_t(n), 0), z(GetParam(), 0),
        w(16, 0);
    int64_t zBytes = int64_t(GetParam()), wBytes = 16;
    std::vector<bp_tensor_t> outputs = {
        {y.data(), &n, y.size(), BP_DTYPE_U8, 1},
        {z.data(), &zBytes, z.size(), BP_DTYPE_U8, 1},
        {w.data(), &wBytes, 16, BP_DTYPE_U8, 1}};
    Status status = runSession(
        *session, {{x.data(), &n, x.size(), BP_DTYPE_U8, 1}}, outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y, x);
    EXPECT_EQ(z, Bytes(GetParam(), 9));
    EXPECT_EQ(w, Bytes(16, first_ ? 0 : 5)) << "the state before the call";
    first_ = false;
  }
}

/// Such a device takes its own buffers in place, and cannot show them to
/// DLPack.
TEST_P(Staging, BuffersOfTheDeviceAreUsedInPlace) {
  Draft draft;
  copies(draft, GetParam());
  auto artifact = open(context_, draft, folder_ / "model.bpx");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("mini");
  auto session = createSession(*artifact, options);
  ASSERT_TRUE(session.ok()) << session.message();
  Bytes x(1000, 7), y(1000, 0);
  int64_t n = 1000;
  bp_value_t in = {BP_HEADER(bp_value_t)};
  in.kind = BP_VALUE_TENSOR;
  in.dtype = BP_DTYPE_U8;
  in.rank = 1;
  in.dims = &n;
  in.data = x.data();
  for (int i = 0; i < 3; ++i) {
    bp_value_t out = {BP_HEADER(bp_value_t)}, dropped = out;
    out.kind = BP_VALUE_TENSOR;
    out.flags = BP_VALUE_ON_DEVICE;
    Status status = runValues(*session, {&in}, {&out, &dropped, &dropped});
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_NE(out.buffer, nullptr);
    EXPECT_EQ(bp_device_buffer_map(out.buffer), nullptr);
    DLManagedTensorVersioned *tensor = nullptr;
    EXPECT_EQ(bp_value_to_dlpack(&out, &tensor, nullptr),
              BP_STATUS_UNIMPLEMENTED);
    in = out;
    in.flags = BP_VALUE_DONATED;
  }
  ASSERT_EQ(bp_device_buffer_read(in.buffer, 0, y.data(), 1000, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(y, x);
  in.release(in.context);
}

// The device takes buffers up to 1 MiB: all weights in one, then one for each.
INSTANTIATE_TEST_SUITE_P(Sizes, Staging, testing::Values(100, (1 << 20) - 300));

} // namespace
