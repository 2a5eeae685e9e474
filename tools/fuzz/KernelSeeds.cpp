// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"
#include "sdk/package/KernelPack.h"

namespace backplane::fuzz {

namespace {

/// Values of attributes and orders of axes that a list chooses from, and what
/// is wrong with one thing of them.
std::vector<std::string> kernelVariables() {
  std::vector<std::string> texts;
  for (const char *where :
       {"S in [[1, 1], [2, 2]], L in [[0, 1, 2, 3], [0, 2, 3, 1]]",
        "S in [[1, 1]], L in [[0, 0, 2, 3]]", "S in [1], L in [[0, 1]]",
        "S in [[1, 1]], L in [\"x\"]", "S in [[1, 1]], M in [[0]]",
        "S in [[1, 1]], L in [[0, 1, 2, 3]], M in [[0]]"})
    texts.push_back("kernel c version 1 where " + std::string(where) + R"( {
  symbol c, h, w, o
  %x = input f32[1, c, h, w] layout L
  %w = input f32[o, c, 3, 3]
  %r = optional input f32[1, o, (h - 1) floordiv 2 + 1, w] layout L
  %y = conv(%x, %w) {strides = S, dilations = [1, 1], low = [1, 1],
                     high = [1, 1], groups = 1}
  output %y layout L
})");
  for (const char *where : {"[[0, 1], [1, 0]]", "[[0, 2]]", "[[1]]"})
    texts.push_back("kernel k version 1\nwhere L in " + std::string(where) +
                    R"(
{
  symbol m, n
  %x = input f32[m, n]
  %b = optional input f32[m, n] layout L
  %e = exp(%x)
  %y = add(%e, %b)
  output %y layout L
})");
  for (const char *body :
       {"%y = reduce(%x) {kind = K, axes = A} output %y", "output %x",
        "%y = relu(%x) output %y, %y", "%y = leaky_relu(%x) {alpha = 0.5}",
        "%z = random(%x) output %z", "output %o",
        "%i = constant() {value = 3e9, dtype = i8, dims = []} output %i"})
    for (const char *where : {"K in [\"max\", \"min\"], A in [[0], [1]]",
                              "m < 3, m > 3, K in [1]", "m * m * n <= 3"})
      texts.push_back("kernel r version 1 where " + std::string(where) +
                      " {\n symbol m, n\n %x = input f32[m, n]\n"
                      " %o = optional input f32[m]\n " +
                      body + "\n}");
  return texts;
}

} // namespace

std::vector<std::string> kernelTexts() {
  std::vector<std::string> texts = {
      R"(kernel attention version 1
where T in [f32, f16], d <= 128, d mod 8 == 0, m <= n // and more
{
  symbol b, m, n, d
  %q = input T[b, m, d]
  %k = input T[b, n, d]
  %bias = optional input T[n]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %all = broadcast(%bias) {dims = [b, m, n], axes = [2]}
  %c = add(%s, %all)
  output %c
})",
      R"(kernel k version 2 where n == 4, 1 != m, m < 9, 2 >= k, m > 0 {
  symbol n, m, k
  %x = input f32[n, max(m, 2 * (k + 1))]
  %half = constant() {value = 0.5, dtype = f32, dims = []}
  %two = constant() {value = [1, -2], dtype = i8, dims = [2]}
  %raw = constant() {value = 0x00ff, dtype = bf16, dims = []}
  %values, %indices = top_k(%x) {k = [1], axis = 1, largest = true}
  %g = gelu(%x) {approximate = "tanh"}
  output %values, %indices, %half, %two
  output %raw, %g
})"};
  for (const std::string &text : kernelVariables())
    texts.push_back(text);
  return texts;
}

void writeKernels(const fs::path &folder) {
  Kernel kernel;
  kernel.code = {1, 2, 3, 4};
  KernelLaunch launch;
  launch.name = "matmul";
  launch.grid = {"n", "m floordiv 4", "1"};
  launch.workspace = "64*n";
  launch.access = {1, 1, 2};
  launch.driverData = {5, 6};
  launch.parameters = {"m*n"};
  launch.sharedBytes = "4*n";
  launch.bindings = {{0, "", ""}, {1, "64", ""}, {0xFFFFFFFF, "", "n"}};
  kernel.launches = {launch, launch};
  kernel.scratch = "n";
  kernel.initLaunches = {launch};
  kernel.persistentBytes = 64;
  kernel.inPlace = {0};
  write(folder / "kernel", packKernel(kernel));
}

} // namespace backplane::fuzz
