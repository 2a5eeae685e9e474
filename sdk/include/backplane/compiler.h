/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h: what a backend tells the compiler (tier 1, plain C).
 *
 * Only `targets` is required. A backend whose chip has an LLVM target is data:
 * targets, plus `stages` with pipelines over the published bp-* passes. A
 * backend with its own code generator implements `compile`. IR crosses as wire
 * graphs (graph.h) only; no LLVM or MLIR type does.
 *
 * The functions are called from one thread at a time for each `self`.
 */
#ifndef BACKPLANE_COMPILER_H
#define BACKPLANE_COMPILER_H

#include "graph.h"
#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Targets ---- */

/* Rounding of an accumulation. ZERO stands for every rounding that errs by less
 * than one unit in the last place, to odd among them. */
#define BP_ROUNDING_NEAREST 0u
#define BP_ROUNDING_ZERO 1u

#define BP_NUMERICS_FLUSH_INPUT 1u  /* subnormal operands read as zero */
#define BP_NUMERICS_FLUSH_OUTPUT 2u /* subnormal results become zero */
/* a*b+c may be one rounding. The core's emitters round twice without it. */
#define BP_NUMERICS_CONTRACT 4u
#define BP_NUMERICS_DETERMINISTIC 8u /* bit-identical from run to run */

/* Declared numerics of one op class and dtype; the conformance suite derives
 * limits from the declaration and probes it. */
#define bp_numerics_t_TYPE 97u
typedef struct bp_numerics_t {
  bp_header_t header;
  bp_string_t op_class; /* of docs/reference/ops.md: "DOT", "REDUCE", … */
  bp_dtype_t dtype;
  uint32_t accumulator_bits; /* significand bits of the accumulator, f32: 24 */
  uint32_t rounding;         /* BP_ROUNDING_ */
  uint32_t flags;            /* BP_NUMERICS_ */
  /* ---- since minor version 4 ---- */
  /* Of op class DOT: significand bits to which operands are rounded to nearest
   * before they are multiplied, tf32: 11; 0: all bits count. Who cuts them says
   * one less. */
  uint32_t operand_bits;
  uint32_t reserved;
} bp_numerics_t;

/* What the core may fuse into one dispatch without asking `claim`. */
#define BP_FUSE_ELEMENTWISE 1u /* chains of elementwise ops */
#define BP_FUSE_EPILOGUE 2u    /* elementwise users of a contraction or pool */
#define BP_FUSE_PROLOGUE 4u    /* elementwise producers of a reduction */
#define BP_FUSE_REDUCTION 8u   /* reductions over one iteration space */
#define BP_FUSE_MOVEMENT 16u   /* broadcast, transpose, slice as operands */
#define BP_FUSE_WIDENING 32u   /* 8-bit factors of a contraction of i32 */
/* Known weights in blocks: of f32; with WIDENING also of bytes, whose products
 * have i32 or f32 as the other factor. */
#define BP_FUSE_WEIGHTS 64u
#define BP_FUSE_ATTENTION 128u        /* scores, their softmax, times values */
#define BP_FUSE_NARROW_ATTENTION 256u /* also of 16 bits, few rows, groups */
#define BP_FUSE_ROWS 512u   /* reductions of 32 or 64 bits over known rows */
#define BP_FUSE_VIEWS 1024u /* slices, transposes of outer axes as operands */
/* With WIDENING: four unsigned bytes are multiplied by four signed ones at
 * once. A left factor of signed bytes becomes unsigned where the weight is
 * known; with WEIGHTS a weight has four elements of a sum side by side. */
#define BP_FUSE_MIXED_SIGNS 2048u
/* With WIDENING: bytes of any signs are multiplied in pairs of 16 bits. With
 * WEIGHTS a weight has two elements of a sum side by side, where MIXED_SIGNS
 * does not make them four. */
#define BP_FUSE_BYTE_PAIRS 4096u
/* A target: an ISA with features. A device that lists `format` and meets all
 * `required_features` can run what is compiled for it. A required feature is
 * the name of one, or a comparison of a number that the device reports,
 * "subgroup_size>=8": a key, one of >= <= == != > <, and an integer, without
 * spaces. A device that does not report the key does not meet it. */
/* An op that a compiler knows, up to this version of it. Frozen. */
typedef struct bp_op_version_t {
  bp_string_t op; /* "matmul" */
  uint32_t version;
  uint32_t reserved;
} bp_op_version_t;

/* Every dispatch of the target has sizes that are numbers. A model with sizes
 * that calls give is refused, or those of its ops go to other devices, until
 * the sizes are given to the compiler. Since minor version 3. */
#define BP_TARGET_STATIC_SHAPES 1u
/* Code for known sizes is worth compiling when they are known: artifacts for
 * the target keep the graph, and a session that may compile (BP_SESSION_JIT)
 * compiles it for each set of sizes that calls give, the first call with new
 * sizes waiting for it, or takes it from the cache. Not of a model with
 * variables. Since minor version 3. */
#define BP_TARGET_COMPILES_SIZES 2u

#define bp_target_t_TYPE 96u
typedef struct bp_target_t {
  bp_header_t header;
  bp_string_t name;        /* "x86-64-v4", unique over all plug-ins */
  bp_string_t description; /* one line */
  bp_string_t driver;      /* name of the driver that runs it: "host" */
  bp_string_t format;      /* of the blobs */
  const bp_string_t *required_features;
  uint64_t required_feature_count;
  /* Order among the targets of one driver: the highest that fits wins. */
  uint32_t rank;
  /* Who emits: "llvm-elf" with the next three, or empty: `compile` does. */
  uint32_t reserved;
  bp_string_t emitter;
  bp_string_t triple;
  bp_string_t cpu;
  bp_string_t features;          /* LLVM's "+avx2,+fma" */
  bp_dtype_set_t storage_dtypes; /* can hold, move and convert */
  /* Can compute in; empty: in all that it holds. The core gives floats that are
   * held only to ops as the next wider ones, and refuses other dtypes. */
  bp_dtype_set_t compute_dtypes;
  uint64_t retired_l1_bytes; /* not read; `properties` has cache_bytes */
  uint64_t retired_l2_bytes;
  /* Bytes of scratch per worker, 0: unlimited. A kernel that always needs more
   * is refused; one whose need depends on sizes is not. */
  uint64_t workspace_limit;
  uint32_t vector_bits; /* 0: no vector unit */
  uint32_t max_bindings;
  uint32_t max_constants; /* at most BP_MAX_CONSTANTS */
  uint32_t fusion;        /* BP_FUSE_ bits */
  uint32_t max_fused_ops; /* per dispatch, 0: unlimited */
  uint32_t flags;         /* BP_TARGET_ */
  const bp_numerics_t *const *numerics;
  uint64_t numerics_count;
  /* What passes need to know of the machine, as the attribute `bp.target` of
   * the modules that they get. Keys are distinct. Part of the key of cached
   * kernels. */
  const bp_property_t *properties;
  uint64_t property_count;
  /* Id of the compiler that `compile` calls, "acme-cc 3.2"; empty: all of it is
   * in the plug-in's library. Part of the key of cached kernels. */
  bp_string_t toolchain;
  /* The ops that `claim` and `compile` know. Others, and newer versions, are
   * decomposed, given to another target, or refused by name before the plug-in
   * sees them; a graph is always written at the least version that says it.
   * None: the plug-in refuses by itself what it does not know. */
  const bp_op_version_t *op_versions;
  uint64_t op_version_count;
} bp_target_t;

typedef struct bp_target_sink_t {
  bp_status_t (*put)(void *context, const bp_target_t *target);
  void *context;
} bp_target_sink_t;

/* ---- Claims ---- */

/* The answer to: would you run this graph as one dispatch? */
#define bp_claim_t_TYPE 98u
typedef struct bp_claim_t {
  bp_header_t header;
  uint8_t supported;
  uint8_t reserved[7];
  double cost_ns; /* estimate; groups are fused when it does not get worse */
  /* Why not, mandatory on refusal. Receives one string. */
  const bp_string_sink_t *reason;
} bp_claim_t;

/* ---- Stages ---- */

/* Receives a pipeline for a named stage: `stage` is one of docs/reference/
 * stages.md, `pipeline` a textual pass pipeline over published bp-* passes.
 * Stages run in the order in which they are first named. Several pipelines for
 * one stage are alternatives in order of preference: the first is taken whose
 * passes and options this host has. A stage without such a pipeline is an
 * error. A host of minor version 1 runs them one after the other instead: a
 * plug-in with alternatives requires minor version 2. */
typedef struct bp_stage_sink_t {
  bp_status_t (*put)(void *context, bp_string_t stage, bp_string_t pipeline);
  void *context;
} bp_stage_sink_t;

/* ---- Graph passes ---- */

/* A pass of the plug-in over wire graphs, bytes to bytes. Since minor
 * version 2. */
#define bp_graph_pass_t_TYPE 103u
typedef struct bp_graph_pass_t {
  bp_header_t header;
  bp_string_t name; /* of a-z, 0-9 and -: "acme-squares"; unique for a target */
  bp_string_t description; /* one line */
  /* What it runs on. "partition": the graph of each program that the target
   * runs alone, behind the compiler's own optimisations; one with control flow
   * is passed over. "lower": each dispatch, before code is made for it; its
   * symbols are named a, b, and so on. */
  bp_string_t stage;
} bp_graph_pass_t;

typedef struct bp_graph_pass_sink_t {
  bp_status_t (*put)(void *context, const bp_graph_pass_t *pass);
  void *context;
} bp_graph_pass_sink_t;

#define bp_graph_pass_request_t_TYPE 104u
typedef struct bp_graph_pass_request_t {
  bp_header_t header;
  bp_string_t target;
  bp_string_t pass;
  bp_bytes_t graph; /* wire bytes, valid during the call */
  const bp_graph_table_t *graph_table;
} bp_graph_pass_request_t;

/* ---- Partitions ---- */

/* Ops that a plug-in wants to compile as one. Since minor version 3. */
#define bp_partition_t_TYPE 105u
typedef struct bp_partition_t {
  bp_header_t header;
  const uint32_t *ops; /* numbers of ops of the graph, each once, any order */
  uint64_t op_count;
  double cost_ns;     /* of one call, an estimate; 0: not known */
  bp_string_t reason; /* one line for people: what it gains. Not empty. */
} bp_partition_t;

typedef struct bp_partition_sink_t {
  bp_status_t (*put)(void *context, const bp_partition_t *partition);
  void *context;
} bp_partition_sink_t;

#define bp_partition_request_t_TYPE 106u
typedef struct bp_partition_request_t {
  bp_header_t header;
  bp_string_t target;
  const bp_graph_t *graph;
  const bp_graph_table_t *graph_table;
  /* One byte for each op, 1: it was in a partition that `compile` refused. A
   * partition that was refused is not compiled again, a smaller one may be.
   * NULL: none is. */
  const uint8_t *refused;
} bp_partition_request_t;

/* ---- Compiling a dispatch ---- */

/* The weights among the inputs of a dispatch: values that no call changes.
 * Frozen. */
typedef struct bp_weight_reader_t {
  /* The id of input `input`, which follows from its type and values, and the
   * values, dense; both valid during `compile`. BP_STATUS_NOT_FOUND: it is no
   * weight. With NULL for both it is only asked whether it is one; what is
   * compiled after more was asked for runs with the same weight only. */
  bp_status_t (*read)(void *context, uint32_t input, bp_string_t *out_id,
                      bp_bytes_t *out_values);
  void *context;
} bp_weight_reader_t;

#define bp_compile_request_t_TYPE 99u
typedef struct bp_compile_request_t {
  bp_header_t header;
  bp_string_t target;
  /* The dispatch. Its inputs, then its outputs are the bindings; its symbols
   * are the constants, one u32 each, in order. */
  const bp_graph_t *graph;
  const bp_graph_table_t *graph_table;
  bp_string_t entry_name; /* unique in the artifact */
  bp_options_t options;
  const bp_weight_reader_t *weights; /* NULL: no input is a weight */
} bp_compile_request_t;

#define BP_LAUNCH_SCRATCH 0xFFFFFFFFu
#define BP_LAUNCH_PERSISTENT 0xFFFFFFFEu

/* What a binding of a launch is: some bytes of a binding of the dispatch, of
 * its scratch or of its persistent memory. Frozen. */
typedef struct bp_launch_binding_t {
  uint32_t binding; /* number in the dispatch, or BP_LAUNCH_ */
  uint32_t reserved;
  /* Bytes, expressions. Offsets are multiples of the device's
   * binding_alignment, which 256 always is. */
  bp_string_t offset; /* empty: 0 */
  bp_string_t length; /* empty: the rest */
} bp_launch_binding_t;

/* One of the launches that a dispatch is compiled to. Expressions are over the
 * dispatch's symbols. */
#define bp_launch_t_TYPE 102u
typedef struct bp_launch_t {
  bp_header_t header;
  /* Of the executable. Its constants are the dispatch's symbols, or none. */
  const bp_entry_t *entry;
  bp_string_t grid[3]; /* expressions */
  /* As many as the entry has bindings. It writes no input of the dispatch.
   * (optional, default: those of the dispatch, in order) */
  const bp_launch_binding_t *bindings;
  /* Expressions, as many as the entry has parameters. Their values have 64 bits
   * and a sign. */
  const bp_string_t *parameters;
  bp_string_t shared_bytes; /* an expression; empty: 0 */
  uint32_t cluster[3];      /* work-groups of a cluster, 0: as 1 */
  uint32_t reserved;
} bp_launch_t;

/* What `compile` gives. The host copies it in `put`. */
#define bp_compiled_t_TYPE 100u
typedef struct bp_compiled_t {
  bp_header_t header;
  bp_bytes_t blob; /* in the target's format */
  const bp_entry_t *entry;
  bp_string_t grid[3]; /* expressions over the dispatch's symbols */
  /* (optional, default: none) One byte per binding, 1: an input that may have
   * the same memory as the one result. The kernel reads element i of it for
   * the last time before it writes element i of the result. Not with
   * `launches`. */
  const uint8_t *in_place;
  /* (optional, default: one launch, of `entry` over `grid`; with launches these
   * two are not read) In order: each launch sees what earlier ones wrote. The
   * entries of the executable are theirs, in the same order. At most
   * BP_MAX_LAUNCHES. */
  const bp_launch_t *const *launches;
  uint64_t launch_count;
  /* Bytes of memory that the launches share, an expression; empty: none. The
   * host plans it beside the intermediate values; its contents are undefined
   * before the first launch and gone after the last. */
  bp_string_t scratch_bytes;
  /* (optional, default: none) Launches that run once per session, before any
   * call: they make what `launches` then read in each, for instance a weight in
   * the layout that the kernels want. Their bindings are weights of the
   * dispatch and its persistent memory, their sizes numbers; their entries
   * follow those of `launches`. At most BP_MAX_LAUNCHES. */
  const bp_launch_t *const *init_launches;
  uint64_t init_launch_count;
  /* Bytes of memory that they write, and that stays while the session lives. */
  uint64_t persistent_bytes;
  /* ---- since minor version 3 ---- */
  /* (optional, default: none) Lines for people, and figures: both are kept in
   * the report of the artifact. Keys are the vendor's, "acme.cycles". */
  bp_string_t log; /* at most BP_MAX_LOG bytes, further ones are cut off */
  const bp_property_t *statistics;
  uint64_t statistic_count;
} bp_compiled_t;

#define BP_MAX_LOG 16384u

#define BP_MAX_LAUNCHES 64u /* of a dispatch */

typedef struct bp_compiled_sink_t {
  bp_status_t (*put)(void *context, const bp_compiled_t *compiled);
  void *context;
} bp_compiled_sink_t;

/* ---- The table ---- */

#define bp_compiler_table_t_TYPE 101u
struct bp_compiler_table_t {
  bp_header_t header;
  /* Lists the targets. Required. */
  bp_status_t (*targets)(void *self, const bp_target_sink_t *sink,
                         bp_error_t *error);
  /* (optional, default: decided by the target's dtype sets and BP_FUSE_ bits)
   * Asked for single ops, for composites and for groups to be fused. */
  bp_status_t (*claim)(void *self, bp_string_t target, const bp_graph_t *graph,
                       const bp_graph_table_t *table, bp_claim_t *out_claim,
                       bp_error_t *error);
  /* (optional, default: none; required with an emitter) Pipelines. */
  bp_status_t (*stages)(void *self, bp_string_t target,
                        const bp_stage_sink_t *sink, bp_error_t *error);
  /* (optional, default: the target's emitter) Own code generation, asked before
   * an emitter. BP_STATUS_UNIMPLEMENTED: not this dispatch. The emitter makes
   * it, if there is one; else it is cut again: a partition into others, a group
   * into its ops, a composite into primitives; what is left goes to another
   * device or is refused by name. */
  bp_status_t (*compile)(void *self, const bp_compile_request_t *request,
                         const bp_compiled_sink_t *sink, bp_error_t *error);
  /* Never called: kernels are registered by bp_kernels_table_t. */
  bp_status_t (*retired_kernels)(void *self, const bp_kernel_sink_t *sink,
                                 bp_error_t *error);

  /* ---- since minor version 2 ---- */
  /* (optional, default: none) Lists the graph passes for a target, those of a
   * stage in the order in which they run. */
  bp_status_t (*graph_passes)(void *self, bp_string_t target,
                              const bp_graph_pass_sink_t *sink,
                              bp_error_t *error);
  /* (required with graph_passes) Runs one. The graph that it puts takes the
   * place of the one that it got; when it puts none, that one stays. The new
   * one has the same symbols, variables, inputs and outputs, by name and type,
   * no weights that the old one has not, and computes the same; what else it
   * says of checks and names is not read. The host verifies it and refuses it
   * with the name of the pass. Equal graphs give equal bytes.
   * BP_STATUS_UNIMPLEMENTED: the pass does not do this graph; it stays, and
   * the report says why. Every other failure ends the compilation. */
  bp_status_t (*run_graph_pass)(void *self,
                                const bp_graph_pass_request_t *request,
                                const bp_bytes_sink_t *sink, bp_error_t *error);

  /* ---- since minor version 3 ---- */
  /* (optional, default: none) Which sets of ops of a program the plug-in
   * compiles as one dispatch each. The graph is that of a program without
   * control flow, behind `optimize`; it may hold ops that are not of this
   * target. Weights and constants need not be named: what a set reads of them
   * comes with it. `compile` then gets each set as a dispatch, before any
   * emitter, with its weights readable; one that it does not bind is not kept
   * in the artifact. max_bindings counts what is no weight, max_fused_ops does
   * not hold. No path may leave a set and come back. Sets that are not taken
   * are in the report, with the reason.
   * With other devices at hand, a target without `claim` gets its partitions
   * and nothing else; alone, `compile` or the emitter gets what is in none.
   * BP_STATUS_UNIMPLEMENTED: there are none in this graph. */
  bp_status_t (*partition)(void *self, const bp_partition_request_t *request,
                           const bp_partition_sink_t *sink, bp_error_t *error);
};

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_COMPILER_H */
