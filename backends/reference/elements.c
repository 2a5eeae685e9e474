/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.c: elements of every dtype in and out of 64-bit words. Everything
 * that is particular to a dtype stands here, so that each op is written once
 * for floats and once for integers.
 */
#include "ref.h"

#include <math.h>

int ref_is_float(bp_dtype_t dtype) { return REF_FLOATS >> dtype & 1u; }

int ref_is_unsigned(bp_dtype_t dtype) { return REF_UNSIGNED >> dtype & 1u; }

int64_t ref_size(bp_dtype_t dtype) {
  switch (dtype) {
  case BP_DTYPE_F64:
  case BP_DTYPE_I64:
  case BP_DTYPE_U64:
    return 8;
  case BP_DTYPE_F32:
  case BP_DTYPE_I32:
  case BP_DTYPE_U32:
    return 4;
  case BP_DTYPE_F16:
  case BP_DTYPE_BF16:
  case BP_DTYPE_I16:
  case BP_DTYPE_U16:
    return 2;
  case BP_DTYPE_I8:
  case BP_DTYPE_U8:
  case BP_DTYPE_BOOL:
    return 1;
  default:
    return 0;
  }
}

/* ---- f16 and bf16 ---- */

typedef union float_bits_t {
  float f;
  uint32_t u;
} float_bits_t;

static float from_f16(uint16_t bits) {
  float_bits_t word;
  word.u = (bits & 0x7FFFu) << 13;
  if ((bits & 0x7C00u) == 0x7C00u)
    word.u |= 0x7F800000u; /* infinity and NaN */
  else
    word.f *= 0x1p112f; /* from the bias of f16 to that of f32 */
  word.u |= (bits & 0x8000u) << 16;
  return word.f;
}

static float from_bf16(uint16_t bits) {
  float_bits_t word;
  word.u = (uint32_t)bits << 16;
  return word.f;
}

/* Rounds to nearest even, in one step, into a sign, `exponent_bits` and
 * `mantissa_bits`. */
static uint16_t narrow(double value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t infinity = ((1u << exponent_bits) - 1u) << mantissa_bits;
  const uint32_t sign = signbit(value) ? 0x8000u : 0u;
  uint32_t bits;
  int exponent;
  if (isnan(value))
    return (uint16_t)(sign | infinity | 1u << (mantissa_bits - 1));
  if (isinf(value) || value == 0)
    return (uint16_t)(sign | (value == 0 ? 0u : infinity));
  frexp(value, &exponent);
  --exponent; /* |value| is in [2^exponent, 2^(exponent + 1)) */
  if (exponent > bias)
    return (uint16_t)(sign | infinity);
  if (exponent < 1 - bias)
    exponent = 1 - bias; /* subnormal */
  /* The leading one of a normal value adds 1 to the exponent field, and so
   * does a rounding that reaches the next power of two. */
  bits = (uint32_t)rint(ldexp(fabs(value), mantissa_bits - exponent));
  bits += (uint32_t)(exponent + bias - 1) << mantissa_bits;
  return (uint16_t)(sign | bits);
}

/* ---- Conversions between number classes ---- */

/* Truncates and saturates; NaN gives 0. */
static int64_t to_integer(double value, bp_dtype_t dtype) {
  const int bits = 8 * (int)ref_size(dtype);
  if (dtype == BP_DTYPE_BOOL)
    return value != 0;
  if (isnan(value))
    return 0;
  if (value >= ldexp(1, ref_is_unsigned(dtype) ? bits : bits - 1))
    return ref_extreme(dtype, 1).i;
  if (value <= (ref_is_unsigned(dtype) ? 0 : -ldexp(1, bits - 1)))
    return ref_extreme(dtype, 0).i;
  return ref_is_unsigned(dtype) ? (int64_t)(uint64_t)value : (int64_t)value;
}

/* To a double; when more than 53 bits then go on to a narrower float, those
 * that do not fit are kept as one sticky bit, so that it rounds right. */
static double to_float(int64_t value, bp_dtype_t from, bp_dtype_t to) {
  const int negative = value < 0 && !ref_is_unsigned(from);
  uint64_t magnitude = negative ? 0u - (uint64_t)value : (uint64_t)value;
  if (to != BP_DTYPE_F64 && magnitude >> 53)
    magnitude = (magnitude >> 11 | ((magnitude & 0x7FFu) != 0)) << 11;
  return negative ? -(double)magnitude : (double)magnitude;
}

ref_word_t ref_extreme(bp_dtype_t dtype, int highest) {
  const int bits = 8 * (int)ref_size(dtype);
  const int64_t top = (int64_t)(UINT64_MAX >> 1 >> (64 - bits));
  ref_word_t word;
  if (ref_is_float(dtype))
    word.f = highest ? HUGE_VAL : -HUGE_VAL;
  else if (dtype == BP_DTYPE_BOOL)
    word.i = highest;
  else if (ref_is_unsigned(dtype))
    word.i = highest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0;
  else
    word.i = highest ? top : -top - 1;
  return word;
}

/* ---- Loading and storing ---- */

#define LOAD(T, MEMBER, VALUE)                                                 \
  {                                                                            \
    const T *data = (const T *)tensor->data + start;                           \
    for (i = 0; i < count; ++i) {                                              \
      const T x = data[i * step];                                              \
      out[i].MEMBER = VALUE;                                                   \
    }                                                                          \
    break;                                                                     \
  }

void ref_load(const ref_tensor_t *tensor, int64_t start, int64_t step,
              int64_t count, ref_word_t *out) {
  int64_t i;
  switch (tensor->dtype) {
  case BP_DTYPE_F64:
    LOAD(double, f, x)
  case BP_DTYPE_F32:
    LOAD(float, f, x)
  case BP_DTYPE_F16:
    LOAD(uint16_t, f, from_f16(x))
  case BP_DTYPE_BF16:
    LOAD(uint16_t, f, from_bf16(x))
  case BP_DTYPE_I64:
  case BP_DTYPE_U64:
    LOAD(int64_t, i, x)
  case BP_DTYPE_I32:
    LOAD(int32_t, i, x)
  case BP_DTYPE_I16:
    LOAD(int16_t, i, x)
  case BP_DTYPE_I8:
    LOAD(int8_t, i, x)
  case BP_DTYPE_U32:
    LOAD(uint32_t, i, x)
  case BP_DTYPE_U16:
    LOAD(uint16_t, i, x)
  case BP_DTYPE_U8:
    LOAD(uint8_t, i, x)
  default: /* bool */
    LOAD(uint8_t, i, x != 0)
  }
}

#define STORE(T, VALUE)                                                        \
  {                                                                            \
    T *data = (T *)tensor->data + start;                                       \
    for (i = 0; i < count; ++i)                                                \
      data[i] = (T)(VALUE);                                                    \
    break;                                                                     \
  }

static void store_floats(const ref_tensor_t *tensor, int64_t start,
                         int64_t count, const ref_word_t *words) {
  int64_t i;
  switch (tensor->dtype) {
  case BP_DTYPE_F64:
    STORE(double, words[i].f)
  case BP_DTYPE_F32:
    STORE(float, words[i].f)
  case BP_DTYPE_F16:
    STORE(uint16_t, narrow(words[i].f, 5, 10))
  default: /* bf16 */
    STORE(uint16_t, narrow(words[i].f, 8, 7))
  }
}

static void store_integers(const ref_tensor_t *tensor, int64_t start,
                           int64_t count, const ref_word_t *words) {
  int64_t i;
  if (tensor->dtype == BP_DTYPE_BOOL)
    for (i = 0; i < count; ++i)
      ((uint8_t *)tensor->data)[start + i] = words[i].i != 0;
  else
    switch (ref_size(tensor->dtype)) {
    case 1:
      STORE(uint8_t, words[i].i)
    case 2:
      STORE(uint16_t, words[i].i)
    case 4:
      STORE(uint32_t, words[i].i)
    default:
      STORE(int64_t, words[i].i)
    }
}

void ref_store(const ref_tensor_t *tensor, int64_t start, int64_t count,
               const ref_word_t *words, bp_dtype_t from) {
  const int floats = ref_is_float(tensor->dtype);
  int64_t i;
  if (ref_is_float(from) == floats) {
    (floats ? store_floats : store_integers)(tensor, start, count, words);
    return;
  }
  for (i = 0; i < count; ++i) {
    ref_word_t word;
    if (floats) {
      word.f = to_float(words[i].i, from, tensor->dtype);
      store_floats(tensor, start + i, 1, &word);
    } else {
      word.i = to_integer(words[i].f, tensor->dtype);
      store_integers(tensor, start + i, 1, &word);
    }
  }
}

/* ---- Shapes ---- */

void ref_strides(const ref_tensor_t *tensor, int64_t *out_strides) {
  int64_t stride = 1;
  uint32_t axis = tensor->rank;
  while (axis-- > 0) {
    out_strides[axis] = stride;
    stride *= tensor->dims[axis];
  }
}

int64_t ref_product(const int64_t *dims, uint32_t count) {
  int64_t product = 1;
  uint32_t i;
  for (i = 0; i < count; ++i)
    product *= dims[i];
  return product;
}
