# SPDX-License-Identifier: Apache-2.0
"""Random small ONNX models, each from a seed: shapes that are odd, large enough
for tiles and vectors, sometimes empty, sometimes with symbolic dims."""
from edge_templates import broken_weights, column, empties, folded, tiny, two_sizes
from model_builder import Builder
from templates import (arg_reduce, attention, binary, block, cast, compare_where, conv,
                       conv_transpose, gemm, matmul, movement, normalise, pool, reduce,
                       unary_chain)

TEMPLATES = [unary_chain, binary, compare_where, reduce, arg_reduce, normalise, matmul,
             gemm, conv, conv, conv_transpose, pool, movement, cast, block, attention,
             tiny, column, two_sizes, empties, folded, broken_weights]


def generate(seed):
    """The case of this seed; equal seeds give equal cases."""
    template = TEMPLATES[seed % len(TEMPLATES)]
    builder = Builder(seed)
    return builder.finish(f"{template.__name__}_{seed}", template(builder))
