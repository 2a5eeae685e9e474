// SPDX-License-Identifier: Apache-2.0
//
// Child.h: work in a process of its own, so that what crashes, exits or hangs
// there is something to tell and not the end.
#ifndef BACKPLANE_CONFORMANCE_LINT_CHILD_H
#define BACKPLANE_CONFORMANCE_LINT_CHILD_H

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace backplane::lint {

/// In the child: tells the parent one thing, a word and a text. Thread-safe.
class Teller {
public:
  explicit Teller(int fd) : fd_(fd) {}
  void tell(std::string_view word, std::string_view text) const;

private:
  int fd_;
};

using Hear =
    std::function<void(std::string_view word, const std::string &text)>;

/// Calls `work` in a fork of this process, which has one thread, and hands on
/// what it tells. Gives how the child ended before `work` returned: "the
/// plug-in ended its process with signal 11 (Segmentation fault)", or that it
/// told nothing for as long as `timeout`; empty when it returned. What the
/// child writes to its standard streams is lost.
std::string inChild(const std::function<void(const Teller &)> &work,
                    const Hear &hear, std::chrono::milliseconds timeout);

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_CHILD_H
