# SPDX-License-Identifier: Apache-2.0
bp_add_plugin(bp-cuda-compiler SOURCES compiler/nvptx.cpp)
target_compile_options(bp-cuda-compiler PRIVATE -pedantic -Werror)
