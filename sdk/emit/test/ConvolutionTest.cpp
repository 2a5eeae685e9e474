// SPDX-License-Identifier: Apache-2.0
//
// Compiled convolutions against loops written here.
#include "sdk/emit/test/KernelHarness.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

/// A convolution of one image [channels, size, size] with padding, written as
/// sdk/lower does.
std::string convText(int64_t channels, int64_t size, int64_t outputs,
                     int64_t window, int64_t stride, int64_t pad,
                     int64_t dilation) {
  auto dims = [](std::initializer_list<int64_t> sizes) {
    std::string text = "tensor<";
    for (int64_t size : sizes)
      text += std::to_string(size) + "x";
    return text + "f32>";
  };
  int64_t wide = size + 2 * pad;
  int64_t out = (wide - (window - 1) * dilation - 1) / stride + 1;
  std::string x = dims({1, channels, size, size}),
              p = dims({1, channels, wide, wide}),
              w = dims({outputs, channels, window, window}),
              y = dims({1, outputs, out, out}), s = std::to_string(stride),
              b = std::to_string(pad), d = std::to_string(dilation);
  return "func.func @conv(%x: " + x + ", %w: " + w + ", %y: " + y + ") -> " +
         y +
         " attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {\n"
         "  %zero = arith.constant 0.0 : f32\n"
         "  %p = tensor.pad %x low[0, 0, " +
         b + ", " + b + "] high[0, 0, " + b + ", " + b +
         "] {\n  ^bb0(%i: index, %j: index, %k: index, %l: index):\n"
         "    tensor.yield %zero : f32\n  } : " +
         x + " to " + p +
         "\n  %start = linalg.fill ins(%zero : f32) outs(%y : " + y + ") -> " +
         y +
         "\n  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, "
         "i, j) -> (o, c, i, j)>, affine_map<(n, o, h, w, c, i, j) -> (n, c, h "
         "* " +
         s + " + i * " + d + ", w * " + s + " + j * " + d +
         ")>, affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>], "
         "iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
         "\"parallel\", \"reduction\", \"reduction\", \"reduction\"]} ins(%w, "
         "%p : " +
         w + ", " + p + ") outs(%start : " + y +
         ") {\n  ^bb0(%x0: f32, %y0: f32, %old: f32):\n"
         "    %q = arith.mulf %x0, %y0 : f32\n"
         "    %t = arith.addf %old, %q : f32\n"
         "    linalg.yield %t : f32\n  } -> " +
         y + "\n  return %r : " + y + "\n}\n";
}

struct Conv {
  int64_t channels, size, outputs, window, stride, pad, dilation = 1;
};
const Conv kConvs[] = {{3, 20, 8, 3, 1, 1},
                       {16, 14, 24, 3, 1, 1},
                       {8, 7, 16, 5, 1, 2},
                       {4, 33, 9, 3, 2, 1},
                       {5, 40, 6, 1, 1, 0},
                       {3, 17, 7, 7, 2, 3},
                       {20, 6, 30, 3, 1, 1},
                       {2, 5, 6, 5, 1, 4},
                       // More columns, and more of k, than a group or a block
                       // of it has; phases; padding as wide as the image.
                       {30, 41, 20, 3, 1, 1},
                       {1, 90, 17, 3, 2, 0},
                       {6, 47, 9, 5, 3, 2},
                       {2, 64, 12, 7, 4, 3},
                       {9, 20, 13, 3, 1, 12, 12},
                       {18, 23, 8, 3, 2, 4, 3},
                       {3, 50, 6, 5, 1, 1, 2}};

class Convolution : public testing::TestWithParam<Isa> {};

} // namespace

TEST_P(Convolution, IsTheSum) {
  if (!hasIsa(GetParam()))
    GTEST_SKIP() << "this CPU lacks the instructions";
  for (const Conv &conv : kConvs) {
    auto kernel = Kernel::compile(
        convText(conv.channels, conv.size, conv.outputs, conv.window,
                 conv.stride, conv.pad, conv.dilation),
        hostTarget(GetParam()), fastStages(GetParam()));
    ASSERT_TRUE(kernel);
    Buffers buffers(kernel->bindings(), {}, 5);
    kernel->run(buffers.pointers(), {});
    auto *x = reinterpret_cast<const float *>(buffers.storage[0].data());
    auto *w = reinterpret_cast<const float *>(buffers.storage[1].data());
    auto *y = reinterpret_cast<const float *>(buffers.storage[2].data());
    int64_t reach = (conv.window - 1) * conv.dilation;
    int64_t out = (conv.size + 2 * conv.pad - reach - 1) / conv.stride + 1;
    for (int64_t at = 0; at < conv.outputs * out * out; ++at) {
      int64_t o = at / (out * out), h = at / out % out, v = at % out;
      double sum = 0;
      for (int64_t e = 0; e < conv.channels * conv.window * conv.window; ++e) {
        int64_t c = e / (conv.window * conv.window);
        int64_t i = h * conv.stride - conv.pad +
                    e / conv.window % conv.window * conv.dilation;
        int64_t j =
            v * conv.stride - conv.pad + e % conv.window * conv.dilation;
        if (i >= 0 && i < conv.size && j >= 0 && j < conv.size)
          sum += double(x[(c * conv.size + i) * conv.size + j]) *
                 double(w[o * conv.channels * conv.window * conv.window + e]);
      }
      ASSERT_NEAR(y[at], sum, 1e-4)
          << "size " << conv.size << " window " << conv.window << " stride "
          << conv.stride << " dilation " << conv.dilation << " at " << o << ", "
          << h << ", " << v;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Convolution, testing::ValuesIn(ownIsas()));
