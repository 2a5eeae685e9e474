# SPDX-License-Identifier: Apache-2.0
"""What random ops of ONNX must draw, computed apart from the SDK: Philox 4x32-10
(Salmon et al. 2011), keys and counters as docs/explanation/shapes.md has them."""
import struct

import numpy

MASK = numpy.uint64(0xFFFFFFFF)
WIDTH = numpy.uint64(32)
DIGITS = {"f8": 53, "f4": 24, "f2": 11}


def philox(counter, key):
    """Four words, each an integer or an array of u64, and two words of key."""
    words = [numpy.asarray(word, "u8") for word in counter]
    low, high = key
    for _ in range(10):
        first = words[0] * numpy.uint64(0xD2511F53)
        second = words[2] * numpy.uint64(0xCD9E8D57)
        words = [(second >> WIDTH) ^ words[1] ^ numpy.uint64(low), second & MASK,
                 (first >> WIDTH) ^ words[3] ^ numpy.uint64(high), first & MASK]
        low, high = (low + 0x9E3779B9) % 2**32, (high + 0xBB67AE85) % 2**32
    return words


def split(value):
    return value % 2**32, value >> 32


def random_bits(key, counter, count):
    blocks = numpy.arange((count + 3) // 4, dtype="u8")
    words = philox([blocks & MASK, blocks >> WIDTH, *split(counter)], split(key))
    return numpy.stack(numpy.broadcast_arrays(*words), -1).reshape(-1)[:count]


def inside_loop(counter, iteration):
    """The counter of an iteration."""
    low, high = random_bits(counter, iteration, 2)
    return int(low) | int(high) << 32


class Draw:
    """The draws of one node: of a seed, or of its number among those without."""

    def __init__(self, counter, seed=None, number=0):
        self.counter = counter
        self.key = number | 1 << 32
        if isinstance(seed, int):
            self.key = seed % 2**32
        elif seed is not None:
            self.key = struct.unpack("<I", struct.pack("<f", seed))[0]

    def bits(self, count):
        drawn = random_bits(self.key, self.counter, count)
        self.key += 1 << 33
        return drawn

    def whole(self, digits, count):
        top = self.bits(count) >> numpy.uint64(32 - min(digits, 32))
        if digits <= 32:
            return top
        rest = numpy.uint64(digits - 32)
        return (top << rest) + self.whole(digits - 32, count)

    def uniform(self, dtype, count):
        digits = DIGITS[dtype]
        return self.whole(digits, count).astype("f8") / 2.0**digits

    def normal(self, dtype, count):
        digits = 53 if dtype == "f8" else 32
        first = (self.whole(digits, count).astype("f8") + 1) / 2.0**digits
        turn = self.uniform("f8" if dtype == "f8" else "f4", count)
        return numpy.sqrt(-2 * numpy.log(first)) * numpy.cos(2 * numpy.pi * turn)
