// SPDX-License-Identifier: Apache-2.0
//
// Partitioning does work in proportion to the ops of a model, whatever their
// shape: counted, not timed.
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace {

constexpr const char *vector = "tensor<64xf32>";

/// The text of a function `main`, written op by op.
class Text {
public:
  std::string op(const std::string &name, const std::vector<std::string> &in) {
    std::string list, types;
    for (const std::string &value : in) {
      list += (list.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + std::string(vector);
    }
    std::string result = "%v" + std::to_string(count_++);
    body_ += "    " + result + " = " + name + " " + list + " : (" + types +
             ") -> " + vector + "\n";
    return result;
  }
  /// Ops of a kind that never fuses with its like.
  std::string opaque(const std::string &in) {
    std::string result = "%v" + std::to_string(count_++);
    body_ += "    " + result + " = bp.reverse " + in +
             " {axes = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>\n";
    return result;
  }
  std::string module(const std::string &result) const {
    return "func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> " +
           std::string(vector) + " {\n" + body_ + "    return " + result +
           " : " + vector + "\n}\n";
  }

private:
  std::string body_;
  unsigned count_ = 0;
};

using Shape = std::string (*)(Text &, unsigned);

std::string chain(Text &t, unsigned ops) {
  std::string last = "%x";
  for (unsigned i = 0; i < ops; ++i)
    last = t.op("bp.neg", {last});
  return last;
}

/// Each second op cannot be fused, and all read the first value.
std::string farReads(Text &t, unsigned ops) {
  std::string first = t.op("bp.exp", {"%x"}), last = first;
  for (unsigned i = 0; i < ops / 2; ++i)
    last = t.op("bp.add", {t.opaque(last), first});
  return last;
}

std::string sum(Text &t, unsigned ops) {
  std::vector<std::string> terms;
  for (unsigned i = 0; i < ops / 2; ++i)
    terms.push_back(t.op("bp.exp", {i % 2 ? "%x" : "%y"}));
  std::string last = terms.front();
  for (unsigned i = 1; i < terms.size(); ++i)
    last = t.op("bp.add", {last, terms[i]});
  return last;
}

/// One value with many users, which meet again.
std::string fan(Text &t, unsigned ops) {
  std::string hub = t.op("bp.exp", {"%x"}), last = hub;
  for (unsigned i = 0; i < ops / 3; ++i)
    last = t.op("bp.add", {t.opaque(t.op("bp.mul", {hub, "%y"})), last});
  return last;
}

std::string ladder(Text &t, unsigned ops) {
  std::string left = "%x", right = "%y";
  for (unsigned i = 0; i < ops / 4; ++i) {
    std::string a = t.op("bp.add", {left, right});
    std::string b = t.opaque(t.op("bp.mul", {left, right}));
    left = a;
    right = t.op("bp.neg", {b});
  }
  return t.op("bp.add", {left, right});
}

/// The halves of many pairs, in opposite orders.
std::string crossed(Text &t, unsigned ops) {
  std::vector<std::string> firsts;
  std::string last = "%x";
  for (unsigned i = 0; i < ops / 3; ++i)
    firsts.push_back(last = t.opaque(last));
  last = "%y";
  for (size_t i = firsts.size(); i-- > 0;)
    last = t.op("bp.add", {t.op("bp.exp", {firsts[i]}), last});
  return last;
}

class Partitioning
    : public testing::TestWithParam<std::pair<const char *, Shape>> {
protected:
  uint64_t steps(unsigned ops, const bp::FusionOptions &options) {
    Text text;
    std::string result = GetParam().second(text, ops);
    auto module = parseSourceString<ModuleOp>(text.module(result), &context_);
    EXPECT_TRUE(module);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    return bp::groupOps(main, options).steps;
  }
  void SetUp() override { bp::loadGraphDialects(context_); }

private:
  MLIRContext context_;
};

TEST_P(Partitioning, TakesWorkInProportion) {
  for (uint32_t most : {32u, 0u}) {
    bp::FusionOptions options;
    options.fusion = ~0u;
    options.maxOps = most;
    options.maxBindings = most ? 64 : 0;
    uint64_t few = steps(2000, options), more = steps(8000, options),
             many = steps(32000, options);
    EXPECT_LE(double(more), 1.2 * 4 * double(few)) << "up to " << most;
    EXPECT_LE(double(many), 1.2 * 4 * double(more)) << "up to " << most;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Partitioning,
    testing::Values(std::pair{"chain", &chain}, std::pair{"far", &farReads},
                    std::pair{"sum", &sum}, std::pair{"fan", &fan},
                    std::pair{"ladder", &ladder},
                    std::pair{"crossed", &crossed}),
    [](const auto &info) { return std::string(info.param.first); });

} // namespace
