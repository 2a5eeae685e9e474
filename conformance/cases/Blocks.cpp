// SPDX-License-Identifier: Apache-2.0
//
// Units of pack and unpack: tiles that fit and tiles that do not, every order
// of axes, and tensors that come back as they were.
#include "CaseBuilder.h"
#include "Rows.h"

namespace backplane::conformance {

namespace {

using I64s = std::vector<int64_t>;

struct Blocks {
  I64s axes, tiles, order;
};

Attributes attributesOf(const Blocks &blocks) {
  Attributes attributes{{"axes", blocks.axes}, {"tiles", blocks.tiles}};
  if (!blocks.order.empty())
    attributes["order"] = blocks.order;
  return attributes;
}

ValueId pack(CaseBuilder &builder, std::vector<ValueId> operands,
             const Blocks &blocks) {
  return builder.add("pack", std::move(operands), attributesOf(blocks));
}

ValueId unpack(CaseBuilder &builder, ValueId x, const Blocks &blocks,
               const Dims &sizes) {
  Attributes attributes = attributesOf(blocks);
  attributes["sizes"] = sizes;
  return builder.add("unpack", {x}, attributes);
}

/// An input with the dims of a packed tensor.
ValueId packedInput(CaseBuilder &builder, DType dtype, const Blocks &blocks,
                    const Dims &plain) {
  Dims dims;
  for (size_t k = 0; k < plain.size(); ++k) {
    size_t axis =
        blocks.order.empty() ? k : static_cast<size_t>(blocks.order[k]);
    Dim count = plain[axis];
    for (size_t i = 0; i < blocks.axes.size(); ++i)
      if (static_cast<size_t>(blocks.axes[i]) == axis)
        count = ceilDiv(count, blocks.tiles[i]);
    dims.push_back(count);
  }
  for (int64_t tile : blocks.tiles)
    dims.emplace_back(tile);
  return builder.input(dtype, dims);
}

/// An input that tells the sizes, which numbers of tiles do not.
void addSizes(CaseBuilder &builder, const Dims &plain) {
  builder.output(builder.input(DType::Bool, plain));
}

std::vector<std::string> tagsOf(DType dtype) {
  std::vector<std::string> tags = {"pads", "index", "tail", "stride"};
  if (bitWidth(dtype) == 4)
    tags.emplace_back("nibbles");
  return tags;
}

// ---- blocks of matrices and images ----

/// Blocks of channels; of matrices, as products want their operands; whole
/// rows; and an order that is not its own inverse.
std::vector<std::pair<const char *, Blocks>> planes() {
  return {{"channels", {{1}, {8}, {}}},
          {"matrix", {{2, 0}, {4, 16}, {1, 2, 0}}},
          {"all", {{0, 1, 2}, {2, 3, 5}, {2, 0, 1}}}};
}

void makePlanes(const Sink &sink, const std::string &op, DType dtype,
                const std::string &variant, const Blocks &blocks) {
  CaseBuilder builder(sink, op, dtype, variant, tagsOf(dtype));
  Dims d = builder.symbols({"a", "b", "c"});
  if (op == "pack") {
    ValueId x = builder.input(dtype, d);
    builder.output(pack(builder, {x}, blocks));
    builder.output(pack(builder, {x, builder.input(dtype, {})}, blocks));
  } else {
    addSizes(builder, d);
    builder.output(
        unpack(builder, packedInput(builder, dtype, blocks, d), blocks, d));
  }
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 11}, {"c", 7}});
  for (int64_t size : {1, 2, 8, 15, 16, 17, 33})
    builder.addCase(Depth::Standard, "bits",
                    {{"a", 5}, {"b", size}, {"c", size + 1}});
  builder.addCase(Depth::Standard, "bits", {{"a", 16}, {"b", 24}, {"c", 20}});
  builder.addCase(Depth::Standard, "bits", {{"a", 0}, {"b", 8}, {"c", 4}});
  builder.finish();
}

// ---- sizes that the compiler sees ----

void makeStatic(const Sink &sink, const std::string &op, DType dtype) {
  CaseBuilder builder(sink, op, dtype, "static",
                      {"pads", "index", "stride", "zero-size"});
  auto add = [&](const Dims &dims, const Blocks &blocks) {
    if (op == "pack")
      builder.output(pack(builder, {builder.input(dtype, dims)}, blocks));
    else
      builder.output(unpack(builder, packedInput(builder, dtype, blocks, dims),
                            blocks, dims));
  };
  add({1, 32, 7, 9}, {{1}, {16}, {}});
  add({1, 37, 7, 5}, {{1}, {16}, {}});
  add({48, 32}, {{0, 1}, {16, 4}, {1, 0}});
  add({2, 3, 4, 3, 2, 5}, {{5, 1}, {2, 2}, {4, 0, 2, 1, 5, 3}});
  add({13}, {{0}, {32}, {}});
  add({13}, {{0}, {1}, {}});
  add({0, 6}, {{0, 1}, {4, 4}, {}});
  add({}, {{}, {}, {}});
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

// ---- there and back ----

/// What is computed between two layouts; the pairs around it that a compiler
/// may drop; a pair that it may not, as the padding comes back as zeros.
void makeRoundTrip(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "unpack", dtype, "round-trip",
                      {"pads", "index", "tail", "fold"});
  Dims d = builder.symbols({"a", "b"});
  Blocks blocks{{1, 0}, {8, 4}, {1, 0}};
  ValueId x = builder.input(dtype, d);
  ValueId packed = pack(builder, {x}, blocks);
  ValueId turned = builder.add("reverse", {packed}, {{"axes", I64s{2, 3}}});
  builder.output(unpack(builder, packed, blocks, d));
  builder.output(unpack(builder, turned, blocks, d));
  ValueId y = packedInput(builder, dtype, blocks, d);
  builder.output(pack(builder, {unpack(builder, y, blocks, d)}, blocks));
  builder.output(pack(builder, {builder.weight(dtype, {5, 12}, 0, 2)}, blocks));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 6}, {"b", 19}});
  for (int64_t size : {0, 1, 8, 17, 40})
    builder.addCase(Depth::Standard, "bits", {{"a", size}, {"b", size + 3}});
  builder.finish();
}

} // namespace

std::vector<EdgeRow> layoutEdges() {
  Blocks blocks{{1, 0}, {2, 4}, {1, 0}};
  return {{"pack", DType::F32, 2,
           [blocks](CaseBuilder &m, const Dims &d) {
             m.output(pack(m, {m.input(DType::F32, d)}, blocks));
           }},
          {"unpack", DType::F32, 2, [blocks](CaseBuilder &m, const Dims &d) {
             addSizes(m, d);
             m.output(
                 unpack(m, packedInput(m, DType::F32, blocks, d), blocks, d));
           }}};
}

void makeBlocks(const Sink &sink) {
  for (const char *op : {"pack", "unpack"}) {
    for (DType dtype : dtypesOf(op))
      for (const auto &[variant, blocks] : planes())
        makePlanes(sink, op, dtype, variant, blocks);
    for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I4,
                        DType::F8E4M3FN, DType::Bool})
      makeStatic(sink, op, dtype);
  }
  for (DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I64})
    makeRoundTrip(sink, dtype);
}

} // namespace backplane::conformance
