# SPDX-License-Identifier: Apache-2.0
#
# How a plug-in is built, here and against the installed package.

# bp_add_plugin(NAME SOURCES FILE… [DEPENDS LIBRARY…] [MANIFEST FILE])
# A plug-in library, libNAME.so, beside its manifest: it sees the installed
# headers, exports its query function alone and leaves nothing undefined. It is
# put into BP_PLUGIN_DIRECTORY (by default the current build folder) and
# installed where Backplane looks for plug-ins.
function(bp_add_plugin name)
  cmake_parse_arguments(ARG "" "MANIFEST" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bp_add_plugin(${name}): expected SOURCES FILE… "
      "[DEPENDS LIBRARY…] [MANIFEST FILE], found '${ARGN}'")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(BP_PLUGIN_DIRECTORY)
    set(folder "${BP_PLUGIN_DIRECTORY}")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE backplane::headers ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -Wl,--as-needed
    "-Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.map")
  # What a sanitizer calls is in the program.
  if(NOT BP_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${name} PROPERTIES
    PREFIX lib
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${folder}")
  set_property(GLOBAL APPEND PROPERTY BP_PLUGINS ${name})
  install(TARGETS ${name} DESTINATION lib/backplane/plugins)
  if(ARG_MANIFEST)
    bp_add_manifest("${ARG_MANIFEST}")
  endif()
endfunction()

# bp_add_manifest(FILE)
# Puts a manifest NAME.bp.json where bp_add_plugin puts libraries, for more
# libraries than one; of NAME.bp.json.in the variables are replaced (@NAME@).
function(bp_add_manifest file)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(BP_PLUGIN_DIRECTORY)
    set(folder "${BP_PLUGIN_DIRECTORY}")
  endif()
  get_filename_component(out "${file}" NAME)
  if(out MATCHES "\\.in$")
    string(REGEX REPLACE "\\.in$" "" out "${out}")
    configure_file("${file}" "${folder}/${out}" @ONLY)
  else()
    configure_file("${file}" "${folder}/${out}" COPYONLY)
  endif()
  install(FILES "${folder}/${out}" DESTINATION lib/backplane/plugins)
endfunction()

# bp_add_pass_library(NAME SOURCES FILE…)
# A library of C++ passes, libNAME.so, beside the plug-in whose manifest declares
# it. It needs find_package(MLIR), and the compiler that Backplane was built with.
function(bp_add_pass_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  if(NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "bp_add_pass_library(${name}): expected SOURCES FILE…, "
      "found '${ARGN}'")
  endif()
  if(NOT TARGET MLIR OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "bp_add_pass_library(${name}): call find_package(MLIR) "
      "first, with clang as CMAKE_CXX_COMPILER; found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}")
  if(BP_PLUGIN_DIRECTORY)
    set(folder "${BP_PLUGIN_DIRECTORY}")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} SYSTEM PRIVATE
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE backplane::headers MLIR LLVM)
  target_link_options(${name} PRIVATE -Wl,--as-needed -Wl,-z,defs
    "-Wl,--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/passes.map")
  set_target_properties(${name} PROPERTIES
    PREFIX lib
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${folder}")
  install(TARGETS ${name} DESTINATION lib/backplane/plugins)
endfunction()
