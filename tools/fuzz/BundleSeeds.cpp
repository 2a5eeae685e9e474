// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"
#include "hal/worker/Bundle.h"
#include "sdk/support/Hash.h"

namespace backplane::fuzz {

namespace {

/// Messages in one frame and in pieces, which fit together or do not.
void writeStreams(const fs::path &folder, const worker::Payload &whole) {
  using namespace worker;
  auto stream = [&](const char *name, std::initializer_list<Frame> frames) {
    std::vector<uint8_t> bytes = encodeFrame({FrameType::Run, 1, whole});
    for (const Frame &frame : frames) {
      std::vector<uint8_t> piece = encodeFrame(frame);
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    write(folder / name, bytes);
  };
  const Payload piece(20, 1), large(1 << 12, 2);
  const Frame part{FrameType::Part, 2, piece}, more{FrameType::Part, 2, large};
  stream("stream", {part, part, {FrameType::Run, 2, piece}});
  stream("mixed", {part, {FrameType::Run, 3, piece}});
  stream("empty", {part, {FrameType::Part, 2, {}}});
  stream("long", {more, more, more, {FrameType::Run, 2, large}});
}

} // namespace

Status writeBundles(const fs::path &root) {
  using namespace worker;
  WireTensor tensor{BP_DTYPE_F32, {2}, Payload(8, 1)};
  ArtifactMessage artifact{"0123456789abcdef0123456789abcdef", Payload(16, 2)};
  RunMessage run{artifact.hash, {tensor}};
  ResultMessage result{{tensor}, 1.5, 1.25, "none"};
  CheckMessage check{"L1/copy/small", artifact.hash, artifact.hash};
  Hello hello;
  hello.version = "0.1.0";
  hello.devices.resize(2);
  hello.devices[0].formats = {"elf-x86_64"};
  BundleMessage head{"cases", "0.1.0", "host", "host", {"a", "b"}, "c"};
  fs::path frames = folderOf(root, "frames"), folder = folderOf(root, "bundle");
  int number = 0;
  auto put = [&](const auto &message) {
    write(frames / std::to_string(number++), encode(message));
  };
  put(artifact), put(run), put(result), put(check), put(hello), put(head);
  put(CompileMessage{Payload(9, 3), {tensor}});
  put(CompiledMessage{Payload(5, 4), 2});
  put(CheckedMessage{1, "wrong", 3});
  put(ErrorMessage{BP_STATUS_INTERNAL, "no"});
  put(OfferMessage{artifact.hash}), put(OpenMessage{artifact.hash, 1, 2});
  put(OpenedMessage{1, 2, "why"}), put(SessionMessage{3}), put(EndMessage{4});
  put(AnswerMessage{"run", uint32_t(FrameType::Result), encode(result)});
  put(JobMessage{"m.onnx", "m.bpx", "", {"ref"}, {"n"}, {1}, {9}});
  put(JobMessage{"m.onnx", "m.bpx", "", {"ref"}, {"n"}});
  put(BatchMessage{{run, run}, BatchMessage::Threads, 3, 4096});
  put(BatchMessage{{run}, BatchMessage::Mode(9), 0});
  put(BatchedMessage{{result, result}, {result}, 1, 2});
  put(BeginMessage{"ref", 2, 1 << 30, "-"});
  put(SurroundMessage{{"A=b"}, "/", "C", 022, 3, 2, 1, 64});
  writeStreams(frames, encode(run));
  auto writer = BundleWriter::create((folder / "bundle").string(), head);
  if (!writer)
    return writer.status();
  Status status = writer->artifact(artifact);
  for (const Status &next :
       {writer->run(run),
        writer->answer({hashBytes(encode(run)), uint32_t(FrameType::Result),
                        encode(result)}),
        writer->put(FrameType::Check, encode(check)), writer->finish()})
    if (status.ok())
      status = next;
  auto results = BundleWriter::create((folder / "results").string(), head);
  if (!results)
    return results.status();
  for (const Status &next :
       {results->put(FrameType::Hello, encode(hello)),
        results->answer({"run", uint32_t(FrameType::Result), encode(result)}),
        results->finish()})
    if (status.ok())
      status = next;
  return status;
}

std::vector<std::string> names() {
  std::vector<std::string> texts = {
      "host",
      "ref://interpreter?a=1&b=2",
      "vulkan://0,host",
      "auto:latency",
      "worker:board/npu,host",
      "npu+host+a+b",
      "ssh -p 22 'user@board' bp-worker \"a b\"",
      "worker:board/npu",
      "worker:board/npu://0?a=1,host",
      "worker:local/ref",
      "worker:board/npu+worker:board/host",
      "worker:board/npu+worker:other/host",
      "worker:local/npu+host",
      "auto:power",
      "cpu,auto:throughput",
      "subgroup_size>=8",
      "acme.tiles!=-4",
      "cache_bytes.2<1048576",
      R"({"workers": {}})",
      R"({"workers": 1})",
      R"({"workers": {"Board!": {}}})",
      R"({"workers": {"b": {"x": 1}}})",
      R"({"workers": {"board": {"launcher": "ssh board"}}})",
      R"({"workers": {"board": {"launcher": ["ssh", "a"],
                  "arguments": ["-v"]}}})",
      R"({"workers": {"board": {"launcher": ["ssh", "board"],
                  "worker": "bp-worker", "arguments": "-v", "shell": true,
                  "timeout": 10}}})"};
  for (const char *member :
       {R"("launcher": "ssh 'a")", R"("launcher": 1)", R"("launcher": [1])",
        R"("launcher": [])", R"("launcher": "qemu -L /x", "shell": false)",
        R"("arguments": ["\u0000"])", R"("worker": "")", R"("shell": 1)",
        R"("timeout": 0)", R"("timeout": 99999)",
        R"("worker": "/w", "timeout": 1)"})
    for (const char *name : {"board", "local"})
      texts.push_back(std::string(R"({"workers": {")") + name + R"(": {)" +
                      member + "}}}");
  std::string many;
  for (int i = 0; i < 257; ++i)
    many += (i ? ", \"" : "\"") + std::to_string(i) + "\": {}";
  texts.push_back(R"({"workers": {)" + many + "}}");
  return texts;
}

} // namespace backplane::fuzz
