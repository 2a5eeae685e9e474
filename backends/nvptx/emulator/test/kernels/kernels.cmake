# SPDX-License-Identifier: Apache-2.0
#
# Kernels that other compilers make of the sources here, as far as these are found;
# the tests read their PTX. Sets nvcc_ptx, clang_ptx and mlir_output to the files or
# to nothing, and bp_cuda_emulator_kernels makes them.
set(kernels "${CMAKE_CURRENT_LIST_DIR}")
set(made "")
foreach(name nvcc_ptx clang_ptx mlir_output)
  set(${name} "")
endforeach()

if(BP_NVCC)
  set(nvcc_ptx "${CMAKE_CURRENT_BINARY_DIR}/nvcc.ptx")
  add_custom_command(OUTPUT "${nvcc_ptx}"
    COMMAND "${BP_NVCC}" -ptx -arch=sm_80 -O3 -o "${nvcc_ptx}"
      "${kernels}/kernels.cu"
    DEPENDS "${kernels}/kernels.cu" VERBATIM)
  list(APPEND made "${nvcc_ptx}")
endif()

find_program(BP_CLANG clang-22)
if(BP_CLANG)
  set(clang_ptx "${CMAKE_CURRENT_BINARY_DIR}/clang.ptx")
  add_custom_command(OUTPUT "${clang_ptx}"
    COMMAND "${BP_CLANG}" --target=nvptx64-nvidia-cuda -march=sm_80 -nogpulib
      -O3 -S -o "${clang_ptx}" "${kernels}/kernels.c"
    DEPENDS "${kernels}/kernels.c" VERBATIM)
  list(APPEND made "${clang_ptx}")
endif()

find_program(BP_MLIR_OPT mlir-opt-22)
if(BP_MLIR_OPT)
  set(mlir_output "${CMAKE_CURRENT_BINARY_DIR}/matrix.out.mlir")
  set(spread "builtin.module(gpu.module(gpu.func(\
convert-vector-to-gpu{use-nvgpu=true},canonicalize,cse,lower-affine)))")
  set(lower "builtin.module(gpu.module(convert-nvgpu-to-nvvm,convert-scf-to-cf,\
convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true},convert-vector-to-llvm,\
convert-index-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts),\
gpu-module-to-binary{format=isa})")
  # No pass says that f32 may be multiplied as tf32.
  set(narrow "s/mmaShape = \\[16, 8, 8\\]/&, tf32Enabled/")
  add_custom_command(OUTPUT "${mlir_output}"
    COMMAND sh -c "'${BP_MLIR_OPT}' '${kernels}/matrix.mlir' \
'--pass-pipeline=${spread}' | sed '${narrow}' | '${BP_MLIR_OPT}' \
'--pass-pipeline=${lower}' -o '${mlir_output}'"
    DEPENDS "${kernels}/matrix.mlir" VERBATIM)
  list(APPEND made "${mlir_output}")
endif()
add_custom_target(bp_cuda_emulator_kernels DEPENDS ${made})
