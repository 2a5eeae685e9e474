// SPDX-License-Identifier: Apache-2.0
#include "hal/core/CpuInfo.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace backplane {

#if defined(__x86_64__)

namespace {

constexpr const char *hostArchitecture = "x86_64";

enum Register { EAX, EBX, ECX, EDX };

/// Register files that the operating system saves.
enum OsState { None, Avx, Avx512, Amx };

struct Feature {
  const char *name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint32_t bit;
  OsState state;
};

constexpr Feature featureTable[] = {
    {"sse3", 1, 0, ECX, 0, None},
    {"pclmul", 1, 0, ECX, 1, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Avx},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"aes", 1, 0, ECX, 25, None},
    {"avx", 1, 0, ECX, 28, Avx},
    {"f16c", 1, 0, ECX, 29, Avx},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Avx},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Avx512},
    {"avx512dq", 7, 0, EBX, 17, Avx512},
    {"adx", 7, 0, EBX, 19, None},
    {"avx512ifma", 7, 0, EBX, 21, Avx512},
    {"avx512cd", 7, 0, EBX, 28, Avx512},
    {"sha", 7, 0, EBX, 29, None},
    {"avx512bw", 7, 0, EBX, 30, Avx512},
    {"avx512vl", 7, 0, EBX, 31, Avx512},
    {"avx512vbmi", 7, 0, ECX, 1, Avx512},
    {"avx512vbmi2", 7, 0, ECX, 6, Avx512},
    {"gfni", 7, 0, ECX, 8, None},
    {"vaes", 7, 0, ECX, 9, Avx},
    {"vpclmulqdq", 7, 0, ECX, 10, Avx},
    {"avx512vnni", 7, 0, ECX, 11, Avx512},
    {"avx512bitalg", 7, 0, ECX, 12, Avx512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, Avx512},
    {"avx512vp2intersect", 7, 0, EDX, 8, Avx512},
    {"amx-bf16", 7, 0, EDX, 22, Amx},
    {"avx512fp16", 7, 0, EDX, 23, Avx512},
    {"amx-tile", 7, 0, EDX, 24, Amx},
    {"amx-int8", 7, 0, EDX, 25, Amx},
    {"avxvnni", 7, 1, EAX, 4, Avx},
    {"avx512bf16", 7, 1, EAX, 5, Avx512},
    {"amx-fp16", 7, 1, EAX, 21, Amx},
    {"avxifma", 7, 1, EAX, 23, Avx},
    {"avxvnniint8", 7, 1, EDX, 4, Avx},
    {"avxneconvert", 7, 1, EDX, 5, Avx},
    {"avxvnniint16", 7, 1, EDX, 10, Avx},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
};

bool readLeaf(uint32_t leaf, uint32_t subleaf, uint32_t (&out)[4]) {
  return __get_cpuid_count(leaf, subleaf, &out[EAX], &out[EBX], &out[ECX],
                           &out[EDX]);
}

uint64_t readXcr0() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Asks for the AMX tile registers, which Linux grants to a process on request.
/// It refuses them where a thread has a stack for signals that is too small.
bool tilesGranted() {
  constexpr long requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr long tileData = 18;              // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

bool osHas(OsState state, uint64_t xcr0) {
  constexpr uint64_t avxBits = 0x06, avx512Bits = 0xE6;
  if (state == Avx)
    return (xcr0 & avxBits) == avxBits;
  if (state == Avx512)
    return (xcr0 & avx512Bits) == avx512Bits;
  return state == None || tilesGranted();
}

std::vector<std::string> detectFeatures() {
  std::vector<std::string> found = {"sse", "sse2"};
  uint32_t basic[4] = {};
  bool osxsave = readLeaf(1, 0, basic) && (basic[ECX] >> 27 & 1);
  uint64_t xcr0 = osxsave ? readXcr0() : 0;
  for (const Feature &feature : featureTable) {
    uint32_t registers[4] = {};
    if (readLeaf(feature.leaf, feature.subleaf, registers) &&
        (registers[feature.reg] >> feature.bit & 1) &&
        osHas(feature.state, xcr0))
      found.push_back(feature.name);
  }
  return found;
}

std::string detectModel() {
  char text[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t registers[4] = {};
    if (!readLeaf(0x80000002 + i, 0, registers))
      return "";
    std::memcpy(text + 16 * i, registers, 16);
  }
  std::string model(text);
  model.erase(model.find_last_not_of(' ') + 1);
  return model.substr(std::min(model.find_first_not_of(' '), model.size()));
}

} // namespace

#elif defined(__aarch64__)

namespace {

constexpr const char *hostArchitecture = "aarch64";

struct Feature {
  const char *name;
  bool second; ///< of AT_HWCAP2
  uint32_t bit;
};

constexpr Feature featureTable[] = {
    {"fp-armv8", false, 0},  {"neon", false, 1},     {"aes", false, 3},
    {"sha2", false, 6},      {"crc", false, 7},      {"lse", false, 8},
    {"fullfp16", false, 10}, {"dotprod", false, 20}, {"sve", false, 22},
    {"fp16fml", false, 23},  {"sve2", true, 1},      {"i8mm", true, 13},
    {"bf16", true, 14},      {"sme", true, 23},
};

std::vector<std::string> detectFeatures() {
  uint64_t words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  std::vector<std::string> found;
  for (const Feature &feature : featureTable)
    if (words[feature.second] >> feature.bit & 1)
      found.push_back(feature.name);
  return found;
}

std::string detectModel() {
  std::ifstream file(
      "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
  std::string midr;
  return file >> midr ? "midr " + midr : "AArch64";
}

} // namespace

#else
#error "no CPU detection for this architecture"
#endif

/// Size of a data or unified cache from sysfs, 0 when unknown.
static uint64_t sysfsCache(int level) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" +
                         std::to_string(index) + "/";
    int found = 0;
    std::string type, size;
    if (!(std::ifstream(folder + "level") >> found) || found != level ||
        !(std::ifstream(folder + "type") >> type) || type == "Instruction" ||
        !(std::ifstream(folder + "size") >> size))
      continue;
    uint64_t value = std::strtoull(size.c_str(), nullptr, 10);
    return size.back() == 'M' ? value << 20 : value << 10;
  }
  return 0;
}

static uint64_t cacheBytes(int level) {
  constexpr int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                           _SC_LEVEL3_CACHE_SIZE};
  long bytes = sysconf(names[level - 1]);
  return bytes > 0 ? uint64_t(bytes) : sysfsCache(level);
}

static uint32_t usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return uint32_t(CPU_COUNT(&set));
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? uint32_t(online) : 1;
}

CpuInfo CpuInfo::detect() {
  CpuInfo cpu;
  cpu.architecture_ = hostArchitecture;
  cpu.model_ = detectModel();
  cpu.features_ = detectFeatures();
  std::sort(cpu.features_.begin(), cpu.features_.end());
  for (const std::string &feature : cpu.features_)
    cpu.featureText_ += (cpu.featureText_.empty() ? "" : ",") + feature;
  cpu.info_.l1_bytes = cacheBytes(1);
  cpu.info_.l2_bytes = cacheBytes(2);
  cpu.info_.l3_bytes = cacheBytes(3);
  cpu.info_.core_count = usableCores();
  cpu.link();
  return cpu;
}

CpuInfo::CpuInfo(const CpuInfo &other)
    : architecture_(other.architecture_), model_(other.model_),
      features_(other.features_), featureText_(other.featureText_),
      info_(other.info_) {
  link();
}

void CpuInfo::link() {
  info_.architecture = {architecture_.data(), architecture_.size()};
  info_.model = {model_.data(), model_.size()};
  info_.features = {featureText_.data(), featureText_.size()};
}

bool CpuInfo::hasFeature(std::string_view name) const {
  return std::binary_search(features_.begin(), features_.end(), name);
}

} // namespace backplane
