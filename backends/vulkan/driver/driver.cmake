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
  CooperativeMatrix.cpp
  Device.cpp
  Driver.cpp
  Executable.cpp
  Instance.cpp
  Layouts.cpp
  MatrixModule.cpp
  PhysicalDevice.cpp
  PipelineCache.cpp
  Queue.cpp
  Recording.cpp
  SpirV.cpp
  Stager.cpp
  Timing.cpp
  Volk.c)
list(TRANSFORM BP_VULKAN_SOURCES PREPEND driver/)
# The tests look inside, so that the parts are a library of their own.
bp_add_library(bp_vulkan_parts SOURCES ${BP_VULKAN_SOURCES}
  DEPENDS bp_gpu PRIVATE ${BP_SPIRV_TOOLS} ${CMAKE_DL_LIBS})
target_include_directories(bp_vulkan_parts SYSTEM PUBLIC "${BP_VOLK_DIR}"
  "${BP_SPIRV_TOOLS_DIR}" "${BP_VULKAN_HEADERS_DIR}")
bp_without_exceptions(bp_vulkan_parts)

bp_add_plugin(bp-vulkan SOURCES driver/Plugin.cpp
  DEPENDS bp_vulkan_parts)
# What Vulkan's drivers have started in the process may outlive a context.
target_link_options(bp-vulkan PRIVATE -Wl,-z,nodelete)
if(NOT BP_SANITIZE)
  target_link_options(bp-vulkan PRIVATE -static-libstdc++ -static-libgcc)
endif()

find_program(BP_GLSLANG glslangValidator)
if(BP_TESTS AND BP_GLSLANG)
  set(shaders "")
  foreach(shader add affine exchange gather half scratch sized subgroups)
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/driver/test/shaders/${shader}.comp")
    set(header "${CMAKE_CURRENT_BINARY_DIR}/shaders/${shader}.h")
    add_custom_command(OUTPUT "${header}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory
        "${CMAKE_CURRENT_BINARY_DIR}/shaders"
      COMMAND "${BP_GLSLANG}" --quiet -V --target-env vulkan1.2
        --vn ${shader}Words -o "${header}" "${source}"
      DEPENDS "${source}" VERBATIM)
    list(APPEND shaders "${header}")
  endforeach()
  bp_add_test(bp_vulkan_driver_tests
    SOURCES driver/test/AllocatorTest.cpp driver/test/BlobTest.cpp
      driver/test/CacheTest.cpp
      driver/test/DeviceTest.cpp driver/test/FailureTest.cpp
      driver/test/Harness.cpp driver/test/MatrixTest.cpp ${shaders}
    DEPENDS bp_vulkan_parts bp_gpu_harness)
  target_include_directories(bp_vulkan_driver_tests PRIVATE
    "${CMAKE_CURRENT_BINARY_DIR}/shaders")
endif()
