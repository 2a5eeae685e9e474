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

// The rules themselves, in ShapeRules*.cpp.
#include "sdk/graph/ShapeRules.inc"

} // namespace rules
} // namespace backplane

#endif // BACKPLANE_GRAPH_SHAPERULES_H
