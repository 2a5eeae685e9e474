// SPDX-License-Identifier: Apache-2.0
#include "Timing.h"

namespace backplane::vulkan {

Timing::~Timing() {
  device_.vk.vkDestroyQueryPool(device_.handle, pool_, nullptr);
}

VkResult Timing::prepare(VkCommandBuffer commands, uint32_t count) {
  const VolkDeviceTable &vk = device_.vk;
  marks_ = 0;
  if (count == 0 || device_.physical.timestampBits == 0)
    return VK_SUCCESS;
  if (2 * count > capacity_) {
    vk.vkDestroyQueryPool(device_.handle, pool_, nullptr);
    pool_ = VK_NULL_HANDLE;
    capacity_ = 0;
    VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * count;
    if (VkResult result =
            vk.vkCreateQueryPool(device_.handle, &info, nullptr, &pool_))
      return result;
    capacity_ = 2 * count;
  }
  vk.vkCmdResetQueryPool(commands, pool_, 0, 2 * count);
  return VK_SUCCESS;
}

void Timing::mark(VkCommandBuffer commands) {
  if (marks_ < capacity_)
    device_.vk.vkCmdWriteTimestamp(
        commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, marks_++);
}

/// One moment on both clocks.
struct Moment {
  uint64_t ticks = 0, ns = 0;
};

/// Both clocks now; where the device cannot tell, its last mark is taken to be
/// now, which is late by the way of a completion.
static Moment bothClocks(const Device &device, uint64_t lastMark) {
  VkCalibratedTimestampInfoEXT infos[2] = {
      {VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, nullptr,
       VK_TIME_DOMAIN_DEVICE_EXT},
      {VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, nullptr,
       VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT}};
  uint64_t values[2] = {}, deviation = 0;
  if (device.physical.calibrated &&
      device.vk.vkGetCalibratedTimestampsEXT(device.handle, 2, infos, values,
                                             &deviation) == VK_SUCCESS)
    return {values[0], values[1]};
  return {lastMark, gpu::hostNow()};
}

std::vector<bp_timestamp_t> Timing::read() const {
  std::vector<uint64_t> ticks(marks_);
  std::vector<bp_timestamp_t> times(marks_ / 2);
  if (ticks.empty() ||
      device_.vk.vkGetQueryPoolResults(
          device_.handle, pool_, 0, marks_, marks_ * sizeof(uint64_t),
          ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT))
    return times;
  constexpr uint32_t wordBits = 64;
  uint64_t mask = UINT64_MAX >> (wordBits - device_.physical.timestampBits);
  Moment now = bothClocks(device_, ticks.back());
  auto onHost = [&](uint64_t mark) {
    double ago = double((now.ticks - mark) & mask) *
                 double(device_.physical.limits.timestampPeriod);
    return now.ns - uint64_t(ago);
  };
  for (size_t i = 0; i < times.size(); ++i)
    times[i] = {onHost(ticks[2 * i]), onHost(ticks[2 * i + 1])};
  return times;
}

} // namespace backplane::vulkan
