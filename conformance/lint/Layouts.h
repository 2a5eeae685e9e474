// SPDX-License-Identifier: Apache-2.0
//
// Layouts.h: the sizes that the structs of the C ABI had in each released
// version, from the records that the headers are held to.
#ifndef BACKPLANE_CONFORMANCE_LINT_LAYOUTS_H
#define BACKPLANE_CONFORMANCE_LINT_LAYOUTS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace backplane::lint {

/// 0 when that version had no such struct, or is not known.
uint32_t sizeIn(uint32_t minor, std::string_view structName);

/// The newest minor version that is known.
uint32_t newestMinor();

/// What is wrong with the header of a struct of a library that was built for
/// `minor`; empty when nothing is. `what` names it for people.
std::string headerFault(const void *header, uint32_t type,
                        std::string_view structName, std::string_view what,
                        uint32_t minor);

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_LAYOUTS_H
