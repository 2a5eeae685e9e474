# SPDX-License-Identifier: Apache-2.0
#
# Precompiled headers, which take most of the time off files that are small beside
# what they include. A file that uses one includes what it needs all the same: other
# compilers than Clang read none of these.

# bp_add_pch(NAME HEADER [OPTION …])
# The precompiled header of files that are compiled with these options. Clang takes
# one for no others: not for code of another size, place or model of exceptions.
function(bp_add_pch name header)
  add_library(${name} STATIC "${PROJECT_SOURCE_DIR}/cmake/Pch.cpp")
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${header}")
  target_compile_options(${name} PRIVATE ${ARGN} -Xclang -fno-pch-timestamp)
  # The result holds the names of its folder; ccache takes this sum of what it is
  # made of in its place.
  set(pch "${PROJECT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
  set(folders "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
  add_custom_command(OUTPUT "${pch}.sum"
    COMMAND "${CMAKE_CXX_COMPILER}" -x c++ -std=c++20 -E -P
      "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-I$<JOIN:${folders},;-I>"
      -o "${pch}.text" "${PROJECT_SOURCE_DIR}/cmake/${header}"
    COMMAND sha256sum < "${pch}.text" > "${pch}.sum"
    COMMAND "${CMAKE_COMMAND}" -E rm "${pch}.text"
    DEPENDS "${pch}" COMMENT "Sum of ${header}" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${name}_sum DEPENDS "${pch}.sum")
endfunction()

# bp_use_pch(NAME FILE… [OPTIONS …])
# These files of this folder are compiled with a header of bp_add_pch, and with
# OPTIONS; in targets that have the property BP_NO_PCH without the header.
function(bp_use_pch name)
  cmake_parse_arguments(ARG "" "" "OPTIONS" ${ARGN})
  set(files ${ARG_UNPARSED_ARGUMENTS})
  list(FILTER files INCLUDE REGEX "\\.cpp$")
  set(options ${ARG_OPTIONS})
  if(TARGET ${name} AND files)
    # The name is relative to the folder in which Ninja compiles. CMake would write
    # the whole path, with which no other clone finds the objects in ccache. A
    # dependency between libraries does not order what they compile, so that each
    # source names the header.
    set(header "CMakeFiles/${name}.dir/cmake_pch.hxx.pch")
    set(is_used "$<NOT:$<BOOL:$<TARGET_PROPERTY:BP_NO_PCH>>>")
    list(APPEND options "$<${is_used}:-include-pch;${header}>")
    set_property(SOURCE ${files} APPEND PROPERTY OBJECT_DEPENDS
      "${PROJECT_BINARY_DIR}/${header}" "${PROJECT_BINARY_DIR}/${header}.sum")
  endif()
  if(files)
    set_property(SOURCE ${files} PROPERTY COMPILE_OPTIONS "${options}")
  endif()
endfunction()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_GENERATOR STREQUAL "Ninja")
  return()
endif()
bp_add_pch(bp_pch CodePch.h)
foreach(level Os Oz)
  bp_add_pch(bp_pch_${level} CodePch.h $<$<CONFIG:Release>:-${level}>)
endforeach()
foreach(name bp_pch bp_pch_Os bp_pch_Oz)
  target_link_libraries(${name} PRIVATE bp_options)
endforeach()
if(BP_IMPORT)
  bp_add_pch(bp_import_pch ImportPch.h)
  target_link_libraries(bp_import_pch PRIVATE bp_options)
  target_include_directories(bp_import_pch SYSTEM PRIVATE "${PROJECT_BINARY_DIR}/sdk/import")
endif()
if(BP_TESTS)
  bp_add_pch(bp_test_pch TestPch.h -fPIE ${BP_TEST_OPTIONS})
  target_link_libraries(bp_test_pch PRIVATE bp_options GTest::gtest)
endif()
