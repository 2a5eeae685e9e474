// SPDX-License-Identifier: Apache-2.0
//
// A library with those functions of cuBLASLt that the set calls, which computes
// on the CUDA emulator. It does what NVIDIA's documentation says of descriptors
// and knows nothing of the set. Of the environment:
//   BP_TEST_CUDA   the emulator's file
//   BP_TEST_PTX    product.cu as PTX
//   BP_TEST_BREAK  "create", "heuristic" or "matmul": what fails
#include <cublasLt.h>
#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace {

struct Operation {
  int32_t transA = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
};

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
};

struct Preference {
  uint64_t workspace = 0;
};

struct Matrix {
  const void *data;
  long long leading;
};

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

template <typename Function> Function cuda(const char *name) {
  static void *library = dlopen(variable("BP_TEST_CUDA").c_str(), RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(library, name));
}

CUfunction kernelOf(cudaDataType type) {
  static std::mutex mutex;
  static CUmodule module = nullptr;
  std::lock_guard lock(mutex);
  if (!module) {
    std::ostringstream text;
    text << std::ifstream(variable("BP_TEST_PTX")).rdbuf();
    cuda<decltype(&cuModuleLoadDataEx)>("cuModuleLoadDataEx")(
        &module, text.str().c_str(), 0, nullptr, nullptr);
  }
  const char *name = type == CUDA_R_32F   ? "product_f32"
                     : type == CUDA_R_16F ? "product_f16"
                                          : "product_bf16";
  CUfunction function = nullptr;
  cuda<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&function, module,
                                                              name);
  return function;
}

/// Sizes of the operands, and that a pointer is aligned as it was promised.
bool fits(const Operation &operation, const Layout &a, const Layout &b,
          const Layout &c, const Layout &d) {
  const bool transposed = operation.transA == CUBLAS_OP_T;
  const uint64_t rows = transposed ? a.columns : a.rows;
  const uint64_t depth = transposed ? a.rows : a.columns;
  bool same = a.type == b.type && a.type == c.type && a.type == d.type;
  for (const Layout *one : {&a, &b, &c, &d})
    same = same && one->leading >= int64_t(one->rows);
  return same && rows == d.rows && depth == b.rows && b.columns == d.columns &&
         c.rows == d.rows && c.columns == d.columns;
}

template <typename T> const T &of(const void *handle) {
  return *static_cast<const T *>(handle);
}

template <typename T>
cublasStatus_t store(T &place, const void *value, size_t size) {
  if (size != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&place, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  CUcontext context = nullptr;
  cuda<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent")(&context);
  *handle = reinterpret_cast<cublasLtHandle_t>(context);
  return context && variable("BP_TEST_BREAK") != "create"
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_INITIALIZED ? "not initialized"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "invalid value"
                                                 : "failed";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *out = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  // The second may compute as the first does, which is more exact.
  bool isKnown =
      compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return isKnown && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                        : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete reinterpret_cast<Operation *>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t made,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t size) {
  auto &operation = *reinterpret_cast<Operation *>(made);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return store(operation.transA, value, size);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return store(operation.epilogue, value, size);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return store(operation.bias, value, size);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *out = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete reinterpret_cast<Layout *>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  *out = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  delete reinterpret_cast<Preference *>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t made,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t size) {
  uint32_t other;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return store(reinterpret_cast<Preference *>(made)->workspace, value, size);
  return store(other, value, size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t, int requested,
    cublasLtMatmulHeuristicResult_t *results, int *count) {
  *count = 0;
  if (!handle || requested < 1 ||
      !fits(of<Operation>(operation), of<Layout>(a), of<Layout>(b),
            of<Layout>(c), of<Layout>(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = variable("BP_TEST_BREAK") != "heuristic";
  results[0].algo.data[0] = of<Layout>(d).rows;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t described,
                              const void *alpha, const void *aData,
                              cublasLtMatrixLayout_t aLayout, const void *bData,
                              cublasLtMatrixLayout_t bLayout,
                              const void *betaAt, const void *cData,
                              cublasLtMatrixLayout_t cLayout, void *dData,
                              cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t *algorithm, void *,
                              size_t, cudaStream_t stream) {
  const auto &operation = of<Operation>(described);
  const auto &layout = of<Layout>(aLayout), &result = of<Layout>(dLayout);
  if (of<float>(alpha) != 1 || algorithm->data[0] != result.rows ||
      !fits(operation, layout, of<Layout>(bLayout), of<Layout>(cLayout),
            result) ||
      variable("BP_TEST_BREAK") == "matmul")
    return CUBLAS_STATUS_INVALID_VALUE;
  Matrix a = {aData, layout.leading}, c = {cData, of<Layout>(cLayout).leading},
         b = {bData, of<Layout>(bLayout).leading}, d = {dData, result.leading};
  int transposed = operation.transA == CUBLAS_OP_T;
  float beta = of<float>(betaAt);
  long long rows = result.rows, columns = result.columns,
            depth = transposed ? layout.rows : layout.columns;
  const void *bias =
      operation.epilogue == CUBLASLT_EPILOGUE_BIAS ? operation.bias : nullptr;
  void *values[] = {&a, &transposed, &b,       &c,     &beta,
                    &d, &rows,       &columns, &depth, &bias};
  constexpr unsigned threads = 128;
  CUresult launched = cuda<decltype(&cuLaunchKernel)>("cuLaunchKernel")(
      kernelOf(result.type), unsigned((rows * columns + threads - 1) / threads),
      1, 1, threads, 1, 1, 0, reinterpret_cast<CUstream>(stream), values,
      nullptr);
  return launched ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
