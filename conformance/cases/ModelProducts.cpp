// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices at sizes that models have: plain, transposed, in batches
// of up to six axes, of small integers, and with what models put after them.
#include "LargeBuilder.h"
#include "ModelSizes.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

std::vector<std::string> tags() {
  return {"size", "index", "tail", "last-k", "k-boundary", "accumulate"};
}

/// Batch axes in front of the others.
Dims batched(const std::vector<const char *> &batch, const SizeOf &size,
             Dims dims) {
  Dims all;
  for (const char *name : batch)
    all.push_back(size(name));
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

struct Form {
  const char *variant;
  std::vector<const char *> batch;
  bool transposeA = false, transposeB = false;
  bool isShared = false; ///< b has no batch axes
};

LargeGraph productOf(DType dtype, const Form &form) {
  LargeGraph graph{.op = "matmul",
                   .dtype = dtype,
                   .variant = form.variant,
                   .tags = tags(),
                   .axes = {{"k", 1, 32768}, {"m", 1, 32768}, {"n", 1, 32768}},
                   .repeated = {"m", "n"},
                   .build = {}};
  for (const char *name : form.batch) {
    int64_t most = form.batch.size() > 2 ? 12 : 64;
    graph.axes.push_back({name, 1, most});
    graph.repeated.emplace_back(name);
  }
  graph.build = [dtype, form](CaseBuilder &builder, const SizeOf &size) {
    Dim m = size("m"), n = size("n"), k = size("k");
    Dims a = form.transposeA ? Dims{k, m} : Dims{m, k};
    Dims b = form.transposeB ? Dims{n, k} : Dims{k, n};
    ValueId x = builder.input(dtype, batched(form.batch, size, a), termsOf(k));
    ValueId w = builder.input(
        dtype, form.isShared ? b : batched(form.batch, size, b), termsOf(k));
    builder.output(builder.add("matmul", {x, w},
                               {{"transpose_a", int64_t(form.transposeA)},
                                {"transpose_b", int64_t(form.transposeB)}}));
  };
  graph.isProduct = isFloat(dtype) || bitWidth(dtype) >= 32;
  return graph;
}

/// Sizes that whole tiles of many sizes fill.
std::vector<KnownSizes> wholeTiles() {
  std::vector<KnownSizes> all;
  for (int64_t size : {144, 160, 176, 192, 208, 224})
    for (int64_t n : {size, 2 * size})
      all.push_back({"tiles-" + std::to_string(size) + "-" + std::to_string(n),
                     {{"m", size}, {"n", n}, {"k", size}}});
  return all;
}

/// f32 has all forms and slots; each other dtype some.
void putProducts(const Sink &sink, DType dtype) {
  const Form forms[] = {
      {"models", {}},
      {"models-nt", {}, false, true},
      {"models-tn", {}, true, false},
      {"models-shared", {"p"}, false, false, true},
      {"models-rank3", {"p"}},
      {"models-rank4", {"p", "q"}},
      {"models-rank5", {"p", "q", "r"}},
      {"models-rank6", {"p", "q", "r", "s"}, false, true},
  };
  bool isMain = dtype == DType::F32, isWide = isFloat(dtype);
  for (const Form &form : forms) {
    bool isPlain = form.batch.empty() && !form.transposeA;
    if (!isMain && !(isWide ? isPlain || form.batch.size() == 4
                            : form.variant == std::string_view("models")))
      continue;
    LargeGraph graph = productOf(dtype, form);
    if (form.variant == std::string_view("models") && isMain)
      graph.known = knownProducts();
    if (form.variant == std::string_view("models-nt") && isMain)
      graph.known = wholeTiles();
    if (isPlain && isWide)
      graph.weights = {1};
    graph.isLargest = isWide && form.variant == std::string_view("models");
    if (isMain && graph.isLargest) {
      graph.share = 1;
      graph.statics = 3;
    }
    if (!isMain) {
      graph.share = isWide ? 0.06 : 0.01;
      graph.slots = isWide ? 7 : 4;
    }
    makeLarge(sink, graph);
  }
}

// ---- small integers ----

LargeGraph integersOf(DType a, DType b, bool perRow) {
  LargeGraph graph{.op = "matmul_integer",
                   .dtype = a,
                   .variant = "models-" + std::string(name(b)) +
                              (perRow ? "-rows" : ""),
                   .tags = tags(),
                   .axes = {{"k", 1, 32768}, {"m", 1, 32768}, {"n", 1, 32768}},
                   .repeated = {"m", "n"},
                   .build = {}};
  graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
    Dim m = size("m"), n = size("n"), k = size("k");
    std::vector<ValueId> operands = {
        builder.input(a, {m, k}, termsOf(k)),
        builder.input(b, {k, n}, termsOf(k)),
        builder.input(a, perRow ? Dims{m} : Dims{}),
        builder.input(b, perRow ? Dims{n} : Dims{})};
    builder.output(builder.add("matmul_integer", operands));
  };
  if (a == b && !perRow)
    graph.known = knownProducts();
  graph.weights = {1};
  graph.isProduct = true;
  graph.isLargest = a == b && !perRow;
  graph.slots = a == b ? 9 : 5;
  graph.dataSet = "bits";
  return graph;
}

// ---- with neighbours ----

/// x W + bias, then a residual or an activation.
LargeGraph fusedOf(DType dtype, const char *behind) {
  LargeGraph graph{.op = "matmul",
                   .dtype = dtype,
                   .variant = std::string("models-bias-") + behind,
                   .tags = tags(),
                   .axes = {{"k", 1, 16384}, {"m", 1, 16384}, {"n", 1, 16384}},
                   .repeated = {"m", "n"},
                   .build = {}};
  graph.build = [dtype, behind](CaseBuilder &builder, const SizeOf &size) {
    Dim m = size("m"), n = size("n"), k = size("k");
    ValueId x = builder.input(dtype, {m, k}, termsOf(k));
    ValueId w = builder.input(dtype, {k, n}, termsOf(k));
    ValueId bias = builder.input(dtype, {n});
    ValueId sum =
        builder.add("add", {builder.add("matmul", {x, w}),
                            builder.add("broadcast", {bias},
                                        {{"dims", Dims{m, n}},
                                         {"axes", std::vector<int64_t>{1}}})});
    if (behind == std::string_view("residual"))
      sum = builder.add("add", {sum, builder.input(dtype, {m, n})});
    else
      sum = builder.add(behind, {sum});
    builder.output(sum);
  };
  graph.weights = {1, 2};
  graph.slots = 7;
  return graph;
}

// ---- buffers beyond 2 and 4 GiB ----

/// The product stays on the device: what comes back are sums of its rows, so
/// that nothing large goes through a pipe. One wrong element changes a sum.
LargeGraph beyondOf(DType dtype) {
  LargeGraph graph{.op = "matmul",
                   .dtype = dtype,
                   .variant = "models-large-buffers",
                   .tags = {"size", "large"},
                   .axes = {{"k", 1, 8}, {"m", 1, 1 << 17}, {"n", 1, 1 << 17}},
                   .repeated = {"m"},
                   .build = {}};
  graph.build = [dtype](CaseBuilder &builder, const SizeOf &size) {
    Dim m = size("m"), n = size("n"), k = size("k");
    ValueId y =
        builder.add("matmul", {builder.input(dtype, {m, k}, termsOf(k * n)),
                               builder.input(dtype, {k, n}, termsOf(k * n))});
    builder.output(builder.add(
        "reduce", {y}, {{"kind", "sum"}, {"axes", std::vector<int64_t>{1}}}));
  };
  int64_t bytes = bitWidth(dtype) / 8;
  for (int64_t gigabytes : {2, 4}) {
    auto n = (gigabytes << 30) / bytes / 65537 + 3;
    graph.known.push_back({"over-" + std::to_string(gigabytes) + "-gib",
                           {{"k", 3}, {"m", 65537}, {"n", n}}});
  }
  graph.dataSet = "integers";
  graph.depth = Depth::Full;
  graph.share = 1;
  graph.hasLargeBuffers = true;
  graph.slots = graph.statics = 0;
  return graph;
}

} // namespace

void makeModelProducts(const Sink &sink) {
  for (DType dtype : dtypesOf("matmul"))
    putProducts(sink, dtype);
  for (DType a : {DType::I8, DType::U8})
    for (DType b : {DType::I8, DType::U8})
      for (bool perRow : {false, true})
        if (a == b || !perRow)
          makeLarge(sink, integersOf(a, b, perRow));
  for (DType dtype : {DType::F32, DType::F16, DType::I8})
    makeLarge(sink, beyondOf(dtype));
  for (DType dtype : {DType::F32, DType::F16, DType::BF16})
    for (const char *behind : {"relu", "gelu", "residual"})
      makeLarge(sink, fusedOf(dtype, behind));
}

} // namespace backplane::conformance
