// SPDX-License-Identifier: Apache-2.0
//
// kernels.c: kernels for clang --target=nvptx64, without CUDA. ForeignTest.cpp
// knows what each must compute.
typedef unsigned u32;
typedef unsigned long long u64;
#define KERNEL(name)                                                           \
  __attribute__((nvptx_kernel)) void name(const float *a, const float *b,      \
                                          float *c, int n)
#define INDEX                                                                  \
  int t = __nvvm_read_ptx_sreg_tid_x();                                        \
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + t;
#define ELEMENT INDEX if (i >= n) return;

KERNEL(polynomial) {
  ELEMENT float x = a[i], r = 0.1f;
  for (int k = 1; k < 8; ++k)
    r = r * x + b[(i + k) % n];
  c[i] = r;
}
KERNEL(product128) {
  ELEMENT const u64 *x = (const u64 *)a;
  unsigned __int128 p = (unsigned __int128)x[i / 2] * x[(n - 1 - i) / 2];
  p += (unsigned __int128)x[3] << 40;
  ((u32 *)c)[i] = (u32)(p >> 64) ^ (u32)(p >> 17);
}
KERNEL(checksum) {
  ELEMENT u32 x = ((const u32 *)a)[i], r = ~0u;
  for (int k = 0; k < 32; ++k) {
    u32 bit = (r ^ x) & 1;
    r = r >> 1 ^ (bit ? 0xedb88320u : 0);
    x >>= 1;
  }
  ((u32 *)c)[i] = r;
}
KERNEL(averageOfBytes) {
  ELEMENT const unsigned char *x = (const unsigned char *)a,
                              *y = (const unsigned char *)b;
  unsigned char *to = (unsigned char *)c;
  for (int k = 0; k < 4; ++k) {
    int d = x[i * 4 + k] - y[i * 4 + k];
    to[i * 4 + k] = d < -90 ? 0 : (x[i * 4 + k] + y[i * 4 + k] + 1) / 2;
  }
}
KERNEL(compensated) {
  ELEMENT double sum = 0, rest = 0;
  for (int k = 0; k < 20; ++k) {
    double y = (double)a[(i + k) % n] * b[k] - rest;
    double next = sum + y;
    rest = next - sum - y;
    sum = next;
  }
  c[i] = sum;
}
struct Part {
  short x;
  signed char y;
  unsigned char z;
};
KERNEL(structures) {
  ELEMENT struct Part p;
  __builtin_memcpy(&p, &a[i], 4);
  p.x = p.x * 3 + p.y;
  p.z ^= p.y >> 1;
  p.y = p.x > 0 ? -p.y : p.z;
  __builtin_memcpy(&c[i], &p, 4);
}
KERNEL(extremes) {
  ELEMENT float x = a[i] / (i % 7 ? 1.0f : 0.0f);
  float y = __builtin_fmaxf(__builtin_fminf(x, b[i]), -2.0f);
  c[i] = __builtin_copysignf(y, b[i]) + (__builtin_isinf(x) ? 8 : 0);
}
static __attribute__((address_space(3))) float row[256];
KERNEL(reversed) {
  INDEX row[t] = a[i];
  __syncthreads();
  c[i] = row[255 - t];
}
KERNEL(halfOfC) {
  ELEMENT _Float16 x = (_Float16)a[i], y = (_Float16)b[i];
  _Float16 r = x * y;
  c[i] = (float)(r + (_Float16)1.0f);
}
