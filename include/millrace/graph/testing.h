// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/dtype.h"
#include "millrace/base/shape.h"
#include "millrace/base/status.h"
#include "millrace/graph/compile.h"
#include "millrace/jit/loop_kernel.h"

/// For the tests of an application's own kernels: runs a kernel on arrays, by its definition or on a device, and
/// compares the two.
///
///     const testing::Array x = testing::Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
///     testing::compare(kernel, {{x}}, {{"cpu:avx2", "cpu:avx512", "sim:gfx1100"}}).throw_if_error();
namespace millrace::testing {

/// The row-major elements of a tensor. All dims of its type are numbers.
struct Array {
  TensorType type;
  std::vector<std::byte> bytes;

  /// Precondition: as many elements as the shape has.
  template <class T>
  static Array of(Shape shape, const std::vector<T>& elements) {
    Array array{{dtype_of<T>, std::move(shape)}, std::vector<std::byte>(elements.size() * sizeof(T))};
    if (!elements.empty()) std::memcpy(array.bytes.data(), elements.data(), array.bytes.size());
    return array;
  }
  /// Precondition: T is the C++ type of the dtype.
  template <class T>
  std::vector<T> elements() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

/// How far an element of a float may be from the one by definition: absolute + relative * |definition|. NaN equals NaN;
/// an infinity equals only itself. Elements of other dtypes must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

/// The results of the kernel by definition (evaluate_loop_kernel), point by point. A symbol has the value of the
/// operand dim that it is; other symbols are an error, and so are arrays that do not fit the operands, and a kernel
/// that a graph would refuse.
Result<std::vector<Array>> evaluate(const LoopKernel&, std::span<const Array> operands);
/// The results of the kernel as the only node of a graph that is compiled with these options and run. The options name
/// the device, such as "cpu:avx2" or "sim:gfx1100". "isa:gfx1100" needs a context with isa_driver() (isa/driver.h).
Result<std::vector<Array>> run(const LoopKernel&, std::span<const Array> operands, const CompileOptions& options);
/// Runs the kernel on each device, and fails with the first element that differs from the one by definition: "kernel
/// 'scale' on cpu:avx2: y[1, 2] is 4, expected 3". The options are those of run(), apart from the device.
Status compare(const LoopKernel&, std::span<const Array> operands, std::span<const std::string> devices,
               Tolerance tolerance = {}, CompileOptions options = {});

}  // namespace millrace::testing
