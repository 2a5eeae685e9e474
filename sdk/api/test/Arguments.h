// SPDX-License-Identifier: Apache-2.0
//
// Arguments.h: good arguments for every function of backplane.h, and calls with
// one that is wrong.
#ifndef BACKPLANE_API_TEST_ARGUMENTS_H
#define BACKPLANE_API_TEST_ARGUMENTS_H

#include "hal/runtime/test/Models.h"

#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <span>

namespace backplane::test {

inline bp_status_t keep(void *, bp_string_t) { return BP_STATUS_OK; }
inline bp_status_t keepDevice(void *, const bp_device_listing_t *) {
  return BP_STATUS_OK;
}
inline bp_status_t keepKernel(void *, const bp_kernel_listing_t *) {
  return BP_STATUS_OK;
}
inline bp_status_t keepTarget(void *, const bp_target_listing_t *) {
  return BP_STATUS_OK;
}

/// Good arguments for every function.
struct Good {
  Good() {
    Draft draft;
    fixed(draft);
    artifact = std::move(*test::open(context, draft, folder / "model.bpx"));
    session =
        std::move(*createSession(artifact, {BP_HEADER(bp_session_options_t)}));
    bp_device_buffer_create(context.get(), toC("host"), 64, &outBuffer,
                            nullptr);
    buffer.reset(outBuffer);
    bp_timeline_t *made = nullptr;
    bp_timeline_create(&made, nullptr);
    timeline.reset(made);
  }

  Folder folder;
  Context context = hostContext();
  Artifact artifact;
  Session session;
  bp_string_sink_t sink = {keep, nullptr};
  bp_device_listing_sink_t devices = {keepDevice, nullptr};
  bp_target_listing_sink_t targets = {keepTarget, nullptr};
  bp_kernel_listing_sink_t kernels = {keepKernel, nullptr};
  bp_context_options_t contextOptions = {BP_HEADER(bp_context_options_t)};
  bp_compile_options_t compile = {BP_HEADER(bp_compile_options_t)};
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
  Floats xs{{8}}, ys{{8}};
  bp_tensor_t x = xs.c(), y = ys.c();
  int64_t dims[8] = {};
  int64_t *rooms[1] = {dims};
  bp_context_t *outContext = nullptr;
  bp_artifact_t *outArtifact = nullptr;
  bp_session_t *outSession = nullptr;
  bp_call_t *outCall = nullptr;
  bp_device_buffer_t *outBuffer = nullptr;
  DLManagedTensorVersioned *outTensor = nullptr;
  bp_value_t value = {BP_HEADER(bp_value_t)};
  Handle<bp_device_buffer_t, bp_device_buffer_destroy> buffer;
  Handle<bp_timeline_t, bp_timeline_destroy> timeline;
};

/// One wrong call.
struct Wrong {
  std::string name; ///< function, then what is wrong
  std::function<bp_status_t(Good &, bp_error_t *)> call;
};

inline const bp_string_t noText = {nullptr, 5};
inline const bp_string_t endless = {"x", UINT64_MAX};
inline const bp_string_t zeroInside = {"/tmp/a\0b", 8};
inline constexpr uint32_t many = UINT32_MAX;

/// Handles of every other kind in the place of one.
template <typename Handle> std::vector<Handle *> notThese(Good &g) {
  std::vector<void *> all = {nullptr, g.context.get(), g.artifact.get(),
                             g.session.get(), g.dims};
  std::vector<Handle *> others;
  for (void *one : all) {
    bool same =
        (std::is_same_v<Handle, bp_context_t> && one &&
         one == g.context.get()) ||
        (std::is_same_v<Handle, bp_artifact_t> && one &&
         one == g.artifact.get()) ||
        (std::is_same_v<Handle, bp_session_t> && one && one == g.session.get());
    if (!same)
      others.push_back(static_cast<Handle *>(one));
  }
  return others;
}

#define BP_WRONG(function, what, ...)                                          \
  Wrong {                                                                      \
    #function " " what,                                                        \
        [](Good &g, bp_error_t *e) { return function(__VA_ARGS__); }           \
  }

template <typename T, typename Change>
const T *with(const T &from, T &copy, Change change) {
  copy = from;
  change(copy);
  return &copy;
}

inline bp_compile_options_t changedCompile;
inline bp_session_options_t changedSession;
inline bp_context_options_t changedContext;

template <typename Change>
const bp_compile_options_t *compileWith(Good &g, Change change) {
  return with(g.compile, changedCompile, change);
}
template <typename Change>
const bp_session_options_t *sessionWith(Good &g, Change change) {
  return with(g.options, changedSession, change);
}
template <typename Change>
const bp_context_options_t *contextWith(Good &g, Change change) {
  return with(g.contextOptions, changedContext, change);
}
inline bp_chooser_t noChooser = {nullptr, nullptr};
inline bp_string_sink_t noPut = {nullptr, nullptr};
inline bp_device_listing_sink_t noDevicePut = {nullptr, nullptr};
inline bp_target_listing_sink_t noTargetPut = {nullptr, nullptr};
inline bp_kernel_listing_sink_t noKernelPut = {nullptr, nullptr};

/// Calls with options, and with all else, that are wrong.
extern const std::vector<Wrong> wrongOptions, wrongContexts, wrongArtifacts,
    wrongSessions, wrongValues;

class Arguments : public testing::Test {
protected:
  void refused(const std::string &name,
               const std::function<bp_status_t(bp_error_t *)> &call) {
    SCOPED_TRACE(name);
    tried_.insert(name.substr(0, name.find(' ')));
    bp_error_t *error = bp_error_create();
    EXPECT_NE(call(error), BP_STATUS_OK);
    std::string message(view(bp_error_message(error)));
    EXPECT_GE(message.size(), 5u);
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    bp_error_destroy(error);
    EXPECT_NE(call(nullptr), BP_STATUS_OK);
  }
  void refused(std::span<const Wrong> all) {
    for (const Wrong &wrong : all)
      refused(wrong.name,
              [&](bp_error_t *error) { return wrong.call(good_, error); });
  }

  Good good_;
  std::set<std::string> tried_;
};

} // namespace backplane::test

#endif // BACKPLANE_API_TEST_ARGUMENTS_H
