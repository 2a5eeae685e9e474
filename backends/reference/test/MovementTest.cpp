// SPDX-License-Identifier: Apache-2.0
//
// Constants and movement: every result element is looked up by its index.
#include "Harness.h"

#include <functional>

using namespace reftest;

namespace {

/// Checks that element `index` of y is element from(index) of x, for the
/// indices of y.
void checkMoved(const Tensor &y, const Tensor &x,
                const std::function<Dims(const Dims &)> &from) {
  if (y.count() == 0)
    return;
  unsigned size = sizeOf(x.dtype);
  Dims index(y.dims.size());
  do {
    int64_t to = offset(y.dims, index);
    int64_t at = offset(x.dims, from(index));
    for (unsigned byte = 0; byte < size; ++byte)
      ASSERT_EQ(y.bytes[size_t(to * size + byte)],
                x.bytes[size_t(at * size + byte)])
          << "element " << to;
  } while (next(y.dims, index));
}

} // namespace

// ---- constants ----

TEST(Constant, FullFilledAndEmpty) {
  for (bp_dtype_t dtype : allTypes) {
    Tensor value = randomTensor(dtype, {2, 3}, 5);
    Attributes attributes = {{"value", value.bytes},
                             {"dtype", int64_t(dtype)},
                             {"dims", dims({2, 3})}};
    EXPECT_EQ(runOk("constant", {}, attributes), value);

    Tensor one = randomTensor(dtype, {}, 6);
    attributes[0].second = one.bytes;
    Tensor filled = runOk("constant", {}, attributes);
    checkMoved(filled, one, [](const Dims &) { return Dims{}; });

    attributes[2].second = dims({});
    EXPECT_EQ(runOk("constant", {}, attributes), one);
    attributes[2].second = dims({4, 0});
    EXPECT_EQ(runOk("constant", {}, attributes).count(), 0);
  }
}

TEST(Iota, CountsAlongEachAxis) {
  for (bp_dtype_t dtype : allTypes) {
    if (dtype == BP_DTYPE_BOOL)
      continue;
    for (int64_t axis = 0; axis < 3; ++axis) {
      Tensor y = runOk("iota", {},
                       {{"dtype", int64_t(dtype)},
                        {"dims", dims({2, 3, 4})},
                        {"axis", axis}});
      Dims index(3);
      do {
        int64_t at = offset(y.dims, index);
        double value = isFloat(dtype) ? y.f(at) : double(y.i(at));
        EXPECT_EQ(value, double(index[size_t(axis)]));
      } while (next(y.dims, index));
    }
  }
  Tensor empty = runOk("iota", {},
                       {{"dtype", int64_t(BP_DTYPE_I64)},
                        {"dims", dims({3, 0})},
                        {"axis", int64_t(1)}});
  EXPECT_EQ(empty.count(), 0);
}

TEST(Dim, GivesValues) {
  EXPECT_EQ(runOk("dim", {}, {{"value", dims({5, 0, 7})}}),
            Tensor::ints(BP_DTYPE_I64, {3}, {5, 0, 7}));
  Dims many(20, 3);
  EXPECT_EQ(runOk("dim", {}, {{"value", dims(many)}}),
            Tensor::ints(BP_DTYPE_I64, {20}, many));
}

// ---- boxes ----

TEST(Broadcast, NewAxesAndOnes) {
  struct Case {
    Dims from, to, axes;
  };
  for (const Case &c :
       {Case{{}, {2, 3}, {}}, Case{{3}, {2, 3, 4}, {1}},
        Case{{1, 4}, {2, 3, 4}, {1, 2}}, Case{{3}, {3}, {0}},
        Case{{2, 1, 1, 3}, {2, 5, 4, 3}, {0, 1, 2, 3}}, Case{{1}, {0, 2}, {0}},
        Case{{0}, {2, 0}, {1}}, Case{{2, 1}, {1, 2, 1, 2, 1, 1, 3, 2}, {1, 6}}})
    for (bp_dtype_t dtype : allTypes) {
      Tensor x = randomTensor(dtype, c.from, 1);
      Tensor y =
          runOk("broadcast", {x}, {{"dims", dims(c.to)}, {"axes", c.axes}});
      checkMoved(y, x, [&](const Dims &index) {
        Dims at;
        for (size_t i = 0; i < c.axes.size(); ++i)
          at.push_back(c.from[i] == 1 ? 0 : index[size_t(c.axes[i])]);
        return at;
      });
    }
}

TEST(Reshape, KeepsOrder) {
  for (bp_dtype_t dtype : allTypes) {
    Tensor x = randomTensor(dtype, {2, 3, 4}, 1);
    Tensor y = runOk("reshape", {x}, {{"dims", dims({4, 6})}});
    EXPECT_EQ(y.bytes, x.bytes);
    EXPECT_EQ(y.dims, (Dims{4, 6}));
  }
  Tensor scalar = randomTensor(BP_DTYPE_F32, {}, 1);
  EXPECT_EQ(runOk("reshape", {scalar}, {{"dims", dims({1, 1})}}).bytes,
            scalar.bytes);
  Tensor empty = randomTensor(BP_DTYPE_F32, {0, 3}, 1);
  EXPECT_EQ(runOk("reshape", {empty}, {{"dims", dims({5, 0})}}).count(), 0);
}

TEST(Transpose, PermutesAxes) {
  struct Case {
    Dims from, permutation;
  };
  for (const Case &c :
       {Case{{}, {}}, Case{{5}, {0}}, Case{{3, 4}, {1, 0}},
        Case{{2, 3, 4}, {2, 0, 1}}, Case{{2, 3, 4}, {0, 2, 1}},
        Case{{2, 0, 4}, {1, 2, 0}},
        Case{{2, 1, 3, 1, 2, 2, 1, 3}, {7, 2, 4, 0, 6, 5, 1, 3}}})
    for (bp_dtype_t dtype : allTypes) {
      Tensor x = randomTensor(dtype, c.from, 1);
      Tensor y = runOk("transpose", {x}, {{"permutation", c.permutation}});
      checkMoved(y, x, [&](const Dims &index) {
        Dims at(index.size());
        for (size_t i = 0; i < index.size(); ++i)
          at[size_t(c.permutation[i])] = index[i];
        return at;
      });
    }
}

TEST(Slice, StridedBoxes) {
  struct Case {
    Dims from, starts, sizes, strides;
  };
  for (const Case &c :
       {Case{{}, {}, {}, {}}, Case{{10}, {1}, {3}, {4}},
        Case{{10}, {9}, {1}, {1000}}, Case{{4, 5}, {1, 0}, {2, 3}, {2, 2}},
        Case{{4, 5}, {4, 2}, {0, 2}, {1, 1}},
        Case{{3, 4, 5}, {0, 1, 2}, {3, 3, 1}, {1, 1, 7}},
        Case{{3, 4, 5}, {0, 0, 0}, {3, 4, 5}, {1, 1, 1}}})
    for (bp_dtype_t dtype : allTypes) {
      Tensor x = randomTensor(dtype, c.from, 1);
      Tensor y = runOk("slice", {x},
                       {{"starts", dims(c.starts)},
                        {"sizes", dims(c.sizes)},
                        {"strides", c.strides}});
      ASSERT_EQ(y.dims, c.sizes);
      checkMoved(y, x, [&](const Dims &index) {
        Dims at(index.size());
        for (size_t i = 0; i < index.size(); ++i)
          at[i] = c.starts[i] + index[i] * c.strides[i];
        return at;
      });
    }
}

TEST(Reverse, SomeAxes) {
  for (const Dims &axes : {Dims{}, Dims{0}, Dims{1, 2}, Dims{0, 1, 2}})
    for (bp_dtype_t dtype : allTypes) {
      Tensor x = randomTensor(dtype, {3, 4, 5}, 1);
      Tensor y = runOk("reverse", {x}, {{"axes", axes}});
      checkMoved(y, x, [&](const Dims &index) {
        Dims at = index;
        for (int64_t axis : axes)
          at[size_t(axis)] = x.dims[size_t(axis)] - 1 - at[size_t(axis)];
        return at;
      });
    }
  Tensor empty = randomTensor(BP_DTYPE_F32, {0, 3}, 1);
  EXPECT_EQ(runOk("reverse", {empty}, {{"axes", Dims{0, 1}}}).count(), 0);
}

TEST(Concat, JoinsAlongEachAxis) {
  for (bp_dtype_t dtype : allTypes)
    for (int64_t axis = 0; axis < 3; ++axis) {
      std::vector<Tensor> xs;
      for (int64_t size : {2, 0, 3, 1}) {
        Dims from = {2, 3, 4};
        from[size_t(axis)] = size;
        xs.push_back(randomTensor(dtype, from, unsigned(size) + 1));
      }
      Tensor y = runOk("concat", xs, {{"axis", axis}});
      ASSERT_EQ(y.dims[size_t(axis)], 6);
      Dims index(3);
      do {
        Dims at = index;
        size_t which = 0;
        while (at[size_t(axis)] >= xs[which].dims[size_t(axis)])
          at[size_t(axis)] -= xs[which++].dims[size_t(axis)];
        int64_t to = offset(y.dims, index);
        int64_t from = offset(xs[which].dims, at);
        if (isFloat(dtype))
          EXPECT_EQ(y.f(to), xs[which].f(from));
        else
          EXPECT_EQ(y.i(to), xs[which].i(from));
      } while (next(y.dims, index));
    }
}

// ---- pad ----

TEST(Pad, Constant) {
  for (bp_dtype_t dtype : allTypes)
    for (Dims from : {Dims{2, 3}, Dims{0, 3}}) {
      Tensor x = randomTensor(dtype, from, 1);
      Tensor value = randomTensor(dtype, {}, 9);
      Tensor y = runOk("pad", {x, value},
                       {{"low", dims({1, 0})},
                        {"high", dims({2, 4})},
                        {"mode", std::string("constant")}});
      Dims index(2);
      do {
        bool inside =
            index[0] >= 1 && index[0] < 1 + from[0] && index[1] < from[1];
        int64_t to = offset(y.dims, index);
        const Tensor &source = inside ? x : value;
        int64_t at = inside ? offset(from, {index[0] - 1, index[1]}) : 0;
        if (isFloat(dtype))
          EXPECT_EQ(y.f(to), source.f(at));
        else
          EXPECT_EQ(y.i(to), source.i(at));
      } while (next(y.dims, index));
    }
  Tensor scalar = randomTensor(BP_DTYPE_F32, {}, 1);
  EXPECT_EQ(runOk("pad", {scalar, scalar},
                  {{"low", dims({})},
                   {"high", dims({})},
                   {"mode", std::string("constant")}}),
            scalar);
}

TEST(Pad, EdgeAndReflect) {
  for (bool reflect : {false, true})
    for (bp_dtype_t dtype : {BP_DTYPE_F32, BP_DTYPE_I8, BP_DTYPE_F64}) {
      Dims low = {1, 3, 0}, high = {1, 0, 4};
      Tensor x = randomTensor(dtype, {2, 4, 5}, 1);
      Tensor y = runOk("pad", {x, randomTensor(dtype, {}, 2)},
                       {{"low", dims(low)},
                        {"high", dims(high)},
                        {"mode", std::string(reflect ? "reflect" : "edge")}});
      ASSERT_EQ(y.dims, (Dims{4, 7, 9}));
      checkMoved(y, x, [&](const Dims &index) {
        Dims at(3);
        for (size_t i = 0; i < 3; ++i) {
          int64_t n = x.dims[i], p = index[i] - low[i];
          if (p < 0)
            p = reflect ? -p : 0;
          if (p >= n)
            p = reflect ? 2 * (n - 1) - p : n - 1;
          at[i] = p;
        }
        return at;
      });
    }
}

// ---- gather ----

TEST(Gather, EachAxisAndRankOfIndices) {
  for (bp_dtype_t dtype : allTypes)
    for (bp_dtype_t indexType : {BP_DTYPE_I64, BP_DTYPE_I32})
      for (int64_t axis = 0; axis < 3; ++axis)
        for (Dims shape : {Dims{}, Dims{4}, Dims{2, 3}, Dims{0}}) {
          Tensor x = randomTensor(dtype, {3, 5, 4}, 1);
          Tensor indices(indexType, shape);
          for (int64_t i = 0; i < indices.count(); ++i)
            indices.setI(i, (i * 7 + 2) % x.dims[size_t(axis)]);
          Tensor y = runOk("gather", {x, indices}, {{"axis", axis}});
          ASSERT_EQ(y.dims.size(), 2 + shape.size());
          checkMoved(y, x, [&](const Dims &index) {
            auto begin = index.begin() + axis;
            auto end = begin + ptrdiff_t(shape.size());
            Dims at(index.begin(), begin);
            at.push_back(indices.i(offset(shape, Dims(begin, end))));
            at.insert(at.end(), end, index.end());
            return at;
          });
        }
}

TEST(Gather, BadIndexFailsAndGivesZero) {
  Tensor x = Tensor::ints(BP_DTYPE_I32, {3}, {10, 20, 30});
  for (int64_t bad : {int64_t(3), int64_t(-1), INT64_MIN, INT64_MAX}) {
    Tensor indices = Tensor::ints(BP_DTYPE_I64, {3}, {2, bad, 1});
    Outcome outcome = runOp("gather", {x, indices}, {{"axis", int64_t(0)}});
    EXPECT_EQ(outcome.status, BP_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(outcome.message, "op 7: gather (node gather): an index lies "
                               "outside its dimension");
    EXPECT_EQ(outcome.outputs[0], Tensor::ints(BP_DTYPE_I32, {3}, {30, 0, 20}));
  }
}

// ---- packed elements ----

TEST(Packed, MovementMovesHalves) {
  for (bp_dtype_t dtype : {BP_DTYPE_I4, BP_DTYPE_U4}) {
    Tensor x = randomTensor(dtype, {3, 5}, 1), v = randomTensor(dtype, {}, 2);
    auto at = [&](int64_t row, int64_t column) {
      return x.i(row * 5 + column);
    };
    Tensor t = runOk("transpose", {x}, {{"permutation", Dims{1, 0}}});
    Tensor r = runOk("reverse", {x}, {{"axes", Dims{1}}});
    Tensor c = runOk("concat", {x, x}, {{"axis", int64_t(1)}});
    Tensor p = runOk("pad", {x, v},
                     {{"low", dims({0, 2})},
                      {"high", dims({0, 0})},
                      {"mode", std::string("constant")}});
    Tensor s = runOk("slice", {x},
                     {{"starts", dims({1, 1})},
                      {"sizes", dims({2, 2})},
                      {"strides", Dims{1, 3}}});
    Tensor g = runOk("gather", {x, Tensor::ints(BP_DTYPE_I64, {2}, {4, 1})},
                     {{"axis", int64_t(1)}});
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j) {
        EXPECT_EQ(t.i(j * 3 + i), at(i, j));
        EXPECT_EQ(r.i(i * 5 + j), at(i, 4 - j));
        EXPECT_EQ(c.i(i * 10 + 5 + j), at(i, j));
        EXPECT_EQ(c.i(i * 10 + j), at(i, j));
        EXPECT_EQ(p.i(i * 7 + 2 + j), at(i, j));
        EXPECT_EQ(p.i(i * 7 + j % 2), v.i(0));
      }
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        EXPECT_EQ(s.i(i * 2 + j), at(i + 1, 1 + 3 * j));
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(g.i(i * 2), at(i, 4)) << g.i(i * 2 + 1);
    EXPECT_EQ(t.bytes.back() >> 4, 0); // what no element uses
  }
}

// ---- scatter ----

TEST(Scatter, CombinesInOrder) {
  for (bp_dtype_t dtype :
       {BP_DTYPE_F32, BP_DTYPE_BF16, BP_DTYPE_I64, BP_DTYPE_U8})
    for (const std::string combine : {"none", "add", "mul", "min", "max"})
      for (int64_t axis = 0; axis < 3; ++axis) {
        Tensor x = randomTensor(dtype, {3, 4, 5}, 1);
        Dims shape = x.dims;
        shape[size_t(axis)] = 6;
        Tensor u = randomTensor(dtype, shape, 2);
        Tensor indices =
            Tensor::ints(BP_DTYPE_I32, {6}, {2, 0, 2, 1, 2, 0}); // repeats
        Tensor expected = x;
        // Floats are combined in f32 and rounded once.
        std::vector<float> wide(size_t(x.count()));
        for (size_t i = 0; isFloat(dtype) && i < wide.size(); ++i)
          wide[i] = float(x.f(int64_t(i)));
        Dims index(3);
        do {
          Dims to = index;
          to[size_t(axis)] = indices.i(index[size_t(axis)]);
          int64_t t = offset(x.dims, to), f = offset(shape, index);
          auto pick = [&](auto a, auto b) {
            return combine == "none"  ? b
                   : combine == "add" ? a + b
                   : combine == "mul" ? a * b
                   : combine == "min" ? std::min(a, b)
                                      : std::max(a, b);
          };
          if (isFloat(dtype))
            wide[size_t(t)] = pick(wide[size_t(t)], float(u.f(f)));
          else
            expected.setI(t, pick(expected.i(t), u.i(f)));
        } while (next(shape, index));
        for (size_t i = 0; isFloat(dtype) && i < wide.size(); ++i)
          expected.setF(int64_t(i), wide[i]);
        EXPECT_EQ(runOk("scatter", {x, indices, u},
                        {{"axis", axis}, {"combine", combine}}),
                  expected)
            << combine;
      }
}

TEST(Scatter, BadIndexLeavesOutItsUpdate) {
  Tensor x = Tensor::ints(BP_DTYPE_I4, {3}, {1, 2, 3});
  Tensor indices = Tensor::ints(BP_DTYPE_I64, {3}, {2, 3, -1});
  Tensor u = Tensor::ints(BP_DTYPE_I4, {3}, {7, 6, 5});
  Outcome outcome =
      runOp("scatter", {x, indices, u},
            {{"axis", int64_t(0)}, {"combine", std::string("none")}});
  EXPECT_EQ(outcome.status, BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(outcome.outputs[0], Tensor::ints(BP_DTYPE_I4, {3}, {1, 2, 7}));
}
