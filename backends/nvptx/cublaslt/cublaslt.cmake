# SPDX-License-Identifier: Apache-2.0
#
# The kernels of cuBLASLt, built where its headers are found beside cuda.h
# (cmake/BackplaneCuda.cmake). Nothing of it is linked.
if(NOT TARGET bp_cublas)
  return()
endif()

# Not where plug-ins are looked for, and not installed: whoever wants the set names
# its manifest.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/cublaslt")
add_library(bp-cublaslt MODULE cublaslt/Kernels.cpp cublaslt/Library.cpp
  cublaslt/Plugin.cpp cublaslt/Product.cpp)
target_link_libraries(bp-cublaslt PRIVATE backplane::headers bp_cublas ${CMAKE_DL_LIBS})
target_compile_options(bp-cublaslt PRIVATE -pedantic -Werror)
# cuBLASLt stays open while the process lives.
target_link_options(bp-cublaslt PRIVATE -Wl,-z,nodelete
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin.map")
set_target_properties(bp-cublaslt PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}")
configure_file(cublaslt/cublaslt.bp.json "${folder}/cublaslt.bp.json" COPYONLY)

# The tests have no GPU: a library with the same functions computes on the emulator.
if(BP_TESTS AND BP_NVCC)
  set(ptx "${folder}/product.ptx")
  add_custom_command(OUTPUT "${ptx}"
    COMMAND "${BP_NVCC}" -ptx -arch=sm_80 -O3 -o "${ptx}"
      "${CMAKE_CURRENT_SOURCE_DIR}/cublaslt/test/product.cu"
    DEPENDS cublaslt/test/product.cu VERBATIM)
  add_library(bp-cublaslt-emulated MODULE cublaslt/test/Emulated.cpp "${ptx}")
  target_link_libraries(bp-cublaslt-emulated PRIVATE bp_cublas ${CMAKE_DL_LIBS})
  target_link_options(bp-cublaslt-emulated PRIVATE -Wl,-z,nodelete)
  set_target_properties(bp-cublaslt-emulated PROPERTIES
    CXX_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY "${folder}")
endif()
