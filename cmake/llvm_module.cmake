# SPDX-License-Identifier: Apache-2.0
# libmillrace_llvm.so: the LLVM generator, opened by the library on the first cache miss, so that a process which finds
# its kernels in a cache never loads libLLVM. It contains hidden copies of the code that it needs from base, hal and
# jit.
set(MILLRACE_LLVM_VERSION none)
if(MILLRACE_LLVM)
  # If CMAKE_C_COMPILER is set, as development environments do, LLVM's package compiles C to look for libffi.
  if(DEFINED CMAKE_C_COMPILER)
    enable_language(C)
  endif()
  find_package(LLVM 19.1 REQUIRED CONFIG)
  find_package(LLD 19.1 REQUIRED CONFIG HINTS ${LLVM_INSTALL_PREFIX}/lib/cmake/lld)
  set(MILLRACE_LLVM_VERSION ${LLVM_PACKAGE_VERSION})

  add_library(millrace_llvm_support STATIC)
  set_target_properties(millrace_llvm_support PROPERTIES LINKER_LANGUAGE CXX)
  foreach(layer base hal jit)
    if(TARGET millrace_${layer}_objects)
      target_sources(millrace_llvm_support PRIVATE $<TARGET_OBJECTS:millrace_${layer}_objects>)
    endif()
  endforeach()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/jit/llvm/*.cpp)
  add_library(millrace_llvm MODULE ${sources})
  add_library(millrace::millrace_llvm ALIAS millrace_llvm)
  target_include_directories(millrace_llvm PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(millrace_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_link_libraries(millrace_llvm PRIVATE millrace_flags millrace_llvm_support fmt::fmt lldELF lldCommon LLVM)
  # LLVM's and LLD's packages are built without exceptions, and so is our code that calls them: if memory runs out, the
  # exception passes all frames up to worker.cpp, and no destructor runs on a half-built object on the way.
  target_compile_options(millrace_llvm PRIVATE -fno-exceptions)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/jit/llvm/entry.cpp ${PROJECT_SOURCE_DIR}/src/jit/llvm/worker.cpp
                              PROPERTIES COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
  # Exports only the entry functions, so that no symbol of the module binds to the application's copy of the same code.
  target_link_options(millrace_llvm PRIVATE
                      -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/llvm_module.map)
  set_target_properties(millrace_llvm PROPERTIES CXX_EXTENSIONS OFF LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                                                 LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/llvm_module.map)
  millrace_precompile_library(millrace_llvm <llvm/IR/IRBuilder.h> <llvm/IR/Module.h>)
  add_dependencies(millrace millrace_llvm)  # so that building the library builds its module too
endif()
set_source_files_properties(src/jit/llvm_client/open_module.cpp PROPERTIES COMPILE_DEFINITIONS
  "MILLRACE_LLVM_VERSION=\"${MILLRACE_LLVM_VERSION}\"")

# The directories that are built into the library (jit/llvm_client/module_paths.h): how an install's programs find its
# libraries, and an absolute path only if it is the system's.
set(programs "${CMAKE_INSTALL_BINDIR}")
set(libraries "${CMAKE_INSTALL_LIBDIR}")
if(IS_ABSOLUTE "${programs}" OR IS_ABSOLUTE "${libraries}")
  set(programs "")
endif()
set(system "")
if(MILLRACE_INSTALL AND CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set(system "${CMAKE_INSTALL_FULL_LIBDIR}")
endif()
set_source_files_properties(src/jit/llvm_client/module_paths.cpp PROPERTIES COMPILE_DEFINITIONS
  "MILLRACE_PROGRAM_DIRECTORY=\"${programs}\";MILLRACE_LIBRARY_DIRECTORY=\"${libraries}\";MILLRACE_SYSTEM_DIRECTORY=\"${system}\"")

include(${CMAKE_CURRENT_LIST_DIR}/millraceApplication.cmake)

# Puts a link to the module into the current build directory, so that this build's own programs find the module as any
# application does. The link is made at configure time, because several programs of one directory would make it at once.
function(millrace_link_module)
  if(TARGET millrace_llvm)
    file(CREATE_LINK ${PROJECT_BINARY_DIR}/libmillrace_llvm.so ${CMAKE_CURRENT_BINARY_DIR}/libmillrace_llvm.so SYMBOLIC)
  endif()
endfunction()

# Links objects of the module into a program that tests them: millrace_use_llvm_objects(<target> <source>...).
function(millrace_use_llvm_objects target)
  list(JOIN ARGN "|" names)
  target_sources(${target} PRIVATE "$<FILTER:$<TARGET_OBJECTS:millrace_llvm>,INCLUDE,/src/jit/llvm/(amdgpu/)?(${names})[.]cpp>")
endfunction()
