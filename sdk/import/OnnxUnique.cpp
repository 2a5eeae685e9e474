// SPDX-License-Identifier: Apache-2.0
//
// Unique: the elements, or the slices of an axis, are sorted; where one differs
// from the one before, a run begins. How many runs there are, data decide.
#include "Loop.h"
#include "OnnxHandlers.h"
#include "Taken.h"

namespace backplane::frontend {

namespace {

class Unique {
public:
  explicit Unique(Node &node) : node_(node) {}
  void run();

private:
  ValueId readRows();
  void describeRuns();
  ValueId ascending(ValueId vector, const Dim &count, size_t result);
  ValueId orderOfRows();
  ValueId before(ValueId sorted);
  ValueId differs(ValueId a, ValueId b);
  ValueId runStarts();
  ValueId placed(const Dim &count, ValueId places, ValueId updates,
                 std::string combine);
  void sortByFirst();

  Node &node_;
  bool flat_ = false;
  size_t axis_ = 0;
  Dim count_;             ///< slices
  Dim runs_;              ///< different ones
  ValueId rows_ = kNone;  ///< the slices as rows, or all elements
  ValueId order_ = kNone; ///< numbers of the slices, sorted
  ValueId first_ = kNone; ///< per run: its first slice
  ValueId sizes_ = kNone; ///< per run: its slices
  ValueId runOf_ = kNone; ///< per slice
};

/// The elements in ascending order (0), or their numbers (1).
ValueId Unique::ascending(ValueId vector, const Dim &count, size_t result) {
  if (!node_.ok())
    return kNone;
  auto sorted = node_.importer().add(
      "top_k", {vector},
      {{"k", Dims{count}}, {"axis", int64_t(0)}, {"largest", int64_t(0)}},
      node_.location());
  if (sorted.ok())
    return (*sorted)[result];
  node_.fail(sorted.status());
  return kNone;
}

/// The order of rows by their first column, then by the second, and so on: they
/// are sorted by the last column first, and equal ones stay as they are.
ValueId Unique::orderOfRows() {
  if (!node_.ok())
    return kNone;
  Dim columns = node_.type(rows_).dims[1];
  ValueId turned = node_.transpose(rows_, {1, 0});
  LoopBuilder loop(node_, columns);
  if (!loop.begin({node_.counter({count_}, 0)}))
    return kNone;
  ValueId order = loop.carried()[0];
  ValueId column =
      loop.row(node_.capture(turned), columns - Dim(1) - loop.iteration());
  auto at = [&](ValueId data, ValueId indices) {
    return node_.op("gather", {data, indices}, {{"axis", int64_t(0)}});
  };
  ValueId next = at(order, ascending(at(column, order), count_, 1));
  return loop.end({next}, {})[0];
}

/// Each slice's predecessor; the first one's is itself.
ValueId Unique::before(ValueId sorted) {
  ValueId back = node_.op("sub", {node_.counter({count_}, 0),
                                  node_.fillInteger(DType::I64, 1, {count_})});
  ValueId index =
      node_.op("max", {back, node_.fillInteger(DType::I64, 0, {count_})});
  return node_.op("gather", {sorted, index}, {{"axis", int64_t(0)}});
}

/// NaNs are one value, as elements; rows that have one differ, as in NumPy.
ValueId Unique::differs(ValueId a, ValueId b) {
  ValueId differ = node_.compare("ne", a, b);
  if (!node_.ok() || !flat_ || !isFloat(node_.type(a).dtype))
    return differ;
  ValueId both =
      node_.op("and", {node_.op("is_nan", {a}), node_.op("is_nan", {b})});
  return node_.op("and", {differ, node_.op("not", {both})});
}

/// Per sorted slice, whether it is the first of its run.
ValueId Unique::runStarts() {
  ValueId sorted = node_.op("gather", {rows_, order_}, {{"axis", int64_t(0)}});
  ValueId differ = differs(sorted, before(sorted));
  if (!flat_)
    differ = node_.reduce("or", differ, {1}, false);
  ValueId none = node_.compare("eq", node_.counter({count_}, 0),
                               node_.fillInteger(DType::I64, 0, {count_}));
  return node_.op("or", {none, differ});
}

/// A vector of zeros with updates put into some places.
ValueId Unique::placed(const Dim &count, ValueId places, ValueId updates,
                       std::string combine) {
  return node_.op("scatter",
                  {node_.fillInteger(DType::I64, 0, {count}), places, updates},
                  {{"axis", int64_t(0)}, {"combine", std::move(combine)}});
}

/// Puts the runs into the order of their first slices.
void Unique::sortByFirst() {
  ValueId order = ascending(first_, runs_, 1);
  auto reordered = [&](ValueId values) {
    return node_.op("gather", {values, order}, {{"axis", int64_t(0)}});
  };
  first_ = reordered(first_);
  sizes_ = reordered(sizes_);
  ValueId places = placed(runs_, order, node_.counter({runs_}, 0), "none");
  runOf_ = node_.op("gather", {places, runOf_}, {{"axis", int64_t(0)}});
}

/// The slices as rows, and the input as what they are taken of.
ValueId Unique::readRows() {
  ValueId x = node_.value(0);
  flat_ = !node_.hasAttribute("axis");
  const Dims dims = node_.type(x).dims;
  axis_ = flat_ ? 0 : node_.axis(node_.i64("axis", 0), dims.size());
  if (!node_.ok())
    return kNone;
  count_ = flat_ ? product(dims) : dims[axis_];
  std::vector<int64_t> order{int64_t(axis_)};
  Dim columns = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != axis_) {
      order.push_back(int64_t(i));
      columns = columns * dims[i];
    }
  if (flat_)
    x = rows_ = node_.reshape(x, {count_});
  else
    rows_ = node_.reshape(node_.transpose(x, order), {count_, columns});
  if (node_.ok() && node_.type(x).dtype == DType::Bool)
    rows_ = node_.cast(rows_, DType::U8);
  return x;
}

/// What is told about each run of equal slices.
void Unique::describeRuns() {
  order_ = flat_ ? ascending(rows_, count_, 1) : orderOfRows();
  ValueId starts = runStarts();
  ValueId taken = takenPositions(node_, starts, count_);
  if (!node_.ok())
    return;
  runs_ = node_.type(taken).dims[0];
  first_ = node_.op("gather", {order_, taken}, {{"axis", int64_t(0)}});
  ValueId begun = node_.op("cumulative", {node_.cast(starts, DType::I64)},
                           {{"kind", std::string("sum")},
                            {"axis", int64_t(0)},
                            {"exclusive", int64_t(0)},
                            {"reverse", int64_t(0)}});
  ValueId ones = node_.fillInteger(DType::I64, 1, {count_});
  ValueId number = node_.op("sub", {begun, ones});
  sizes_ = placed(runs_, number, ones, "add");
  runOf_ = placed(count_, order_, number, "none");
}

void Unique::run() {
  bool sorted = node_.flag("sorted", true);
  ValueId x = readRows();
  describeRuns();
  if (!sorted)
    sortByFirst();
  if (!node_.ok())
    return;
  node_.out(0, node_.op("gather", {x, first_}, {{"axis", int64_t(axis_)}}));
  node_.out(1, first_);
  node_.out(2, runOf_);
  node_.out(3, sizes_);
}

} // namespace

void onnxUnique(Node &node) { Unique(node).run(); }

} // namespace backplane::frontend
