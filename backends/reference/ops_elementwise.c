/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_elementwise.c: the scalar functions, and the one loop that runs them.
 * Floats of every width are computed in doubles and rounded once.
 */
#include "ref.h"

#include <math.h>

/* ---- Floats ---- */

/* 1 for any x where y is 0, and for any y where x is 1: C libraries make NaN of
 * a signalling NaN there. */
static double f_pow(double x, double y) {
  return y == 0 || x == 1 ? 1 : pow(x, y);
}

static double f_neg(double a) { return -a; }
static double f_sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : a; }
static double f_is_nan(double a) { return isnan(a) ? 1 : 0; }
static double f_is_inf(double a) { return isinf(a) ? 1 : 0; }
static double f_rsqrt(double a) { return 1 / sqrt(a); }
static double f_recip(double a) { return 1 / a; }
static double f_same(double a) { return a; }
static double f_add(double a, double b) { return a + b; }
static double f_sub(double a, double b) { return a - b; }
static double f_mul(double a, double b) { return a * b; }
static double f_div(double a, double b) { return a / b; }
static double f_eq(double a, double b) { return a == b; }
static double f_ne(double a, double b) { return a != b; }
static double f_lt(double a, double b) { return a < b; }
static double f_le(double a, double b) { return a <= b; }
static double f_gt(double a, double b) { return a > b; }
static double f_ge(double a, double b) { return a >= b; }

static double f_min(double a, double b) {
  if (isnan(a) || isnan(b))
    return isnan(a) ? a : b;
  if (a == b)
    return signbit(a) ? a : b;
  return a < b ? a : b;
}

static double f_max(double a, double b) {
  if (isnan(a) || isnan(b))
    return isnan(a) ? a : b;
  if (a == b)
    return signbit(a) ? b : a;
  return a > b ? a : b;
}

/* ---- Integers and bool ---- */

/* Results wrap when they are stored in a narrower dtype. */
#define INTEGER(NAME, VALUE)                                                   \
  static int64_t NAME(ref_op_t *op, int64_t a, int64_t b) {                    \
    (void)op;                                                                  \
    (void)b;                                                                   \
    return VALUE;                                                              \
  }
#define WRAP(A, OPERATOR, B) (int64_t)((uint64_t)(A)OPERATOR(uint64_t)(B))

static int less(const ref_op_t *op, int64_t a, int64_t b) {
  return ref_is_unsigned(op->dtype) ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Whether a shift by b, which counts as unsigned, leaves no bit. */
static int beyond(const ref_op_t *op, int64_t b) {
  return b < 0 || b >= ref_bits(op->dtype);
}

INTEGER(i_same, a)
INTEGER(i_neg, WRAP(0, -, a))
INTEGER(i_abs, less(op, a, 0) ? WRAP(0, -, a) : a)
INTEGER(i_not, op->dtype == BP_DTYPE_BOOL ? !a : ~a)
INTEGER(i_add, WRAP(a, +, b))
INTEGER(i_sub, WRAP(a, -, b))
INTEGER(i_mul, WRAP(a, *, b))
INTEGER(i_min, less(op, b, a) ? b : a)
INTEGER(i_max, less(op, a, b) ? b : a)
INTEGER(i_and, a &b)
INTEGER(i_or, a | b)
INTEGER(i_xor, a ^ b)
INTEGER(i_shl, beyond(op, b) ? 0 : WRAP(a, <<, b))
INTEGER(i_eq, a == b)
INTEGER(i_ne, a != b)
INTEGER(i_lt, less(op, a, b))
INTEGER(i_le, !less(op, b, a))
INTEGER(i_gt, less(op, b, a))
INTEGER(i_ge, !less(op, a, b))

static int64_t i_shr(ref_op_t *op, int64_t a, int64_t b) {
  const int fills = a < 0 && !ref_is_unsigned(op->dtype); /* with ones */
  const uint64_t bits = fills ? ~(uint64_t)a : (uint64_t)a;
  const uint64_t shifted = beyond(op, b) ? 0 : bits >> b;
  return (int64_t)(fills ? ~shifted : shifted);
}

static int64_t i_div(ref_op_t *op, int64_t a, int64_t b) {
  if (b == 0) {
    ref_fail(op, BP_STATUS_OUT_OF_RANGE, "an integer was divided by zero");
    return 0;
  }
  if (ref_is_unsigned(op->dtype))
    return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? WRAP(0, -, a) : a / b; /* INT64_MIN / -1 wraps */
}

static int64_t i_rem(ref_op_t *op, int64_t a, int64_t b) {
  if (b == 0) {
    ref_fail(op, BP_STATUS_OUT_OF_RANGE, "an integer was divided by zero");
    return 0;
  }
  if (ref_is_unsigned(op->dtype))
    return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}

/* ---- The table ---- */

static const ref_scalar_t scalars[] = {
    {"neg", f_neg, 0, i_neg},    {"abs", fabs, 0, i_abs},
    {"sign", f_sign, 0, 0},      {"floor", floor, 0, 0},
    {"ceil", ceil, 0, 0},        {"round_even", rint, 0, 0},
    {"trunc", trunc, 0, 0},      {"not", 0, 0, i_not},
    {"is_nan", f_is_nan, 0, 0},  {"is_inf", f_is_inf, 0, 0},
    {"sqrt", sqrt, 0, 0},        {"rsqrt", f_rsqrt, 0, 0},
    {"recip", f_recip, 0, 0},    {"exp", exp, 0, 0},
    {"log", log, 0, 0},          {"log1p", log1p, 0, 0},
    {"expm1", expm1, 0, 0},      {"sin", sin, 0, 0},
    {"cos", cos, 0, 0},          {"tan", tan, 0, 0},
    {"asin", asin, 0, 0},        {"acos", acos, 0, 0},
    {"atan", atan, 0, 0},        {"sinh", sinh, 0, 0},
    {"cosh", cosh, 0, 0},        {"tanh", tanh, 0, 0},
    {"asinh", asinh, 0, 0},      {"acosh", acosh, 0, 0},
    {"atanh", atanh, 0, 0},      {"shl", 0, 0, i_shl},
    {"shr", 0, 0, i_shr},        {"erf", erf, 0, 0},
    {"cast", f_same, 0, i_same}, {"add", 0, f_add, i_add},
    {"sub", 0, f_sub, i_sub},    {"mul", 0, f_mul, i_mul},
    {"min", 0, f_min, i_min},    {"max", 0, f_max, i_max},
    {"div", 0, f_div, i_div},    {"rem", 0, fmod, i_rem},
    {"pow", 0, f_pow, 0},        {"and", 0, 0, i_and},
    {"or", 0, 0, i_or},          {"xor", 0, 0, i_xor},
    {"eq", 0, f_eq, i_eq},       {"ne", 0, f_ne, i_ne},
    {"lt", 0, f_lt, i_lt},       {"le", 0, f_le, i_le},
    {"gt", 0, f_gt, i_gt},       {"ge", 0, f_ge, i_ge},
};

const ref_scalar_t *ref_scalar(bp_string_t name) {
  uint64_t i;
  for (i = 0; i < sizeof(scalars) / sizeof(scalars[0]); ++i)
    if (bp_text_is(name, scalars[i].name))
      return &scalars[i];
  return 0;
}

void ref_combine(const ref_scalar_t *scalar, ref_op_t *op, ref_word_t *sums,
                 int64_t step, const ref_word_t *words, int64_t count) {
  int64_t i;
  if (ref_is_float(op->dtype))
    for (i = 0; i < count; ++i)
      sums[i * step].f = scalar->binary(sums[i * step].f, words[i].f);
  else
    for (i = 0; i < count; ++i)
      sums[i * step].i = scalar->integer(op, sums[i * step].i, words[i].i);
}

/* ---- The loop ---- */

bp_status_t ref_elementwise(ref_op_t *op) {
  const ref_tensor_t *a = ref_operand(op, 0);
  const ref_tensor_t *b = ref_operand(op, op->info.operand_count > 1);
  const ref_scalar_t *scalar;
  bp_attribute_t direction;
  ref_word_t x[REF_BLOCK], y[REF_BLOCK];
  int64_t start, i;
  op->table->attribute(op->graph, op->index, bp_text("direction"), &direction);
  scalar = ref_scalar(direction.kind == BP_ATTRIBUTE_STRING ? direction.string
                                                            : op->info.name);
  for (start = 0; start < a->count; start += REF_BLOCK) {
    const int64_t count = ref_lower(a->count - start, REF_BLOCK);
    ref_load(a, start, 1, count, x);
    if (b != a)
      ref_load(b, start, 1, count, y);
    if (ref_is_float(op->dtype) && scalar->unary)
      for (i = 0; i < count; ++i)
        x[i].f = scalar->unary(x[i].f);
    else
      ref_combine(scalar, op, x, 1, b != a ? y : x, count);
    ref_convert(x, count, op->dtype, op->result->dtype);
    ref_store(op->result, start, 1, count, x);
  }
  return BP_STATUS_OK;
}
