/* SPDX-License-Identifier: Apache-2.0 */
/* Made by sdk/graph/gen_ops.py from ops.toml. Do not edit.
 *
 * ref_ops.h: REF_OP(op) for each op that is not elementwise. */
REF_OP(constant)
REF_OP(iota)
REF_OP(dim)
REF_OP(broadcast)
REF_OP(reshape)
REF_OP(transpose)
REF_OP(slice)
REF_OP(concat)
REF_OP(pad)
REF_OP(reverse)
REF_OP(gather)
REF_OP(scatter)
REF_OP(reduce)
REF_OP(arg_reduce)
REF_OP(cumulative)
REF_OP(top_k)
REF_OP(matmul)
REF_OP(conv)
REF_OP(conv_transpose)
REF_OP(pool)
