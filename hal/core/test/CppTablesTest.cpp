// SPDX-License-Identifier: Apache-2.0
//
// Tables of plug-ins of classes (backplane/cpp/): those that a class has the
// members for, and no others.
#include "backplane/cpp/Compiler.h"
#include "backplane/cpp/Driver.h"
#include "backplane/cpp/Tables.h"
#include "hal/core/Error.h"
#include "hal/core/Host.h"

#include <gtest/gtest.h>

namespace backplane {
namespace {

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
