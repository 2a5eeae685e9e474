#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the polynomials of MathCoefficients.h. Needs mpmath.

    fit_math.py > MathCoefficients.h

Each is the interpolation of a function at the Chebyshev nodes of its range, in
high precision, so nearly the minimax polynomial; coefficients are rounded to
the type that uses them, lowest power first.
"""

from mpmath import (
    asin, atan, cos, erf, erfc, exp, expm1, floor, log, lu_solve, matrix, mp, mpf,
    pi, sin, sqrt, tanh,
)

mp.prec = 1400


def fit(function, low, high, degree):
    """Coefficients of the interpolation in powers of x."""
    low, high = mpf(low), mpf(high)
    count = degree + 1
    nodes = [
        (low + high) / 2
        + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count))
        for i in range(count)
    ]
    rows = matrix([[x**k for k in range(count)] for x in nodes])
    return list(lu_solve(rows, matrix([function(x) for x in nodes])))


def near_zero(function, series, radius="1e-8"):
    """`function`, but for tiny x the Taylor series of what it should be."""

    def value(x):
        if abs(x) < mpf(radius):
            return sum(c * x**k for k, c in enumerate(series))
        return function(x)

    return value


def root(function):
    """A function of x*x from an even function of x."""
    return lambda z: function(sqrt(z))


def table(name, kind, coefficients):
    digits = 17 if kind == "F64" else 9
    body = ", ".join(mp.nstr(c, digits + 3) for c in coefficients)
    print(f"inline constexpr double {name}{kind}[] = {{{body}}};")


half_ln2 = log(2) / 2 * mpf("1.001")
tail = near_zero(lambda x: (expm1(x) - x) / x**2, [mpf(1) / 2, mpf(1) / 6, mpf(1) / 24])
log_tail = near_zero(
    lambda f: (log(1 + f) - f + f**2 / 2) / f**3,
    [mpf(1) / 3, -mpf(1) / 4, mpf(1) / 5],
)
log_odd = near_zero(
    lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s**3, [mpf(2) / 3, 0, mpf(2) / 5]
)
sin_tail = near_zero(lambda x: (sin(x) - x) / x**3, [-mpf(1) / 6, 0, mpf(1) / 120])
cos_tail = near_zero(
    lambda x: (cos(x) - 1 + x**2 / 2) / x**4, [mpf(1) / 24, 0, -mpf(1) / 720]
)
atan_tail = near_zero(lambda x: (atan(x) - x) / x**3, [-mpf(1) / 3, 0, mpf(1) / 5])
asin_tail = near_zero(lambda x: (asin(x) - x) / x**3, [mpf(1) / 6, 0, mpf(3) / 40])
tanh_tail = near_zero(lambda x: (tanh(x) - x) / x**3, [-mpf(1) / 3, 0, mpf(2) / 15])
erf_ratio = near_zero(
    lambda x: erf(x) / x - 1, [2 / sqrt(pi) - 1, 0, -2 / sqrt(pi) / 3]
)


def scaled_erfc(u):
    """erfc(x) exp(x^2) for u = (x - 2) / (x + 2)."""
    x = 2 * (1 + u) / (1 - u)
    return erfc(x) * exp(x * x)


def mapped(x):
    return (mpf(x) - 2) / (mpf(x) + 2)


small = mpf("0.1716")  # (sqrt(2) - 1) / (sqrt(2) + 1)
quarter = pi / 4 * mpf("1.001")

print("// SPDX-License-Identifier: Apache-2.0")
print("//")
print("// MathCoefficients.h: polynomials of ExpandMath, lowest power first.")
print("// Written by fit_math.py.")
print("#ifndef BACKPLANE_LOWER_MATHCOEFFICIENTS_H")
print("#define BACKPLANE_LOWER_MATHCOEFFICIENTS_H")
print("\nnamespace bp::coefficients {\n")
print("// (exp(x) - 1 - x) / x^2 for |x| <= ln(2) / 2: enough for exp, and for expm1")
table("exp", "F32", fit(tail, -half_ln2, half_ln2, 4))
table("expM1", "F32", fit(tail, -half_ln2, half_ln2, 5))
table("exp", "F64", fit(tail, -half_ln2, half_ln2, 11))
print("// (tanh(x) - x) / x^3 in powers of x^2 for |x| <= 0.55")
table("tanh", "F64", fit(root(tanh_tail), 0, mpf("0.55") ** 2, 10))
print("// (log(1 + x) - x + x^2 / 2) / x^3 for 1 + x from sqrt(1/2) to sqrt(2)")
table("log", "F32", fit(log_tail, sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 9))
print("// (log((1 + s) / (1 - s)) - 2 s) / s^3 in powers of s^2, same range")
table("log", "F64", fit(root(log_odd), 0, small**2, 8))
print("// (sin(x) - x) / x^3 and (cos(x) - 1 + x^2 / 2) / x^4 in powers of x^2")
print("// for |x| <= pi / 4")
table("sin", "F64", fit(root(sin_tail), 0, quarter**2, 6))
table("cos", "F64", fit(root(cos_tail), 0, quarter**2, 6))
print("// (sin(x) - x) / x^3 in powers of x^2 for |x| <= pi / 2, for f32 by f64")
table("sinOfHalves", "F64", fit(root(sin_tail), 0, (2 * quarter) ** 2, 4))
print("// (atan(x) - x) / x^3 in powers of x^2 for |x| <= 1")
table("atan", "F32", fit(root(atan_tail), 0, 1, 9))
table("atan", "F64", fit(root(atan_tail), 0, 1, 21))
print("// (asin(x) - x) / x^3 in powers of x^2 for |x| <= 1 / 2")
table("asin", "F32", fit(root(asin_tail), 0, mpf(1) / 4, 6))
table("asin", "F64", fit(root(asin_tail), 0, mpf(1) / 4, 13))
print("// erf(x) / x - 1 in powers of x^2 for |x| <= 1.09 (f32) or 1")
table("erf", "F32", fit(root(erf_ratio), 0, mpf("1.09") ** 2, 7))
table("erf", "F64", fit(root(erf_ratio), 0, 1, 14))
print("// erfc(x) exp(x^2) in powers of (x - 2) / (x + 2), x from 1 to 6")
table("scaledErfc", "F64", fit(scaled_erfc, mapped(1), mapped(6), 18))
print("// The bits of 2 / pi behind the binary point, 27 at a time")
print("inline constexpr double twoOverPi[] = {")
print(", ".join(str(int(floor(2 / pi * mpf(2) ** (27 * i)) % 2**27)) for i in range(1, 45)))
print("};")
print("\n} // namespace bp::coefficients\n")
print("#endif // BACKPLANE_LOWER_MATHCOEFFICIENTS_H")
