// SPDX-License-Identifier: Apache-2.0
#include "Envelope.h"

#include "EnvelopeRun.h"
#include "Tolerance.h"
#include "conformance/oracle/MidRad.h"
#include "sdk/graph/Decompose.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <thread>

namespace backplane::conformance {

namespace {

/// Errors of one output, run after run, into its spread.
class Gathering {
public:
  Gathering(const Expected &expected, const EnvelopeRun &exact, ValueId value)
      : expected_(expected) {
    for (size_t i = 0; isBounded() && i < expected.bits.size(); ++i)
      centre_.push_back(exact.number(value, i));
  }

  bool isBounded() const {
    return isFloat(expected_.dtype) && expected_.match == Match::Limit;
  }

  void add(const EnvelopeRun &run, ValueId value) {
    std::vector<Real> errors;
    for (size_t i = 0; i < centre_.size(); ++i) {
      bool hasBound = std::isfinite(expected_.error[i]);
      Real error =
          run.number(value, i) - (hasBound ? expected_.value[i] : centre_[i]);
      errors.push_back(std::isfinite(error) ? error : infinity);
    }
    runs_.push_back(std::move(errors));
  }

  Spread spread() const {
    Spread result;
    result.centre = centre_;
    for (size_t i = 0; i < centre_.size(); ++i) {
      Real sum = 0;
      for (const auto &errors : runs_)
        sum += errors[i] * errors[i];
      result.sigma.push_back(std::sqrt(sum / static_cast<Real>(runs_.size())));
    }
    for (const auto &errors : runs_)
      result.commonRms = std::max(result.commonRms, rms(errors, result.sigma));
    return result;
  }

private:
  static double rms(const std::vector<Real> &errors,
                    const std::vector<Real> &sigma) {
    Real squares = 0, count = 0;
    for (size_t i = 0; i < errors.size(); ++i)
      if (sigma[i] > 0 && std::isfinite(sigma[i])) {
        squares += errors[i] / sigma[i] * (errors[i] / sigma[i]);
        ++count;
      }
    return count > 0 ? static_cast<double>(std::sqrt(squares / count)) : 1;
  }

  const Expected &expected_;
  std::vector<Real> centre_;
  std::vector<std::vector<Real>> runs_;
};

bool isFinite(const Tensor &tensor) {
  for (size_t i = 0; isFloat(tensor.dtype) && i < tensor.elementCount(); ++i)
    if (!std::isfinite(decode(tensor.dtype, loadBits(tensor, i))))
      return false;
  return true;
}

bool isLooseAt(const Expected &expected, size_t i) {
  return !(expected.error[i] < std::fabs(expected.value[i]) / 16) &&
         expected.error[i] != 0;
}

/// Runs 0 and 1, 2 and 3 and so on are opposites.
RunSeed seedOf(uint64_t seed, unsigned run) {
  constexpr uint64_t step = 0x632be59bd9b4e019u;
  return {seed + run * step, ~seed + run / 2 * step, run % 2 != 0};
}

/// Runs all at the same time; the first failure.
Status runAll(std::list<EnvelopeRun> &runs, const std::vector<Tensor> &inputs) {
  std::vector<Status> statuses(runs.size());
  {
    std::vector<std::jthread> threads;
    size_t index = 0;
    for (EnvelopeRun &run : runs)
      threads.emplace_back([&run, &inputs, &status = statuses[index++]] {
        status = run.run(inputs);
      });
  }
  for (Status &status : statuses)
    if (!status.ok())
      return std::move(status);
  return {};
}

} // namespace

Result<std::vector<Spread>> spreadOf(const Graph &graph,
                                     const std::vector<Tensor> &inputs,
                                     const Declaration &declaration,
                                     const WeightPool *weights, uint64_t seed,
                                     const std::vector<Expected> &expected,
                                     unsigned threads) {
  auto primitive = decompose(graph, [](const Op &) { return false; });
  if (!primitive)
    return primitive.status();
  EnvelopeRun exact(*primitive, declaration, weights, std::nullopt);
  if (Status status = exact.run(inputs); !status.ok())
    return status;
  std::vector<Gathering> gathered;
  for (size_t output = 0; output < expected.size(); ++output)
    gathered.emplace_back(expected[output], exact,
                          primitive->outputs[output].value);
  for (unsigned next = 0; next < envelopeRuns; next += threads) {
    std::list<EnvelopeRun> runs;
    for (unsigned i = next; i < std::min(next + threads, envelopeRuns); ++i)
      runs.emplace_back(*primitive, declaration, weights, seedOf(seed, i));
    if (Status status = runAll(runs, inputs); !status.ok())
      return status;
    for (const EnvelopeRun &run : runs)
      for (size_t output = 0; output < expected.size(); ++output)
        if (gathered[output].isBounded())
          gathered[output].add(run, primitive->outputs[output].value);
  }
  std::vector<Spread> spreads;
  for (const Gathering &one : gathered)
    spreads.push_back(one.isBounded() ? one.spread() : Spread());
  return spreads;
}

bool isLoose(const Expected &expected) {
  if (expected.match != Match::Limit || !isFloat(expected.dtype))
    return false;
  for (size_t i = 0; i < expected.error.size(); ++i)
    if (isLooseAt(expected, i))
      return true;
  return false;
}

void tighten(Expected &expected, const Spread &spread, bool finite) {
  if (spread.sigma.size() != expected.error.size())
    return;
  const FloatFormat &format = formatOf(expected.dtype);
  double gate = envelopeRms(format.precision) * spread.commonRms / rmsLimit;
  std::vector<Real> sigma(expected.error.size());
  for (size_t i = 0; i < expected.error.size(); ++i) {
    bool isKept = std::isnan(expected.error[i]) && !finite;
    if (isKept || !isLooseAt(expected, i) || !std::isfinite(spread.sigma[i]) ||
        !std::isfinite(expected.value[i]))
      continue;
    if (!std::isfinite(expected.error[i])) {
      expected.value[i] = spread.centre[i];
      expected.bits[i] = encode(expected.dtype, spread.centre[i]);
    }
    Real unit = ulp(format, expected.value[i]);
    Real limit = envelopeLimit({spread.sigma[i], unit});
    if (!(expected.error[i] < limit))
      expected.error[i] = limit;
    sigma[i] = std::max(spread.sigma[i], unit / 2) * static_cast<Real>(gate);
  }
  expected.sigma = std::move(sigma);
  expected.biasGate = false;
}

void tightenLoose(const Graph &graph, const std::vector<Tensor> &inputs,
                  const Declaration &declaration, const WeightPool *weights,
                  uint64_t seed, std::vector<Expected> &expected,
                  unsigned threads) {
  if (std::none_of(expected.begin(), expected.end(), isLoose))
    return;
  auto spreads =
      spreadOf(graph, inputs, declaration, weights, seed, expected, threads);
  if (!spreads)
    return;
  bool finite = std::all_of(inputs.begin(), inputs.end(), isFinite);
  for (size_t i = 0; i < expected.size(); ++i)
    if (isLoose(expected[i]))
      tighten(expected[i], (*spreads)[i], finite);
}

} // namespace backplane::conformance
