// SPDX-License-Identifier: Apache-2.0
//
// RecordLog.h: records.jsonl, written so that a run that was killed at any
// moment can be taken up again.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_RECORDLOG_H
#define BACKPLANE_CONFORMANCE_RUNNER_RECORDLOG_H

#include "conformance/report/Record.h"

#include <map>
#include <mutex>

namespace backplane::conformance {

/// Thread-safe.
class RecordLog {
public:
  /// Opens or makes the file. With `resume` the whole lines that it holds are
  /// kept and a cut last line is dropped; else it starts empty.
  static Result<std::unique_ptr<RecordLog>> open(const std::string &path,
                                                 bool resume);
  ~RecordLog();
  RecordLog(const RecordLog &) = delete;
  RecordLog &operator=(const RecordLog &) = delete;

  bool has(const std::string &id) const;
  /// Appends whole lines and waits until they are on the disk. A record with a
  /// known id is left out.
  Status append(const std::vector<Record> &records);
  /// Writes the file anew, with the records of these ids in this order, in one
  /// step; fails when one is missing.
  Status finish(const std::vector<std::string> &order);
  /// By id.
  const std::map<std::string, Record> &all() const { return records_; }

private:
  explicit RecordLog(std::string path) : path_(std::move(path)) {}
  Status readBack();

  std::string path_;
  int fd_ = -1;
  mutable std::mutex mutex_;
  std::map<std::string, Record> records_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_RECORDLOG_H
