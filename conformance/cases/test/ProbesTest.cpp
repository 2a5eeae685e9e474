// SPDX-License-Identifier: Apache-2.0
//
// Devices of known arithmetic, and what the probes find of them.
#include "conformance/cases/Probes.h"
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Judge.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane::conformance {
namespace {

/// How a device computes.
struct Arithmetic {
  int bits = 24;
  bool toZero = false;
  bool flushesInput = false, flushesOutput = false;
  bool contracts = false;
  int operandBits = 0; ///< of products, 0: all
  size_t lanes = 1;    ///< partial sums
};

Real roundTo(Real value, int bits, bool toZero) {
  if (value == 0 || !std::isfinite(value))
    return value;
  Real unit = std::ldexp(Real(1), std::ilogb(value) - bits + 1);
  Real scaled = value / unit;
  return (toZero ? std::trunc(scaled) : std::rint(scaled)) * unit;
}

class Device {
public:
  explicit Device(Arithmetic arithmetic) : how_(arithmetic) {}

  Real read(const Tensor &tensor, size_t i) const {
    Real value = decode(tensor.dtype, loadBits(tensor, i));
    bool isSmall = std::fabs(value) < smallest(formatOf(tensor.dtype), true);
    return how_.flushesInput && isSmall ? 0 : value;
  }
  Real operand(Real value) const {
    return how_.operandBits ? roundTo(value, how_.operandBits, false) : value;
  }
  Real round(Real value) const {
    return roundTo(value, how_.bits, how_.toZero);
  }
  Real sum(const std::vector<Real> &terms) const {
    std::vector<Real> lanes(how_.lanes);
    for (size_t k = 0; k < terms.size(); ++k)
      lanes[k % how_.lanes] = round(lanes[k % how_.lanes] + terms[k]);
    Real total = 0;
    for (Real lane : lanes)
      total = round(total + lane);
    return total;
  }

  /// The output of a probe whose first operand has lines of 64 or single
  /// numbers.
  Tensor run(const Unit &unit, const std::vector<Tensor> &in) const {
    const std::string &op = unit.graph.ops[0].name;
    bool isLine = op == "matmul" || op == "reduce" || op == "avg_pool";
    size_t count = in[0].elementCount() / (isLine ? 64 : 1);
    Tensor out{unit.dtype, {static_cast<int64_t>(count)}, {}};
    if (op == "matmul")
      out.dims = {static_cast<int64_t>(count), 1, 1};
    out.data.resize(packedBytes(unit.dtype, count));
    for (size_t i = 0; i < count; ++i)
      write(out, i, isLine ? line(op, in, i) : number(unit, in, i));
    return out;
  }

private:
  Real line(const std::string &op, const std::vector<Tensor> &in,
            size_t i) const {
    std::vector<Real> terms;
    for (size_t k = 64 * i; k < 64 * i + 64; ++k)
      terms.push_back(op == "matmul"
                          ? operand(read(in[0], k)) * operand(read(in[1], k))
                          : read(in[0], k));
    return op == "avg_pool" ? sum(terms) / 64 : sum(terms);
  }
  Real number(const Unit &unit, const std::vector<Tensor> &in, size_t i) const {
    Real x = read(in[0], i), y = read(in[1], i);
    if (unit.graph.ops[0].name == "div")
      return x / y;
    if (in.size() == 2)
      return round(x * y);
    return round((how_.contracts ? x * y : round(x * y)) + read(in[2], i));
  }
  void write(Tensor &out, size_t i, Real value) const {
    bool isSmall = std::fabs(value) < smallest(formatOf(out.dtype), true);
    storeBits(out, i,
              encode(out.dtype, how_.flushesOutput && isSmall ? 0 : value));
  }

  Arithmetic how_;
};

/// The verdict of one probe of f32.
Verdict probe(const std::string &opClass, const std::string &property,
              const Arithmetic &arithmetic, const Numerics &declared = {}) {
  Verdict verdict;
  verdict.reason = "there is no such probe";
  Selection full = {.depth = Depth::Full};
  makeProbes({full, [&](Unit unit) {
                if (unit.id != "L3/numerics/f32/" + opClass)
                  return;
                for (const Case &testCase : unit.cases) {
                  if (testCase.dataSet != property)
                    continue;
                  Declaration declaration;
                  declaration.set(numericClassOf(unit), unit.dtype, declared);
                  Tensor output =
                      Device(arithmetic).run(unit, inputsOf(unit, testCase));
                  verdict = judge(unit, testCase, {}, {output}, declaration)[0];
                }
              }});
  return verdict;
}

TEST(Probes, FindTheWidthOfAccumulators) {
  for (const char *opClass : {"DOT", "REDUCE", "RUNNING"})
    for (size_t lanes : {1, 4, 16, 32})
      for (int bits : {11, 24, 32, 53}) {
        Verdict verdict =
            probe(opClass, "probe-accumulator", {.bits = bits, .lanes = lanes});
        EXPECT_EQ(verdict.got, std::to_string(bits) + " bits")
            << opClass << " in " << lanes << " lanes";
        EXPECT_EQ(verdict.want, "24 bits");
        EXPECT_EQ(verdict.pass, bits >= 24) << verdict.reason;
      }
}

TEST(Probes, RefuseADeclarationThatIsBetterThanTheDevice) {
  Numerics wide;
  wide.accumulatorBits = 53;
  Verdict verdict = probe("DOT", "probe-accumulator", {.bits = 24}, wide);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.reason, "DOT of f32 declares: 53 bits, found: 24 bits");
  EXPECT_TRUE(probe("DOT", "probe-accumulator", {.bits = 53}, wide).pass);
}

TEST(Probes, FindRoundingToZero) {
  Numerics declared;
  declared.roundsToZero = true;
  for (const char *opClass : {"DOT", "REDUCE", "EXACT"})
    for (size_t lanes : {1, 4, 16}) {
      Arithmetic nearest{.lanes = lanes}, zero{.toZero = true, .lanes = lanes};
      EXPECT_EQ(probe(opClass, "probe-rounding", nearest).got, "to nearest");
      EXPECT_EQ(probe(opClass, "probe-rounding", zero).got, "to zero");
      EXPECT_TRUE(probe(opClass, "probe-rounding", nearest).pass);
      EXPECT_FALSE(probe(opClass, "probe-rounding", zero).pass);
      EXPECT_TRUE(probe(opClass, "probe-rounding", zero, declared).pass);
    }
}

TEST(Probes, FindFlushing) {
  Numerics declared;
  declared.flushesInput = declared.flushesOutput = true;
  Arithmetic input{.flushesInput = true}, output{.flushesOutput = true};
  for (const char *opClass : {"DOT", "REDUCE", "EXACT", "ULP"}) {
    EXPECT_TRUE(probe(opClass, "probe-flush-input", {}).pass);
    EXPECT_FALSE(probe(opClass, "probe-flush-input", input).pass);
    EXPECT_TRUE(probe(opClass, "probe-flush-input", input, declared).pass);
    EXPECT_TRUE(probe(opClass, "probe-flush-input", output).pass);
    EXPECT_TRUE(probe(opClass, "probe-flush-output", {}).pass);
    EXPECT_FALSE(probe(opClass, "probe-flush-output", output).pass);
    EXPECT_TRUE(probe(opClass, "probe-flush-output", output, declared).pass);
  }
}

TEST(Probes, FindDemotedOperandsAndContraction) {
  EXPECT_TRUE(probe("DOT", "probe-operands", {}).pass);
  const Arithmetic demoted{.operandBits = 11};
  Numerics declared;
  declared.operandBits = 11;
  EXPECT_FALSE(probe("DOT", "probe-operands", demoted).pass);
  EXPECT_TRUE(probe("DOT", "probe-operands", demoted, declared).pass);
  EXPECT_TRUE(probe("DOT", "probe-operands", {}, declared).pass);
  constexpr const char *narrow = "probe-narrow-operands";
  EXPECT_TRUE(probe("DOT", narrow, {}).pass);
  EXPECT_TRUE(probe("DOT", narrow, demoted, declared).pass);
  EXPECT_FALSE(probe("DOT", narrow, {.operandBits = 8}, declared).pass);
  declared.operandBits = 8;
  EXPECT_TRUE(probe("DOT", narrow, demoted, declared).pass);
  EXPECT_TRUE(probe("DOT", narrow, {.operandBits = 8}, declared).pass);
  EXPECT_FALSE(probe("DOT", narrow, {.operandBits = 7}, declared).pass);
  Numerics separate;
  separate.contracts = false;
  Arithmetic fused{.contracts = true};
  EXPECT_TRUE(probe("EXACT-chain", "probe-contraction", {}, separate).pass);
  EXPECT_FALSE(probe("EXACT-chain", "probe-contraction", fused, separate).pass);
  EXPECT_TRUE(probe("EXACT-chain", "probe-contraction", fused).pass);
}

} // namespace
} // namespace backplane::conformance
