// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a bundle and as the results of one, with the checksums of
// frames put right so that the checks behind them are reached.
#include "hal/worker/Bundle.h"
#include "File.h"

#include "sdk/support/Hash.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace backplane;
using namespace backplane::worker;

/// Makes each header fit what follows it, where that is possible.
static void fixFrames(std::vector<uint8_t> &bytes) {
  constexpr size_t sizeAt = 16, sumAt = 24;
  for (size_t at = 0; at + frameHeaderBytes <= bytes.size();) {
    uint8_t *header = bytes.data() + at;
    uint64_t size = 0, left = bytes.size() - at - frameHeaderBytes;
    std::memcpy(&size, header + sizeAt, sizeof(size));
    if (size > left)
      return;
    uint64_t sum =
        hash64({header + frameHeaderBytes, size}, hash64({header, sumAt}));
    std::memcpy(header + sumAt, &sum, sizeof(sum));
    at += frameHeaderBytes + size;
  }
}

/// As what a launcher sends in place of a worker.
static void readStream(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  Channel channel(fd, -1);
  while (true)
    if (auto frame = channel.receive(); !frame || !*frame)
      break;
  (void)channel.takeGarbage();
  close(fd);
}

/// As what has come over a pipe that stays open.
static void readPipe(std::span<const uint8_t> bytes) {
  constexpr size_t fits = 1 << 12; // into any pipe
  int ends[2];
  if (bytes.size() > fits || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return;
  Channel channel(ends[0], -1);
  if (write(ends[1], bytes.data(), bytes.size()) >= 0)
    while (true)
      if (auto frame = channel.receive(Channel::Clock::now()); !frame)
        break;
  close(ends[0]);
  close(ends[1]);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  std::vector<uint8_t> bytes(data, data + size);
  fixFrames(bytes);
  const std::string &path = file.with(bytes.data(), bytes.size());
  readStream(path);
  readStream("/"); // which opens and cannot be read
  readPipe(bytes);
  BundleFacts facts;
  if (auto bundle = readBundle(path))
    facts = std::move(*bundle);
  // As if they were the results of a bundle with the runs that they name.
  if (auto reader = BundleReader::open(path)) {
    facts.hash = reader->head().bundle;
    while (true) {
      auto frame = reader->next();
      if (!frame || !*frame)
        break;
      AnswerMessage answer;
      if ((*frame)->type == FrameType::Answer &&
          decode((*frame)->payload, answer).ok())
        facts.runs.push_back(answer.run);
    }
  }
  (void)readResults(path, facts);
  (void)packRecording(path, facts.head, path + ".packed");
  unlink((path + ".packed").c_str());
  return 0;
}
