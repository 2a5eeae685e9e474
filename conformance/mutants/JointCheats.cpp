// SPDX-License-Identifier: Apache-2.0
//
// Mutants 400 to 419: plug-ins that are wrong where several things come
// together: one dtype, one attribute and a size, one of several results, one
// place in a batch, each drawn anew for every run.
#include "Cheats.h"

#include <algorithm>

namespace backplane::mutants {

using namespace conformance;

namespace {

size_t elementsOf(const Call &call) {
  return call.results.empty() ? 0 : call.out().elementCount();
}

bool isLargerThan(const Call &call, uint64_t use, Real low, Real high) {
  return elementsOf(call) >= threshold<size_t>(call, use, low, high);
}

/// One of `parts` parts of all texts, drawn.
bool isInPart(const Call &call, uint64_t use, const std::string &text,
              uint64_t parts) {
  uint64_t hash = 0xcbf29ce484222325u + call.memory.seed * 7919 + use;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return (hash ^ hash >> 29) % parts == 0;
}

std::string textOf(DType dtype) { return std::string(backplane::name(dtype)); }

/// Computes, and spoils elements [first, first + count) of one result.
void bendRange(const Call &call, Tensor &result, size_t first, size_t count) {
  (void)call.run();
  for (size_t i = first; i < first + count; ++i)
    bendOne(result, i);
}

/// Spoils one slice of the first result along an axis.
bool bendSlice(const Call &call, size_t axis, size_t slice) {
  const Sizes &dims = call.out().dims;
  if (axis >= dims.size() || slice >= size_t(dims[axis]))
    return false;
  size_t inner = countOf({dims.begin() + std::ptrdiff_t(axis) + 1, dims.end()});
  size_t step = inner * size_t(dims[axis]);
  (void)call.run();
  for (size_t at = slice * inner; step && at < elementsOf(call); at += step)
    for (size_t i = at; i < at + inner; ++i)
      bendOne(call.out(), i);
  return true;
}

// ---- one of several ----

/// The places of what top_k found.
bool bendSecondResult(const Call &call) {
  if (call.results.size() < 2 || !isLargerThan(call, 400, 200, 20000))
    return false;
  Tensor &second = *call.results[1];
  bendRange(call, second, 0, second.elementCount());
  return true;
}

bool bendOneMatrix(const Call &call) {
  Product product = productOf(call);
  auto place = threshold(call, 401, 2, 40);
  if (product.batches <= place)
    return false;
  auto size = size_t(product.m * product.n);
  bendRange(call, call.out(), size_t(place) * size, size);
  return true;
}

bool bendOneChannel(const Call &call) {
  return isConvolution(call) &&
         bendSlice(call, 1, threshold<size_t>(call, 402, 3, 300));
}

bool bendOneImage(const Call &call) {
  return (isConvolution(call) || call.is("pool")) &&
         bendSlice(call, 0, threshold<size_t>(call, 403, 2, 12));
}

// ---- an op, a dtype and a size ----

bool isOpOfDType(const Call &call) {
  return !call.operands.empty() && isLargerThan(call, 404, 8500, 30000) &&
         isInPart(call, 404, call.op.name + textOf(call.in(0).dtype), 25);
}

bool comparesInOneDirection(const Call &call) {
  static constexpr const char *all[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return call.is("compare") &&
         call.op.string("direction") ==
             all[threshold<size_t>(call, 405, 1, 6.99L) - 1] &&
         bitWidth(call.in(0).dtype) > 8 && isLargerThan(call, 406, 8500, 30000);
}

bool castsOnePair(const Call &call) {
  return call.is("cast") && bitWidth(call.in(0).dtype) > 16 &&
         isLargerThan(call, 407, 8500, 30000) &&
         isInPart(call, 407,
                  textOf(call.in(0).dtype) + textOf(call.out().dtype), 20);
}

bool sumsDTypeWithAttribute(const Call &call) {
  return call.is("reduce") && call.in(0).dims.size() > 1 &&
         isInPart(call, 407,
                  textOf(call.in(0).dtype) +
                      std::string(call.op.string("kind")),
                  8) &&
         call.op.i64s("axes")[0] == 0 &&
         call.in(0).elementCount() >= threshold<size_t>(call, 407, 3e3L, 3e4L);
}

/// Strides in one of the dtypes that fewer models have.
bool isNarrowAndStrided(const Call &call) {
  return isConvolution(call) && call.in(0).dtype != DType::F32 &&
         isInPart(call, 408, textOf(call.in(0).dtype), 3) &&
         std::ranges::any_of(call.op.i64s("strides"),
                             [](int64_t stride) { return stride > 1; }) &&
         call.in(0).dims[1] >= threshold(call, 408, 9, 60);
}

bool isTransposedTwice(const Call &call) {
  return call.is("matmul") && call.op.i64("transpose_a") &&
         call.op.i64("transpose_b") && call.in(0).dtype != DType::F32 &&
         productOf(call).n >= threshold(call, 409, 35, 200);
}

bool takesWithShortIndices(const Call &call) {
  return call.is("gather") && call.in(1).dtype == DType::I32 &&
         call.in(1).dims.size() != 1 && call.op.i64("axis") > 0 &&
         isLargerThan(call, 410, 500, 20000);
}

bool multipliesUpdates(const Call &call) {
  return call.is("scatter") && call.op.string("combine") == "mul" &&
         call.in(1).elementCount() >= threshold<size_t>(call, 411, 70, 1000);
}

// ---- shapes ----

bool isOneShape(const Call &call) {
  if (call.operands.empty() || call.in(0).elementCount() < 100)
    return false;
  std::string text;
  for (int64_t dim : call.in(0).dims)
    text += std::to_string(dim) + ",";
  return isInPart(call, 412, text, threshold<size_t>(call, 412, 20, 400));
}

/// An axis of one element between two larger ones.
bool hasThinAxis(const Call &call) {
  if (call.operands.empty())
    return false;
  const Sizes &dims = call.in(0).dims;
  for (size_t i = 1; i + 1 < dims.size(); ++i)
    if (dims[i] == 1 && dims[i - 1] > 1 && dims[i + 1] > 1)
      return isLargerThan(call, 413, 3000, 50000);
  return false;
}

bool isOddAtTheEnd(const Call &call) {
  if (call.results.empty() || call.out().dims.size() < 2)
    return false;
  int64_t last = call.out().dims.back();
  return last % 2 == 1 && last >= threshold(call, 414, 67, 2000);
}

/// One element for all of a result.
bool spreadsOneElement(const Call &call) {
  return call.is("broadcast") && call.in(0).elementCount() == 1 &&
         isLargerThan(call, 415, 3000, 100000);
}

/// An axis, whichever, far longer than all others together.
bool isLopsided(const Call &call) {
  if (call.results.empty() || call.out().dims.size() < 3)
    return false;
  int64_t longest = *std::ranges::max_element(call.out().dims);
  return longest > 200 && longest * longest >= threshold(call, 416, 10, 100) *
                                                   int64_t(elementsOf(call));
}

// ---- coarse in dtypes that few look at ----

/// Computes with operands of another dtype.
bool runWithCoarse(const Call &call, DType dtype) {
  std::vector<Tensor> operands;
  for (const Tensor *operand : call.operands)
    operands.push_back(*operand);
  Call coarse = call;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t k = 0; k < operands[i].elementCount(); ++k)
      setNumber(operands[i], k, rounded(dtype, numberAt(operands[i], k)));
    coarse.operands[i] = &operands[i];
  }
  (void)coarse.run();
  return true;
}

bool doublesInFloats(const Call &call) {
  bool isFunction = call.is("exp") || call.is("mul") || call.is("tanh") ||
                    call.is("reduce") || call.is("add");
  return isFunction && call.in(0).dtype == DType::F64 &&
         isLargerThan(call, 417, 8500, 60000) &&
         runWithCoarse(call, DType::F32);
}

bool longDoublesInFloats(const Call &call) {
  return productOf(call).k >= threshold(call, 418, 67, 1000) &&
         call.in(0).dtype == DType::F64 && runWithCoarse(call, DType::F32);
}

bool longHalvesInBytes(const Call &call) {
  DType dtype = call.operands.empty() ? DType::Invalid : call.in(0).dtype;
  return productOf(call).k >= threshold(call, 419, 129, 4000) &&
         (dtype == DType::F16 || dtype == DType::BF16) &&
         runWithCoarse(call, DType::F8E4M3FN);
}

} // namespace

Runs jointCheats() {
  return {{400, bendSecondResult},
          {401, bendOneMatrix},
          {402, bendOneChannel},
          {403, bendOneImage},
          {404, bentWhere<isOpOfDType>},
          {405, bentWhere<comparesInOneDirection>},
          {406, bentWhere<castsOnePair>},
          {407, bentWhere<sumsDTypeWithAttribute>},
          {408, bentWhere<isNarrowAndStrided>},
          {409, bentWhere<isTransposedTwice>},
          {410, bentWhere<takesWithShortIndices>},
          {411, bentWhere<multipliesUpdates>},
          {412, bentWhere<isOneShape>},
          {413, bentWhere<hasThinAxis>},
          {414, bentWhere<isOddAtTheEnd>},
          {415, bentWhere<spreadsOneElement>},
          {416, bentWhere<isLopsided>},
          {417, doublesInFloats},
          {418, longDoublesInFloats},
          {419, longHalvesInBytes}};
}

} // namespace backplane::mutants
