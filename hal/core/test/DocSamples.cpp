// SPDX-License-Identifier: Apache-2.0
//
// DocSamples.cpp: code that pages quote and no example has. It is compiled, and
// not run.
#include <backplane/backplane.h>

class AcmeDevice;

// docs/howto/write-a-plugin-in-cpp.md
#include <backplane/cpp/Compiler.h>
#include <backplane/cpp/Driver.h>

using namespace backplane;
using namespace backplane::plugin;

class Acme {
public:
  using Device = AcmeDevice; // a driver
  static constexpr Description description = {
      .name = "acme", .vendor = "Acme", .version = "1.0.0"};
  explicit Acme(Host host) : host_(host) {}

  Status enumerate(Options options, DeviceSink sink);
  Result<std::unique_ptr<Device>> open(std::string_view id, Options options);
  Status targets(TargetSink sink); // a compiler
  Result<Compiled> compile(const CompileRequest &request);
  Status describe(KernelSink sink); // a set of kernels
private:
  Host host_;
};

namespace samples {

/// docs/howto/grow-the-abi.md
uint64_t workspaceOf(const bp_command_dispatch_t *dispatch) {
  uint64_t bytes = BP_HAS(dispatch, bp_command_dispatch_t, workspace_bytes)
                       ? dispatch->workspace_bytes
                       : 0;
  return bytes;
}

/// docs/howto/limit-a-compilation.md
bp_compile_options_t limits() {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  options.max_memory = 4ull << 30; /* bytes */
  options.max_milliseconds = 60000;
  return options;
}

/// docs/howto/keep-tensors-on-a-device.md
void resultOnDevice(bp_session_t *session, const bp_value_t &frame,
                    bp_error_t *error) {
  bp_value_t out = {BP_HEADER(bp_value_t)};
  out.kind = BP_VALUE_TENSOR;
  out.flags = BP_VALUE_ON_DEVICE; /* the call makes it, where it ran */
  const bp_value_t *inputs[] = {&frame};
  bp_value_t *outputs[] = {&out};
  bp_session_run_values(session, inputs, 1, outputs, 1, error);
  /* … `out` is an input of the next model, without a copy … */
  out.release(out.context);
}

} // namespace samples
