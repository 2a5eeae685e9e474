// SPDX-License-Identifier: Apache-2.0
//
// MatrixSample.h: a module with cooperative matrices, for tests and fuzzers.
#ifndef BACKPLANE_VULKAN_TEST_MATRIXSAMPLE_H
#define BACKPLANE_VULKAN_TEST_MATRIXSAMPLE_H

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

namespace backplane::vulkan::matrixsample {

/// Ids of the module below.
enum Id : uint32_t {
  Main = 1,
  Void,
  Function,
  Uint,
  Half,
  Float,
  Zero,
  One,
  Two,
  Three,
  Sixteen,
  Count,
  Line,
  LinePointer,
  Memory,
  Pointer,
  TypeA,
  TypeB,
  TypeSums,
  Number,
  Label,
  Address,
  A,
  B,
  Sums,
  Product,
  Bound
};

/// What a test changes of the module.
struct Change {
  uint32_t right = B, layout = One, scope = Three, opcode = 4459;
};

/// A subgroup multiplies what lies in memory of its work-group.
inline std::vector<uint32_t> module(Change change = {}) {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, Bound, 0};
  auto add = [&](uint32_t opcode, std::initializer_list<uint32_t> operands) {
    words.push_back(uint32_t(operands.size() + 1) << 16 | opcode);
    words.insert(words.end(), operands);
  };
  auto text = [&](uint32_t opcode, const char *of) {
    std::vector<uint32_t> letters(std::strlen(of) / 4 + 1);
    std::memcpy(letters.data(), of, std::strlen(of));
    words.push_back(uint32_t(letters.size() + 1) << 16 | opcode);
    words.insert(words.end(), letters.begin(), letters.end());
  };
  constexpr uint32_t nonPrivate = 32, workgroup = 4, floatOne = 0x3F800000;
  for (uint32_t capability : {1, 9, 5345, 6022})
    add(17, {capability});
  text(10, "SPV_KHR_vulkan_memory_model");
  text(10, "SPV_KHR_cooperative_matrix");
  add(14, {0, 3});
  add(15, {5, Main, 0x6E69616D, 0}); // "main"
  add(16, {Main, 17, 64, 1, 1});
  add(19, {Void});
  add(33, {Function, Void});
  add(21, {Uint, 32, 0});
  add(22, {Half, 16});
  add(22, {Float, 32});
  for (auto [id, value] : {std::pair<uint32_t, uint32_t>(Zero, 0),
                           {One, 1},
                           {Two, 2},
                           {Three, 3},
                           {Sixteen, 16},
                           {Count, 512}})
    add(43, {Uint, id, value});
  add(28, {Line, Uint, Count});
  add(32, {LinePointer, workgroup, Line});
  add(59, {LinePointer, Memory, workgroup});
  add(32, {Pointer, workgroup, Uint});
  add(4456, {TypeA, Half, change.scope, Sixteen, Sixteen, Zero});
  add(4456, {TypeB, Half, change.scope, Sixteen, Sixteen, One});
  add(4456, {TypeSums, Float, change.scope, Sixteen, Sixteen, Two});
  add(43, {Float, Number, floatOne});
  add(54, {Void, Main, 0, Function});
  add(248, {Label});
  add(65, {Pointer, Address, Memory, Zero});
  add(4457, {TypeA, A, Address, Zero, Sixteen, nonPrivate});
  add(4457, {TypeB, B, Address, change.layout, Sixteen, nonPrivate});
  add(80, {TypeSums, Sums, Number});
  add(change.opcode, {TypeSums, Product, A, change.right, Sums});
  add(4458, {Address, Product, Zero, Sixteen, nonPrivate});
  add(253, {});
  add(56, {});
  return words;
}

} // namespace backplane::vulkan::matrixsample

#endif // BACKPLANE_VULKAN_TEST_MATRIXSAMPLE_H
