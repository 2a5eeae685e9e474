# SPDX-License-Identifier: Apache-2.0
#
# The driver, built where what it needs is found; BP_VULKAN says whether.
find_path(BP_VOLK_DIR volk.h)
find_path(BP_VULKAN_HEADERS_DIR vulkan/vulkan.h)
find_path(BP_SPIRV_TOOLS_DIR spirv-tools/libspirv.h)
find_library(BP_SPIRV_TOOLS SPIRV-Tools)
set(found ON)
foreach(need BP_VOLK_DIR BP_VULKAN_HEADERS_DIR BP_SPIRV_TOOLS_DIR BP_SPIRV_TOOLS)
  if(NOT ${need})
    set(found OFF)
  endif()
endforeach()
option(BP_VULKAN "Build the Vulkan driver (headers, volk, SPIRV-Tools)" ${found})
if(BP_VULKAN AND NOT found)
  message(FATAL_ERROR "BP_VULKAN is on, but Vulkan's headers, volk.h or "
    "SPIRV-Tools are not there: install what tools/packages.txt names, or "
    "configure with -DBP_VULKAN=OFF")
endif()
message(STATUS "Vulkan driver: ${BP_VULKAN}")
if(NOT BP_VULKAN)
  return()
endif()
