// SPDX-License-Identifier: Apache-2.0
//
// Mutants 180 to 209: plug-ins that are wrong from some size on, where each
// begins drawn anew for every run, up to what the hunt's budget of
// multiply-adds lets the suite ask.
#include "Cheats.h"

#include "conformance/compare/Elements.h"

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

Mutant sizeCheat(int number, std::string_view title,
                 std::string_view description, bool (*run)(const Call &),
                 std::vector<std::string_view> ops) {
  return cheat(number, title, description, {"size"}, run, std::move(ops));
}

std::vector<Mutant> productCheats() {
  return {
      sizeCheat(180, "many rows",
                "products of m from a drawn size on are 1 % off",
                bentWhere<hasManyRows>, {"matmul"}),
      sizeCheat(181, "many columns",
                "products of n from a drawn size on are 1 % off",
                bentWhere<hasManyColumns>, {"matmul"}),
      sizeCheat(182, "many terms",
                "products of k from a drawn size on are 1 % off",
                bentWhere<hasManyTerms>, {"matmul"}),
      sizeCheat(183, "large all round",
                "products are 1 % off where m, n and k all reach a drawn size",
                bentWhere<isLargeAllRound>, {"matmul"}),
      sizeCheat(184, "much work",
                "products are 1 % off from a drawn number of multiply-adds on",
                bentWhere<isMuchWork>, {"matmul"}),
      sizeCheat(185, "many batch axes",
                "products are 1 % off from a drawn number of batch axes on",
                bentWhere<hasManyBatchAxes>, {"matmul"}),
      sizeCheat(186, "many batches",
                "products are 1 % off from a drawn number of batches on",
                bentWhere<hasManyBatches>, {"matmul"}),
      sizeCheat(187, "large primes",
                "products are 1 % off where m and n are primes above a drawn "
                "size",
                bentWhere<isLargePrime>, {"matmul"}),
      sizeCheat(188, "large powers of two",
                "products are 1 % off where k and n are powers of two above a "
                "drawn size",
                bentWhere<isLargePower>, {"matmul"}),
      sizeCheat(189, "beside tiles",
                "products are 1 % off where m is above a drawn size and no "
                "multiple of 64",
                bentWhere<isBesideTiles>, {"matmul"}),
      sizeCheat(190, "one remainder",
                "products are 1 % off where m leaves a drawn remainder",
                bentWhere<isOfOneRemainder>, {"matmul"}),
      sizeCheat(192, "large and fixed",
                "products of large sizes known to the compiler are 1 % off",
                bentWhere<isLargeAndFixed>, {"matmul"}),
      sizeCheat(193, "large and variable",
                "products of large sizes unknown to the compiler are 1 % off",
                bentWhere<isLargeAndVariable>, {"matmul"}),
  };
}

std::vector<Mutant> windowCheats() {
  return {
      sizeCheat(194, "many channels",
                "convolutions are 1 % off from a drawn number of channels on",
                bentWhere<hasManyChannels>, {"conv"}),
      sizeCheat(195, "many output channels",
                "convolutions are 1 % off from a drawn number of output "
                "channels on",
                bentWhere<makesManyChannels>, {"conv"}),
      sizeCheat(196, "many pixels",
                "convolutions are 1 % off from a drawn number of pixels on",
                bentWhere<hasManyPixels>, {"conv"}),
      sizeCheat(197, "many images",
                "convolutions are 1 % off from a drawn batch on",
                bentWhere<hasManyImages>, {"conv"}),
      sizeCheat(198, "many groups",
                "convolutions of groups are 1 % off from a drawn number of "
                "channels on",
                bentWhere<isLargeDepthwise>, {"conv"}),
      sizeCheat(199, "pools of many pixels",
                "pools are 1 % off from a drawn number of pixels on",
                bentWhere<poolsManyPixels>, {"pool"}),
  };
}

std::vector<Mutant> elementCheats() {
  return {
      sizeCheat(200, "long lines",
                "reductions are 1 % off for lines from a drawn length on",
                bentWhere<hasLongLines>, {"reduce", "cumulative"}),
      sizeCheat(201, "many elements",
                "all ops are 1 % off from a drawn number of elements on",
                bentWhere<hasManyElements>, {}),
      sizeCheat(
          202, "many elements and axes",
          "all ops are 1 % off for large results of a drawn rank and more",
          bentWhere<hasManyElementsAndAxes>, {"add", "transpose"}),
      sizeCheat(203, "large tables",
                "gather and scatter are off for tables from a drawn size on",
                bentWhere<takesFromLargeTables>, {"gather", "scatter"}),
      sizeCheat(204, "one wrong element",
                "one drawn element of large results is wrong", spoilOneElement,
                {"matmul", "conv"}),
      sizeCheat(205, "wrong last row", "the last row of large results is wrong",
                spoilTheLastRow, {"matmul", "conv"}),
      sizeCheat(206, "wrong last element",
                "the last element of large results is wrong",
                spoilTheLastElement, {"conv", "transpose"}),
      {.number = 207,
       .family = Family::Cheating,
       .title = "offsets over 2 GiB",
       .description = "results are off in what lies beyond 2 GiB of a buffer",
       .tags = {"size"},
       .equivalent =
           "only depth full has tensors of more than 2 GiB, and the reference "
           "backend is too slow for them here; a run of depth full on `host` "
           "has them"},
  };
}

} // namespace

std::vector<Mutant> sizeCheats() {
  return joined({productCheats, windowCheats, elementCheats});
}

} // namespace backplane::mutants
