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

set(BP_VULKAN_SOURCES
  Allocator.cpp
  Buffer.cpp
  Device.cpp
  Executable.cpp
  Instance.cpp
  Layouts.cpp
  PhysicalDevice.cpp
  PipelineCache.cpp
  Plugin.cpp
  Program.cpp
  Queue.cpp
  Recording.cpp
  Semaphore.cpp
  Serve.cpp
  SpirV.cpp
  Stager.cpp
  Volk.c)
list(TRANSFORM BP_VULKAN_SOURCES PREPEND driver/)
bp_add_plugin_library(bp-vulkan SOURCES ${BP_VULKAN_SOURCES}
  DEPENDS ${BP_SPIRV_TOOLS} ${CMAKE_DL_LIBS})
target_include_directories(bp-vulkan SYSTEM PRIVATE "${BP_VOLK_DIR}"
  "${BP_SPIRV_TOOLS_DIR}" "${BP_VULKAN_HEADERS_DIR}")
target_compile_definitions(bp-vulkan PRIVATE VK_NO_PROTOTYPES)
target_compile_options(bp-vulkan PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
# What Vulkan's drivers have started in the process may outlive a context.
target_link_options(bp-vulkan PRIVATE -Wl,-z,nodelete)
if(NOT BP_SANITIZE)
  target_link_options(bp-vulkan PRIVATE -static-libstdc++ -static-libgcc)
endif()
