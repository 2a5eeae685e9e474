// SPDX-License-Identifier: Apache-2.0
//
// The published passes from linalg on tensors to what an emitter serialises.
// Names and options are a contract with vendors: sdk/emit/README.md.
#ifndef BACKPLANE_EMIT_COMMON_PASSES
#define BACKPLANE_EMIT_COMMON_PASSES

include "sdk/compiler/Published.td"
include "mlir/Pass/PassBase.td"

def BindBuffersPass : Pass<"bp-bind-buffers", "mlir::ModuleOp">,
    Stable<"tile", "a dispatch as `lower` leaves it",
      "tensors in the body, memrefs as arguments"> {
  let summary = "Tensor arguments of a dispatch to memrefs";
  let description = [{
    Tensor arguments become dense memrefs; results are stated to
    be in their destinations; elementwise ops of which one is a result become
    one op.
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect"];
}

def ContractPass : Pass<"bp-contract", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "a parallel loop of work-groups, or the dispatch as it was"> {
  let summary = "Matrix products and convolutions to packed loops, on a CPU";
  let description = [{
    A matrix product, a convolution or their like, with an
    elementwise op after it, becomes a parallel loop of packed loops. So does an
    attention: two products with a softmax between them, whose scores stay in
    memory of the work-group. Every other dispatch is left alone. What a work-group packs takes half of the
    target's `cache_bytes.2` at most, 1 MiB where that is not stated.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "width of a vector register">,
    Option<"scalable", "scalable", "bool", "false",
           "vector-bits is the least width; the machine's is known at run time">,
    Option<"registers", "registers", "unsigned", "0",
           "number of vector registers; 0: the target's `registers`, or 32 of 512 "
           "bits, else 16">,
    Option<"intrinsics", "intrinsics", "std::string", "",
           "what the names of LLVM's intrinsics for products begin with: "
           "llvm.aarch64.neon, llvm.aarch64.sve, llvm.x86.avx512, "
           "llvm.x86.avx2">,
    ListOption<"products", "products", "std::string",
           "how the machine multiplies narrow operands: dot (bytes of one "
           "sign), usdot (of both), mmla (blocks of those), bfmlal, "
           "bfmmla; of x86 tdpb (bytes in tile registers), dpbusd (bytes of "
           "both signs), dpwssd and pmadd (bytes as pairs of 16-bit integers, "
           "added by the instruction or after it)">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::bufferization::BufferizationDialect", "mlir::math::MathDialect",
    "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def DistributePass : Pass<"bp-distribute", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "a parallel loop of work-groups, or one work-group without"> {
  let summary = "The work of a dispatch to a parallel loop of work-groups, on a CPU";
  let description = [{
    Tiles the last op and fuses what comes before it into one
    parallel loop of work-groups. Dispatches that have such a loop are left
    alone; those with several last ops stay one work-group.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::linalg::LinalgDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def DistributeLoopsPass : Pass<"bp-distribute-loops", "mlir::ModuleOp">,
    Stable<"device", "memrefs only",
      "a parallel loop of work-groups, or the dispatch as it was"> {
  let summary = "Independent loops and copies to a parallel loop of work-groups, on a CPU";
  let description = [{
    What `bp-distribute` leaves as one work-group: a nest of loops whose
    iterations are independent (`bp.independent`), as top_k and cumulative ops
    are, and copies to places that do not overlap, as a concat is. A work-group
    has some of the iterations, or a part of each copy. Every other dispatch is
    left alone.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::linalg::LinalgDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect"];
}

def GpuContractPass : Pass<"bp-gpu-contract", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "a parallel loop of work-groups, or the dispatch as it was"> {
  let summary = "Matrix products and convolutions to tiles of work-groups, on a GPU";
  let description = [{
    A matrix product or a convolution, with what its operands are
    made of and elementwise ops after it, becomes a parallel loop of work-groups
    that share tiles. So does an attention: two products with ops on rows between
    them, whose scores stay in memory of the work-group. Every other dispatch is
    left alone, and small products. This
    and the other passes for GPUs read `group_threads`, `subgroup_sizes`,
    `shared_bytes`, `private_bytes`, `grid_width`, `tile_sizes` and
    `matrix_shapes` of the target.
  }];
  let options = [
    Option<"fusesProducts", "fused-products", "bool", "false",
           "a product and a sum of floats are one instruction with one "
           "rounding, where the target's numerics allow it">,
    Option<"matrixUnit", "matrix-unit", "std::string", "",
           "the dialect whose matrix instructions multiply narrow factors, "
           "those of the shapes that the target states; empty: none">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
    "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def GpuRowsPass : Pass<"bp-gpu-rows", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "a parallel loop of work-groups, or the dispatch as it was"> {
  let summary = "Rows with sums over themselves to work-groups, on a GPU";
  let description = [{
    A dispatch whose results need sums, maxima and the like over rows of a
    tensor and the same rows again, like softmax and normalisation, becomes a
    parallel loop of work-groups. An invocation keeps up to 32 elements. A row
    of so many for each invocation of a subgroup is for one, longer ones are for
    a work-group of up to `max_group_threads`, which reads a row once as long as
    that is enough. Left alone are all other dispatches, and rows whose length
    is not known.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def GpuReducePass : Pass<"bp-gpu-reduce", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "a parallel loop of work-groups, or the dispatch as it was"> {
  let summary = "Long sums and the like to work-groups, on a GPU";
  let description = [{
    Few long sums, minima and the like, with what they are made of
    and elementwise ops after them, become a parallel loop of work-groups. A sum
    whose count is not known may be long. Left alone are every other dispatch,
    sums of fewer than 512 elements, and from 64 on those whose elements are not
    contiguous.
  }];
  let options = [
    Option<"maxSums", "most-sums", "int64_t", "64",
           "dispatches with more sums are left alone">,
    Option<"subgroups", "subgroups", "bool", "false",
           "invocations of a subgroup may exchange values">,
    Option<"clusterSums", "cluster-sums", "int64_t", "0",
           "sums of so many contiguous elements, if there are more than "
           "most-sums or an unknown number, are for a cluster each; 0: none">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

def PerElementPass : Pass<"bp-per-element", "mlir::ModuleOp">,
    Stable<"tile", "what bp-bind-buffers gives",
      "parallel loops over elements"> {
  let summary = "A dispatch to parallel loops that compute an element each, on a GPU";
  let description = [{
    A parallel loop for each shape among the results, whose
    iterations compute one element from the inputs alone. Dispatches with loops
    are left alone: those that carry tensors (`cumulative`, `top_k`, `scatter`),
    those that the two passes above wrote.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def BufferizePass : Pass<"bp-bufferize", "mlir::ModuleOp">,
    Stable<"bufferize", "what stage `tile` leaves",
      "memrefs only"> {
  let summary = "Tensors of a dispatch to memrefs, destinations in place";
  let description = [{
    Tensors become memrefs in place, pads a fill and a copy.
  }];
  let dependentDialects = [
    "mlir::bufferization::BufferizationDialect", "mlir::linalg::LinalgDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def VectorizePass : Pass<"bp-vectorize", "mlir::ModuleOp">,
    Stable<"device", "linalg on memrefs",
      "loops over vectors; what has effects or loops as it was"> {
  let summary = "linalg on memrefs to vector loops with masked remainders, on a CPU";
  let description = [{
    linalg ops on memrefs become loops over vectors with masked
    remainders; the marks of the lowering (`sdk/lower/Marks.h`) are used here.
    Reductions whose lanes are results compute a block of rows and vectors at a
    time. Operands in another order than the results are transposed in registers.
    Ops with effects or loops in their bodies are left alone. Independent loops
    over lines of elements, those of a cumulative op, run on vectors where the
    lines lie side by side.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "width of a vector register">,
    Option<"scalable", "scalable", "bool", "false",
           "vector-bits is the least width; the machine's is known at run time">,
    Option<"comparesMaxima", "compare-maxima", "bool", "false",
           "the larger of two numbers is one instruction, but not where NaN "
           "wins">,
    Option<"permute", "permute", "std::string", "",
           "LLVM's intrinsic that gives the lanes of a vector of i32 at the "
           "positions in another one, such as llvm.x86.avx2.permd; without it "
           "lanes in any order are gathers">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::LLVM::LLVMDialect", "mlir::math::MathDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def ToCpuEntryPass : Pass<"bp-to-cpu-entry", "mlir::ModuleOp">,
    Stable<"device", "a dispatch on memrefs",
      "a function of type bp_cpu_entry_t, and bp.entry"> {
  let summary = "A bufferised dispatch to a function of type bp_cpu_entry_t";
  let description = [{
    The function gets the signature of `bp_cpu_entry_t`, the
    parallel loop becomes the grid, allocations become ranges of the workspace.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def ToLlvmPass : Pass<"bp-to-llvm", "mlir::ModuleOp">,
    Stable<"device", "what bp-to-cpu-entry gives",
      "LLVM's dialect"> {
  let summary = "Loops, vectors and memrefs to LLVM's dialect";
  let description = [{
    What is left of linalg becomes scalar loops, then everything
    LLVM's dialect.
  }];
  let options = [
    Option<"fewRegisters", "few-registers", "bool", "false",
           "the machine has 16 vector registers of 256 bits and broadcasts "
           "constants by an instruction: long loops keep them in memory, and do two iterations "
           "at a time">
  ];
}

def ToGpuEntryPass : Pass<"bp-to-gpu-entry", "mlir::ModuleOp">,
    Stable<"device", "a dispatch on memrefs",
      "the code of one invocation on linear buffers, and bp.entry"> {
  let summary = "A bufferised dispatch to the code of one invocation";
  let description = [{
    Parallel loops are distributed over the grid, buffers become
    linear, inner loops are unrolled.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect"];
}

def ToSpirvPass : Pass<"bp-to-spirv", "mlir::ModuleOp">,
    Stable<"device", "what bp-to-gpu-entry gives",
      "one spirv.module"> {
  let summary = "The code of one invocation to a SPIR-V module";
  let description = [{
    Leaves a `spirv.module` with one entry point for Vulkan.
  }];
  let options = [
    Option<"subgroups", "subgroups", "bool", "false",
           "invocations of a subgroup may exchange values">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::spirv::SPIRVDialect"];
}

def ToNvvmPass : Pass<"bp-to-nvvm", "mlir::ModuleOp">,
    Stable<"device", "what bp-to-gpu-entry gives",
      "a CUDA kernel in LLVM's dialect"> {
  let summary = "The code of one invocation to a CUDA kernel";
  let description = [{
    Leaves an `llvm.func` that NVIDIA's GPUs can launch: a pointer for each
    binding, the error word, scratch and the constants are its parameters. It
    calls no library: what `bp-expand-math` leaves are instructions.
  }];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::cf::ControlFlowDialect", "mlir::LLVM::LLVMDialect",
    "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect"];
}

#endif // BACKPLANE_EMIT_COMMON_PASSES
