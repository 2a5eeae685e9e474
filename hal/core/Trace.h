// SPDX-License-Identifier: Apache-2.0
//
// Trace.h: a timeline of what the host, its queues and its devices do, as
// Chrome's trace format has it, which Perfetto reads too. While no trace is on,
// all of it costs one look at a pointer.
#ifndef BACKPLANE_CORE_TRACE_H
#define BACKPLANE_CORE_TRACE_H

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// What a span says beside its name, as the members of a JSON object.
class TraceArguments {
public:
  TraceArguments &add(std::string_view key, std::string_view text);
  TraceArguments &add(std::string_view key, uint64_t number);
  const std::string &json() const { return json_; }

private:
  std::string json_;
};

/// Thread-safe. Spans of one track nest or follow each other.
class Trace {
public:
  using Track = size_t;

  /// Nanoseconds of CLOCK_MONOTONIC.
  static uint64_t now();

  /// The track with these names, made when it is new: "host://cpu", "queue 1".
  Track track(std::string_view group, std::string_view name);
  /// The track of the thread that asks.
  Track thread();
  void span(Track track, std::string_view name, std::string_view category,
            uint64_t begin, uint64_t end, const TraceArguments &arguments = {});
  /// Everything so far, as a JSON object with the list "traceEvents".
  std::string json() const;

private:
  struct Span {
    Track track;
    std::string name, category;
    uint64_t begin, end;
    std::string arguments;
  };
  struct Name {
    std::string group, name;
  };
  mutable std::mutex mutex_; ///< guards the rest
  std::vector<Name> tracks_;
  std::deque<Span> spans_;
};

/// A span of the asking thread that lasts as long as this object. Without a
/// trace it does nothing.
class TraceScope {
public:
  TraceScope(Trace *trace, std::string_view name,
             std::string_view category = "host")
      : trace_(trace) {
    if (trace_)
      begin(name, category);
  }
  ~TraceScope() {
    if (trace_)
      end();
  }
  TraceScope(const TraceScope &) = delete;
  TraceScope &operator=(const TraceScope &) = delete;

  template <typename Value> void add(std::string_view key, Value value) {
    if (trace_)
      arguments_.add(key, value);
  }

private:
  void begin(std::string_view name, std::string_view category);
  void end();

  Trace *trace_;
  uint64_t begin_ = 0;
  std::string name_, category_;
  TraceArguments arguments_;
};

/// What a trace says about the dispatches of recorded commands, by their op
/// number less 1.
struct CommandNote {
  std::string name;   ///< "matmul_3"
  std::string kernel; ///< the entry that it runs
  std::string ops;    ///< the model's ops inside, each once
  std::optional<uint64_t> flops;
};
using CommandNotes = std::vector<CommandNote>;

} // namespace backplane

#endif // BACKPLANE_CORE_TRACE_H
