# SPDX-License-Identifier: Apache-2.0
# build_id(): a SHA-256 over the sources of base, hal and jit and over the compiler with its flags. Cached kernels are
# keyed by it, and the LLVM module must have the library's own. The build computes it again whenever a source changes.
# The sources of millrace_isa are left out, because they execute kernels but do not generate them.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "${BUILD_SALT}")
  file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR}
       ${SOURCE_DIR}/include/millrace/base/* ${SOURCE_DIR}/include/millrace/hal/* ${SOURCE_DIR}/include/millrace/jit/*
       ${SOURCE_DIR}/src/base/* ${SOURCE_DIR}/src/hal/* ${SOURCE_DIR}/src/jit/*)
  list(SORT sources)
  foreach(source IN LISTS sources)
    file(SHA256 ${SOURCE_DIR}/${source} hash)
    string(APPEND text "${source} ${hash}\n")
  endforeach()
  string(SHA256 id "${text}")
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "jit/cache/build_id.h"

std::string_view millrace::build_id() { return "@id@"; }
]] @ONLY)  # not rewritten if nothing changed
  return()
endif()

file(GLOB_RECURSE MILLRACE_IDENTITY_SOURCES CONFIGURE_DEPENDS
     include/millrace/base/* include/millrace/hal/* include/millrace/jit/* src/base/* src/hal/* src/jit/*)
set(MILLRACE_BUILD_ID_SOURCE ${PROJECT_BINARY_DIR}/generated/build_id.cpp)
add_custom_command(
  OUTPUT ${MILLRACE_BUILD_ID_SOURCE}.stamp BYPRODUCTS ${MILLRACE_BUILD_ID_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${MILLRACE_BUILD_ID_SOURCE}
          "-DBUILD_SALT=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${MILLRACE_SANITIZE}"
          -P ${PROJECT_SOURCE_DIR}/cmake/build_id.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${MILLRACE_BUILD_ID_SOURCE}.stamp
  DEPENDS ${MILLRACE_IDENTITY_SOURCES} cmake/build_id.cmake COMMENT "Hashing the sources into the build id" VERBATIM)
add_custom_target(millrace_build_id DEPENDS ${MILLRACE_BUILD_ID_SOURCE}.stamp)
target_sources(millrace_jit_objects PRIVATE ${MILLRACE_BUILD_ID_SOURCE})
set_source_files_properties(${MILLRACE_BUILD_ID_SOURCE} PROPERTIES GENERATED TRUE)
add_dependencies(millrace_jit_objects millrace_build_id)
