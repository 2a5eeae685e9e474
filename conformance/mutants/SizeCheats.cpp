// SPDX-License-Identifier: Apache-2.0
//
// Mutants 180 to 209: plug-ins that are wrong from some size on, where each
// begins drawn anew for every run, up to what the hunt's budget of
// multiply-adds lets the suite ask.
#include "Cheats.h"

#include <algorithm>

namespace backplane::mutants {

using namespace conformance;

namespace {

// ---- what an op is asked ----

int64_t pixelsOf(const Tensor &tensor) {
  return static_cast<int64_t>(
      countOf({tensor.dims.begin() + 2, tensor.dims.end()}));
}

size_t largestOf(const Call &call) {
  size_t most = 0;
  for (const Tensor *result : call.results)
    most = std::max(most, result->elementCount());
  return most;
}

// ---- products ----

bool hasManyRows(const Call &call) {
  return productOf(call).m >= threshold(call, 180, 129, 20000);
}
bool hasManyColumns(const Call &call) {
  return productOf(call).n >= threshold(call, 181, 129, 20000);
}
bool hasManyTerms(const Call &call) {
  return productOf(call).k >= threshold(call, 182, 129, 20000);
}
bool isLargeAllRound(const Call &call) {
  Product product = productOf(call);
  return std::min({product.m, product.n, product.k}) >=
         threshold(call, 183, 129, 320);
}
bool isMuchWork(const Call &call) {
  Product product = productOf(call);
  return product.m * product.n * product.k >= threshold(call, 184, 3e5L, 4e7L);
}
bool hasManyBatchAxes(const Call &call) {
  return productOf(call).batchRank >=
             static_cast<size_t>(threshold(call, 185, 2, 4.99L)) &&
         largestOf(call) > 4096;
}
bool hasManyBatches(const Call &call) {
  return productOf(call).batches >= threshold(call, 186, 8, 60);
}

/// As conformance/cases has it, which no plug-in links.
bool isPrime(int64_t number) {
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return number > 1;
}
bool isLargePrime(const Call &call) {
  Product product = productOf(call);
  return product.m > threshold(call, 187, 66, 300) && isPrime(product.m) &&
         isPrime(product.n);
}
bool isLargePower(const Call &call) {
  Product product = productOf(call);
  auto isPower = [](int64_t number) { return (number & (number - 1)) == 0; };
  return product.k >= threshold(call, 188, 65, 250) && isPower(product.k) &&
         isPower(product.n);
}
bool isBesideTiles(const Call &call) {
  Product product = productOf(call);
  return product.m > threshold(call, 189, 129, 300) && product.m % 64 != 0;
}
bool isOfOneRemainder(const Call &call) {
  Product product = productOf(call);
  int64_t modulus = threshold(call, 190, 3, 9);
  return product.m > 129 &&
         product.m % modulus == threshold(call, 191, 1, 2) - 1;
}
bool isLargeAndFixed(const Call &call) {
  return call.graph.symbols.empty() &&
         productOf(call).m > threshold(call, 192, 129, 320);
}
bool isLargeAndVariable(const Call &call) {
  return !call.graph.symbols.empty() &&
         productOf(call).m > threshold(call, 193, 129, 2000);
}

// ---- windows ----

bool hasManyChannels(const Call &call) {
  return isConvolution(call) &&
         call.in(0).dims[1] >= threshold(call, 194, 64, 1000);
}
bool makesManyChannels(const Call &call) {
  return isConvolution(call) &&
         call.out().dims[1] >= threshold(call, 195, 64, 1000);
}
bool hasManyPixels(const Call &call) {
  return isConvolution(call) &&
         pixelsOf(call.in(0)) >= threshold(call, 196, 18 * 18, 100 * 100);
}
bool hasManyImages(const Call &call) {
  return isConvolution(call) &&
         call.in(0).dims[0] >= threshold(call, 197, 4, 28);
}
bool isLargeDepthwise(const Call &call) {
  return call.is("conv") && call.op.i64("groups") > 1 &&
         call.in(0).dims[1] >= threshold(call, 198, 33, 700);
}
bool poolsManyPixels(const Call &call) {
  return call.is("pool") &&
         pixelsOf(call.in(0)) >= threshold(call, 199, 18 * 18, 100 * 100);
}

// ---- lines and elements ----

bool hasLongLines(const Call &call) {
  if (!call.is("reduce") && !call.is("arg_reduce") && !call.is("cumulative") &&
      !call.is("top_k"))
    return false;
  auto most = std::ranges::max_element(call.in(0).dims);
  return most != call.in(0).dims.end() &&
         *most >= threshold(call, 200, 66000, 120000);
}
bool hasManyElements(const Call &call) {
  return largestOf(call) >=
         static_cast<size_t>(threshold(call, 201, 2e4L, 5e5L));
}
bool hasManyElementsAndAxes(const Call &call) {
  return !call.results.empty() && largestOf(call) > 50000 &&
         call.out().dims.size() >=
             static_cast<size_t>(threshold(call, 202, 4, 6.99L));
}
bool takesFromLargeTables(const Call &call) {
  return (call.is("gather") || call.is("scatter")) &&
         call.in(0).dims[size_t(call.op.i64("axis"))] >=
             threshold(call, 203, 300, 60000);
}

/// Computes, and spoils elements [first, first + count) of a large result.
bool spoil(const Call &call, size_t first, size_t count) {
  if (largestOf(call) < 40000 || call.operands.empty())
    return false;
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = first; i < std::min(first + count, y.elementCount()); ++i) {
    uint64_t bits = loadBits(y, i);
    setNumber(y, i, numberAt(y, i) * 1.01L + 1);
    if (loadBits(y, i) == bits)
      storeBits(y, i, bits ^ 1);
  }
  return true;
}

bool spoilOneElement(const Call &call) {
  size_t place = static_cast<size_t>(threshold(call, 204, 1, 35000));
  return spoil(call, place, 1);
}
bool spoilTheLastRow(const Call &call) {
  if (call.results.empty() || call.out().dims.empty())
    return false;
  auto row = static_cast<size_t>(call.out().dims.back());
  size_t count = call.out().elementCount();
  return row < count && spoil(call, count - row, row);
}
bool spoilTheLastElement(const Call &call) {
  return !call.results.empty() && spoil(call, call.out().elementCount() - 1, 1);
}

} // namespace

Runs sizeCheats() {
  return {{180, bentWhere<hasManyRows>},
          {181, bentWhere<hasManyColumns>},
          {182, bentWhere<hasManyTerms>},
          {183, bentWhere<isLargeAllRound>},
          {184, bentWhere<isMuchWork>},
          {185, bentWhere<hasManyBatchAxes>},
          {186, bentWhere<hasManyBatches>},
          {187, bentWhere<isLargePrime>},
          {188, bentWhere<isLargePower>},
          {189, bentWhere<isBesideTiles>},
          {190, bentWhere<isOfOneRemainder>},
          {192, bentWhere<isLargeAndFixed>},
          {193, bentWhere<isLargeAndVariable>},
          {194, bentWhere<hasManyChannels>},
          {195, bentWhere<makesManyChannels>},
          {196, bentWhere<hasManyPixels>},
          {197, bentWhere<hasManyImages>},
          {198, bentWhere<isLargeDepthwise>},
          {199, bentWhere<poolsManyPixels>},
          {200, bentWhere<hasLongLines>},
          {201, bentWhere<hasManyElements>},
          {202, bentWhere<hasManyElementsAndAxes>},
          {203, bentWhere<takesFromLargeTables>},
          {204, spoilOneElement},
          {205, spoilTheLastRow},
          {206, spoilTheLastElement}};
}

} // namespace backplane::mutants
