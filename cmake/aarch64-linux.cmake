# SPDX-License-Identifier: Apache-2.0
#
# Cross-compiling for AArch64 Linux with Debian's g++-aarch64-linux-gnu, in
# which its C library lies under /usr/aarch64-linux-gnu. The libraries that the
# LLVM-free parts use are headers only; they are taken from the machine that
# builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# After the target's own headers, which have the same names.
set(small "-ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_INIT "-idirafter /usr/include ${small}")
# GCC 12 warns of overlaps inside of its own strings and vectors.
set(CMAKE_CXX_FLAGS_INIT
  "${CMAKE_C_FLAGS_INIT} -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow")
# Programs and libraries bring libstdc++ along: the machine need not have it.
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
    "-static-libstdc++ -static-libgcc -Wl,--gc-sections -s")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR
  qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu)
