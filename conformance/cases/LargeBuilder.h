// SPDX-License-Identifier: Apache-2.0
//
// LargeBuilder.h: makes units at sizes that models have from the description of
// a graph: one with symbols, some with numbers, some with weights.
//
// Ids do not say sizes: under a budget or with another seed "drawn-3" is the
// same case with other sizes, which the record tells.
#ifndef BACKPLANE_CONFORMANCE_CASES_LARGEBUILDER_H
#define BACKPLANE_CONFORMANCE_CASES_LARGEBUILDER_H

#include "CaseBuilder.h"
#include "Sizes.h"

namespace backplane::conformance {

/// Sizes that a model has; the name says which.
struct KnownSizes {
  std::string name;
  SymbolValues values;
};

/// Returns the dim of an axis: a symbol or a number.
using SizeOf = std::function<Dim(const char *symbol)>;

/// A graph whose sizes vary.
struct LargeGraph {
  std::string op;
  DType dtype = DType::Invalid;
  std::string variant; ///< "models", or "models-" and what is particular
  std::vector<std::string> tags;
  std::vector<Axis> axes;
  std::vector<std::string> repeated; ///< as in Large
  /// Adds inputs, ops and outputs.
  std::function<void(CaseBuilder &builder, const SizeOf &size)> build;
  std::vector<KnownSizes> known = {};
  /// Axes that must be numbers.
  std::vector<std::string> numbers = {};
  std::vector<size_t> weights = {}; ///< inputs that models have as weights
  bool isProduct = false;           ///< Method::Products knows it
  const char *dataSet = "uniform";  ///< of Method::Repeats
  /// Of every other slot, for sums whose limits grow with their length.
  const char *exactData = nullptr;
  size_t slots = SIZE_MAX; ///< at most this many drawn sizes
  size_t statics = 1;      ///< units with numbers
  /// Slots may take this part of the limits of the depth, but for the first
  /// one of a graph that is to have the largest case.
  double share = 0.125;
  bool isLargest = false;
  Depth depth = Depth::Standard; ///< the least depth that has it
  /// Values may be as large as the budget allows.
  bool hasLargeBuffers = false;
  /// Elements that the oracle computes of one case; 0: as many as of others.
  double oracleElements = 0;
};

/// Asks for one case whose elements do not repeat and for each of which the
/// oracle answers.
void askForEveryElement(LargeGraph &graph);
/// Elements of such a case.
inline constexpr double maxElements = 400'000;

void makeLarge(const Sink &sink, const LargeGraph &graph);

/// Parts of makeModelSizes (CaseBuilder.h).
void makeModelProducts(const Sink &sink);
void makeModelConvolutions(const Sink &sink);
void makeModelElementwise(const Sink &sink);
void makeModelLines(const Sink &sink);
void makeModelMovement(const Sink &sink);
void makeModelRandom(const Sink &sink);
void makeDrawn(const Sink &sink);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_LARGEBUILDER_H
