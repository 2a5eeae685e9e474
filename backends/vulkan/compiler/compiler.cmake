# SPDX-License-Identifier: Apache-2.0
bp_add_plugin(bp-vulkan-compiler SOURCES compiler/vulkan.cpp)
target_compile_options(bp-vulkan-compiler PRIVATE -pedantic -Werror)
