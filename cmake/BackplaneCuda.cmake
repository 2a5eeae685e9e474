# SPDX-License-Identifier: Apache-2.0
#
# What of CUDA there is: a toolkit that CUDA_HOME or CUDA_PATH names, the wheels of
# tools/requirements.txt in .venv, or a toolkit in /usr/local/cuda, in this order.
# Nothing is linked against it, and nothing of it is needed at run time.
#
#   bp_cuda    a target with the folder of cuda.h; not there where cuda.h is not, or
#              with -DBP_CUDA=OFF
#   bp_cublas  a target with the folders of cuda.h and cublasLt.h; not there where
#              either is not
#   BP_PTXAS   the assembler of PTX, or NOTFOUND
#   BP_NVCC    the compiler of CUDA C++ (tests only), or NOTFOUND
include_guard(GLOBAL)

file(GLOB bp_cuda_roots LIST_DIRECTORIES true
  "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu[0-9]*")
list(PREPEND bp_cuda_roots "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}")
list(APPEND bp_cuda_roots /usr/local/cuda)
find_path(BP_CUDA_INCLUDE_DIR cuda.h PATHS ${bp_cuda_roots}
  PATH_SUFFIXES include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_path(BP_CUBLAS_INCLUDE_DIR cublasLt.h PATHS ${bp_cuda_roots}
  PATH_SUFFIXES include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_program(BP_PTXAS ptxas PATHS ${bp_cuda_roots} PATH_SUFFIXES bin
  NO_DEFAULT_PATH)
find_program(BP_NVCC nvcc PATHS ${bp_cuda_roots} PATH_SUFFIXES bin
  NO_DEFAULT_PATH)

option(BP_CUDA "Build the parts of the NVIDIA backend that need cuda.h, where it is found" ON)
if(NOT BP_CUDA)
  message(STATUS "CUDA headers: not used (BP_CUDA is off)")
elseif(BP_CUDA_INCLUDE_DIR)
  add_library(bp_cuda INTERFACE)
  target_include_directories(bp_cuda SYSTEM INTERFACE "${BP_CUDA_INCLUDE_DIR}")
  message(STATUS "CUDA headers: ${BP_CUDA_INCLUDE_DIR}")
  if(BP_CUBLAS_INCLUDE_DIR)
    add_library(bp_cublas INTERFACE)
    target_include_directories(bp_cublas SYSTEM INTERFACE "${BP_CUDA_INCLUDE_DIR}"
      "${BP_CUBLAS_INCLUDE_DIR}")
    message(STATUS "cuBLASLt headers: ${BP_CUBLAS_INCLUDE_DIR}")
  else()
    message(STATUS "cuBLASLt headers: not found; its kernels are left out "
      "(tools/setup installs them)")
  endif()
else()
  message(STATUS "CUDA headers: not found; the CUDA driver and its emulator are "
    "left out (tools/setup installs them, CUDA_HOME names a toolkit)")
endif()
