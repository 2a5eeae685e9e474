// SPDX-License-Identifier: Apache-2.0
//
// DataBackend.h: the compiler side of a backend that is data only. A chip that
// one of the SDK's emitters generates code for needs no function of its own: it
// declares its targets, and for each the pipelines of published passes that
// compile for it (docs/reference/passes.md). A whole library is then
//
//   constexpr backplane::DataTarget targets[] = {...};
//   constexpr backplane::DataBackend backend = {
//       .name = "acme", .vendor = "Acme", .version = "1.0.0",
//       .targets = targets};
//
//   extern "C" BP_PLUGIN_EXPORT int32_t
//   bp_plugin_query_v0(const bp_host_info_t *, bp_plugin_info_t *out) {
//     return backplane::DataPlugin<backend>::query(out);
//   }
//
// All of it is constant: nothing is allocated, nothing throws, no constructor
// runs, and the library needs nothing of the C++ library at run time.
#ifndef BACKPLANE_CPP_DATABACKEND_H
#define BACKPLANE_CPP_DATABACKEND_H

#include "backplane/compiler.h"
#include "backplane/plugin.h"

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>

// Members that are not named are zero; newer headers have more of them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace backplane {

// ---- What a table of constants is written with ----

/// A string of the C ABI; `text` is a literal.
constexpr bp_string_t constantText(std::string_view text) {
  return {text.data(), text.size()};
}

/// Strings of the C ABI: constexpr auto required = constantTexts("a", "b");
template <typename... Text>
constexpr std::array<bp_string_t, sizeof...(Text)>
constantTexts(const Text &...texts) {
  return {constantText(texts)...};
}

/// Properties of a target: constexpr std::array properties = {
///     property("registers", 32), ...}.
constexpr bp_property_t property(std::string_view key,
                                 std::integral auto number) {
  return {.key = constantText(key), .kind = BP_PROPERTY_I64, .i64 = number};
}
constexpr bp_property_t property(std::string_view key, double number) {
  return {.key = constantText(key), .kind = BP_PROPERTY_F64, .f64 = number};
}
constexpr bp_property_t property(std::string_view key, std::string_view text) {
  return {.key = constantText(key),
          .kind = BP_PROPERTY_STRING,
          .string = constantText(text)};
}
/// `numbers` live as long as the library.
constexpr bp_property_t property(std::string_view key,
                                 std::span<const int64_t> numbers) {
  return {.key = constantText(key),
          .kind = BP_PROPERTY_I64S,
          .count = uint32_t(numbers.size()),
          .i64s = numbers.data()};
}

/// The set that has each of `dtypes`.
constexpr bp_dtype_set_t dtypeSet(std::initializer_list<bp_dtype_t> dtypes) {
  bp_dtype_set_t set = 0;
  for (bp_dtype_t dtype : dtypes)
    set |= bp_dtype_set_t(1) << dtype;
  return set;
}

/// Every dtype whose elements have addresses: all but those of four bits.
inline constexpr bp_dtype_set_t addressableDTypes = dtypeSet(
    {BP_DTYPE_F64, BP_DTYPE_F32, BP_DTYPE_F16, BP_DTYPE_BF16, BP_DTYPE_F8E4M3FN,
     BP_DTYPE_F8E5M2, BP_DTYPE_I64, BP_DTYPE_I32, BP_DTYPE_I16, BP_DTYPE_I8,
     BP_DTYPE_U64, BP_DTYPE_U32, BP_DTYPE_U16, BP_DTYPE_U8, BP_DTYPE_BOOL,
     BP_DTYPE_F8E4M3FNUZ, BP_DTYPE_F8E5M2FNUZ, BP_DTYPE_F8E8M0FNU});

/// The dtypes whose elements share bytes. The core's lowering reads and writes
/// them, so that passes see bytes.
inline constexpr bp_dtype_set_t packedDTypes =
    dtypeSet({BP_DTYPE_I4, BP_DTYPE_U4, BP_DTYPE_F4E2M1FN});

/// The numerics of a unit that has f64 and f32 and computes f16 and bf16 in
/// f32: 4 op classes of 4 dtypes, rounded to nearest. `flags` are
/// BP_NUMERICS_.
constexpr std::array<bp_numerics_t, 16> numericsInSingle(uint32_t flags) {
  constexpr std::string_view classes[] = {"ULP", "REDUCE", "DOT", "RUNNING"};
  constexpr bp_dtype_t dtypes[] = {BP_DTYPE_F64, BP_DTYPE_F32, BP_DTYPE_F16,
                                   BP_DTYPE_BF16};
  std::array<bp_numerics_t, 16> list = {};
  for (size_t i = 0; i < list.size(); ++i) {
    bp_dtype_t dtype = dtypes[i % 4];
    list[i] = {.header = BP_HEADER(bp_numerics_t),
               .op_class = constantText(classes[i / 4]),
               .dtype = dtype,
               .accumulator_bits = dtype == BP_DTYPE_F64 ? 53u : 24u,
               .rounding = BP_ROUNDING_NEAREST,
               .flags = flags};
  }
  return list;
}

/// The list that bp_target_t.numerics takes of numerics that live as long as
/// the library: constexpr auto list = pointersTo(numerics);
template <size_t N>
constexpr std::array<const bp_numerics_t *, N>
pointersTo(const std::array<bp_numerics_t, N> &numerics) {
  std::array<const bp_numerics_t *, N> list = {};
  for (size_t i = 0; i < N; ++i)
    list[i] = &numerics[i];
  return list;
}

// ---- The backend ----

/// A pipeline for one stage (docs/reference/stages.md).
struct DataStage {
  std::string_view stage, pipeline;
};

/// A target, and what compiles for it. A stage without a name is none; one
/// that is there again is an alternative (bp_stage_sink_t).
struct DataTarget {
  bp_target_t target;
  std::array<DataStage, 8> stages;

  constexpr bool hasAlternatives() const {
    for (size_t i = 0; i < stages.size(); ++i)
      for (size_t other = 0; other < i; ++other)
        if (!stages[i].stage.empty() && stages[i].stage == stages[other].stage)
          return true;
    return false;
  }

  bp_status_t put(const bp_stage_sink_t *sink) const {
    bp_status_t status = BP_STATUS_OK;
    for (const DataStage &stage : stages)
      if (!stage.stage.empty() && !status)
        status = sink->put(sink->context, constantText(stage.stage),
                           constantText(stage.pipeline));
    return status;
  }
};

/// The stages of a target whose buffers are assigned as for every other.
constexpr std::array<DataStage, 8> stagesOf(std::string_view tile,
                                            std::string_view device) {
  return {{{"tile", tile}, {"bufferize", "bp-bufferize"}, {"device", device}}};
}

/// The whole backend. What it points to lives as long as the library.
struct DataBackend {
  std::string_view name;    ///< as in the manifest, at most 32 characters
  std::string_view vendor;  ///< for messages
  std::string_view version; ///< MAJOR.MINOR.PATCH of the plug-in
  std::span<const DataTarget> targets;
};

/// The tables of the backend, of which the host asks for the first through
/// bp_plugin_query_v0. It has no options and no state.
template <const DataBackend &backend> class DataPlugin {
public:
  /// What bp_plugin_query_v0 returns.
  static int32_t query(bp_plugin_info_t *out) {
    bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t),
                             .name = constantText(backend.name),
                             .vendor = constantText(backend.vendor),
                             .version = constantText(backend.version),
                             .required_minor = requiredMinor(),
                             .built_minor = BP_ABI_MINOR,
                             .flags = BP_PLUGIN_UNLOADABLE,
                             .plugin = &pluginTable,
                             .compiler = &compilerTable};
    if (info.header.size > out->header.size)
      info.header.size = out->header.size;
    std::memcpy(out, &info, info.header.size);
    return BP_STATUS_OK;
  }

private:
  /// A host of minor version 1 runs alternatives one after the other.
  static constexpr uint32_t requiredMinor() {
    for (const DataTarget &target : backend.targets)
      if (target.hasAlternatives())
        return 2;
    return 1;
  }

  static bp_status_t initialize(const bp_host_t *host,
                                const bp_options_t *options, void **out_self,
                                bp_error_t *error) {
    *out_self = nullptr;
    if (!options || options->count == 0)
      return BP_STATUS_OK;
    char text[96];
    int size =
        std::snprintf(text, sizeof text, "%.*s has no options; leave them out",
                      int(backend.name.size()), backend.name.data());
    return host->error_set(host->self, error, BP_STATUS_INVALID_ARGUMENT,
                           {text, uint64_t(size)});
  }

  static void shutDown(void *) {}

  static bp_status_t targets(void *, const bp_target_sink_t *sink,
                             bp_error_t *) {
    bp_status_t status = BP_STATUS_OK;
    for (size_t i = 0; i < backend.targets.size() && !status; ++i)
      status = sink->put(sink->context, &backend.targets[i].target);
    return status;
  }

  static bp_status_t stages(void *, bp_string_t name,
                            const bp_stage_sink_t *sink, bp_error_t *) {
    for (const DataTarget &target : backend.targets)
      if (std::string_view(target.target.name.data, target.target.name.size) ==
          std::string_view(name.data, name.size))
        return target.put(sink);
    return BP_STATUS_NOT_FOUND;
  }

  static constexpr bp_compiler_table_t compilerTable = {
      .header = BP_HEADER(bp_compiler_table_t),
      .targets = targets,
      .stages = stages};
  static constexpr bp_plugin_table_t pluginTable = {
      .header = BP_HEADER(bp_plugin_table_t),
      .initialize = initialize,
      .shutdown = shutDown};
};

} // namespace backplane

#pragma GCC diagnostic pop

#endif // BACKPLANE_CPP_DATABACKEND_H
