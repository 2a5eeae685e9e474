// SPDX-License-Identifier: Apache-2.0
#include "Elf.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace backplane::host {

namespace {

#if defined(__x86_64__)
constexpr uint16_t machine = EM_X86_64;
constexpr uint32_t relocateBase = R_X86_64_RELATIVE;
constexpr uint32_t relocateSymbol[] = {R_X86_64_64, R_X86_64_GLOB_DAT,
                                       R_X86_64_JUMP_SLOT};
#elif defined(__aarch64__)
constexpr uint16_t machine = EM_AARCH64;
constexpr uint32_t relocateBase = R_AARCH64_RELATIVE;
constexpr uint32_t relocateSymbol[] = {R_AARCH64_ABS64, R_AARCH64_GLOB_DAT,
                                       R_AARCH64_JUMP_SLOT};
#else
#error "no ELF loader for this architecture"
#endif

/// Larger images than this are refused before memory is asked for.
constexpr uint64_t maxImageBytes = uint64_t(1) << 30;
constexpr uint16_t maxSegments = 64;

bool inside(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

} // namespace

/// Builds an Image step by step; the first complaint ends it.
class Mapper {
public:
  Mapper(const uint8_t *blob, uint64_t size, std::string &reason)
      : blob_(blob), blobSize_(size), reason_(reason) {}

  std::unique_ptr<Image> map();

private:
  bool refuse(std::string_view reason) {
    reason_ = reason;
    return false;
  }
  bool readHeader();
  bool readSegments();
  bool checkSegment(const Elf64_Phdr &segment);
  bool reserve();
  bool copySegments();
  bool readDynamic();
  bool take(const Elf64_Dyn &entry);
  bool checkTables();
  bool countSymbols();
  bool checkSymbols();
  bool relocate(uint64_t table, uint64_t bytes);
  bool relocateOne(const Elf64_Rela &entry);
  bool protect();

  /// Reads from the image, whose range has been checked.
  template <typename T> T at(uint64_t address) const {
    T value;
    std::memcpy(&value, image_->base_ + address, sizeof(T));
    return value;
  }
  bool mapped(uint64_t address, uint64_t size) const {
    return inside(address, size, image_->size_);
  }

  const uint8_t *blob_;
  uint64_t blobSize_;
  std::string &reason_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> loads_;
  Elf64_Phdr dynamic_ = {};
  std::unique_ptr<Image> image_;
  uint64_t hash_ = 0, gnuHash_ = 0;
  uint64_t rela_ = 0, relaBytes_ = 0, plt_ = 0, pltBytes_ = 0;
};

bool Mapper::readHeader() {
  if (blobSize_ < sizeof(header_) || std::memcmp(blob_, ELFMAG, SELFMAG) != 0)
    return refuse("it is no ELF file");
  std::memcpy(&header_, blob_, sizeof(header_));
  if (header_.e_ident[EI_CLASS] != ELFCLASS64 ||
      header_.e_ident[EI_DATA] != ELFDATA2LSB)
    return refuse("it is not a 64-bit little-endian ELF file");
  if (header_.e_machine != machine)
    return refuse("it is for ELF machine " + std::to_string(header_.e_machine) +
                  ", this one is " + std::to_string(machine));
  if (header_.e_type != ET_DYN)
    return refuse("it is no shared object");
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      header_.e_phnum > maxSegments ||
      !inside(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), blobSize_))
    return refuse("its program headers are damaged");
  return true;
}

bool Mapper::checkSegment(const Elf64_Phdr &segment) {
  if (!inside(segment.p_offset, segment.p_filesz, blobSize_) ||
      segment.p_filesz > segment.p_memsz ||
      !inside(segment.p_vaddr, segment.p_memsz, maxImageBytes))
    return refuse("a segment lies outside of the file");
  if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
    return refuse("a segment is both writable and executable");
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  if (segment.p_vaddr % page != segment.p_offset % page)
    return refuse("a segment is not aligned to pages");
  if (!loads_.empty()) {
    const Elf64_Phdr &last = loads_.back();
    uint64_t end = (last.p_vaddr + last.p_memsz + page - 1) / page * page;
    if (segment.p_vaddr / page * page < end)
      return refuse("its segments share a page or are out of order");
  }
  return true;
}

bool Mapper::readSegments() {
  for (uint16_t i = 0; i < header_.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, blob_ + header_.e_phoff + i * sizeof(segment),
                sizeof(segment));
    if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS)
      return refuse("it needs an interpreter or thread-local storage");
    if (segment.p_type == PT_DYNAMIC)
      dynamic_ = segment;
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0)
      continue;
    if (!checkSegment(segment))
      return false;
    loads_.push_back(segment);
  }
  if (loads_.empty() || dynamic_.p_type != PT_DYNAMIC)
    return refuse("it has no loadable or no dynamic segment");
  return true;
}

bool Mapper::reserve() {
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  const Elf64_Phdr &last = loads_.back();
  uint64_t size = (last.p_vaddr + last.p_memsz + page - 1) / page * page;
  void *base = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return refuse("there is no memory for an image of " + std::to_string(size) +
                  " bytes");
  image_->base_ = static_cast<uint8_t *>(base);
  image_->size_ = size;
  return true;
}

bool Mapper::copySegments() {
  for (const Elf64_Phdr &segment : loads_) {
    std::memcpy(image_->base_ + segment.p_vaddr, blob_ + segment.p_offset,
                segment.p_filesz);
    if (!(segment.p_flags & PF_X))
      continue;
    if (image_->codeEnd_)
      return refuse("it has more than one executable segment");
    image_->codeBegin_ = segment.p_vaddr;
    image_->codeEnd_ = segment.p_vaddr + segment.p_memsz;
  }
  return true;
}

/// Notes one entry of the dynamic section.
bool Mapper::take(const Elf64_Dyn &entry) {
  uint64_t value = entry.d_un.d_val;
  switch (entry.d_tag) {
  case DT_NEEDED:
  case DT_VERNEED:
    return refuse("it needs other libraries");
  case DT_INIT:
  case DT_FINI:
  case DT_INIT_ARRAY:
  case DT_FINI_ARRAY:
  case DT_PREINIT_ARRAY:
    return refuse("it has initialisers, kernels have none");
  case DT_REL:
  case DT_RELR:
  case DT_TEXTREL:
    return refuse("it has relocations of an unexpected kind");
  case DT_SYMENT:
    return value == sizeof(Elf64_Sym) || refuse("its symbols are damaged");
  case DT_RELAENT:
    return value == sizeof(Elf64_Rela) || refuse("its relocations are damaged");
  case DT_SYMTAB:
    image_->symbols_ = value;
    break;
  case DT_STRTAB:
    image_->strings_ = value;
    break;
  case DT_STRSZ:
    image_->stringBytes_ = value;
    break;
  case DT_HASH:
    hash_ = value;
    break;
  case DT_GNU_HASH:
    gnuHash_ = value;
    break;
  case DT_RELA:
    rela_ = value;
    break;
  case DT_RELASZ:
    relaBytes_ = value;
    break;
  case DT_JMPREL:
    plt_ = value;
    break;
  case DT_PLTRELSZ:
    pltBytes_ = value;
    break;
  default:
    break;
  }
  return true;
}

bool Mapper::readDynamic() {
  if (!mapped(dynamic_.p_vaddr, dynamic_.p_memsz))
    return refuse("its dynamic section lies outside of the image");
  uint64_t count = dynamic_.p_memsz / sizeof(Elf64_Dyn);
  for (uint64_t i = 0; i < count; ++i) {
    auto entry = at<Elf64_Dyn>(dynamic_.p_vaddr + i * sizeof(Elf64_Dyn));
    if (entry.d_tag == DT_NULL)
      break;
    if (!take(entry))
      return false;
  }
  return true;
}

/// Finds the number of symbols, which only the hash tables tell.
bool Mapper::countSymbols() {
  if (hash_) {
    if (!mapped(hash_, 8))
      return refuse("its hash table is damaged");
    image_->symbolCount_ = at<uint32_t>(hash_ + 4);
    return true;
  }
  if (!gnuHash_ || !mapped(gnuHash_, 16))
    return refuse("it has no hash table");
  uint64_t buckets = at<uint32_t>(gnuHash_);
  uint64_t first = at<uint32_t>(gnuHash_ + 4);
  uint64_t bloomWords = at<uint32_t>(gnuHash_ + 8);
  uint64_t bucketTable = gnuHash_ + 16 + bloomWords * 8;
  uint64_t chains = bucketTable + buckets * 4;
  // Tables lie in the file, and not in the zeros that a segment may have behind
  // its bytes: no loop is longer than the file.
  const uint64_t most = blobSize_ / sizeof(uint32_t);
  if (buckets > most || !mapped(bucketTable, buckets * 4))
    return refuse("its hash table is damaged");
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i)
    last = std::max<uint64_t>(last, at<uint32_t>(bucketTable + i * 4));
  image_->symbolCount_ = std::max(first, last);
  if (last < first)
    return true;
  while (last - first < most && mapped(chains + (last - first) * 4, 4) &&
         !(at<uint32_t>(chains + (last - first) * 4) & 1))
    ++last;
  image_->symbolCount_ = last + 1;
  return true;
}

bool Mapper::checkTables() {
  if (!countSymbols())
    return false;
  if (image_->symbolCount_ > blobSize_ / sizeof(Elf64_Sym) ||
      !mapped(image_->symbols_, image_->symbolCount_ * sizeof(Elf64_Sym)) ||
      !mapped(image_->strings_, image_->stringBytes_))
    return refuse("its symbol table is damaged");
  return checkSymbols();
}

bool Mapper::checkSymbols() {
  for (uint64_t i = 1; i < image_->symbolCount_; ++i) {
    auto symbol = at<Elf64_Sym>(image_->symbols_ + i * sizeof(Elf64_Sym));
    if (symbol.st_name >= image_->stringBytes_)
      return refuse("its symbol table is damaged");
    const char *name = reinterpret_cast<const char *>(
        image_->base_ + image_->strings_ + symbol.st_name);
    std::string_view text(name,
                          strnlen(name, image_->stringBytes_ - symbol.st_name));
    if (symbol.st_shndx == SHN_UNDEF)
      return refuse("it needs the symbol " + std::string(text) +
                    " from outside");
    if (symbol.st_value >= image_->size_)
      return refuse("its symbol " + std::string(text) +
                    " lies outside of the image");
  }
  return true;
}

bool Mapper::relocateOne(const Elf64_Rela &entry) {
  uint32_t type = ELF64_R_TYPE(entry.r_info);
  uint64_t symbol = ELF64_R_SYM(entry.r_info);
  bool writable =
      std::any_of(loads_.begin(), loads_.end(), [&](const Elf64_Phdr &load) {
        return (load.p_flags & PF_W) && entry.r_offset >= load.p_vaddr &&
               inside(entry.r_offset - load.p_vaddr, 8, load.p_memsz);
      });
  if (!writable)
    return refuse("a relocation lies outside of its data");
  uint64_t value =
      reinterpret_cast<uint64_t>(image_->base_) + uint64_t(entry.r_addend);
  if (std::find(std::begin(relocateSymbol), std::end(relocateSymbol), type) !=
      std::end(relocateSymbol)) {
    if (symbol == 0 || symbol >= image_->symbolCount_)
      return refuse("a relocation names no symbol");
    value +=
        at<Elf64_Sym>(image_->symbols_ + symbol * sizeof(Elf64_Sym)).st_value;
  } else if (type != relocateBase) {
    return refuse("a relocation has the unexpected type " +
                  std::to_string(type));
  }
  std::memcpy(image_->base_ + entry.r_offset, &value, sizeof(value));
  return true;
}

bool Mapper::relocate(uint64_t table, uint64_t bytes) {
  if (!mapped(table, bytes))
    return refuse("its relocations lie outside of the image");
  for (uint64_t i = 0; i + sizeof(Elf64_Rela) <= bytes; i += sizeof(Elf64_Rela))
    if (!relocateOne(at<Elf64_Rela>(table + i)))
      return false;
  return true;
}

bool Mapper::protect() {
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  for (const Elf64_Phdr &load : loads_) {
    int protection = PROT_READ | (load.p_flags & PF_W ? PROT_WRITE : 0) |
                     (load.p_flags & PF_X ? PROT_EXEC : 0);
    uint64_t begin = load.p_vaddr / page * page;
    uint64_t end = load.p_vaddr + load.p_memsz;
    if (mprotect(image_->base_ + begin, end - begin, protection) != 0)
      return refuse("the system refuses executable memory");
  }
  auto *code = reinterpret_cast<char *>(image_->base_);
  __builtin___clear_cache(code + image_->codeBegin_, code + image_->codeEnd_);
  return true;
}

std::unique_ptr<Image> Mapper::map() {
  image_.reset(new (std::nothrow) Image);
  if (!image_ || !readHeader() || !readSegments() || !reserve() ||
      !copySegments() || !readDynamic() || !checkTables() ||
      !relocate(rela_, relaBytes_) || !relocate(plt_, pltBytes_) || !protect())
    return nullptr;
  return std::move(image_);
}

std::unique_ptr<Image> Image::map(const uint8_t *blob, uint64_t size,
                                  std::string *reason) {
  return Mapper(blob, size, *reason).map();
}

Image::~Image() {
  if (base_)
    munmap(base_, size_);
}

void *Image::function(std::string_view name) const {
  for (uint64_t i = 1; i < symbolCount_; ++i) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, base_ + symbols_ + i * sizeof(symbol), sizeof(symbol));
    if (symbol.st_name >= stringBytes_)
      continue;
    const char *found =
        reinterpret_cast<const char *>(base_ + strings_) + symbol.st_name;
    uint64_t room = stringBytes_ - symbol.st_name;
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && name.size() < room &&
        std::memcmp(found, name.data(), name.size()) == 0 &&
        found[name.size()] == '\0' && symbol.st_value >= codeBegin_ &&
        symbol.st_value < codeEnd_)
      return base_ + symbol.st_value;
  }
  return nullptr;
}

} // namespace backplane::host
