// SPDX-License-Identifier: Apache-2.0
//
// A set of registered kernels for KernelSetTest.cpp. Each adds a number of its
// own to what its text says. BP_MARKED_BREAKS names a way to describe or
// resolve them wrongly.
#include "backplane/compiler.h"
#include "backplane/plugin.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// The image, as a vendor ships it: inside of the plug-in.
asm(".section .rodata\n"
    ".global markedBegin\n"
    ".global markedEnd\n"
    ".balign 64\n"
    "markedBegin: .incbin \"" BP_MARKED_IMAGE "\"\n"
    "markedEnd:\n"
    ".previous\n");
extern "C" const char markedBegin[], markedEnd[];

namespace {

bp_string_t text(const char *from) { return {from, std::strlen(from)}; }

std::string broken() {
  const char *how = std::getenv("BP_MARKED_BREAKS");
  return how ? how : "";
}

/// Behind the bindings lie the parameters, then `self`.
template <size_t Bindings> const int64_t *sizesOf(const bp_cpu_call_t *call) {
  return static_cast<const int64_t *>(call->bindings[Bindings]);
}
template <size_t Bindings> float markOf(const bp_cpu_call_t *call) {
  return *static_cast<const float *>(call->bindings[Bindings + 1]);
}

const float *input(const bp_cpu_call_t *call, size_t i) {
  return static_cast<const float *>(call->bindings[i]);
}
float *output(const bp_cpu_call_t *call, size_t i) {
  return static_cast<float *>(call->bindings[i]);
}

constexpr const char *productText = R"(kernel product version 1 {
  symbol n
  %a = input f32[n]
  %b = input f32[n]
  %c = optional input f32[n]
  %p = mul(%a, %b)
  %s = add(%p, %c)
  %y = relu(%s)
  output %y
})";

/// One element; parameters n and has_c.
void product(const bp_cpu_call_t *call, uint32_t x, uint32_t, uint32_t) {
  const int64_t *sizes = sizesOf<4>(call);
  float sum = input(call, 0)[x] * input(call, 1)[x];
  if (sizes[1])
    sum += input(call, 2)[x];
  output(call, 3)[x] = (sum > 0 ? sum : 0) + markOf<4>(call);
}

constexpr const char *linearText = R"(kernel linear version 3 {
  symbol m, k, n
  %x = input f32[m, k]
  %w = input f32[k, n]
  %y = matmul(%x, %w)
  output %y
})";

/// Once per session: packed[x][i] = w[i][x]; parameters k, n.
void pack(const bp_cpu_call_t *call, uint32_t x, uint32_t, uint32_t) {
  const int64_t *sizes = sizesOf<2>(call);
  for (int64_t i = 0; i < sizes[0]; ++i)
    output(call, 1)[int64_t(x) * sizes[0] + i] =
        input(call, 0)[i * sizes[1] + x];
}

/// A row; parameters k, n.
void linear(const bp_cpu_call_t *call, uint32_t x, uint32_t, uint32_t) {
  const int64_t *sizes = sizesOf<3>(call);
  const float *row = input(call, 0) + int64_t(x) * sizes[0];
  for (int64_t j = 0; j < sizes[1]; ++j) {
    float sum = markOf<3>(call);
    for (int64_t i = 0; i < sizes[0]; ++i)
      sum += row[i] * input(call, 1)[j * sizes[0] + i];
    output(call, 2)[int64_t(x) * sizes[1] + j] = sum;
  }
}

constexpr const char *differenceText = R"(kernel difference version 1 {
  symbol n
  %a = input f32[n]
  %b = input f32[n]
  %s = sub(%a, %b)
  %y = relu(%s)
  output %y
})";

/// A launch and what it points to.
struct Launch {
  std::vector<uint8_t> access;
  std::vector<bp_launch_binding_t> bindings; ///< empty: those of the text
  std::vector<bp_string_t> parameters;
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {BP_HEADER(bp_launch_t)};

  const bp_launch_t *finish(const char *name, const char *groups) {
    entry.name = text(name);
    entry.binding_access = access.data();
    entry.binding_count = uint32_t(access.size());
    entry.parameter_count = uint32_t(parameters.size());
    launch.entry = &entry;
    launch.grid[0] = text(groups);
    launch.grid[1] = launch.grid[2] = text("1");
    launch.bindings = bindings.empty() ? nullptr : bindings.data();
    launch.parameters = parameters.data();
    return &launch;
  }
};

bp_status_t put(const bp_kernel_sink_t *sink, const char *kernelText,
                const bp_compiled_t *body) {
  bp_kernel_t kernel = {BP_HEADER(bp_kernel_t)};
  kernel.text = text(kernelText);
  kernel.target = text("*");
  kernel.body = body;
  if (broken() == "no-body")
    kernel.body = nullptr;
  if (broken() == "text")
    kernel.text = text("kernel product version 1 { symbol n %a = inptu }");
  if (broken() == "cost")
    kernel.cost = text("n * rows");
  return sink->put(sink->context, &kernel);
}

bp_status_t putProduct(const bp_kernel_sink_t *sink) {
  Launch launch;
  launch.access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_READ,
                   BP_ACCESS_WRITE};
  launch.parameters = {text("n"), text("has_c")};
  if (broken() == "symbol")
    launch.parameters[0] = text("rows");
  if (broken() == "access")
    launch.access[3] = BP_ACCESS_READ;
  if (broken() == "constants")
    launch.entry.constant_count = 1;
  const bp_launch_t *launches[] = {launch.finish("product", "n")};
  launch.bindings = {{0, 0, {}, {}},
                     {1, 0, {}, {}},
                     {2, 0, {}, {}},
                     {broken() == "binding" ? 4u : 3u, 0, {}, {}}};
  launch.launch.bindings = launch.bindings.data();
  bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
  body.launches = launches;
  body.launch_count = 1;
  static const uint8_t output[] = {0, 0, 0, 1};
  if (broken() == "in-place") {
    launch.entry.parameter_count = 0;
    body.entry = &launch.entry;
    body.grid[0] = text("n");
    body.grid[1] = body.grid[2] = text("1");
    body.in_place = output;
    body.launch_count = 0;
  }
  return put(sink, productText, &body);
}

bp_status_t putLinear(const bp_kernel_sink_t *sink) {
  Launch packs, multiplies;
  packs.access = {BP_ACCESS_READ, BP_ACCESS_WRITE};
  packs.bindings = {{1, 0, {}, {}}, {BP_LAUNCH_PERSISTENT, 0, {}, {}}};
  packs.parameters = {text("12"), text("5")};
  multiplies.access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_WRITE};
  multiplies.bindings = {
      {0, 0, {}, {}}, {BP_LAUNCH_PERSISTENT, 0, {}, {}}, {2, 0, {}, {}}};
  multiplies.parameters = {text("k"), text("n")};
  const bp_launch_t *once[] = {packs.finish("pack", "5")};
  const bp_launch_t *launches[] = {multiplies.finish("linear", "m")};
  bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
  body.launches = launches;
  body.launch_count = 1;
  body.init_launches = once;
  body.init_launch_count = 1;
  body.persistent_bytes = 12 * 5 * sizeof(float);
  if (broken() == "sized" || broken() == "unsized")
    body.persistent_bytes = 0;
  if (broken() == "sized")
    packs.bindings[1].length = text("4 * k * n");
  return put(sink, linearText, &body);
}

bp_status_t putDifference(const bp_kernel_sink_t *sink) {
  Launch launch;
  launch.access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_WRITE};
  launch.parameters = {text("n")};
  const bp_launch_t *launches[] = {launch.finish("difference", "1")};
  bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
  body.blob = {markedBegin, uint64_t(markedEnd - markedBegin)};
  body.launches = launches;
  body.launch_count = 1;
  return put(sink, differenceText, &body);
}

bp_status_t describe(void *, const bp_kernel_sink_t *sink, bp_error_t *) {
  for (auto *one : {putProduct, putLinear, putDifference})
    if (bp_status_t status = one(sink))
      return status;
  return BP_STATUS_OK;
}

bp_status_t resolve(void *, bp_string_t kernel, uint32_t version,
                    bp_string_t entry, const bp_device_info_t *,
                    bp_native_function_t *out, bp_error_t *) {
  static const float marks[] = {1000, 3000};
  const std::string name(entry.data, entry.size);
  const bool isLinear = std::string(kernel.data, kernel.size) == "linear";
  if (broken() == "resolve" || version != (isLinear ? 3u : 1u))
    return BP_STATUS_NOT_FOUND;
  out->cpu = name == "product" ? product : name == "pack" ? pack : linear;
  out->self = const_cast<float *>(&marks[isLinear]);
  if (broken() == "function")
    out->cpu = nullptr;
  return BP_STATUS_OK;
}

bp_status_t initialize(const bp_host_t *, const bp_options_t *, void **,
                       bp_error_t *) {
  return BP_STATUS_OK;
}

void shutdown(void *) {}

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t), initialize,
                                       shutdown, nullptr};
const bp_kernels_table_t kernelsTable = {BP_HEADER(bp_kernels_table_t),
                                         describe, resolve};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  out->name = text("marked");
  out->vendor = text("test");
  out->version = text("1.0.0");
  out->required_minor = 2;
  out->built_minor = BP_ABI_MINOR;
  out->plugin = &pluginTable;
  out->kernels = broken() == "table" ? nullptr : &kernelsTable;
  return BP_STATUS_OK;
}
