// SPDX-License-Identifier: Apache-2.0
//
// RandomGraph.h: valid graphs from a seed. Shapes are solved while the graph
// grows: every dim has a size for each of the calls that the unit is run with.
// Floats stay small and inside the domain of what is done to them, indices
// inside their axis, divisors away from zero: no NaN, no error, unless inputs
// hold one.
#ifndef BACKPLANE_CONFORMANCE_GRAPHS_RANDOMGRAPH_H
#define BACKPLANE_CONFORMANCE_GRAPHS_RANDOMGRAPH_H

#include "Sketch.h"

#include "conformance/cases/Data.h"

namespace backplane::conformance {

/// Choices, a pure function of the seed.
class Dice {
public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  uint64_t bits() { return randomBits(seed_, count_++); }
  /// In [0, n).
  size_t below(size_t n) { return n ? (bits() >> 16) % n : 0; }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  template <typename T> const T &pick(const std::vector<T> &all) {
    return all[below(all.size())];
  }
  const char *pick(std::initializer_list<const char *> all) {
    return all.begin()[below(all.size())];
  }

private:
  uint64_t seed_, count_ = 0;
};

/// The dtype that most values of the graph of this seed have.
DType dtypeOfSeed(uint64_t seed);

/// A graph in the making; everything is a function of the dice.
class Growth {
public:
  /// One value of the graph.
  struct Item {
    ValueId id;
    double magnitude; ///< of floats: no element is larger, roughly
    bool used = false;
  };

  Growth(Sketch &sketch, uint64_t seed);
  /// Adds some random steps, then the outputs.
  void run();
  const std::vector<SymbolValues> &calls() const { return calls_; }

  // What the steps (RandomOps.h) need.
  Sketch &s;
  Dice dice;

  const TensorType &type(const Item &item) const { return s.type(item.id); }
  /// Sizes of dims in one call.
  std::vector<int64_t> sizes(const Dims &dims, size_t call) const;
  /// The larger element count of the calls; huge for dims that are not valid.
  int64_t count(const Dims &dims) const;
  bool isSmall(const Dims &dims) const { return count(dims) <= 6000; }
  Dim anyDim();
  /// A new input, or a weight where dims are static.
  Item fresh(DType dtype, const Dims &dims, double magnitude);
  /// A value that `wanted` likes, recent ones first; null when there is none.
  Item *find(const std::function<bool(const TensorType &)> &wanted);
  /// Another value of this type, or a new one.
  Item like(const TensorType &type);
  /// Keeps a result; floats that are too large are scaled down by a power of
  /// two. Results of refused ops are dropped.
  void keep(ValueId value, double magnitude);
  /// A float with no element larger than `limit`.
  ValueId tamed(const Item &item, double limit);
  ValueId with(const char *op, ValueId x, double number) {
    return s.op(op, {x, s.fill(number, x)});
  }

private:
  void chooseSymbols();
  void firstInput();
  void addOutputs();

  std::vector<SymbolValues> calls_;
  std::vector<Dim> dims_;
  std::vector<Item> items_;
};

/// One random step: adds ops to the growth, or nothing where none fits.
using Step = void (*)(Growth &growth);
/// One that begins with a value that `find` finds. It gets a copy: new values
/// move those that the growth has.
template <Growth::Item *(*find)(Growth &growth),
          void (*step)(Growth &growth, const Growth::Item &item)>
void from(Growth &growth) {
  if (const Growth::Item *found = find(growth))
    step(growth, Growth::Item(*found));
}
const std::vector<Step> &elementwiseSteps();
const std::vector<Step> &movingSteps();
const std::vector<Step> &combiningSteps();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_GRAPHS_RANDOMGRAPH_H
