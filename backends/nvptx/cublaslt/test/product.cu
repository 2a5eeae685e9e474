// SPDX-License-Identifier: Apache-2.0
//
// A product in the terms of cublasLtMatmul, one element of D for each thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Matrix {
  const void *data;
  long long leading; // elements from one column to the next
};

template <typename T>
__device__ float at(Matrix from, long long row, long long column) {
  return float(
      static_cast<const T *>(from.data)[row + column * from.leading]);
}

template <typename T>
__device__ void multiply(Matrix a, bool transposed, Matrix b, Matrix c,
                         float beta, Matrix d, long long rows,
                         long long columns, long long depth,
                         const void *bias) {
  long long element = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  long long row = element % rows, column = element / rows;
  if (column >= columns)
    return;
  float sum = 0;
  for (long long i = 0; i < depth; ++i)
    sum += (transposed ? at<T>(a, i, row) : at<T>(a, row, i)) *
           at<T>(b, i, column);
  // C is not read where nothing of it is added: it may be NaN.
  if (beta != 0)
    sum += beta * at<T>(c, row, column);
  if (bias)
    sum += float(static_cast<const T *>(bias)[row]);
  auto *out = static_cast<T *>(const_cast<void *>(d.data));
  out[row + column * d.leading] = T(sum);
}

#define PRODUCT(name, T)                                                       \
  extern "C" __global__ void name(                                             \
      Matrix a, int transposed, Matrix b, Matrix c, float beta, Matrix d,      \
      long long rows, long long columns, long long depth, const void *bias) {  \
    multiply<T>(a, transposed, b, c, beta, d, rows, columns, depth, bias);     \
  }

PRODUCT(product_f32, float)
PRODUCT(product_f16, __half)
PRODUCT(product_bf16, __nv_bfloat16)
