// SPDX-License-Identifier: Apache-2.0
#include "Instance.h"

#include <mutex>
#include <new>

namespace backplane::vulkan {

static VkResult makeInstance(VkInstance *out) {
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "backplane";
  application.pEngineName = "backplane";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  return vkCreateInstance(&info, nullptr, out);
}

const Instance *Instance::create(std::string *reason) {
  if (volkInitialize() != VK_SUCCESS) {
    *reason = "libvulkan.so.1 is not there";
    return nullptr;
  }
  if (!vkEnumerateInstanceVersion) {
    *reason = "libvulkan.so.1 knows Vulkan 1.0 only, 1.2 is needed";
    return nullptr;
  }
  auto *instance = new (std::nothrow) Instance;
  if (!instance)
    return nullptr;
  if (VkResult result = makeInstance(&instance->handle_)) {
    *reason = "vkCreateInstance: " + nameOf(result);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
      *reason += ", no Vulkan driver is installed; Debian has one for GPUs "
                 "and for the CPU in mesa-vulkan-drivers";
    delete instance;
    return nullptr;
  }
  volkLoadInstanceOnly(instance->handle_); // finds what makes device tables
  if (instance->loadFunctions())
    return instance;
  *reason = "libvulkan.so.1 lacks functions of Vulkan 1.1";
  delete instance;
  return nullptr;
}

const Instance *Instance::shared(std::string *reason) {
  static std::mutex mutex;
  static const Instance *instance = nullptr;
  std::lock_guard lock(mutex);
  if (!instance)
    instance = create(reason);
  return instance;
}

bool Instance::loadFunctions() {
  auto load = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        vkGetInstanceProcAddr(handle_, name));
    return function != nullptr;
  };
  bool all = load(enumerate_, "vkEnumeratePhysicalDevices");
  all &= load(getProperties, "vkGetPhysicalDeviceProperties2");
  all &= load(getFeatures, "vkGetPhysicalDeviceFeatures2");
  all &= load(getMemory, "vkGetPhysicalDeviceMemoryProperties");
  all &= load(getQueueFamilies, "vkGetPhysicalDeviceQueueFamilyProperties");
  all &= load(enumerateExtensions, "vkEnumerateDeviceExtensionProperties");
  all &= load(createDevice, "vkCreateDevice");
  load(getTimeDomains, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
  load(getMatrices, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  return all;
}

std::vector<VkPhysicalDevice> Instance::physicalDevices() const {
  uint32_t count = 0;
  if (enumerate_(handle_, &count, nullptr) != VK_SUCCESS)
    return {};
  std::vector<VkPhysicalDevice> devices(count);
  VkResult result = enumerate_(handle_, &count, devices.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return {};
  devices.resize(count);
  return devices;
}

std::string nameOf(VkResult result) {
  switch (result) {
  case VK_ERROR_OUT_OF_HOST_MEMORY:
    return "VK_ERROR_OUT_OF_HOST_MEMORY";
  case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
  case VK_ERROR_INITIALIZATION_FAILED:
    return "VK_ERROR_INITIALIZATION_FAILED";
  case VK_ERROR_DEVICE_LOST:
    return "VK_ERROR_DEVICE_LOST";
  case VK_ERROR_LAYER_NOT_PRESENT:
    return "VK_ERROR_LAYER_NOT_PRESENT";
  case VK_ERROR_EXTENSION_NOT_PRESENT:
    return "VK_ERROR_EXTENSION_NOT_PRESENT";
  case VK_ERROR_FEATURE_NOT_PRESENT:
    return "VK_ERROR_FEATURE_NOT_PRESENT";
  case VK_ERROR_INCOMPATIBLE_DRIVER:
    return "VK_ERROR_INCOMPATIBLE_DRIVER";
  case VK_ERROR_TOO_MANY_OBJECTS:
    return "VK_ERROR_TOO_MANY_OBJECTS";
  case VK_ERROR_INVALID_EXTERNAL_HANDLE:
    return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
  default:
    return "VkResult " + std::to_string(int(result));
  }
}

} // namespace backplane::vulkan
