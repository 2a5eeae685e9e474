// SPDX-License-Identifier: Apache-2.0
#include "Harness.h"
#include "backends/vulkan/driver/SpirV.h"

namespace backplane::vulkan::test {

namespace {
#include "add.h"
#include "affine.h"
#include "exchange.h"
#include "gather.h"
#include "half.h"
#include "scratch.h"
#include "sized.h"
#include "subgroups.h"
} // namespace

const Shader add = {addWords, 3, 1};
const Shader exchange = {exchangeWords, 1, 0};
const Shader gather = {gatherWords, 3, 2};
const Shader scratch = {scratchWords, 1, 0, 256};
const Shader sized = {sizedWords, 1, 0};
const Shader half = {halfWords, 1, 0};
const Shader affine = {affineWords, 1, 1, 0, 2};
const Shader subgroups = {subgroupsWords, 1, 0};

std::vector<uint32_t> blobOf(std::span<const Shader> shaders) {
  std::vector<uint32_t> blob = {blobMagic, blobVersion,
                                uint32_t(shaders.size())};
  uint32_t offset = 3 + 2 * uint32_t(shaders.size());
  for (const Shader &shader : shaders) {
    blob.push_back(offset);
    blob.push_back(uint32_t(shader.words.size()));
    offset += uint32_t(shader.words.size());
  }
  for (const Shader &shader : shaders)
    blob.insert(blob.end(), shader.words.begin(), shader.words.end());
  return blob;
}

// ---- The device ----

/// Id and refusal of the first device that can be used, or of the last one.
struct Found {
  std::string id, refusal = "no device is listed";
};

static Found findDevice(plugin::Self<Plugin> &driver) {
  Found found;
  bp_device_sink_t sink = {};
  sink.context = &found;
  sink.put = [](void *context, const bp_device_info_t *info) {
    Found &found = *static_cast<Found *>(context);
    if (found.refusal.empty())
      return BP_STATUS_OK;
    found.id.assign(info->id.data, info->id.size);
    found.refusal.assign(info->refusal.data, info->refusal.size);
    return BP_STATUS_OK;
  };
  ErrorText error;
  EXPECT_EQ(driverTable.enumerate(&driver, nullptr, &sink, error.handle()),
            BP_STATUS_OK)
      << error.text;
  return found;
}

void DeviceTest::open(const std::string &staging) {
  Found found = findDevice(driver_);
  if (!found.refusal.empty())
    GTEST_SKIP() << found.refusal;
  bp_option_t option = {{"staging", 7}, {staging.data(), staging.size()}};
  bp_options_t options = {&option, staging.empty() ? 0u : 1u};
  ErrorText error;
  ASSERT_EQ(driverTable.open(&driver_, {found.id.data(), found.id.size()},
                             &options, &device_, error.handle()),
            BP_STATUS_OK)
      << error.text;
}

void DeviceTest::TearDown() {
  for (bp_queue_t *queue : queues_)
    queueTable.queue_destroy(device_, queue);
  for (bp_executable_t *executable : executables_)
    executableTable.executable_unload(device_, executable);
  for (bp_buffer_t *buffer : buffers_)
    memoryTable.buffer_free(device_, buffer);
  queues_.clear();
  executables_.clear();
  buffers_.clear();
  if (device_)
    driverTable.close(device_);
  device_ = nullptr;
}

bp_buffer_t *DeviceTest::buffer(uint64_t size, uint32_t space) {
  bp_buffer_t *made = nullptr;
  ErrorText error;
  EXPECT_EQ(memoryTable.buffer_allocate(device_, space, size, 64, &made,
                                        error.handle()),
            BP_STATUS_OK)
      << error.text;
  buffers_.push_back(made);
  return made;
}

void DeviceTest::write(bp_buffer_t *buffer, uint64_t offset, const void *data,
                       uint64_t size) {
  EXPECT_EQ(
      memoryTable.buffer_write(device_, buffer, offset, data, size, nullptr),
      BP_STATUS_OK);
}

void DeviceTest::readBytes(bp_buffer_t *buffer, uint64_t offset, void *data,
                           uint64_t size) {
  EXPECT_EQ(
      memoryTable.buffer_read(device_, buffer, offset, data, size, nullptr),
      BP_STATUS_OK);
}

bp_executable_t *DeviceTest::tryLoad(const Shader &shader,
                                     std::string &reason) {
  std::vector<uint32_t> blob = blobOf({&shader, 1});
  std::vector<uint8_t> access(shader.bindings,
                              BP_ACCESS_READ | BP_ACCESS_WRITE);
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = {"main", 4};
  entry.binding_access = access.data();
  entry.binding_count = shader.bindings;
  entry.constant_count = shader.constants;
  entry.workgroup_size[0] = 64;
  entry.workgroup_size[1] = entry.workgroup_size[2] = 1;
  entry.workspace_bytes = shader.workspace;
  entry.parameter_count = shader.parameters;
  entry.subgroup_size = shader.subgroupSize;
  const bp_entry_t *entries[] = {&entry};
  bp_executable_info_t info = {BP_HEADER(bp_executable_info_t)};
  info.format = {"spirv", 5};
  info.blob = {blob.data(), blob.size() * 4};
  info.entries = entries;
  info.entry_count = 1;
  bp_executable_t *made = nullptr;
  ErrorText error;
  if (executableTable.executable_load(device_, &info, &made, error.handle()))
    reason = error.text;
  else
    executables_.push_back(made);
  return made;
}

bp_executable_t *DeviceTest::load(const Shader &shader) {
  std::string reason;
  bp_executable_t *made = tryLoad(shader, reason);
  EXPECT_TRUE(made) << reason;
  return made;
}

std::string DeviceTest::refusalOf(const Shader &shader) {
  std::string reason;
  tryLoad(shader, reason);
  return reason;
}

void DeviceTest::unload() {
  executableTable.executable_unload(device_, executables_.back());
  executables_.pop_back();
}

bp_queue_t *DeviceTest::queue() {
  bp_queue_t *made = nullptr;
  ErrorText error;
  EXPECT_EQ(
      queueTable.queue_create(device_, BP_QUEUE_COMPUTE, &made, error.handle()),
      BP_STATUS_OK)
      << error.text;
  queues_.push_back(made);
  return made;
}

// ---- Work ----

Answer DeviceTest::run(bp_queue_t *queue,
                       const std::vector<const bp_header_t *> &commands) {
  Completion done;
  bp_completion_t completion = done.completion();
  ErrorText error;
  bp_status_t status = queueTable.queue_execute(
      queue, commands.data(), commands.size(), &completion, error.handle());
  return status ? Answer{status, error.text} : done.wait();
}

bp_command_buffer_t *DeviceTest::record(const bp_header_t *command) {
  bp_command_buffer_t *recorded = nullptr;
  EXPECT_EQ(commandBufferTable.command_buffer_create(device_, &command, 1,
                                                     &recorded, nullptr),
            BP_STATUS_OK);
  return recorded;
}

Answer DeviceTest::replay(bp_queue_t *queue, bp_command_buffer_t *commands,
                          const std::vector<bp_binding_t> &table) {
  Completion done;
  bp_completion_t completion = done.completion();
  ErrorText error;
  bp_status_t status = commandBufferTable.command_buffer_execute(
      queue, commands, table.data(), table.size(), &completion, error.handle());
  return status ? Answer{status, error.text} : done.wait();
}

} // namespace backplane::vulkan::test
