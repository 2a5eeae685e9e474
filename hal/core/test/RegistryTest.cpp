// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Registry.h"
#include "PluginFolder.h"
#include "sdk/support/Hash.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace backplane;

namespace {

/// All refusals in one text, a line each.
std::string refusals(Registry &registry) {
  std::string text;
  for (const DeviceListing &listing : registry.listings())
    if (!listing.refusal.empty())
      text += listing.refusal + "\n";
  return text;
}

std::string hostileLibrary(int number) {
  return std::string(BP_HOSTILE_DIR) + "/libhostile" + std::to_string(number) +
         ".so";
}

struct HostileCase {
  int number;
  const char *refusal; ///< part of it; null: the plug-in is usable
};

struct Hostile : testing::TestWithParam<HostileCase> {};

TEST_P(Hostile, IsRefusedWithTheReason) {
  PluginFolder folder;
  folder.addDriver(hostileLibrary(GetParam().number), "hostile");
  auto registry = Registry::create(folder.options(), nullptr);
  ASSERT_FALSE(registry->listings().empty());
  if (!GetParam().refusal) {
    ASSERT_EQ(registry->listings()[0].refusal, "");
    auto device = registry->device("hostile");
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.code(), BP_STATUS_UNAVAILABLE);
    EXPECT_NE(device.message().find("UNAVAILABLE"), std::string::npos);
    return;
  }
  std::string text = refusals(*registry);
  EXPECT_NE(text.find(GetParam().refusal), std::string::npos) << text;
  EXPECT_FALSE(registry->device("hostile").ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, Hostile,
    testing::Values(
        HostileCase{1, "the plugin table is missing"},
        HostileCase{2, "the memory table lacks the required function "
                       "buffer_write"},
        HostileCase{3, nullptr}, HostileCase{4, "the queue table has type"},
        HostileCase{5, "needs ABI version 0.99"},
        HostileCase{6, "the queue table lacks the required function "
                       "queue_execute"},
        HostileCase{7, "not a power of two"},
        HostileCase{8, "more than 256 devices"},
        HostileCase{9, "failed with UNAVAILABLE and gave no reason"},
        HostileCase{10, "threw an exception"},
        HostileCase{11, "threw an exception"},
        HostileCase{12, "calls itself \"other\""},
        HostileCase{13, "its vendor is a damaged string"},
        HostileCase{14, "wrote behind"}, HostileCase{15, "needs extension"},
        HostileCase{16, "failed with FAILED_PRECONDITION"},
        HostileCase{17, "failed with status -77"}, HostileCase{18, nullptr},
        HostileCase{19, "has a size of 0 bytes"},
        HostileCase{20, "built for ABI version 0.0"},
        HostileCase{21, "does not export bp_plugin_query_v0"}),
    [](const auto &info) {
      return "Case" + std::to_string(info.param.number);
    });

TEST(Registry, ListsEachDamagedDeviceAndKeepsTheGoodOne) {
  PluginFolder folder;
  folder.addDriver(hostileLibrary(7), "hostile");
  auto registry = Registry::create(folder.options(), nullptr);
  ASSERT_EQ(registry->listings().size(), 8u);
  EXPECT_EQ(registry->listings()[6].uri, "hostile://good");
  EXPECT_EQ(registry->listings()[6].refusal, "");
  EXPECT_NE(registry->listings()[7].refusal.find("listed twice"),
            std::string::npos);
}

/// Driver 8 lists too many devices, which is logged when it is asked for them.
TEST(Registry, ADriverLooksForDevicesWhenSomebodyAsks) {
  PluginFolder folder;
  folder.addDriver(hostileLibrary(8), "hostile");
  folder.addDriver(BP_MINI_PLUGIN, "mini");
  std::string said;
  LoaderOptions options = folder.options();
  options.log.context = &said;
  options.log.log = [](void *context, uint32_t, bp_string_t text) {
    *static_cast<std::string *>(context) += view(text);
  };
  auto registry = Registry::create(options, nullptr);
  EXPECT_TRUE(registry->device("mini").ok());
  EXPECT_EQ(registry->listings("mini").size(), 3u);
  EXPECT_EQ(said.find("256 devices"), std::string::npos) << said;
  EXPECT_EQ(registry->listings().size(), 4u);
  EXPECT_NE(said.find("256 devices"), std::string::npos) << said;
  EXPECT_EQ(registry->listings("hostile").size(), 1u);
}

TEST(Registry, WithoutPluginsSaysWhatThereIs) {
  PluginFolder folder;
  auto registry = Registry::create(folder.options(), nullptr);
  auto device = registry->device("host");
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.code(), BP_STATUS_NOT_FOUND);
  EXPECT_NE(device.message().find("no driver \"host\""), std::string::npos);
  EXPECT_NE(device.message().find("usable devices: none"), std::string::npos);
}

TEST(Registry, NotALibraryIsRefused) {
  PluginFolder folder;
  folder.addDriver(folder.addFile("text", "no library"), "acme");
  auto registry = Registry::create(folder.options(), nullptr);
  EXPECT_NE(refusals(*registry).find("cannot load the library"),
            std::string::npos);
  auto device = registry->device("acme");
  EXPECT_NE(device.message().find("cannot load the library"),
            std::string::npos);
}

TEST(Registry, WritableLibraryIsRefused) {
  PluginFolder folder;
  folder.addDriver(BP_MINI_PLUGIN, "mini");
  std::filesystem::permissions(folder.path("libmini-1.0.0.so"),
                               std::filesystem::perms::all);
  auto registry = Registry::create(folder.options(), nullptr);
  EXPECT_NE(refusals(*registry).find("chmod go-w"), std::string::npos);
}

TEST(Registry, WrongHashIsRefused) {
  PluginFolder folder;
  std::string library = folder.addLibrary(BP_MINI_PLUGIN, "libmini.so");
  auto write = [&](const std::string &hash) {
    folder.addFile("mini.bp.json",
                   R"({"format": 1, "name": "mini", "version": "1.0.0",
                       "abi": {"major": 0, "minor_low": 1},
                       "driver": "libmini.so", "sha256": {"driver": ")" +
                       hash + "\"}}");
  };
  write(std::string(64, '0'));
  auto registry = Registry::create(folder.options(), nullptr);
  EXPECT_NE(refusals(*registry).find("has SHA-256"), std::string::npos);
  write(*sha256OfFile(library));
  registry = Registry::create(folder.options(), nullptr);
  EXPECT_TRUE(registry->device("mini").ok());
}

/// What a registry over one mini with these members in its manifest refuses.
std::string refusalsWith(const std::string &members) {
  PluginFolder folder;
  folder.addLibrary(BP_MINI_PLUGIN, "libmini.so");
  folder.addFile("mini.bp.json",
                 R"({"format": 1, "name": "mini", "version": "1.0.0",
                     "abi": {"major": 0, "minor_low": 1},
                     "driver": "libmini.so", )" +
                     members + "}");
  return refusals(*Registry::create(folder.options(), nullptr));
}

std::string bytesOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What is said of a mini whose library has these bytes.
std::string refusalOfLibrary(const std::string &bytes) {
  PluginFolder folder;
  folder.addDriver(BP_MINI_PLUGIN, "mini");
  folder.addFile("libmini-1.0.0.so", bytes);
  return refusals(*Registry::create(folder.options(), nullptr));
}

TEST(Registry, ALibraryThatIsCutShortIsRefused) {
  const std::string whole = bytesOf(BP_MINI_PLUGIN);
  for (size_t size : {size_t(5), size_t(63), size_t(64), size_t(200),
                      whole.size() / 2, whole.size() - 1})
    EXPECT_NE(refusalOfLibrary(whole.substr(0, size))
                  .find("is cut short: it has " + std::to_string(size)),
              std::string::npos)
        << size;
  EXPECT_NE(refusalOfLibrary("").find("the file is empty"), std::string::npos);
}

TEST(Registry, ALibraryOfAnotherMachineIsRefusedByItsName) {
  std::string other = bytesOf(BP_MINI_PLUGIN);
  constexpr size_t machine = 18, type = 16, width = 4;
  other[machine] = char(243);
  other[machine + 1] = 0;
  EXPECT_NE(
      refusalOfLibrary(other).find("it is built for riscv, this machine is "),
      std::string::npos);
  other = bytesOf(BP_MINI_PLUGIN);
  other[width] = 1;
  EXPECT_NE(refusalOfLibrary(other).find("of 32 bits"), std::string::npos);
  other = bytesOf(BP_MINI_PLUGIN);
  other[type] = 1;
  EXPECT_NE(refusalOfLibrary(other).find("no shared library"),
            std::string::npos);
}

TEST(Registry, ALibraryOfAnotherVersionThanItsManifestIsRefused) {
  PluginFolder folder;
  folder.addDriver(BP_MINI_PLUGIN, "mini", "1.0.1");
  EXPECT_NE(
      refusals(*Registry::create(folder.options(), nullptr))
          .find("says that it is version \"1.0.0\", its manifest \"1.0.1\""),
      std::string::npos);
}

TEST(Registry, WhatGaveWayStepsInForAPluginThatIsNotUsable) {
  PluginFolder folder;
  folder.addDriver(BP_MINI_PLUGIN, "mini");
  folder.addDriver(BP_MINI_PLUGIN, "mini", "2.0.0");
  folder.addFile("libmini-2.0.0.so", "");
  auto registry = Registry::create(folder.options(), nullptr);
  EXPECT_NE(refusals(*registry).find("the file is empty"), std::string::npos);
  EXPECT_TRUE(registry->device("mini").ok());
}

TEST(Registry, OptionsOfTheManifestReachInitialize) {
  EXPECT_EQ(refusalsWith(R"("options": {"refusal": "it is for show"})"),
            "it is for show\n");
  EXPECT_NE(refusalsWith(R"("options": {"colour": "red"})")
                .find("the one option is refusal"),
            std::string::npos);
  EXPECT_NE(refusalsWith(R"("options": {"refusal": 1})")
                .find("\"options\": \"refusal\" is not a string"),
            std::string::npos);
  EXPECT_NE(refusalsWith(R"("options": ["refusal"])")
                .find("\"options\" is not an object"),
            std::string::npos);
}

struct MiniRegistry : testing::Test {
  MiniRegistry() {
    folder.addDriver(BP_MINI_PLUGIN, "mini");
    registry = Registry::create(folder.options(), nullptr);
  }
  std::string failure(const std::string &uri) {
    auto device = registry->device(uri);
    EXPECT_FALSE(device.ok()) << uri;
    return device.message();
  }
  PluginFolder folder;
  std::shared_ptr<Registry> registry;
};

TEST_F(MiniRegistry, ListsUsableAndRefusedDevices) {
  ASSERT_EQ(registry->listings().size(), 3u);
  EXPECT_EQ(registry->listings()[0].refusal, "it has no power");
  EXPECT_EQ(registry->listings()[1].uri, "mini://plain");
  EXPECT_EQ(registry->listings()[1].refusal, "");
  EXPECT_TRUE(registry->listings()[1].info->hasFormat("mini"));
}

TEST_F(MiniRegistry, OpensByNameIdAndNumber) {
  auto first = registry->device("mini");
  ASSERT_TRUE(first.ok()) << first.message();
  EXPECT_EQ((*first)->uri(), "mini://plain");
  EXPECT_EQ(*registry->device("mini://plain"), *first);
  EXPECT_EQ(*registry->device("mini://"), *first);
  EXPECT_EQ(*registry->device("mini://1"), *first);
  EXPECT_EQ((*registry->device("mini://waiting"))->uri(), "mini://waiting");
}

TEST_F(MiniRegistry, DescribesTheDeviceThatIsMeant) {
  auto plain = registry->listing("mini"), other = registry->listing("mini://2");
  ASSERT_TRUE(plain.ok()) << plain.message();
  ASSERT_TRUE(other.ok()) << other.message();
  EXPECT_EQ(plain->uri, "mini://plain");
  EXPECT_EQ(other->uri, "mini://waiting");
  EXPECT_EQ(other->info->id(), "waiting");
  EXPECT_EQ(other->plugin, "mini");
  EXPECT_EQ(other->manifest, registry->listings()[1].manifest);
  for (const char *uri : {"mimi", "mini://broken", "mini://plain?x"})
    EXPECT_EQ(registry->listing(uri).message(), failure(uri));
}

TEST_F(MiniRegistry, RefusesWithAHint) {
  EXPECT_NE(failure("mimi").find("did you mean \"mini\"?"), std::string::npos);
  EXPECT_NE(failure("mini://plane").find("did you mean \"plain\"?"),
            std::string::npos);
  EXPECT_NE(failure("mini://broken").find("it has no power"),
            std::string::npos);
  EXPECT_NE(failure("mini://plain?x=1").find("no option is known"),
            std::string::npos);
  EXPECT_NE(failure("mini://plain?x").find("key=value"), std::string::npos);
  EXPECT_NE(failure("mini://plain?x=1&x=2").find("given twice"),
            std::string::npos);
  EXPECT_NE(failure("").find("no driver name"), std::string::npos);
  EXPECT_NE(failure("MINI").find("no driver name"), std::string::npos);
  EXPECT_NE(failure(std::string(5000, 'm')).find("longer than"),
            std::string::npos);
}

TEST_F(MiniRegistry, DevicesOutliveTheRegistry) {
  auto device = *registry->device("mini");
  auto buffer = *device->allocate(64);
  device.reset();
  registry.reset();
  std::vector<uint8_t> data(64, 7), back(64);
  EXPECT_TRUE(buffer->write(0, data).ok());
  EXPECT_TRUE(buffer->read(0, back).ok());
  EXPECT_EQ(back, data);
}

TEST(Options, ComeFromTheApplication) {
  bp_string_t select = toC("a*");
  bp_context_options_t c = {BP_HEADER(bp_context_options_t)};
  c.select = &select;
  c.select_count = 1;
  c.cache_dir = toC("-");
  c.threads = 3;
  auto options = loaderOptions(&c);
  ASSERT_TRUE(options.ok()) << options.message();
  EXPECT_EQ(options->select, std::vector<std::string>{"a*"});
  EXPECT_EQ(options->cacheDir, "");
  EXPECT_EQ(options->threads, 3u);
  EXPECT_FALSE(options->searchDirs.empty());
  c.select = nullptr;
  EXPECT_FALSE(loaderOptions(&c).ok());
  c.select = &select;
  c.reserved = 1;
  EXPECT_FALSE(loaderOptions(&c).ok());
  c.reserved = 0;
  c.header.type = 3;
  EXPECT_FALSE(loaderOptions(&c).ok());
  EXPECT_TRUE(loaderOptions(nullptr).ok());
}

TEST(Options, ComeFromTheEnvironment) {
  setenv("BACKPLANE_PLUGIN_FILES", "/a.bp.json:/b.bp.json", 1);
  setenv("BACKPLANE_PLUGINS_DISABLE", "x*,y", 1);
  setenv("BACKPLANE_THREADS", "5", 1);
  bp_context_options_t c = {BP_HEADER(bp_context_options_t)};
  contextOptionsFromEnvironment(&c);
  auto options = *loaderOptions(&c);
  EXPECT_EQ(*options.pluginFiles,
            (std::vector<std::string>{"/a.bp.json", "/b.bp.json"}));
  EXPECT_EQ(options.disable, (std::vector<std::string>{"x*", "y"}));
  EXPECT_EQ(options.threads, 5u);
  c = {BP_HEADER(bp_context_options_t)};
  c.threads = 1;
  contextOptionsFromEnvironment(&c);
  EXPECT_EQ(c.threads, 1u);
}

TEST(Options, AreTakenFromTheEnvironment) {
  setenv("BACKPLANE_PLUGIN_FILES", "/a.bp.json", 1);
  setenv("BACKPLANE_CACHE_DIR", "/tmp/taken", 1);
  setenv("BACKPLANE_THREADS", "many", 1);
  const bp_context_options_t refused = takeEnvironment();
  EXPECT_FALSE(loaderOptions(&refused).ok());
  EXPECT_NE(getenv("BACKPLANE_CACHE_DIR"), nullptr);
  setenv("BACKPLANE_THREADS", "3", 1);
  const bp_context_options_t c = takeEnvironment();
  auto options = *loaderOptions(&c);
  EXPECT_EQ(options.cacheDir, "/tmp/taken");
  EXPECT_EQ(options.threads, 3u);
  for (const char *gone :
       {"BACKPLANE_PLUGIN_FILES", "BACKPLANE_CACHE_DIR", "BACKPLANE_THREADS"})
    EXPECT_EQ(getenv(gone), nullptr) << gone;
}

TEST(Options, SystemFolderIsNeverTheWorkingDirectory) {
  std::string dir = systemPluginDir();
  EXPECT_EQ(dir.front(), '/');
  EXPECT_TRUE(dir.ends_with("lib/backplane/plugins")) << dir;
}

} // namespace
