# SPDX-License-Identifier: Apache-2.0
# A layer is a folder of src/, built as the object library millrace_<folder>_objects. Some folders are exceptions:
# src/jit/llvm/ is the only code that uses LLVM and LLD, and belongs to a module that the library opens on demand;
# src/graph/run/ runs programs, and is the only part of graph that also goes into millrace_runtime; src/isa/ executes a
# GPU's machine code and is a library of its own, millrace_isa.
function(millrace_layer folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/jit/llvm/")
  if(folder STREQUAL graph)
    list(FILTER sources EXCLUDE REGEX "/src/graph/run/[^/]*\\.cpp$")
    # Files of ONNX are decoded with protozero, which has only headers. Without it, importing one fails.
    if(MILLRACE_ONNX AND MILLRACE_PROTOZERO_HEADER)
      list(FILTER sources EXCLUDE REGEX "/src/graph/import/onnx/no_wire/")
    else()
      list(FILTER sources EXCLUDE REGEX "/src/graph/import/onnx/wire/")
    endif()
  endif()
  if(NOT sources)
    return()  # headers only
  endif()
  string(REPLACE / _ name millrace_${folder}_objects)
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PRIVATE millrace_flags)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  millrace_precompile_library(${name})
  millrace_unity(${name})
endfunction()
