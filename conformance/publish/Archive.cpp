// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Archive.h"

#include "sdk/support/AtomicFile.h"
#include "sdk/support/FileCopy.h"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <set>
#include <unistd.h>
#include <vector>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

constexpr size_t block = 512;
constexpr uint64_t maxBytes = uint64_t(2) << 30;
constexpr size_t maxFiles = 10'000;

/// POSIX ustar.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8],
      type, link[100], magic[6], version[2], user[32], group[32], major[8],
      minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == block);

unsigned checksumOf(const Header &header) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&header);
  unsigned sum = 0;
  for (size_t i = 0; i < block; ++i) {
    bool own = i >= offsetof(Header, checksum) && i < offsetof(Header, type);
    sum += own ? ' ' : bytes[i];
  }
  return sum;
}

Header headerOf(const std::string &name, uint64_t size) {
  Header header = {};
  std::memcpy(header.name, name.data(), name.size());
  std::snprintf(header.mode, sizeof header.mode, "%07o", 0644);
  std::snprintf(header.uid, sizeof header.uid, "%07o", 0);
  std::snprintf(header.gid, sizeof header.gid, "%07o", 0);
  std::snprintf(header.size, sizeof header.size, "%011llo",
                static_cast<unsigned long long>(size));
  std::snprintf(header.mtime, sizeof header.mtime, "%011o", 0);
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  std::snprintf(header.checksum, sizeof header.checksum, "%06o",
                checksumOf(header));
  return header;
}

/// An octal number of a header; none when it is not one.
template <size_t N> std::optional<uint64_t> octal(const char (&field)[N]) {
  uint64_t value = 0;
  size_t at = 0;
  while (at < N && field[at] == ' ')
    ++at;
  for (; at < N && field[at] && field[at] != ' '; ++at) {
    if (field[at] < '0' || field[at] > '7')
      return std::nullopt;
    value = value * 8 + uint64_t(field[at] - '0');
  }
  return value;
}

/// Whether a name stays below the folder that it is unpacked into, means one
/// file only in one spelling, and can be printed.
bool isSafe(const std::string &name) {
  bool prints = std::ranges::all_of(
      name, [](char c) { return c > ' ' && c < 0x7F && c != '\\'; });
  fs::path path(name);
  return prints && !name.empty() && path.is_relative() && path.has_filename() &&
         path.lexically_normal().string() == name && *path.begin() != "..";
}

/// A regular file that is read from its begin to its end.
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
  uint64_t size() const { return size_; }
  /// As many bytes as there are, up to `size`.
  size_t read(char *data, size_t size) {
    size_t done = 0;
    while (done < size) {
      ssize_t more = ::read(fd_, data + done, size - done);
      if (more < 0 && errno == EINTR)
        continue;
      if (more <= 0)
        break;
      done += size_t(more);
    }
    return done;
  }
  void rewind() { (void)lseek(fd_, 0, SEEK_SET); }

private:
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// Bytes out of a file, decompressed when they are zstd.
class Source {
public:
  Status open(const std::string &path) {
    if (Status s = file_.open(path); !s.ok())
      return s;
    char magic[4] = {};
    bool packed = file_.read(magic, 4) == 4 &&
                  std::memcmp(magic, "\x28\xB5\x2F\xFD", 4) == 0;
    file_.rewind();
    if (packed)
      stream_.reset(ZSTD_createDStream());
    return {};
  }
  /// Exactly `size` bytes.
  Status read(void *data, size_t size) {
    auto *out = static_cast<char *>(data);
    if (!stream_) {
      ended_ = file_.read(out, size) != size;
      return ended_ ? dataLoss("the archive ends too early") : Status();
    }
    ZSTD_outBuffer target = {out, size, 0};
    while (target.pos < size) {
      ended_ = input_.pos == input_.size && !refill();
      if (ended_)
        return dataLoss("the archive ends too early");
      size_t code = ZSTD_decompressStream(stream_.get(), &target, &input_);
      if (ZSTD_isError(code))
        return dataLoss(std::string("the archive is damaged: ") +
                        ZSTD_getErrorName(code));
    }
    return {};
  }

  /// Whether nothing but zeros is left, and little of that.
  Status finish() {
    constexpr int maxBlocks = 2048;
    char rest[block] = {};
    for (int i = 0; i < maxBlocks; ++i) {
      bool first = read(rest, 1).ok();
      if (!first && ended_)
        return {};
      if (!first || !read(rest + 1, block - 1).ok() ||
          std::ranges::any_of(rest, [](char c) { return c != 0; }))
        break;
    }
    return dataLoss("the archive goes on after its end");
  }

private:
  struct Free {
    void operator()(ZSTD_DStream *stream) const { ZSTD_freeDStream(stream); }
  };
  bool refill() {
    input_ = {buffer_.data(), file_.read(buffer_.data(), buffer_.size()), 0};
    return input_.size > 0;
  }

  Input file_;
  bool ended_ = false; ///< the last read met the end
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
};

/// Bytes into a file, compressed on request.
class Sink {
public:
  Sink(AtomicFile &file, bool pack) : file_(file) {
    if (pack)
      stream_.reset(ZSTD_createCStream());
    if (stream_)
      ZSTD_initCStream(stream_.get(), 9);
  }
  Status write(const void *data, size_t size) {
    if (!stream_)
      return file_.write(data, size);
    ZSTD_inBuffer input = {data, size, 0};
    while (input.pos < input.size)
      if (Status s = step(input, ZSTD_e_continue).second; !s.ok())
        return s;
    return {};
  }
  Status finish() {
    ZSTD_inBuffer none = {nullptr, 0, 0};
    while (stream_) {
      auto [left, status] = step(none, ZSTD_e_end);
      if (!status.ok() || left == 0)
        return status;
    }
    return {};
  }

private:
  struct Free {
    void operator()(ZSTD_CStream *stream) const { ZSTD_freeCStream(stream); }
  };
  std::pair<size_t, Status> step(ZSTD_inBuffer &input, ZSTD_EndDirective end) {
    ZSTD_outBuffer output = {buffer_.data(), buffer_.size(), 0};
    size_t left = ZSTD_compressStream2(stream_.get(), &output, &input, end);
    if (ZSTD_isError(left))
      return {0, internalError(ZSTD_getErrorName(left))};
    return {left, file_.write(buffer_.data(), output.pos)};
  }

  AtomicFile &file_;
  std::unique_ptr<ZSTD_CStream, Free> stream_;
  std::vector<char> buffer_ = std::vector<char>(1 << 16);
};

Status packFile(const fs::path &path, const std::string &name, Sink &sink) {
  if (name.size() >= sizeof Header::name)
    return invalidArgument("the name '" + name +
                           "' is too long for an "
                           "archive");
  Input file;
  if (Status s = file.open(path.string(), O_NOFOLLOW); !s.ok())
    return s;
  uint64_t size = file.size();
  Header header = headerOf(name, size);
  if (Status s = sink.write(&header, block); !s.ok())
    return s;
  std::vector<char> part(1 << 16);
  for (uint64_t left = size; left;) {
    size_t want = size_t(std::min<uint64_t>(left, part.size()));
    if (file.read(part.data(), want) != want)
      return dataLoss("cannot read all of '" + path.string() + "'");
    if (Status s = sink.write(part.data(), want); !s.ok())
      return s;
    left -= want;
  }
  const char zeros[block] = {};
  return sink.write(zeros, (block - size % block) % block);
}

Status unpackFile(Source &source, const fs::path &path, uint64_t size) {
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  auto file = AtomicFile::create(path.string());
  if (!file)
    return file.status();
  std::vector<char> part(1 << 16);
  for (uint64_t left = size; left;) {
    size_t want = size_t(std::min<uint64_t>(left, part.size()));
    if (Status s = source.read(part.data(), want); !s.ok())
      return s;
    if (Status s = file->write(part.data(), want); !s.ok())
      return s;
    left -= want;
  }
  char padding[block];
  if (Status s = source.read(padding, (block - size % block) % block); !s.ok())
    return s;
  return file->commit();
}

/// The name of an entry, or why it is refused.
Result<std::string> nameOf(const Header &header) {
  auto checksum = octal(header.checksum);
  if (std::memcmp(header.magic, "ustar", 5) != 0 || !checksum ||
      *checksum != checksumOf(header))
    return dataLoss("not a ustar archive, or a damaged one");
  std::string name(header.name, strnlen(header.name, sizeof header.name));
  std::string prefix(header.prefix,
                     strnlen(header.prefix, sizeof header.prefix));
  if (!prefix.empty())
    name = prefix + "/" + name;
  if (name.starts_with("./"))
    name.erase(0, 2);
  return name;
}

/// Unpacks one entry; false at the end of the archive.
Result<bool> unpackNext(Source &source, const fs::path &folder,
                        std::set<std::string> &names, uint64_t &total) {
  Header header;
  if (Status s = source.read(&header, block); !s.ok())
    return s;
  if (header.name[0] == 0)
    return false;
  auto name = nameOf(header);
  if (!name)
    return name.status();
  bool isFolder = header.type == '5';
  auto size = octal(header.size);
  if (isFolder && size == uint64_t(0))
    return true;
  if ((header.type != '0' && header.type != 0) || !size)
    return dataLoss("the archive holds something that is neither a file nor "
                    "a folder");
  if (!isSafe(*name))
    return dataLoss("the archive holds a file outside its folder, or with a "
                    "name that is not plain");
  if (!names.insert(*name).second)
    return dataLoss("the archive holds '" + *name + "' twice");
  if (*size > maxBytes - total || names.size() > maxFiles)
    return dataLoss("the archive is larger than a submission may be");
  total += *size;
  if (Status s = unpackFile(source, folder / *name, *size); !s.ok())
    return s;
  return true;
}

} // namespace

Status conformance::packArchive(const std::string &folder,
                                const std::string &path) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end;
       !code && at != end; at.increment(code))
    if (at->is_symlink(code) || !at->is_directory(code))
      names.push_back(at->path().lexically_relative(folder).generic_string());
  if (code)
    return notFound("cannot list '" + folder + "': " + code.message());
  std::ranges::sort(names);
  auto file = AtomicFile::create(path);
  if (!file)
    return file.status();
  Sink sink(*file, path.ends_with(".zst"));
  for (const std::string &name : names)
    if (Status s = packFile(fs::path(folder) / name, name, sink); !s.ok())
      return s;
  const char zeros[2 * block] = {};
  if (Status s = sink.write(zeros, sizeof zeros); !s.ok())
    return s;
  if (Status s = sink.finish(); !s.ok())
    return s;
  return file->commit();
}

Status conformance::unpackArchive(const std::string &path,
                                  const std::string &folder) {
  std::error_code code;
  if (!fs::is_empty(folder, code) || code)
    return invalidArgument("'" + folder + "' is no empty folder");
  Source source;
  if (Status s = source.open(path); !s.ok())
    return s;
  std::set<std::string> names;
  uint64_t total = 0;
  while (true) {
    auto more = unpackNext(source, folder, names, total);
    if (!more)
      return more.status().within("'" + path + "'");
    if (!*more)
      return source.finish().within("'" + path + "'");
  }
}
