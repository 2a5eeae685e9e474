#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes hard_points.txt: functions at arguments where implementations go
wrong, by mpmath (PyPI) with 400 bits.

One line per point: op, argument(s) and the result as the sum of two f64, the
first the correctly rounded one.
"""
import math
import pathlib
import random

import mpmath

mpmath.mp.prec = 1400
SMALL = [5e-324, 2.0**-1022, 2.0**-149, 2.0**-126, 1e-20, 2.0**-53, 2.0**-27,
         2.0**-26, 1e-5, 2.0**-12]
ONES = [1.0, math.nextafter(1, 0), math.nextafter(1, 2), 1 - 2.0**-24,
        1 + 2.0**-23, 0.5, 2.0, 0.75, 1.5]
LARGE = [10.0, 88.7, 88.73, 103.9, 127.5, 700.0, 709.78, 709.0, 744.4]
# Worst cases for range reduction: near multiples of pi/2 (W. Kahan, J.-M.
# Muller), and plain large ones.
ANGLES = [math.pi, math.pi / 2, math.pi / 4, 3 * math.pi / 4, 22.0,
          6381956970095103 * 2.0**797, 5.319372648326541416707296656673541083813e255,
          1e22, 2.0**45, 2.0**100, 2.0**1023, 113 * math.pi, 710.0, 1e5, 16367173.0 * 2.0**72]

FUNCTIONS = {
    "sqrt": (mpmath.sqrt, SMALL + ONES + [2.0**1023, 3.0]),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), SMALL[1:] + ONES + [2.0**1023, 3.0]),
    "recip": (lambda x: 1 / x, SMALL[1:] + ONES + [3.0, 49.0, 2.0**1000]),
    "exp": (mpmath.exp, SMALL + ONES + LARGE[:-1]),
    "expm1": (mpmath.expm1, SMALL + ONES + LARGE[:6]),
    "log": (mpmath.log, SMALL + ONES + LARGE + [2.0**1023]),
    "log1p": (mpmath.log1p, SMALL + ONES + LARGE + [2.0**1023]),
    "sin": (mpmath.sin, SMALL + ONES + ANGLES),
    "cos": (mpmath.cos, SMALL + ONES + ANGLES),
    "tan": (mpmath.tan, SMALL + ONES + ANGLES),
    "asin": (mpmath.asin, SMALL + ONES[:2] + [0.5, 0.75, 1 - 2.0**-24]),
    "acos": (mpmath.acos, SMALL + ONES[:2] + [0.5, 0.75, 1 - 2.0**-24]),
    "atan": (mpmath.atan, SMALL + ONES + LARGE + [2.0**1023]),
    "sinh": (mpmath.sinh, SMALL + ONES + LARGE[:6]),
    "cosh": (mpmath.cosh, SMALL + ONES + LARGE[:6]),
    "tanh": (mpmath.tanh, SMALL + ONES + LARGE + [0.55, 0.625, 9.01, 19.06]),
    "asinh": (mpmath.asinh, SMALL + ONES + LARGE + [2.0**1023]),
    "acosh": (mpmath.acosh, [1.0, math.nextafter(1, 2), 1 + 2.0**-23, 1.5, 2.0]
              + LARGE + [2.0**1023]),
    "atanh": (mpmath.atanh, SMALL + [ONES[1], 0.5, 0.75, 1 - 2.0**-24]),
    "erf": (mpmath.erf, SMALL + ONES + [0.84375, 1.25, 2.857, 3.9, 5.9]),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), SMALL + ONES + LARGE[:7]),
}
POWERS = [(1 + 2.0**-52, 2.0**52), (1 - 2.0**-53, -2.0**53), (2.0, 0.5),
          (10.0, -20.0), (3.0, 40.0), (0.9999, 7e6), (1.0000001, 7e9),
          (2.0**-1022, 0.5), (1e300, 1.02), (-3.0, 3.0), (-2.0, 62.0)]
SIGNED = {"expm1", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
          "cosh", "tanh", "asinh", "atanh", "erf", "exp", "recip", "sigmoid"}


def valid(op, x):
    return not (op == "log1p" and x <= -1)


def pair(value):
    high = float(value)
    low = float(value - mpmath.mpf(high)) if math.isfinite(high) else 0.0
    return f"{high.hex()} {low.hex()}"


def arguments(op, points, rng):
    scatter = {"acosh": (1, 50), "asin": (0, 1), "acos": (0, 1), "atanh": (0, 1)}
    low, high = scatter.get(op, (1e-3, 20))
    points = points + [rng.uniform(low, high) for _ in range(6)]
    both = points + ([-x for x in points] if op in SIGNED else [])
    return [x for x in both if valid(op, x)]


def main():
    rng = random.Random(1)
    lines = []
    for op, (function, points) in FUNCTIONS.items():
        for x in arguments(op, points, rng):
            lines.append(f"{op} {x.hex()} {pair(function(mpmath.mpf(x)))}")
    for x, y in POWERS:
        result = mpmath.power(mpmath.mpf(x), mpmath.mpf(y))
        lines.append(f"pow {x.hex()} {y.hex()} {pair(result)}")
    out = pathlib.Path(__file__).with_name("hard_points.txt")
    out.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} points in {out.name}")


if __name__ == "__main__":
    main()
