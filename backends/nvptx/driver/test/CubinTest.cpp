// SPDX-License-Identifier: Apache-2.0
#include "../Cubin.h"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>

using backplane::cuda::isWholeCubin;

namespace {

/// A file with one section and one segment of 8 bytes behind the tables.
struct Image {
  Elf64_Ehdr header = {};
  Elf64_Shdr section = {};
  Elf64_Phdr segment = {};

  Image() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = 190;
    header.e_shoff = sizeof(header);
    header.e_shnum = 1;
    header.e_shentsize = sizeof(section);
    header.e_phoff = sizeof(header) + sizeof(section);
    header.e_phnum = 1;
    header.e_phentsize = sizeof(segment);
    section.sh_offset = segment.p_offset =
        sizeof(header) + sizeof(section) + sizeof(segment);
    section.sh_size = segment.p_filesz = 8;
  }
  std::string bytes() const {
    std::string all;
    all.append(reinterpret_cast<const char *>(&header), sizeof(header));
    all.append(reinterpret_cast<const char *>(&section), sizeof(section));
    all.append(reinterpret_cast<const char *>(&segment), sizeof(segment));
    return all + std::string(8, 'x');
  }
  std::string reason() const {
    std::string why;
    bool isWhole = isWholeCubin(bytes(), &why);
    EXPECT_EQ(isWhole, why.empty());
    return why;
  }
};

TEST(Cubin, IsTakenWhole) {
  EXPECT_EQ(Image().reason(), "");
  std::string all = Image().bytes(), why;
  for (size_t size = 0; size < all.size(); ++size)
    EXPECT_FALSE(isWholeCubin(all.substr(0, size), &why)) << size;
}

TEST(Cubin, IsNoOtherFile) {
  Image other;
  other.header.e_machine = EM_X86_64;
  EXPECT_EQ(other.reason(), "damaged blob: it is no cubin");
  std::string why;
  EXPECT_FALSE(isWholeCubin(".version 7.8", &why));
}

TEST(Cubin, HasNothingOutside) {
  constexpr uint64_t far[] = {uint64_t(1) << 20, ~uint64_t(0),
                              ~uint64_t(0) - 8};
  for (uint64_t place : far)
    for (uint64_t Elf64_Shdr::*member :
         {&Elf64_Shdr::sh_offset, &Elf64_Shdr::sh_size}) {
      Image image;
      image.section.*member = place;
      EXPECT_EQ(image.reason(), "damaged blob: the cubin is cut off");
    }
  Image image;
  image.header.e_phoff = ~uint64_t(0) - 8;
  EXPECT_EQ(image.reason(), "damaged blob: the cubin is cut off");
  image = {};
  image.segment.p_filesz = 9;
  EXPECT_EQ(image.reason(), "damaged blob: the cubin is cut off");
  image = {};
  image.header.e_shentsize = 1;
  EXPECT_EQ(image.reason(), "damaged blob: the cubin is cut off");
}

} // namespace
