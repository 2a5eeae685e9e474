# SPDX-License-Identifier: Apache-2.0
#
# Everything for AArch64 Linux, the compiler too: clang-22 and lld of the machine
# that builds, libraries of the folder BP_SYSROOT, which tools/sysroot makes.
# Generators (mlir-tblgen, protoc, flatc) are those of the machine that builds.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BP_SYSROOT)
if(NOT BP_SYSROOT OR NOT EXISTS "${BP_SYSROOT}/usr/include")
  message(FATAL_ERROR "the libraries for AArch64 were not found in BP_SYSROOT, "
    "which is '${BP_SYSROOT}': make them with 'tools/sysroot FOLDER' and set "
    "the environment variable BP_SYSROOT to its absolute path")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_CXX_COMPILER clang++-22)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_SYSROOT "${BP_SYSROOT}")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-fuse-ld=lld")
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu max -L "${BP_SYSROOT}")
