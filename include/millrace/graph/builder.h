// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <new>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

class GraphBuilder;

/// A value of a graph under construction. Cheap to copy; lives as long as its builder. After a mistake the builder
/// hands out invalid tensors, which every function accepts and passes on: the first mistake is what finish() reports.
class Tensor {
 public:
  Tensor() = default;
  /// Not when it stands for a mistake, and no more once the builder has finished.
  bool is_valid() const;
  /// f32[] for an invalid tensor, so that code after a mistake runs on to finish().
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  Value value() const { return value_; }
  GraphBuilder* builder() const { return builder_; }

 private:
  friend class GraphBuilder;
  Tensor(GraphBuilder* builder, Value value) : builder_(builder), value_(value) {}
  GraphBuilder* builder_ = nullptr;
  Value value_;
};

/// Builds a Graph node by node, inferring types as it goes. Functions on tensors (functions.h) read like arithmetic.
/// Errors do not throw and are not lost: the first is kept, names the node, operand, what was found and expected, and
/// comes back from finish().
///
///     GraphBuilder graph("scale");
///     Tensor x = graph.input("x", DType::kF32, {4, 8});
///     graph.output("y", relu(x * 2.0f + 1.0f));
///     Result<Graph> result = graph.finish();
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "main");
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Tensor input(std::string name, DType dtype, Shape shape);
  /// Copies row-major elements; their number must be the shape's.
  template <class T>
  Tensor constant(Shape shape, std::span<const T> elements) {
    return constant_bytes({dtype_of<T>, std::move(shape)}, std::as_bytes(elements));
  }
  Tensor constant_bytes(TensorType type, std::span<const std::byte> bytes);
  /// Every element `value`, rounded to dtype.
  Tensor fill(DType dtype, Shape shape, double value);

  /// Any op of the table; one tensor per result. None where there is not even memory for that.
  std::vector<Tensor> op(Op op, std::span<const Tensor> operands, Attributes attributes = NoAttrs{});
  Tensor op1(Op op, std::initializer_list<Tensor> operands, Attributes attributes = NoAttrs{});

  /// An application's own elementwise kernel; see custom_kernel.h.
  template <class Body, class... Tensors>
  Tensor kernel(std::string name, Tensors... inputs) {
    try {
      return custom(make_custom_kernel<Body>(std::move(name)), {inputs...});
    } catch (const std::bad_alloc&) {
      return fail(Status::out_of_memory());
    }
  }
  Tensor custom(CustomKernel kernel, std::initializer_list<Tensor> operands);

  void output(std::string name, Tensor tensor);

  /// The first mistake so far.
  const Status& status() const { return status_; }
  /// Records a mistake of a function built on this builder.
  Tensor fail(Status status);
  /// The verified graph, or the first mistake. The builder is empty afterwards.
  Result<Graph> finish();

  const Graph& graph() const { return graph_; }

 private:
  // What the public functions do, except that these let std::bad_alloc out.
  Tensor add_input(std::string name, DType dtype, Shape shape);
  Tensor add_constant(TensorType type, std::span<const std::byte> bytes);
  Tensor add_fill(DType dtype, Shape shape, double value);
  std::vector<Tensor> add_op(Op op, std::span<const Tensor> operands, Attributes attributes);
  Tensor add_custom(CustomKernel kernel, std::span<const Tensor> operands);
  void add_output(std::string name, Tensor tensor);
  Result<Graph> take_graph();
  std::vector<Tensor> append(Node node);
  bool accept(std::span<const Tensor> operands, const std::string& who);
  bool accept(Tensor tensor, const std::string& what);
  Graph graph_;
  std::set<std::string, std::less<>> input_names_, output_names_;
  Status status_;
};

}  // namespace millrace
