// SPDX-License-Identifier: Apache-2.0
//
// A plug-in of classes (backplane/cpp/) through its tables: exceptions at each
// entry, and through the registry.
#include "ClassesPlugin.h"
#include "PluginFolder.h"
#include "hal/core/Registry.h"

namespace backplane {
namespace {

constexpr const char *members[] = {
    "initialize", "enumerate",   "open",         "targets",     "claim",
    "compile",    "graphPasses", "runGraphPass", "describe",    "allocate",
    "write",      "read",        "map",          "import",      "load",
    "record",     "createQueue", "run",          "executeTimed"};

TEST(CppPlugin, WorksAtEachEntry) {
  for (const char *library : {BP_CLASSES_PLUGIN, BP_CLASSES_PLAIN_PLUGIN})
    for (const char *member : members) {
      Loaded loaded("", "", library);
      EXPECT_EQ(call(loaded, member), BP_STATUS_OK)
          << member << ": " << loaded.error.message;
    }
}

TEST(CppPlugin, StopsExceptionsAtEachEntry) {
  for (const char *member : members) {
    Loaded loaded(member);
    EXPECT_EQ(call(loaded, member), BP_STATUS_INTERNAL) << member;
    EXPECT_EQ(loaded.error.message, std::string("thrown in ") + member);
  }
}

TEST(CppPlugin, KeepsWhatAnExceptionSays) {
  for (auto [what, code, text] :
       {std::tuple("memory", BP_STATUS_RESOURCE_EXHAUSTED, "out of memory"),
        std::tuple("failure", BP_STATUS_NOT_FOUND, "it is not there"),
        std::tuple("number", BP_STATUS_INTERNAL, "no std::exception")})
    for (const char *member : {"initialize", "targets", "run"}) {
      Loaded loaded(member, what);
      EXPECT_EQ(call(loaded, member), code) << what << " " << member;
      EXPECT_NE(loaded.error.message.find(text), std::string::npos)
          << loaded.error.message;
    }
}

TEST(CppPlugin, TakesAnErrorThatIsNull) {
  Loaded loaded("targets");
  const bp_target_sink_t sink = {nullptr, nullptr};
  EXPECT_EQ(loaded.info.compiler->targets(loaded.self, &sink, nullptr),
            BP_STATUS_INTERNAL);
}

TEST(CppPlugin, RefusesUnknownOptions) {
  Loaded loaded;
  void *self = nullptr;
  const bp_option_t unknown = {toC("colour"), toC("red")};
  const bp_options_t options = {&unknown, 1};
  EXPECT_EQ(loaded.info.plugin->initialize(&loaded.table, &options, &self,
                                           &loaded.error),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(loaded.error.message,
            "classes has no option 'colour'; leave it out");
}

/// A refused claim has its reason.
TEST(CppPlugin, ClaimsAndRefuses) {
  Loaded loaded;
  std::string reason;
  const bp_string_sink_t sink = {[](void *context, bp_string_t text) {
                                   *static_cast<std::string *>(context) =
                                       view(text);
                                   return bp_status_t(BP_STATUS_OK);
                                 },
                                 &reason};
  bp_claim_t claim = {BP_HEADER(bp_claim_t), 1, {}, 0, &sink};
  bp_graph_t *graph = smallGraph();
  EXPECT_EQ(loaded.info.compiler->claim(loaded.self, toC("classes-target"),
                                        graph, graphTable(), &claim, nullptr),
            BP_STATUS_OK);
  graphTable()->graph_close(graph);
  EXPECT_FALSE(claim.supported);
  EXPECT_EQ(reason, "no products, found matmul");
}

TEST(CppPlugin, IsFoundByTheRegistry) {
  PluginFolder folder;
  folder.addLibrary(BP_CLASSES_PLUGIN, "libclasses.so");
  folder.addFile("classes.bp.json",
                 R"({"format": 1, "name": "classes", "version": "1.0.0",
                     "abi": {"major": 0, "minor_low": 1},
                     "driver": "libclasses.so", "compiler": "libclasses.so",
                     "kernels": "libclasses.so"})");
  auto registry = Registry::create(folder.options(), graphTable());
  auto listings = registry->listings();
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_EQ(listings[0].refusal, "");
  EXPECT_EQ(listings[0].uri, "classes://one");
  EXPECT_EQ(listings[0].requiredMinor, 1u);
  EXPECT_EQ(registry->compilers().size(), 1u);
  EXPECT_EQ(registry->kernelSets().size(), 1u);
  EXPECT_TRUE(registry->device("classes").ok());
}

} // namespace
} // namespace backplane
