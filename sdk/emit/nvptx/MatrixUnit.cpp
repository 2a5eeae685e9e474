// SPDX-License-Identifier: Apache-2.0
//
// The table is that of "Matrix Fragments for mma.m16n8k8", "for mma.m16n8k16"
// and "for mma.m16n8k32" in NVIDIA's description of PTX.
#include "sdk/emit/nvptx/MatrixUnit.h"

#include "sdk/emit/nvptx/BlockCopies.h"
#include "sdk/emit/nvptx/MatrixValues.h"
#include "sdk/emit/nvptx/Patterns.h"
#include "sdk/emit/nvptx/WarpGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <numbers>

using namespace mlir;

namespace backplane {
namespace {

constexpr MatrixPlace halfLanes[] = {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
constexpr MatrixPlace halfA[] = {{0, 1}, {8, 0}, {0, 8}};
constexpr MatrixPlace halfB[] = {{0, 1}, {0, 8}};
constexpr MatrixPlace singleLanes[] = {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}};
constexpr MatrixPlace singleA[] = {{8, 0}, {0, 4}};
constexpr MatrixPlace singleB[] = {{0, 4}};
constexpr MatrixPlace byteLanes[] = {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}};
constexpr MatrixPlace byteA[] = {{0, 1}, {0, 2}, {8, 0}, {0, 16}};
constexpr MatrixPlace byteB[] = {{0, 1}, {0, 2}, {0, 16}};
constexpr MatrixPlace sums[] = {{0, 1}, {8, 0}};

/// m16n8 with this k.
MatrixInstruction instructionOf(MatrixElement a, MatrixElement b,
                                MatrixElement sum, int64_t k,
                                FragmentLayout left, FragmentLayout right) {
  return {.a = a,
          .b = b,
          .sum = sum,
          .m = 16,
          .n = 8,
          .k = k,
          .layoutA = left,
          .layoutB = right,
          .layoutC = {halfLanes, sums}};
}

MatrixInstruction ofHalves(MatrixElement element) {
  return instructionOf(element, element, MatrixElement::F32, 16,
                       {halfLanes, halfA}, {halfLanes, halfB});
}

MatrixInstruction ofSingles() {
  return instructionOf(MatrixElement::TF32, MatrixElement::TF32,
                       MatrixElement::F32, 8, {singleLanes, singleA},
                       {singleLanes, singleB});
}

MatrixInstruction ofBytes(MatrixElement a, MatrixElement b) {
  return instructionOf(a, b, MatrixElement::S32, 32, {byteLanes, byteA},
                       {byteLanes, byteB});
}

using Builder = ImplicitLocOpBuilder;
using Values = SmallVector<Value>;

struct NvptxLineLoads : LineLoads {
  Values load(Builder &b, Value address, int64_t count,
              bool transposed) const override;
};

struct NvptxLineCopies : LineCopies {
  void copy(Builder &b, Value to, Value from, Value bytes) const override;
  void endGroup(Builder &b) const override {
    NVVM::CpAsyncCommitGroupOp::create(b);
  }
  void waitForGroups(Builder &b, int64_t open) const override {
    NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(open));
  }
};

struct NvptxMatrixUnit : MatrixUnit {
  using MatrixUnit::MatrixUnit;

  ArrayRef<MatrixInstruction> instructions() const override;
  Values multiply(Builder &b, const MatrixInstruction &instruction,
                  ValueRange wordsA, ValueRange wordsB,
                  ValueRange sums) const override;
  Value pack(Builder &b, Type half, Value first, Value second) const override;
  std::pair<Value, Value> unpack(Builder &b, Type half,
                                 Value word) const override;
  Value exp(Builder &b, Value x, double scale, Value shift) const override;
  Value shift(Builder &b, Value top, double scale,
              int64_t exponent) const override;
  Value shiftBy(Builder &b, Value difference) const override;
  const LineLoads *lineLoads() const override { return &loads; }
  const LineCopies *lineCopies() const override { return &copies; }
  const MemoryProducts *memoryProducts() const override {
    return &warpGroupProducts();
  }
  const BlockCopies *blockCopies() const override { return &tensorCopies(); }

  NvptxLineLoads loads;
  NvptxLineCopies copies;
};

} // namespace

NVVM::MMATypes typeOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
    return NVVM::MMATypes::f16;
  case MatrixElement::BF16:
    return NVVM::MMATypes::bf16;
  case MatrixElement::TF32:
    return NVVM::MMATypes::tf32;
  case MatrixElement::S8:
    return NVVM::MMATypes::s8;
  case MatrixElement::U8:
    return NVVM::MMATypes::u8;
  case MatrixElement::F32:
    return NVVM::MMATypes::f32;
  case MatrixElement::S32:
    return NVVM::MMATypes::s32;
  }
  llvm_unreachable("an element of no kind");
}

SmallVector<Value> partsOf(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<LLVM::LLVMStructType>(value.getType());
  if (!type)
    return {value};
  SmallVector<Value> parts;
  for (int64_t i = 0; i < int64_t(type.getBody().size()); ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, value, i));
  return parts;
}

ArrayRef<MatrixInstruction> NvptxMatrixUnit::instructions() const {
  using enum MatrixElement;
  static const MatrixInstruction table[] = {
      ofHalves(F16),   ofHalves(BF16),  ofSingles(),    ofBytes(S8, S8),
      ofBytes(S8, U8), ofBytes(U8, S8), ofBytes(U8, U8)};
  return table;
}

Value word(ImplicitLocOpBuilder &b, int64_t value) {
  return LLVM::ConstantOp::create(b, b.getI32Type(),
                                  b.getI32IntegerAttr(int32_t(value)));
}

Value pointerTo(ImplicitLocOpBuilder &b, Value address, NvptxSpace space) {
  Value number = arith::IndexCastUIOp::create(b, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), space), number);
}

/// Sums of integers wrap, as everywhere.
SmallVector<Value> NvptxMatrixUnit::multiply(Builder &b,
                                             const MatrixInstruction &i,
                                             ValueRange wordsA,
                                             ValueRange wordsB,
                                             ValueRange sums) const {
  auto toFactor = [&](Value word) -> Value {
    if (i.a == MatrixElement::TF32)
      return NVVM::ConvertFloatToTF32Op::create(
          b, b.getI32Type(), LLVM::BitcastOp::create(b, b.getF32Type(), word),
          NVVM::FPRoundingMode::RNA);
    auto pair = VectorType::get({2}, b.getF16Type());
    return i.a == MatrixElement::F16 ? LLVM::BitcastOp::create(b, pair, word)
                                     : word;
  };
  Values a = llvm::map_to_vector(wordsA, toFactor);
  Values factors = llvm::map_to_vector(wordsB, toFactor);
  bool whole = i.sum == MatrixElement::S32;
  SmallVector<Type> types(sums.size(), sums.front().getType());
  auto overflow =
      whole ? std::optional(NVVM::MMAIntOverflow::wrapped) : std::nullopt;
  Value result = NVVM::MmaOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), types), a, factors,
      sums, ArrayRef<int64_t>{i.m, i.n, i.k}, std::nullopt, overflow,
      std::array{typeOf(i.a), typeOf(i.b)},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return partsOf(b, result);
}

/// One conversion makes both halves of a word. LLVM would make it two where a
/// half is read again.
Value NvptxMatrixUnit::pack(Builder &b, Type half, Value first,
                            Value second) const {
  StringRef text = half.isF16() ? "cvt.rn.f16x2.f32 $0, $2, $1;"
                                : "cvt.rn.bf16x2.f32 $0, $2, $1;";
  auto assembly = LLVM::InlineAsmOp::create(
      b, b.getLoc(), b.getI32Type(), ValueRange{first, second}, text, "=r,f,f",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return assembly.getResult(0);
}

std::pair<Value, Value> NvptxMatrixUnit::unpack(Builder &b, Type half,
                                                Value word) const {
  Value pair = LLVM::BitcastOp::create(b, VectorType::get({2}, half), word);
  auto number = [&](int64_t i) -> Value {
    Value part = LLVM::ExtractElementOp::create(b, pair, backplane::word(b, i));
    return LLVM::FPExtOp::create(b, b.getF32Type(), part);
  };
  return {number(0), number(1)};
}

/// ex2.approx is within 2^-22. Subnormal powers are zeros.
/* ---- Powers: shifts are powers of two ---- */

static Value number(Builder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value NvptxMatrixUnit::exp(Builder &b, Value x, double scale,
                           Value shift) const {
  Value of2 = number(b, scale / std::numbers::ln2);
  return shiftBy(b, LLVM::FMAOp::create(b, x, of2, shift));
}

Value NvptxMatrixUnit::shift(Builder &b, Value top, double scale,
                             int64_t exponent) const {
  Value of2 = number(b, -scale / std::numbers::ln2);
  return LLVM::FMAOp::create(b, top, of2, number(b, double(exponent)));
}

Value NvptxMatrixUnit::shiftBy(Builder &b, Value difference) const {
  return LLVM::CallIntrinsicOp::create(
             b, b.getF32Type(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz"),
             difference)
      .getResults();
}

SmallVector<Value> NvptxLineLoads::load(Builder &b, Value address,
                                        int64_t count, bool transposed) const {
  Type word = b.getI32Type();
  SmallVector<Type> types(size_t(count), word);
  Type type = count == 1
                  ? word
                  : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value words = NVVM::LdMatrixOp::create(
      b, type, pointerTo(b, address, nvptxShared), uint32_t(count),
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  return partsOf(b, words);
}

void NvptxLineCopies::copy(Builder &b, Value to, Value from,
                           Value bytes) const {
  Value count =
      bytes ? arith::IndexCastUIOp::create(b, b.getI32Type(), bytes).getResult()
            : Value();
  NVVM::CpAsyncOp::create(
      b, pointerTo(b, to, nvptxShared), pointerTo(b, from, nvptxGlobal),
      uint32_t(LineLoads::kBytes), NVVM::LoadCacheModifierKind::CG, count);
}

void registerNvptxMatrixUnit(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, NVVM::NVVMDialect *dialect) {
    dialect->addInterfaces<NvptxMatrixUnit>();
  });
}

} // namespace backplane
