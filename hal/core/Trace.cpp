// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Trace.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <map>

#include "sdk/support/JsonString.h"

namespace backplane {
namespace {

/// Nanoseconds as the format's microseconds, without rounding.
std::string microseconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%llu.%03u",
                static_cast<unsigned long long>(ns / 1000),
                unsigned(ns % 1000));
  return text;
}

std::string nameEvent(const char *what, size_t process, size_t thread,
                      std::string_view name) {
  return "{\"ph\":\"M\",\"name\":\"" + std::string(what) +
         "\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"args\":{\"name\":" + jsonString(name) + "}}";
}

/// A number that each thread of the process has for itself.
size_t threadNumber() {
  static std::atomic<size_t> count{0};
  thread_local size_t number = ++count;
  return number;
}

} // namespace

TraceArguments &TraceArguments::add(std::string_view key,
                                    std::string_view text) {
  json_ +=
      (json_.empty() ? "" : ",") + jsonString(key) + ":" + jsonString(text);
  return *this;
}

TraceArguments &TraceArguments::add(std::string_view key, uint64_t number) {
  json_ += (json_.empty() ? "" : ",") + jsonString(key) + ":" +
           std::to_string(number);
  return *this;
}

uint64_t Trace::now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
}

Trace::Track Trace::track(std::string_view group, std::string_view name) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < tracks_.size(); ++i)
    if (tracks_[i].group == group && tracks_[i].name == name)
      return i;
  tracks_.push_back({std::string(group), std::string(name)});
  return tracks_.size() - 1;
}

Trace::Track Trace::thread() {
  return track("host", "thread " + std::to_string(threadNumber()));
}

void Trace::span(Track track, std::string_view name, std::string_view category,
                 uint64_t begin, uint64_t end,
                 const TraceArguments &arguments) {
  std::lock_guard lock(mutex_);
  spans_.push_back({track, std::string(name), std::string(category), begin,
                    std::max(begin, end), arguments.json()});
}

std::string Trace::json() const {
  std::lock_guard lock(mutex_);
  uint64_t origin = UINT64_MAX;
  for (const Span &span : spans_)
    origin = std::min(origin, span.begin);
  std::map<std::string, size_t> groups;
  std::vector<std::string> events;
  for (size_t i = 0; i < tracks_.size(); ++i) {
    auto [group, fresh] = groups.emplace(tracks_[i].group, groups.size() + 1);
    if (fresh)
      events.push_back(
          nameEvent("process_name", group->second, 0, group->first));
    events.push_back(
        nameEvent("thread_name", group->second, i + 1, tracks_[i].name));
  }
  for (const Span &span : spans_)
    events.push_back(
        "{\"ph\":\"X\",\"name\":" + jsonString(span.name) +
        ",\"cat\":" + jsonString(span.category) +
        ",\"ts\":" + microseconds(span.begin - origin) +
        ",\"dur\":" + microseconds(span.end - span.begin) +
        ",\"pid\":" + std::to_string(groups[tracks_[span.track].group]) +
        ",\"tid\":" + std::to_string(span.track + 1) + ",\"args\":{" +
        span.arguments + "}}");
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t i = 0; i < events.size(); ++i)
    text += (i ? ",\n" : "") + events[i];
  return text + "\n]}\n";
}

void TraceScope::begin(std::string_view name, std::string_view category) {
  name_ = name;
  category_ = category;
  begin_ = Trace::now();
}

void TraceScope::end() {
  uint64_t now = Trace::now();
  trace_->span(trace_->thread(), name_, category_, begin_, now, arguments_);
}

} // namespace backplane
