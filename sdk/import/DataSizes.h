// SPDX-License-Identifier: Apache-2.0
//
// DataSizes.h: sizes that are elements of data. What is known of a tensor that
// was put together from known numbers and data is found again by following its
// elements through the graph; what is left is read when the program runs.
#ifndef BACKPLANE_IMPORT_DATASIZES_H
#define BACKPLANE_IMPORT_DATASIZES_H

#include "Node.h"

namespace backplane::frontend {

/// One integer: known at import, or an element of a value.
struct DataElement {
  std::optional<KnownElement> known;
  ValueId value = kNone; ///< an i64 scalar, when it is not known
};

/// The elements of an integer input of rank 0 or 1. Fails on another, and on
/// one whose length only the call knows.
std::vector<DataElement> elementsOf(Node &node, size_t input,
                                    std::string_view what);
/// The same for an input of one element.
DataElement elementOf(Node &node, size_t input, std::string_view what);
/// Whether the call alone knows one of them.
bool anyData(const std::vector<DataElement> &elements);
/// Whether data decide a size.
bool isReadSize(Node &node, const Dim &dim);
/// An element as an i64 scalar of the graph.
ValueId scalarOf(Node &node, const DataElement &element);

/// The greatest value that an integer value can have, where the ops that make
/// it show one.
std::optional<Dim> greatestOf(Node &node, ValueId value);

/// The size that the model declares for an axis of the first output.
std::optional<Dim> declaredSize(Node &node, size_t axis);

/// A symbol for a size that data decide, at most `most`. Without it the bound
/// is what the ops show, else what the model declares for `axis` of the first
/// output, else the range that is given with `--dim` when the model is
/// compiled. The symbol is called after `what`.
Dim readSize(Node &node, ValueId scalar, const std::string &what,
             std::optional<Dim> most,
             std::optional<size_t> axis = std::nullopt);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_DATASIZES_H
