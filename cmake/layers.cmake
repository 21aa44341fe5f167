# SPDX-License-Identifier: Apache-2.0
# A layer is a folder of src/. LLVM and LLD are confined to src/jit/llvm/, which is not part of the library but of a
# module opened on demand.
function(millrace_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/jit/llvm/[^/]*\\.cpp$")
  if(NOT sources)
    return()  # headers only
  endif()
  add_library(millrace_${name} OBJECT ${sources})
  target_link_libraries(millrace_${name} PRIVATE millrace_flags)
  target_include_directories(millrace_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(millrace_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
endfunction()
