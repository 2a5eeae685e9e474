// SPDX-License-Identifier: Apache-2.0
#include "Kernels.h"
#include "Product.h"

namespace backplane::cublaslt {
namespace {

/// The products of one dtype.
struct Element {
  const char *name;
  const char *dtype;
  const char *targets; ///< a glob
  cudaDataType type;
  cublasComputeType_t compute;
  /// What cuBLASLt takes of the time of generated code, in percent: an
  /// expression over m, n and k.
  const char *percent;
  /// A matrix is added, too, before the bias. With halves cuBLASLt rounds the
  /// sum between the two, which a model does not ask for.
  bool addsMatrix;
};

/// From times of PyTorch's calls of cuBLAS on an H200 (README.md). Halves are
/// slower here where lines are no multiples of 16 bytes.
constexpr const char *ofHalves =
    "select(equal((k mod 8) + (n mod 8), 0), select(less(m, 65), 75, 85), 60)";
constexpr const char *all = "nvptx-*", *ofTf32 = "nvptx-*-tf32";
/// No other target ends in 2.
constexpr const char *exact = "nvptx-*[!2]";
constexpr Element elements[] = {
    {"f16", "f16", all, CUDA_R_16F, CUBLAS_COMPUTE_32F, ofHalves, false},
    {"bf16", "bf16", all, CUDA_R_16BF, CUBLAS_COMPUTE_32F, ofHalves, false},
    {"f32", "f32", exact, CUDA_R_32F, CUBLAS_COMPUTE_32F, "65", true},
    {"tf32", "f32", ofTf32, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, "50",
     true}};

/// With fewer products than this a launch takes most of the time, and generated
/// code computes neighbours in the same one.
constexpr const char *fewProducts = "16777216";

/// $T: the dtype, $W: the weights as they lie there.
constexpr const char *text = R"(kernel linear$SUFFIX_$NAME version 1
where k >= 1, n >= 1
{
  symbol m, k, n
  %x = input $T[m, k]
  %w = input $T[$W]
  %b = optional input $T[n]
$INPUT$TRANSPOSE  %p = matmul(%x, $FACTOR)
  %bs = broadcast(%b) {dims = [m, n], axes = [1]}
$ADD  %y = add(%$SUM, %bs)
  output %y
})";

std::string
filled(std::string out,
       std::initializer_list<std::pair<const char *, const char *>> all) {
  for (const auto &[name, value] : all)
    for (size_t at; (at = out.find(name)) != std::string::npos;)
      out.replace(at, std::string_view(name).size(), value);
  return out;
}

std::string textOf(const Element &element, bool transposed) {
  return filled(
      text,
      {{"$SUFFIX", transposed ? "_t" : ""},
       {"$TRANSPOSE", transposed ? "  %wt = transpose(%w) "
                                   "{permutation = [1, 0]}\n"
                                 : ""},
       {"$INPUT", element.addsMatrix ? "  %r = optional input $T[m, n]\n" : ""},
       {"$NAME", element.name},
       {"$T", element.dtype},
       {"$ADD", element.addsMatrix ? "  %s = add(%p, %r)\n" : ""},
       {"$SUM", element.addsMatrix ? "s" : "p"},
       {"$W", transposed ? "n, k" : "k, n"},
       {"$FACTOR", transposed ? "%wt" : "%w"}});
}

/// One call of cuBLASLt, whatever the sizes are.
plugin::Compiled bodyOf(const Element &element, bool transposed) {
  const size_t inputs = element.addsMatrix ? 4 : 3;
  plugin::Launch launch;
  launch.name = productEntry;
  launch.access.assign(inputs, BP_ACCESS_READ);
  launch.access.push_back(BP_ACCESS_WRITE);
  launch.parameters = {"m",
                       "n",
                       "k",
                       std::to_string(int(element.type)),
                       std::to_string(int(element.compute)),
                       transposed ? "1" : "0",
                       "has_b",
                       element.addsMatrix ? "has_r" : "0"};
  launch.workspaceBytes = workspaceBytes;
  plugin::Compiled body;
  body.launches = {launch};
  return body;
}

} // namespace

Status describe(plugin::KernelSink sink) {
  for (const Element &element : elements)
    for (bool transposed : {false, true}) {
      const std::string cost =
          std::string("generated * select(less(m * n * k, ") + fewProducts +
          "), 130, " + element.percent + ") floordiv 100";
      if (Status s = sink.put(textOf(element, transposed), element.targets,
                              bodyOf(element, transposed), cost);
          !s.ok())
        return s;
    }
  return {};
}

} // namespace backplane::cublaslt
