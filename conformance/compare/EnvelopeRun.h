// SPDX-License-Identifier: Apache-2.0
//
// EnvelopeRun.h: one run of a graph as a right device may compute it; see
// Envelope.h.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_ENVELOPERUN_H
#define BACKPLANE_CONFORMANCE_COMPARE_ENVELOPERUN_H

#include "conformance/oracle/Oracle.h"
#include "conformance/oracle/RandomBits.h"

#include <cmath>

namespace backplane::conformance {

/// Random numbers one after another.
class Random {
public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  uint64_t bits() { return randomBits(seed_, index_++); }
  /// In [0, 1).
  Real unit() { return std::ldexp(static_cast<Real>(bits() >> 11), -53); }
  /// In (-1, 1).
  Real sign() { return 2 * unit() - 1; }
  /// Deviation 1: twelve uniform numbers.
  Real normal();

private:
  uint64_t seed_, index_ = 0;
};

/// What decides a run: its errors, and what it chooses for each op. Two runs
/// with the same `choices`, of which one is the `opposite`, choose otherwise at
/// every op, so that half of all runs take each side.
struct RunSeed {
  uint64_t errors, choices;
  bool opposite;
};

/// One run over a graph of primitives. Without a seed nothing is rounded but
/// the f64 in which it works.
class EnvelopeRun {
public:
  EnvelopeRun(const Graph &graph, const Declaration &declaration,
              const WeightPool *weights, std::optional<RunSeed> seed)
      : graph_(graph), declaration_(declaration), weights_(weights),
        rounds_(seed), random_(seed ? seed->errors : 0),
        choices_(seed ? seed->choices : 0), opposite_(seed && seed->opposite),
        values_(graph.values.size()) {}

  Status run(const std::vector<Tensor> &inputs);
  /// Element `i` of a float that the run computed.
  Real number(ValueId value, size_t i) const;

private:
  Result<std::vector<int64_t>> sizesOf(const Dims &dims) const;
  Status compute(const Op &op);
  bool chooses();
  bool flushes(bool declared);
  DType dtypeOf(const Op &op) const;
  Result<Graph> alone(const Op &op, const std::vector<Tensor> &operands) const;
  void perturb(const Op &op, DType dtype, const Expected &result,
               Tensor &tensor);
  Real roundedEitherWay(DType dtype, Real value);
  Real errorOf(const Op &op, DType dtype, const Expected &result, size_t i,
               Real value);
  Status constant(const Op &op);
  Status load(const Op &op);

  const Graph &graph_;
  const Declaration &declaration_;
  const WeightPool *weights_;
  bool rounds_;
  Random random_, choices_;
  bool opposite_;
  SymbolValues symbols_;
  std::vector<Tensor> values_;
  std::map<std::string, Tensor, std::less<>> variables_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_ENVELOPERUN_H
