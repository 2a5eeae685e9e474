// SPDX-License-Identifier: Apache-2.0
//
// The plug-in as a plug-in: query, options, targets, blobs, commands, symbols.
#include "Harness.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <set>

using namespace reftest;

namespace {

bp_status_t copyInfo(void *context, const bp_device_info_t *info) {
  auto *text = static_cast<std::string *>(context);
  text->append(info->id.data, info->id.size);
  for (uint64_t i = 0; i < info->format_count; ++i)
    text->append(" ").append(info->formats[i].data, info->formats[i].size);
  return BP_STATUS_OK;
}

bp_status_t checkTarget(void *context, const bp_target_t *target) {
  ++*static_cast<int *>(context);
  EXPECT_EQ(std::string(target->name.data, target->name.size), "ref");
  EXPECT_EQ(std::string(target->driver.data, target->driver.size), "ref");
  EXPECT_EQ(std::string(target->format.data, target->format.size), "wire");
  for (bp_dtype_t dtype : allTypes)
    EXPECT_TRUE(target->compute_dtypes >> dtype & 1);
  for (bp_dtype_t dtype : storedTypes)
    EXPECT_TRUE(target->compute_dtypes >> dtype & 1);
  EXPECT_EQ(target->compute_dtypes, target->storage_dtypes);
  std::set<std::pair<std::string, bp_dtype_t>> declared;
  for (uint64_t i = 0; i < target->numerics_count; ++i) {
    const bp_numerics_t &numerics = *target->numerics[i];
    std::string opClass(numerics.op_class.data, numerics.op_class.size);
    // Composites run as several ops, each of which rounds to the dtype.
    bool rounds = opClass == "RUNNING" && numerics.dtype == BP_DTYPE_F32;
    if (!isFloat(numerics.dtype))
      EXPECT_EQ(numerics.accumulator_bits, 64u);
    else if (rounds)
      EXPECT_EQ(numerics.accumulator_bits, 24u);
    else if (opClass != "RUNNING")
      EXPECT_EQ(numerics.accumulator_bits, 53u);
    EXPECT_EQ(numerics.rounding, BP_ROUNDING_NEAREST);
    EXPECT_EQ(numerics.flags, BP_NUMERICS_DETERMINISTIC);
    declared.insert(
        {std::string(numerics.op_class.data, numerics.op_class.size),
         numerics.dtype});
  }
  EXPECT_EQ(declared.size(), 6u * (BP_DTYPE_COUNT_ - 1));
  return BP_STATUS_OK;
}

bp_status_t appendText(void *context, bp_string_t text) {
  static_cast<std::string *>(context)->append(text.data, text.size);
  return BP_STATUS_OK;
}

void keepStatus(void *context, bp_status_t status, bp_string_t message) {
  auto *outcome = static_cast<Outcome *>(context);
  outcome->status = status;
  outcome->message.assign(message.data, message.size);
}

/// x + x over f32[n, 3].
bp_graph_t *dynamicGraph() {
  Builder builder;
  builder.symbol("n", 1000);
  uint32_t x = builder.input(BP_DTYPE_F32, {"n", "3"});
  builder.output(builder.op("add", {x, x}));
  return builder.finish();
}

} // namespace

TEST(Driver, QueryWritesNoMoreThanIsThere) {
  Plugin plugin;
  struct {
    bp_plugin_info_t info;
    char guard[8];
  } small;
  std::memset(&small, 0, sizeof(small));
  small.info.header = BP_HEADER(bp_plugin_info_t);
  small.info.header.size = offsetof(bp_plugin_info_t, driver);
  bp_host_info_t host = {BP_HEADER(bp_host_info_t), 0, BP_ABI_MINOR, {}};
  void *library = dlopen(REF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  auto query = reinterpret_cast<bp_plugin_query_t>(
      dlsym(library, BP_PLUGIN_QUERY_SYMBOL));
  EXPECT_EQ(query(&host, &small.info), 0);
  EXPECT_EQ(small.info.header.size, offsetof(bp_plugin_info_t, driver));
  EXPECT_EQ(small.info.driver, nullptr);
  EXPECT_NE(small.info.plugin, nullptr);
  dlclose(library);
}

TEST(Driver, ListsOneDeviceAndRefusesOthers) {
  Plugin plugin;
  std::string text;
  bp_device_sink_t sink = {copyInfo, &text};
  bp_options_t none = {};
  EXPECT_EQ(
      plugin.info().driver->enumerate(plugin.self(), &none, &sink, errorSlot()),
      0);
  EXPECT_EQ(text, "interpreter wire");
  bp_device_t *device = nullptr;
  EXPECT_EQ(plugin.info().driver->open(plugin.self(), reftest::text("gpu"),
                                       &none, &device, errorSlot()),
            BP_STATUS_NOT_FOUND);
  EXPECT_NE(takeError().find("gpu"), std::string::npos);
  bp_option_t option = {reftest::text("speed"), reftest::text("fast")};
  bp_options_t options = {&option, 1};
  EXPECT_EQ(plugin.info().driver->open(plugin.self(),
                                       reftest::text("interpreter"), &options,
                                       &device, errorSlot()),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(takeError().find("speed"), std::string::npos);
}

TEST(Driver, DescribesItsTarget) {
  Plugin plugin;
  int count = 0;
  bp_target_sink_t sink = {checkTarget, &count};
  EXPECT_EQ(plugin.info().compiler->targets(plugin.self(), &sink, errorSlot()),
            0);
  EXPECT_EQ(count, 1);
}

TEST(Driver, ClaimsWhatItCanRun) {
  Plugin plugin;
  bp_graph_t *graph = dynamicGraph();
  std::string reason;
  bp_string_sink_t sink = {appendText, &reason};
  bp_claim_t claim = {BP_HEADER(bp_claim_t)};
  claim.reason = &sink;
  auto ask = [&](bp_graph_t *graph) {
    EXPECT_EQ(plugin.info().compiler->claim(plugin.self(), text("ref"), graph,
                                            &graphTable(), &claim, errorSlot()),
              0);
    graphTable().graph_close(graph);
  };
  ask(graph);
  EXPECT_EQ(claim.supported, 1);

  Builder composite;
  composite.output(
      composite.op("relu", {composite.input(BP_DTYPE_F32, {"4"})}));
  ask(composite.finish());
  EXPECT_EQ(claim.supported, 0);
  EXPECT_NE(reason.find("relu"), std::string::npos) << reason;

  Builder deep;
  uint32_t x = deep.input(BP_DTYPE_I4, {"1"});
  deep.output(deep.op("reshape", {x}, {{"dims", dims(Dims(16, 1))}}));
  ask(deep.finish());
  EXPECT_EQ(claim.supported, 1);
}

TEST(Driver, RefusesForeignBlobs) {
  Plugin plugin;
  bp_graph_t *graph = dynamicGraph();
  std::vector<uint8_t> blob, access;
  bp_entry_t entry = {};
  ASSERT_EQ(plugin.compile(graph, blob, entry, access).status, 0);
  EXPECT_EQ(access, (std::vector<uint8_t>{BP_ACCESS_READ, BP_ACCESS_WRITE}));
  EXPECT_EQ(entry.constant_count, 1u);
  graphTable().graph_close(graph);

  auto load = [&](const std::string &format, const std::vector<uint8_t> &bytes,
                  const bp_entry_t &entry) {
    const bp_entry_t *entries[] = {&entry};
    bp_executable_info_t info = {BP_HEADER(bp_executable_info_t),
                                 text(format),
                                 {bytes.data(), bytes.size()},
                                 entries,
                                 1};
    bp_executable_t *executable = nullptr;
    bp_status_t status = plugin.info().executable->executable_load(
        plugin.device(), &info, &executable, errorSlot());
    if (!status)
      plugin.info().executable->executable_unload(plugin.device(), executable);
    return status;
  };
  EXPECT_EQ(load("wire", blob, entry), 0);
  EXPECT_EQ(load("elf-x86_64", blob, entry), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(load("wire", {}, entry), BP_STATUS_INVALID_ARGUMENT);
  bp_entry_t wrong = entry;
  wrong.binding_count = 3;
  EXPECT_EQ(load("wire", blob, wrong), BP_STATUS_INVALID_ARGUMENT);
  wrong = entry;
  wrong.constant_count = 0;
  EXPECT_EQ(load("wire", blob, wrong), BP_STATUS_INVALID_ARGUMENT);
  for (size_t size = 0; size < blob.size(); size += 7)
    EXPECT_NE(
        load("wire", {blob.begin(), blob.begin() + ptrdiff_t(size)}, entry), 0);
}

TEST(Driver, SymbolsGiveShapes) {
  Plugin plugin;
  for (uint32_t n : {0u, 1u, 5u, 400u}) {
    Tensor x = randomTensor(BP_DTYPE_F32, {int64_t(n), 3}, n);
    Outcome outcome = plugin.run(dynamicGraph(), {x}, {n});
    ASSERT_EQ(outcome.status, 0) << outcome.message;
    ASSERT_EQ(outcome.outputs[0].dims, x.dims);
    for (int64_t i = 0; i < x.count(); ++i)
      EXPECT_EQ(outcome.outputs[0].f(i), 2 * x.f(i));
  }
}

TEST(Driver, ShortBindingFails) {
  Plugin plugin;
  // A binding of 4 rows for a symbol that says 5.
  bp_graph_t *graph = dynamicGraph();
  Tensor x = randomTensor(BP_DTYPE_F32, {4, 3}, 1);
  Outcome outcome = plugin.run(graph, {x}, {5});
  EXPECT_EQ(outcome.status, BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("binding 0"), std::string::npos)
      << outcome.message;
}

TEST(Driver, SymbolicBoxIsChecked) {
  Builder builder;
  builder.symbol("n", 100);
  uint32_t x = builder.input(BP_DTYPE_F32, {"10"});
  builder.output(builder.op("slice", {x},
                            {{"starts", DimTexts{{"n"}}},
                             {"sizes", dims({4})},
                             {"strides", Dims{2}}}));
  Plugin plugin;
  bp_graph_t *graph = builder.finish();
  bp_graph_t *again = nullptr;
  std::vector<uint8_t> wire;
  bp_bytes_sink_t sink = {
      [](void *context, bp_bytes_t bytes) -> bp_status_t {
        auto *data = static_cast<const uint8_t *>(bytes.data);
        static_cast<std::vector<uint8_t> *>(context)->assign(data,
                                                             data + bytes.size);
        return BP_STATUS_OK;
      },
      &wire};
  ASSERT_EQ(graphTable().graph_write(graph, &sink), 0);
  ASSERT_EQ(
      graphTable().graph_open({wire.data(), wire.size()}, &again, errorSlot()),
      0);
  Tensor data = randomTensor(BP_DTYPE_F32, {10}, 1);
  Outcome inside = plugin.run(graph, {data}, {3});
  EXPECT_EQ(inside.status, 0) << inside.message;
  EXPECT_EQ(inside.outputs[0].f(3), data.f(9));
  Outcome outside = plugin.run(again, {data}, {4});
  EXPECT_EQ(outside.status, BP_STATUS_OUT_OF_RANGE);
  EXPECT_NE(outside.message.find("slice"), std::string::npos);
}

TEST(Driver, RunsGroupsAndCopiesSharedOutputs) {
  Builder builder;
  uint32_t x = builder.input(BP_DTYPE_F32, {"300"});
  uint32_t square = builder.op("mul", {x, x});
  uint32_t sum = builder.op("add", {square, x});
  for (uint32_t value : {sum, square, sum, x})
    builder.output(value);
  Plugin plugin;
  Tensor data = randomTensor(BP_DTYPE_F32, {300}, 1);
  Outcome outcome = plugin.run(builder.finish(), {data});
  ASSERT_EQ(outcome.status, 0) << outcome.message;
  for (int64_t i = 0; i < 300; ++i) {
    double product = rounded(BP_DTYPE_F32, data.f(i) * data.f(i));
    EXPECT_EQ(outcome.outputs[1].f(i), product);
    EXPECT_EQ(outcome.outputs[0].f(i),
              rounded(BP_DTYPE_F32, product + data.f(i)));
  }
  EXPECT_EQ(outcome.outputs[2], outcome.outputs[0]);
  EXPECT_EQ(outcome.outputs[3], data);
}

TEST(Driver, CopyFillBarrierAndUnknown) {
  Plugin plugin;
  const bp_memory_table_t *memory = plugin.info().memory;
  bp_buffer_t *buffer = nullptr;
  ASSERT_EQ(memory->buffer_allocate(plugin.device(), BP_SPACE_DEVICE, 64, 256,
                                    &buffer, errorSlot()),
            0);
  bp_command_fill_t all = {
      BP_HEADER(bp_command_fill_t), {buffer, 0, 64, 0, 0}, 0, 4};
  bp_command_fill_t fill = {
      BP_HEADER(bp_command_fill_t), {buffer, 4, 6, 0, 0}, 0xFFFF1234, 2};
  bp_command_barrier_t barrier = {BP_HEADER(bp_command_barrier_t)};
  bp_command_copy_t copy = {BP_HEADER(bp_command_copy_t),
                            {buffer, 3, 5, 0, 0},
                            {buffer, 33, 5, 0, 0}};
  const bp_header_t *commands[] = {&all.header, &fill.header, &barrier.header,
                                   &copy.header};
  bp_queue_t *queue = nullptr;
  ASSERT_EQ(plugin.info().queue->queue_create(
                plugin.device(), BP_QUEUE_TRANSFER, &queue, errorSlot()),
            0);
  Outcome outcome;
  bp_completion_t completion = {keepStatus, &outcome};
  EXPECT_EQ(plugin.info().queue->queue_execute(queue, commands, 4, &completion,
                                               errorSlot()),
            0);
  EXPECT_EQ(outcome.status, 0);
  uint8_t data[64];
  memory->buffer_read(plugin.device(), buffer, 0, data, 64, errorSlot());
  uint8_t expected[64] = {};
  for (int i : {4, 6, 8}) {
    expected[i] = 0x34;
    expected[i + 1] = 0x12;
  }
  std::memcpy(expected + 33, expected + 3, 5);
  EXPECT_EQ(std::memcmp(data, expected, 64), 0);

  bp_header_t unknown = {999, sizeof(bp_header_t), nullptr};
  const bp_header_t *bad[] = {&unknown};
  plugin.info().queue->queue_execute(queue, bad, 1, &completion, errorSlot());
  EXPECT_EQ(outcome.status, BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(outcome.message.find("999"), std::string::npos);
  plugin.info().queue->queue_destroy(plugin.device(), queue);
  memory->buffer_free(plugin.device(), buffer);
}

TEST(Driver, HugeShapesFailWithoutAllocating) {
  Plugin plugin;
  Builder builder;
  builder.symbol("n", 1 << 30);
  uint32_t x = builder.input(BP_DTYPE_F32, {"1"});
  builder.output(
      builder.op("broadcast", {x},
                 {{"dims", DimTexts{{"n", "n", "n"}}}, {"axes", Dims{0}}}));
  bp_graph_t *graph = builder.finish();
  std::vector<uint8_t> blob, access;
  bp_entry_t entry = {};
  ASSERT_EQ(plugin.compile(graph, blob, entry, access).status, 0);
  graphTable().graph_close(graph);
  const bp_entry_t *entries[] = {&entry};
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t),
                               text("wire"),
                               {blob.data(), blob.size()},
                               entries,
                               1};
  bp_executable_t *executable = nullptr;
  ASSERT_EQ(plugin.info().executable->executable_load(plugin.device(), &info,
                                                      &executable, errorSlot()),
            0);
  bp_buffer_t *buffer = nullptr;
  plugin.info().memory->buffer_allocate(plugin.device(), BP_SPACE_DEVICE, 64,
                                        64, &buffer, errorSlot());
  bp_binding_t bindings[] = {{buffer, 0, 64, 0, 0}, {buffer, 0, 64, 0, 0}};
  uint32_t n = 1 << 30;
  bp_command_dispatch_t dispatch = {BP_HEADER(bp_command_dispatch_t)};
  dispatch.executable = executable;
  dispatch.bindings = bindings;
  dispatch.binding_count = 2;
  dispatch.constants = &n;
  dispatch.constant_count = 1;
  const bp_header_t *commands[] = {&dispatch.header};
  bp_queue_t *queue = nullptr;
  plugin.info().queue->queue_create(plugin.device(), BP_QUEUE_COMPUTE, &queue,
                                    errorSlot());
  Outcome outcome;
  bp_completion_t completion = {keepStatus, &outcome};
  plugin.info().queue->queue_execute(queue, commands, 1, &completion,
                                     errorSlot());
  EXPECT_EQ(outcome.status, BP_STATUS_OUT_OF_RANGE) << outcome.message;
  plugin.info().queue->queue_destroy(plugin.device(), queue);
  plugin.info().memory->buffer_free(plugin.device(), buffer);
  plugin.info().executable->executable_unload(plugin.device(), executable);
}

TEST(Driver, LeavesNothingBehind) {
  int64_t before = liveAllocations();
  Tensor x = randomTensor(BP_DTYPE_F32, {10}, 1);
  runOk("exp", {x});
  runOk(
      "reduce", {x},
      {{"kind", std::string("sum")}, {"axes", Dims{0}}, {"keep", int64_t(0)}});
  Tensor bad = Tensor::ints(BP_DTYPE_I64, {1}, {99});
  runOp("gather", {x, bad}, {{"axis", int64_t(0)}});
  EXPECT_EQ(liveAllocations(), before);
}
