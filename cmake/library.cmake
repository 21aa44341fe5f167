# SPDX-License-Identifier: Apache-2.0
# The one library that an application links.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)  # compiled, not header-only: that costs every file seconds
add_library(millrace)
foreach(layer base hal jit ops graph)
  if(TARGET millrace_${layer})
    target_sources(millrace PRIVATE $<TARGET_OBJECTS:millrace_${layer}>)
  endif()
endforeach()
add_library(millrace::millrace ALIAS millrace)
target_compile_features(millrace PUBLIC cxx_std_20)
target_include_directories(millrace PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(millrace PUBLIC Threads::Threads PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
