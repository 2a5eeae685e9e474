// SPDX-License-Identifier: Apache-2.0
#include "Roof.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace backplane {
namespace {

/// Sums that do not depend on each other: more than the latency of an FMA times
/// the units there are, and few enough for 16 registers.
constexpr int sums = 10;
constexpr int rounds = 20000;
/// FLOPs of a chunk with vectors of this many floats.
constexpr double flopsOf(int lanes) { return 2.0 * rounds * sums * lanes; }

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double multiplyAdd512() {
  __m512 factor = _mm512_set1_ps(0.5f), summand = _mm512_set1_ps(1), sum[sums];
  std::fill_n(sum, sums, summand);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (__m512 &each : sum)
      each = _mm512_fmadd_ps(each, factor, summand);
  // Each as a value: an address would keep the array in memory.
  for (auto each : sum)
    asm volatile("" : : "x"(each));
  return flopsOf(16);
}

[[gnu::target("avx2,fma")]] double multiplyAdd256() {
  __m256 factor = _mm256_set1_ps(0.5f), summand = _mm256_set1_ps(1), sum[sums];
  std::fill_n(sum, sums, summand);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (__m256 &each : sum)
      each = _mm256_fmadd_ps(each, factor, summand);
  // Each as a value: an address would keep the array in memory.
  for (auto each : sum)
    asm volatile("" : : "x"(each));
  return flopsOf(8);
}
#endif

/// With the vectors that every CPU of this architecture has.
double multiplyAdd128() {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector factor = {0.5f, 0.5f, 0.5f, 0.5f}, summand = {1, 1, 1, 1}, sum[sums];
  std::fill_n(sum, sums, summand);
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (Vector &each : sum)
      each = each * factor + summand;
  for (auto each : sum) {
    float first = each[0];
    asm volatile("" : : "r"(first));
  }
  return flopsOf(4);
}

double (*widestMultiplyAdd())() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return multiplyAdd512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiplyAdd256;
#endif
  return multiplyAdd128;
}

/// Does pieces of work for a while and gives the amount per nanosecond of the
/// fastest, so that what else runs on the machine hardly counts.
double rateOf(const std::function<double()> &piece) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds enough(30);
  double best = 0;
  auto begin = Clock::now(), now = begin;
  do {
    auto start = now;
    double done = piece();
    now = Clock::now();
    best = std::max(
        best,
        done / std::chrono::duration<double, std::nano>(now - start).count());
  } while (now - begin < enough);
  return best;
}

/// The best of a few rounds in which all threads work at once. `pieces` makes
/// the work of one thread.
double bestRate(unsigned threads,
                const std::function<std::function<double()>()> &pieces) {
  constexpr int tries = 3;
  std::vector<double> rates(size_t(threads) * tries);
  std::vector<std::jthread> workers;
  for (unsigned thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      auto piece = pieces();
      for (int i = 0; i < tries; ++i)
        rates[size_t(i) * threads + thread] = rateOf(piece);
    });
  workers.clear();
  double best = 0;
  for (auto at = rates.begin(); at != rates.end(); at += threads)
    best = std::max(best, std::reduce(at, at + threads));
  return best;
}

/// Copies between two pieces of memory that no cache holds.
std::function<double()> copyBetween(size_t bytes) {
  return [bytes, from = std::vector<char>(bytes, 1),
          to = std::vector<char>(bytes)]() mutable {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    return 2.0 * double(bytes);
  };
}

} // namespace

double Roof::ns(double flops, double bytes) const {
  return std::max(flops / flopsPerNs, bytes / bytesPerNs);
}

Roof measureRoof(unsigned threads) {
  constexpr size_t mega = size_t(1) << 20;
  size_t bytes = std::max<size_t>(8 * mega, 128 * mega / threads);
  Roof roof{.threads = threads};
  roof.flopsPerNs =
      bestRate(threads, [] { return std::function(widestMultiplyAdd()); });
  roof.bytesPerNs = bestRate(threads, [&] { return copyBetween(bytes); });
  return roof;
}

} // namespace backplane
