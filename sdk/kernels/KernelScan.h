// SPDX-License-Identifier: Apache-2.0
//
// KernelScan.h: words, numbers and signs of the text of a kernel. Private to
// sdk/kernels.
#ifndef BACKPLANE_KERNELS_KERNELSCAN_H
#define BACKPLANE_KERNELS_KERNELSCAN_H

#include "sdk/kernels/KernelSyntax.h"

namespace backplane::syntax {

/// Reads a text from its start. After the first error it is at its end, and
/// what is read is empty.
class Scanner {
public:
  /// A text that is too long is an error at once.
  explicit Scanner(std::string_view text);

  bool ok() const { return error_.ok(); }
  const Status &error() const { return error_; }
  /// Notes the first error.
  void fail(Offset at, const std::string &message);
  /// Of what comes next.
  Offset offset();
  bool atEnd() { return offset() == text_.size(); }
  /// What comes next, for a message.
  std::string found();
  static std::string quoted(std::string_view text);
  /// What was read since `at`, without the spaces around it.
  std::string textFrom(Offset at) const;

  /// Letters, digits, `_` and `.`; empty: something else comes next.
  std::string_view peekWord();
  /// The word after that.
  std::string_view nextWord();
  /// The next character; 0 at the end.
  char peekSign();
  /// Reads this word or sign, if it comes next.
  bool take(std::string_view token);
  bool takeSign(std::string_view sign);
  void expect(std::string_view token);

  /// A word of letters, digits and `_`; `what` is it for a message.
  std::string word(std::string_view what);
  int64_t integer();
  double number();
  bool boolean();
  std::string string();
  std::vector<int64_t> integers(size_t most);
  /// 0x0f…, two digits a byte.
  Bytes bytes(size_t most);
  /// All up to one of these characters outside of parentheses.
  std::string_view until(std::string_view ends);

private:
  template <typename T> T parsed(const char *what);
  std::string_view wordAt(Offset at) const;
  Offset skipSpace(Offset at) const;

  std::string_view text_;
  Offset at_ = 0;
  Status error_;
};

} // namespace backplane::syntax

#endif // BACKPLANE_KERNELS_KERNELSCAN_H
