#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes model_sizes.inc: sizes that models have, for the large cases.

The published configurations stand below with their sources; `--models DIR` adds
the products and convolutions of all ONNX files in a folder.
"""
import argparse
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

# Products: name, m (rows or tokens), k, n.
PRODUCTS = [
    # BERT, arXiv:1810.04805: base 768/3072, large 1024/4096, vocabulary 30,522
    ("bert-base-qkv", 384, 768, 768),
    ("bert-base-up", 384, 768, 3072),
    ("bert-large-down", 512, 4096, 1024),
    ("bert-base-vocabulary", 128, 768, 30522),
    # GPT-2, Radford et al. 2019: 768 to 1600 wide, vocabulary 50,257
    ("gpt2-qkv", 1024, 768, 2304),
    ("gpt2-xl-up", 256, 1600, 6400),
    ("gpt2-decode", 1, 768, 50257),
    # Llama 2 7B, arXiv:2307.09288: 4096/11008, vocabulary 32,000
    ("llama-qkv", 128, 4096, 4096),
    ("llama-gate", 64, 4096, 11008),
    ("llama-down", 64, 11008, 4096),
    ("llama-decode", 1, 4096, 32000),
    # ViT-B/16, arXiv:2010.11929: 197 tokens
    ("vit-b16-up", 788, 768, 3072),
    # Swin-T, arXiv:2103.14030: 96 to 768 wide, 56 x 56 tokens
    ("swin-t-stage1", 3136, 96, 384),
    # Whisper base, arXiv:2212.04356: 512/2048, 1500 frames, vocabulary 51,865
    ("whisper-base-up", 1500, 512, 2048),
    # Classifiers of ResNet-50, arXiv:1512.03385, and EfficientNet-B7,
    # arXiv:1905.11946
    ("resnet50-head", 32, 2048, 1000),
    ("efficientnet-b7-head", 16, 2560, 1000),
]

# Convolutions: name, window, strides, groups (-1: as many as channels), batch,
# channels in and out, spatial sizes.
CONVOLUTIONS = [
    # ResNet-50, arXiv:1512.03385
    ("resnet50-stem", (7, 7), (2, 2), 1, 1, 3, 64, (224, 224)),
    ("resnet50-1-3x3", (3, 3), (1, 1), 1, 2, 64, 64, (56, 56)),
    ("resnet50-2-3x3", (3, 3), (1, 1), 1, 2, 128, 128, (28, 28)),
    ("resnet50-3-3x3", (3, 3), (1, 1), 1, 4, 256, 256, (14, 14)),
    ("resnet50-4-3x3", (3, 3), (1, 1), 1, 4, 512, 512, (7, 7)),
    ("resnet50-2-down", (3, 3), (2, 2), 1, 1, 128, 128, (56, 56)),
    ("resnet50-1-1x1", (1, 1), (1, 1), 1, 1, 64, 256, (56, 56)),
    ("resnet50-4-1x1", (1, 1), (1, 1), 1, 4, 2048, 512, (7, 7)),
    # ResNeXt-50 32x4d, arXiv:1611.05431
    ("resnext50-1", (3, 3), (1, 1), 32, 1, 128, 128, (56, 56)),
    # MobileNetV2, arXiv:1801.04381
    ("mobilenetv2-2", (3, 3), (2, 2), -1, 1, 96, 96, (112, 112)),
    ("mobilenetv2-5", (3, 3), (1, 1), -1, 1, 576, 576, (14, 14)),
    ("mobilenetv2-6", (3, 3), (1, 1), -1, 1, 960, 960, (7, 7)),
    # EfficientNet-B0, arXiv:1905.11946
    ("efficientnet-b0-3", (5, 5), (2, 2), -1, 1, 144, 144, (56, 56)),
    ("efficientnet-b0-5", (5, 5), (1, 1), -1, 1, 672, 672, (14, 14)),
    # ConvNeXt-T, arXiv:2201.03545
    ("convnext-t-patch", (4, 4), (4, 4), 1, 1, 3, 96, (224, 224)),
    ("convnext-t-1", (7, 7), (1, 1), -1, 1, 96, 96, (56, 56)),
    ("convnext-t-4", (7, 7), (1, 1), -1, 1, 768, 768, (7, 7)),
    # ViT-B/16, arXiv:2010.11929
    ("vit-b16-patch", (16, 16), (16, 16), 1, 1, 3, 768, (224, 224)),
    # Whisper base, arXiv:2212.04356
    ("whisper-base-1", (3,), (1,), 1, 1, 80, 512, (3000,)),
    ("whisper-base-2", (3,), (2,), 1, 1, 512, 512, (3000,)),
    # U-Net, arXiv:1505.04597, and that of latent diffusion, arXiv:2112.10752
    ("unet-1", (3, 3), (1, 1), 1, 1, 64, 64, (112, 112)),
    ("diffusion-1", (3, 3), (1, 1), 1, 1, 320, 320, (64, 64)),
    ("diffusion-3", (3, 3), (1, 1), 1, 1, 1280, 1280, (16, 16)),
    # R3D-18, arXiv:1711.11248
    ("r3d18-1", (3, 3, 3), (1, 1, 1), 1, 1, 64, 64, (8, 56, 56)),
]


def dims_of(model):
    """Static dims of all values, by name."""
    import onnx
    try:
        model = onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - a model without shapes has no entries
        pass
    graph = model.graph
    dims = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        shape = value.type.tensor_type.shape
        dims[value.name] = tuple(dim.dim_value for dim in shape.dim)
    return dims


def from_model(path):
    """Products with a weight and convolutions with known sizes of a file."""
    import onnx
    model = onnx.load(path)
    dims = dims_of(model)
    products, convolutions = [], []
    for node in model.graph.node:
        x, w = (dims.get(name, ()) for name in [*node.input, "", ""][:2])
        attributes = {a.name: onnx.helper.get_attribute_value(a)
                      for a in node.attribute}
        if node.op_type == "MatMul" and len(w) == 2 and len(x) >= 2:
            products.append((x[-2] or 128, w[0], w[1]))
        if node.op_type == "Conv" and len(w) == len(x) > 2 and all(x[1:]):
            window = w[2:]
            strides = tuple(attributes.get("strides", [1] * len(window)))
            groups = attributes.get("group", 1)
            groups = -1 if groups == x[1] and groups > 1 else groups
            convolutions.append((window, strides, groups, x[0] or 1, x[1], w[0], x[2:]))
    return products, convolutions


def entry(kind, name, values):
    sizes = ", ".join(f'{{"{key}", {value}}}' for key, value in values)
    return f'    {{"{name}", {{{sizes}}}}},\n'


def braces(numbers):
    return "{" + ", ".join(map(str, numbers)) + "}"


def text_of(products, convolutions):
    text = ["// SPDX-License-Identifier: Apache-2.0\n",
            "// Written by model_sizes.py, which has the sources; do not edit.\n",
            "const std::vector<KnownSizes> products = {\n"]
    for name, m, k, n in products:
        text.append(entry("matmul", name, [("k", k), ("m", m), ("n", n)]))
    text.append("};\n\nconst std::vector<KnownWindow> windows = {\n")
    for name, window, strides, groups, batch, inputs, outputs, sizes in convolutions:
        values = [("n", batch), ("c", inputs), ("o", outputs), *zip("hwd", sizes)]
        pairs = ", ".join(f'{{"{key}", {value}}}' for key, value in values)
        text.append(f'    {{"{name}", {braces(window)}, {braces(strides)}, {groups},\n'
                    f"     {{{pairs}}}}},\n")
    return "".join([*text, "};\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=pathlib.Path, help="folder of ONNX files")
    options = parser.parse_args()
    products, convolutions = list(PRODUCTS), list(CONVOLUTIONS)
    known_products = {entry[1:] for entry in products}
    known_windows = {entry[1:] for entry in convolutions}
    for path in sorted(options.models.rglob("*.onnx")) if options.models else []:
        name = f"{path.parent.name}-{path.stem}".replace("_", "-").lower()
        for all_found, known, table in zip(from_model(path),
                                           (known_products, known_windows),
                                           (products, convolutions), strict=True):
            for number, sizes in enumerate(dict.fromkeys(all_found)):
                if sizes not in known:
                    known.add(sizes)
                    table.append((f"{name}-{number}", *sizes))
    (HERE / "model_sizes.inc").write_text(text_of(products, convolutions),
                                          encoding="utf-8")
    print(f"{len(products)} products, {len(convolutions)} convolutions")


if __name__ == "__main__":
    main()
