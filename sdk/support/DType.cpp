// SPDX-License-Identifier: Apache-2.0
#include "DType.h"

#include <iterator>

namespace backplane {

namespace {

enum class Family { Float, Signed, Unsigned, Bool };

struct Entry {
  DType type;
  std::string_view name;
  unsigned bits;
  Family family;
};

constexpr Entry entries[] = {
    {DType::F64, "f64", 64, Family::Float},
    {DType::F32, "f32", 32, Family::Float},
    {DType::F16, "f16", 16, Family::Float},
    {DType::BF16, "bf16", 16, Family::Float},
    {DType::F8E4M3FN, "f8e4m3fn", 8, Family::Float},
    {DType::F8E5M2, "f8e5m2", 8, Family::Float},
    {DType::I64, "i64", 64, Family::Signed},
    {DType::I32, "i32", 32, Family::Signed},
    {DType::I16, "i16", 16, Family::Signed},
    {DType::I8, "i8", 8, Family::Signed},
    {DType::I4, "i4", 4, Family::Signed},
    {DType::U64, "u64", 64, Family::Unsigned},
    {DType::U32, "u32", 32, Family::Unsigned},
    {DType::U16, "u16", 16, Family::Unsigned},
    {DType::U8, "u8", 8, Family::Unsigned},
    {DType::U4, "u4", 4, Family::Unsigned},
    {DType::Bool, "bool", 8, Family::Bool},
    {DType::F8E4M3FNUZ, "f8e4m3fnuz", 8, Family::Float},
    {DType::F8E5M2FNUZ, "f8e5m2fnuz", 8, Family::Float},
    {DType::F8E8M0FNU, "f8e8m0fnu", 8, Family::Float},
    {DType::F4E2M1FN, "f4e2m1fn", 4, Family::Float},
};

/// Null for Invalid and unknown numbers.
const Entry *find(DType type) {
  size_t index = static_cast<size_t>(type) - 1;
  return index < std::size(entries) ? &entries[index] : nullptr;
}

bool isFamily(DType type, Family family) {
  const Entry *entry = find(type);
  return entry && entry->family == family;
}

} // namespace

std::string_view name(DType type) {
  const Entry *entry = find(type);
  return entry ? entry->name : "invalid";
}

std::optional<DType> parseDType(std::string_view name) {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

unsigned bitWidth(DType type) {
  const Entry *entry = find(type);
  return entry ? entry->bits : 0;
}

bool isFloat(DType type) { return isFamily(type, Family::Float); }
bool isStoredFloat(DType type) { return isFloat(type) && bitWidth(type) <= 8; }
bool isSignedInteger(DType type) { return isFamily(type, Family::Signed); }
bool isUnsignedInteger(DType type) { return isFamily(type, Family::Unsigned); }

} // namespace backplane
