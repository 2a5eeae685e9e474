// SPDX-License-Identifier: Apache-2.0
//
// OnnxBytes.h: a small ONNX model in its own encoding, without protobuf.
#ifndef BACKPLANE_SERVICE_TEST_ONNXBYTES_H
#define BACKPLANE_SERVICE_TEST_ONNXBYTES_H

#include <cstdint>
#include <string>

namespace backplane::test {

/// One message of the protobuf encoding.
class Message {
public:
  Message &number(unsigned field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message &bytes(unsigned field, const std::string &value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message &message(unsigned field, const Message &value) {
    return bytes(field, value.bytes_);
  }
  const std::string &str() const { return bytes_; }

private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7)
      bytes_ += char(value | 128);
    bytes_ += char(value);
  }
  std::string bytes_;
};

/// A value of type f32[4].
inline Message vectorInfo(const std::string &name) {
  Message shape = Message().message(1, Message().number(1, 4));
  Message tensor = Message().number(1, 1).message(2, shape);
  return Message().bytes(1, name).message(2, Message().message(1, tensor));
}

/// y = x + w over f32[4]. The bytes of w stand in the model or, when a file is
/// named, in that file beside it.
inline std::string addModel(const std::string &w, const std::string &file) {
  Message weight = Message().number(1, 4).number(2, 1).bytes(8, "w");
  if (file.empty())
    weight.bytes(9, w);
  else
    weight.message(13, Message().bytes(1, "location").bytes(2, file))
        .number(14, 1);
  Message node =
      Message().bytes(1, "x").bytes(1, "w").bytes(2, "y").bytes(4, "Add");
  Message graph = Message()
                      .message(1, node)
                      .bytes(2, "add")
                      .message(5, weight)
                      .message(11, vectorInfo("x"))
                      .message(12, vectorInfo("y"));
  Message opset = Message().bytes(1, "").number(2, 17);
  return Message().number(1, 8).message(7, graph).message(8, opset).str();
}

} // namespace backplane::test

#endif // BACKPLANE_SERVICE_TEST_ONNXBYTES_H
