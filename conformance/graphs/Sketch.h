// SPDX-License-Identifier: Apache-2.0
//
// Sketch.h: short forms for graphs of several ops, and the patterns that layer
// 4 makes units from.
#ifndef BACKPLANE_CONFORMANCE_GRAPHS_SKETCH_H
#define BACKPLANE_CONFORMANCE_GRAPHS_SKETCH_H

#include "conformance/cases/CaseBuilder.h"

namespace backplane::conformance {

/// A unit in the making. Every value that an op computes is an output too when
/// the sketch is `observed`: then nothing can be fused away.
class Sketch {
public:
  Sketch(const Sink &sink, int layer, const std::string &op, DType dtype,
         const std::string &variant, std::vector<std::string> tags,
         bool observed = false);

  CaseBuilder builder;
  const DType dtype; ///< of the values that `in` and `weight` make

  const TensorType &type(ValueId value) const;
  Dim symbol(const std::string &name) { return builder.symbol(name); }
  /// An input of the sketch's dtype with random numbers in [low, high).
  ValueId in(Dims dims, double low, double high);
  /// The same of floats in [-1, 1), of small integers.
  ValueId in(Dims dims);
  ValueId weight(Dims dims) { return builder.weight(dtype, std::move(dims)); }
  ValueId weight(Dims dims, double low, double high) {
    return builder.weight(dtype, std::move(dims), low, high);
  }
  /// Indices in [0, bound).
  ValueId indices(DType indexType, Dims dims, Dim bound);
  ValueId op(std::string_view name, std::vector<ValueId> operands,
             Attributes attributes = {});
  /// Result `result` of an op of several.
  ValueId result(ValueId first, size_t result) const;
  /// A constant of one value with the type of `like`.
  ValueId fill(double value, ValueId like);
  ValueId constant(DType type, Dims dims, const std::vector<double> &elements);
  /// x repeated along the axes of dims that `axes` does not name.
  ValueId broadcast(ValueId x, Dims dims, std::vector<int64_t> axes);
  /// x op (an input of one number per element of an axis of x).
  ValueId withChannels(std::string_view name, ValueId x, int64_t axis,
                       double low = -1, double high = 1);
  ValueId cast(ValueId x, DType to);
  ValueId reduce(ValueId x, const std::string &kind, std::vector<int64_t> axes,
                 bool keep = false);
  ValueId matmul(ValueId a, ValueId b) { return op("matmul", {a, b}); }
  ValueId transpose(ValueId x, std::vector<int64_t> permutation) {
    return op("transpose", {x}, {{"permutation", std::move(permutation)}});
  }
  ValueId reshape(ValueId x, Dims dims) {
    return op("reshape", {x}, {{"dims", std::move(dims)}});
  }
  /// A convolution with equal parameters for both spatial axes.
  ValueId conv(ValueId x, ValueId w, int64_t stride = 1, int64_t pad = 0,
               int64_t groups = 1, int64_t dilation = 1);
  void out(ValueId value);

private:
  bool observed_;
  std::vector<ValueId> outputs_;
};

/// Whether a graph can be called with these sizes.
bool fits(const Graph &graph, const SymbolValues &values);

/// A graph for several dtypes, with the sizes that it is run with. The first
/// ones are those of the smoke depth, for the first dtype.
struct Pattern {
  std::string name;
  std::vector<std::string> tags;
  std::vector<DType> dtypes;
  std::function<void(Sketch &)> build;
  std::vector<SymbolValues> sizes;
  std::vector<std::string> dataSets = {"uniform"};
  /// Also with every value as an output, for the first dtype.
  bool alsoObserved = false;
};

/// The units of some patterns: layer 4, op `family`.
void makePatterns(const Sink &sink, const std::string &family,
                  const std::vector<Pattern> &patterns);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_GRAPHS_SKETCH_H
