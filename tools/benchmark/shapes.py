# SPDX-License-Identifier: Apache-2.0
"""Shapes that layers of known models have. The rows of the benchmark are drawn from
here: what a seed takes, and at which size, nobody knows before."""

# Features in and out of dense layers.
DENSE = [
    ("bert-base qkv", 768, 768), ("bert-base up", 768, 3072), ("bert-base down", 3072, 768),
    ("bert-large up", 1024, 4096), ("vit-tiny qkv", 192, 576), ("vit-tiny up", 192, 768),
    ("vit-small down", 1536, 384), ("gpt2 qkv", 768, 2304), ("llama-small gate", 512, 1376),
    ("llama-small down", 1376, 512), ("llama-1b gate", 2048, 5632), ("t5-small up", 512, 2048),
    ("whisper-tiny up", 384, 1536), ("swin-t up", 96, 384), ("resnet-50 head", 2048, 1000),
    ("mobilenet-v2 head", 1280, 1000), ("vgg-16 fc7", 4096, 4096), ("dlrm top", 479, 1024),
    ("distilbert vocabulary", 768, 8192), ("mixer tokens", 196, 384), ("clip projection", 768, 512)]
# Heads and features of each.
HEADS = [("bert-base", 12, 64), ("bert-large", 16, 64), ("vit-tiny", 3, 64), ("gpt2", 12, 64),
         ("llama-small", 8, 64), ("llama-1b", 32, 64), ("llama-7b", 32, 128), ("swin-t", 3, 32),
         ("whisper-tiny", 6, 64), ("t5-small", 8, 64)]
TOKENS = [1, 7, 16, 49, 50, 64, 77, 100, 128, 196, 197, 256, 384, 512]
WIDTHS = [96, 192, 320, 384, 512, 768, 1000, 1024, 1280, 2048]

# Channels in, channels out, height at the model's own size.
CONV3 = [
    ("resnet-50 2", 64, 64, 56), ("resnet-50 3", 128, 128, 28), ("resnet-50 4", 256, 256, 14),
    ("resnet-50 5", 512, 512, 7), ("vgg-16 2", 64, 128, 112), ("vgg-16 3", 256, 256, 56),
    ("yolov8n c2f", 32, 32, 80), ("yolov8n neck", 64, 64, 40), ("unet down", 64, 64, 128),
    ("unet up", 192, 96, 64), ("retinanet head", 256, 256, 32), ("squeezenet 8", 64, 256, 13),
    ("inception b", 96, 96, 35), ("densenet-121", 128, 32, 28), ("espcn", 64, 32, 96)]
CONV1 = [
    ("resnet-50 reduce", 256, 64, 56), ("resnet-50 expand", 64, 256, 56),
    ("resnet-50 4", 1024, 256, 14), ("resnet-50 5", 512, 2048, 7), ("mobilenet-v2 expand", 24, 144, 56),
    ("mobilenet-v2 project", 144, 24, 56), ("mobilenet-v2 last", 320, 1280, 7),
    ("efficientnet-b0 expand", 40, 240, 28), ("squeezenet squeeze", 512, 64, 13),
    ("densenet-121 reduce", 256, 128, 28), ("convnext up", 96, 384, 56), ("inception pool", 192, 32, 28),
    ("shufflenet", 116, 116, 28), ("efficientnet-b0 squeeze", 240, 10, 1),
    ("mobilenet-v3 excite", 24, 96, 1), ("deeplab classes", 256, 21, 65)]
# … and window, stride, padding.
STRIDED = [
    ("resnet-50 3 down", 128, 128, 56, 3, 2, 1), ("resnet-50 shortcut", 256, 512, 56, 1, 2, 0),
    ("resnet-50 shortcut 5", 1024, 2048, 14, 1, 2, 0), ("yolov8n 2", 16, 32, 160, 3, 2, 1),
    ("yolov8n 4", 64, 128, 40, 3, 2, 1), ("vgg-m 2", 96, 256, 54, 5, 2, 1),
    ("convnext down", 96, 192, 56, 2, 2, 0), ("efficientformer", 24, 48, 112, 3, 2, 1),
    ("levit 2", 32, 64, 56, 3, 2, 1), ("retinanet p6", 2048, 256, 10, 3, 2, 1)]
FEW_CHANNELS = [
    ("resnet-50 1", 3, 64, 224, 7, 2, 3), ("mobilenet-v2 1", 3, 32, 224, 3, 2, 1),
    ("vgg-16 1", 3, 64, 224, 3, 1, 1), ("alexnet 1", 3, 64, 224, 11, 4, 2),
    ("vit patches 16", 3, 192, 224, 16, 16, 0), ("convnext patches", 3, 96, 224, 4, 4, 0),
    ("mnist 1", 1, 32, 28, 5, 1, 2), ("espcn 1", 1, 64, 128, 5, 1, 2), ("unet 1", 1, 64, 160, 3, 1, 1),
    ("yolov8n 1", 3, 16, 320, 3, 2, 1), ("squeezenet 1", 3, 64, 224, 3, 2, 0),
    ("image to image last", 64, 3, 128, 9, 1, 4)]
# … channels in, out, height, window, dilation.
DILATED = [("deeplab aspp 6", 256, 64, 33, 3, 6), ("deeplab aspp 12", 256, 64, 33, 3, 12),
           ("csrnet", 128, 64, 48, 3, 2), ("drn-c", 128, 128, 28, 3, 2), ("espnet", 32, 16, 64, 3, 4),
           ("resnet-50 os 8", 512, 512, 14, 3, 4)]
# … channels in, out, height, window, groups.
GROUPED = [("resnext-50 2", 128, 128, 56, 3, 32), ("resnext-50 4", 512, 512, 14, 3, 32),
           ("regnet-y 3", 208, 208, 28, 3, 13), ("alexnet 2", 64, 192, 27, 5, 2),
           ("shufflenet", 240, 240, 28, 1, 3), ("res2net", 64, 64, 56, 3, 4)]
# … channels, height, window, stride.
DEPTHWISE = [
    ("mobilenet-v2 1", 32, 112, 3, 1), ("mobilenet-v2 2", 96, 112, 3, 2), ("mobilenet-v2 3", 144, 56, 3, 1),
    ("mobilenet-v2 5", 576, 14, 3, 1), ("mobilenet-v2 7", 960, 7, 3, 1),
    ("efficientnet-b0 3", 144, 56, 5, 2), ("efficientnet-b0 4", 480, 14, 5, 1),
    ("efficientnet-b0 6", 1152, 7, 5, 1), ("mobilenet-v3 2", 72, 56, 5, 2),
    ("convnext-t 2", 192, 28, 7, 1), ("convnext-t 3", 384, 14, 7, 1), ("replknet", 128, 28, 13, 1),
    ("mixnet", 80, 28, 9, 1), ("xception", 728, 19, 3, 1)]
# … channels, height, window, stride, padding.
POOLS = [("resnet-50 max", 64, 112, 3, 2, 1), ("vgg-16 max", 128, 112, 2, 2, 0),
         ("squeezenet max", 256, 27, 3, 2, 0), ("inception same", 192, 28, 3, 1, 1),
         ("spp 5", 256, 20, 5, 1, 2), ("spp 13", 256, 20, 13, 1, 6), ("densenet transition", 128, 56, 2, 2, 0),
         ("global", 512, 14, 14, 1, 0), ("unet max", 64, 128, 2, 2, 0), ("hourglass", 128, 64, 3, 2, 1)]
# Tensors in channels, rows and columns, and in tokens.
PLANES = [(64, 56, 56), (96, 112, 112), (128, 28, 28), (256, 14, 14), (24, 65, 65), (144, 56, 56),
          (320, 7, 7), (32, 160, 160), (3, 224, 224), (80, 40, 40), (192, 35, 35)]
MATRICES = [(128, 768), (197, 192), (512, 1024), (1024, 1024), (4096, 512), (100, 4096), (256, 3072),
            (1000, 1000), (2048, 333), (8400, 80), (77, 512), (1500, 384)]
# Vocabulary and features.
TABLES = [(30522, 128), (8192, 512), (32000, 256), (1000, 768), (16384, 64), (5000, 300)]
# Tokens, inputs, state.
CELLS = [(32, 64, 128), (16, 128, 256), (50, 40, 100), (10, 256, 512), (100, 32, 64)]
