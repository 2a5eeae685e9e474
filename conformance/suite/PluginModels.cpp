// SPDX-License-Identifier: Apache-2.0
#include "PluginUnits.h"

namespace backplane::conformance {
namespace {

/// Builds a graph; one that cannot be built has no outputs.
class Builder {
public:
  explicit Builder(std::string_view name) { model_.graph.name = name; }

  Dim symbol(const char *name) {
    (void)model_.graph.addSymbol({name});
    return Dim::symbol(name);
  }
  ValueId input(const char *name, DType dtype, std::vector<Dim> dims) {
    return model_.graph.addInput(name, {dtype, std::move(dims)});
  }
  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    auto results =
        model_.graph.add(op, std::move(operands), std::move(attributes));
    broken_ |= !results.ok();
    return results ? results->front() : 0;
  }
  /// A weight of small whole numbers.
  ValueId weight(int64_t rows, int64_t columns) {
    std::vector<float> values;
    for (int64_t i = 0; i < rows * columns; ++i)
      values.push_back(float(i * 7 % 5 - 2));
    const auto *first = reinterpret_cast<const uint8_t *>(values.data());
    TensorType type{DType::F32, {rows, columns}};
    auto id = model_.weights.add(type, Bytes(first, first + values.size() * 4));
    broken_ |= !id.ok();
    return add("weight", {},
               {{"id", id ? *id : std::string()},
                {"dtype", int64_t(DType::F32)},
                {"dims", type.dims}});
  }
  void output(ValueId value) {
    model_.graph.addOutput(value,
                           "y" + std::to_string(model_.graph.outputs.size()));
  }
  std::optional<Model> take() {
    return broken_ ? std::nullopt : std::optional(std::move(model_));
  }

private:
  Model model_;
  bool broken_ = false;
};

void binary(Builder &b, const char *op, DType dtype,
            const std::vector<Dim> &dims) {
  ValueId x = b.input("x0", dtype, dims), y = b.input("x1", dtype, dims);
  b.output(b.add(op, {x, y}));
}

void multiplyAdd(Builder &b) {
  Dim n = b.symbol("n");
  ValueId x = b.input("x0", DType::F32, {n}),
          y = b.input("x1", DType::F32, {n});
  ValueId z = b.input("x2", DType::F32, {n});
  b.output(b.add("add", {b.add("mul", {x, y}), z}));
}

void negate(Builder &b) {
  b.output(b.add("neg", {b.input("x0", DType::I32, {b.symbol("n")})}));
}

void matmul(Builder &b, const Dim &m, const Dim &k, const Dim &n) {
  ValueId x = b.input("x0", DType::F32, {m, k});
  b.output(b.add("matmul", {x, b.input("x1", DType::F32, {k, n})}));
}

void rowSums(Builder &b) {
  Dim m = b.symbol("m"), n = b.symbol("n");
  b.output(
      b.add("reduce", {b.input("x0", DType::I32, {m, n})},
            {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{1}}}));
}

void transpose(Builder &b) {
  b.output(b.add("transpose", {b.input("x0", DType::I32, {37, 65})},
                 {{"permutation", std::vector<int64_t>{1, 0}}}));
}

/// Inputs of this name hold indices below 5.
constexpr const char *indexName = "index";

void gather(Builder &b) {
  ValueId x = b.input("x0", DType::I32, {5, 33});
  ValueId index = b.input(indexName, DType::I64, {20});
  b.output(b.add("gather", {x, index}, {{"axis", int64_t(0)}}));
}

void scatter(Builder &b) {
  ValueId x = b.input("x0", DType::I32, {5, 33});
  ValueId index = b.input(indexName, DType::I64, {64});
  ValueId updates = b.input("x2", DType::I32, {64, 33});
  b.output(b.add("scatter", {x, index, updates},
                 {{"axis", int64_t(0)}, {"combine", std::string("add")}}));
}

void concat(Builder &b) {
  ValueId x = b.input("x0", DType::I8, {7, 5});
  ValueId y = b.input("x1", DType::I8, {7, 9});
  b.output(b.add("concat", {x, y}, {{"axis", int64_t(1)}}));
}

void outerSum(Builder &b) {
  Dim m = b.symbol("m"), n = b.symbol("n");
  std::vector<Dim> dims = {m, n};
  ValueId x = b.input("x0", DType::I32, {m, 1});
  ValueId y = b.input("x1", DType::I32, {1, n});
  Attributes both = {{"dims", dims}, {"axes", std::vector<int64_t>{0, 1}}};
  b.output(b.add(
      "add", {b.add("broadcast", {x}, both), b.add("broadcast", {y}, both)}));
}

void layers(Builder &b) {
  ValueId x = b.input("x0", DType::F32, {4, 32});
  ValueId hidden = b.add("relu", {b.add("matmul", {x, b.weight(32, 16)})});
  b.output(b.add("matmul", {hidden, b.weight(16, 8)}));
}

void convolution(Builder &b) {
  ValueId x = b.input("x0", DType::F32, {1, 3, 9, 9});
  ValueId w = b.input("x1", DType::F32, {4, 3, 3, 3});
  std::vector<int64_t> ones = {1, 1};
  b.output(b.add(
      "conv", {x, w},
      {{"strides", ones}, {"dilations", ones}, {"low", ones}, {"high", ones}}));
}

void twoOutputs(Builder &b) {
  ValueId x = b.input("x0", DType::I32, {513});
  ValueId y = b.input("x1", DType::I32, {513});
  b.output(b.add("add", {x, y}));
  b.output(b.add("mul", {x, y}));
}

struct Named {
  std::string_view name;
  void (*build)(Builder &);
};

constexpr Named models[] = {
    {"add-f32", [](Builder &b) { binary(b, "add", DType::F32, {1000}); }},
    {"add-i32-large",
     [](Builder &b) { binary(b, "add", DType::I32, {700001}); }},
    {"max-i8", [](Builder &b) { binary(b, "max", DType::I8, {1001}); }},
    {"neg-i32-n", negate},
    {"mul-add-f32-n", multiplyAdd},
    {"matmul-f32", [](Builder &b) { matmul(b, 33, 65, 17); }},
    {"matmul-f32-mkn",
     [](Builder &b) {
       Dim m = b.symbol("m"), k = b.symbol("k"), n = b.symbol("n");
       matmul(b, m, k, n);
     }},
    {"row-sums-i32-mn", rowSums},
    {"transpose-i32", transpose},
    {"gather-i32", gather},
    {"scatter-add-i32", scatter},
    {"concat-i8", concat},
    {"outer-sum-i32-mn", outerSum},
    {"layers-f32", layers},
    {"conv-f32", convolution},
    {"two-outputs-i32", twoOutputs},
};

} // namespace

std::optional<Model> checkModel(std::string_view name) {
  for (const Named &model : models)
    if (model.name == name) {
      Builder builder(name);
      model.build(builder);
      return builder.take();
    }
  return std::nullopt;
}

} // namespace backplane::conformance
