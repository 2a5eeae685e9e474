/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ir.c: a kernel whose body is IR, with all that a text may leave open: a
 * dtype, how an input is stored, and whether one is there.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#define TEXT(literal) {(literal), sizeof(literal) - 1}

static const char product_text[] =
    "kernel product version 1\n"
    "where T in [f16, bf16], W in [[0, 1], [1, 0]]\n"
    "{\n"
    "  symbol m, k, n\n"
    "  %x = input T[m, k]\n"
    "  %w = input T[k, n] layout W\n"
    "  %b = optional input T[n]\n"
    "  %p = matmul(%x, %w)\n"
    "  %all = broadcast(%b) {dims = [m, n], axes = [1]}\n"
    "  %y = add(%p, %all)\n"
    "  output %y\n"
    "}\n";

static const char product_ir[] =
    "#columns = affine_map<(i, j) -> (j)>\n"
    "#all = affine_map<(i, j) -> (i, j)>\n"
    "#a = affine_map<(i, j, k) -> (i, k)>\n"
    "#bt = affine_map<(i, j, k) -> (j, k)>\n"
    "#c = affine_map<(i, j, k) -> (i, j)>\n"
    "func.func @product(%x: tensor<?x?x!T>, %w: tensor<?x?x!T>, %b: "
    "tensor<?x!T>,\n"
    "    %y: tensor<?x?x!T>, %m: index, %k: index, %n: index,\n"
    "    %layout: index, %has_b: index) -> tensor<?x?x!T> {\n"
    "  %none = arith.constant 0 : index\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>\n"
    "  %sums = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>)\n"
    "      -> tensor<?x?xf32>\n"
    "  %isPlain = arith.cmpi eq, %layout, %none : index\n"
    "  %p = scf.if %isPlain -> tensor<?x?xf32> {\n"
    "    %q = linalg.matmul ins(%x, %w : tensor<?x?x!T>, tensor<?x?x!T>)\n"
    "        outs(%sums : tensor<?x?xf32>) -> tensor<?x?xf32>\n"
    "    scf.yield %q : tensor<?x?xf32>\n"
    "  } else {\n"
    "    %q = linalg.matmul indexing_maps = [#a, #bt, #c]\n"
    "        ins(%x, %w : tensor<?x?x!T>, tensor<?x?x!T>)\n"
    "        outs(%sums : tensor<?x?xf32>) -> tensor<?x?xf32>\n"
    "    scf.yield %q : tensor<?x?xf32>\n"
    "  }\n"
    "  %isWithout = arith.cmpi eq, %has_b, %none : index\n"
    "  %r = scf.if %isWithout -> tensor<?x?x!T> {\n"
    "    %q = linalg.generic {indexing_maps = [#all, #all],\n"
    "        iterator_types = [\"parallel\", \"parallel\"]}\n"
    "        ins(%p : tensor<?x?xf32>) outs(%y : tensor<?x?x!T>) {\n"
    "    ^bb0(%sum: f32, %old: !T):\n"
    "      %t = arith.truncf %sum : f32 to !T\n"
    "      linalg.yield %t : !T\n"
    "    } -> tensor<?x?x!T>\n"
    "    scf.yield %q : tensor<?x?x!T>\n"
    "  } else {\n"
    "    %q = linalg.generic {indexing_maps = [#all, #columns, #all],\n"
    "        iterator_types = [\"parallel\", \"parallel\"]}\n"
    "        ins(%p, %b : tensor<?x?xf32>, tensor<?x!T>)\n"
    "        outs(%y : tensor<?x?x!T>) {\n"
    "    ^bb0(%sum: f32, %bias: !T, %old: !T):\n"
    "      %wide = arith.extf %bias : !T to f32\n"
    "      %more = arith.addf %sum, %wide : f32\n"
    "      %t = arith.truncf %more : f32 to !T\n"
    "      linalg.yield %t : !T\n"
    "    } -> tensor<?x?x!T>\n"
    "    scf.yield %q : tensor<?x?x!T>\n"
    "  }\n"
    "  return %r : tensor<?x?x!T>\n"
    "}\n";

static bp_status_t describe(void *self, const bp_kernel_sink_t *sink,
                            bp_error_t *error) {
  const bp_string_t text = TEXT(product_text), ir = TEXT(product_ir);
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
  info.name = bp_text("ir");
  info.vendor = bp_text("test");
  info.version = bp_text("1.0.0");
  info.required_minor = 4;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.kernels = &kernels_table;
  return bp_plugin_info_give(&info, out);
}
