# SPDX-License-Identifier: Apache-2.0
# The libraries that an application can link: millrace, or millrace_runtime, the part of millrace that runs compiled
# programs, without graphs and code generators. Link only one of the two.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)  # the compiled fmt: the header-only fmt costs seconds per file
function(millrace_library name)
  add_library(${name})
  foreach(layer IN LISTS ARGN)
    if(TARGET millrace_${layer}_objects)
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:millrace_${layer}_objects>)
    endif()
  endforeach()
  add_library(millrace::${name} ALIAS ${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC Threads::Threads PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
endfunction()
millrace_library(millrace base hal graph_run jit ops graph)
millrace_library(millrace_runtime base hal graph_run)

# Executes a GPU's machine code, for tests, tools and applications that ask for it. It needs millrace, but is not part
# of it, because most applications do not need its large table of instructions.
millrace_library(millrace_isa isa)
target_link_libraries(millrace_isa PUBLIC millrace)
