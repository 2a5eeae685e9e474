// SPDX-License-Identifier: Apache-2.0
#include "hal/worker/Messages.h"

#include "messages_generated.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace backplane;
using namespace backplane::worker;

namespace {

Frame sample() { return {FrameType::Run, 7, {1, 2, 3, 4, 5}}; }

TEST(Frames, ArriveInAnyPieces) {
  std::vector<uint8_t> stream = encodeFrame(sample());
  Frame empty{FrameType::Ready, 8, {}};
  for (uint8_t byte : encodeFrame(empty))
    stream.push_back(byte);
  for (size_t step : {1, 7, 1000}) {
    FrameParser parser;
    std::vector<Frame> seen;
    for (size_t at = 0; at < stream.size(); at += step) {
      parser.push(
          std::span(stream).subspan(at, std::min(step, stream.size() - at)));
      while (true) {
        auto frame = parser.next();
        ASSERT_TRUE(frame.ok()) << frame.message();
        if (!*frame)
          break;
        seen.push_back(std::move(**frame));
      }
    }
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].type, FrameType::Run);
    EXPECT_EQ(seen[0].request, 7u);
    EXPECT_EQ(seen[0].payload, sample().payload);
    EXPECT_TRUE(seen[1].payload.empty());
    EXPECT_FALSE(parser.partial());
  }
}

TEST(Frames, NoticeEveryDamagedByte) {
  const std::vector<uint8_t> good = encodeFrame(sample());
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t mask : {0x01, 0x80, 0xFF}) {
      std::vector<uint8_t> bad = good;
      bad[at] ^= mask;
      FrameParser parser(1 << 20);
      parser.push(bad);
      auto frame = parser.next();
      EXPECT_FALSE(frame && *frame) << "byte " << at;
    }
}

TEST(Frames, RefuseASizeBeforeItsBytesCome) {
  std::vector<uint8_t> bytes = encodeFrame(sample());
  uint64_t size = UINT64_MAX;
  std::memcpy(bytes.data() + 16, &size, sizeof(size));
  FrameParser parser;
  parser.push(std::span(bytes).first(frameHeaderBytes));
  auto frame = parser.next();
  ASSERT_FALSE(frame.ok());
  EXPECT_NE(frame.message().find("18446744073709551615"), std::string::npos);
}

RunMessage runMessage() {
  return {"abc", {{2, {2, 3}, Payload(24, 9)}, {8, {}, Payload(4, 1)}}, 1, 2};
}

TEST(Messages, ComeBackAsTheyWere) {
  RunMessage run;
  ASSERT_TRUE(decode(encode(runMessage()), run).ok());
  EXPECT_EQ(run.artifact, "abc");
  ASSERT_EQ(run.inputs.size(), 2u);
  EXPECT_EQ(run.inputs[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(run.inputs[1].data, Payload(4, 1));
  EXPECT_EQ(run.otherFill, 2);
  Hello hello;
  hello.device = "host://cpu";
  hello.numerics = {{"DOT", 2, 24, 0, 12}};
  Hello again;
  ASSERT_TRUE(decode(encode(hello), again).ok());
  EXPECT_EQ(again.device, hello.device);
  ASSERT_EQ(again.numerics.size(), 1u);
  EXPECT_EQ(again.numerics[0].flags, 12u);
}

TEST(Messages, RefuseEveryPrefixAndWhatFollows) {
  Payload good = encode(runMessage());
  RunMessage run;
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_EQ(decode(std::span(good).first(size), run).code(),
              BP_STATUS_DATA_LOSS);
  good.push_back(0);
  EXPECT_FALSE(decode(good, run).ok());
}

TEST(Messages, TakeAnyBytes) {
  std::mt19937_64 random(1);
  const Payload good = encode(runMessage());
  for (int i = 0; i < 20000; ++i) {
    Payload bad = good;
    for (int change = 0; change < 3; ++change)
      bad[random() % bad.size()] = uint8_t(random());
    RunMessage run;
    if (decode(bad, run).ok())
      for (const WireTensor &tensor : run.inputs)
        EXPECT_LE(tensor.dims.size(), 16u);
  }
}

TEST(Messages, EmptyListsComeBack) {
  JobMessage again;
  EXPECT_TRUE(decode(encode(JobMessage{.threads = 3}), again).ok());
  EXPECT_TRUE(again.minimums.empty());
  EXPECT_EQ(again.threads, 3u);
}

TEST(Messages, RefuseCountsThatCannotBeThere) {
  Payload payload = encode(CompiledMessage{});
  uint64_t count = uint64_t(1) << 60;
  std::memcpy(payload.data(), &count, sizeof(count));
  CompiledMessage message;
  EXPECT_EQ(decode(payload, message).code(), BP_STATUS_DATA_LOSS);
  EXPECT_TRUE(message.artifact.empty());
}

/// The frames of a message, as a stream of bytes.
std::vector<uint8_t> streamOf(const Frame &message) {
  std::vector<uint8_t> stream;
  EXPECT_TRUE(eachFrame(message, [&](const FrameHeader &header,
                                     std::span<const uint8_t> payload) {
                stream.insert(stream.end(), header.begin(), header.end());
                stream.insert(stream.end(), payload.begin(), payload.end());
                return Status();
              }).ok());
  return stream;
}

TEST(Messages, RefuseATableThatNamesOnePartOften) {
  flatbuffers::FlatBufferBuilder builder;
  auto text = builder.CreateString(std::string(1 << 16, 'x'));
  for (size_t times : {1, 2, 1000}) {
    std::vector<decltype(text)> facts(times, text);
    auto list = builder.CreateVector(facts);
    builder.FinishSizePrefixed(fb::CreateBundle(builder, 0, 0, 0, 0, list));
    BundleMessage message;
    EXPECT_EQ(decode(builder.GetBufferSpan(), message).ok(), times == 1);
    builder.Clear();
    text = builder.CreateString(std::string(1 << 16, 'x'));
  }
}

TEST(Messages, TravelInPiecesWhenTheyAreLarge) {
  for (uint64_t size : {uint64_t(0), maxFrameBytes - 1, maxFrameBytes,
                        maxFrameBytes + 1, 3 * maxFrameBytes + 7}) {
    Frame message{FrameType::Run, 9, {}};
    message.payload.resize(size);
    for (size_t i = 0; i < size; i += 1000)
      message.payload[i] = uint8_t(i / 1000);
    FrameParser parser;
    Assembler assembler;
    parser.push(streamOf(message));
    size_t frames = 0;
    std::optional<Frame> whole;
    while (!whole) {
      auto frame = parser.next();
      ASSERT_TRUE(frame.ok() && *frame) << frame.message();
      EXPECT_LE((*frame)->payload.size(), maxFrameBytes);
      ++frames;
      auto added = assembler.add(std::move(**frame));
      ASSERT_TRUE(added.ok()) << added.message();
      whole = std::move(*added);
    }
    EXPECT_EQ(frames,
              std::max<size_t>(1, (size + maxFrameBytes - 1) / maxFrameBytes));
    EXPECT_EQ(whole->type, FrameType::Run);
    EXPECT_EQ(whole->payload, message.payload);
    EXPECT_FALSE(assembler.partial() || parser.partial());
  }
}

TEST(Messages, RefusePiecesThatDoNotBelongTogether) {
  Assembler mixed;
  EXPECT_TRUE(mixed.add({FrameType::Part, 1, {1}}).ok());
  EXPECT_EQ(mixed.add({FrameType::Run, 2, {2}}).code(), BP_STATUS_DATA_LOSS);
  Assembler empty;
  EXPECT_EQ(empty.add({FrameType::Part, 1, {}}).code(), BP_STATUS_DATA_LOSS);
  Assembler small(10);
  EXPECT_TRUE(small.add({FrameType::Part, 1, Payload(8)}).ok());
  EXPECT_EQ(small.add({FrameType::Run, 1, Payload(3)}).code(),
            BP_STATUS_DATA_LOSS);
}

TEST(Messages, KeepWhatIsSaidOfDevices) {
  Hello hello;
  WireDevice device;
  device.uri = "host://cpu";
  device.id = "cpu";
  device.formats = {"elf", ""};
  device.features = {"neon"};
  device.maxGrid = {1, 2, 3};
  device.memoryBytes = 1ull << 40;
  device.properties = {{"subgroup_sizes", BP_PROPERTY_I64S, 0, 0, "", {32, 64}},
                       {"acme.clock", BP_PROPERTY_F64, 0, 1.5, "", {}}};
  hello.devices = {device, WireDevice()};
  hello.bufferBytes = 1ull << 33;
  Hello copy;
  ASSERT_TRUE(decode(encode(hello), copy).ok());
  EXPECT_EQ(copy.bufferBytes, hello.bufferBytes);
  ASSERT_EQ(copy.devices.size(), 2u);
  EXPECT_EQ(copy.devices[0].formats, device.formats);
  EXPECT_EQ(copy.devices[0].maxGrid, device.maxGrid);
  EXPECT_EQ(copy.devices[0].memoryBytes, device.memoryBytes);
  ASSERT_EQ(copy.devices[0].properties.size(), 2u);
  EXPECT_EQ(copy.devices[0].properties[0].i64s, device.properties[0].i64s);
  EXPECT_EQ(copy.devices[0].properties[1].key, "acme.clock");
  EXPECT_EQ(copy.devices[0].properties[1].f64, 1.5);
  hello.devices[0].maxGrid.pop_back();
  EXPECT_EQ(decode(encode(hello), copy).code(), BP_STATUS_DATA_LOSS);
}

TEST(Frames, OfAnotherVersionAreRefusedByName) {
  std::vector<uint8_t> bytes = encodeFrame({FrameType::Ready, 1, {}});
  ASSERT_EQ(bytes[4], protocolVersion); // behind the magic
  for (int change : {-1, 1}) {
    bytes[4] = uint8_t(protocolVersion + change);
    FrameParser parser;
    parser.push(bytes);
    auto frame = parser.next();
    ASSERT_EQ(frame.code(), BP_STATUS_UNIMPLEMENTED);
    EXPECT_NE(frame.message().find("version " + std::to_string(bytes[4]) + ","),
              std::string::npos)
        << frame.message();
  }
}

} // namespace
