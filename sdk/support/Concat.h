// SPDX-License-Identifier: Apache-2.0
//
// Concat.h: texts of several parts, by less code than a chain of operators.
#ifndef BACKPLANE_SUPPORT_CONCAT_H
#define BACKPLANE_SUPPORT_CONCAT_H

#include <initializer_list>
#include <string>
#include <string_view>

namespace backplane {

std::string concat(std::initializer_list<std::string_view> parts);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_CONCAT_H
