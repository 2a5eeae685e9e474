# SPDX-License-Identifier: Apache-2.0
#
# The installed package: find_package(Backplane CONFIG) gives the target
# backplane::backplane, for applications, backplane::headers, which is all that a
# plug-in needs, and bp_add_plugin(), which builds one (BackplanePlugin.cmake).
# Backplane_BP is the tool.
get_filename_component(_bp_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(Backplane_BP "${_bp_prefix}/bin/bp")

if(NOT TARGET backplane::headers)
  add_library(backplane::headers INTERFACE IMPORTED)
  set_target_properties(backplane::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_bp_prefix}/include")
  add_library(backplane::backplane SHARED IMPORTED)
  set_target_properties(backplane::backplane PROPERTIES
    IMPORTED_LOCATION "${_bp_prefix}/lib/libbackplane.so"
    INTERFACE_LINK_LIBRARIES backplane::headers)
endif()
unset(_bp_prefix)
include("${CMAKE_CURRENT_LIST_DIR}/BackplanePlugin.cmake")
