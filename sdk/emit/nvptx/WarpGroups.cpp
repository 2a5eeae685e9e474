// SPDX-License-Identifier: Apache-2.0
//
// Layouts, descriptors and the order of instructions are those of "Asynchronous
// Warpgroup Level Matrix Instructions" in NVIDIA's description of PTX.
//
// Products are inline assembly whose sums are tied to the registers that they
// had before. Nothing but another product may use these between the fence of
// beginGroup() and the wait of finish(), which are tied to them, too.
#include "sdk/emit/nvptx/WarpGroups.h"
#include "sdk/emit/nvptx/MatrixValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace backplane {
namespace {

using Builder = ImplicitLocOpBuilder;
using Values = SmallVector<Value>;

constexpr int64_t rows = 64;
// Lane: a quarter of a piece of a row, a row of eight, a warp. Sums: a pair,
// eight rows below, and so many pieces of eight columns as there are.
constexpr MatrixPlace lanes[] = {{0, 2}, {0, 4},  {1, 0}, {2, 0},
                                 {4, 0}, {16, 0}, {32, 0}};
constexpr MatrixPlace halfA[] = {{0, 1}, {8, 0}, {0, 8}};
constexpr MatrixPlace sums[] = {{0, 1},  {8, 0},  {0, 8},  {0, 16},
                                {0, 32}, {0, 64}, {0, 128}};

struct WarpGroupProducts : MemoryProducts {
  ArrayRef<MatrixInstruction> instructions() const override;
  void publish(Builder &b) const override;
  Values beginGroup(Builder &b, ValueRange values) const override;
  Values multiply(Builder &b, const MatrixInstruction &instruction,
                  const MatrixInMemory &left, const MatrixInMemory &right,
                  ValueRange sums) const override;
  Values multiply(Builder &b, const MatrixInstruction &instruction,
                  ValueRange wordsA, const MatrixInMemory &right,
                  ValueRange sums) const override;
  void endGroup(Builder &b) const override {
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
  }
  void waitForGroups(Builder &b, int64_t open) const override {
    NVVM::WgmmaWaitGroupSyncOp::create(b, uint64_t(open));
  }
  Values finish(Builder &b, ValueRange values, int64_t open) const override;
};

} // namespace

static MatrixInstruction ofColumns(MatrixElement a, MatrixElement b,
                                   int64_t n) {
  constexpr int64_t kBytes = 32, piece = 8;
  bool whole = bytesOf(a) == 1;
  size_t bits = 2 + llvm::Log2_64(uint64_t(n / piece));
  return {.a = a,
          .b = b,
          .sum = whole ? MatrixElement::S32 : MatrixElement::F32,
          .m = rows,
          .n = n,
          .k = kBytes / bytesOf(a),
          .layoutA = {lanes, bytesOf(a) == 2 ? ArrayRef(halfA)
                                             : ArrayRef<MatrixPlace>()},
          .layoutC = {lanes, ArrayRef(sums).take_front(bits)}};
}

/// The widest first: they read the fewest bytes for each product.
ArrayRef<MatrixInstruction> WarpGroupProducts::instructions() const {
  using enum MatrixElement;
  static const auto table = [] {
    SmallVector<MatrixInstruction> all;
    for (int64_t n : {256, 128, 64})
      for (auto [a, b] :
           {std::pair(F16, F16), std::pair(BF16, BF16), std::pair(S8, S8),
            std::pair(S8, U8), std::pair(U8, S8), std::pair(U8, U8)})
        all.push_back(ofColumns(a, b, n));
    return all;
  }();
  return table;
}

void WarpGroupProducts::publish(Builder &b) const {
  auto shared =
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, shared);
}

/// The matrix descriptor: lines of 128 bytes, swizzled. Fields are in units of
/// 16 bytes.
static Value describe(Builder &b, const MatrixInMemory &matrix) {
  constexpr int64_t unit = 16, eightLines = 1024;
  constexpr uint64_t fieldBits = 14, leadingAt = 16, strideAt = 32,
                     swizzle128 = uint64_t(1) << 62;
  uint64_t fields = swizzle128 |
                    uint64_t(matrix.panelBytes / unit) << leadingAt |
                    uint64_t(eightLines / unit) << strideAt;
  Type type = b.getI64Type();
  auto constant = [&](uint64_t value) {
    return LLVM::ConstantOp::create(b, type,
                                    b.getI64IntegerAttr(int64_t(value)));
  };
  Value address = arith::IndexCastUIOp::create(b, type, matrix.address);
  address = LLVM::LShrOp::create(b, address, constant(4));
  address =
      LLVM::AndOp::create(b, address, constant((uint64_t(1) << fieldBits) - 1));
  return LLVM::OrOp::create(b, address, constant(fields));
}

/// "$0, $1, ..." of so many operands.
static std::string operandsOf(size_t first, size_t count) {
  return llvm::join(
      llvm::map_range(llvm::seq(first, first + count),
                      [](size_t i) { return "$" + Twine(i).str(); }),
      ", ");
}

/// Assembly that changes values; `$N` of others follow theirs.
static Values withValues(Builder &b, const Twine &text, ValueRange others,
                         StringRef otherConstraints, ValueRange values) {
  std::string constraints;
  for (Value value : values)
    constraints += value.getType().isF32() ? "=f," : "=r,";
  constraints += otherConstraints;
  for (size_t i = 0; i < values.size(); ++i)
    constraints += (constraints.back() == ',' ? "" : ",") + std::to_string(i);
  Values operands(others);
  llvm::append_range(operands, values);
  auto assembly = LLVM::InlineAsmOp::create(
      b, b.getLoc(),
      LLVM::LLVMStructType::getLiteral(b.getContext(),
                                       llvm::to_vector(values.getTypes())),
      operands, text.str(), constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  return partsOf(b, assembly.getResult(0));
}

/// `left` is how the assembly names A, `modes` what follows the predicate.
/// Sums of integers wrap, as everywhere.
static Values product(Builder &b, const MatrixInstruction &i, StringRef left,
                      StringRef modes, ValueRange factors,
                      StringRef constraints, ValueRange sums) {
  auto name = [](MatrixElement element) {
    return NVVM::stringifyMMATypes(typeOf(element));
  };
  size_t count = sums.size();
  std::string text =
      ("{ .reg .pred p; setp.ne.b32 p, 1, 0; "
       "wgmma.mma_async.sync.aligned.m" +
       Twine(i.m) + "n" + Twine(i.n) + "k" + Twine(i.k) + "." + name(i.sum) +
       "." + name(i.a) + "." + name(i.b) + " {" + operandsOf(0, count) + "}, " +
       left + ", $" + Twine(count + factors.size() - 1) + ", p" + modes + "; }")
          .str();
  return withValues(b, text, factors, constraints, sums);
}

/// Factors of bytes have lines along k.
Values WarpGroupProducts::multiply(Builder &b, const MatrixInstruction &i,
                                   const MatrixInMemory &left,
                                   const MatrixInMemory &right,
                                   ValueRange sums) const {
  std::string modes;
  if (i.sum == MatrixElement::F32)
    modes = std::string(", 1, 1, ") + (left.alongK ? "0" : "1") +
            (right.alongK ? ", 0" : ", 1");
  Value descriptors[] = {describe(b, left), describe(b, right)};
  return product(b, i, operandsOf(sums.size(), 1), modes, descriptors, "l,l",
                 sums);
}

Values WarpGroupProducts::multiply(Builder &b, const MatrixInstruction &i,
                                   ValueRange wordsA,
                                   const MatrixInMemory &right,
                                   ValueRange sums) const {
  std::string modes = std::string(", 1, 1, ") + (right.alongK ? "0" : "1");
  std::string left = "{" + operandsOf(sums.size(), wordsA.size()) + "}";
  Values factors(wordsA);
  factors.push_back(describe(b, right));
  std::string constraints;
  for (size_t word = 0; word < wordsA.size(); ++word)
    constraints += "r,";
  return product(b, i, left, modes, factors, constraints + "l", sums);
}

Values WarpGroupProducts::beginGroup(Builder &b, ValueRange values) const {
  return withValues(b, "wgmma.fence.sync.aligned;", {}, "", values);
}

Values WarpGroupProducts::finish(Builder &b, ValueRange values,
                                 int64_t open) const {
  return withValues(b, "wgmma.wait_group.sync.aligned " + Twine(open) + ";", {},
                    "", values);
}

const MemoryProducts &warpGroupProducts() {
  static const WarpGroupProducts products;
  return products;
}

} // namespace backplane
