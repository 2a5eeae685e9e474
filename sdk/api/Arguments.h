// SPDX-License-Identifier: Apache-2.0
//
// Arguments.h: the checks of what an application gives to the functions of
// backplane.h, before anything behind a pointer is used.
#ifndef BACKPLANE_API_ARGUMENTS_H
#define BACKPLANE_API_ARGUMENTS_H

#include "Handles.h"

#include <cstdint>
#include <initializer_list>

namespace backplane::rt {

constexpr uint64_t maxTextBytes = 1 << 20; ///< of a path, a name or a URI
constexpr uint64_t maxItems = 1 << 16;     ///< of an array in options

/// The first failure.
inline Status firstOf(std::initializer_list<Status> checks) {
  for (const Status &check : checks)
    if (!check.ok())
      return check;
  return {};
}

inline Status needs(const void *pointer, const char *what) {
  return pointer ? Status() : invalidArgument(std::string(what) + " is NULL");
}

/// A handle that is there and of its kind.
template <typename Handle> Status isHandle(const Handle *handle) {
  std::string what = Handle::what;
  if (!handle)
    return invalidArgument("the " + what + " is NULL");
  if (reinterpret_cast<uintptr_t>(handle) % alignof(Handle) ||
      handle->tag != Handle::ownTag)
    return invalidArgument("what was given as the " + what + " is none");
  return {};
}

inline Status isText(bp_string_t text, const char *what) {
  if (text.size > maxTextBytes || (text.size && !text.data))
    return invalidArgument(
        std::string(what) + " has " + std::to_string(text.size) + " bytes at " +
        (text.data ? "an address, at most " + std::to_string(maxTextBytes) +
                         " are read"
                   : "NULL"));
  if (view(text).find('\0') != std::string_view::npos)
    return invalidArgument(std::string(what) + " has a byte of 0 inside");
  return {};
}

/// No flag beyond the known ones, and nothing in the reserved member.
inline Status areFlags(uint32_t flags, uint32_t known, uint32_t reserved) {
  std::string hint = "; initialise with BP_HEADER";
  if (flags & ~known)
    return unimplemented("flags " + std::to_string(flags) +
                         " are not all known" + hint);
  return reserved ? unimplemented("the reserved member is " +
                                  std::to_string(reserved) + hint)
                  : Status();
}

/// An array of `count` items that can be looked at.
template <typename T>
Status isArray(const T *items, uint64_t count, uint64_t most,
               const char *what) {
  if (count <= most && (!count || items) &&
      reinterpret_cast<uintptr_t>(items) % alignof(T) == 0)
    return {};
  return invalidArgument(std::string(what) + " has " + std::to_string(count) +
                         " entries" + (items ? "" : " at NULL") + ", at most " +
                         std::to_string(most) + " in a valid array are read");
}

inline Status isBytes(bp_bytes_t bytes, const char *what) {
  constexpr uint64_t most = uint64_t(1) << 47;
  return isArray(static_cast<const char *>(bytes.data), bytes.size, most, what);
}

/// A sink that takes something.
template <typename Sink> Status isSink(const Sink *sink) {
  Status status = needs(sink, "sink");
  return status.ok() && !sink->put ? invalidArgument("the sink has no put")
                                   : status;
}

} // namespace backplane::rt

#endif // BACKPLANE_API_ARGUMENTS_H
