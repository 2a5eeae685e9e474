# SPDX-License-Identifier: Apache-2.0
#
# Functions that every folder uses. No directory-scope commands outside this
# file and BackplaneMlir.cmake.

# One layout on every distribution; the loader finds plug-ins relative to it.
set(CMAKE_INSTALL_LIBDIR lib)
include(GNUInstallDirs)

set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(BP_PLUGIN_DIRECTORY "${PROJECT_BINARY_DIR}/lib/backplane/plugins")

# The backend whose images run on the machine that is built for.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(BP_OWN_BACKEND arm)
else()
  set(BP_OWN_BACKEND x86)
endif()

find_program(BP_CCACHE ccache)
if(BP_CCACHE)
  # The sloppiness is what ccache needs to cache users of precompiled headers;
  # the rest lets a clone in another folder use what this one compiled.
  set(BP_LAUNCHER "${CMAKE_COMMAND}" -E env
    "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
    "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_PCH_EXTSUM=1 "${BP_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${BP_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BP_LAUNCHER})
endif()
find_program(BP_LLD ld.lld-22)
if(BP_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
endif()
find_program(BP_PYTHON python3 REQUIRED)

add_library(bp_options INTERFACE)
target_include_directories(bp_options INTERFACE
  "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}"
  "${PROJECT_SOURCE_DIR}/sdk/include")
target_compile_options(bp_options INTERFACE -Wall -Wextra -Werror=return-type
  -Wno-missing-field-initializers)
if(BP_SANITIZE)
  target_compile_options(bp_options INTERFACE -fsanitize=${BP_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(bp_options INTERFACE -fsanitize=${BP_SANITIZE})
endif()

# Tests take twice as long to optimise as to compile, with a sanitizer even longer,
# and they compute little: it is the libraries that do.
set(BP_TEST_OPTIONS -O0)
include(BackplanePch)

# In the tree the headers come with the options of the tree.
add_library(backplane::headers ALIAS bp_options)
include(BackplanePlugin)

# bp_add_library(NAME [SHARED] [PCH HEADER] SOURCES … [DEPENDS …] [PRIVATE …])
# A library of LLVM-free code; static unless SHARED. DEPENDS are public. PCH: a name
# of bp_add_pch, else that of standard headers.
function(bp_add_library name)
  cmake_parse_arguments(ARG "SHARED" "PCH" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  if(NOT ARG_PCH)
    set(ARG_PCH bp_pch)
  endif()
  if(ARG_SHARED)
    add_library(${name} SHARED ${ARG_SOURCES})
  else()
    add_library(${name} STATIC ${ARG_SOURCES})
  endif()
  target_link_libraries(${name} PUBLIC bp_options ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE})
  bp_use_pch(${ARG_PCH} ${ARG_SOURCES})
endfunction()

# bp_without_exceptions(NAME): code of which nothing throws.
function(bp_without_exceptions name)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  set_target_properties(${name} PROPERTIES BP_NO_PCH ON)
endfunction()

# bp_prefer_size(NAME [EACH_CALL]): code of libbackplane.so that no kernel waits
# for, without the functions that nobody calls, so that the library stays below
# 2 MB. EACH_CALL: some of it runs in each call of a model.
function(bp_prefer_size name)
  cmake_parse_arguments(ARG "EACH_CALL" "" "" ${ARGN})
  set(level Oz)
  if(ARG_EACH_CALL)
    set(level Os)
  endif()
  target_compile_options(${name} PRIVATE
    $<$<CONFIG:Release>:-${level};-ffunction-sections;-fdata-sections>)
  get_target_property(sources ${name} SOURCES)
  bp_use_pch(bp_pch_${level} ${sources})
endfunction()

# bp_prefer_size_of(FILE…): the same for files of a library of which others run in
# each call.
function(bp_prefer_size_of)
  bp_use_pch(bp_pch_Oz ${ARGN} OPTIONS $<$<CONFIG:Release>:-Oz>)
endfunction()

# bp_add_test(NAME [MLIR] SOURCES … [DEPENDS …] [LABELS …])
# A GoogleTest program; each of its tests is a CTest test. MLIR: it includes MLIR.
function(bp_add_test name)
  if(NOT BP_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE bp_options ${ARG_DEPENDS} GTest::gtest
    GTest::gtest_main)
  include(GoogleTest)
  target_compile_options(${name} PRIVATE ${BP_TEST_OPTIONS})
  # What else it is made of has the options of other targets too.
  set(tests ${ARG_SOURCES})
  list(FILTER tests INCLUDE REGEX "Test\\.cpp$")
  if(ARG_MLIR)
    bp_use_pch(bp_mlir_test_pch ${tests})
  else()
    bp_use_pch(bp_test_pch ${tests})
  endif()
  set(timeout 300)
  if(BP_SANITIZE) # which makes some tests ten times slower
    set(timeout 900)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${timeout})
endfunction()

# bp_add_linked_plugin(NAME SUFFIX SOURCES …)
# The same plug-in for a program that has it inside: its query function is named
# bp_plugin_query_v0_SUFFIX. Built when something links it.
function(bp_add_linked_plugin name suffix)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE bp_options)
  target_compile_definitions(${name} PRIVATE
    "bp_plugin_query_v0=bp_plugin_query_v0_${suffix}")
endfunction()

# Makes NAME.inc of a text file, a string that C++ includes.
function(bp_embed_text name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${name}")
  file(READ "${name}" BP_TEXT)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/Text.inc.in" "${name}.inc" @ONLY)
endfunction()
