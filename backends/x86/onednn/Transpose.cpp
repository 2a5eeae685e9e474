// SPDX-License-Identifier: Apache-2.0
//
// Eight by eight elements at a time; this file is compiled for AVX2.
#include "Transpose.h"

#include <immintrin.h>

namespace backplane::onednn {
namespace {

constexpr int64_t side = 8;

/// A tile of eight rows becomes its transpose.
void turn(__m256 (&r)[side]) {
  __m256 pairs[side], fours[side];
  for (int i = 0; i < side; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < side; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
  }
  for (int i = 0; i < side / 2; ++i) {
    r[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

/// NaN stays, and -0 becomes 0.
float relu(float x) { return x <= 0 ? 0.0f : x; }

__m256 relu(__m256 x) {
  return _mm256_and_ps(x, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLE_UQ));
}

float finish(float x, const Epilogue &e, int64_t channel, int64_t at) {
  if (e.bias)
    x += e.bias[channel];
  if (e.residual)
    x += e.residual[at];
  return e.relu ? relu(x) : x;
}

__m256 finish(__m256 x, const Epilogue &e, __m256 bias, int64_t at) {
  if (e.bias)
    x = _mm256_add_ps(x, bias);
  if (e.residual)
    x = _mm256_add_ps(x, _mm256_loadu_ps(e.residual + at));
  return e.relu ? relu(x) : x;
}

/// Elements one by one.
void turnRest(const float *x, int64_t xStep, float *y, int64_t yStep,
              int64_t firstRow, int64_t rows, int64_t firstColumn,
              int64_t columns, const Epilogue &e) {
  for (int64_t j = firstColumn; j < columns; ++j)
    for (int64_t i = firstRow; i < rows; ++i)
      y[j * yStep + i] = finish(x[i * xStep + j], e, j, j * yStep + i);
}

} // namespace

void transpose(const float *x, int64_t xStep, float *y, int64_t yStep,
               int64_t rows, int64_t columns, const Epilogue &e) {
  const int64_t wholeRows = rows / side * side,
                wholeColumns = columns / side * side;
  for (int64_t i = 0; i < wholeRows; i += side)
    for (int64_t j = 0; j < wholeColumns; j += side) {
      __m256 tile[side];
      for (int64_t r = 0; r < side; ++r)
        tile[r] = _mm256_loadu_ps(x + (i + r) * xStep + j);
      turn(tile);
      for (int64_t r = 0; r < side; ++r) {
        const int64_t at = (j + r) * yStep + i;
        const __m256 bias =
            e.bias ? _mm256_set1_ps(e.bias[j + r]) : _mm256_setzero_ps();
        _mm256_storeu_ps(y + at, finish(tile[r], e, bias, at));
      }
    }
  turnRest(x, xStep, y, yStep, wholeRows, rows, 0, wholeColumns, e);
  turnRest(x, xStep, y, yStep, 0, rows, wholeColumns, columns, e);
}

void transpose(const float *x, int64_t xStep, float *y, int64_t yStep,
               int64_t rows, int64_t columns) {
  transpose(x, xStep, y, yStep, rows, columns, Epilogue());
}

void copy(const float *x, int64_t xStep, float *y, int64_t yStep, int64_t rows,
          int64_t columns, const Epilogue &e) {
  const int64_t whole = columns / side * side;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < whole; j += side) {
      const __m256 bias =
          e.bias ? _mm256_loadu_ps(e.bias + j) : _mm256_setzero_ps();
      _mm256_storeu_ps(
          y + i * yStep + j,
          finish(_mm256_loadu_ps(x + i * xStep + j), e, bias, i * yStep + j));
    }
    for (int64_t j = whole; j < columns; ++j)
      y[i * yStep + j] = finish(x[i * xStep + j], e, j, i * yStep + j);
  }
}

} // namespace backplane::onednn
