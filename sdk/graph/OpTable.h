// SPDX-License-Identifier: Apache-2.0
//
// OpTable.h: what the op table (ops.toml) says, at run time.
//
// The table is the one description of every op: from it come these entries,
// the ODS definitions of the `bp` dialect and docs/reference/ops.md.
#ifndef BACKPLANE_GRAPH_OPTABLE_H
#define BACKPLANE_GRAPH_OPTABLE_H

#include "Graph.h"

namespace backplane {

enum class AttributeKind { I64, Bool, DType, F64, String, I64s, Dims, Bytes };

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required;
  /// Text of the default; meaningless when required.
  std::string_view defaultValue;
  /// Allowed strings, "a|b|c"; empty: any.
  std::string_view choices;
};

/// Result types of an op from its operand types and attributes, or the numbered
/// constraint that does not hold.
using ShapeRule = Result<std::vector<TensorType>> (*)(
    std::span<const TensorType> operands, const Attributes &attributes);

struct OpSpec {
  std::string_view name;
  uint32_t version;
  bool composite;      ///< has a decomposition (Decompose.h)
  bool elementwise;    ///< result i depends on element i of the operands only
  bool pure;           ///< no effect but its results
  int minOperands;
  int maxOperands;     ///< -1: any number
  int results;
  std::string_view numericClass; ///< "EXACT", "ULP", "DOT", …
  std::span<const AttributeSpec> attributes;
  ShapeRule shape;
};

/// All ops, by name.
std::span<const OpSpec> opTable();
/// The entry, or null.
const OpSpec *findOp(std::string_view name);
/// Fills defaults and checks kinds, choices and unknown names.
Status completeAttributes(const OpSpec &spec, Attributes &attributes);
/// Operand count, attributes, then the shape rule.
Result<std::vector<TensorType>> inferTypes(const OpSpec &spec,
                                           std::span<const TensorType> operands,
                                           const Attributes &attributes);

} // namespace backplane

#endif // BACKPLANE_GRAPH_OPTABLE_H
