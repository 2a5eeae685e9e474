// SPDX-License-Identifier: Apache-2.0
//
// A compiler for x86 CPUs with a target for each way in which a pass of Toy.cpp
// ends, for tools/bp/test/plugins.py.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

constexpr auto features = constantTexts("avx2", "fma", "f16c");

constexpr bp_target_t targetOf(std::string_view name, uint32_t flags = 0) {
  return {.header = BP_HEADER(bp_target_t),
          .name = constantText(name),
          .description = constantText("x86-64 with AVX2 and FMA"),
          .driver = constantText("host"),
          .format = constantText("elf-x86_64"),
          .required_features = features.data(),
          .required_feature_count = features.size(),
          .emitter = constantText("llvm-elf"),
          .triple = constantText("x86_64-unknown-linux-gnu"),
          .cpu = constantText("x86-64"),
          .features = constantText("+avx2,+fma,+f16c"),
          .storage_dtypes = addressableDTypes,
          .compute_dtypes = addressableDTypes,
          .vector_bits = 256,
          .max_bindings = 64,
          .max_constants = BP_MAX_CONSTANTS,
          .flags = flags};
}

/// With one more pipeline in front of those of every target.
constexpr DataTarget withPass(std::string_view name, std::string_view stage,
                              std::string_view pipeline, uint32_t flags = 0) {
  return {targetOf(name, flags),
          {{{stage, pipeline},
            {"tile", "bp-bind-buffers,bp-distribute"},
            {"bufferize", "bp-bufferize"},
            {"device", "bp-vectorize{vector-bits=256},bp-expand-math,"
                       "bp-to-cpu-entry,bp-to-llvm"}}}};
}

constexpr DataTarget targets[] = {
    withPass("toy", "lower", "toy-note{factor=3}"),
    withPass("toy+sizes", "lower", "toy-note{factor=3}",
             BP_TARGET_COMPILES_SIZES),
    withPass("toy+crash", "lower", "toy-crash"),
    withPass("toy+program-crash", "import", "toy-crash"),
    withPass("toy+misspelt", "lower", "toy-nota")};

constexpr DataBackend backend = {.name = "toy",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
