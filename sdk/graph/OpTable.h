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
  uint32_t since; ///< version of the op that added it
};

/// Which dtypes an op takes: Number is Float or Int, Bits is Int or Bool. Only
/// Any has the formats to store: floats of 4 and 8 bits and integers of 4.
enum class TypeSet { Any, Float, Int, Number, Bool, Bits };
bool contains(TypeSet set, DType type);

struct OpSpec;

/// One use of an op, as its shape rule sees it.
struct OpUse {
  const OpSpec &spec;
  std::span<const TensorType> operands;
  const Attributes &attributes; ///< complete and of the right kinds
};

/// Result types, or the numbered constraint that does not hold.
using ShapeRule = Result<std::vector<TensorType>> (*)(const OpUse &use);

struct OpSpec {
  std::string_view name;
  uint32_t version; ///< the newest
  bool composite;   ///< has a decomposition (Decompose.h)
  bool elementwise; ///< result i depends on element i of the operands only
  bool pure;        ///< no effect but its results
  int minOperands;
  int maxOperands; ///< -1: any number
  int results;
  std::string_view numericClass; ///< "EXACT", "ULP", "DOT", …
  std::span<const AttributeSpec> attributes;
  ShapeRule shape;
  TypeSet types;
  /// Names; the last one stands for all further operands of a variadic op.
  std::span<const std::string_view> operandNames;
  /// Operands that do not share the dtype; the shape rule checks them.
  std::span<const std::string_view> ownDTypes;
  std::span<const std::string_view> constraints; ///< C1 first
};

/// All ops, by name.
std::span<const OpSpec> opTable();
/// The entry, or null.
const OpSpec *findOp(std::string_view name);
/// The least version of the op that has all attributes of another value than
/// their default. A reader that knows no newer one misses nothing.
uint32_t minVersion(const OpSpec &spec, const Attributes &attributes);
/// Whether this version of an op has the attribute; of an op or attribute that
/// is not in the table, whose readers say so: true.
bool isInVersion(std::string_view op, uint32_t version,
                 std::string_view attribute);
/// Adds the defaults of attributes that the version does not have.
void completeNewer(const OpSpec &spec, uint32_t version,
                   Attributes &attributes);
/// Fills defaults and checks as checkAttributes does.
Status completeAttributes(const OpSpec &spec, Attributes &attributes);
/// Checks that each attribute is there, known, of its kind and one of its
/// choices.
Status checkAttributes(const OpSpec &spec, const Attributes &attributes);
/// Checks operand count, attributes and dtypes, then applies the shape rule.
Result<std::vector<TensorType>> inferTypes(const OpSpec &spec,
                                           std::span<const TensorType> operands,
                                           const Attributes &attributes);

} // namespace backplane

#endif // BACKPLANE_GRAPH_OPTABLE_H
