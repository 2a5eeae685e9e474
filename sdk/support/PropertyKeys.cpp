// SPDX-License-Identifier: Apache-2.0
//
// PropertyKeys.cpp: the table of well-known keys.
#include "sdk/support/Concat.h"
#include "sdk/support/DType.h"
#include "sdk/support/NearestName.h"
#include "sdk/support/Property.h"

#include <algorithm>
#include <cstdint>

namespace backplane {
namespace {

using enum PropertySuffix;
constexpr uint32_t i64 = BP_PROPERTY_I64, i64s = BP_PROPERTY_I64S;
constexpr size_t maxKeyBytes = 64; // named in a message below

constexpr PropertyKey keys[] = {
    {"bytes_per_us", None, i64, 1, int64_t(1) << 40, 1,
     "Bytes that one worker moves in a microsecond."},
    {"cache_bytes", Level, i64, 1024, int64_t(1) << 40, 1,
     "Data cache of this level, for a core where it is not shared. Of a "
     "target: that for which products are blocked."},
    {"flops_per_us", DType, i64, 1, int64_t(1) << 50, 1,
     "Operations on this dtype that one worker does in a microsecond, in "
     "products."},
    {"grid_width", None, i64, 1, INT32_MAX, 1,
     "Work-groups along x, beyond which they continue along y."},
    {"group_threads", None, i64, 1, 1 << 20, 1,
     "Invocations of a work-group. Of a target: that its code has; of a "
     "device: at most."},
    {"matrix_shapes", DType, i64s, 1, 4096, 3,
     "Shapes of the matrix unit with factors of this dtype: m, n, k for each."},
    {"max_group_threads", None, i64, 0, 1 << 20, 1,
     "Invocations of a work-group where code takes as many as it wants."},
    {"max_shared_bytes", None, i64, 0, 1 << 30, 1,
     "Memory that a work-group shares where its launch asks for it."},
    {"private_bytes", None, i64, 0, 1 << 20, 1,
     "Memory of an invocation; larger temporaries lie elsewhere."},
    {"registers", None, i64, 1, 65536, 1,
     "Registers: vector registers of a CPU, 32-bit ones of an invocation of a "
     "GPU."},
    {"shared_bytes", None, i64, 0, 1 << 30, 1,
     "Memory that a work-group shares."},
    {"sm", None, i64, 10, 9999, 1,
     "Compute capability of a CUDA device, 90 for 9.0."},
    {"subgroup_size", None, i64, 1, 4096, 1,
     "Invocations of a subgroup of the device."},
    {"subgroup_sizes", None, i64s, 1, 4096, 1,
     "Sizes that a subgroup may have, ascending."},
    {"tile_sizes", None, i64s, 1, 4096, 2,
     "Rows and columns of a matrix product that one invocation computes, at "
     "most."},
};

bool isKey(std::string_view text) {
  bool start = true;
  for (char c : text) {
    bool letter = c >= 'a' && c <= 'z';
    bool more = (c >= '0' && c <= '9') || c == '_' || c == '-';
    bool dot = c == '.' && !start;
    if (!letter && !dot && !more)
      return false;
    start = dot;
  }
  return !text.empty() && text.size() <= maxKeyBytes && !start &&
         text[0] >= 'a' && text[0] <= 'z';
}

bool isLevel(std::string_view text) {
  return text.size() == 1 && text[0] >= '1' && text[0] <= '4';
}

bool fits(PropertySuffix suffix, std::string_view text) {
  return suffix == Level ? isLevel(text) : parseDType(text).has_value();
}

std::string suggestion(std::string_view key) {
  std::vector<std::string> stems;
  for (const PropertyKey &entry : keys)
    stems.emplace_back(entry.stem);
  std::string near = nearestName(key, stems);
  return near.empty() ? "" : concat({" (did you mean '", near, "'?)"});
}

Status checkSuffix(const PropertyKey &entry, std::string_view key,
                   std::string_view suffix) {
  if (entry.suffix != None && !suffix.empty() && fits(entry.suffix, suffix))
    return {};
  std::string_view what = entry.suffix == None ? " is a key without a suffix"
                          : entry.suffix == Level
                              ? " has a suffix from .1 to .4"
                              : " has a dtype as suffix, "
                                "'.f16'";
  return invalidArgument(concat({"'", key, "': ", entry.stem, what}));
}

} // namespace

std::span<const PropertyKey> propertyKeys() { return keys; }

Result<const PropertyKey *> findPropertyKey(std::string_view key) {
  if (!isKey(key))
    return invalidArgument(
        "a key consists of parts of a-z, 0-9, _ and - with dots between them, "
        "begins with a letter and has at most 64 characters");
  std::string_view stem = key.substr(0, key.find('.'));
  bool bare = stem.size() == key.size();
  const auto *found = std::ranges::find(keys, stem, &PropertyKey::stem);
  if (found == std::end(keys)) {
    if (!bare)
      return static_cast<const PropertyKey *>(nullptr);
    return invalidArgument(
        concat({"'", key, "' is no well-known key", suggestion(key),
                "; prefix a vendor's own, 'acme.", key, "'"}));
  }
  Status status;
  if (!bare || found->suffix != None)
    status = checkSuffix(*found, key, bare ? "" : key.substr(stem.size() + 1));
  if (!status.ok())
    return status;
  return found;
}

} // namespace backplane
