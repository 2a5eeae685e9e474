// SPDX-License-Identifier: Apache-2.0
#include "Executable.h"
#include "SpirV.h"

#include <algorithm>
#include <new>

namespace backplane::vulkan {

namespace {

/// Loads the entries of one executable, side by side on the host's threads.
class Loader {
public:
  Loader(Device &device, const bp_executable_info_t &info, bp_executable_t &out)
      : device_(device), info_(info), out_(out) {}

  bool readBlob(std::string *reason) {
    return vulkan::readBlob(info_.blob, words_, modules_, reason);
  }
  uint64_t moduleCount() const { return modules_.size(); }
  void loadAll();
  /// The first entry that failed, if any.
  bp_status_t outcome(bp_error_t *error) const;

private:
  struct Failure {
    bp_status_t status = BP_STATUS_OK;
    VkResult result = VK_SUCCESS;
    std::string reason;
  };

  void load(uint64_t index);
  VkPipelineShaderStageCreateFlags stageFlags(const ModuleUse &use) const;
  void compile(const ModuleUse &use, Module module, EntryPoint &entry,
               Failure &failure);
  bool fits(const bp_entry_t &entry, std::string *reason) const;
  bool fitsSubgroups(const bp_entry_t &entry) const;

  Device &device_;
  const bp_executable_info_t &info_;
  bp_executable_t &out_;
  Words words_;
  std::vector<Module> modules_;
  std::vector<Failure> failures_;
};

uint64_t pushConstantBytesOf(const bp_entry_t &entry) {
  uint32_t constants = entry.constant_count;
  return entry.parameter_count
             ? parameterOffset(constants) + 8 * uint64_t(entry.parameter_count)
             : 4 * uint64_t(constants);
}

bool Loader::fitsSubgroups(const bp_entry_t &entry) const {
  uint64_t groups = 1;
  for (uint32_t size : entry.workgroup_size)
    groups *= std::max(size, 1u);
  return !entry.subgroup_size ||
         groups <=
             uint64_t(entry.subgroup_size) * device_.physical.maxGroupSubgroups;
}

bool Loader::fits(const bp_entry_t &entry, std::string *reason) const {
  const VkPhysicalDeviceLimits &limits = device_.physical.limits;
  constexpr uint32_t extra = 2; // the error word and scratch
  uint32_t most = std::min(limits.maxPerStageDescriptorStorageBuffers,
                           limits.maxDescriptorSetStorageBuffers);
  if (entry.binding_count > most - extra)
    *reason = std::to_string(entry.binding_count) +
              " bindings are more than the device has";
  else if (entry.constant_count > BP_MAX_CONSTANTS)
    *reason = std::to_string(entry.constant_count) +
              " constants are more than a dispatch has";
  else if (uint64_t bytes = pushConstantBytesOf(entry);
           bytes > pushConstantBytes)
    *reason = std::to_string(entry.constant_count) + " constants and " +
              std::to_string(entry.parameter_count) + " parameters take " +
              std::to_string(bytes) + " bytes of push constants, the most is " +
              std::to_string(pushConstantBytes);
  else if (uint32_t size = entry.subgroup_size;
           size & (size - 1) || (size & device_.physical.subgroupSizes) != size)
    *reason = "a shader cannot ask for subgroups of " + std::to_string(size);
  else if (!fitsSubgroups(entry))
    *reason = "a work-group has more subgroups of " +
              std::to_string(entry.subgroup_size) + " than the " +
              std::to_string(device_.physical.maxGroupSubgroups) +
              " that the device can ask for";
  else if (entry.workspace_bytes > limits.maxStorageBufferRange)
    *reason = std::to_string(entry.workspace_bytes) +
              " bytes of scratch are more than a binding can have";
  return reason->empty();
}

/// Without this a device may leave places in subgroups empty.
VkPipelineShaderStageCreateFlags
Loader::stageFlags(const ModuleUse &use) const {
  const PhysicalDevice &physical = device_.physical;
  uint32_t size = use.subgroupSize ? use.subgroupSize : physical.subgroupSize;
  bool full = use.subgroups && physical.has("computeFullSubgroups") &&
              use.workgroupSize[0] % size == 0;
  return full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT
              : 0;
}

void Loader::compile(const ModuleUse &use, Module module, EntryPoint &entry,
                     Failure &failure) {
  const VolkDeviceTable &vk = device_.vk;
  uint32_t bindings = entry.bindings + 1 + entry.scratch;
  failure.result = device_.layouts->get(bindings, entry.layout);
  VkShaderModuleCreateInfo code = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  code.codeSize = module.size_bytes();
  code.pCode = module.data();
  VkShaderModule shader = VK_NULL_HANDLE;
  if (!failure.result)
    failure.result =
        vk.vkCreateShaderModule(device_.handle, &code, nullptr, &shader);
  if (failure.result)
    return;
  // Constant 0: what shaders with long loops ask.
  VkSpecializationMapEntry iterations = {0, 0, sizeof(float)};
  VkSpecializationInfo constants = {1, &iterations, sizeof(float),
                                    &device_.physical.maxIterations};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size = {
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT,
      nullptr, use.subgroupSize};
  VkPipelineShaderStageCreateInfo stage = {
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
      use.subgroupSize ? &size : nullptr,
      stageFlags(use),
      VK_SHADER_STAGE_COMPUTE_BIT,
      shader,
      use.name.c_str(),
      &constants};
  VkComputePipelineCreateInfo info = {
      VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, nullptr, 0, stage,
      entry.layout.pipeline};
  failure.result = vk.vkCreateComputePipelines(
      device_.handle, device_.pipelines, 1, &info, nullptr, &entry.pipeline);
  vk.vkDestroyShaderModule(device_.handle, shader, nullptr);
}

void Loader::load(uint64_t index) {
  auto entry = readStruct<bp_entry_t>(&info_.entries[index]->header);
  Failure &failure = failures_[index];
  ModuleUse use;
  use.name.assign(entry.name.data, entry.name.size);
  std::copy_n(entry.workgroup_size, 3, use.workgroupSize);
  if (!fits(entry, &failure.reason)) {
    failure.status = BP_STATUS_INVALID_ARGUMENT;
    return;
  }
  use.bindings = entry.binding_count + 1;
  use.subgroupSize = entry.subgroup_size;
  if (!checkModule(modules_[index], use, device_.physical, &failure.reason)) {
    failure.status = BP_STATUS_INVALID_ARGUMENT;
    return;
  }
  EntryPoint &made = out_.entries[index];
  made.bindings = entry.binding_count;
  made.scratch = use.scratch;
  made.reports = use.reports;
  made.workspaceBytes = entry.workspace_bytes;
  compile(use, modules_[index], made, failure);
}

void Loader::loadAll() {
  out_.entries.resize(info_.entry_count);
  failures_.resize(info_.entry_count);
  const bp_host_t &host = *device_.driver.host;
  host.parallel_for(
      host.self, info_.entry_count,
      [](void *self, uint64_t index, uint32_t) {
        static_cast<Loader *>(self)->load(index);
      },
      this);
}

bp_status_t Loader::outcome(bp_error_t *error) const {
  for (uint64_t i = 0; i < failures_.size(); ++i) {
    const Failure &failure = failures_[i];
    constexpr uint64_t longest = 100;
    bp_string_t name = info_.entries[i]->name;
    std::string entry =
        "entry \"" +
        std::string(name.data, std::min<uint64_t>(name.size, longest)) + "\"";
    if (failure.status)
      return fail(device_.driver, error, failure.status,
                  entry + ": " + failure.reason);
    bool refused = failure.result && failure.result != VK_ERROR_DEVICE_LOST &&
                   failure.result != VK_ERROR_OUT_OF_HOST_MEMORY &&
                   failure.result != VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (refused) // valid by the rules, yet nothing that the device can compile
      return fail(device_.driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "the device's driver refuses the shader of " + entry + ": " +
                      nameOf(failure.result));
    if (failure.result)
      return fail(device_.driver, error, failure.result,
                  "cannot make a pipeline of " + entry);
  }
  return BP_STATUS_OK;
}

/// Lavapipe keeps destroyed pipelines, half a megabyte each, until something is
/// submitted. Work that runs will be followed by more, or by another call.
void submitNothing(Device &device) {
  const VolkDeviceTable &vk = device.vk;
  std::lock_guard lock(device.mutex);
  bool busy = std::any_of(
      device.open.begin(), device.open.end(),
      [](const bp_queue_t *queue) { return !queue->running.empty(); });
  char lost[gpu::maxMessage];
  if (busy || device.isLost(lost))
    return;
  VkSubmitInfo nothing = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  VkQueue queue = device.queues.front();
  VkResult result = vk.vkQueueSubmit(queue, 1, &nothing, VK_NULL_HANDLE);
  if (!result)
    result = vk.vkQueueWaitIdle(queue);
  device.note(result);
}

void unload(bp_device_t *opened, bp_executable_t *executable) {
  Device &device = of(*opened);
  bool made = false;
  for (const EntryPoint &entry : executable->entries) {
    device.vk.vkDestroyPipeline(device.handle, entry.pipeline, nullptr);
    made |= entry.pipeline != VK_NULL_HANDLE;
  }
  if (made)
    submitNothing(device);
  delete executable;
}

bp_status_t load(bp_device_t *device, const bp_executable_info_t *info,
                 bp_executable_t **out, bp_error_t *error) {
  const Driver &driver = device->driver;
  if (std::string_view(info->format.data, info->format.size) != "spirv")
    return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                "the Vulkan driver loads executables of the format spirv, not "
                "of \"" +
                    std::string(info->format.data, info->format.size) + "\"");
  auto *executable = new (std::nothrow) bp_executable_t;
  if (!executable)
    return outOfMemory(driver, error);
  Loader loader(of(*device), *info, *executable);
  std::string reason;
  bp_status_t status = BP_STATUS_OK;
  if (!loader.readBlob(&reason))
    status = fail(driver, error, BP_STATUS_INVALID_ARGUMENT, reason);
  else if (info->entry_count > loader.moduleCount())
    status = fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "damaged blob: " + std::to_string(info->entry_count) +
                      " entries, but " + std::to_string(loader.moduleCount()) +
                      " modules");
  if (status == BP_STATUS_OK) {
    loader.loadAll();
    status = loader.outcome(error);
  }
  if (status == BP_STATUS_OK)
    *out = executable;
  else
    unload(device, executable);
  return status;
}

} // namespace

const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               load, unload};

} // namespace backplane::vulkan
