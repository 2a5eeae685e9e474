// SPDX-License-Identifier: Apache-2.0
#include "Foreign.h"

namespace emulatortest {
namespace {

Whole softmax(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      sum += std::exp(double(a[i]));
    for (int i = 0; i < 256; ++i)
      c[i] = std::exp(double(a[i])) / sum;
  });
}
Whole layernorm(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *b, double *c) {
    double mean = 0, square = 0;
    for (int i = 0; i < 256; ++i)
      mean += a[i] / 256.0;
    for (int i = 0; i < 256; ++i)
      square += (a[i] - mean) * (a[i] - mean) / 256.0;
    for (int i = 0; i < 256; ++i)
      c[i] = (a[i] - mean) / std::sqrt(square + 1e-5) * b[i];
  });
}
Whole sumAll(const In &in) {
  Whole made(kSize);
  for (int i = 0; i < kUsed; ++i)
    made[0] += in.a[size_t(i)];
  return made;
}
Whole histogram(const In &in) {
  Whole made(kSize);
  for (int i = 0; i < kUsed; ++i)
    made[size_t(in.intA(i) & 63)] += 1;
  return made;
}
Whole scan(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    double sum = 0;
    for (int i = 0; i < 256; ++i)
      c[i] = sum += a[i];
  });
}
Whole transpose(const In &in) {
  return each([&](int i) { return double(in.a[i % 32 * 32 + i / 32]); }, kSize);
}
Whole matmul(const In &in) {
  return each(
      [&](int i) {
        double sum = 0;
        for (int k = 0; k < 32; ++k)
          sum += double(in.a[i / 32 * 32 + k]) * in.b[k * 32 + i % 32];
        return sum;
      },
      kSize);
}
Whole compaction(const In &in) {
  Whole made(kSize);
  for (int block = 0; block < 32; ++block) {
    int to = block * 32;
    for (int i = block * 32; i < block * 32 + 32; ++i)
      if (i < kUsed && in.a[i] > 0)
        made[size_t(to++)] = in.a[i];
  }
  return made;
}
Whole localArray(const In &in) {
  return each([&](int i) {
    double stack[16], sum = 0;
    for (int k = 0; k < 16; ++k)
      stack[(k * 7 + i) % 16] = in.a[(i + k) % kUsed];
    for (int k = 0; k < 16; ++k)
      sum += stack[(in.intB(i) + k * 3) & 15] * k;
    return sum;
  });
}
Whole constants(const In &in) {
  const double table[8] = {1, 2, 4, 8, 0.5, 0.25, -1, 3};
  return each([&](int i) { return table[in.intB(i) & 7] * in.a[i] + 40; });
}
Whole bitonic(const In &in) {
  return blocksOf(in, 256, [](const float *a, const float *, double *c) {
    std::copy_n(a, 256, c);
    std::sort(c, c + 256);
  });
}
Whole atomicMaximum(const In &in) {
  Whole made(kSize);
  made[0] = *std::max_element(in.a.begin(), in.a.begin() + kUsed);
  return made;
}
Whole quantize(const In &in) {
  // Four bytes of each result.
  Whole made(kSize);
  for (int i = 0; i < kUsed / 4; ++i) {
    uint32_t word = 0;
    for (int k = 0; k < 4; ++k) {
      double q = std::nearbyint(double(in.a[i * 4 + k]) * 16);
      word |= uint32_t(uint8_t(int8_t(std::clamp(q, -128.0, 127.0)))) << 8 * k;
    }
    made[size_t(i)] = int32_t(word);
  }
  return made;
}
Whole groups(const In &in) {
  return each(
      [&](int i) {
        int base = i / 32 * 32, same = 0, most = 0;
        for (int k = base; k < base + 32; ++k) {
          same += (in.intA(k) & 3) == (in.intA(i) & 3);
          most = std::max(most, in.intA(k) & 3);
        }
        return double(same + 64 * most + (most == 3) * 1024);
      },
      kSize);
}
double halfOf(const std::vector<float> &from, int i) {
  uint16_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const char *>(from.data()) + i * 2, 2);
  int exponent = bits >> 10 & 31;
  double magnitude = exponent ? std::ldexp(1024 + (bits & 1023), exponent - 25)
                              : std::ldexp(bits & 1023, -24);
  return bits >> 15 ? -magnitude : magnitude;
}
Whole wmmaHalves(const In &in) {
  return each(
      [&](int i) {
        double sum = 1;
        for (int k = 0; k < 64; ++k)
          sum += halfOf(in.a, i / 16 * 64 + k) * halfOf(in.b, i % 16 * 64 + k);
        return sum / 2;
      },
      256);
}
Whole wmmaBytes(const In &in) {
  const auto *a = reinterpret_cast<const int8_t *>(in.a.data());
  const auto *b = reinterpret_cast<const int8_t *>(in.b.data());
  return each(
      [&](int i) {
        int sum = 7;
        for (int k = 0; k < 16; ++k)
          sum += a[i / 32 * 16 + k] * b[k * 32 + i % 32];
        return double(sum);
      },
      256);
}
Whole pipeline(const In &in) {
  return each(
      [&](int i) {
        int tile = i / 256 * 256;
        return double(in.a[tile + 255 - i % 256]);
      },
      kSize);
}

} // namespace

std::vector<Row> nvccBlocks() {
  return {
      {"softmax", 4, 256, false, false, 1e-5, softmax},
      {"layernorm", 4, 256, false, false, 1e-4, layernorm},
      {"sumAll", 4, 256, false, false, 1e-5, sumAll},
      {"histogram", 4, 256, true, true, 0, histogram},
      {"scan", 4, 256, false, false, 1e-4, scan},
      {"transpose", 1, 256, false, false, 0, transpose},
      {"matmul", 4, 256, false, false, 1e-5, matmul},
      {"compaction", 32, 32, false, false, 0, compaction},
      {"localArray", 4, 256, false, false, 1e-5, localArray},
      {"constants", 4, 256, false, false, 1e-6, constants},
      {"bitonic", 4, 256, false, false, 0, bitonic},
      {"atomicMaximum", 4, 256, false, false, 0, atomicMaximum},
      {"quantize", 4, 256, true, false, 0, quantize},
      {"groups", 4, 256, true, true, 0, groups},
      {"wmmaHalves", 1, 32, false, false, 1e-5, wmmaHalves},
      {"wmmaBytes", 1, 32, true, true, 0, wmmaBytes},
      {"pipeline", 1, 64, false, false, 0, pipeline},
  };
}

} // namespace emulatortest
