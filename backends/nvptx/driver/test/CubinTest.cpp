// SPDX-License-Identifier: Apache-2.0
#include "../Cubin.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using backplane::cuda::Entries;
using backplane::cuda::readCubin;

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
  std::string reason() const { return reasonOf(bytes()); }

  static std::string reasonOf(const std::string &bytes) {
    std::string why;
    Entries entries;
    bool isWhole = readCubin(bytes, entries, &why);
    EXPECT_EQ(isWhole, why.empty());
    return why;
  }
};

/// A file whose second section holds names and whose others are `sections`.
std::string
imageOf(const std::vector<std::pair<std::string, std::string>> &all) {
  std::string names(1, '\0'), contents;
  std::vector<Elf64_Shdr> rows(2);
  const uint64_t start =
      sizeof(Elf64_Ehdr) + (all.size() + 2) * sizeof(Elf64_Shdr);
  for (const auto &[name, bytes] : all) {
    Elf64_Shdr row = {};
    row.sh_name = uint32_t(names.size());
    row.sh_type = 0x70000000;
    row.sh_offset = start + contents.size();
    row.sh_size = bytes.size();
    rows.push_back(row);
    names += name + '\0';
    contents += bytes;
  }
  rows[1].sh_offset = start + contents.size();
  rows[1].sh_size = names.size();
  Elf64_Ehdr header = Image().header;
  header.e_phnum = 0;
  header.e_shnum = uint16_t(rows.size());
  header.e_shstrndx = 1;
  std::string image(reinterpret_cast<const char *>(&header), sizeof(header));
  image.append(reinterpret_cast<const char *>(rows.data()),
               rows.size() * sizeof(Elf64_Shdr));
  return image + contents + names;
}

/// Bytes of hexadecimal digits.
std::string hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += char(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

Entries entriesOf(const std::string &image) {
  Entries entries;
  std::string why;
  EXPECT_TRUE(readCubin(image, entries, &why)) << why;
  return entries;
}

TEST(Cubin, IsTakenWhole) {
  EXPECT_EQ(Image().reason(), "");
  std::string all = Image().bytes();
  for (size_t size = 0; size < all.size(); ++size)
    EXPECT_NE(Image::reasonOf(all.substr(0, size)), "") << size;
}

TEST(Cubin, IsNoOtherFile) {
  Image other;
  other.header.e_machine = EM_X86_64;
  EXPECT_EQ(other.reason(), "damaged blob: it is no cubin");
  EXPECT_NE(Image::reasonOf(".version 7.8"), "");
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

/// As ptxas 13.0 writes them, for sm_80 and, of long parameters, for sm_90.
TEST(Cubin, ReadsParameters) {
  const std::string add = hex("0135000004370400870000000319a000"
                              "04170c00000000000400200000f00102"
                              "04170c00000000000300180000f02100"
                              "04170c00000000000200100000f01100"
                              "04170c00000000000100080000f02100"
                              "04170c00000000000000000004f42100");
  const std::string wide = hex("04450c000000000001008000204e0000"
                               "04450c00000000000000000080000000");
  Entries entries = entriesOf(imageOf({{".nv.info", add},
                                       {".nv.info.add", add},
                                       {".nv.info.wide", wide},
                                       {".nv.info.none", ""},
                                       {".text.add", "x"}}));
  EXPECT_EQ(entries, (Entries{{"add", {8, 8, 4, 8, 128}},
                              {"wide", {128, 20000}},
                              {"none", {}}}));
}

TEST(Cubin, HasNoDamagedParameters) {
  const std::string first = hex("04170c00000000000000000000f02100"),
                    third = hex("04170c00000000000200100000f02100");
  for (const std::string &info : {first + third, first.substr(0, 12)})
    EXPECT_EQ(Image::reasonOf(imageOf({{".nv.info.f", info}})),
              "damaged blob: the parameters of \"f\"");
  EXPECT_NE(
      Image::reasonOf(imageOf({{".nv.info.f", first}, {".nv.info.f", first}})),
      "");
}

#ifdef BP_PTXAS
/// What the assembler of this machine makes.
TEST(Cubin, IsReadForEachGpu) {
  const std::string place = std::filesystem::temp_directory_path().string() +
                            "/bp-cubin-" + std::to_string(getpid());
  const std::string source = place + ".ptx", out = place + ".cubin";
  for (const char *target : {"sm_80", "sm_90a", "sm_100", "sm_120"}) {
    std::ofstream(source)
        << ".version 9.0\n.target " << target
        << "\n.address_size 64\n.visible .entry f(.param .u64 a, "
           ".param .u32 b, .param .align 64 .b8 c[128]) { ret; }\n"
           ".visible .entry g { ret; }\n";
    const std::string command = std::string(BP_PTXAS) + " -arch=" + target +
                                " " + source + " -o " + out;
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::ifstream file(out, std::ios::binary);
    EXPECT_EQ(entriesOf({std::istreambuf_iterator<char>(file), {}}),
              (Entries{{"f", {8, 4, 128}}, {"g", {}}}))
        << target;
  }
  unlink(source.c_str());
  unlink(out.c_str());
}
#endif

} // namespace
