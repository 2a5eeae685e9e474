// SPDX-License-Identifier: Apache-2.0
//
// CaseBuilder.h: builds one unit and its cases.
#ifndef BACKPLANE_CONFORMANCE_CASES_CASEBUILDER_H
#define BACKPLANE_CONFORMANCE_CASES_CASEBUILDER_H

#include "Case.h"

namespace backplane::conformance {

/// Where units go, and which are asked for.
struct Sink {
  const Selection &selection;
  std::function<void(Unit)> put;
};

/// From the first number to below the second one.
using NumberRange = std::pair<double, double>;
/// Numbers that are not all 0, and small: floats in [-1, 1), integers from -7
/// or 0 to 7.
NumberRange smallNumbers(DType dtype);

/// The parts of a unit, in the order in which they are added. A graph that is
/// refused leaves the unit without outputs, which CasesTest finds.
class CaseBuilder {
public:
  /// The sink must outlive the builder.
  CaseBuilder(const Sink &sink, std::string op, DType dtype,
              std::string_view variant, std::vector<std::string> tags);

  /// Puts the unit into another layer than 3; before its first case.
  void inLayer(int layer);
  Dim symbol(const std::string &name);
  Dims symbols(std::initializer_list<const char *> names);
  ValueId input(DType dtype, Dims dims, InputRule rule = {});
  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {});
  /// An op with regions (sdk/graph/Control.h); returns all results, ids out of
  /// range when it is refused.
  std::vector<ValueId> control(Op op);
  /// A weight of random numbers in [low, high), integers for integers; a
  /// function of the unit's id and of the number of ops before it.
  ValueId weight(DType dtype, Dims dims, double low, double high);
  /// The same of floats in [-1, 1), of all bytes, of small other integers.
  ValueId weight(DType dtype, Dims dims);
  /// A variable that starts as zeros. A unit leaves it as it was: one session
  /// runs all cases.
  void variable(const std::string &name, DType dtype, Dims dims);
  void output(ValueId value);
  /// The graph so far.
  const Graph &graph() const { return unit_.graph; }
  void addCase(Depth depth, std::string dataSet, SymbolValues symbols = {});
  /// Cases of many errors, and of one at either side of the bounds.
  void addErrors(Depth depth, const SymbolValues &symbols = {});
  /// A case at sizes that models have, whose id does not say them.
  void addLarge(const std::string &name, std::string dataSet, Method method,
                SymbolValues symbols, Depth depth);
  /// Says how such cases are judged. With `numbers`, which only a unit of one
  /// case can have, the graph gets the sizes of that case for its symbols.
  void makeLarge(Large large, bool numbers);
  /// Puts the unit into the sink, unless it has no case up to the depth of the
  /// selection.
  void finish();

private:
  void keep(Case added);

  const Sink &sink_;
  Unit unit_;
};

/// The seed of what has this name.
uint64_t seedOf(const Selection &selection, const std::string &name);
/// A case of the unit with this id; its seed follows from both and from that of
/// the selection.
Case makeCase(const Selection &selection, const std::string &unit, Depth depth,
              std::string dataSet, SymbolValues symbols);

/// Families of units, listed in Generate.cpp.
void makeBlocks(const Sink &sink);
void makeBoxes(const Sink &sink);
void makeCorners(const Sink &sink);
void makeEdges(const Sink &sink);
void makeControl(const Sink &sink);
void makeModelSizes(const Sink &sink);
void makeConstants(const Sink &sink);
void makeRandomBits(const Sink &sink);
void makeIndexed(const Sink &sink);
void makeOrdered(const Sink &sink);
void makeRanks(const Sink &sink);
void makeShapes(const Sink &sink);
void makeElementwise(const Sink &sink);
void makeMovement(const Sink &sink);
void makeConvolutions(const Sink &sink);
void makePooling(const Sink &sink);
void makeProducts(const Sink &sink);
void makeNormalisations(const Sink &sink);
void makeAttentions(const Sink &sink);
void makeActivations(const Sink &sink);
void makePrecision(const Sink &sink);
void makeReach(const Sink &sink);
void makeWeights(const Sink &sink);
void makeProbes(const Sink &sink);
void makeSums(const Sink &sink);

/// Smoke for one dtype of each width and kind, else Standard: a family that
/// has units for all dtypes need not compile them all in smoke.
Depth smokeOf(DType dtype);
/// All dtypes of a set, in the order of their numbers.
std::vector<DType> dtypesOf(std::string_view op);

/// Sets the dtypes that a target must compute with and must hold to run the
/// unit's graph.
void setDTypes(Unit &unit);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_CASEBUILDER_H
