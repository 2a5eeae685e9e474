// SPDX-License-Identifier: Apache-2.0
//
// Models through importer, compiler and cache. Each step is a process of its
// own, so that it can be seen what it maps.
#include "Compiling.h"
#include "OnnxBytes.h"

#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace backplane;
using namespace backplane::test;

namespace {

std::string text(const Bytes &bytes) {
  return std::string(bytes.begin(), bytes.end());
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void writeFile(const std::string &path, const std::string &contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

bool mapsCompiler() {
  std::string maps = readFile("/proc/self/maps");
  for (const char *name :
       {"libLLVM", "libMLIR", "libbackplane-compiler", "libbackplane-import"})
    if (maps.find(name) != std::string::npos)
      return true;
  return false;
}

class Compiling : public testing::Test {
protected:
  /// What one process says about compiling and running the model: y[0] for x=1,
  /// then whether it has mapped the compiler, or the failure. With a target it
  /// compiles for `ref` too, which is not what it does without.
  std::string outcome(const std::string &cache, const std::string &target,
                      const std::string &output) const {
    auto context = compilerContext(cache);
    if (!context)
      return context.message();
    bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
    bp_string_t names[2] = {toC(target), toC("ref")};
    options.targets = names;
    options.target_count = target.empty() ? 0 : 2;
    options.output_path = toC(output);
    auto artifact = compileModel(*context, model_, options);
    if (!artifact)
      return artifact.message();
    bp_session_options_t defaults = {BP_HEADER(bp_session_options_t)};
    auto session = createSession(*artifact, defaults);
    if (!session)
      return session.message();
    Floats x({4}, 1), y({4});
    Status status = runSession(*session, {x.c()}, {y.c()});
    if (!status.ok())
      return status.message();
    return std::to_string(int(y.values[0])) +
           (mapsCompiler() ? " compiled" : " cached");
  }

  struct Child {
    pid_t pid;
    std::string report;
  };
  Child start(const std::string &report, const std::string &cache = "",
              const std::string &target = "", const std::string &output = "") {
    std::string path = folder_ / report;
    pid_t pid = fork();
    if (pid == 0) {
      writeFile(path, outcome(cache.empty() ? folder_ / "cache" : cache, target,
                              output));
      _exit(0);
    }
    return {pid, path};
  }
  static std::string finish(const Child &child) {
    int status = -1;
    waitpid(child.pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return readFile(child.report);
  }
  std::string run(const std::string &cache = "", const std::string &target = "",
                  const std::string &output = "") {
    return finish(start("report", cache, target, output));
  }
  std::vector<std::string> cached() const {
    std::vector<std::string> files;
    for (const auto &entry :
         std::filesystem::directory_iterator(folder_ / "cache/artifacts"))
      files.push_back(entry.path());
    return files;
  }

  Folder folder_;
  std::string model_ = folder_ / "model.onnx";
};

TEST_F(Compiling, MapsNoCompilerWhenTheCacheHasTheModel) {
  writeFile(model_, addModel(text(floats({2, 2, 2, 2})), ""));
  EXPECT_EQ(run(), "3 compiled");
  EXPECT_EQ(run(), "3 cached");
  EXPECT_EQ(run("", "", folder_ / "out.bpx"), "3 cached");
  ASSERT_EQ(cached().size(), 1u);
  EXPECT_TRUE(readFile(folder_ / "out.bpx") == readFile(cached()[0]));
  EXPECT_EQ(run("", ownTarget), "3 compiled") << "other targets";
}

TEST_F(Compiling, NoticesAnotherModel) {
  writeFile(model_, addModel(text(floats({2, 2, 2, 2})), ""));
  EXPECT_EQ(run(), "3 compiled");
  writeFile(model_, addModel(text(floats({5, 5, 5, 5})), ""));
  EXPECT_EQ(run(), "6 compiled");
}

TEST_F(Compiling, NoticesOtherExternalData) {
  writeFile(model_, addModel("", "w.bin"));
  writeFile(folder_ / "w.bin", text(floats({2, 2, 2, 2})));
  EXPECT_EQ(run(), "3 compiled");
  EXPECT_EQ(run(), "3 cached");
  writeFile(folder_ / "w.bin", text(floats({7, 7, 7, 7})));
  EXPECT_EQ(run(), "8 compiled");
}

TEST_F(Compiling, MakesADamagedEntryAgain) {
  writeFile(model_, addModel(text(floats({2, 2, 2, 2})), ""));
  EXPECT_EQ(run(), "3 compiled");
  std::string good = readFile(cached()[0]), bad = good;
  bad[good.size() / 2] ^= 4;
  writeFile(cached()[0], bad);
  EXPECT_EQ(run(), "3 compiled");
  EXPECT_TRUE(readFile(cached()[0]) == good) << "equal models, equal bytes";
  EXPECT_EQ(run(), "3 cached");
}

TEST_F(Compiling, ServesTwoProcessesAtOnce) {
  writeFile(model_, addModel(text(floats({2, 2, 2, 2})), ""));
  Child first = start("first"), second = start("second");
  EXPECT_EQ(finish(first).substr(0, 1), "3");
  EXPECT_EQ(finish(second).substr(0, 1), "3");
  EXPECT_EQ(cached().size(), 1u);
  EXPECT_EQ(run(), "3 cached");
}

TEST_F(Compiling, NeedsNoCache) {
  writeFile(model_, addModel(text(floats({2, 2, 2, 2})), ""));
  EXPECT_EQ(run("-"), "3 compiled");
  EXPECT_EQ(run("-", "", folder_ / "out.bpx"), "3 compiled");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out.bpx"));
}

TEST_F(Compiling, SaysWhatIsWrong) {
  EXPECT_EQ(run(), model_ + ": is not a model file that can be read");
  writeFile(model_, "no model");
  EXPECT_NE(run().find(model_), std::string::npos);
  EXPECT_NE(run("", "x86-65").find("no compiler plug-in has target 'x86-65'"),
            std::string::npos);
}

} // namespace
