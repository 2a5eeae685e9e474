// SPDX-License-Identifier: Apache-2.0
//
// Artifacts.h: the artifact of Sample.h with all features, written to a file,
// and what is said of it after a change.
#ifndef BACKPLANE_PACKAGE_TEST_ARTIFACTS_H
#define BACKPLANE_PACKAGE_TEST_ARTIFACTS_H

#include "Sample.h"
#include "sdk/support/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>

namespace backplane::sample {

inline fb::DispatchT &firstDispatch(fb::ArtifactT &a) {
  return *a.variants[0]->program->commands[0]->body.AsDispatch();
}

class Artifacts : public testing::Test {
protected:
  void SetUp() override { fullArtifact(artifact_, pool_); }

  /// The artifact, written and opened; null when that failed, and so the test.
  std::shared_ptr<ArtifactFile> reopened() {
    Status status = sample::write(path_, artifact_, pool_);
    EXPECT_TRUE(status.ok()) << status.message();
    auto file = ArtifactFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.message();
    return file.ok() ? *file : nullptr;
  }
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
  /// The same, without the words that the first variant starts with.
  std::string refusalIn(const auto &change,
                        void (*before)(fb::ArtifactT &) = nullptr) {
    std::string text = refusalOf([&](fb::ArtifactT &a) {
      if (before)
        before(a);
      change(a);
    });
    return text.starts_with("variant 0: ") ? text.substr(11) : text;
  }
  static fb::ProgramT &program(fb::ArtifactT &a) {
    return *a.variants[0]->program;
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  std::string path_ = folder_ / "model.bpx";
  fb::ArtifactT artifact_;
  WeightPool pool_;
};

} // namespace backplane::sample

#endif // BACKPLANE_PACKAGE_TEST_ARTIFACTS_H
