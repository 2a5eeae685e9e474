// SPDX-License-Identifier: Apache-2.0
#include "conformance/models/RealModels.h"

#include "conformance/cases/Data.h"
#include "conformance/cases/Judge.h"
#include "conformance/cases/Tags.h"
#include "conformance/models/Npz.h"
#include "conformance/oracle/Format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

namespace backplane::conformance {
namespace {

namespace fs = std::filesystem;

ModelFiles allFiles() {
  ModelFiles files;
  for (const KnownFile &file : knownFiles())
    files.emplace_back(file.name, file.sha256);
  return files;
}

/// A folder that goes with this object.
class Folder {
public:
  Folder() {
    std::string pattern = testing::TempDir() + "bp-models-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string &name, const std::string &bytes) const {
    fs::path path = fs::path(path_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

TEST(Known, EveryNameMeansAFile) {
  std::set<std::string_view> names, models;
  for (const KnownFile &file : knownFiles()) {
    EXPECT_TRUE(names.insert(file.name).second) << file.name;
    EXPECT_EQ(file.sha256.size(), 64u) << file.name;
  }
  for (const KnownModel &model : knownModels()) {
    EXPECT_TRUE(models.insert(model.name).second) << model.name;
    EXPECT_TRUE(names.contains(model.model)) << model.name;
    for (const KnownCase &known : model.cases) {
      for (std::string_view file : {known.inputs, known.outputs})
        EXPECT_TRUE(file.empty() || names.contains(file)) << file;
      EXPECT_EQ(known.outputs.empty(), known.bound == 0) << model.name;
    }
  }
}

TEST(PlannedModels, CasesFollowFromTheFiles) {
  auto all = plannedModels(allFiles());
  ASSERT_TRUE(all.ok()) << all.message();
  EXPECT_EQ(all->size(), knownModels().size());
  std::set<std::string> ids;
  for (const Unit &unit : *all)
    for (const Case &testCase : unit.cases) {
      EXPECT_EQ(testCase.id.find("L5/real-models/f32/"), 0u);
      EXPECT_TRUE(ids.insert(testCase.id).second) << testCase.id;
      for (const std::string &tag : unit.tags)
        EXPECT_TRUE(isTag(tag)) << tag;
    }
  // The model alone has no case that needs stored inputs.
  ModelFiles one;
  for (const auto &file : allFiles())
    if (file.first == "magika/model.onnx")
      one.push_back(file);
  auto few = plannedModels(one);
  ASSERT_TRUE(few.ok());
  ASSERT_EQ(few->size(), 1u);
  EXPECT_EQ((*few)[0].cases[0].id, "L5/real-models/f32/magika/uniform");
  EXPECT_EQ((*few)[0].cases.size(), 2u);
}

TEST(PlannedModels, RefusesOtherFiles) {
  ModelFiles files = allFiles();
  files[0].second[0] ^= 1;
  auto changed = plannedModels(files);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.message().find(files[0].first), std::string::npos);
  EXPECT_FALSE(plannedModels({{"mine/model.onnx", files[1].second}}).ok());
}

TEST(FindModels, RefusesAFileWithOtherContents) {
  Folder folder;
  auto none = findModels(folder.path());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.code(), BP_STATUS_NOT_FOUND);
  folder.write("magika/models/standard_v3_3/model.onnx", "not Magika");
  auto other = findModels(folder.path());
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.message().find("SHA-256"), std::string::npos);
}

std::string le(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A member as numpy.savez writes it, sizes in a zip64 field.
std::string member(const std::string &name, const std::string &data) {
  std::string extra =
      le(1, 2) + le(16, 2) + le(data.size(), 8) + le(data.size(), 8);
  return "PK\3\4" + le(45, 2) + le(0, 2) + le(0, 2) + le(0, 4) + le(0, 4) +
         le(UINT32_MAX, 4) + le(UINT32_MAX, 4) + le(name.size(), 2) +
         le(extra.size(), 2) + name + extra + data;
}

std::string npy(const std::string &shape, const std::string &data) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + le(header.size(), 2) + header + data;
}

TEST(Npz, ReadsWhatNumpySaves) {
  Folder folder;
  std::string numbers = le(0x3f800000, 4) + le(0xc0000000, 4);
  std::string path = folder.write(
      "x.npz", member("a.npy", npy("(2,)", numbers)) +
                   member("b.c.npy", npy("(1, 1)", le(0x40400000, 4))) +
                   "PK\1\2");
  auto arrays = readNpz(path);
  ASSERT_TRUE(arrays.ok()) << arrays.message();
  ASSERT_EQ(arrays->size(), 2u);
  const Tensor &a = arrays->at("a"), &b = arrays->at("b.c");
  EXPECT_EQ(a.dims, std::vector<int64_t>{2});
  EXPECT_EQ(loadBits(a, 1), 0xc0000000u);
  EXPECT_EQ(b.dims, (std::vector<int64_t>{1, 1}));
}

TEST(Npz, AnyBytesAreReadOrRefused) {
  Folder folder;
  std::string whole = member("a.npy", npy("(2,)", le(1, 8)));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readNpz(folder.write("x.npz", whole.substr(0, size))).ok())
        << size;
  for (size_t at = 0; at < 60; ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    (void)readNpz(folder.write("x.npz", changed));
  }
  std::string deflated = whole;
  deflated[8] = 8;
  EXPECT_FALSE(readNpz(folder.write("x.npz", deflated)).ok());
}

Tensor floats(const std::vector<float> &numbers) {
  Tensor tensor{DType::F32, {static_cast<int64_t>(numbers.size())}, {}};
  tensor.data.resize(numbers.size() * 4);
  for (size_t i = 0; i < numbers.size(); ++i)
    storeBits(tensor, i, encode(DType::F32, numbers[i]));
  return tensor;
}

/// A unit of one negation with a stored answer.
Unit storedUnit() {
  Unit unit;
  unit.id = "L5/real-models/f32/none";
  unit.layer = 5;
  unit.op = realModelOp;
  unit.dtype = DType::F32;
  ValueId x = unit.graph.addInput("x", {DType::F32, {Dim(3)}});
  unit.graph.addOutput(unit.graph.add("neg", {x})->front(), "y");
  Case only;
  only.id = unit.id + "/stored";
  only.dataSet = "stored";
  unit.cases = {only};
  unit.given["stored"] = {{floats({1, 2, -64})},
                          {expectedWithin(floats({-1, -2, 64}), 0x1p-12)}};
  return unit;
}

bool passes(const Unit &unit, const std::vector<float> &outputs,
            const Declaration &declaration) {
  auto verdicts = judge(unit, unit.cases[0], unit.given.at("stored").expected,
                        {floats(outputs)}, declaration);
  return verdicts.size() == 1 && verdicts[0].pass;
}

TEST(StoredAnswers, HaveALimitForEveryElement) {
  Unit unit = storedUnit();
  EXPECT_EQ(loadBits(inputsOf(unit, unit.cases[0])[0], 1),
            encode(DType::F32, 2));
  EXPECT_TRUE(passes(unit, {-1, -2, 64}, {}));
  EXPECT_TRUE(passes(unit, {-1.015f, -2, 64}, {}));
  EXPECT_FALSE(passes(unit, {-1.017f, -2, 64}, {}));
  EXPECT_FALSE(passes(unit, {-1, -2, NAN}, {}));
  EXPECT_FALSE(passes(unit, {-1, -2}, {}));
}

TEST(StoredAnswers, LimitsGrowWithADeclaredAccumulator) {
  Unit unit = storedUnit();
  Declaration narrow;
  Numerics numerics;
  numerics.accumulatorBits = 21;
  narrow.set("DOT", DType::F32, numerics);
  EXPECT_TRUE(passes(unit, {-1.12f, -2, 64}, narrow));
  EXPECT_FALSE(passes(unit, {-1.13f, -2, 64}, narrow));
}

} // namespace
} // namespace backplane::conformance
