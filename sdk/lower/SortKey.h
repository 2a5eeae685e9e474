// SPDX-License-Identifier: Apache-2.0
//
// SortKey.h: elements as words whose unsigned order is that of top_k, and the
// way that top_k of few takes. Internal to TopK.cpp and TopFew.cpp.
#ifndef BACKPLANE_LOWER_SORTKEY_H
#define BACKPLANE_LOWER_SORTKEY_H

#include "sdk/lower/SequentialLoops.h"

#include <optional>

namespace bp::lower {

/// A constant word.
Value word(ImplicitLocOpBuilder &b, int64_t value);

/// A word whose unsigned order is that of the elements as they are computed
/// with, of up to 32 bits: of floats NaN above all and equal, both zeros equal.
Value wordOf(ImplicitLocOpBuilder &b, Value computed, const Element &element);

/// The element that has this word; of the zeros, the positive one.
Value elementOfWord(ImplicitLocOpBuilder &b, Value word,
                    const Element &element);

/// The word with the order turned around.
Value inverted(ImplicitLocOpBuilder &b, Value word);

/// The values and indices that an op keeps, where few are kept of lines that
/// are not along the last axis: those of a line are in registers, without
/// branches, so that lines can be lanes. None: it is no such op.
std::optional<Values> selectFew(Lowering &lowering, TopKOp op);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_SORTKEY_H
