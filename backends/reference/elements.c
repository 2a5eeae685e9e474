/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.c: elements of every dtype in and out of 64-bit words. Everything
 * that is particular to a dtype stands here, so that each op is written once
 * for floats and once for integers.
 */
#include "ref.h"

#include <math.h>
#include <string.h>

/* ---- What dtypes are made of ---- */

typedef enum kind_t { NONE, FLOAT, SIGNED, UNSIGNED, BOOL } kind_t;

/* The last members are those of floats narrower than f32: the highest finite
 * pattern, above which come infinity and NaN, or NaN only; what moves the
 * exponent bias to that of a double; and the pattern of too high numbers where
 * infinity does not come next: NaN, which has the bits of -0, or the highest.
 */
typedef struct format_t {
  kind_t kind;
  int bits, mantissa_bits, bias;
  uint32_t top;
  double scale;
  uint32_t beyond;
} format_t;

#define MINUS_ZERO 0x80u

static const format_t formats[BP_DTYPE_COUNT_] = {
    [BP_DTYPE_F64] = {FLOAT, 64, 0, 0, 0, 0, 0},
    [BP_DTYPE_F32] = {FLOAT, 32, 0, 0, 0, 0, 0},
    [BP_DTYPE_F16] = {FLOAT, 16, 10, 15, 0x7BFF, 0x1p1008, 0},
    [BP_DTYPE_BF16] = {FLOAT, 16, 7, 127, 0x7F7F, 0x1p896, 0},
    [BP_DTYPE_F8E4M3FN] = {FLOAT, 8, 3, 7, 0x7E, 0x1p1016, 0},
    [BP_DTYPE_F8E5M2] = {FLOAT, 8, 2, 15, 0x7B, 0x1p1008, 0},
    [BP_DTYPE_I64] = {SIGNED, 64, 0, 0, 0, 0, 0},
    [BP_DTYPE_I32] = {SIGNED, 32, 0, 0, 0, 0, 0},
    [BP_DTYPE_I16] = {SIGNED, 16, 0, 0, 0, 0, 0},
    [BP_DTYPE_I8] = {SIGNED, 8, 0, 0, 0, 0, 0},
    [BP_DTYPE_I4] = {SIGNED, 4, 0, 0, 0, 0, 0},
    [BP_DTYPE_U64] = {UNSIGNED, 64, 0, 0, 0, 0, 0},
    [BP_DTYPE_U32] = {UNSIGNED, 32, 0, 0, 0, 0, 0},
    [BP_DTYPE_U16] = {UNSIGNED, 16, 0, 0, 0, 0, 0},
    [BP_DTYPE_U8] = {UNSIGNED, 8, 0, 0, 0, 0, 0},
    [BP_DTYPE_U4] = {UNSIGNED, 4, 0, 0, 0, 0, 0},
    [BP_DTYPE_BOOL] = {BOOL, 8, 0, 0, 0, 0, 0},
    [BP_DTYPE_F8E4M3FNUZ] = {FLOAT, 8, 3, 8, 0x7F, 0x1p1015, MINUS_ZERO},
    [BP_DTYPE_F8E5M2FNUZ] = {FLOAT, 8, 2, 16, 0x7F, 0x1p1007, MINUS_ZERO},
    [BP_DTYPE_F8E8M0FNU] = {FLOAT, 8, 0, 127, 0xFE, 0, 0xFF},
    [BP_DTYPE_F4E2M1FN] = {FLOAT, 4, 1, 1, 7, 0x1p1022, 7},
};

int ref_is_float(bp_dtype_t dtype) { return formats[dtype].kind == FLOAT; }

int ref_is_unsigned(bp_dtype_t dtype) {
  return formats[dtype].kind == UNSIGNED;
}

int ref_bits(bp_dtype_t dtype) {
  return dtype < BP_DTYPE_COUNT_ ? formats[dtype].bits : 0;
}

int64_t ref_bytes(const ref_tensor_t *tensor) {
  return (tensor->count * ref_bits(tensor->dtype) + 7) / 8;
}

/* ---- Narrow floats ---- */

static double widen(uint32_t bits, const format_t *format) {
  const uint32_t sign = 1u << (format->bits - 1);
  const uint32_t rest = bits & (sign - 1);
  ref_word_t word;
  if (format->beyond == MINUS_ZERO && bits == MINUS_ZERO)
    return NAN;
  word.i = (int64_t)rest << (52 - format->mantissa_bits);
  word.f *= format->scale;
  if (rest > format->top) /* infinity has no mantissa */
    word.f = rest & ((1u << format->mantissa_bits) - 1) ? NAN : HUGE_VAL;
  return bits & sign ? -word.f : word.f;
}

/* Rounds to nearest even in one step; beyond the top to infinity, to NaN in
 * formats without infinities, and to the top in the one without NaN. */
static uint32_t narrow(double value, const format_t *format) {
  const uint32_t sign = signbit(value) ? 1u << (format->bits - 1) : 0;
  uint32_t bits;
  int exponent;
  if (isnan(value) && format->beyond) /* 0 where there is no NaN */
    return format->beyond == format->top ? 0 : format->beyond;
  if (isnan(value))
    return sign | (format->top + 1) | 1u << (format->mantissa_bits - 1);
  if (isinf(value))
    return sign | (format->beyond ? format->beyond : format->top + 1);
  frexp(value, &exponent);
  --exponent; /* |value| is in [2^exponent, 2^(exponent + 1)) */
  if (value == 0 || exponent < 1 - format->bias)
    exponent = 1 - format->bias; /* subnormal */
  /* The leading one of a normal value adds 1 to the exponent field, and so
   * does a rounding that reaches the next power of two. */
  bits = (uint32_t)rint(ldexp(fabs(value), format->mantissa_bits - exponent));
  bits += (uint32_t)(exponent + format->bias - 1) << format->mantissa_bits;
  if (format->beyond == MINUS_ZERO && bits == 0)
    return 0;
  if (bits > format->top)
    bits = format->beyond ? format->beyond : format->top + 1;
  return sign | bits;
}

/* Powers of two: halfway between two of them is the higher one, and what is
 * below the least, also what is negative, is the least. */
static double widen_power(uint32_t bits) {
  return bits == 0xFF ? NAN : ldexp(1, (int)bits - 127);
}

static uint32_t narrow_power(double value) {
  double fraction;
  int exponent;
  if (!isfinite(value))
    return 0xFF;
  if (value <= 0x1p-127)
    return 0;
  fraction = frexp(value, &exponent); /* in [1/2, 1) */
  exponent -= fraction < 0.75;
  return exponent > 127 ? 0xFF : (uint32_t)(exponent + 127);
}

/* ---- Extremes ---- */

ref_word_t ref_extreme(bp_dtype_t dtype, int highest) {
  const format_t *format = &formats[dtype];
  const uint64_t top = UINT64_MAX >> (64 - format->bits);
  ref_word_t word;
  if (dtype == BP_DTYPE_F8E8M0FNU) {
    word.f = highest ? 0x1p127 : 0x1p-127;
  } else if (format->kind == FLOAT) {
    const int infinite = dtype != BP_DTYPE_F8E4M3FN && !format->beyond;
    word.f = infinite ? HUGE_VAL : widen(format->top, format);
    word.f = highest ? word.f : -word.f;
  } else if (format->kind == SIGNED) {
    word.i = highest ? (int64_t)(top >> 1) : -(int64_t)(top >> 1) - 1;
  } else {
    word.i = !highest ? 0 : format->kind == BOOL ? 1 : (int64_t)top;
  }
  return word;
}

/* ---- Conversions between number classes ---- */

/* Truncates and saturates; NaN gives 0. */
static int64_t to_integer(double value, bp_dtype_t dtype) {
  const format_t *format = &formats[dtype];
  const int magnitude = format->bits - (format->kind == SIGNED);
  if (format->kind == BOOL)
    return value != 0;
  if (isnan(value))
    return 0;
  if (value >= ldexp(1, magnitude))
    return ref_extreme(dtype, 1).i;
  if (value <= (format->kind == SIGNED ? -ldexp(1, magnitude) : 0))
    return ref_extreme(dtype, 0).i;
  return format->kind == SIGNED ? (int64_t)value : (int64_t)(uint64_t)value;
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

void ref_convert(ref_word_t *words, int64_t count, bp_dtype_t from,
                 bp_dtype_t to) {
  int64_t i;
  if (ref_is_float(from) == ref_is_float(to))
    return;
  for (i = 0; i < count; ++i)
    if (ref_is_float(to))
      words[i].f = to_float(words[i].i, from, to);
    else
      words[i].i = to_integer(words[i].f, to);
}

/* ---- Loading and storing ---- */

#define LOAD(T, MEMBER, VALUE)                                                 \
  for (i = 0; i < count; ++i) {                                                \
    const T x = ((const T *)data)[start + i * step];                           \
    out[i].MEMBER = VALUE;                                                     \
  }                                                                            \
  break;

static void load(const void *data, bp_dtype_t dtype, int64_t start,
                 int64_t step, int64_t count, ref_word_t *out) {
  const format_t *format = &formats[dtype];
  int64_t i;
  switch (dtype) {
  case BP_DTYPE_F64:
    LOAD(double, f, x)
  case BP_DTYPE_F32:
    LOAD(float, f, x)
  case BP_DTYPE_F16:
  case BP_DTYPE_BF16:
    LOAD(uint16_t, f, widen(x, format))
  case BP_DTYPE_F8E4M3FN:
  case BP_DTYPE_F8E5M2:
  case BP_DTYPE_F8E4M3FNUZ:
  case BP_DTYPE_F8E5M2FNUZ:
    LOAD(uint8_t, f, widen(x, format))
  case BP_DTYPE_F8E8M0FNU:
    LOAD(uint8_t, f, widen_power(x))
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
  case BP_DTYPE_BOOL:
    LOAD(uint8_t, i, x != 0)
  default: /* two in a byte, the low half first */
    for (i = 0; i < count; ++i) {
      const int64_t at = start + i * step;
      const int x = ((const uint8_t *)data)[at / 2] >> at % 2 * 4 & 15;
      if (dtype == BP_DTYPE_F4E2M1FN)
        out[i].f = widen((uint32_t)x, format);
      else
        out[i].i = dtype == BP_DTYPE_I4 ? (x ^ 8) - 8 : x;
    }
  }
}

#define STORE(T, VALUE)                                                        \
  for (i = 0; i < count; ++i)                                                  \
    ((T *)data)[start + i * step] = (T)(VALUE);                                \
  break;

static void store(void *data, bp_dtype_t dtype, int64_t start, int64_t step,
                  int64_t count, const ref_word_t *words) {
  const format_t *format = &formats[dtype];
  int64_t i;
  switch (dtype) {
  case BP_DTYPE_F64:
    STORE(double, words[i].f)
  case BP_DTYPE_F32:
    STORE(float, words[i].f)
  case BP_DTYPE_F16:
  case BP_DTYPE_BF16:
    STORE(uint16_t, narrow(words[i].f, format))
  case BP_DTYPE_F8E4M3FN:
  case BP_DTYPE_F8E5M2:
  case BP_DTYPE_F8E4M3FNUZ:
  case BP_DTYPE_F8E5M2FNUZ:
    STORE(uint8_t, narrow(words[i].f, format))
  case BP_DTYPE_F8E8M0FNU:
    STORE(uint8_t, narrow_power(words[i].f))
  case BP_DTYPE_I64:
  case BP_DTYPE_U64:
    STORE(int64_t, words[i].i)
  case BP_DTYPE_I32:
  case BP_DTYPE_U32:
    STORE(uint32_t, words[i].i)
  case BP_DTYPE_I16:
  case BP_DTYPE_U16:
    STORE(uint16_t, words[i].i)
  case BP_DTYPE_I8:
  case BP_DTYPE_U8:
    STORE(uint8_t, words[i].i)
  case BP_DTYPE_BOOL:
    STORE(uint8_t, words[i].i != 0)
  default:
    for (i = 0; i < count; ++i) {
      const int64_t at = start + i * step;
      const int shift = (int)(at % 2) * 4;
      uint8_t *byte = (uint8_t *)data + at / 2;
      const int64_t x = dtype == BP_DTYPE_F4E2M1FN ? narrow(words[i].f, format)
                                                   : words[i].i & 15;
      *byte = (uint8_t)((*byte & 0xF0 >> shift) | x << shift);
    }
  }
}

void ref_load(const ref_tensor_t *tensor, int64_t start, int64_t step,
              int64_t count, ref_word_t *out) {
  load(tensor->data, tensor->dtype, start, step, count, out);
}

void ref_store(const ref_tensor_t *tensor, int64_t start, int64_t step,
               int64_t count, const ref_word_t *words) {
  store(tensor->data, tensor->dtype, start, step, count, words);
}

void ref_copy(const ref_tensor_t *to, int64_t to_start, int64_t to_step,
              const ref_tensor_t *from, int64_t from_start, int64_t from_step,
              int64_t count) {
  static const bp_dtype_t raw[] = {BP_DTYPE_U4, BP_DTYPE_U8, BP_DTYPE_U16,
                                   BP_DTYPE_U32, BP_DTYPE_U64};
  const int64_t size = ref_bits(to->dtype) / 8;
  ref_word_t words[REF_BLOCK];
  bp_dtype_t dtype;
  int width = 0;
  if (size > 0 && to_step == 1 && from_step == 1) {
    memcpy((char *)to->data + to_start * size,
           (const char *)from->data + from_start * size,
           (size_t)(count * size));
    return;
  }
  while (4 << width < ref_bits(to->dtype))
    ++width;
  dtype = raw[width];
  for (; count > 0; count -= REF_BLOCK) {
    const int64_t n = ref_lower(count, REF_BLOCK);
    load(from->data, dtype, from_start, from_step, n, words);
    store(to->data, dtype, to_start, to_step, n, words);
    from_start += n * from_step;
    to_start += n * to_step;
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

int64_t ref_lower(int64_t a, int64_t b) { return a < b ? a : b; }
