/* SPDX-License-Identifier: Apache-2.0 */
/* Made by sdk/graph/gen_ops.py from ops.toml. Do not edit.
 *
 * ref_ops.h: REF_OP(op, newest version) for each op that is not
 * elementwise. */
REF_OP(constant, 1)
REF_OP(iota, 1)
REF_OP(random_bits, 1)
REF_OP(dim, 1)
REF_OP(broadcast, 1)
REF_OP(reshape, 1)
REF_OP(transpose, 1)
REF_OP(slice, 1)
REF_OP(concat, 1)
REF_OP(pad, 1)
REF_OP(reverse, 1)
REF_OP(gather, 1)
REF_OP(scatter, 1)
REF_OP(reduce, 1)
REF_OP(arg_reduce, 1)
REF_OP(cumulative, 1)
REF_OP(top_k, 1)
REF_OP(matmul, 2)
REF_OP(conv, 2)
REF_OP(conv_transpose, 2)
REF_OP(pool, 1)
