// SPDX-License-Identifier: Apache-2.0
//
// Property.h: typed properties of targets and devices, and the one table of
// those keys that are well known. docs/reference/properties.md has the table.
#ifndef BACKPLANE_SUPPORT_PROPERTY_H
#define BACKPLANE_SUPPORT_PROPERTY_H

#include "backplane/cpp/Result.h"

#include <span>
#include <variant>
#include <vector>

namespace backplane {

/// A bp_property_t with memory of its own.
struct Property {
  /// In the order of BP_PROPERTY_.
  using Value =
      std::variant<int64_t, double, std::string, std::vector<int64_t>>;
  std::string key;
  Value value;

  uint32_t kind() const { return uint32_t(value.index()) + BP_PROPERTY_I64; }
  /// "shared_bytes=49152", "matrix_shapes.f16=[16,8,16]"
  std::string str() const;
  /// The C form, which points into this object.
  bp_property_t c() const;
};

/// What stands behind the dot of a well-known key.
enum class PropertySuffix : uint8_t { None, Level, DType };

/// A well-known key, or a family of them.
struct PropertyKey {
  std::string_view stem; ///< "cache_bytes" for cache_bytes.1 and so on
  PropertySuffix suffix;
  uint32_t kind;     ///< BP_PROPERTY_
  int64_t min, max;  ///< of the number, or of each of the list
  uint32_t multiple; ///< numbers of a list come in groups of so many
  std::string_view meaning;
};

std::span<const PropertyKey> propertyKeys();

/// "i64", by its BP_PROPERTY_ number; "unknown" for any other.
std::string_view propertyKindName(uint32_t kind);

/// Refuses a key that is neither well known nor prefixed by a vendor. Gives the
/// entry of the table, null for a vendor's key.
Result<const PropertyKey *> findPropertyKey(std::string_view key);

/// Copies properties from outside, which may be anything. Failures name the
/// key.
Result<std::vector<Property>> copyProperties(const bp_property_t *items,
                                             uint64_t count);

/// The value of a key, null when there is none.
const Property::Value *findProperty(std::span<const Property> properties,
                                    std::string_view key);

/// The C forms of a list, which point into it.
std::vector<bp_property_t> cForms(const std::vector<Property> &properties);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_PROPERTY_H
