// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/test/Form.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mlir;

namespace {

constexpr int64_t inner = 3;

/// A product of some rows and a weight that has the numbers 0, 1, …, or of a
/// batch of them.
class Fixture : public FixtureBase {
public:
  Fixture(int64_t rows, int64_t columns, bool isTransposed, int64_t batch = 0)
      : rows(rows), columns(columns), batch(batch), isTransposed(isTransposed) {
    std::vector<float> numbers(
        size_t(inner * columns * std::max<int64_t>(batch, 1)));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = float(i);
    backplane::Bytes bytes(numbers.size() * sizeof(float));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    backplane::Dims dims{inner, columns};
    if (isTransposed)
      std::swap(dims[0], dims[1]);
    if (batch)
      dims.insert(dims.begin(), batch);
    id = *pool.add({backplane::DType::F32, dims}, std::move(bytes));
    module = parseSourceString<ModuleOp>(text(), &context);
  }

  /// The weight that is read, if it is another one than at first.
  const backplane::Weight *arranged() {
    std::string read;
    module->walk([&](bp::WeightOp op) { read = op.getId().str(); });
    return read == id ? nullptr : pool.find(read);
  }

  int64_t rows, columns, batch;
  bool isTransposed;

private:
  std::string tensor(int64_t first, int64_t second) const {
    return "tensor<" + (batch ? std::to_string(batch) + "x" : "") +
           std::to_string(first) + "x" + std::to_string(second) + "xf32>";
  }
  std::string text() const {
    int64_t first = inner, second = columns;
    if (isTransposed)
      std::swap(first, second);
    std::string weight = tensor(first, second), x = tensor(rows, inner),
                result = tensor(rows, columns);
    return "func.func @main(%x: " + x + ") -> " + result +
           " {\n  %w = bp.weight {id = \"" + id +
           "\", dtype = f32, dims = #bp.dims<[\"" +
           (batch ? std::to_string(batch) + "\", \"" : "") +
           std::to_string(first) + "\", \"" + std::to_string(second) +
           "\"]>} : () -> " + weight + "\n  %r = bp.matmul %x, %w " +
           (isTransposed ? "{transpose_b = true} " : "") + ": (" + x + ", " +
           weight + ") -> " + result + "\n  return %r : " + result + "\n}\n";
  }
};

/// Expects element (k, c) of the weight where blocks of 16 columns have it, and
/// zeros in columns that were added.
void expectBlocks(const Fixture &f, const backplane::Weight &weight) {
  int64_t blocks = (f.columns + 15) / 16;
  backplane::Dims dims{blocks, inner, 16};
  if (f.batch)
    dims.insert(dims.begin(), f.batch);
  ASSERT_EQ(weight.type.dims, dims);
  for (int64_t i = 0; i < std::max<int64_t>(f.batch, 1); ++i)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t c = 0; c < blocks * 16; ++c) {
        float number;
        int64_t place = ((i * blocks + c / 16) * inner + k) * 16 + c % 16;
        std::memcpy(&number, weight.data.data() + place * 4, 4);
        int64_t before = f.isTransposed ? c * inner + k : k * f.columns + c;
        before += i * inner * f.columns;
        EXPECT_EQ(number, c < f.columns ? float(before) : 0.0f);
      }
}

} // namespace

TEST(ArrangeColumns, StoresBlocksOfColumns) {
  for (auto [rows, isTransposed] :
       {std::pair(4, false), {4, true}, {17, false}, {500, true}}) {
    Fixture f(rows, 48, isTransposed);
    ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS)) << f.print();
    // One dispatch, with what makes the weight of the blocks.
    EXPECT_EQ(f.count("call"), 1u) << f.print();
    EXPECT_EQ(f.count("transpose"), 1u) << f.print();
    ASSERT_NE(f.arranged(), nullptr);
    expectBlocks(f, *f.arranged());
  }
}

TEST(ArrangeColumns, LeavesOthersAlone) {
  Fixture one(1, 48, false), odd(4, 40, true), other(4, 48, true),
      tall(17, 16, false);
  ASSERT_TRUE(one.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(odd.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(tall.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(other.form(BP_FUSE_EPILOGUE));
  for (Fixture *f : {&one, &odd, &other, &tall})
    EXPECT_EQ(f->arranged(), nullptr) << f->print();
}

TEST(ArrangeColumns, AddsColumnsForFewRows) {
  for (auto [rows, isTransposed] :
       {std::pair(7, false), {7, true}, {1, true}, {64, false}}) {
    Fixture f(rows, 130, isTransposed);
    ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS)) << f.print();
    EXPECT_EQ(f.count("slice"), 1u) << f.print();
    ASSERT_NE(f.arranged(), nullptr);
    expectBlocks(f, *f.arranged());
  }
  Fixture many(65, 130, false), kept(7, 130, false);
  ASSERT_TRUE(many.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(kept.form(BP_FUSE_WEIGHTS, true));
  for (Fixture *f : {&many, &kept}) {
    EXPECT_EQ(f->count("slice"), 0u) << f->print();
    EXPECT_EQ(f->arranged(), nullptr) << f->print();
  }
}

TEST(ArrangeColumns, TakesOneRowOfATransposedWeight) {
  Fixture f(1, 32, true);
  ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS));
  ASSERT_NE(f.arranged(), nullptr);
  expectBlocks(f, *f.arranged());
}

// Each weight of a batch has blocks of its own, and no columns are added.
TEST(ArrangeColumns, StoresBlocksOfABatch) {
  for (auto [rows, isTransposed] :
       {std::pair(4, false), {4, true}, {1, true}}) {
    Fixture f(rows, 48, isTransposed, 5);
    ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS)) << f.print();
    EXPECT_EQ(f.count("call"), 1u) << f.print();
    ASSERT_NE(f.arranged(), nullptr);
    expectBlocks(f, *f.arranged());
  }
  Fixture odd(7, 130, true, 5), row(1, 48, false, 5), one(7, 48, true, 1);
  ASSERT_TRUE(odd.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(row.form(BP_FUSE_WEIGHTS));
  ASSERT_TRUE(one.form(BP_FUSE_WEIGHTS));
  for (Fixture *f : {&odd, &row, &one})
    EXPECT_EQ(f->arranged(), nullptr) << f->print();
}

// The blocks are a dispatch of their own, of the weight as it is.
TEST(ArrangeColumns, ComputesBlocksOfAWeightThatIsKept) {
  for (bool isTransposed : {false, true}) {
    Fixture f(17, 48, isTransposed);
    ASSERT_TRUE(f.form(BP_FUSE_WEIGHTS, true)) << f.print();
    EXPECT_EQ(f.count("call"), 2u) << f.print();
    EXPECT_EQ(f.count("transpose"), 2u) << f.print();
    EXPECT_EQ(f.arranged(), nullptr) << f.print();
    EXPECT_EQ(f.pool.all().size(), 1u);
  }
}

namespace {

constexpr int64_t bytesOfColumn = 12, byteColumns = 32;

/// A product of bytes that are widened.
std::string multiplyBytes(const std::string &id, bool isTransposed) {
  std::string first = "12", second = "32";
  if (isTransposed)
    std::swap(first, second);
  std::string weight = "tensor<" + first + "x" + second;
  return "func.func @main(%b: tensor<4x12xui8>) -> tensor<4x32xi32> {\n"
         "  %w = bp.weight {id = \"" +
         id + "\", dtype = i8, dims = #bp.dims<[\"" + first + "\", \"" +
         second + "\"]>} : () -> " + weight +
         "xi8>\n"
         "  %x = bp.cast %b {dtype = i32} : (tensor<4x12xui8>) -> "
         "tensor<4x12xi32>\n"
         "  %v = bp.cast %w {dtype = i32} : (" +
         weight + "xi8>) -> " + weight + "xi32>\n  %r = bp.matmul %x, %v " +
         (isTransposed ? "{transpose_b = true} " : "") +
         ": (tensor<4x12xi32>, " + weight +
         "xi32>) -> tensor<4x32xi32>\n"
         "  return %r : tensor<4x32xi32>\n}\n";
}

} // namespace

// Bytes that a product widens are stored likewise, and widened behind; those of
// a column that are multiplied at once are neighbours.
TEST(ArrangeColumns, StoresBlocksOfBytes) {
  constexpr int64_t k = bytesOfColumn;
  for (auto [bits, atOnce] :
       {std::pair(0u, 1), {BP_FUSE_BYTE_PAIRS, 2}, {BP_FUSE_MIXED_SIGNS, 4}})
    for (bool isTransposed : {false, true}) {
      backplane::Dims dims{k, byteColumns};
      if (isTransposed)
        std::swap(dims[0], dims[1]);
      backplane::Weight weight =
          arrangedBytes(dims, bits, [&](const std::string &id) {
            return multiplyBytes(id, isTransposed);
          });
      EXPECT_EQ(weight.type.dims,
                atOnce == 1 ? (backplane::Dims{2, k, 16})
                            : (backplane::Dims{2, k / atOnce, 16, atOnce}));
      for (int64_t i = 0; i < k; ++i)
        for (int64_t c = 0; c < byteColumns; ++c) {
          int64_t step = c / 16 * (k / atOnce) + i / atOnce;
          int64_t before = isTransposed ? c * k + i : i * byteColumns + c;
          EXPECT_EQ(
              weight.data[size_t((step * 16 + c % 16) * atOnce + i % atOnce)],
              uint8_t(before % 251));
        }
    }
}
