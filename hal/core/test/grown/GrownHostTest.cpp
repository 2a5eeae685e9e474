// SPDX-License-Identifier: Apache-2.0
//
// A host of a later minor version, whose structs are all larger, loads plug-ins
// of earlier versions, of today and of its own: lists devices and targets,
// compiles a graph and runs it.
#include "hal/core/CompilerCalls.h"
#include "hal/core/Device.h"
#include "hal/core/Registry.h"
#include "hal/core/test/PluginFolder.h"
#include "sdk/graph/GraphTable.h"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

using namespace backplane;

namespace {

// This program is built with headers that have grown.
static_assert(offsetof(bp_host_t, grown_number) > offsetof(bp_host_t, post));
static_assert(offsetof(bp_target_t, grown_number) >
              offsetof(bp_target_t, numerics_count));

/// Libraries of the reference backend, under the name that each has.
std::vector<std::string> plugins() {
  std::vector<std::string> libraries = {BP_TODAY_PLUGIN, BP_GROWN_PLUGIN};
  const std::string old = BP_OLD_PLUGINS;
  if (old.empty())
    return libraries;
  for (const auto &file : std::filesystem::recursive_directory_iterator(old))
    if (file.path().extension() == ".so")
      libraries.push_back(file.path());
  return libraries;
}

std::string nameOf(const std::string &library) {
  return library.ends_with("libacme.so") ? "acme" : "ref";
}

/// c = a + b, of three elements each.
Graph addition() {
  Graph graph;
  graph.name = "add";
  ValueId a = graph.addInput("a", {DType::I32, {Dim(3)}});
  ValueId b = graph.addInput("b", {DType::I32, {Dim(3)}});
  auto sum = graph.add("add", {a, b});
  EXPECT_TRUE(sum.ok()) << sum.message();
  graph.addOutput((*sum)[0], "c");
  return graph;
}

/// A compiled graph with memory of its own.
struct Code {
  std::vector<uint8_t> blob;
  Entry entry;
};

Code codeOf(const bp_compiled_t &compiled) {
  Code code;
  const auto *bytes = static_cast<const uint8_t *>(compiled.blob.data);
  code.blob.assign(bytes, bytes + compiled.blob.size);
  const bp_entry_t &entry = *compiled.entry;
  code.entry.name = view(entry.name);
  code.entry.bindingAccess.assign(entry.binding_access,
                                  entry.binding_access + entry.binding_count);
  code.entry.constantCount = entry.constant_count;
  code.entry.workspaceBytes = entry.workspace_bytes;
  return code;
}

struct GrownHost : testing::TestWithParam<std::string> {
  void SetUp() override {
    name = nameOf(GetParam());
    folder.addLibrary(GetParam(), "lib.so");
    folder.addFile("a.bp.json",
                   R"({"format": 1, "name": ")" + name +
                       R"(", "version": "0.1.0", "driver": "lib.so",)" +
                       R"("abi": {"major": 0, "minor_low": 1},)" +
                       R"("compiler": "lib.so"})");
    registry = Registry::create(folder.options(), graphTable());
    ASSERT_EQ(registry->compilers().size(), 1u)
        << registry->listings()[0].refusal;
  }

  Code compile() {
    bp_graph_t *graph = wrapGraph(addition());
    bp_compile_request_t request = {BP_HEADER(bp_compile_request_t)};
    request.target = toC(target);
    request.graph = graph;
    request.graph_table = graphTable();
    request.entry_name = toC("add");
    Code code;
    Status status = callCompile(registry->compilers()[0], request,
                                [&](const bp_compiled_t &compiled) {
                                  code = codeOf(compiled);
                                  return Status();
                                });
    graphTable()->graph_close(graph);
    EXPECT_TRUE(status.ok()) << status.message();
    return code;
  }

  PluginFolder folder;
  std::string name, target, format;
  std::shared_ptr<Registry> registry;
};

std::span<const uint8_t> bytes(const std::vector<int32_t> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4};
}

TEST_P(GrownHost, RunsThePlugin) {
  Status status =
      callTargets(registry->compilers()[0], [&](const bp_target_t &from) {
        target = view(from.name);
        format = view(from.format);
        EXPECT_EQ(from.grown_number, 0u);
        return Status();
      });
  ASSERT_TRUE(status.ok()) << status.message();
  Code code = compile();
  auto device = registry->device(name);
  ASSERT_TRUE(device.ok()) << device.message();
  auto executable = (*device)->load(format, code.blob, {code.entry});
  ASSERT_TRUE(executable.ok()) << executable.message();
  Dispatch dispatch;
  dispatch.executable = *executable;
  for (int i = 0; i < 3; ++i)
    dispatch.bindings.push_back({*(*device)->allocate(12), 0, 12, 0});
  ASSERT_TRUE(dispatch.bindings[0].buffer->write(0, bytes({1, 2, 3})).ok());
  ASSERT_TRUE(dispatch.bindings[1].buffer->write(0, bytes({10, 20, 30})).ok());
  std::shared_ptr<Buffer> result = dispatch.bindings[2].buffer;
  Command command = std::move(dispatch);
  status = (*(*device)->createQueue())->run({&command, 1});
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<int32_t> sums(3);
  ASSERT_TRUE(
      result->read(0, {reinterpret_cast<uint8_t *>(sums.data()), 12}).ok());
  EXPECT_EQ(sums, (std::vector<int32_t>{11, 22, 33}));
}

TEST_P(GrownHost, KeepsTheMinorVersions) {
  const DeviceListing listing = registry->listings()[0];
  EXPECT_EQ(listing.refusal, "");
  EXPECT_EQ(listing.requiredMinor, 1u);
  EXPECT_GE(listing.builtMinor, 1u);
  EXPECT_LE(listing.builtMinor, uint32_t(BP_ABI_MINOR));
  if (GetParam() == BP_GROWN_PLUGIN)
    EXPECT_EQ(listing.builtMinor, uint32_t(BP_ABI_MINOR));
}

INSTANTIATE_TEST_SUITE_P(All, GrownHost, testing::ValuesIn(plugins()));

} // namespace
