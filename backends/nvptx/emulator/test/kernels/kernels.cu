// SPDX-License-Identifier: Apache-2.0
//
// kernels.cu: kernels for nvcc, none of which our code generator made. Each has
// the same parameters; NvccTest.cpp knows what it must compute.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#define KERNEL(name)                                                           \
  extern "C" __global__ void name(const float *a, const float *b, float *c,    \
                                  int n)
#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x;
#define ELEMENT                                                                \
  INDEX if (i >= n) return;

KERNEL(saxpy) { ELEMENT c[i] = 2.5f * a[i] + b[i]; }
KERNEL(gelu) { ELEMENT c[i] = 0.5f * a[i] * (1 + erff(a[i] * 0.70710678f)); }
KERNEL(hyperbolic) { ELEMENT c[i] = tanhf(a[i]) + sinhf(b[i] * 0.1f); }
KERNEL(exponentials) { ELEMENT c[i] = expf(a[i]) + log1pf(fabsf(b[i])); }
KERNEL(powers) { ELEMENT c[i] = powf(fabsf(a[i]) + 0.1f, b[i] * 0.25f); }
KERNEL(angles) { ELEMENT c[i] = sinf(a[i]) * cosf(b[i] * 1e5f); }
KERNEL(roots) { ELEMENT c[i] = sqrtf(fabsf(a[i])) + rsqrtf(fabsf(b[i]) + 1); }
KERNEL(quotients) { ELEMENT c[i] = a[i] / b[i] + fmodf(b[i], 0.75f); }
KERNEL(roundings) {
  ELEMENT c[i] = rintf(a[i]) + floorf(b[i]) * 4 + ceilf(a[i]) * 16 +
                 truncf(b[i]) * 64;
}
KERNEL(doubles) {
  ELEMENT double x = a[i], y = b[i];
  c[i] = float(exp(x) / (1 + y * y) + log(fabs(y) + 1) - cbrt(x));
}

__device__ float warpSum(float x) {
  for (int d = 16; d; d /= 2)
    x += __shfl_xor_sync(~0u, x, d);
  return x;
}
__device__ float blockSum(float x) {
  __shared__ float part[32];
  x = warpSum(x);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = x;
  __syncthreads();
  x = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
  if (threadIdx.x < 32)
    x = warpSum(x);
  if (threadIdx.x == 0)
    part[0] = x;
  __syncthreads();
  x = part[0];
  __syncthreads();
  return x;
}
// One row of blockDim.x for each block.
KERNEL(softmax) {
  INDEX float e = expf(a[i]);
  c[i] = e / blockSum(e);
}
KERNEL(layernorm) {
  INDEX float mean = blockSum(a[i]) / blockDim.x;
  float d = a[i] - mean;
  c[i] = d * rsqrtf(blockSum(d * d) / blockDim.x + 1e-5f) * b[i];
}
KERNEL(sumAll) {
  INDEX float x = blockSum(i < n ? a[i] : 0);
  if (threadIdx.x == 0)
    atomicAdd(c, x);
}
KERNEL(histogram) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64)
    bins[threadIdx.x] = 0;
  __syncthreads();
  INDEX if (i < n) atomicAdd(&bins[((const int *)a)[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd((unsigned *)c + threadIdx.x, bins[threadIdx.x]);
}
KERNEL(scan) {
  __shared__ float s[256];
  INDEX s[threadIdx.x] = a[i];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    float x = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
    __syncthreads();
    s[threadIdx.x] += x;
    __syncthreads();
  }
  c[i] = s[threadIdx.x];
}
// 32 x 32 for each block of 256.
KERNEL(transpose) {
  __shared__ float tile[32][33];
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  const float *from = a + blockIdx.x * 1024;
  for (int k = 0; k < 32; k += 8)
    tile[y + k][x] = from[(y + k) * 32 + x];
  __syncthreads();
  for (int k = 0; k < 32; k += 8)
    c[blockIdx.x * 1024 + (y + k) * 32 + x] = tile[x][y + k];
}
// 32 x 32 matrices with 16 x 16 tiles, 4 blocks of 256.
KERNEL(matmul) {
  __shared__ float ta[16][16], tb[16][16];
  int x = threadIdx.x % 16, y = threadIdx.x / 16;
  int row = blockIdx.x / 2 * 16 + y, column = blockIdx.x % 2 * 16 + x;
  float sum = 0;
  for (int t = 0; t < 32; t += 16) {
    ta[y][x] = a[row * 32 + t + x];
    tb[y][x] = b[(t + y) * 32 + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * 32 + column] = sum;
}
KERNEL(longIntegers) {
  ELEMENT long long x = ((const long long *)a)[i / 2], y = i % 97 - 48;
  y = y ? y : 5;
  ((int *)c)[i] = int(x / y) ^ int(x % y) ^ int(__mul64hi(x, y)) ^
                  int((unsigned long long)x / 7u);
}
KERNEL(bits) {
  ELEMENT unsigned x = ((const unsigned *)a)[i], y = ((const unsigned *)b)[i];
  ((unsigned *)c)[i] = __popc(x) + __clz(y) * 64 + __ffs(x) * 4096 +
                       (__brev(x) ^ __funnelshift_l(x, y, y)) +
                       __byte_perm(x, y, 0x5140) + __umulhi(x, y);
}
KERNEL(dotOfBytes) {
  ELEMENT((int *)c)[i] = __dp4a(((const int *)a)[i], ((const int *)b)[i], i) ^
                         __dp2a_lo(((const short2 *)a)[i],
                                   ((const char4 *)b)[i], i * 3);
}
KERNEL(halves) {
  ELEMENT __half2 x = __floats2half2_rn(a[i], b[i]), y = __half2half2(2.0f);
  __half2 z = __hfma2(x, y, __hadd2(x, x));
  z = __hmax2(z, __float2half2_rn(-1.0f));
  c[i] = __low2float(z) + __high2float(z);
}
KERNEL(brainFloats) {
  ELEMENT __nv_bfloat16 x = __float2bfloat16(a[i]), y = __float2bfloat16(b[i]);
  c[i] = __bfloat162float(__hfma(x, y, x));
}
KERNEL(compaction) {
  INDEX bool keep = i < n && a[i] > 0;
  unsigned votes = __ballot_sync(~0u, keep);
  __shared__ int base;
  if (threadIdx.x == 0)
    base = 0;
  __syncthreads();
  int start = 0, lane = threadIdx.x % 32;
  if (lane == 0)
    start = atomicAdd(&base, __popc(votes));
  start = __shfl_sync(~0u, start, 0);
  // Blocks have 32 threads here: the order is that of the lanes.
  if (keep)
    c[blockIdx.x * 32 + start + __popc(votes & ((1u << lane) - 1))] = a[i];
}
KERNEL(collatz) {
  ELEMENT unsigned x = i + 1, steps = 0;
  while (x != 1) {
    x = x % 2 ? 3 * x + 1 : x / 2;
    ++steps;
  }
  ((unsigned *)c)[i] = steps;
}
KERNEL(cases) {
  ELEMENT int x = ((const int *)a)[i] & 15, r = i;
  switch (x) {
  case 0: r = r * 3 + 1; break;
  case 1: r ^= 0x55; break;
  case 2: r = r / 3; break;
  case 3: r = r % 11; break;
  case 4: r = -r; break;
  case 5: r = r << 3; break;
  case 6: r = r >> 1;
  case 7: r += 7; break;
  case 8: r = r * r; break;
  case 9: r = min(r, 100); break;
  default: r = 1000 + x;
  }
  ((int *)c)[i] = r;
}
struct Pair {
  float x;
  int y;
};
__device__ __noinline__ Pair called(Pair p, float s) {
  p.x = p.x * s + p.y;
  p.y += p.x > 0 ? 1 : -1;
  return p;
}
KERNEL(calls) {
  ELEMENT Pair p{a[i], i};
  if (i % 3)
    p = called(p, b[i]);
  p = called(p, 0.5f);
  c[i] = p.x + p.y;
}
KERNEL(localArray) {
  ELEMENT float stack[16];
  for (int k = 0; k < 16; ++k)
    stack[(k * 7 + i) % 16] = a[(i + k) % n];
  float sum = 0;
  for (int k = 0; k < 16; ++k)
    sum += stack[(((const int *)b)[i] + k * 3) & 15] * k;
  c[i] = sum;
}
__constant__ float table[8] = {1, 2, 4, 8, 0.5f, 0.25f, -1, 3};
__device__ int counter = 40;
KERNEL(constants) {
  ELEMENT c[i] = table[((const int *)b)[i] & 7] * a[i] + counter;
}
KERNEL(bitonic) {
  __shared__ float s[256];
  INDEX s[threadIdx.x] = a[i];
  __syncthreads();
  for (int k = 2; k <= 256; k *= 2)
    for (int j = k / 2; j; j /= 2) {
      int other = threadIdx.x ^ j;
      if (other > threadIdx.x) {
        bool up = (threadIdx.x & k) == 0;
        float x = s[threadIdx.x], y = s[other];
        if ((x > y) == up)
          s[threadIdx.x] = y, s[other] = x;
      }
      __syncthreads();
    }
  c[i] = s[threadIdx.x];
}
KERNEL(atomicMaximum) {
  ELEMENT int *to = (int *)c;
  int old = *to;
  while (__int_as_float(old) < a[i]) {
    int seen = atomicCAS(to, old, __float_as_int(a[i]));
    if (seen == old)
      break;
    old = seen;
  }
}
KERNEL(quantize) {
  ELEMENT float4 x = ((const float4 *)a)[i / 4];
  char4 q;
  q.x = (signed char)fminf(fmaxf(rintf(x.x * 16), -128), 127);
  q.y = (signed char)fminf(fmaxf(rintf(x.y * 16), -128), 127);
  q.z = (signed char)fminf(fmaxf(rintf(x.z * 16), -128), 127);
  q.w = (signed char)fminf(fmaxf(rintf(x.w * 16), -128), 127);
  ((char4 *)c)[i / 4] = q;
}
KERNEL(groups) {
  INDEX int key = ((const int *)a)[i] & 3;
  unsigned same = __match_any_sync(~0u, key);
  ((int *)c)[i] = __popc(same) + 64 * __reduce_max_sync(~0u, key) +
                  __any_sync(~0u, key == 3) * 1024;
}
// 16 x 16 x 64 in one warp; a and b are halves.
KERNEL(wmmaHalves) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> x;
  fragment<matrix_b, 16, 16, 16, __half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 1.0f);
  for (int k = 0; k < 64; k += 16) {
    load_matrix_sync(x, (const __half *)a + k, 64);
    load_matrix_sync(y, (const __half *)b + k, 64);
    mma_sync(z, x, y, z);
  }
  for (int k = 0; k < z.num_elements; ++k)
    z.x[k] *= 0.5f;
  store_matrix_sync(c, z, 16, mem_row_major);
}
// 8 x 32 x 16, bytes.
KERNEL(wmmaBytes) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 32, 16, signed char, row_major> x;
  fragment<matrix_b, 8, 32, 16, signed char, row_major> y;
  fragment<accumulator, 8, 32, 16, int> z;
  fill_fragment(z, 7);
  load_matrix_sync(x, (const signed char *)a, 16);
  load_matrix_sync(y, (const signed char *)b, 32);
  mma_sync(z, x, y, z);
  store_matrix_sync((int *)c, z, 32, mem_row_major);
}
KERNEL(pipeline) {
  __shared__ float4 buffer[2][64];
  int t = threadIdx.x;
  const float4 *from = (const float4 *)a + blockIdx.x * 256;
  float4 *to = (float4 *)c + blockIdx.x * 256;
  __pipeline_memcpy_async(&buffer[0][t], &from[t], 16);
  __pipeline_commit();
  for (int k = 0; k < 4; ++k) {
    if (k < 3)
      __pipeline_memcpy_async(&buffer[(k + 1) & 1][t], &from[(k + 1) * 64 + t],
                              16);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 x = buffer[k & 1][63 - t];
    to[k * 64 + t] = make_float4(x.w, x.z, x.y, x.x);
    __syncthreads();
  }
}
