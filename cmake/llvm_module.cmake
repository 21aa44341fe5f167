# SPDX-License-Identifier: Apache-2.0
# libmillrace_llvm.so: the LLVM generator, opened by the library on the first cache miss.
