// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Manifest.h"
#include "PluginFolder.h"
#include "hal/core/CpuInfo.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace backplane;

namespace {

constexpr const char *good =
    R"({"format": 1, "name": "acme", "version": "1.2.3", "vendor": "Acme",
        "arch": "x86_64", "abi": {"major": 0, "minor_low": 1},
        "driver": "lib.so", "compiler": "lib.so",
        "cpu_features": ["avx2", "fma"], "options": {}})";

/// `good` with one piece of text replaced.
std::string with(const std::string &from, const std::string &to) {
  std::string text = good;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct ManifestTest : testing::Test {
  ManifestTest() { folder.addFile("lib.so", "not looked at"); }

  std::string refusalOf(const std::string &text) {
    auto manifest = readManifest(folder.addFile("a.bp.json", text), {});
    EXPECT_FALSE(manifest.ok()) << text;
    if (manifest)
      return "";
    EXPECT_EQ(manifest.message().find('\n'), std::string::npos);
    EXPECT_NE(manifest.message().find("a.bp.json"), std::string::npos);
    return manifest.message();
  }
  void expectRefusal(const std::string &text, const std::string &reason) {
    std::string found = refusalOf(text);
    EXPECT_NE(found.find(reason), std::string::npos)
        << found << "\n  does not say: " << reason;
  }

  PluginFolder folder;
};

TEST_F(ManifestTest, ReadsEverything) {
  auto manifest = readManifest(folder.addFile("a.bp.json", good), {});
  ASSERT_TRUE(manifest.ok()) << manifest.message();
  EXPECT_EQ(manifest->name, "acme");
  EXPECT_EQ(manifest->version, "1.2.3");
  EXPECT_EQ(manifest->vendor, "Acme");
  EXPECT_EQ(manifest->driver, folder.path("lib.so"));
  EXPECT_EQ(manifest->compiler, manifest->driver);
  EXPECT_EQ(manifest->cpuFeatures, (std::vector<std::string>{"avx2", "fma"}));
}

TEST_F(ManifestTest, ReadsALibraryOfPasses) {
  auto manifest = readManifest(
      folder.addFile("a.bp.json",
                     with("\"options\": {}",
                          R"("passes": {"library": "lib.so", "llvm": "22.1.8",
                  "list": [{"name": "acme-one", "stage": "lower",
                            "summary": "One thing"}]})")),
      {});
  ASSERT_TRUE(manifest.ok()) << manifest.message();
  EXPECT_EQ(manifest->passes.path, folder.path("lib.so"));
  EXPECT_EQ(manifest->passes.llvm, "22.1.8");
  ASSERT_EQ(manifest->passes.passes.size(), 1u);
  EXPECT_EQ(manifest->passes.passes[0].name, "acme-one");
  EXPECT_EQ(manifest->passes.passes[0].stage, "lower");
  EXPECT_EQ(manifest->passes.passes[0].summary, "One thing");
}

TEST_F(ManifestTest, RefusesABadLibraryOfPasses) {
  auto passes = [](const std::string &text) {
    return with("\"options\": {}", "\"passes\": " + text);
  };
  auto listing = [&](const std::string &list) {
    return passes(R"({"library": "lib.so", "llvm": "22.1.8", "list": )" + list +
                  "}");
  };
  const std::string one =
      R"({"name": "acme-one", "stage": "lower", "summary": "x"})";
  expectRefusal(passes("3"), "\"passes\" is not an object");
  expectRefusal(passes(R"({"library": "lib.so"})"),
                "\"passes\": \"llvm\" is missing");
  expectRefusal(passes(R"({"library": "lib.so", "llvm": "22.1.8"})"),
                "\"passes\": \"list\" names no pass");
  expectRefusal(listing("[]"), "\"list\" names no pass");
  expectRefusal(listing("[3]"), "\"list\" is not a list of objects");
  expectRefusal(listing("[" + one + ", " + one + "]"),
                "is there twice: acme-one");
  expectRefusal(
      listing(R"([{"name": "bp-one", "stage": "lower", "summary": "x"}])"),
      "is not \"acme-\" and more of a-z, 0-9 and -: bp-one");
  expectRefusal(listing(R"([{"name": "acme-one", "stage": "lower"}])"),
                "\"summary\" is missing");
  expectRefusal(passes(R"({"library": "no.so", "llvm": "22.1.8", "list": [)" +
                       one + "]}"),
                "\"library\": no.so: No such file");
  std::string text = listing("[" + one + "]");
  const std::string compiler = "\"compiler\": \"lib.so\",";
  text.replace(text.find(compiler), compiler.size(), "");
  expectRefusal(text, "pipelines of a \"compiler\"");
}

TEST_F(ManifestTest, RefusesBadJson) {
  expectRefusal("", "not valid JSON");
  expectRefusal("{\"format\": 1", "not valid JSON");
  expectRefusal("[1, 2]", "not a JSON object");
  expectRefusal("\xFF\xFE{}", "not valid JSON");
  expectRefusal(std::string(40000, '['), "not valid JSON");
  expectRefusal(std::string(30000, '[') + std::string(30000, ']'),
                "not a JSON object");
  expectRefusal(good + std::string(70000, ' '), "larger than 64 KiB");
}

TEST_F(ManifestTest, RefusesMissingMembers) {
  expectRefusal("{}", "\"format\" is missing");
  expectRefusal(R"({"format": 1, "version": "1.0.0"})", "\"name\" is missing");
  expectRefusal(R"({"format": 1, "name": "a"})", "\"version\" is missing");
  expectRefusal(R"({"format": 1, "name": "a", "version": "1"})",
                "\"abi\" is missing");
  expectRefusal(with(", \"minor_low\": 1", ""), "\"minor_low\" is missing");
  expectRefusal(
      R"({"format": 1, "name": "a", "version": "1.0.0",
          "abi": {"major": 0, "minor_low": 1}})",
      "names no library: a \"driver\", a \"compiler\" or \"kernels\"");
}

TEST_F(ManifestTest, RefusesUnknownMembers) {
  const char *is = " is not a member that a manifest has";
  expectRefusal(with("\"name\"", "\"nane\""),
                std::string("\"nane\"") + is + ", did you mean \"name\"?");
  expectRefusal(with("\"options\"", "\"colour\""),
                std::string("\"colour\"") + is);
  expectRefusal(with("\"minor_low\"", "\"minor_lov\""),
                "\"abi\": \"minor_lov\"");
  expectRefusal(
      with("\"options\"", "\"sha256\": {\"drivr\": \"\"}, \"options\""),
      "\"sha256\": \"drivr\"");
  expectRefusal(with("\"options\"", "\"conformance\": {\"x\": 1}, \"options\""),
                "\"conformance\": \"x\"");
}

TEST_F(ManifestTest, BadJsonHasALineAndAColumn) {
  expectRefusal("{\"format\": 1,\n \"name\": acme}",
                "not valid JSON, line 2, column 10: syntax error");
  expectRefusal("", "not valid JSON, line 1, column 1");
  expectRefusal("{\"format\": 1e999}", "not valid JSON");
}

TEST_F(ManifestTest, ANameOfAnotherVendorIsNotTaken) {
  folder.addFile("a.bp.json", good);
  folder.addFile(
      "b.bp.json",
      with("\"Acme\"", "\"Other\"")
          .replace(with("\"Acme\"", "\"Other\"").find("1.2.3"), 5, "9.9.9"));
  bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
  cpu.architecture = toC("x86_64");
  cpu.features = toC("avx2,fma");
  auto found = findManifests(folder.options(), cpu);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].refusal, "");
  EXPECT_EQ(found[1].refusal, "the name \"acme\" is that of " + found[0].path +
                                  " by vendor \"Acme\"; give this plug-in "
                                  "another name");
}

TEST_F(ManifestTest, RefusesWrongBudgets) {
  for (const char *budget : {"-1", "1.5", "9007199254740993", "\"many\""})
    expectRefusal(with("\"options\"", "\"conformance\": {\"multiply_adds\": " +
                                          std::string(budget) +
                                          "}, \"options\""),
                  "\"conformance\": \"multiply_adds\" is not an integer");
  expectRefusal(with("\"options\"", "\"conformance\": 3, \"options\""),
                "\"conformance\" is not an object");
}

TEST_F(ManifestTest, RefusesWrongTypes) {
  expectRefusal(with("1,", "\"1\","), "\"format\" is not");
  expectRefusal(with("1,", "-1,"), "\"format\" is not");
  expectRefusal(with("1,", "1e300,"), "\"format\" is not");
  expectRefusal(with("1,", "99999999999999999999999,"), "\"format\" is not");
  expectRefusal(with("1,", "2,"), "\"format\" is 2");
  expectRefusal(with("\"acme\"", "7"), "\"name\" is not a string");
  expectRefusal(with("\"acme\"", "null"), "\"name\" is not a string");
  expectRefusal(with("\"acme\"", "\"Acme!\""), "\"name\" is not of the form");
  expectRefusal(with("\"lib.so\"", "[]"), "\"driver\" is not a string");
  expectRefusal(with("[\"avx2\", \"fma\"]", "\"avx2\""), "is not a list");
  expectRefusal(with("[\"avx2\", \"fma\"]", "[1]"), "is not a list");
  expectRefusal(with("{\"major\": 0, \"minor_low\": 1}", "3"),
                "\"abi\" is not an object");
  expectRefusal(
      with("\"options\"", "\"sha256\": {\"driver\": \"zz\"}, \"options\""),
      "hexadecimal");
  expectRefusal(with("\"Acme\"", "\"" + std::string(500, 'x') + "\""),
                "\"vendor\" is longer");
}

TEST_F(ManifestTest, RefusesPathsOutsideOfItsFolder) {
  PluginFolder other;
  std::string outside = other.addFile("lib.so", "x");
  expectRefusal(with("\"lib.so\"", "\"" + outside + "\""), "absolute path");
  expectRefusal(with("\"lib.so\"", "\"../../../../etc/passwd\""), "\"driver\"");
  std::filesystem::create_symlink(outside, folder.path("link.so"));
  expectRefusal(with("\"lib.so\"", "\"link.so\""), "outside of the manifest");
  expectRefusal(with("\"lib.so\"", "\"missing.so\""), "No such file");
  expectRefusal(with("\"lib.so\"", "\".\""), "outside of the manifest");
}

TEST_F(ManifestTest, FiltersBeforeLoading) {
  Manifest manifest = *readManifest(folder.addFile("a.bp.json", good), {});
  bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
  cpu.architecture = toC("x86_64");
  cpu.features = toC("avx,avx2,avx512f,fma");
  LoaderOptions options;
  EXPECT_EQ(manifestRefusal(manifest, options, cpu), "");
  options.select = {"nv*"};
  EXPECT_EQ(manifestRefusal(manifest, options, cpu),
            "not selected by the options");
  options.select = {"nv*", "a?me"};
  EXPECT_EQ(manifestRefusal(manifest, options, cpu), "");
  options.disable = {"*"};
  EXPECT_EQ(manifestRefusal(manifest, options, cpu), "disabled by the options");
  options.disable.clear();
  cpu.features = toC("avx,avx512f,fma");
  EXPECT_NE(manifestRefusal(manifest, options, cpu).find("avx2"),
            std::string::npos);
  cpu.features = toC("avx2,fma");
  cpu.architecture = toC("aarch64");
  EXPECT_NE(manifestRefusal(manifest, options, cpu).find("aarch64"),
            std::string::npos);
  cpu.architecture = toC("x86_64");
  manifest.abi = {{1, 0}};
  EXPECT_NE(manifestRefusal(manifest, options, cpu).find("major version 1"),
            std::string::npos);
  manifest.abi = {{0, 99}};
  EXPECT_NE(manifestRefusal(manifest, options, cpu).find("0.99"),
            std::string::npos);
}

TEST_F(ManifestTest, OneOfSeveralMajorVersionsIsEnough) {
  auto refusal = [&](const std::string &versions) {
    auto manifest = readManifest(
        folder.addFile("a.bp.json",
                       with("{\"major\": 0, \"minor_low\": 1}", versions)),
        {});
    bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
    cpu.architecture = toC("x86_64");
    cpu.features = toC("avx2,fma");
    return manifest ? manifestRefusal(*manifest, {}, cpu) : manifest.message();
  };
  const std::string later = R"({"major": 1, "minor_low": 7})";
  const std::string now = R"({"major": 0, "minor_low": 1})";
  EXPECT_EQ(refusal("[" + later + ", " + now + "]"), "");
  EXPECT_EQ(refusal("[" + now + ", " + later + "]"), "");
  EXPECT_NE(refusal("[" + later + R"(, {"major": 2, "minor_low": 0}])")
                .find("needs ABI major version 1 or 2, this host has 0"),
            std::string::npos);
  for (const char *wrong : {"[]", "[3]", "[[]]"})
    EXPECT_NE(refusal(wrong).find("is not an object or a list of objects"),
              std::string::npos);
  EXPECT_NE(refusal(R"([{"major": 0}])").find("\"minor_low\" is missing"),
            std::string::npos);
}

TEST_F(ManifestTest, HighestVersionWinsAndBothAreListed) {
  folder.addFile("a.bp.json", with("1.2.3", "1.9.0"));
  folder.addFile("b.bp.json", with("1.2.3", "1.10.0"));
  folder.addFile("c.bp.json", with("1.2.3", "1.10.0"));
  folder.addFile("ignored.json", "garbage");
  bp_host_cpu_t cpu = {BP_HEADER(bp_host_cpu_t)};
  cpu.architecture = toC("x86_64");
  cpu.features = toC("avx2,fma");
  auto found = findManifests(folder.options(), cpu);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0].refusal.find("gives way to version 1.10.0"),
            std::string::npos);
  EXPECT_EQ(found[1].refusal, "");
  EXPECT_NE(found[2].refusal.find(found[1].path), std::string::npos);
}

TEST_F(ManifestTest, PluginFilesReplaceTheSearch) {
  std::string file = folder.addFile("a.bp.json", good);
  PluginFolder other;
  LoaderOptions options = other.options();
  const CpuInfo detected = CpuInfo::detect();
  const bp_host_cpu_t &cpu = detected.c();
  EXPECT_TRUE(findManifests(options, cpu).empty());
  options.addPluginFiles = {file};
  EXPECT_EQ(findManifests(options, cpu).size(), 1u);
  options.pluginFiles = {other.path("nowhere.bp.json")};
  auto found = findManifests(options, cpu);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].refusal.find("nowhere.bp.json"), std::string::npos);
}

TEST(Versions, CompareNumerically) {
  EXPECT_LT(compareVersions("1.9.0", "1.10.0"), 0);
  EXPECT_GT(compareVersions("2", "1.99.99"), 0);
  EXPECT_EQ(compareVersions("1.0.0", "1"), 0);
  EXPECT_EQ(compareVersions("99999999999999999999", "99999999999999999998"), 0);
}

TEST(FileHash, KnowsTheStandardVectors) {
  auto hash = [](const std::string &text) { return sha256(asBytes(text)); };
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223"
                         "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb924"
                      "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

} // namespace
