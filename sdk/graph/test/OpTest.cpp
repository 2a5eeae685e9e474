// SPDX-License-Identifier: Apache-2.0
//
// Every op: results where its constraints hold, and for each constraint a use
// that breaks it and is told so.
#include "OpCases.h"

#include <set>

using namespace backplane;
using namespace backplane::test;

namespace {

Result<std::vector<TensorType>> infer(const OpCase &c) {
  const OpSpec *spec = findOp(c.op);
  EXPECT_NE(spec, nullptr) << c.op;
  if (!spec)
    return notFound("");
  std::vector<TensorType> operands;
  for (std::string_view type : c.operands)
    operands.push_back(T(type));
  Attributes attributes = c.attributes;
  if (Status status = completeAttributes(*spec, attributes); !status.ok())
    return status;
  return inferTypes(*spec, operands, attributes);
}

TEST(Ops, InferResults) {
  std::set<std::string, std::less<>> seen;
  for (const OpCase &c : goodCases()) {
    auto types = infer(c);
    ASSERT_TRUE(types.ok()) << types.message();
    std::string found;
    for (const TensorType &type : *types)
      found += type.str();
    EXPECT_EQ(found, c.expected) << c.op;
    seen.insert(c.op);
  }
  for (const OpSpec &spec : opTable())
    EXPECT_TRUE(seen.contains(spec.name)) << spec.name << " has no good case";
}

TEST(Ops, CiteTheConstraintThatIsBroken) {
  std::set<std::string> cited;
  for (const OpCase &c : badCases()) {
    auto types = infer(c);
    ASSERT_FALSE(types.ok()) << c.op << " takes what breaks " << c.expected;
    std::string prefix = c.op + " " + c.expected + ": ";
    EXPECT_EQ(types.message().substr(0, prefix.size()), prefix)
        << types.message();
    cited.insert(prefix);
  }
  for (const OpSpec &spec : opTable())
    for (size_t i = 1; i <= spec.constraints.size(); ++i) {
      std::string prefix =
          std::string(spec.name) + " C" + std::to_string(i) + ": ";
      // What only data can break is checked when a program runs.
      if (prefix != "gather C2: ")
        EXPECT_TRUE(cited.contains(prefix)) << prefix << "has no bad case";
    }
}

TEST(Ops, RefuseWrongUses) {
  for (const OpCase &c : wrongUses()) {
    auto types = infer(c);
    ASSERT_FALSE(types.ok()) << c.op << ": " << c.expected;
    EXPECT_EQ(types.message(), c.expected);
  }
}

TEST(Ops, GiveTheMessageOfTheDocumentation) {
  auto types = infer({"matmul", {"f32[2, 64]", "f32[32, 8]"}, {}, ""});
  EXPECT_EQ(types.message(),
            "matmul C4: the k dims are equal, found 64 and 32");
}

TEST(Ops, RefuseHugeNumbersWithoutOverflow) {
  Attributes huge = {{"strides", L({1})},        {"dilations", L({INT64_MAX})},
                     {"low", L({INT64_MAX})},    {"high", L({INT64_MAX})},
                     {"window", L({INT64_MAX})}, {"kind", S("max")}};
  EXPECT_FALSE(infer({"pool", {"f32[1, 1, 4]"}, huge, ""}).ok());
  EXPECT_FALSE(infer({"broadcast",
                      {"f32[]"},
                      {{"dims", Ds("1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                                   "1, 1, 1")},
                       {"axes", L({})}},
                      ""})
                   .ok());
}

TEST(Ops, TableIsSortedAndComplete) {
  std::string_view last;
  for (const OpSpec &spec : opTable()) {
    EXPECT_LT(last, spec.name);
    last = spec.name;
    EXPECT_EQ(findOp(spec.name), &spec);
    EXPECT_GE(spec.version, 1u);
    int names = std::max(spec.minOperands, spec.maxOperands);
    EXPECT_EQ(spec.operandNames.size(), size_t(names)) << spec.name;
    EXPECT_LE(names - spec.minOperands, 1) << spec.name;
  }
  EXPECT_EQ(findOp("no_such_op"), nullptr);
  EXPECT_EQ(findOp(""), nullptr);
  EXPECT_EQ(findOp("zzz"), nullptr);
}

TEST(Ops, FillDefaults) {
  Attributes attributes;
  ASSERT_TRUE(completeAttributes(*findOp("elu"), attributes).ok());
  EXPECT_EQ(std::get<double>(attributes["alpha"]), 1.0);
  attributes.clear();
  ASSERT_TRUE(completeAttributes(*findOp("gelu"), attributes).ok());
  EXPECT_EQ(std::get<std::string>(attributes["approximate"]), "none");
  attributes.clear();
  ASSERT_TRUE(completeAttributes(*findOp("matmul"), attributes).ok());
  EXPECT_EQ(std::get<int64_t>(attributes["transpose_a"]), 0);
}

} // namespace
