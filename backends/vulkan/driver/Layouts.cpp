// SPDX-License-Identifier: Apache-2.0
#include "Layouts.h"

namespace backplane::vulkan {

Layouts::~Layouts() {
  for (const auto &[count, layout] : made_) {
    vk_.vkDestroyPipelineLayout(device_, layout.pipeline, nullptr);
    vk_.vkDestroyDescriptorSetLayout(device_, layout.set, nullptr);
  }
}

VkResult Layouts::make(uint32_t count, Layout &out) {
  std::vector<VkDescriptorSetLayoutBinding> bindings(count);
  for (uint32_t i = 0; i < count; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                   VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = count;
  set.pBindings = bindings.data();
  if (VkResult result =
          vk_.vkCreateDescriptorSetLayout(device_, &set, nullptr, &out.set))
    return result;
  VkPushConstantRange constants = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   pushConstantBytes};
  VkPipelineLayoutCreateInfo pipeline = {
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &out.set;
  pipeline.pushConstantRangeCount = 1;
  pipeline.pPushConstantRanges = &constants;
  VkResult result =
      vk_.vkCreatePipelineLayout(device_, &pipeline, nullptr, &out.pipeline);
  if (result)
    vk_.vkDestroyDescriptorSetLayout(device_, out.set, nullptr);
  return result;
}

VkResult Layouts::get(uint32_t count, Layout &out) {
  std::lock_guard lock(mutex_);
  if (auto found = made_.find(count); found != made_.end()) {
    out = found->second;
    return VK_SUCCESS;
  }
  VkResult result = make(count, out);
  if (!result)
    made_[count] = out;
  return result;
}

} // namespace backplane::vulkan
