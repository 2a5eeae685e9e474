// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Host.h"
#include "backplane/cpp/Result.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace backplane;

namespace {

TEST(Host, FillsErrors) {
  Host host;
  bp_host_t table = host.table(1);
  bp_error_t error;
  EXPECT_EQ(
      table.error_set(table.self, &error, BP_STATUS_NOT_FOUND, toC("gone")),
      BP_STATUS_NOT_FOUND);
  EXPECT_EQ(error.message, "gone");
  EXPECT_EQ(
      table.error_set(table.self, nullptr, BP_STATUS_NOT_FOUND, toC("gone")),
      BP_STATUS_NOT_FOUND);
}

TEST(Host, CountsAlignedMemory) {
  Host host;
  bp_host_t table = host.table(1);
  for (uint64_t alignment : {1, 64, 4096, 2 << 20}) {
    void *block = table.memory_allocate(table.self, 1000, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    std::memset(block, 1, 1000);
    EXPECT_EQ(host.allocatedBytes(), 1000u);
    table.memory_free(table.self, block);
    EXPECT_EQ(host.allocatedBytes(), 0u);
  }
  table.memory_free(table.self, nullptr);
}

TEST(Host, GivesNoMemoryForNonsense) {
  Host host;
  bp_host_t table = host.table(1);
  EXPECT_EQ(table.memory_allocate(table.self, ~uint64_t(0), 64), nullptr);
  EXPECT_EQ(table.memory_allocate(table.self, 8, 3), nullptr);
  EXPECT_EQ(table.memory_allocate(table.self, 8, uint64_t(1) << 40), nullptr);
}

TEST(Host, LogsToTheSink) {
  HostOptions options;
  std::string lines;
  options.log.context = &lines;
  options.log.log = [](void *context, uint32_t, bp_string_t message) {
    *static_cast<std::string *>(context) += std::string(view(message)) + "\n";
  };
  Host host(options);
  bp_host_t table = host.table(1);
  table.log(table.self, BP_LOG_INFO, toC("hello"));
  EXPECT_EQ(lines, "hello\n");
}

TEST(Host, GivesTheGraphTableByNameAndVersion) {
  bp_graph_table_t graph = {BP_HEADER(bp_graph_table_t)};
  HostOptions options;
  options.graphTable = &graph;
  Host host(options);
  bp_host_t table = host.table(1);
  EXPECT_EQ(table.get_extension(table.self, toC("backplane.graph"), 0), &graph);
  EXPECT_EQ(table.get_extension(table.self, toC("backplane.graph"), 1),
            nullptr);
  EXPECT_EQ(table.get_extension(table.self, toC("acme.x"), 0), nullptr);
}

TEST(CpuInfo, HasAListOfNames) {
  CpuInfo cpu = CpuInfo::detect();
  EXPECT_TRUE(std::is_sorted(cpu.features().begin(), cpu.features().end()));
  EXPECT_GE(cpu.c().core_count, 1u);
  EXPECT_EQ(std::count(cpu.c().features.data,
                       cpu.c().features.data + cpu.c().features.size, ',') +
                1,
            std::ptrdiff_t(cpu.features().size()));
}

#if defined(__x86_64__)
TEST(CpuInfo, AgreesWithTheCompilersRuntime) {
  CpuInfo cpu = CpuInfo::detect();
  EXPECT_EQ(view(cpu.c().architecture), "x86_64");
  EXPECT_EQ(cpu.hasFeature("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(cpu.hasFeature("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(cpu.hasFeature("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(cpu.hasFeature("avx512vnni"),
            bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(cpu.hasFeature("avx512bf16"),
            bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(cpu.hasFeature("bmi2"), bool(__builtin_cpu_supports("bmi2")));
}
#elif defined(__aarch64__)
// Linux answers for the registers that programs may not read themselves.
TEST(CpuInfo, AgreesWithTheRegistersOfTheProcessor) {
  uint64_t isar0, isar1, pfr0;
  __asm__("mrs %0, id_aa64isar0_el1" : "=r"(isar0));
  __asm__("mrs %0, id_aa64isar1_el1" : "=r"(isar1));
  __asm__("mrs %0, id_aa64pfr0_el1" : "=r"(pfr0));
  auto field = [](uint64_t word, int bit) { return word >> bit & 15; };
  CpuInfo cpu = CpuInfo::detect();
  EXPECT_EQ(view(cpu.c().architecture), "aarch64");
  EXPECT_TRUE(cpu.hasFeature("neon"));
  EXPECT_EQ(cpu.hasFeature("aes"), field(isar0, 4) >= 1);
  EXPECT_EQ(cpu.hasFeature("sha2"), field(isar0, 12) >= 1);
  EXPECT_EQ(cpu.hasFeature("crc"), field(isar0, 16) >= 1);
  EXPECT_EQ(cpu.hasFeature("lse"), field(isar0, 20) >= 2);
  EXPECT_EQ(cpu.hasFeature("dotprod"), field(isar0, 44) >= 1);
  EXPECT_EQ(cpu.hasFeature("fp16fml"), field(isar0, 48) >= 1);
  EXPECT_EQ(cpu.hasFeature("bf16"), field(isar1, 44) >= 1);
  EXPECT_EQ(cpu.hasFeature("i8mm"), field(isar1, 52) >= 1);
  EXPECT_EQ(cpu.hasFeature("fullfp16"), field(pfr0, 20) == 1);
  EXPECT_EQ(cpu.hasFeature("sve"), field(pfr0, 32) >= 1);
}
#endif

TEST(CpuInfo, CopiesPointIntoThemselves) {
  CpuInfo first = CpuInfo::detect();
  CpuInfo second(first);
  EXPECT_EQ(view(second.c().features), view(first.c().features));
  EXPECT_NE(second.c().features.data, first.c().features.data);
}

} // namespace
