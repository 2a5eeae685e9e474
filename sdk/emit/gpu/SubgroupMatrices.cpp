// SPDX-License-Identifier: Apache-2.0
//
// Ops `gpu.subgroup_mma_*`, with factors of f16. The dialect has no matrices of
// bf16, and where they become SPIR-V nobody tells which bytes are signed.
#include "sdk/emit/gpu/SubgroupMatrices.h"

#include "sdk/emit/gpu/MatrixUnit.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace backplane {
namespace {

using Builder = ImplicitLocOpBuilder;

struct SubgroupMatrices : OpaqueMatrices {
  ArrayRef<MatrixInstruction> instructions() const override;
  Value load(Builder &b, const MatrixInstruction &instruction, Factor factor,
             const MatrixLines &lines) const override;
  Value fill(Builder &b, const MatrixInstruction &instruction,
             Value number) const override;
  Value multiply(Builder &b, Value left, Value right,
                 Value sums) const override;
  void store(Builder &b, Value sums, const MatrixLines &lines) const override;
};

struct SubgroupMatrixUnit : MatrixUnit {
  using MatrixUnit::MatrixUnit;

  ArrayRef<MatrixInstruction> instructions() const override { return {}; }
  SmallVector<Value> multiply(Builder &, const MatrixInstruction &, ValueRange,
                              ValueRange, ValueRange) const override {
    llvm_unreachable("no instruction has fragments");
  }
  const OpaqueMatrices *opaqueMatrices() const override { return &matrices; }

  SubgroupMatrices matrices;
};

} // namespace

ArrayRef<MatrixInstruction> SubgroupMatrices::instructions() const {
  using enum MatrixElement;
  static const MatrixInstruction table[] = {
      {.a = F16, .b = F16, .sum = F32, .m = 16, .n = 16, .k = 16}};
  return table;
}

/// Where lines are columns, an op transposes what it loads.
static UnitAttr transposes(Builder &b, const MatrixLines &lines) {
  return lines.ofRows ? nullptr : b.getUnitAttr();
}

Value SubgroupMatrices::load(Builder &b, const MatrixInstruction &i,
                             Factor factor, const MatrixLines &lines) const {
  bool isA = factor == Factor::A;
  auto type = gpu::MMAMatrixType::get({isA ? i.m : i.k, isA ? i.k : i.n},
                                      b.getF16Type(), isA ? "AOp" : "BOp");
  return gpu::SubgroupMmaLoadMatrixOp::create(
      b, type, lines.memory, lines.first, b.getIndexAttr(lines.distance),
      transposes(b, lines));
}

Value SubgroupMatrices::fill(Builder &b, const MatrixInstruction &i,
                             Value number) const {
  auto type = gpu::MMAMatrixType::get({i.m, i.n}, number.getType(), "COp");
  return gpu::SubgroupMmaConstantMatrixOp::create(b, type, number);
}

Value SubgroupMatrices::multiply(Builder &b, Value left, Value right,
                                 Value sums) const {
  return gpu::SubgroupMmaComputeOp::create(b, sums.getType(), left, right, sums,
                                           nullptr, nullptr);
}

void SubgroupMatrices::store(Builder &b, Value sums,
                             const MatrixLines &lines) const {
  gpu::SubgroupMmaStoreMatrixOp::create(b, sums, lines.memory, lines.first,
                                        b.getIndexAttr(lines.distance),
                                        transposes(b, lines));
}

void registerSubgroupMatrixUnit(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, gpu::GPUDialect *dialect) {
    dialect->addInterfaces<SubgroupMatrixUnit>();
  });
}

} // namespace backplane
