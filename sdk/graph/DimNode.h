// SPDX-License-Identifier: Apache-2.0
//
// DimNode.h: the canonical form inside a Dim; private to the Dim*.cpp files.
#ifndef BACKPLANE_GRAPH_DIMNODE_H
#define BACKPLANE_GRAPH_DIMNODE_H

#include "Dim.h"

#include <optional>

namespace backplane {

enum class AtomKind { Symbol, FloorDiv, TruncDiv, Min, Max, Select };

/// What terms multiply.
struct Atom {
  AtomKind kind = AtomKind::Symbol;
  std::string text;          ///< canonical, the identity of the atom
  std::vector<Dim> operands; ///< of divisions 2, of select condition and both
                             ///< choices, of min and max sorted, 2 or more
  int depth = 0;             ///< nesting of operands
};
using AtomPtr = std::shared_ptr<const Atom>;

inline bool atomLess(const AtomPtr &a, const AtomPtr &b) {
  return a != b && a->text < b->text;
}

/// factor * the product of atoms, which are sorted by text.
struct Term {
  int64_t factor = 0;
  std::vector<AtomPtr> atoms;
  std::string key; ///< text of the product of atoms
};

/// A sum of terms, sorted, without zero factors; never a plain number.
struct Dim::Node {
  std::vector<Term> terms;
  std::string text;
  int depth = 0;
  bool valid = true;

  static Dim wrap(std::shared_ptr<const Node> node) {
    return Dim(std::move(node));
  }
  /// The terms of any dim; none for 0.
  static std::vector<Term> termsOf(const Dim &dim);
  /// The atom, when the dim is one atom.
  static const Atom *soleAtom(const Dim &dim);
  static int depthOf(const Dim &dim) {
    return dim.node_ ? dim.node_->depth : 0;
  }
};

/// a / b rounded down; b is not 0, and not -1 for the lowest a.
inline int64_t floorQuotient(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// a floordiv b as an atom, without simplification.
Dim makeFloorDiv(const Dim &a, const Dim &b);
/// The same of truncdiv and select.
Dim makeTruncDiv(const Dim &a, const Dim &b);
Dim makeSelect(const Dim &condition, const Dim &a, const Dim &b);
/// a / b, when the form shows that it leaves nothing; b is not 0.
std::optional<Dim> exactQuotient(const Dim &a, const Dim &b);
/// The sum of the terms.
Dim fromTerms(const std::vector<Term> &terms);

} // namespace backplane

#endif // BACKPLANE_GRAPH_DIMNODE_H
