// SPDX-License-Identifier: Apache-2.0
//
// A worker that doubles four floats, unless the first one asks for a fault:
//   13 crashes, 14 hangs, 15 takes all memory that it gets, 16 gives what it
//   gave last time, 17 answers another number each time, 18 loses the device.
#include "hal/worker/Loop.h"

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace backplane;
using namespace backplane::worker;

namespace {

void eatMemory() {
  std::vector<std::vector<char>> all;
  while (true)
    all.emplace_back(size_t(64) << 20, 'x');
}

class Faulty {
public:
  Status handle(const Frame &request, Frame &answer) {
    answer.type = FrameType::Ready;
    if (request.type == FrameType::Artifact)
      return {};
    RunMessage message;
    if (Status s = decode(request.payload, message); !s.ok())
      return s;
    float values[4] = {};
    std::memcpy(values, message.inputs.at(0).data.data(), sizeof values);
    fault(int(values[0]));
    lost_ |= values[0] == 18;
    if (lost_)
      return Status(BP_STATUS_UNAVAILABLE, "the device is lost");
    bool cached = values[0] == 16 && !last_.outputs.empty();
    if (!cached)
      last_ = doubled(message, values);
    answer.type = FrameType::Result;
    answer.payload = encode(last_);
    return {};
  }

private:
  ResultMessage doubled(const RunMessage &message, const float (&values)[4]) {
    float results[4];
    for (int i = 0; i < 4; ++i)
      results[i] = 2 * values[i];
    if (values[0] == 17)
      results[0] += float(++runs_);
    ResultMessage result;
    result.outputs = {message.inputs[0]};
    std::memcpy(result.outputs[0].data.data(), results, sizeof results);
    return result;
  }
  static void fault(int which) {
    if (which == 13)
      std::abort();
    if (which == 14)
      std::this_thread::sleep_for(std::chrono::hours(1));
    if (which == 15)
      eatMemory();
  }

  ResultMessage last_;
  int runs_ = 0;
  bool lost_ = false;
};

} // namespace

int main(int argc, char **argv) {
  WorkerOptions options;
  if (auto code = parseWorkerOptions(argc, argv, options))
    return *code;
  auto faulty = std::make_shared<Faulty>();
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    greeting.version = "test";
    return Handler([faulty](const Frame &request, Frame &answer) {
      return faulty->handle(request, answer);
    });
  });
}
