// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Archive.h"

#include "sdk/support/AtomicFile.h"
#include "sdk/support/FileCopy.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t block = 512;
constexpr uint64_t maxPadding = 2048 * block;
constexpr size_t maxFiles = 10'000;

struct FreeReader {
  void operator()(archive *reader) const { archive_read_free(reader); }
};
struct FreeWriter {
  void operator()(archive *writer) const { archive_write_free(writer); }
};
struct FreeEntry {
  void operator()(archive_entry *entry) const { archive_entry_free(entry); }
};
using Reader = std::unique_ptr<archive, FreeReader>;
using Writer = std::unique_ptr<archive, FreeWriter>;
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

/// Whether a name stays below the folder that it is unpacked into, means one
/// file only in one spelling, and can be printed.
bool isSafe(const std::string &name) {
  bool prints = std::ranges::all_of(
      name, [](char c) { return c > ' ' && c < 0x7F && c != '\\'; });
  fs::path path(name);
  return prints && !name.empty() && path.is_relative() && path.has_filename() &&
         path.lexically_normal().string() == name && *path.begin() != "..";
}

/// An open regular file.
class Input {
public:
  Input() = default;
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;
  ~Input() {
    if (fd_ >= 0)
      close(fd_);
  }
  /// Links are followed unless `flags` say otherwise.
  Status open(const std::string &path, int flags = 0) {
    // A pipe must not be waited for.
    fd_ = ::open(path.c_str(),
                 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    if (fd_ < 0)
      return notFound("cannot read '" + path + "': " + std::strerror(errno));
    auto size = regularFileSize(fd_);
    if (!size)
      return Status(size.code(), "'" + path + "' " + size.message());
    size_ = *size;
    return {};
  }
  int fd() const { return fd_; }
  uint64_t size() const { return size_; }

private:
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// The bytes of a file, decompressed when they are zstd, piece by piece.
class Bytes {
public:
  Status open(const std::string &path) {
    if (Status s = file_.open(path); !s.ok())
      return s;
    archive_entry *entry = nullptr;
    archive_read_support_filter_zstd(reader_.get());
    archive_read_support_format_raw(reader_.get());
    archive_read_support_format_empty(reader_.get());
    archive_read_open_fd(reader_.get(), file_.fd(), 1 << 16);
    archive_read_next_header(reader_.get(), &entry);
    return {};
  }
  /// Moves to the next piece, of whole blocks but for the last ones: a part of
  /// one, then an empty one.
  Status next() {
    la_ssize_t size =
        archive_read_data(reader_.get(), piece_.data(), piece_.size());
    ended_ = size == 0;
    size_ = size < 0 ? 0 : size_t(size);
    given_ += size_;
    if (size >= 0)
      return {};
    const char *why = archive_error_string(reader_.get());
    return dataLoss(std::string("the archive is damaged: ") +
                    (why ? why : "it cannot be read"));
  }
  std::span<const char> piece() const { return {piece_.data(), size_}; }
  uint64_t given() const { return given_; }
  bool ended() const { return ended_; }

private:
  Input file_;
  Reader reader_{archive_read_new()};
  std::vector<char> piece_ = std::vector<char>(128 * block);
  size_t size_ = 0;
  uint64_t given_ = 0; ///< bytes of all pieces so far
  bool ended_ = false;
};

la_ssize_t readPiece(archive *, void *context, const void **data);

/// A tar file whose every entry is one header of ustar and its bytes: what
/// other kinds of tar put between them is refused.
class TarReader {
public:
  Status open(const std::string &path) {
    if (Status s = bytes_.open(path); !s.ok())
      return s;
    archive_read_support_format_tar(reader_.get());
    if (archive_read_open(reader_.get(), this, nullptr, readPiece, nullptr) !=
        ARCHIVE_OK)
      return failure();
    return {};
  }
  /// The next entry, or null at the end.
  Result<archive_entry *> next() {
    archive_entry *entry = nullptr;
    int code = archive_read_next_header(reader_.get(), &entry);
    if (code == ARCHIVE_EOF)
      return entry = nullptr;
    if (code != ARCHIVE_OK || !archive_entry_pathname(entry))
      return failure();
    int64_t size = archive_entry_size(entry);
    if (position() != end_ + block || size < 0)
      return dataLoss("the archive holds something that is neither a file nor "
                      "a folder");
    end_ = position() + (uint64_t(size) + block - 1) / block * block;
    return entry;
  }
  /// As many bytes of the entry as there are, up to `size`.
  Result<size_t> read(char *data, size_t size) {
    la_ssize_t done = archive_read_data(reader_.get(), data, size);
    if (done < 0)
      return failure();
    return size_t(done);
  }
  /// Whether nothing but zeros is left behind the last entry, and little of
  /// that.
  Status finish();

private:
  friend la_ssize_t readPiece(archive *, void *context, const void **data);
  uint64_t position() const {
    return uint64_t(archive_filter_bytes(reader_.get(), 0));
  }
  Status failure() const {
    if (!failed_.ok())
      return failed_;
    return dataLoss(bytes_.ended() ? "the archive ends too early"
                                   : "not a ustar archive, or a damaged one");
  }

  Bytes bytes_;
  Status failed_; ///< what the pieces failed with
  Reader reader_{archive_read_new()};
  uint64_t end_ = 0; ///< where the next header is
};

la_ssize_t readPiece(archive *, void *context, const void **data) {
  auto &tar = *static_cast<TarReader *>(context);
  tar.failed_ = tar.bytes_.next();
  *data = tar.bytes_.piece().data();
  return tar.failed_.ok() ? la_ssize_t(tar.bytes_.piece().size()) : -1;
}

Status TarReader::finish() {
  if (position() < end_ + block)
    return dataLoss("the archive ends too early");
  uint64_t rest = bytes_.given() - position();
  // With half a block in front of the end the reader has asked for more.
  bool zeros = rest <= bytes_.piece().size();
  for (std::span<const char> piece = bytes_.piece().last(zeros ? rest : 0);
       zeros; piece = bytes_.piece()) {
    zeros = bytes_.given() - end_ <= maxPadding &&
            std::ranges::all_of(piece, [](char c) { return c == 0; });
    if (zeros && bytes_.ended())
      return {};
    if (Status s = zeros ? bytes_.next() : Status(); !s.ok())
      return s;
  }
  return dataLoss("the archive goes on after its end");
}

Status unpackFile(TarReader &tar, const fs::path &path, uint64_t size) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  auto file = AtomicFile::create(path.string());
  if (!file)
    return file.status();
  std::vector<char> part(1 << 16);
  for (uint64_t left = size; left;) {
    auto done = tar.read(part.data(), part.size());
    if (!done || !*done)
      return done ? dataLoss("the archive ends too early") : done.status();
    if (Status s = file->write(part.data(), *done); !s.ok())
      return s;
    left -= std::min<uint64_t>(left, *done);
  }
  return file->commit();
}

/// Unpacks one entry.
Status unpackEntry(TarReader &tar, archive_entry *entry, const fs::path &folder,
                   std::set<std::string> &names, uint64_t &total) {
  std::string name = archive_entry_pathname(entry);
  uint64_t size = uint64_t(archive_entry_size(entry));
  if (name.starts_with("./"))
    name.erase(0, 2);
  if (archive_entry_filetype(entry) == AE_IFDIR && size == 0)
    return {};
  if (!isSafe(name))
    return dataLoss("the archive holds a file outside its folder, or with a "
                    "name that is not plain");
  if (archive_entry_filetype(entry) != AE_IFREG ||
      archive_entry_hardlink(entry))
    return dataLoss("the archive holds something that is neither a file nor "
                    "a folder");
  if (!names.insert(name).second)
    return dataLoss("the archive holds '" + name + "' twice");
  if (size > conformance::maxArchiveBytes - total || names.size() > maxFiles)
    return dataLoss("the archive is larger than a submission may be");
  total += size;
  return unpackFile(tar, folder / name, size);
}

/// Bytes of an archive into a file; the first failure is kept.
struct Output {
  AtomicFile &file;
  Status status;
};

la_ssize_t writePiece(archive *, void *context, const void *data, size_t size) {
  auto &output = *static_cast<Output *>(context);
  output.status = output.file.write(data, size);
  return output.status.ok() ? la_ssize_t(size) : -1;
}

/// What went wrong with the archive of `output`.
Status failure(archive *writer, const Output &output) {
  const char *why = archive_error_string(writer);
  return output.status.ok() ? internalError(why ? why : "no archive")
                            : output.status;
}

Status openWriter(archive *writer, Output &output, bool pack) {
  int code = archive_write_set_format_ustar(writer);
  // The last block is no larger than what is in it.
  archive_write_set_bytes_in_last_block(writer, 1);
  if (pack && code == ARCHIVE_OK) {
    archive_write_add_filter_zstd(writer);
    code = archive_write_set_filter_option(writer, "zstd", "compression-level",
                                           "9");
  }
  if (code == ARCHIVE_OK)
    code = archive_write_open(writer, &output, nullptr, writePiece, nullptr);
  return code == ARCHIVE_OK ? Status() : failure(writer, output);
}

Status packFile(const fs::path &path, const std::string &name, archive *writer,
                const Output &output) {
  Input file;
  if (Status s = file.open(path.string(), O_NOFOLLOW); !s.ok())
    return s;
  Entry entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), int64_t(file.size()));
  int code = archive_write_header(writer, entry.get());
  if (code == ARCHIVE_FAILED)
    return invalidArgument("the name '" + name +
                           "' is too long for an archive");
  std::vector<char> part(1 << 16);
  for (uint64_t left = file.size(); left && code == ARCHIVE_OK;) {
    size_t want = size_t(std::min<uint64_t>(left, part.size()));
    ssize_t done = read(file.fd(), part.data(), want);
    if (done <= 0)
      return dataLoss("cannot read all of '" + path.string() + "'");
    if (archive_write_data(writer, part.data(), size_t(done)) != done)
      return failure(writer, output);
    left -= uint64_t(done);
  }
  return code == ARCHIVE_OK ? Status() : failure(writer, output);
}

/// The names of all files below a folder, sorted.
Result<std::vector<std::string>> filesOf(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end;
       !code && at != end; at.increment(code))
    if (at->is_symlink(code) || !at->is_directory(code))
      names.push_back(at->path().lexically_relative(folder).generic_string());
  if (code)
    return notFound("cannot list '" + folder + "': " + code.message());
  std::ranges::sort(names);
  return names;
}

} // namespace

Status conformance::packArchive(const std::string &folder,
                                const std::string &path) {
  auto names = filesOf(folder);
  if (!names)
    return names.status();
  auto file = AtomicFile::create(path);
  if (!file)
    return file.status();
  Output output{*file, {}};
  Writer writer(archive_write_new());
  if (Status s = openWriter(writer.get(), output, path.ends_with(".zst"));
      !s.ok())
    return s;
  for (const std::string &name : *names)
    if (Status s =
            packFile(fs::path(folder) / name, name, writer.get(), output);
        !s.ok())
      return s;
  if (archive_write_close(writer.get()) != ARCHIVE_OK)
    return failure(writer.get(), output);
  return file->commit();
}

Status conformance::unpackArchive(const std::string &path,
                                  const std::string &folder) {
  std::error_code code;
  if (!fs::is_empty(folder, code) || code)
    return invalidArgument("'" + folder + "' is no empty folder");
  TarReader tar;
  std::set<std::string> names;
  uint64_t total = 0;
  if (Status s = tar.open(path); !s.ok())
    return s;
  while (true) {
    auto entry = tar.next();
    Status status = !entry   ? entry.status()
                    : *entry ? unpackEntry(tar, *entry, folder, names, total)
                             : tar.finish();
    if (!status.ok() || !*entry)
      return status.within("'" + path + "'");
  }
}
