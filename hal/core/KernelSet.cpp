// SPDX-License-Identifier: Apache-2.0
#include "hal/core/KernelSet.h"
#include "hal/core/CompilerCalls.h"
#include "hal/core/HandleCall.h"
#include "sdk/support/GivenText.h"

namespace backplane {
namespace {

constexpr uint64_t maxKernels = 4096;

struct Collector {
  const KernelSink &put;
  Status failure;
  uint64_t count = 0;

  Status take(const bp_kernel_t *from) {
    if (++count > maxKernels)
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    "lists more than 4096 kernels");
    bp_kernel_t kernel;
    if (Status s = copyStruct(from, bp_kernel_t_TYPE, "kernel", kernel);
        !s.ok())
      return s;
    for (bp_string_t text :
         {kernel.text, kernel.target, kernel.cost, kernel.ir})
      if (!isReadable(text))
        return invalidArgument("a kernel has a damaged string");
    if (kernel.ir.size && kernel.body)
      return invalidArgument("a kernel has a body and IR; one of them is to be "
                             "left out");
    if (kernel.ir.size)
      return put(kernel);
    return copyCompiled(kernel.body, [&](const bp_compiled_t &body) {
      kernel.body = &body;
      return put(kernel);
    });
  }
};

bp_status_t putKernel(void *context, const bp_kernel_t *from) {
  auto &collector = *static_cast<Collector *>(context);
  if (Status s = collector.take(from); !s.ok() && collector.failure.ok())
    collector.failure = std::move(s);
  return collector.failure.code();
}

} // namespace

Status callDescribe(const KernelSet &set, const KernelSink &put) {
  Collector collector{put, {}};
  const bp_kernel_sink_t sink = {putKernel, &collector};
  Status status = callPlugin("describe", set.table->describe, set.self, &sink);
  return collector.failure.ok() ? status : collector.failure.within("describe");
}

Result<bp_native_function_t> callResolve(const KernelSet &set,
                                         const NativeKernel &kernel,
                                         const std::string &entry,
                                         const bp_device_info_t &device) {
  return callForStruct<bp_native_function_t>(
      "resolve", BP_HEADER(bp_native_function_t), "native function",
      set.table->resolve, set.self, toC(kernel.name), kernel.version,
      toC(entry), &device);
}

} // namespace backplane
