// SPDX-License-Identifier: Apache-2.0
//
// Elf.h: loading the ELF shared objects that CPU executables are. Kernels need
// no other library, so a loader of our own maps them: it checks every offset
// that it follows, runs no code of the image, and leaves no page both writable
// and executable.
#ifndef BACKPLANE_HOST_ELF_H
#define BACKPLANE_HOST_ELF_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace backplane::host {

/// A mapped image; unmapped on destruction.
class Image {
public:
  /// Maps a copy of the blob. Null, with the reason in `*reason`, when it is
  /// damaged, for another machine, or needs anything from outside.
  static std::unique_ptr<Image> map(const uint8_t *blob, uint64_t size,
                                    std::string *reason);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  /// The address of an exported function, null when there is none.
  void *function(std::string_view name) const;

private:
  friend class Mapper;
  Image() = default;

  uint8_t *base_ = nullptr; ///< of virtual address 0
  uint64_t size_ = 0;
  uint64_t symbols_ = 0; ///< virtual addresses and sizes of the tables
  uint64_t symbolCount_ = 0;
  uint64_t strings_ = 0;
  uint64_t stringBytes_ = 0;
  uint64_t codeBegin_ = 0;
  uint64_t codeEnd_ = 0;
};

} // namespace backplane::host

#endif // BACKPLANE_HOST_ELF_H
