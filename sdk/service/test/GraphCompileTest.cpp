// SPDX-License-Identifier: Apache-2.0
//
// Portable graphs as the source of artifacts, and what targets declare.
#include "Compiling.h"
#include "backplane/compiler.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

Bytes doubling() {
  Graph graph;
  graph.name = "double";
  ValueId x = graph.addInput("x", {DType::F32, {Dim(4)}});
  auto sum = graph.add("add", {x, x});
  graph.addOutput(sum->at(0), "y");
  return writeGraph(graph);
}

Context open() {
  Result<Context> context = compilerContext();
  EXPECT_TRUE(context.ok()) << context.message();
  return context ? std::move(*context) : Context();
}

float firstOutput(const Artifact &artifact, const char *device) {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC(device);
  auto session = createSession(artifact, options);
  EXPECT_TRUE(session.ok()) << session.message();
  Floats x({4}, 3), y({4});
  if (session)
    EXPECT_EQ(runSession(*session, {x.c()}, {y.c()}).message(), "");
  return y.values[0];
}

TEST(CompileGraph, GivesAnArtifactWhoseBytesCanTravel) {
  Context context = open();
  for (const char *driver : {"host", "ref"}) {
    Result<Artifact> artifact = compileGraph(context, doubling(), driver);
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    bp_bytes_t bytes = bp_artifact_bytes(artifact->get());
    bp_artifact_t *copy = nullptr;
    ASSERT_EQ(bp_artifact_open_bytes(context.get(), bytes, &copy, nullptr),
              BP_STATUS_OK);
    artifact->reset();
    EXPECT_EQ(firstOutput(Artifact(copy), driver), 6);
  }
}

TEST(CompileGraph, RefusesAnyOtherBytes) {
  Context context = open();
  Bytes wire = doubling();
  for (size_t size = 0; size < wire.size(); size += 7)
    EXPECT_FALSE(compileGraph(
        context, Bytes(wire.begin(), wire.begin() + long(size)), "ref"));
  bp_artifact_t *out = nullptr;
  EXPECT_NE(bp_artifact_open_bytes(context.get(), {wire.data(), wire.size()},
                                   &out, nullptr),
            BP_STATUS_OK);
}

TEST(CompileGraph, TakesAFileOfAGraph) {
  Context context = open();
  Folder folder;
  Bytes wire = doubling();
  std::string path = folder / "double.bpg";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(wire.data()), long(wire.size()));
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  auto artifact = compileModel(context, path, options);
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  EXPECT_EQ(firstOutput(*artifact, "host"), 6);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << "not a graph";
  EXPECT_FALSE(compileModel(context, path, options).ok());
}

struct Seen {
  int targets = 0;
  std::string chosen;
  bool computesF32 = false;
  std::map<std::string, std::string> misfits;
};

bp_status_t see(void *context, const bp_target_listing_t *listing) {
  auto &seen = *static_cast<Seen *>(context);
  ++seen.targets;
  std::string name(view(listing->target->name));
  seen.misfits[name] = view(listing->misfit);
  if (listing->chosen) {
    seen.chosen = name;
    seen.computesF32 = listing->target->compute_dtypes >> BP_DTYPE_F32 & 1;
  }
  return BP_STATUS_OK;
}

TEST(Targets, AreListedForADevice) {
  Context context = open();
  Seen seen;
  bp_target_listing_sink_t sink = {see, &seen};
  ASSERT_EQ(bp_context_targets(context.get(), toC("ref"), &sink, nullptr),
            BP_STATUS_OK);
  EXPECT_GE(seen.targets, 3);
  EXPECT_EQ(seen.chosen, "ref");
  EXPECT_TRUE(seen.computesF32);
  EXPECT_EQ(seen.misfits["ref"], "");
  EXPECT_NE(seen.misfits[ownTarget], "");
  EXPECT_NE(bp_context_targets(context.get(), toC("absent"), &sink, nullptr),
            BP_STATUS_OK);
}

} // namespace
