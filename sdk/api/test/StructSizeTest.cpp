// SPDX-License-Identifier: Apache-2.0
//
// Structs of applications that were built with other headers: cut to every size
// in front of a page that nobody may touch, and larger than the library's own.
#include "hal/core/test/Cut.h"
#include "hal/runtime/test/Models.h"

#include <array>
#include <cstddef>

using namespace backplane;
using namespace backplane::test;

namespace {

struct StructSize : testing::Test {
  StructSize() {
    Draft draft;
    fixed(draft);
    artifact = std::move(*test::open(context, draft, folder / "model.bpx"));
  }

  Folder folder;
  Context context = hostContext();
  Artifact artifact;
};

TEST_F(StructSize, OptionsOfASession) {
  const bp_session_options_t whole = {BP_HEADER(bp_session_options_t)};
  atEachSize<bp_session_options_t>(whole, [&](auto *options, uint32_t) {
    bp_session_t *session = nullptr;
    EXPECT_EQ(bp_session_create(artifact.get(), options, &session, nullptr),
              BP_STATUS_OK);
    bp_session_destroy(session);
  });
}

TEST_F(StructSize, OptionsOfACompilation) {
  const bp_compile_options_t whole = {BP_HEADER(bp_compile_options_t)};
  atEachSize<bp_compile_options_t>(whole, [&](auto *options, uint32_t) {
    bp_artifact_t *none = nullptr;
    EXPECT_NE(bp_artifact_compile(context.get(), toC("/no/such.onnx"), options,
                                  &none, nullptr),
              BP_STATUS_OK);
  });
}

TEST_F(StructSize, OptionsOfAContext) {
  const bp_context_options_t whole = {BP_HEADER(bp_context_options_t)};
  atEachSize<bp_context_options_t>(whole, [&](auto *options, uint32_t) {
    bp_context_t *made = nullptr;
    EXPECT_EQ(bp_context_create(options, &made, nullptr), BP_STATUS_OK);
    bp_context_destroy(made);
  });
}

TEST_F(StructSize, ATensorIsTold) {
  const bp_tensor_info_t whole = {BP_HEADER(bp_tensor_info_t)};
  atEachSize<bp_tensor_info_t>(whole, [&](auto *info, uint32_t size) {
    ASSERT_EQ(bp_artifact_input(artifact.get(), 0, info), BP_STATUS_OK);
    EXPECT_EQ(info->header.size, size);
    if (size > offsetof(bp_tensor_info_t, rank))
      EXPECT_EQ(info->rank, 1u);
  });
  struct {
    bp_tensor_info_t known;
    std::array<uint64_t, 2> later;
  } larger = {whole, {7, 8}};
  larger.known.header.size = sizeof(larger);
  ASSERT_EQ(bp_artifact_input(artifact.get(), 0, &larger.known), BP_STATUS_OK);
  EXPECT_EQ(larger.known.rank, 1u);
  EXPECT_EQ(larger.later[0] + larger.later[1], 15u);
}

} // namespace
