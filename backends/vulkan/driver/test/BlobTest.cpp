// SPDX-License-Identifier: Apache-2.0
//
// BlobTest.cpp: blobs and modules that must not reach a driver of Vulkan. No
// device is needed.
#include "Harness.h"
#include "backends/vulkan/driver/SpirV.h"

#include <algorithm>

namespace backplane::vulkan::test {
namespace {

/// The reason why a blob is refused, empty when it is taken apart.
std::string refusal(const std::vector<uint32_t> &blob, uint64_t bytes) {
  Words words;
  std::vector<Module> modules;
  std::string reason;
  return readBlob({blob.data(), bytes}, words, modules, &reason) ? "" : reason;
}
std::string refusal(const std::vector<uint32_t> &blob) {
  return refusal(blob, blob.size() * 4);
}

const std::vector<uint32_t> &good() {
  static const std::vector<uint32_t> blob = blobOf(std::array{add, gather});
  return blob;
}

TEST(Blob, IsTakenApart) {
  Words words;
  std::vector<Module> modules;
  std::string reason;
  ASSERT_TRUE(
      readBlob({good().data(), good().size() * 4}, words, modules, &reason));
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(modules[0], add.words));
  EXPECT_TRUE(std::ranges::equal(modules[1], gather.words));
}

TEST(Blob, IsRefusedWhenItsHeadIsDamaged) {
  struct Damage {
    size_t word;
    uint32_t value;
    const char *reason;
  };
  constexpr uint32_t large = 0xFFFFFFFF;
  for (Damage damage : {Damage{0, 0x464C457F, "does not start"},
                        {1, 2, "version 2"},
                        {2, large, "do not fit"},
                        {3, 0, "outside"},
                        {3, large, "outside"},
                        {4, large, "outside"},
                        {5, 6, "outside"}}) {
    std::vector<uint32_t> blob = good();
    blob[damage.word] = damage.value;
    EXPECT_NE(refusal(blob).find(damage.reason), std::string::npos)
        << damage.word << ": " << refusal(blob);
  }
}

TEST(Blob, IsRefusedWhenItIsCutShort) {
  for (uint64_t bytes = 0; bytes < good().size() * 4; ++bytes)
    ASSERT_NE(refusal(good(), bytes), "") << bytes;
}

/// A device with every feature that the shaders of the tests need.
PhysicalDevice device(std::vector<std::string> features = {
                          "shaderFloat16", "storageBuffer16BitAccess"}) {
  PhysicalDevice made = {};
  made.apiVersion = VK_API_VERSION_1_2;
  for (uint32_t &size : made.limits.maxComputeWorkGroupSize)
    size = 128;
  made.limits.maxComputeWorkGroupInvocations = 128;
  made.features = std::move(features);
  return made;
}

std::string complaint(const Shader &shader, ModuleUse use,
                      const PhysicalDevice &on = device()) {
  std::string reason;
  return checkModule(shader.words, use, on, &reason) ? "" : reason;
}

ModuleUse useOf(const Shader &shader) {
  return {"main", {64, 1, 1}, shader.bindings + 1};
}

TEST(Module, FitsItsEntry) {
  for (const Shader *shader : {&add, &gather, &scratch, &half})
    EXPECT_EQ(complaint(*shader, useOf(*shader)), "");
}

TEST(Module, AsksForScratch) {
  std::string reason;
  ModuleUse with = useOf(scratch), without = useOf(add);
  EXPECT_TRUE(checkModule(scratch.words, with, device(), &reason));
  EXPECT_TRUE(checkModule(add.words, without, device(), &reason));
  EXPECT_TRUE(with.scratch);
  EXPECT_FALSE(without.scratch);
}

TEST(Module, AsksForSubgroups) {
  std::string reason;
  ModuleUse with = useOf(exchange), without = useOf(add);
  PhysicalDevice able = device({"subgroupBasic", "subgroupShuffle"});
  EXPECT_TRUE(checkModule(exchange.words, with, able, &reason)) << reason;
  EXPECT_TRUE(checkModule(add.words, without, able, &reason)) << reason;
  EXPECT_TRUE(with.subgroups);
  EXPECT_FALSE(without.subgroups);
  EXPECT_EQ(complaint(exchange, useOf(exchange), device({"subgroupBasic"})),
            "the shader needs GroupNonUniformShuffle, but the device has no "
            "subgroupShuffle");
}

TEST(Module, IsRefusedWithTheReason) {
  ModuleUse renamed = useOf(add), narrow = useOf(add), wide = useOf(add);
  renamed.name = "other";
  narrow.bindings = 1;
  wide.workgroupSize[1] = 2;
  EXPECT_EQ(complaint(add, renamed),
            "the module has no entry point of this name");
  EXPECT_NE(complaint(add, narrow).find("binding 2"), std::string::npos);
  EXPECT_NE(complaint(add, wide).find("differ"), std::string::npos);
  PhysicalDevice small = device();
  small.limits.maxComputeWorkGroupInvocations = 32;
  EXPECT_NE(complaint(add, useOf(add), small).find("larger"),
            std::string::npos);
  EXPECT_EQ(complaint(half, useOf(half), device({"storageBuffer16BitAccess"})),
            "the shader needs Float16, but the device has no shaderFloat16");
}

/// The place of the first instruction with this opcode.
size_t placeOf(uint32_t opcode, const Words &words) {
  size_t at = 5;
  while (at < words.size() && (words[at] & 0xFFFF) != opcode)
    at += words[at] >> 16;
  return at;
}

std::string complaint(const Words &words) {
  Shader shader = sized;
  shader.words = words;
  return complaint(shader, useOf(sized));
}

TEST(Module, HasTheSizeThatAConstantSays) {
  const Words whole(sized.words.begin(), sized.words.end());
  constexpr uint32_t composite = 44, specialised = 51;
  const size_t at = placeOf(composite, whole);
  ASSERT_LT(at, whole.size());
  EXPECT_EQ(complaint(whole), "");
  Words other = whole;
  other[at + 3] = other[at + 4];
  EXPECT_EQ(complaint(other),
            "the shader's work-groups differ from the entry's");
  other = whole;
  other[at] = other[at] - composite + specialised;
  EXPECT_EQ(complaint(other), "the shader's work-groups are specialised");
}

TEST(Module, HasNoDecorationsThatLieElsewhere) {
  Words words(sized.words.begin(), sized.words.end());
  constexpr uint32_t decorate = 71, group = 73;
  const uint32_t added[] = {2 << 16 | group, words[3]++};
  words.insert(words.begin() + ptrdiff_t(placeOf(decorate, words)), added,
               added + 2);
  EXPECT_EQ(complaint(words), "the shader decorates by groups");
}

TEST(Module, HasTheByteOrderOfItsReader) {
  Words words(sized.words.begin(), sized.words.end());
  for (uint32_t &word : words)
    word = __builtin_bswap32(word);
  EXPECT_EQ(complaint(words),
            "invalid SPIR-V: it does not start with the magic number");
}

TEST(Module, IsRefusedWhenAnyWordIsRubbish) {
  unsigned taken = 0;
  for (size_t word = 0; word < add.words.size(); ++word) {
    std::vector<uint32_t> damaged(add.words.begin(), add.words.end());
    damaged[word] = 0xFFFFFFFF;
    Shader shader = add;
    shader.words = damaged;
    taken += complaint(shader, useOf(add)).empty();
  }
  // Names, versions of tools and constants can be anything.
  EXPECT_LT(taken, add.words.size() / 3);
  for (size_t length = 0; length < add.words.size(); ++length) {
    Shader shader = add;
    shader.words = add.words.first(length);
    EXPECT_NE(complaint(shader, useOf(add)), "") << length;
  }
}

} // namespace
} // namespace backplane::vulkan::test
