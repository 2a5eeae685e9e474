// SPDX-License-Identifier: Apache-2.0
//
// DType.h: the element types of tensors.
#ifndef BACKPLANE_SUPPORT_DTYPE_H
#define BACKPLANE_SUPPORT_DTYPE_H

#include "backplane/abi.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace backplane {

/// Element types, with the numbers of BP_DTYPE_.
enum class DType : uint32_t {
  Invalid = BP_DTYPE_INVALID,
  F64 = BP_DTYPE_F64,
  F32 = BP_DTYPE_F32,
  F16 = BP_DTYPE_F16,
  BF16 = BP_DTYPE_BF16,
  F8E4M3FN = BP_DTYPE_F8E4M3FN,
  F8E5M2 = BP_DTYPE_F8E5M2,
  I64 = BP_DTYPE_I64,
  I32 = BP_DTYPE_I32,
  I16 = BP_DTYPE_I16,
  I8 = BP_DTYPE_I8,
  I4 = BP_DTYPE_I4,
  U64 = BP_DTYPE_U64,
  U32 = BP_DTYPE_U32,
  U16 = BP_DTYPE_U16,
  U8 = BP_DTYPE_U8,
  U4 = BP_DTYPE_U4,
  Bool = BP_DTYPE_BOOL,
  F8E4M3FNUZ = BP_DTYPE_F8E4M3FNUZ,
  F8E5M2FNUZ = BP_DTYPE_F8E5M2FNUZ,
  F8E8M0FNU = BP_DTYPE_F8E8M0FNU,
  F4E2M1FN = BP_DTYPE_F4E2M1FN,
};

/// "f32"; "invalid" for an unknown number.
std::string_view name(DType type);
/// The type with this name.
std::optional<DType> parseDType(std::string_view name);
/// Bits of one element: 4, 8, 16, 32 or 64 (bool: 8).
unsigned bitWidth(DType type);
bool isFloat(DType type);
/// A float of 4 or 8 bits: a format to store, which ops cast before they
/// compute.
bool isStoredFloat(DType type);
bool isSignedInteger(DType type);
bool isUnsignedInteger(DType type); // bool is not an integer

} // namespace backplane

#endif // BACKPLANE_SUPPORT_DTYPE_H
