// SPDX-License-Identifier: Apache-2.0
//
// Rows.h: rows of tables of units that every op has. A family of composites has
// its rows beside its other units.
#ifndef BACKPLANE_CONFORMANCE_CASES_ROWS_H
#define BACKPLANE_CONFORMANCE_CASES_ROWS_H

#include "LargeBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

// ---- sizes 0 and 1 ----

/// One op over some sizes.
struct EdgeRow {
  std::string op;
  DType dtype;
  size_t sizes; ///< how many
  std::function<void(CaseBuilder &, const Dims &)> build;
  /// Bit i: size i must not be 0: there is no element to choose, or a size
  /// would be negative.
  uint32_t filled = 0;
  bool symbolic = true; ///< may be a symbol
};

/// Any numbers; sums run over so many.
InputRule summed(const Dim &terms);
/// An op of one input [a, b].
EdgeRow planeRow(const std::string &op, const Attributes &attributes,
                 DType dtype = DType::F32, uint32_t filled = 0);

std::vector<EdgeRow> normEdges();
std::vector<EdgeRow> attentionEdges();
std::vector<EdgeRow> layoutEdges();

// ---- sizes that models have ----

using BuildModel =
    std::function<void(CaseBuilder &builder, DType dtype, const SizeOf &)>;

/// One graph, for several dtypes.
struct ModelRow {
  std::string op, variant;
  std::vector<Axis> axes;
  std::vector<std::string> repeated;
  BuildModel build;
  std::vector<std::string> numbers = {}; ///< axes that must be numbers
  double oracleElements = 0;
};

/// Lines along b, alone or with elements c between theirs.
std::vector<Axis> twoAxes();
std::vector<Axis> threeAxes();
Dims last(const SizeOf &size);
Dims middle(const SizeOf &size);
/// n, c, h and w; c is a multiple of `divisor`.
std::vector<Axis> imageAxes(int64_t divisor = 1);
Dims image(const SizeOf &size);

/// The dims of x, along whose axis b the op works, and attributes.
BuildModel alongB(const std::string &op, Dims (*dims)(const SizeOf &),
                  const Attributes &attributes);
/// An op along axis 4 of six.
ModelRow rankSix(const std::string &op, const Attributes &attributes);

std::vector<ModelRow> normSizes();
std::vector<ModelRow> attentionSizes();

// ---- intermediate precision ----

struct PrecisionRow {
  struct Operand {
    Dims dims;
    InputRule rule = {};
  };
  std::string_view op;
  std::vector<Operand> operands;
  Attributes attributes = {};
  std::vector<const char *> data = {"far", "squares"};
};

/// Elements whose sum a narrow float cannot hold or count.
constexpr int64_t precisionColumns = 700;

std::vector<PrecisionRow> normPrecision();
std::vector<PrecisionRow> attentionPrecision();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_ROWS_H
