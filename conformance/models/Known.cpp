// SPDX-License-Identifier: Apache-2.0
#include "Known.h"

namespace backplane::conformance {

namespace {

using enum DType;

constexpr KnownFile files[] = {
    {"centerface/astronaut.inputs.npz", "",
     "f3e718f54e4b3e607dbecd11f33776e2c20f4453c487943637ba787be101d7ab"},
    {"centerface/astronaut.ort_outputs.npz", "",
     "a23fe30fceb24aa333a47460a67fa535409cb573add6059cacb86ad320300eab"},
    {"centerface/centerface_dyn.onnx", "",
     "4cd83c9382d1d70a49a70e65d0db0ca5d6bb2a85d624ca22a8c99a55b6afbb26"},
    {"exported/bert_dynamic.inputs.npz", "",
     "58fcc39dc573474103df2cb6fa2e327f04a5e172d859878b659d1175f085a6f2"},
    {"exported/bert_dynamic.onnx", "",
     "3a9c2985e0eb530bf7fdd5dd130d084de67c6c6295515d1d58e4d006e9ed44bb"},
    {"exported/gpt2.inputs.npz", "",
     "db6f3222bd900c8c0fd70bd893eb18472e01ed91e920ad35db4c58d32f2dbdff"},
    {"exported/gpt2.onnx", "",
     "18a6bfce9ad2acf4f389e5d579fb9a844a1813172f682bd25d3fbf4d43004d99"},
    {"exported/llama_dynamic.inputs.npz", "",
     "5fe9a32d0eb4255df1a1c4f526c2f6e67eec4366da6d326f73e2dd75e2b0ca44"},
    {"exported/llama_dynamic.onnx", "",
     "6468102deed63bb92bed06cf2f3bd80c5575c8fcbb27d72589284e72312313c2"},
    {"exported/mobilenetv2.inputs.npz", "",
     "53f491cbfead5f640d50bf8936ee796e631a96a8395a36c3cbb658aaf78612b2"},
    {"exported/mobilenetv2.onnx", "",
     "6aa04ab82c74a3b2042259ee3938f47c0403442a04da63da85308dcd7b6bf2e2"},
    {"exported/mobilenetv2.ort_outputs.npz", "",
     "4284b2bba3d85d7b1653714b0f2909df014d4ab951835c3a6515cc603f7d37ce"},
    {"magika/files.inputs.npz", "",
     "6930ca07c55769f2c5befb57b07bdf816a2f4e6a29bd3bff8514d3ab155b71e5"},
    {"magika/files.ort_outputs.npz", "",
     "926bde5f19ad6949a2e6cd36634f9668e7ed8ce787c56e01c7e233ad65288f43"},
    {"magika/model.onnx", "magika/models/standard_v3_3/model.onnx",
     "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"},
    {"silero_vad/silero_vad.onnx", "silero_vad/data/silero_vad.onnx",
     "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3"},
    {"silero_vad/silero_vad_16k_sequence.onnx",
     "silero_vad/data/silero_vad_16k_sequence.onnx",
     "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85"},
    {"silero_vad/speech_frame60_if.inputs.npz", "",
     "845d62b4ed6ca7be8dcc1eb68eceaf55f536dc49ae0036479aec695d6b2f2b6b"},
    {"silero_vad/speech_frame60_if.ort_outputs.npz", "",
     "e72c0a28bdb115c362fbb6fa3e811234fd168b6d725f89e132725962d5440221"},
    {"silero_vad/speech_seq.inputs.npz", "",
     "9c6b037510493287b515d5ee97acaac5058bac16259085edd8618f461a746708"},
    {"silero_vad/speech_seq.ort_outputs.npz", "",
     "3d422c6e5835d6d13a9da056b95bfbdc72bb386342af205e38b7442dd9ecac63"},
    {"swift_f0/model.onnx", "",
     "6385e8c2ebc3872e82c9ff5946228de44cd3be77a750ea53698b7dbfe94b0a22"},
    {"swift_f0/speech.inputs.npz", "",
     "8a1df950a56972979f2fd8b74e87b161b3c2b2b2f810acae4862eb7353799e4e"},
    {"swift_f0/speech.ort_outputs.npz", "",
     "9b7f7a5d138ed640d9bd42b6b71dac1b95527cc6c1536efc37208d0f4fd02880"}};

/// What the oracle gave for Magika on "uniform" data in four minutes. The case
/// "uniform-whole" asks it again.
constexpr KeptElement magikaKept[] = {
#include "MagikaKept.inc"
};

constexpr Depth standard = Depth::Standard, full = Depth::Full;

KnownModel magika() {
  KnownModel model{"magika", "magika/model.onnx", {F32, I32, Bool}, {}, {}};
  InputRule bytes{.kind = InputRule::Kind::Index, .bound = 257};
  model.cases = {{.dataSet = "uniform",
                  .depth = Depth::Smoke,
                  .kept = magikaKept,
                  .rule = bytes},
                 {.dataSet = "files",
                  .depth = standard,
                  .inputs = "magika/files.inputs.npz",
                  .outputs = "magika/files.ort_outputs.npz",
                  .bound = 0x1p-12},
                 {.dataSet = "uniform-whole", .depth = full, .rule = bytes}};
  return model;
}

KnownModel centerface() {
  KnownModel model{
      "centerface", "centerface/centerface_dyn.onnx", {F32, I64}, {}, {}};
  const char *image = "centerface/astronaut.inputs.npz";
  model.cases = {{.dataSet = "image-part",
                  .depth = standard,
                  .inputs = image,
                  .part = {{0, 1}, {0, 3}, {100, 132}, {200, 232}}},
                 {.dataSet = "image",
                  .depth = standard,
                  .inputs = image,
                  .outputs = "centerface/astronaut.ort_outputs.npz",
                  .bound = 0x1p-13}};
  return model;
}

std::vector<KnownModel> exported() {
  std::vector<IndexRange> few = {{0, 1}, {0, 7}};
  return {{"bert",
           "exported/bert_dynamic.onnx",
           {F32, I64, Bool},
           {},
           {{.dataSet = "text-part",
             .depth = standard,
             .inputs = "exported/bert_dynamic.inputs.npz",
             .part = few}}},
          {"llama",
           "exported/llama_dynamic.onnx",
           {F32, I64, Bool},
           {},
           {{.dataSet = "text-part",
             .depth = standard,
             .inputs = "exported/llama_dynamic.inputs.npz",
             .part = few}}},
          {"gpt2",
           "exported/gpt2.onnx",
           {F32, I64, Bool},
           {},
           {{.dataSet = "text",
             .depth = standard,
             .inputs = "exported/gpt2.inputs.npz"}}},
          {"mobilenetv2",
           "exported/mobilenetv2.onnx",
           {F32},
           {},
           {{.dataSet = "noise",
             .depth = standard,
             .inputs = "exported/mobilenetv2.inputs.npz",
             .outputs = "exported/mobilenetv2.ort_outputs.npz",
             .bound = 0x1p-13}}}};
}

std::vector<KnownModel> speech() {
  return {{"silero-vad",
           "silero_vad/silero_vad.onnx",
           {F32, I64, Bool},
           {},
           {{.dataSet = "speech",
             .depth = standard,
             .inputs = "silero_vad/speech_frame60_if.inputs.npz",
             .outputs = "silero_vad/speech_frame60_if.ort_outputs.npz",
             .bound = 0x1p-13}}},
          {"silero-vad-sequence",
           "silero_vad/silero_vad_16k_sequence.onnx",
           {F32},
           {},
           {{.dataSet = "speech",
             .depth = standard,
             .inputs = "silero_vad/speech_seq.inputs.npz",
             .outputs = "silero_vad/speech_seq.ort_outputs.npz",
             .bound = 0x1p-13}}},
          {"swift-f0",
           "swift_f0/model.onnx",
           {F64, F32, I64, I32, Bool},
           {},
           {{.dataSet = "speech",
             .depth = standard,
             .inputs = "swift_f0/speech.inputs.npz",
             .outputs = "swift_f0/speech.ort_outputs.npz",
             .bound = 0x1p-13}}}};
}

} // namespace

std::span<const KnownFile> knownFiles() { return files; }

const std::vector<KnownModel> &knownModels() {
  static const std::vector<KnownModel> models = [] {
    std::vector<KnownModel> all = {magika(), centerface()};
    for (const auto &more : {exported(), speech()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return models;
}

} // namespace backplane::conformance
