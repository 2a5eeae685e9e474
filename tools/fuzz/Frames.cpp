// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a stream of frames, and as each payload.
#include "hal/worker/Messages.h"

#include <cstdlib>

using namespace backplane::worker;

namespace {

/// Whatever can be read can be written and read again.
template <typename Message> void tryPayload(std::span<const uint8_t> bytes) {
  Message message, again;
  if (decode(bytes, message).ok() && !decode(encode(message), again).ok())
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FrameParser parser(1 << 20);
  Assembler assembler(1 << 13);
  parser.push({data, size});
  while (true) {
    auto frame = parser.next();
    if (!frame || !*frame)
      break;
    auto whole = assembler.add(std::move(**frame));
    if (!whole)
      break;
    if (*whole)
      (void)encodeFrame(**whole);
  }
  tryPayload<Hello>({data, size});
  tryPayload<ArtifactMessage>({data, size});
  tryPayload<RunMessage>({data, size});
  tryPayload<ResultMessage>({data, size});
  tryPayload<CompileMessage>({data, size});
  tryPayload<CompiledMessage>({data, size});
  tryPayload<ErrorMessage>({data, size});
  tryPayload<OfferMessage>({data, size});
  tryPayload<OpenMessage>({data, size});
  tryPayload<OpenedMessage>({data, size});
  tryPayload<SessionMessage>({data, size});
  tryPayload<CheckMessage>({data, size});
  tryPayload<CheckedMessage>({data, size});
  tryPayload<BundleMessage>({data, size});
  tryPayload<AnswerMessage>({data, size});
  tryPayload<EndMessage>({data, size});
  tryPayload<JobMessage>({data, size});
  tryPayload<BatchMessage>({data, size});
  tryPayload<BatchedMessage>({data, size});
  tryPayload<BeginMessage>({data, size});
  tryPayload<SurroundMessage>({data, size});
  return 0;
}
