// SPDX-License-Identifier: Apache-2.0
//
// CaseBuilder.h: builds one unit and its cases.
#ifndef BACKPLANE_CONFORMANCE_CASES_CASEBUILDER_H
#define BACKPLANE_CONFORMANCE_CASES_CASEBUILDER_H

#include "Case.h"

namespace backplane::conformance {

using Sink = std::function<bool(Unit)>;

/// The parts of a unit, in the order in which they are added. A graph that is
/// refused leaves the unit without outputs, which CasesTest finds.
class CaseBuilder {
public:
  CaseBuilder(const Selection &selection, std::string op, DType dtype,
              std::string_view variant, std::vector<std::string> tags);

  /// Puts the unit into another layer than 3; before its first case.
  void inLayer(int layer);
  Dim symbol(const std::string &name);
  Dims symbols(std::initializer_list<const char *> names);
  ValueId input(DType dtype, Dims dims, InputRule rule = {});
  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {});
  /// An op with regions (sdk/graph/Control.h); gives all results, ids out of
  /// range when it is refused.
  std::vector<ValueId> control(Op op);
  /// A weight of random numbers in [low, high), integers for integers; a
  /// function of the unit's id and of the number of ops before it.
  ValueId weight(DType dtype, Dims dims, double low = -1, double high = 1);
  /// A variable that starts as zeros. A unit leaves it as it was: one session
  /// runs all cases.
  void variable(const std::string &name, DType dtype, Dims dims);
  void output(ValueId value);
  /// The graph so far.
  const Graph &graph() const { return unit_.graph; }
  void addCase(Depth depth, std::string dataSet, SymbolValues symbols = {});
  /// A case at sizes that models have, whose id does not say them.
  void addLarge(const std::string &name, std::string dataSet, Method method,
                SymbolValues symbols, Depth depth);
  /// Says how such cases are judged. With `numbers`, which only a unit of one
  /// case can have, the graph gets the sizes of that case for its symbols.
  void makeLarge(Large large, bool numbers);
  /// Gives the unit to `put`; true to go on. Units without a case up to the
  /// depth of the selection are left out.
  bool finish(const Sink &put);

private:
  void keep(Case added);

  const Selection &selection_;
  Unit unit_;
};

/// A case of the unit with this id; its seed follows from both and from that of
/// the selection.
Case makeCase(const Selection &selection, const std::string &unit, Depth depth,
              std::string dataSet, SymbolValues symbols);

/// Families of units, listed in Generate.cpp; false once `put` wants no more.
bool makeBoxes(const Selection &selection, const Sink &put);
bool makeCorners(const Selection &selection, const Sink &put);
bool makeEdges(const Selection &selection, const Sink &put);
bool makeControl(const Selection &selection, const Sink &put);
bool makeModelSizes(const Selection &selection, const Sink &put);
bool makeConstants(const Selection &selection, const Sink &put);
bool makeIndexed(const Selection &selection, const Sink &put);
bool makeOrdered(const Selection &selection, const Sink &put);
bool makeRanks(const Selection &selection, const Sink &put);
bool makeShapes(const Selection &selection, const Sink &put);
bool makeElementwise(const Selection &selection, const Sink &put);
bool makeMovement(const Selection &selection, const Sink &put);
bool makeConvolutions(const Selection &selection, const Sink &put);
bool makePooling(const Selection &selection, const Sink &put);
bool makeProducts(const Selection &selection, const Sink &put);
bool makeNormalisations(const Selection &selection, const Sink &put);
bool makeAttentions(const Selection &selection, const Sink &put);
bool makeActivations(const Selection &selection, const Sink &put);
bool makePrecision(const Selection &selection, const Sink &put);
bool makeReach(const Selection &selection, const Sink &put);
bool makeProbes(const Selection &selection, const Sink &put);
bool makeSums(const Selection &selection, const Sink &put);

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
