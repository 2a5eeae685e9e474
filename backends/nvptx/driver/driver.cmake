# SPDX-License-Identifier: Apache-2.0
#
# The driver, built where cuda.h is found (cmake/BackplaneCuda.cmake). It opens
# libcuda.so.1 at run time and links nothing of CUDA.
if(NOT TARGET bp_cuda)
  return()
endif()

set(BP_CUDA_SOURCES
  Buffer.cpp
  Cubin.cpp
  Cuda.cpp
  Device.cpp
  Driver.cpp
  Executable.cpp
  PhysicalDevice.cpp
  Ptx.cpp
  Queue.cpp
  Recording.cpp
  TensorMaps.cpp
  Timing.cpp)
list(TRANSFORM BP_CUDA_SOURCES PREPEND driver/)
# The tests look inside, so that the parts are a library of their own.
bp_add_library(bp_cuda_parts SOURCES ${BP_CUDA_SOURCES}
  DEPENDS bp_gpu bp_cuda PRIVATE ${CMAKE_DL_LIBS})
bp_without_exceptions(bp_cuda_parts)

bp_add_plugin(bp-cuda SOURCES driver/Plugin.cpp
  DEPENDS bp_cuda_parts)
# What a CUDA driver has started in the process may outlive a context.
target_link_options(bp-cuda PRIVATE -Wl,-z,nodelete)
if(NOT BP_SANITIZE)
  target_link_options(bp-cuda PRIVATE -static-libstdc++ -static-libgcc)
endif()

if(BP_TESTS)
  bp_add_test(bp_cuda_driver_tests
    SOURCES driver/test/CommandBufferTest.cpp driver/test/CubinTest.cpp driver/test/DeviceTest.cpp driver/test/NativeTest.cpp driver/test/PtxTest.cpp
      driver/test/SemaphoreTest.cpp driver/test/TensorMapsTest.cpp
    DEPENDS bp_cuda_parts bp_gpu_harness)
  add_dependencies(bp_cuda_driver_tests bp-cuda-emulator)
  target_compile_definitions(bp_cuda_driver_tests PRIVATE
    BP_CUDA_EMULATOR="$<TARGET_FILE:bp-cuda-emulator>")
  if(BP_PTXAS)
    target_compile_definitions(bp_cuda_driver_tests PRIVATE BP_PTXAS="${BP_PTXAS}")
  endif()
endif()
