// SPDX-License-Identifier: Apache-2.0
#include "RecordLog.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TextViews.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>

namespace backplane::conformance {
namespace {

Status systemFailure(const std::string &path) {
  return Status(BP_STATUS_UNAVAILABLE, path + ": " + strerror(errno));
}

Status writeAll(int fd, std::string_view text, const std::string &path) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemFailure(path);
    text.remove_prefix(size_t(written));
  }
  return {};
}

} // namespace

Result<std::unique_ptr<RecordLog>> RecordLog::open(const std::string &path,
                                                   bool resume) {
  std::unique_ptr<RecordLog> log(new RecordLog(path));
  if (Status s = checkOutput(path); !s.ok())
    return s;
  log->fd_ = ::open(path.c_str(),
                    O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (log->fd_ < 0)
    return systemFailure(path);
  // Closing the file, also by a kill, gives the lock back.
  if (flock(log->fd_, LOCK_EX | LOCK_NB) != 0)
    return Status(BP_STATUS_UNAVAILABLE,
                  path + ": another run writes it; wait or give another --out");
  if (resume) {
    if (Status s = log->readBack(); !s.ok())
      return s;
  } else if (ftruncate(log->fd_, 0) != 0) {
    return systemFailure(path);
  }
  return log;
}

RecordLog::~RecordLog() {
  if (fd_ >= 0)
    close(fd_);
}

Status RecordLog::readBack() {
  std::ifstream in(path_, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  size_t whole = text.rfind('\n') + 1; // npos + 1 is 0
  for (size_t at = 0, line = 1; at < whole; ++line) {
    size_t end = text.find('\n', at);
    Result<Record> record =
        parseRecord(std::string_view(text).substr(at, end - at));
    if (!record)
      return record.status().within(path_ + ":" + std::to_string(line));
    std::string id = record->id;
    records_.emplace(std::move(id), std::move(*record));
    at = end + 1;
  }
  return ftruncate(fd_, off_t(whole)) == 0 ? Status() : systemFailure(path_);
}

bool RecordLog::has(const std::string &id) const {
  std::lock_guard lock(mutex_);
  return records_.contains(id);
}

Status RecordLog::append(const std::vector<Record> &records) {
  std::lock_guard lock(mutex_);
  std::string lines;
  for (const Record &record : records)
    if (records_.emplace(record.id, record).second)
      lines += toJson(record) + "\n";
  off_t before = lseek(fd_, 0, SEEK_END);
  if (Status s = writeAll(fd_, lines, path_); !s.ok()) {
    // A full disk leaves whole lines only; if not even that works, the next
    // run drops the cut one.
    [[maybe_unused]] int cut = ftruncate(fd_, before);
    return s;
  }
  return fsync(fd_) == 0 ? Status() : systemFailure(path_);
}

Status RecordLog::finish(const std::vector<std::string> &order) {
  std::lock_guard lock(mutex_);
  std::string lines;
  for (const std::string &id : order) {
    auto record = records_.find(id);
    if (record == records_.end())
      return notFound(path_ + ": has no record of " + id);
    lines += toJson(record->second) + "\n";
  }
  return writeFileAtomically(path_, asBytes(lines));
}

} // namespace backplane::conformance
