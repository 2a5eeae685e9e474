// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Profiles.h"

#include <algorithm>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr std::string_view structural[] = {
    "assert_dim", "call",          "constant",       "dim",    "if",   "read",
    "scan",       "variable_read", "variable_write", "weight", "while"};

NameSet join(NameSet ops, const NameSet &more) {
  ops.insert(more.begin(), more.end());
  return ops;
}

/// Movement and elementwise arithmetic that every net has.
NameSet commonOps() {
  return {"add",  "broadcast", "cast",  "clamp", "concat",
          "div",  "max",       "min",   "mul",   "neg",
          "relu", "reshape",   "slice", "sub",   "transpose"};
}

NameSet denseOps() {
  return join(commonOps(),
              {"abs",         "batch_norm", "compare",    "elu",
               "erf",         "exp",        "gelu",       "hard_sigmoid",
               "hard_swish",  "layer_norm", "leaky_relu", "log",
               "log_softmax", "matmul",     "recip",      "reduce",
               "rsqrt",       "select",     "sigmoid",    "silu",
               "softmax",     "softplus",   "sqrt",       "tanh"});
}

NameSet convolutionOps() {
  return join(denseOps(), {"avg_pool", "conv", "conv_transpose", "gather",
                           "group_norm", "pad", "pool", "prelu"});
}

NameSet transformerOps() {
  return join(denseOps(),
              {"and", "arg_reduce", "attention", "cos", "cumulative", "gather",
               "iota", "not", "or", "pad", "pow", "rms_norm", "rotary",
               "scatter", "sin", "top_k"});
}

NameSet trainingOps() {
  return join(join(convolutionOps(), transformerOps()),
              {"is_inf", "is_nan", "log_sum_exp", "random_bits", "reverse",
               "shl", "shr", "sign", "xor"});
}

NameSet integerOps() {
  return join(commonOps(), {"conv_integer", "matmul_integer", "pad", "pool",
                            "reduce", "round_even"});
}

} // namespace

const std::vector<Profile> &conformance::profiles() {
  using enum DType;
  static const std::vector<Profile> all = {
      {"dense",
       "inference of dense nets",
       denseOps(),
       {F32, Bool},
       {F16, BF16}},
      {"convolution",
       "inference of convolution nets",
       convolutionOps(),
       {F32, I64, Bool},
       {F16, BF16, I32}},
      {"transformer",
       "decoding with transformers",
       transformerOps(),
       {F32, I64, Bool},
       {F16, BF16, I32}},
      {"training",
       "forward and backward passes",
       trainingOps(),
       {F32, I32, I64, Bool, U32, U64},
       {F16, BF16}},
      {"int8", "quantised nets", integerOps(), {F32, I32, I8, U8}, {F16}},
  };
  return all;
}

const Profile *conformance::findProfile(std::string_view name) {
  auto at = std::ranges::find(profiles(), name, &Profile::name);
  return at == profiles().end() ? nullptr : &*at;
}

bool conformance::isStructural(std::string_view op) {
  return std::ranges::count(structural, op) != 0;
}

bool Profile::admits(const Graph &graph, std::span<const DType> ofGraph) const {
  auto isKnown = [&](DType dtype) {
    return std::ranges::count(dtypes, dtype) ||
           std::ranges::count(optional, dtype);
  };
  auto isTaken = [&](const Op &op) {
    return (isStructural(op.name) || ops.contains(op.name)) &&
           std::ranges::all_of(op.regions, [&](const Graph &region) {
             return admits(region, {});
           });
  };
  return std::ranges::all_of(ofGraph, isKnown) &&
         std::ranges::all_of(graph.ops, isTaken);
}

std::string conformance::profilesText() {
  auto list = [](const auto &names, auto text) {
    std::string out;
    for (const auto &one : names)
      out += (out.empty() ? "`" : ", `") + std::string(text(one)) + "`";
    return out;
  };
  auto dtypeName = [](DType dtype) { return name(dtype); };
  auto itself = [](const std::string &op) { return op; };
  std::string out;
  for (const Profile &profile : profiles())
    out += "## " + std::string(profile.name) + "\n\nFor " +
           std::string(profile.summary) +
           ". Dtypes: " + list(profile.dtypes, dtypeName) +
           "; where the target declares them " +
           list(profile.optional, dtypeName) +
           ".\n\nOps: " + list(profile.ops, itself) + ".\n\n";
  return out;
}
