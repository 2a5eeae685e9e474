// SPDX-License-Identifier: Apache-2.0
//
// reduce and arg_reduce against loops over all indices.
#include "Harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace reftest;

namespace {

const double inf = std::numeric_limits<double>::infinity();

/// The result index that an operand index belongs to.
Dims kept(const Dims &index, const Dims &axes, bool keep) {
  Dims out;
  for (size_t i = 0; i < index.size(); ++i) {
    bool reduced = false;
    for (int64_t axis : axes)
      reduced |= axis == int64_t(i);
    if (!reduced)
      out.push_back(index[i]);
    else if (keep)
      out.push_back(0);
  }
  return out;
}

/// The elements of x that each result element combines, in order.
std::map<int64_t, std::vector<int64_t>> groups(const Tensor &x, const Tensor &y,
                                               const Dims &axes, bool keep) {
  std::map<int64_t, std::vector<int64_t>> groups;
  for (int64_t i = 0; i < y.count(); ++i)
    groups[i];
  if (x.count() == 0)
    return groups;
  Dims index(x.dims.size());
  do
    groups[offset(y.dims, kept(index, axes, keep))].push_back(
        offset(x.dims, index));
  while (next(x.dims, index));
  return groups;
}

Attributes reduceAttributes(const std::string &kind, const Dims &axes,
                            bool keep) {
  return {{"kind", kind}, {"axes", axes}, {"keep", int64_t(keep)}};
}

double expectFloat(const std::string &kind, const Tensor &x,
                   const std::vector<int64_t> &group) {
  long double all = kind == "sum"    ? 0
                    : kind == "prod" ? 1
                    : kind == "min"  ? inf
                                     : -inf;
  for (int64_t i : group) {
    double value = x.f(i);
    if (kind == "sum")
      all += value;
    else if (kind == "prod")
      all *= value;
    else if (std::isnan(value) || std::isnan(all))
      all = NAN;
    else
      all = kind == "min" ? std::min<long double>(all, value)
                          : std::max<long double>(all, value);
  }
  return rounded(x.dtype, all);
}

int64_t expectInteger(const std::string &kind, const Tensor &x,
                      const std::vector<int64_t> &group) {
  uint64_t all = kind == "sum"    ? 0
                 : kind == "prod" ? 1
                 : kind == "min"  ? uint64_t(highest(x.dtype))
                                  : uint64_t(lowest(x.dtype));
  for (int64_t i : group) {
    auto value = uint64_t(x.i(i));
    bool below =
        isUnsigned(x.dtype) ? value < all : int64_t(value) < int64_t(all);
    if (kind == "sum")
      all += value;
    else if (kind == "prod")
      all *= value;
    else if (kind == "min")
      all = below ? value : all;
    else
      all = below ? all : value;
  }
  return wrapped(x.dtype, int64_t(all));
}

const Dims shapes[] = {{}, {7}, {3, 4}, {2, 3, 5}, {2, 0, 3}, {1, 300, 2}};

std::vector<Dims> axisSets(size_t rank) {
  std::vector<Dims> sets;
  for (unsigned bits = 0; bits < 1u << rank; ++bits) {
    Dims axes;
    for (size_t i = 0; i < rank; ++i)
      if (bits >> i & 1)
        axes.push_back(int64_t(i));
    sets.push_back(axes);
  }
  return sets;
}

} // namespace

TEST(Reduce, AllKindsShapesAndAxes) {
  for (const char *kind : {"sum", "prod", "min", "max"})
    for (bp_dtype_t dtype : allTypes) {
      if (dtype == BP_DTYPE_BOOL)
        continue;
      for (const Dims &shape : shapes)
        for (const Dims &axes : axisSets(shape.size())) {
          bool keep = axes.size() % 2 == 0;
          Tensor x = randomTensor(dtype, shape, 11);
          Tensor y = runOk("reduce", {x}, reduceAttributes(kind, axes, keep));
          for (auto &[to, group] : groups(x, y, axes, keep)) {
            if (!isFloat(dtype))
              EXPECT_EQ(y.i(to), expectInteger(kind, x, group)) << kind;
            else
              EXPECT_LE(ulps(dtype, y.f(to), expectFloat(kind, x, group)),
                        dtype == BP_DTYPE_F64 && group.size() > 1 ? 300 : 1)
                  << kind << " of dtype " << dtype;
          }
        }
    }
}

TEST(Reduce, LongSumIsAccumulatedWide) {
  Tensor x(BP_DTYPE_F32, {1, 1 << 20});
  for (int64_t i = 0; i < x.count(); ++i)
    x.setF(i, 0.1);
  Tensor y = runOk("reduce", {x}, reduceAttributes("sum", {1}, false));
  EXPECT_EQ(y.f(0), float(double(0.1f) * (1 << 20)));
}

TEST(Reduce, NanAndInfinity) {
  Tensor x = Tensor::floats(BP_DTYPE_F32, {2, 3}, {1, NAN, 2, inf, -inf, 5});
  auto reduce = [&](const char *kind) {
    return runOk("reduce", {x}, reduceAttributes(kind, {1}, false));
  };
  for (const char *kind : {"sum", "prod", "min", "max"})
    EXPECT_TRUE(std::isnan(reduce(kind).f(0))) << kind;
  EXPECT_TRUE(std::isnan(reduce("sum").f(1)));
  EXPECT_EQ(reduce("min").f(1), -inf);
  EXPECT_EQ(reduce("max").f(1), inf);
}

TEST(Reduce, Bool) {
  Tensor x = Tensor::ints(BP_DTYPE_BOOL, {4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  EXPECT_EQ(runOk("reduce", {x}, reduceAttributes("and", {1}, false)),
            Tensor::ints(BP_DTYPE_BOOL, {4}, {0, 0, 0, 1}));
  EXPECT_EQ(runOk("reduce", {x}, reduceAttributes("or", {1}, true)),
            Tensor::ints(BP_DTYPE_BOOL, {4, 1}, {0, 1, 1, 1}));
  Tensor empty(BP_DTYPE_BOOL, {2, 0});
  EXPECT_EQ(runOk("reduce", {empty}, reduceAttributes("and", {1}, false)),
            Tensor::ints(BP_DTYPE_BOOL, {2}, {1, 1}));
  EXPECT_EQ(runOk("reduce", {empty}, reduceAttributes("or", {1}, false)),
            Tensor::ints(BP_DTYPE_BOOL, {2}, {0, 0}));
}

// ---- arg_reduce ----

namespace {

Attributes argAttributes(const std::string &kind, int64_t axis, bool keep,
                         bool last) {
  return {{"kind", kind},
          {"axis", axis},
          {"keep", int64_t(keep)},
          {"last", int64_t(last)}};
}

} // namespace

TEST(ArgReduce, AllDtypesAxesAndTies) {
  for (bp_dtype_t dtype : allTypes) {
    if (dtype == BP_DTYPE_BOOL)
      continue;
    for (int64_t axis = 0; axis < 3; ++axis)
      for (bool max : {false, true})
        for (bool last : {false, true}) {
          Tensor x = randomTensor(dtype, {4, 300, 3}, 5);
          for (int64_t i = 0; i < x.count(); ++i) // many ties
            isFloat(dtype) ? x.setF(i, std::round(x.f(i)))
                           : x.setI(i, wrapped(dtype, x.i(i) % 5));
          Tensor y =
              runOk("arg_reduce", {x},
                    argAttributes(max ? "max" : "min", axis, last, last));
          ASSERT_EQ(y.dtype, BP_DTYPE_I64);
          for (auto &[to, group] : groups(x, y, {axis}, last)) {
            auto value = [&](size_t i) {
              return isFloat(dtype) ? x.f(group[i]) : double(x.i(group[i]));
            };
            size_t best = 0;
            for (size_t i = 1; i < group.size(); ++i)
              if ((max ? value(i) > value(best) : value(i) < value(best)) ||
                  (last && value(i) == value(best)))
                best = i;
            EXPECT_EQ(y.i(to), int64_t(best));
          }
        }
  }
}

TEST(ArgReduce, NanWinsAndExtremes) {
  Tensor x = Tensor::floats(BP_DTYPE_F32, {6}, {1, NAN, -inf, NAN, inf, 0});
  for (const char *kind : {"min", "max"}) {
    EXPECT_EQ(
        runOk("arg_reduce", {x}, argAttributes(kind, 0, false, false)).i(0), 1);
    EXPECT_EQ(
        runOk("arg_reduce", {x}, argAttributes(kind, 0, false, true)).i(0), 3);
  }
  Tensor big = Tensor::ints(BP_DTYPE_U64, {3}, {1, -1, 5});
  EXPECT_EQ(
      runOk("arg_reduce", {big}, argAttributes("max", 0, true, false)).i(0), 1);
  Tensor low = Tensor::ints(BP_DTYPE_I64, {3}, {1, INT64_MIN, INT64_MAX});
  EXPECT_EQ(
      runOk("arg_reduce", {low}, argAttributes("min", 0, true, false)).i(0), 1);
}

// ---- cumulative ----

TEST(Cumulative, AllKindsAndFlags) {
  for (bp_dtype_t dtype :
       {BP_DTYPE_F64, BP_DTYPE_F16, BP_DTYPE_I64, BP_DTYPE_I8, BP_DTYPE_U16})
    for (const std::string kind : {"sum", "prod", "min", "max"})
      for (int64_t axis = 0; axis < 3; ++axis)
        for (bool exclusive : {false, true})
          for (bool reverse : {false, true}) {
            Tensor x = randomTensor(dtype, {2, 7, 3}, 9);
            Tensor y = runOk("cumulative", {x},
                             {{"kind", kind},
                              {"axis", axis},
                              {"exclusive", int64_t(exclusive)},
                              {"reverse", int64_t(reverse)}});
            Dims index(3);
            do {
              std::vector<int64_t> group; // what comes before
              int64_t last = index[size_t(axis)];
              int64_t size = x.dims[size_t(axis)];
              for (int64_t i = 0; i < size; ++i) {
                Dims at = index;
                at[size_t(axis)] = reverse ? size - 1 - i : i;
                bool before =
                    reverse ? at[size_t(axis)] > last : at[size_t(axis)] < last;
                if (before || (!exclusive && at[size_t(axis)] == last))
                  group.push_back(offset(x.dims, at));
              }
              int64_t to = offset(y.dims, index);
              if (!isFloat(dtype))
                EXPECT_EQ(y.i(to), expectInteger(kind, x, group)) << kind;
              else
                EXPECT_LE(ulps(dtype, y.f(to), expectFloat(kind, x, group)),
                          dtype == BP_DTYPE_F64 ? 300 : 1)
                    << kind;
            } while (next(x.dims, index));
          }
}

// ---- top_k ----

namespace {

std::vector<Tensor> topK(const Tensor &x, int64_t k, int64_t axis,
                         bool largest) {
  Plugin plugin;
  Builder builder;
  std::vector<uint32_t> results = builder.results(
      "top_k", 2, {builder.input(x)},
      {{"k", dims({k})}, {"axis", axis}, {"largest", int64_t(largest)}});
  for (uint32_t result : results)
    builder.output(result);
  Outcome outcome = plugin.run(builder.finish(), {x});
  EXPECT_EQ(outcome.status, 0) << outcome.message;
  return outcome.outputs;
}

} // namespace

TEST(TopK, AllDtypesAndAxes) {
  for (bp_dtype_t dtype : allTypes) {
    if (dtype == BP_DTYPE_BOOL)
      continue;
    for (int64_t axis = 0; axis < 2; ++axis)
      for (bool largest : {false, true})
        for (int64_t k : {0, 1, 6}) {
          Tensor x = randomTensor(dtype, {6, 9}, 4);
          for (int64_t i = 0; i < x.count(); i += 3) // ties
            isFloat(dtype) ? x.setF(i, 1) : x.setI(i, 1);
          std::vector<Tensor> y = topK(x, k, axis, largest);
          int64_t step = axis ? 1 : 9, lineStep = axis ? 9 : 1;
          for (int64_t line = 0; line < x.dims[size_t(1 - axis)]; ++line) {
            std::vector<int64_t> order(size_t(x.dims[size_t(axis)]));
            std::iota(order.begin(), order.end(), 0);
            auto value = [&](int64_t i) {
              int64_t at = line * lineStep + i * step;
              return isFloat(dtype)      ? (long double)x.f(at)
                     : isUnsigned(dtype) ? (long double)uint64_t(x.i(at))
                                         : (long double)x.i(at);
            };
            std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              if (value(a) == value(b))
                return a < b;
              return (value(a) > value(b)) == largest;
            });
            for (int64_t i = 0; i < k; ++i) {
              int64_t at = axis ? line * k + i : i * 9 + line;
              EXPECT_EQ(y[1].i(at), order[size_t(i)]);
              int64_t from = line * lineStep + order[size_t(i)] * step;
              EXPECT_EQ(isFloat(dtype) ? y[0].f(at) : double(y[0].i(at)),
                        isFloat(dtype) ? x.f(from) : double(x.i(from)));
            }
          }
        }
  }
}

TEST(TopK, NanIsHighestAndZerosAreEqual) {
  Tensor x =
      Tensor::floats(BP_DTYPE_F32, {7}, {0.0, NAN, -0.0, inf, NAN, -inf, -1});
  EXPECT_EQ(topK(x, 7, 0, true)[1],
            Tensor::ints(BP_DTYPE_I64, {7}, {1, 4, 3, 0, 2, 6, 5}));
  EXPECT_EQ(topK(x, 7, 0, false)[1],
            Tensor::ints(BP_DTYPE_I64, {7}, {5, 6, 0, 2, 3, 1, 4}));
}
