# SPDX-License-Identifier: Apache-2.0
#
# MLIR's directory-scope needs, wrapped once. Every translation unit that
# includes MLIR is compiled with clang-22: gcc 12 with hidden visibility answers
# hasTrait<> on ops of libMLIR wrongly and silently.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang"
   OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 22)
  message(FATAL_ERROR "the compiler parts need clang-22, found "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; use a preset, "
    "or configure with -DBP_COMPILER=OFF")
endif()

find_package(MLIR 22.1 REQUIRED CONFIG
  HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
if(CMAKE_CROSSCOMPILING)
  # The tools of the package found are programs of the other machine.
  find_program(BP_MLIR_TBLGEN NAMES mlir-tblgen-22 mlir-tblgen
    HINTS /usr/lib/llvm-22/bin REQUIRED)
  set(MLIR_TABLEGEN_EXE "${BP_MLIR_TBLGEN}")
endif()

add_library(bp_mlir INTERFACE)
target_include_directories(bp_mlir SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
separate_arguments(BP_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(bp_mlir INTERFACE ${BP_LLVM_DEFINITIONS})
target_compile_options(bp_mlir INTERFACE -fno-exceptions -Wno-unused-parameter)
target_link_libraries(bp_mlir INTERFACE bp_options MLIR LLVM)

foreach(name Emit Dialect)
  string(TOLOWER "bp_${name}_pch" pch)
  bp_add_pch(${pch} ${name}Pch.h)
  target_link_libraries(${pch} PUBLIC bp_mlir)
endforeach()
if(BP_TESTS)
  bp_add_pch(bp_mlir_test_pch MlirTestPch.h -fPIE ${BP_TEST_OPTIONS})
  target_link_libraries(bp_mlir_test_pch PUBLIC bp_mlir GTest::gtest)
endif()

# bp_add_mlir_library(NAME [DIALECT] SOURCES … [DEPENDS …])
# A static library of code that includes MLIR. DIALECT: and the dialect `bp`.
function(bp_add_mlir_library name)
  cmake_parse_arguments(ARG "DIALECT" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC bp_mlir ${ARG_DEPENDS})
  if(ARG_DIALECT)
    bp_use_pch(bp_dialect_pch ${ARG_SOURCES})
  else()
    bp_use_pch(bp_emit_pch ${ARG_SOURCES})
  endif()
endfunction()

# bp_add_passes(NAME GROUP FILE)
# Declarations, registration and base classes of the passes in FILE, for the
# library NAME and its users: FILE.h.inc without ".td".
function(bp_add_passes name group file)
  string(REPLACE ".td" ".h.inc" out "${CMAKE_CURRENT_BINARY_DIR}/${file}")
  add_custom_command(OUTPUT "${out}"
    COMMAND "${MLIR_TABLEGEN_EXE}" -gen-pass-decls -name=${group}
      "${CMAKE_CURRENT_SOURCE_DIR}/${file}" -I "${LLVM_INCLUDE_DIRS}"
      -I "${PROJECT_SOURCE_DIR}" -o "${out}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}"
      "${PROJECT_SOURCE_DIR}/sdk/compiler/Published.td"
    COMMENT "Passes of ${name}" VERBATIM)
  add_custom_target(${name}_pass_headers DEPENDS "${out}")
  add_library(${name}_passes INTERFACE)
  add_dependencies(${name}_passes ${name}_pass_headers)
  add_dependencies(${name} ${name}_pass_headers)
  target_link_libraries(${name} PUBLIC ${name}_passes)
endfunction()
