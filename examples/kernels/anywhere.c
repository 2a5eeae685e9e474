/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anywhere.c: a set of kernels for every target that has an emitter, in C99:
 * the body of each is IR, which the compiler makes code of.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#define TEXT(literal) {(literal), sizeof(literal) - 1}

static const char norm_text[] =
    "kernel rms_norm version 1\n"
    "where n >= 1\n"
    "{\n"
    "  symbol m, n\n"
    "  %x = input f32[m, n]\n"
    "  %scale = input f32[n]\n"
    "  %y = rms_norm(%x, %scale) {axis = 1, epsilon = 0.00001}\n"
    "  output %y\n"
    "}\n";

/* A reciprocal root for each row, then two multiplications for each element.
 * %y is where the result may be computed, %m and %n are the sizes of the
 * text. */
static const char norm_ir[] =
    "#rows = affine_map<(i, j) -> (i)>\n"
    "#columns = affine_map<(i, j) -> (j)>\n"
    "#all = affine_map<(i, j) -> (i, j)>\n"
    "func.func @rms_norm(%x: tensor<?x?xf32>, %scale: tensor<?xf32>,\n"
    "    %y: tensor<?x?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %epsilon = arith.constant 1.0e-5 : f32\n"
    "  %n32 = arith.index_cast %n : index to i32\n"
    "  %count = arith.sitofp %n32 : i32 to f32\n"
    "  %empty = tensor.empty(%m) : tensor<?xf32>\n"
    "  %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>)\n"
    "      -> tensor<?xf32>\n"
    "  %squares = linalg.generic {indexing_maps = [#all, #rows],\n"
    "      iterator_types = [\"parallel\", \"reduction\"]}\n"
    "      ins(%x : tensor<?x?xf32>) outs(%none : tensor<?xf32>) {\n"
    "  ^bb0(%a: f32, %sum: f32):\n"
    "    %square = arith.mulf %a, %a : f32\n"
    "    %more = arith.addf %sum, %square : f32\n"
    "    linalg.yield %more : f32\n"
    "  } -> tensor<?xf32>\n"
    "  %result = linalg.generic {\n"
    "      indexing_maps = [#all, #rows, #columns, #all],\n"
    "      iterator_types = [\"parallel\", \"parallel\"]}\n"
    "      ins(%x, %squares, %scale\n"
    "          : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>)\n"
    "      outs(%y : tensor<?x?xf32>) {\n"
    "  ^bb0(%a: f32, %sum: f32, %s: f32, %old: f32):\n"
    "    %mean = arith.divf %sum, %count : f32\n"
    "    %more = arith.addf %mean, %epsilon : f32\n"
    "    %root = math.rsqrt %more : f32\n"
    "    %unit = arith.mulf %a, %root : f32\n"
    "    %scaled = arith.mulf %unit, %s : f32\n"
    "    linalg.yield %scaled : f32\n"
    "  } -> tensor<?x?xf32>\n"
    "  return %result : tensor<?x?xf32>\n"
    "}\n";

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  const bp_string_t text = TEXT(norm_text), ir = TEXT(norm_ir);
  const bp_string_t target = TEXT("*");
  bp_kernel_t kernel = {.header = BP_HEADER(bp_kernel_t)};
  (void)self, (void)error;
  kernel.text = text;
  kernel.target = target;
  kernel.ir = ir;
  return sink->put(sink->context, &kernel);
}

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  (void)host, (void)options, (void)error;
  *out_self = NULL;
  return BP_STATUS_OK;
}

static void shutdown(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                               initialize, shutdown, NULL};
static const bp_kernels_table_t kernels_table = {BP_HEADER(bp_kernels_table_t),
                                                 describe, NULL};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host;
  info.name = bp_text("acme-anywhere");
  info.vendor = bp_text("Acme");
  info.version = bp_text("1.0.0");
  info.required_minor = 4;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
