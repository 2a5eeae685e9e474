// SPDX-License-Identifier: Apache-2.0
//
// NonMaxSuppression: its types, bounds and refusals.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

ModelBuilder boxes(const Names &boxes, const Names &scores,
                   const Names &inputs = {"boxes", "scores", "most"}) {
  ModelBuilder model;
  model.input("boxes", boxes).input("scores", scores).output("y");
  model.node("NonMaxSuppression", inputs, {"y"});
  return model;
}

} // namespace

TEST(OnnxNonMaxSuppression, IsBoundedByItsLimit) {
  ModelBuilder model = boxes({"2", "9", "4"}, {"2", "3", "9"});
  Result<Model> imported = model.ints("most", {1}, {5}).import();
  EXPECT_EQ(text(opOf(imported, "read").dims("bound")), "[30]");
  ModelBuilder open = boxes({"b", "n", "4"}, {"b", "3", "n"});
  imported = open.ints("most", {}, {INT64_MAX}).import();
  EXPECT_EQ(text(opOf(imported, "read").dims("bound")), "[3*b*n]");
}

TEST(OnnxNonMaxSuppression, IsBoundedByTheBoxesWhereDataLimitIt) {
  ModelBuilder model = boxes({"2", "9", "4"}, {"2", "3", "9"});
  model.input("most", {"1"}, onnx::TensorProto::INT64);
  EXPECT_EQ(text(opOf(model.import(), "read").dims("bound")), "[54]");
}

TEST(OnnxNonMaxSuppression, TakesNothingWithoutALimit) {
  std::string found = summary(
      boxes({"2", "9", "4"}, {"2", "3", "9"}, {"boxes", "scores"}).import());
  EXPECT_TRUE(found.ends_with("-> i64[0, 3]")) << found;
  EXPECT_EQ(found.find("read"), std::string::npos) << found;
}

TEST(OnnxNonMaxSuppression, WantsThreeAxesOfFloats) {
  auto messageOf = [](ModelBuilder model) {
    return summary(model.ints("most", {1}, {5}).import());
  };
  EXPECT_NE(messageOf(boxes({"9", "4"}, {"2", "3", "9"})).find("need rank 3"),
            std::string::npos);
  EXPECT_NE(messageOf(boxes({"2", "9", "5"}, {"2", "3", "9"}))
                .find("sizes must be equal"),
            std::string::npos);
}
