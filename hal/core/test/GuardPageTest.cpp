// SPDX-License-Identifier: Apache-2.0
//
// Every growable struct that the host reads, cut to every size that an older
// minor version may have had, in front of a page that nobody may touch: what is
// behind header.size is never read and counts as zero. Here tables, devices and
// options of a context.
#include "Cut.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/LoaderOptions.h"
#include "hal/core/Tables.h"

#include <cstddef>

using namespace backplane;

namespace {

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

/// The host refuses what an application asks for and it does not know.
TEST(Flags, OfALaterApplicationAreRefused) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  options.flags = BP_CONTEXT_MAP_ARTIFACTS * 2;
  EXPECT_EQ(loaderOptions(&options).code(), BP_STATUS_UNIMPLEMENTED);
}

} // namespace
