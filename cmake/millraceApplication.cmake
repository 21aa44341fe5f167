# SPDX-License-Identifier: Apache-2.0
# CMake functions for applications that use Millrace. find_package(millrace) and add_subdirectory define them.
if(CMAKE_SCRIPT_MODE_FILE)
  # Replaces the module in DIRECTORY by MODULE in one step: a program that has the old file open keeps using it.
  string(RANDOM LENGTH 16 random)
  get_filename_component(name ${MODULE} NAME)
  file(COPY_FILE ${MODULE} ${DIRECTORY}/.${name}.${random})
  file(RENAME ${DIRECTORY}/.${name}.${random} ${DIRECTORY}/${name})
  return()
endif()

# millrace_tell_module(<directory>)
#
# Lets every program and shared library that links the static millrace::millrace find the LLVM module in <directory>,
# the package's library directory, without further CMake code. find_package(millrace) calls this function unless
# MILLRACE_FIND_MODULE is OFF. The program contains the path. On another machine, the library opens the file at that
# path only if nobody except root, the user and the program's owner can replace it.
function(millrace_tell_module directory)
  get_target_property(library_type millrace::millrace TYPE)
  if(NOT TARGET millrace::millrace_llvm OR NOT library_type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  # Weak, because several objects of one program may define it. The linker option fetches it from a static library of
  # the application.
  set(source ${CMAKE_BINARY_DIR}/millrace/package_module.cpp)
  get_target_property(known millrace::millrace INTERFACE_SOURCES)
  if(source IN_LIST known)
    return()
  endif()
  file(CONFIGURE OUTPUT ${source} CONTENT [[
// Where find_package(millrace) has found the LLVM module: see millrace_tell_module.
extern "C" __attribute__((weak, visibility("hidden"))) const char* millrace_package_module();
const char* millrace_package_module() { return R"(@directory@/libmillrace_llvm.so)"; }
]] @ONLY)
  set_property(TARGET millrace::millrace APPEND PROPERTY INTERFACE_SOURCES ${source})
  set_property(TARGET millrace::millrace APPEND PROPERTY INTERFACE_LINK_OPTIONS LINKER:--undefined=millrace_package_module)
endfunction()

# millrace_deploy_module(<target> [DESTINATION <directory>] [COMPONENT <name>])
#
# Copies the LLVM module next to <target>, the executable or shared library that millrace::millrace is linked into,
# whenever <target> is linked. The library finds the module there, even after both are moved together. With DESTINATION,
# the directory that <target> is installed in, the module is installed there too.
# Does nothing if millrace::millrace is a shared library, which has the module next to itself, or if Millrace was built
# without LLVM.
function(millrace_deploy_module target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESTINATION;COMPONENT" "")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "millrace_deploy_module: found '${ARGN}', expected [DESTINATION <directory>] [COMPONENT <name>]")
  endif()
  get_target_property(library_type millrace::millrace TYPE)
  if(NOT TARGET millrace::millrace_llvm OR library_type STREQUAL "SHARED_LIBRARY")
    return()
  endif()
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DMODULE=$<TARGET_FILE:millrace::millrace_llvm> -DDIRECTORY=$<TARGET_FILE_DIR:${target}>
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Copying Millrace's LLVM module next to ${target}" VERBATIM)
  if(NOT arg_DESTINATION)
    return()
  endif()
  set(component "")
  if(arg_COMPONENT)
    set(component COMPONENT ${arg_COMPONENT})
  endif()
  get_target_property(is_imported millrace::millrace_llvm IMPORTED)
  if(is_imported)
    install(PROGRAMS $<TARGET_FILE:millrace::millrace_llvm> DESTINATION ${arg_DESTINATION} ${component})
  else()
    install(TARGETS millrace_llvm LIBRARY DESTINATION ${arg_DESTINATION} ${component})
  endif()
endfunction()

# millrace_hide_symbols(<target>)
#
# For a plugin, a shared library that links the static millrace::millrace: keeps Millrace's symbols inside it, so that
# two plugins in one process can each contain Millrace. The symbols of <target> itself become hidden too, except those
# that it marks __attribute__((visibility("default"))).
function(millrace_hide_symbols target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${target} PRIVATE "LINKER:--exclude-libs,$<TARGET_FILE_NAME:millrace::millrace>")
endfunction()
