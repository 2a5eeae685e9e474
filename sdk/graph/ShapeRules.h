// SPDX-License-Identifier: Apache-2.0
//
// ShapeRules.h: the shape rules that ops.toml names, and what they share.
// Private to sdk/graph; everyone else calls inferTypes of OpTable.h.
#ifndef BACKPLANE_GRAPH_SHAPERULES_H
#define BACKPLANE_GRAPH_SHAPERULES_H

#include "OpTable.h"

namespace backplane {

using Types = Result<std::vector<TensorType>>;

/// The dtype that an attribute of kind dtype holds, if it is one.
std::optional<DType> dtypeOf(const Attribute &value);

namespace rules {

// Attributes of a use, known to be there.
int64_t i64(const OpUse &use, std::string_view name);
const std::string &string(const OpUse &use, std::string_view name);
const std::vector<int64_t> &i64s(const OpUse &use, std::string_view name);
const Dims &dims(const OpUse &use, std::string_view name);
DType dtype(const OpUse &use);

/// "matmul C4: the k dims are equal, found 64 and 32"
Status broken(const OpUse &use, size_t constraint, const std::string &found);
/// "[2, n]"
std::string text(const Dims &dims);
std::string text(std::span<const int64_t> values);
/// The attribute `axis`, if it is below `rank`; else `constraint` is broken.
Result<size_t> axis(const OpUse &use, size_t rank, size_t constraint);
/// Whether values rise and lie in [0, limit).
bool ascend(std::span<const int64_t> values, size_t limit);
/// The first operand with other dims.
Types withDims(const OpUse &use, Dims dims);

// ShapeRulesBasic.cpp
Types weight(const OpUse &use);
Types typed(const OpUse &use);
Types constant(const OpUse &use);
Types iota(const OpUse &use);
Types dim(const OpUse &use);
Types none(const OpUse &use);
Types same(const OpUse &use);
Types same_bool(const OpUse &use);
Types cast(const OpUse &use);
Types select(const OpUse &use);
Types softmax(const OpUse &use);
Types layer_norm(const OpUse &use);
Types batch_norm(const OpUse &use);
Types rms_norm(const OpUse &use);
Types group_norm(const OpUse &use);

// ShapeRulesMove.cpp
Types broadcast(const OpUse &use);
Types reshape(const OpUse &use);
Types transpose(const OpUse &use);
Types slice(const OpUse &use);
Types concat(const OpUse &use);
Types pad(const OpUse &use);
Types reverse(const OpUse &use);
Types gather(const OpUse &use);
Types scatter(const OpUse &use);

// ShapeRulesContract.cpp
Types reduce(const OpUse &use);
Types reduce_float(const OpUse &use);
Types arg_reduce(const OpUse &use);
Types top_k(const OpUse &use);
Types matmul(const OpUse &use);
Types conv(const OpUse &use);
Types conv_transpose(const OpUse &use);
Types pool(const OpUse &use);
Types avg_pool(const OpUse &use);
Types matmul_integer(const OpUse &use);
Types conv_integer(const OpUse &use);

// ShapeRulesAttention.cpp
Types rotary(const OpUse &use);
Types attention(const OpUse &use);

} // namespace rules
} // namespace backplane

#endif // BACKPLANE_GRAPH_SHAPERULES_H
