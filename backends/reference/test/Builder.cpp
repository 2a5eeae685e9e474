// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the tests, made with the builder of the host.
#include "Harness.h"

namespace reftest {

DimTexts dims(const Dims &values) {
  DimTexts dims;
  for (int64_t value : values)
    dims.texts.push_back(std::to_string(value));
  return dims;
}

Builder::Builder() {
  EXPECT_EQ(graphTable().builder_create(text("test"), &builder_), 0);
}

Builder::~Builder() { graphTable().builder_destroy(builder_); }

void Builder::symbol(const std::string &name, int64_t maximum) {
  bp_symbol_info_t info = {text(name), 0, maximum, 1};
  EXPECT_EQ(graphTable().builder_symbol(builder_, &info), 0);
}

static std::vector<bp_string_t> views(const std::vector<std::string> &texts) {
  std::vector<bp_string_t> views;
  for (const std::string &each : texts)
    views.push_back(text(each));
  return views;
}

uint32_t Builder::input(bp_dtype_t dtype,
                        const std::vector<std::string> &dims) {
  uint32_t value = BP_NONE;
  std::vector<bp_string_t> list = views(dims);
  EXPECT_EQ(graphTable().builder_input(builder_, text("x"), dtype, list.data(),
                                       uint32_t(list.size()), &value,
                                       errorSlot()),
            0)
      << takeError();
  return value;
}

uint32_t Builder::input(const Tensor &like) {
  return input(like.dtype, dims(like.dims).texts);
}

uint32_t Builder::op(const std::string &name,
                     const std::vector<uint32_t> &operands,
                     const Attributes &attributes) {
  return results(name, 1, operands, attributes)[0];
}

std::vector<uint32_t> Builder::results(const std::string &name, uint32_t count,
                                       const std::vector<uint32_t> &operands,
                                       const Attributes &attributes) {
  std::vector<bp_attribute_t> list;
  std::vector<std::vector<bp_string_t>> texts(attributes.size());
  for (const auto &[key, value] : attributes) {
    bp_attribute_t out = {};
    out.name = text(key);
    if (const auto *number = std::get_if<int64_t>(&value)) {
      out.kind = BP_ATTRIBUTE_I64;
      out.i64 = *number;
    } else if (const auto *string = std::get_if<std::string>(&value)) {
      out.kind = BP_ATTRIBUTE_STRING;
      out.string = text(*string);
    } else if (const auto *numbers = std::get_if<Dims>(&value)) {
      out.kind = BP_ATTRIBUTE_I64S;
      out.count = uint32_t(numbers->size());
      out.i64s = numbers->data();
    } else if (const auto *sizes = std::get_if<DimTexts>(&value)) {
      out.kind = BP_ATTRIBUTE_DIMS;
      out.count = uint32_t(sizes->texts.size());
      texts[list.size()] = views(sizes->texts);
      out.dims = texts[list.size()].data();
    } else {
      const auto &bytes = std::get<std::vector<uint8_t>>(value);
      out.kind = BP_ATTRIBUTE_BYTES;
      out.bytes = {bytes.data(), bytes.size()};
    }
    list.push_back(out);
  }
  std::vector<uint32_t> results(count, BP_NONE);
  EXPECT_EQ(graphTable().builder_op(builder_, text(name), operands.data(),
                                    uint32_t(operands.size()), list.data(),
                                    uint32_t(list.size()), text("node " + name),
                                    results.data(), count, errorSlot()),
            0)
      << takeError();
  return results;
}

void Builder::output(uint32_t value) {
  EXPECT_EQ(
      graphTable().builder_output(builder_, value, text("y"), errorSlot()), 0)
      << takeError();
}

bp_graph_t *Builder::finish() {
  bp_graph_t *graph = nullptr;
  EXPECT_EQ(graphTable().builder_finish(builder_, &graph, errorSlot()), 0)
      << takeError();
  return graph;
}

} // namespace reftest
