// SPDX-License-Identifier: Apache-2.0
//
// KernelSyntax.h: the text of a kernel as it is written, before dtypes and
// optional inputs are chosen. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_KERNELSYNTAX_H
#define BACKPLANE_KERNELS_KERNELSYNTAX_H

#include "sdk/graph/OpTable.h"

namespace backplane::syntax {

/// Characters before the one that is meant; a message makes line and column
/// of it.
using Offset = size_t;

/// A dtype, or the number of the variable that stands for one.
struct DTypeName {
  DType dtype = DType::Invalid;
  std::optional<size_t> variable;
};

/// `T in [f32, f16]`
struct DTypeVariable {
  std::string name;
  std::vector<DType> choices;
};

/// `S in [[1, 1], [2, 2]]`: values of attributes, or orders of axes.
struct ValueVariable {
  std::string name;
  Offset at = 0;
  std::vector<Attribute> choices;
  bool isUsed = false;
};

/// The number of a variable of the text.
struct ValueName {
  size_t variable = 0;
};

/// `layout L`
struct Layout {
  Offset at = 0;
  size_t variable = 0;
};

/// `d <= 128`
struct Condition {
  Offset at = 0;
  std::string text;
  Dim left, right;
  std::string relation;
};

/// A dim and where it stands.
struct PlacedDim {
  Offset at = 0;
  Dim dim;
};

/// What `%name` stands for. Values are numbered in the order of their
/// definitions.
struct Value {
  std::string name;
  Offset at = 0;
  bool isInput = false;
  bool isUsed = false;
};

struct Input {
  size_t value = 0;
  bool isOptional = false;
  DTypeName dtype;
  Dims dims;
  std::optional<Layout> layout; ///< none: axes are stored in their order
};

/// A value of an attribute; dtypes, variables and numbers wait for the choice.
struct AttributeText {
  std::string name;
  std::variant<Attribute, DTypeName, ValueName, std::vector<double>> value;
};

struct Op {
  Offset at = 0;
  const OpSpec *spec = nullptr;
  std::vector<size_t> operands, results;
  std::vector<AttributeText> attributes;
};

struct Output {
  Offset at = 0;
  size_t value = 0;
  std::optional<Layout> layout;
};

struct Kernel {
  std::string name;
  uint32_t version = 1;
  std::vector<DTypeVariable> dtypes;
  std::vector<ValueVariable> variables;
  std::vector<Condition> conditions;
  std::vector<std::string> symbols;
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Op> ops;
  std::vector<Output> outputs;
};

/// "line 3, column 7: ", of an offset into a text.
std::string placeOf(std::string_view text, Offset at);

/// A value of a variable: "[1,1]".
std::string textOf(const Attribute &value);

/// Reads the text. Names are declared and unique, each value is used.
Result<Kernel> parse(std::string_view text);

} // namespace backplane::syntax

#endif // BACKPLANE_KERNELS_KERNELSYNTAX_H
