// SPDX-License-Identifier: Apache-2.0
//
// Graph.h: the portable graph in memory, free of LLVM.
//
// Importers build it, the wire form (Wire.h) stores it, the compiler turns it
// into the `bp` dialect, the graph view of graph.h reads it. Ops are in
// execution order; values are numbered and defined once.
#ifndef BACKPLANE_GRAPH_GRAPH_H
#define BACKPLANE_GRAPH_GRAPH_H

#include "Dim.h"
#include "sdk/support/Bytes.h"
#include "sdk/support/DType.h"

#include <span>
#include <variant>

namespace backplane {

/// Limits of every graph, so that bytes from outside stay affordable.
inline constexpr size_t maxRank = 16;
inline constexpr size_t maxConstantBytes = 4096;

/// Bytes of `elements` elements, packed.
Dim byteSize(DType type, const Dim &elements);

/// dtype and shape of a value. Rank 0 is a scalar.
struct TensorType {
  DType dtype = DType::Invalid;
  std::vector<Dim> dims;

  bool operator==(const TensorType &) const = default;
  size_t rank() const { return dims.size(); }
  Dim elementCount() const { return product(dims); }
  Dim bytes() const { return byteSize(dtype, elementCount()); }
  bool isStatic() const;
  /// "f32[n, 64]"
  std::string str() const;
};

using Dims = std::vector<Dim>;
/// The kinds of attribute. bool is an int64_t of 0 or 1, a dtype is an
/// int64_t holding BP_DTYPE_.
using Attribute = std::variant<int64_t, double, std::string,
                               std::vector<int64_t>, Dims, Bytes>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

using ValueId = uint32_t;

struct Value {
  TensorType type;
  std::string name; ///< from the model, may be empty

  bool operator==(const Value &) const = default;
};

class Graph;

struct Op {
  std::string name;
  uint32_t version = 1;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attributes attributes;
  std::vector<Graph> regions;
  std::string location; ///< "Conv node /enc/conv1"

  int64_t i64(std::string_view name, int64_t otherwise = 0) const;
  double f64(std::string_view name, double otherwise = 0) const;
  std::string string(std::string_view name,
                     std::string_view otherwise = "") const;
  std::vector<int64_t> i64s(std::string_view name) const;
  Dims dims(std::string_view name) const;
  const Bytes *bytes(std::string_view name) const; ///< null when absent

  bool operator==(const Op &) const = default;
};

/// A named size with its range; `divisor` divides every value.
struct Symbol {
  std::string name;
  int64_t minimum = 0;
  int64_t maximum = INT64_MAX;
  int64_t divisor = 1;

  bool operator==(const Symbol &) const = default;
};

/// Two dims that are equal by assertion: checked when a program is called.
struct DimAssertion {
  Dim lhs, rhs;
  std::string message; ///< which node needs it

  bool operator==(const DimAssertion &) const = default;
};

struct GraphOutput {
  ValueId value;
  std::string name;

  bool operator==(const GraphOutput &) const = default;
};

/// A variable that keeps its value between the calls of a session.
struct Variable {
  std::string name;
  TensorType type;     ///< static
  std::string initial; ///< weight id; empty: zeros

  bool operator==(const Variable &) const = default;
};

class Graph {
public:
  std::string name;
  std::vector<Symbol> symbols;
  std::vector<DimAssertion> assertions;
  std::vector<Variable> variables;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ValueId> inputs;
  std::vector<GraphOutput> outputs;

  bool operator==(const Graph &) const = default;
  const TensorType &type(ValueId value) const { return values[value].type; }
  /// Adds a value that nothing defines yet.
  ValueId addValue(TensorType type, std::string name = {});
  ValueId addInput(std::string name, TensorType type);
  void addOutput(ValueId value, std::string name);
  /// Adds a symbol, or checks that the one of this name is the same.
  Status addSymbol(Symbol symbol);

  /// Appends an op at its newest version: fills defaults of attributes, infers
  /// the result types (OpTable.h) and checks the constraints. Gives the
  /// results. A reshape whose element counts cannot be shown equal gets its
  /// assertion. Fails, adding nothing, with the constraint that does not hold.
  Result<std::vector<ValueId>> add(std::string_view op,
                                   std::vector<ValueId> operands,
                                   Attributes attributes = {},
                                   std::string location = {});
  /// Appends an op with regions (Control.h) at version 1: verifies the regions,
  /// infers the result types and checks the constraints. `op` has no results.
  /// Gives the results; fails, adding nothing.
  Result<std::vector<ValueId>> addControl(Op op);

  /// Checks everything that a reader relies on: ids in range, each value
  /// defined once and before its use, known ops and versions, attribute kinds,
  /// inferred types equal to the stored ones, symbols declared.
  Status verify() const;
  /// The declared variable, or null.
  const Variable *findVariable(std::string_view name) const;
  /// Text for people and tests, one op a line.
  std::string str() const;
};

} // namespace backplane

#endif // BACKPLANE_GRAPH_GRAPH_H
