// SPDX-License-Identifier: Apache-2.0
// REQUIRES: ptxas
// NVIDIA's assembler takes the kernels of these files for each architecture.
// DEFINE: %{source} =
// DEFINE: %{arch} =
// DEFINE: %{ptx} =
// DEFINE: %{lower} = bp-opt %S/%{source} -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-nvvm | sed 's/^module attributes .*/module {/' | mlir-translate --mlir-to-llvmir -o %t.ll
// DEFINE: %{assemble} = llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_%{arch} -mattr=+ptx%{ptx} %t.ll -o %t.ptx && ptxas -arch=sm_%{arch} %t.ptx -o %t.cubin

// REDEFINE: %{source} = spirv-valid.mlir
// RUN: %{lower}
// REDEFINE: %{arch} = 80
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90a
// REDEFINE: %{ptx} = 80
// RUN: %{assemble}
// REDEFINE: %{arch} = 100
// REDEFINE: %{ptx} = 86
// RUN: %{assemble}
// REDEFINE: %{arch} = 120
// REDEFINE: %{ptx} = 87
// RUN: %{assemble}

// REDEFINE: %{source} = gpu-contract-valid.mlir
// RUN: %{lower}
// REDEFINE: %{arch} = 80
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90a
// REDEFINE: %{ptx} = 80
// RUN: %{assemble}
// REDEFINE: %{arch} = 100
// REDEFINE: %{ptx} = 86
// RUN: %{assemble}
// REDEFINE: %{arch} = 120
// REDEFINE: %{ptx} = 87
// RUN: %{assemble}

// REDEFINE: %{source} = gpu-reduce-valid.mlir
// RUN: %{lower}
// REDEFINE: %{arch} = 80
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90a
// REDEFINE: %{ptx} = 80
// RUN: %{assemble}
// REDEFINE: %{arch} = 100
// REDEFINE: %{ptx} = 86
// RUN: %{assemble}
// REDEFINE: %{arch} = 120
// REDEFINE: %{ptx} = 87
// RUN: %{assemble}

// REDEFINE: %{source} = gpu-subgroup-wide-valid.mlir
// RUN: %{lower}
// REDEFINE: %{arch} = 80
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90a
// REDEFINE: %{ptx} = 80
// RUN: %{assemble}
// REDEFINE: %{arch} = 100
// REDEFINE: %{ptx} = 86
// RUN: %{assemble}
// REDEFINE: %{arch} = 120
// REDEFINE: %{ptx} = 87
// RUN: %{assemble}

// REDEFINE: %{source} = gpu-matrix-valid.mlir
// RUN: %{lower}
// REDEFINE: %{arch} = 80
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90
// REDEFINE: %{ptx} = 78
// RUN: %{assemble}
// REDEFINE: %{arch} = 90a
// REDEFINE: %{ptx} = 80
// RUN: %{assemble}
// REDEFINE: %{arch} = 100
// REDEFINE: %{ptx} = 86
// RUN: %{assemble}
// REDEFINE: %{arch} = 120
// REDEFINE: %{ptx} = 87
// RUN: %{assemble}
