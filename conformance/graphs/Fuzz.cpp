// SPDX-License-Identifier: Apache-2.0
//
// Layer 6: random graphs of frozen seeds, and relations that hold between two
// ways of computing the same.
#include "Graphs.h"
#include "RandomGraph.h"

namespace backplane::conformance {

namespace {

using enum DType;
using Axes = std::vector<int64_t>;

// ---- random graphs ----

void makeRandom(const Sink &sink, uint64_t seed, Depth depth) {
  DType dtype = dtypeOfSeed(seed);
  Sketch sketch(sink, 6, "random", dtype, "seed" + std::to_string(seed),
                {"index", "residual", "in-place", "workspace"});
  Growth growth(sketch, seed);
  growth.run();
  for (const SymbolValues &call : growth.calls())
    sketch.builder.addCase(depth, "uniform", call);
  sketch.builder.finish();
}

// ---- relations ----

/// A function of each row of [a, b, w] alone; the same ops for the same dice.
ValueId rowwise(Sketch &s, ValueId x, uint64_t seed,
                const std::vector<ValueId> &weights) {
  Dice dice(seed);
  ValueId product = s.matmul(x, weights[0]);
  auto last = static_cast<int64_t>(s.type(product).rank()) - 1;
  Dims dims = s.type(product).dims;
  ValueId y = s.op("add", {product, s.broadcast(weights[1], dims, {last})});
  for (int i = 0; i < 3; ++i)
    switch (dice.below(5)) {
    case 0:
      y = s.op("softmax", {y}, {{"axis", last}});
      break;
    case 1:
      y = s.op("cumulative", {y}, {{"kind", "max"}, {"axis", last}});
      break;
    case 2:
      y = s.op("layer_norm", {y, weights[1], weights[2]},
               {{"axis", last}, {"epsilon", 0.5}});
      break;
    default:
      y = s.op(dice.pick({"tanh", "gelu", "relu", "sigmoid", "abs"}), {y});
    }
  return s.matmul(y, weights[3]);
}

using Function = std::function<ValueId(ValueId)>;

struct Relation {
  const char *name;
  /// The other way to compute f(x).
  ValueId (*other)(Sketch &s, ValueId x, const Function &f);
  bool isLinear = false; ///< f is nothing but products
};

ValueId half(Sketch &s, ValueId x, bool second) {
  Dims dims = s.type(x).dims, starts(dims.size(), Dim(0)), sizes = dims;
  Dim first = floorDiv(dims[0], 2);
  starts[0] = second ? first : Dim(0);
  sizes[0] = second ? dims[0] - first : first;
  return s.op("slice", {x},
              {{"starts", starts},
               {"sizes", sizes},
               {"strides", Axes(dims.size(), 1)}});
}

ValueId inHalves(Sketch &s, ValueId x, const Function &f) {
  return s.op("concat", {f(half(s, x, false)), f(half(s, x, true))},
              {{"axis", 0}});
}

ValueId backwards(Sketch &s, ValueId x, const Function &f) {
  auto turned = [&](ValueId value) {
    return s.op("reverse", {value}, {{"axes", Axes{0}}});
  };
  return turned(f(turned(x)));
}

ValueId transposedOver(Sketch &s, ValueId x, const Function &f) {
  return s.transpose(f(s.transpose(x, {1, 0, 2})), {1, 0, 2});
}

ValueId flattened(Sketch &s, ValueId x, const Function &f) {
  Dims dims = s.type(x).dims;
  ValueId y = f(s.reshape(x, {dims[0] * dims[1], dims[2]}));
  return s.reshape(y, {dims[0], dims[1], s.type(y).dims[1]});
}

/// Neutral elements and inverses.
ValueId identities(Sketch &s, ValueId x, const Function &f) {
  ValueId y = s.op("add", {x, s.fill(0, x)});
  y = s.op("mul", {y, s.fill(1, y)});
  return s.op("neg", {s.op("neg", {f(s.op("neg", {s.op("neg", {y})}))})});
}

ValueId amongOthers(Sketch &s, ValueId x, const Function &f) {
  ValueId more = s.op("concat", {s.fill(1, x), x}, {{"axis", 1}});
  ValueId y = f(more);
  Dims sizes = s.type(y).dims, starts(3, Dim(0));
  starts[1] = s.type(x).dims[1];
  sizes[1] = starts[1];
  return s.op("slice", {y},
              {{"starts", starts}, {"sizes", sizes}, {"strides", Axes(3, 1)}});
}

ValueId scaled(Sketch &s, ValueId x, const Function &f) {
  ValueId y = f(s.op("mul", {x, s.fill(8, x)}));
  return s.op("mul", {y, s.fill(0.125, y)});
}

void makeRelation(const Sink &sink, const Relation &relation, uint64_t seed) {
  DType dtype = seed % 3 == 2 ? F16 : F32;
  Sketch s(sink, 6, "relation", dtype,
           std::string(relation.name) + std::to_string(seed),
           {"index", "tail", "cse"});
  Dice dice(hashText(relation.name) + seed);
  auto inner = static_cast<int64_t>(3 + dice.below(20));
  auto width = static_cast<int64_t>(2 + dice.below(16));
  ValueId x = s.in({s.symbol("a"), s.symbol("b"), inner});
  std::vector<ValueId> weights = {s.weight({inner, width}, -0.5, 0.5),
                                  s.weight({width}), s.weight({width}),
                                  s.weight({width, 5}, -0.5, 0.5)};
  uint64_t body = dice.bits();
  Function f = [&](ValueId value) {
    if (relation.isLinear)
      return s.matmul(s.matmul(value, weights[0]), weights[3]);
    return rowwise(s, value, body, weights);
  };
  s.out(f(x));
  s.out(relation.other(s, x, f));
  for (const SymbolValues &call :
       {SymbolValues{{"a", 5}, {"b", 7}}, SymbolValues{{"a", 16}, {"b", 3}}})
    s.builder.addCase(Depth::Standard, "uniform", call);
  return s.builder.finish();
}

} // namespace

void makeFuzz(const Sink &sink) {
  const uint64_t last = sink.selection.depth == Depth::Full ? 1440 : 440;
  for (uint64_t seed = 0; seed < last; ++seed) {
    Depth depth = seed < 30    ? Depth::Smoke
                  : seed < 440 ? Depth::Standard
                               : Depth::Full;
    makeRandom(sink, seed, depth);
  }
  const std::vector<Relation> relations = {
      {"halves", inHalves},           {"backwards", backwards},
      {"transposed", transposedOver}, {"flattened", flattened},
      {"identities", identities},     {"among-others", amongOthers},
      {"scaled", scaled, true}};
  for (const Relation &relation : relations)
    for (uint64_t seed = 0; seed < (&relation == &relations[0] ? 12u : 8u);
         ++seed)
      makeRelation(sink, relation, seed);
}

} // namespace backplane::conformance
