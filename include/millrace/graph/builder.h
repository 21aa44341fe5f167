// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <new>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

class GraphBuilder;

/// A value of a graph under construction. Cheap to copy; valid while its builder lives. After a mistake, the builder
/// returns invalid tensors, which every function accepts and passes on; finish() reports the first mistake.
class Tensor {
 public:
  Tensor() = default;
  /// False after a mistake, and once the builder has finished.
  bool is_valid() const;
  /// f32[] for an invalid tensor, so that code after a mistake still reaches finish().
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

/// Builds a Graph node by node and infers types on the way. Functions on tensors (functions.h) read like arithmetic.
/// Mistakes do not throw: finish() returns the first one, which names the node, the operand, what was found and what
/// was expected.
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

  /// Adds an input. Its name must be unique and not empty.
  Tensor input(std::string name, DType dtype, Shape shape);
  /// Copies row-major elements. Their number must match the shape.
  template <class T>
  Tensor constant(Shape shape, std::span<const T> elements) {
    return constant_bytes({dtype_of<T>, std::move(shape)}, std::as_bytes(elements));
  }
  /// The same of a vector or an array.
  template <class Container>
    requires requires(const Container& c) { std::span(c.data(), c.size()); }
  Tensor constant(Shape shape, const Container& elements) {
    return constant(std::move(shape), std::span(elements.data(), elements.size()));
  }
  Tensor constant_bytes(TensorType type, std::span<const std::byte> bytes);
  /// The same without a copy, for weights: constant_shared(entry.type, entry.shared_bytes()) of a Safetensors' entry.
  Tensor constant_shared(TensorType type, SharedBytes bytes);
  /// A tensor with every element equal to `value`, rounded to the dtype.
  Tensor fill(DType dtype, Shape shape, double value);

  /// Adds a variable: a tensor that each session keeps from run to run, such as a KV cache. Before the first run, all
  /// its elements equal `initial`, rounded to the dtype. Its name must be unique among inputs and variables, and its
  /// dims must be numbers: a session allocates it before any run binds a symbol.
  Tensor variable(std::string name, TensorType type, double initial = 0);
  /// Begins with these row-major elements, which are copied. Their number must match the shape.
  template <class Container>
    requires requires(const Container& c) { std::span(c.data(), c.size()); }
  Tensor variable(std::string name, Shape shape, const Container& initial) {
    const std::span elements(initial.data(), initial.size());
    using Element = std::remove_const_t<typename decltype(elements)::element_type>;
    return variable_bytes(std::move(name), {dtype_of<Element>, std::move(shape)}, std::as_bytes(elements));
  }
  Tensor variable_bytes(std::string name, TensorType type, std::span<const std::byte> initial);
  /// The same without a copy.
  Tensor variable_shared(std::string name, TensorType type, SharedBytes initial);
  /// Gives the variable a new value once the run has ended: whatever reads it in this graph sees the old one. At most
  /// one update per variable, of its type.
  void update(Tensor variable, Tensor value);

  /// Adds any op of the table. Returns one tensor per result; empty if there is no memory even for that.
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

  /// Makes the tensor an output. The name must be unique among outputs and not empty.
  void output(std::string name, Tensor tensor);

  /// The first mistake so far, or ok.
  const Status& status() const { return status_; }
  /// Records a mistake of a function that uses this builder. Returns an invalid tensor.
  Tensor fail(Status status);
  /// Returns the verified graph, after which the builder is empty, or the first mistake.
  Result<Graph> finish();

  const Graph& graph() const { return graph_; }

 private:
  // The public functions call these, which let std::bad_alloc out.
  Tensor add_input(std::string name, DType dtype, Shape shape);
  Tensor add_constant(TensorType type, SharedBytes bytes);
  Tensor add_variable(std::string name, TensorType type, SharedBytes initial);
  void add_update(Tensor variable, Tensor value);
  Tensor add_fill(DType dtype, Shape shape, double value);
  std::vector<Tensor> add_op(Op op, std::span<const Tensor> operands, Attributes attributes);
  Tensor add_custom(CustomKernel kernel, std::span<const Tensor> operands);
  void add_output(std::string name, Tensor tensor);
  Result<Graph> take_graph();
  std::vector<Tensor> append(Node node);
  bool accept(std::span<const Tensor> operands, const std::string& who);
  bool accept(Tensor tensor, const std::string& what);
  Graph graph_;
  std::set<std::string, std::less<>> source_names_, output_names_;
  Status status_;
};

}  // namespace millrace
