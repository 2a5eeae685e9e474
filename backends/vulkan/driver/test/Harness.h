// SPDX-License-Identifier: Apache-2.0
//
// Harness.h: a device of this machine for tests, reached through the tables of
// the driver, and short ways of writing commands. Where there is no Vulkan the
// tests are skipped with the reason.
#ifndef BACKPLANE_VULKAN_TEST_HARNESS_H
#define BACKPLANE_VULKAN_TEST_HARNESS_H

#include "backends/gpu/test/Harness.h"
#include "backends/vulkan/driver/Driver.h"

namespace backplane::vulkan::test {

using namespace gpu;
using namespace gpu::test;

/// A compiled shader as an entry.
struct Shader {
  std::span<const uint32_t> words;
  uint32_t bindings;
  uint32_t constants;
  uint64_t workspace = 0;
  uint32_t parameters = 0;
  uint32_t subgroupSize = 0;
};
extern const Shader add, exchange, gather, scratch, half, affine, sized,
    subgroups;

/// The blob of some shaders, as a compiler writes it.
std::vector<uint32_t> blobOf(std::span<const Shader> shaders);

/// The first usable device, opened.
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override { open(""); }
  void TearDown() override;

  /// Opens the device with `staging` as that option, if not empty.
  void open(const std::string &staging);

  bp_buffer_t *buffer(uint64_t size, uint32_t space = BP_SPACE_DEVICE);
  template <typename T> bp_buffer_t *buffer(const std::vector<T> &data) {
    bp_buffer_t *made = buffer(data.size() * sizeof(T));
    write(made, 0, data.data(), data.size() * sizeof(T));
    return made;
  }
  void write(bp_buffer_t *buffer, uint64_t offset, const void *data,
             uint64_t size);
  template <typename T>
  std::vector<T> read(bp_buffer_t *buffer, size_t count, uint64_t offset = 0) {
    std::vector<T> data(count);
    readBytes(buffer, offset, data.data(), count * sizeof(T));
    return data;
  }
  bp_executable_t *load(const Shader &shader);
  /// Why a shader is refused; empty when it is loaded.
  std::string refusalOf(const Shader &shader);
  /// Unloads what was loaded last.
  void unload();
  bp_queue_t *queue();
  /// Runs commands and waits for them.
  Answer run(bp_queue_t *queue,
             const std::vector<const bp_header_t *> &commands);
  /// The caller's to destroy; null when it failed, and so the test.
  bp_command_buffer_t *record(const bp_header_t *command);
  Answer replay(bp_queue_t *queue, bp_command_buffer_t *commands,
                const std::vector<bp_binding_t> &table);

  plugin::Self<Plugin> driver_{
      plugin::Host(&plainHost()),
      std::make_unique<Plugin>(plugin::Host(&plainHost()))};
  bp_device_t *device_ = nullptr;

private:
  void readBytes(bp_buffer_t *buffer, uint64_t offset, void *data,
                 uint64_t size);
  bp_executable_t *tryLoad(const Shader &shader, std::string &reason);

  std::vector<bp_buffer_t *> buffers_;
  std::vector<bp_executable_t *> executables_;
  std::vector<bp_queue_t *> queues_;
};

} // namespace backplane::vulkan::test

#endif // BACKPLANE_VULKAN_TEST_HARNESS_H
