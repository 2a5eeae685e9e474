# SPDX-License-Identifier: Apache-2.0
#
# The kernels of oneDNN, built for x86-64 where its headers are found
# (cmake/BackplaneOneDnn.cmake).
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  return()
endif()
include(BackplaneOneDnn)
if(NOT TARGET bp_onednn)
  return()
endif()

# Not where plug-ins are looked for, and not installed: whoever wants the set names
# its manifest.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/onednn")
set(sources Convolution.cpp Kernels.cpp OneDnn.cpp Plugin.cpp Transpose.cpp Work.cpp)
list(TRANSFORM sources PREPEND onednn/)
add_library(bp-onednn MODULE ${sources})
target_link_libraries(bp-onednn PRIVATE backplane::headers bp_onednn ${CMAKE_DL_LIBS})
# Only work-groups run it, on devices that `resolve` has looked at.
set_source_files_properties(onednn/Transpose.cpp PROPERTIES COMPILE_OPTIONS -mavx2)
target_compile_options(bp-onednn PRIVATE -pedantic -Werror)
# Threads that have called the library keep what belongs to it.
target_link_options(bp-onednn PRIVATE -Wl,-z,nodelete
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin.map")
# In the tree the library is found beside its headers.
set_target_properties(bp-onednn PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${folder}"
  BUILD_RPATH "${BP_ONEDNN_LIBRARY_DIR}")
configure_file(onednn/onednn.bp.json "${folder}/onednn.bp.json" COPYONLY)
