// SPDX-License-Identifier: Apache-2.0
//
// Result.h: how LLVM-free C++ code of the SDK reports failure: a Status, or a
// Result<T> that is a T or a failed Status. The codes are those of abi.h.
// Nothing here throws.
#ifndef BACKPLANE_CPP_RESULT_H
#define BACKPLANE_CPP_RESULT_H

#include "backplane/abi.h"

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace backplane {

/// Success, or a code with a message for people: lower-case start, no full
/// stop, naming what was asked, what was found and what to do.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(bp_status_t code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == BP_STATUS_OK; }
  bp_status_t code() const { return code_; }
  const std::string &message() const { return message_; }

  /// The same failure with `prefix` and ": " in front of the message.
  Status within(std::string_view prefix) const {
    if (ok())
      return *this;
    return Status(code_, std::string(prefix) + ": " + message_);
  }

private:
  bp_status_t code_ = BP_STATUS_OK;
  std::string message_;
};

inline Status invalidArgument(std::string message) {
  return Status(BP_STATUS_INVALID_ARGUMENT, std::move(message));
}
inline Status notFound(std::string message) {
  return Status(BP_STATUS_NOT_FOUND, std::move(message));
}
inline Status unimplemented(std::string message) {
  return Status(BP_STATUS_UNIMPLEMENTED, std::move(message));
}
inline Status internalError(std::string message) {
  return Status(BP_STATUS_INTERNAL, std::move(message));
}
inline Status dataLoss(std::string message) {
  return Status(BP_STATUS_DATA_LOSS, std::move(message));
}

/// A value, or the reason why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {
    assert(!status_.ok() && "a Result without a value needs a failure");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }
  bp_status_t code() const { return status_.code(); }
  const std::string &message() const { return status_.message(); }

  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }

private:
  std::optional<T> value_;
  Status status_;
};

inline std::string_view view(bp_string_t text) {
  return text.size ? std::string_view(text.data, text.size)
                   : std::string_view();
}
inline bp_string_t toC(std::string_view text) {
  return {text.data(), text.size()};
}

} // namespace backplane

#endif // BACKPLANE_CPP_RESULT_H
