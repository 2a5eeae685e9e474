// SPDX-License-Identifier: Apache-2.0
#include "Sample.h"
#include "backplane/hal.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace backplane;
using namespace backplane::sample;
namespace fs = std::filesystem;

namespace {

class Artifacts : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("bp-artifact-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = (folder_ / "model.bpx").string();
    fullArtifact(artifact_, pool_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Bytes contents() const {
    std::ifstream in(path_, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  void overwrite(const Bytes &bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char *>(bytes.data()),
              std::streamsize(bytes.size()));
  }
  /// The refusal of the file, without the path that it starts with.
  std::string refusal() const {
    auto file = ArtifactFile::open(path_);
    if (file.ok())
      return "opened";
    EXPECT_TRUE(file.message().starts_with(path_ + ": ")) << file.message();
    EXPECT_EQ(file.message().find('\n'), std::string::npos);
    return file.message().substr(path_.size() + 2);
  }
  /// The refusal of the writer after a change, without its introduction.
  std::string refusalOf(const std::function<void(fb::ArtifactT &)> &change) {
    fb::ArtifactT artifact;
    WeightPool pool;
    fullArtifact(artifact, pool);
    change(artifact);
    Status status = sample::write(path_, artifact, pool);
    if (status.ok())
      return "written";
    std::string text = status.message();
    size_t end = text.find("would take: ");
    return end == std::string::npos ? text : text.substr(end + 12);
  }

  fs::path folder_;
  std::string path_;
  fb::ArtifactT artifact_;
  WeightPool pool_;
};

TEST_F(Artifacts, ComesBackAsWritten) {
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.message();
  const ArtifactInfo &read = (*file)->metadata();
  EXPECT_EQ(read.model, "sample");
  EXPECT_EQ(read.variants[0].program.commands.size(), 9u);
  ASSERT_EQ(read.weights.size(), 2u);
  EXPECT_EQ(read.weights[1].offset, 64u);
  auto section = (*file)->weights();
  ASSERT_EQ(section.size(), 164u);
  EXPECT_EQ(uintptr_t(section.data()) % 4096, 0u);
  EXPECT_EQ(section[15], 1);
  EXPECT_EQ(section[16], 0);
  EXPECT_EQ(section[64], 2);
}

TEST_F(Artifacts, IsWrittenTheSameTwice) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes first = contents();
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  EXPECT_EQ(first, contents());
}

TEST_F(Artifacts, LeavesNothingBehindOnFailure) {
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = {4096, limit.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = sample::write(path_, artifact_, pool_);
  setrlimit(RLIMIT_FSIZE, &limit);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path_), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Artifacts, KeepsTheOldFileOnFailure) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes before = contents();
  artifact_.weights[0]->id = "missing";
  EXPECT_EQ(sample::write(path_, artifact_, pool_).code(), BP_STATUS_NOT_FOUND);
  EXPECT_EQ(before, contents());
}

TEST_F(Artifacts, RefusesAFolderThatIsNotThere) {
  std::string path = (folder_ / "none" / "model.bpx").string();
  Status status = sample::write(path, artifact_, pool_);
  EXPECT_EQ(status.message(), path + ": cannot create a file in its folder: "
                                     "No such file or directory");
}

TEST_F(Artifacts, RefusesForeignAndDamagedFiles) {
  EXPECT_EQ(refusal(), "cannot open it: No such file or directory");
  overwrite(Bytes(10, 'x'));
  EXPECT_EQ(refusal(), "has 10 bytes, too few for an artifact; it is "
                       "truncated or not a .bpx file");
  overwrite(Bytes(1000, 'x'));
  EXPECT_EQ(refusal(), "is not a .bpx file");
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes good = contents(), bytes = good;
  bytes.pop_back();
  overwrite(bytes);
  EXPECT_NE(refusal().find("it is truncated or damaged"), std::string::npos);
  bytes = good;
  bytes[4] = 9;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has artifact version 9, this build reads versions 2 "
                       "and 3; "
                       "compile the model again or update Backplane");
  bytes = good;
  bytes[100] ^= 1;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has damaged metadata; copy or compile it again");
  bytes = good;
  bytes.back() ^= 1;
  overwrite(bytes);
  EXPECT_NE(refusal().find("has a damaged weight"), std::string::npos);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(refusal(), "is not a regular file");
}

fb::ProgramT &program(fb::ArtifactT &a) { return *a.variants[0]->program; }
fb::DispatchT &firstDispatch(fb::ArtifactT &a) {
  return *program(a).commands[0]->body.AsDispatch();
}

/// Moves the transients of the control commands along with these.
void shiftControl(fb::ArtifactT &a, int by) {
  for (size_t i = 8; i < program(a).slots.size(); ++i)
    program(a).slots[i]->first = program(a).slots[i]->last += uint32_t(by);
}

TEST_F(Artifacts, RefusesABadSignature) {
  EXPECT_EQ(refusalOf([](auto &) {}), "written");
  EXPECT_EQ(refusalOf([](auto &a) { a.inputs[0]->dtype = 99; }),
            "input 0: it has unknown dtype 99");
  EXPECT_EQ(refusalOf([](auto &a) { a.inputs[0]->exprs.clear(); }),
            "input 0: it has size -1 at axis 0");
  EXPECT_EQ(refusalOf([](auto &a) { a.outputs[0]->exprs[1] = "m"; }),
            "output 0: expression 'm' uses symbol 'm', which no input axis "
            "gives");
  EXPECT_EQ(refusalOf([](auto &a) { a.symbols[0]->divisor = 0; }),
            "symbol 'n' has an empty range");
  EXPECT_EQ(refusalOf([](auto &a) { a.symbols[0]->name = "n+1"; }),
            "symbol name 'n+1' is not an identifier");
  EXPECT_NE(refusalOf([](auto &a) { a.checks[0]->rhs = "2*("; }), "written");
  EXPECT_EQ(refusalOf([](auto &a) { a.variables[0]->initial = 7; }),
            "variable 0 has no initial value of its size");
  EXPECT_EQ(refusalOf([](auto &a) { a.variants.clear(); }),
            "it holds no variant");
}

TEST_F(Artifacts, RefusesABadProgram) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf(change);
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).executable = 4; }),
            "program: command 0: it names executable 4, of 1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).entry = 1; }),
            "program: command 0: it names entry 1, of 1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).grid.pop_back(); }),
            "program: command 0: its grid has 2 sizes, not 3");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).constants.pop_back(); }),
            "program: command 0: it gives 1 constants and 4 bindings, entry "
            "'entry' takes 2 and 4");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[0]->slot = 99; }),
            "program: command 0: binding 0: it names slot 99, of 11");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[1]->slot = 0; }),
            "program: command 0: binding 1: it writes to a slot of kind Input");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[2]->length = "201"; }),
            "program: command 0: binding 2: it names 201 bytes at 0 of a slot "
            "of 200");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).constants[1] = "0-1"; }),
            "program: command 0: constant is -1");
  EXPECT_EQ(in([](auto &a) { program(a).slots[7]->reuse = -1; }),
            "program: slots 6 and 7 overlap while both are in use");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->last = 3; }),
            "program: slots 6 and 7 overlap while both are in use");
  EXPECT_EQ(in([](auto &a) { program(a).slots[5]->last = 3; }),
            "program: command 4 uses slot 5, which lives from command 0 to 3");
  EXPECT_EQ(in([](auto &a) {
              // Reads what the next command writes over, with no barrier.
              auto &commands = program(a).commands;
              commands.insert(commands.begin() + 2, copy(6, 3));
              commands[2]->body.AsCopy()->source->length = "16";
              shiftControl(a, 1);
              program(a).slots[5]->last = 5;
              program(a).slots[6]->last = program(a).slots[7]->first = 3;
            }),
            "program: slot 7: it reuses slot 6, which another command between "
            "the same barriers uses");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->offset = 32; }),
            "program: slot 6: it lies at 32 with 200 bytes, the arena has 256");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->last = 9; }),
            "program: slot 6: it is used from command 0 to 9, of 9");
  EXPECT_EQ(in([](auto &a) { program(a).slots[2]->index = 2; }),
            "program: slot 2: it names Weight 2, of 2");
  EXPECT_EQ(in([](auto &a) { program(a).slots[4]->index = 1; }),
            "program: slot 4: the init program writes no constant 1");
  EXPECT_EQ(in([](auto &a) { program(a).slots[3]->bytes = "17"; }),
            "program: slot 3: it has 17 bytes, what it names 16");
  EXPECT_EQ(in([](auto &a) {
              program(a).commands.erase(program(a).commands.begin() + 4);
              shiftControl(a, -1);
              program(a).slots[5]->last = 3;
              program(a).slots[7]->last = 3;
            }),
            "no command writes output 0");
  EXPECT_EQ(in([](auto &a) {
              a.variants[0]->init->slots[0]->kind = fb::SlotKind::Variable;
            }),
            "init program: slot 0: an init program cannot use it");
  EXPECT_EQ(in([](auto &a) { a.variants[0]->executables[0]->format = "x"; }),
            "executable 0 has format 'x', its variant 'elf-x86_64'");
  EXPECT_EQ(in([](auto &a) {
              a.variants[0]->executables[0]->entries[0]->access[0] = 4;
            }),
            "executable 0: entry 'entry' has unknown access 4");
}

TEST_F(Artifacts, KeepsWhatLaunchesHave) {
  extendLaunches(artifact_);
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  const Entry &entry = variant.executables[0].entries[0];
  EXPECT_EQ(entry.driverData, (std::vector<uint8_t>{7, 0, 255}));
  EXPECT_EQ(entry.subgroupSize, 32u);
  EXPECT_EQ(entry.parameterCount, 2u);
  const auto &dispatch =
      std::get<program::Dispatch>(variant.program.commands[0]);
  ASSERT_EQ(dispatch.parameters.size(), 2u);
  EXPECT_EQ(*dispatch.parameters[0].evaluate({{"n", 3}}), -3);
  EXPECT_EQ(*dispatch.parameters[1].evaluate({{"n", 3}}), 9000000063);
  EXPECT_EQ(dispatch.sharedBytes->str(), "256*n");
  EXPECT_EQ(dispatch.cluster, (std::array<uint32_t, 3>{2, 1, 4}));
  EXPECT_EQ(variant.requirements,
            (std::vector<std::string>{
                "launch.cluster", "launch.driver_data", "launch.parameters",
                "launch.shared_bytes", "launch.subgroup_size"}));
  EXPECT_EQ(variant.unknownRequirement, "");
}

TEST_F(Artifacts, RefusesBadLaunches) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      extendLaunches(a);
      change(a);
    });
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  auto entry = [](fb::ArtifactT &a) -> fb::EntryT & {
    return *a.variants[0]->executables[0]->entries[0];
  };
  EXPECT_EQ(in([](auto &) {}), "written");
  EXPECT_EQ(in([&](auto &a) { entry(a).driver_data.resize(1048576); }),
            "written");
  EXPECT_EQ(in([&](auto &a) { entry(a).parameter_count = 65; }),
            "executable 0: entry 'entry' has 65 parameters, the limit is 64");
  EXPECT_EQ(in([&](auto &a) { entry(a).driver_data.resize(1048577); }),
            "executable 0: entry 'entry' has 1048577 bytes for its driver, the "
            "limit is 1048576");
  for (uint32_t size : {3u, 2048u, 0x80000000u, 0xFFFFFFFFu})
    EXPECT_EQ(in([&](auto &a) { entry(a).subgroup_size = size; }),
              "executable 0: entry 'entry' asks for subgroups of " +
                  std::to_string(size) +
                  ", which is no power of two up to 1024");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).parameters.pop_back(); }),
            "program: command 0: it gives 1 parameters, entry 'entry' takes 2");
  EXPECT_NE(in([](auto &a) {
              firstDispatch(a).parameters[0] = "m";
            }).find("uses symbol 'm'"),
            std::string::npos);
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).shared_bytes = "0-1"; }),
            "program: command 0: shared memory is -1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).shared_bytes = "1073741825"; }),
            "program: command 0: shared memory is 1073741825");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).cluster = {1, 1}; }),
            "program: command 0: its cluster has 2 sizes, not 3");
  for (std::vector<uint32_t> cluster : {std::vector<uint32_t>{0, 1, 1},
                                        {1025, 1, 1},
                                        {64, 64, 1},
                                        {65536, 65536, 65536}})
    EXPECT_EQ(in([&](auto &a) { firstDispatch(a).cluster = cluster; }),
              "program: command 0: its cluster has no size between 1 and 1024 "
              "work-groups");
}

/// A native kernel with the entries of executable 0, in whose place command 0
/// runs.
static void addNative(fb::ArtifactT &artifact) {
  auto &executables = artifact.variants[0]->executables;
  auto native = std::make_unique<fb::ExecutableT>();
  native->format = "native";
  for (const auto &entry : executables[0]->entries)
    native->entries.push_back(std::make_unique<fb::EntryT>(*entry));
  native->native = std::make_unique<fb::NativeKernelT>();
  native->native->plugin = "acme";
  native->native->name = "attention";
  native->native->version = 7;
  executables.push_back(std::move(native));
  firstDispatch(artifact).fallback_for = uint32_t(executables.size());
}

TEST_F(Artifacts, KeepsNativeKernels) {
  addNative(artifact_);
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  const ExecutableInfo &native = variant.executables.back();
  ASSERT_TRUE(native.native);
  EXPECT_EQ(native.native->str(), "acme.attention version 7");
  EXPECT_FALSE(variant.executables[0].native);
  const auto &dispatch =
      std::get<program::Dispatch>(variant.program.commands[0]);
  EXPECT_EQ(dispatch.fallbackFor, variant.executables.size() - 1);
  EXPECT_EQ(variant.requirements, (std::vector<std::string>{"launch.native"}));
}

TEST_F(Artifacts, RefusesBadNativeKernels) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      addNative(a);
      change(a, *a.variants[0]->executables.back());
    });
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  const std::string number =
      std::to_string(artifact_.variants[0]->executables.size());
  EXPECT_EQ(in([](auto &, auto &) {}), "written");
  EXPECT_EQ(in([](auto &, auto &native) { native.blob = {1}; }),
            "executable " + number +
                ": a native kernel has format 'native' or a blob");
  EXPECT_EQ(in([](auto &, auto &native) { native.format = "elf-x86_64"; }),
            "executable " + number +
                ": a native kernel has format 'elf-x86_64' or a blob");
  EXPECT_EQ(in([](auto &, auto &native) { native.native->plugin.clear(); }),
            "executable " + number +
                ": a native kernel has no plug-in or no name");
  EXPECT_EQ(in([](auto &, auto &native) { native.native.reset(); }),
            "executable " + number +
                " has format 'native', its variant 'elf-x86_64'");
  EXPECT_EQ(
      in([](auto &a, auto &) { firstDispatch(a).fallback_for = 1; }),
      "program: command 0: it is a fallback for executable 0, which is no "
      "native kernel");
  EXPECT_EQ(
      in([](auto &a, auto &) { firstDispatch(a).fallback_for = 0xFFFFFFFF; }),
      "program: command 0: it is a fallback for executable 4294967294, "
      "which is no native kernel");
  EXPECT_EQ(in([&](auto &a, auto &) {
              firstDispatch(a).executable = uint32_t(std::stoul(number));
            }),
            "program: command 0: a native kernel has no bindings, or is a "
            "fallback itself");
}

/// What may be absent is not all that writes an output: command 4 does here.
TEST_F(Artifacts, RefusesOutputsThatNativeKernelsAloneWrite) {
  for (bool native : {true, false}) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      addNative(a);
      fb::VariantT &variant = *a.variants[0];
      fb::DispatchT copy(firstDispatch(a));
      copy.fallback_for = 0;
      copy.executable = native ? uint32_t(variant.executables.size() - 1) : 0;
      const auto &slots = variant.program->slots;
      for (size_t i = 0; i < copy.bindings.size(); ++i)
        if (variant.executables[0]->entries[0]->access[i] & BP_ACCESS_WRITE)
          copy.bindings[i]->slot = uint32_t(
              std::ranges::find_if(slots,
                                   [](const auto &slot) {
                                     return slot->kind == fb::SlotKind::Output;
                                   }) -
              slots.begin());
      variant.program->commands[4]->body.Set(std::move(copy));
    });
    EXPECT_EQ(text,
              native ? "variant 0: no command writes output 0" : "written");
  }
}

TEST_F(Artifacts, RefusesBadControl) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf(change);
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  auto choice = [](fb::ArtifactT &a) -> fb::ControlT & {
    return *program(a).commands[7]->body.AsControl();
  };
  auto loop = [](fb::ArtifactT &a) -> fb::ControlT & {
    return *program(a).commands[8]->body.AsControl();
  };
  auto regions = [](fb::ArtifactT &a) -> auto & {
    return a.variants[0]->regions;
  };
  EXPECT_EQ(in([&](auto &a) { choice(a).kind = fb::ControlKind(9); }),
            "program: command 7: it is a control of unknown kind 9");
  EXPECT_EQ(in([&](auto &a) { choice(a).regions.pop_back(); }),
            "program: command 7: an If needs two regions and a condition");
  EXPECT_EQ(in([&](auto &a) { choice(a).regions[1] = 2; }),
            "program: command 7: it names region 2, of 2 that may stand here");
  EXPECT_EQ(in([&](auto &a) { choice(a).condition = ""; }),
            "program: command 7: region 0 takes 1 values and gives 1, 0 and 1 "
            "are needed");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 0; }),
            "program: command 7: slot 0 is a result and something else");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 70; }),
            "program: command 7: it names slot 70, of 11");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 4; }),
            "program: command 7: it writes to a slot of kind Constant");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 3; }),
            "program: command 7: a result is a variable");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 9; }),
            "program: command 7 uses slot 9, which lives from command 8 to 8");
  EXPECT_EQ(in([&](auto &a) { loop(a).limit = ""; }),
            "program: command 8: a While without a predicate, or with stacked "
            "results, needs a limit");
  EXPECT_EQ(in([&](auto &a) { loop(a).limit = "0-1"; }),
            "program: command 8: limit is -1");
  EXPECT_EQ(in([&](auto &a) { loop(a).carried = 2; }),
            "program: command 8: a While needs one region and what it carries");
  EXPECT_EQ(in([&](auto &a) { regions(a)[1]->iteration = "n"; }),
            "region 1 counts in 'n', which is no name of its own");
  EXPECT_EQ(in([&](auto &a) { regions(a)[1]->program.reset(); }),
            "region 1: it has no program");
  EXPECT_EQ(in([&](auto &a) { regions(a)[0]->program->commands.clear(); }),
            "region 0: no command writes output 0");
  EXPECT_EQ(in([&](auto &a) { regions(a)[0]->program->slots[0]->index = 1; }),
            "region 0: slot 0: it names Input 1, of 1");
  EXPECT_EQ(in([&](auto &a) {
              // A region that runs itself.
              auto &inner = *regions(a)[0]->program;
              inner.commands.push_back(std::make_unique<fb::CommandT>());
              fb::ControlT control = choice(a);
              control.results = {1};
              inner.commands.back()->body.Set(std::move(control));
            }),
            "region 0: command 1: it names region 0, of 0 that may stand here");
  EXPECT_EQ(in([&](auto &a) {
              auto &init = *a.variants[0]->init;
              init.commands.push_back(std::make_unique<fb::CommandT>());
              init.commands.back()->body.Set(fb::ControlT(choice(a)));
            }),
            "init program: command 3: an init program makes no decisions");
}

TEST_F(Artifacts, KeepsReads) {
  sample::addRead(artifact_);
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  EXPECT_EQ(variant.requirements, std::vector<std::string>{"dims.read"});
  const auto &read = std::get<program::Read>(variant.program.commands[10]);
  EXPECT_EQ(read.slot, 11u);
  EXPECT_EQ(read.symbol, "k");
  EXPECT_EQ(read.bound.str(), "n");
  EXPECT_EQ(read.op, "NonZero node /z");
}

TEST_F(Artifacts, RefusesBadReads) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      sample::addRead(a);
      change(a);
    });
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  auto read = [](fb::ArtifactT &a) -> fb::ReadT & {
    return *program(a).commands[10]->body.AsRead();
  };
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 14; }),
            "program: command 10: it names slot 14, of 14");
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 3; }),
            "program: command 10: it reads a slot of 16 bytes, not of 8");
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 12; }),
            "program: command 10: it reads a slot of no fixed number of bytes, "
            "not of 8");
  EXPECT_EQ(in([&](auto &a) { read(a).symbol = "j"; }),
            "a command reads 'j', which is no symbol of the artifact");
  EXPECT_EQ(in([&](auto &a) { read(a).symbol = "n"; }),
            "a command reads 'n', which an input axis gives");
  EXPECT_EQ(in([&](auto &a) { read(a).bound = "k"; }),
            "program: command 10: bound: expression 'k' uses symbol 'k', which "
            "no earlier command reads");
  EXPECT_EQ(in([&](auto &a) { read(a).bound = "0-1"; }),
            "program: command 10: bound is -1");
  EXPECT_EQ(in([&](auto &a) {
              auto &commands = program(a).commands;
              commands[11] = std::make_unique<fb::CommandT>();
              commands[11]->body.Set(fb::ReadT(read(a)));
              program(a).slots[11]->last = 11;
              program(a).slots[12]->first = 13;
            }),
            "program: command 11: it reads 'k', which has a value");
  EXPECT_EQ(in([&](auto &a) { program(a).commands[10] = sample::barrier(); }),
            "output 1: expression 'k' uses symbol 'k', which no input axis "
            "gives");
  EXPECT_EQ(in([&](auto &a) {
              program(a).commands[9]->body.AsFill()->target->length = "k";
            }),
            "program: command 9: target: range: expression 'k' uses symbol "
            "'k', which no earlier command reads");
  EXPECT_EQ(in([&](auto &a) { a.inputs[0]->exprs[0] = "k*2"; }),
            "input 0: expression '2*k' uses symbol 'k', which no input axis "
            "gives");
  EXPECT_EQ(in([&](auto &a) {
              auto &init = *a.variants[0]->init;
              init.commands.push_back(std::make_unique<fb::CommandT>());
              init.commands.back()->body.Set(fb::ReadT(read(a)));
            }),
            "init program: command 3: only the program of a variant reads "
            "symbols");
}

TEST_F(Artifacts, SaysWhatAVariantRequires) {
  fb::VariantT &variant = *artifact_.variants[0];
  auto requirements = [&] {
    Status status = sample::write(path_, artifact_, pool_);
    EXPECT_TRUE(status.ok()) << status.message();
    auto file = ArtifactFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.message();
    return (*file)->metadata().variants[0].requirements;
  };
  EXPECT_EQ(requirements(), std::vector<std::string>());
  variant.program->commands[0]->body.AsDispatch()->grid[0] = "select(n, 2, 1)";
  EXPECT_EQ(requirements(), std::vector<std::string>{"dims.select"});
}

TEST_F(Artifacts, ReadsNothingOfAVariantThatRequiresTheUnknown) {
  artifact_.variants.push_back(
      std::make_unique<fb::VariantT>(*artifact_.variants[0]));
  fb::VariantT &later = *artifact_.variants[1];
  later.target = "later";
  later.requirements = {"dims.select", "launch.clusters"};
  later.program->commands[0]->body.AsDispatch()->grid[0] = "cluster of n";
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path_);
  ASSERT_TRUE(file.ok()) << file.message();
  const auto &variants = (*file)->metadata().variants;
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].unknownRequirement, "");
  EXPECT_EQ(variants[1].unknownRequirement, "launch.clusters");
  EXPECT_EQ(variants[1].target, "later");
  EXPECT_TRUE(variants[1].program.commands.empty());
  EXPECT_TRUE(variants[1].executables.empty());
}

TEST_F(Artifacts, SplitsAVariantOverDevices) {
  sample::split(artifact_);
  Status status = sample::write(path_, artifact_, pool_);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents()[4], 3);
  EXPECT_EQ(refusal(), "opened");
  Bytes bytes = contents();
  bytes[4] = 2;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has artifact version 2, what it holds needs version 3");
}

TEST_F(Artifacts, RefusesABadSplit) {
  auto in = [&](const auto &change) {
    std::string text = refusalOf([&](auto &a) {
      sample::split(a);
      change(*a.variants[0]);
    });
    std::string start = "variant 0: ";
    return text.starts_with(start) ? text.substr(start.size()) : text;
  };
  EXPECT_EQ(in([](auto &) {}), "written");
  EXPECT_EQ(in([](auto &v) { v.program->slots[11]->device = 2; }),
            "program: slot 11: it lies on device 2, of 2");
  EXPECT_EQ(in([](auto &v) { v.executables[1]->device = 7; }),
            "executable 1 is for device 7, of 2");
  EXPECT_EQ(in([](auto &v) { v.regions[0]->device = 2; }),
            "region 0 runs on device 2, of 2");
  EXPECT_EQ(in([](auto &v) { v.executables[1]->device = 0; }),
            "executable 1 has format 'wire', its variant 'elf-x86_64'");
  EXPECT_EQ(in([](auto &v) { v.devices[0]->driver.clear(); }),
            "device 1 lacks a target, a driver or a format");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->device = 0; }),
            "program: command 11: slot 12 lies on device 0, the command runs "
            "on 1");
  EXPECT_EQ(in([](auto &v) { v.program->slots[11]->bytes = "20"; }),
            "program: command 9: it copies 16 bytes to 20");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->offset = 0; }),
            "program: slots 11 and 12 overlap while both are in use");
  EXPECT_EQ(in([](auto &v) { v.program->arenas = {64}; }),
            "program: slot 12: it lies at 64 with 16 bytes, the arena has "
            "64");
  EXPECT_EQ(in([](auto &v) { v.program->arenas = {128, 128}; }),
            "program: it has more arenas than devices");
  EXPECT_EQ(in([](auto &v) { v.program->arenas.clear(); }),
            "program: slot 11: it has a place, but no limited size or no "
            "arena");
  EXPECT_EQ(in([](auto &v) { v.program->slots[12]->reuse = 9; }),
            "program: slot 12: it reuses slot 9 of another device");
  EXPECT_EQ(in([](auto &v) { v.program->slots[9]->device = 1; }),
            "program: command 8: slot 9 lies on device 1, the command runs on "
            "0");
  EXPECT_EQ(in([](auto &v) { v.regions[0]->device = 1; }),
            "region 0: slot 0: it lies on device 0, its region runs on 1");
  EXPECT_EQ(in([](auto &v) { v.init->slots[1]->device = 1; }),
            "program: slot 4: Constant 0 lies on devices 1 and 0");
  EXPECT_EQ(in([](auto &v) {
              while (v.devices.size() < 16)
                v.devices.push_back(
                    std::make_unique<fb::VariantDeviceT>(*v.devices[0]));
            }),
            "it is split over 17 devices, the limit is 16");
}

TEST_F(Artifacts, PlacesOfSymbolicSizesFitTheGreatestOnes) {
  // 32*n bytes, n from 1 to 64: at most 2048, used in all commands.
  auto place = [](fb::ArtifactT &a, int64_t offset, int64_t arena) {
    fb::ProgramT &program = *a.variants[0]->program;
    program.slots[5]->offset = offset;
    program.arena_bytes = arena;
  };
  EXPECT_EQ(refusalOf([&](auto &a) { place(a, 256, 256 + 2048); }), "written");
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 256, 256 + 2047);
            }).find("slot 5: it lies at 256 with 2048 bytes, the arena has"),
            std::string::npos);
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 192, 256 + 2048);
            }).find("slots 5 and 6 overlap while both are in use"),
            std::string::npos);
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 256, 1 << 20);
              a.symbols[0]->maximum = INT64_MAX;
            }).find("it has a place, but no limited size or no arena"),
            std::string::npos);
}

TEST_F(Artifacts, KeepsItsBytesWhateverBecomesOfTheFile) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  const Bytes whole = contents();
  for (uint64_t size : {uint64_t(0), uint64_t(whole.size() / 2)}) {
    overwrite(whole);
    auto file = ArtifactFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.message();
    overwrite(Bytes(whole.size(), 0xCC));
    fs::resize_file(path_, size);
    EXPECT_TRUE(std::ranges::equal((*file)->bytes(), whole));
    EXPECT_NE(refusal(), "opened");
  }
  overwrite(whole);
  auto copy = ArtifactFile::fromBytes(whole, "bytes");
  auto mapped = ArtifactFile::open(path_, ArtifactFile::Hold::Map);
  ASSERT_TRUE(copy.ok() && mapped.ok());
  EXPECT_TRUE(std::ranges::equal((*copy)->bytes(), whole));
  EXPECT_TRUE(std::ranges::equal((*mapped)->bytes(), whole));
}

TEST_F(Artifacts, ReplaceRegularFilesOnly) {
  const std::string link = (folder_ / "link").string();
  fs::create_symlink("model.bpx", link);
  for (const std::string &path :
       {link, folder_.string(), std::string("/dev/null")})
    EXPECT_EQ(sample::write(path, artifact_, pool_).code(),
              BP_STATUS_INVALID_ARGUMENT)
        << path;
  EXPECT_FALSE(fs::exists(path_));
}

} // namespace
