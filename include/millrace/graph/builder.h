// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/graph/graph.h"

namespace millrace {

class GraphBuilder;
class LoopKernelBuilder;
enum class OperandId : std::uint32_t;

namespace detail {
/// The elements of a vector, an array, or a C array of any rank, as one row-major span.
template <class Container>
  requires requires(const Container& c) { std::span(c.data(), c.size()); }
auto flat_span(const Container& elements) {
  return std::span(elements.data(), elements.size());
}
template <class T, std::size_t kCount>
auto flat_span(const T (&elements)[kCount]) {
  using Element = std::remove_all_extents_t<T>;
  return std::span(reinterpret_cast<const Element*>(elements), sizeof(elements) / sizeof(Element));
}
template <class Elements>
concept HasElements = requires(const Elements& elements) { flat_span(elements); };
}  // namespace detail

/// A value of a graph under construction. Cheap to copy; valid while its builder lives. After a mistake, the builder
/// returns invalid tensors. Every function accepts them and returns invalid tensors in turn; finish() reports the first
/// mistake.
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
  /// Gives the value a name for messages, texts and profiles, inside the scope in which it was built, and returns it:
  ///     Tensor scores = softmax(q * k).named("scores");
  /// If the name is taken, the value gets the first free one of scores_1, scores_2, ... Inputs, variables and values
  /// that already have a name keep it. The name must not be empty.
  Tensor named(std::string_view name) const;
  GraphBuilder* builder() const { return builder_; }

 private:
  friend class GraphBuilder;
  Tensor(GraphBuilder* builder, Value value) : builder_(builder), value_(value) {}
  GraphBuilder* builder_ = nullptr;
  Value value_;
};

/// The results of an application's kernel, in the order of its stores.
class KernelResults {
 public:
  KernelResults() = default;
  /// An invalid tensor after a mistake. A number that is too high is recorded as a mistake.
  Tensor operator[](std::size_t result) const;
  /// The only result. Recorded as a mistake if there are several.
  operator Tensor() const;  // NOLINT: `Tensor y = graph.kernel(...)` is the usual call
  /// 0 after a mistake.
  std::size_t size() const { return results_.size(); }

 private:
  friend class GraphBuilder;
  explicit KernelResults(std::vector<Tensor> results) : results_(std::move(results)) {}
  std::vector<Tensor> results_;
};

/// Builds a Graph node by node and infers types on the way. Functions on tensors (functions.h) read like arithmetic. A
/// mistake does not throw: finish() returns the first one, which names the node, the operand, what was found and what
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
  /// Adds a constant and copies its row-major elements. Their number must match the shape.
  template <class T>
  Tensor constant(Shape shape, std::span<const T> elements) {
    return constant_bytes({dtype_of<T>, std::move(shape)}, std::as_bytes(elements));
  }
  /// Does the same for a vector, an array, or a C array of any rank.
  template <detail::HasElements Elements>
  Tensor constant(Shape shape, const Elements& elements) {
    const std::span flat = detail::flat_span(elements);
    return constant<std::remove_const_t<typename decltype(flat)::element_type>>(std::move(shape), flat);
  }
  /// constant({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}), or constant<float>({2, 2}, {1, 2, 3, 4}).
  template <class T>
  Tensor constant(Shape shape, std::initializer_list<T> elements) {
    return constant<T>(std::move(shape), std::span(elements.begin(), elements.size()));
  }
  Tensor constant_bytes(TensorType type, std::span<const std::byte> bytes);
  /// Adds a constant that shares its elements instead of copying them. Use it for weights: constant_shared(entry.type,
  /// entry.shared_bytes()), where `entry` is a Safetensors entry.
  Tensor constant_shared(TensorType type, SharedBytes bytes);
  /// A tensor with every element equal to `value`, rounded to the dtype.
  Tensor fill(DType dtype, Shape shape, double value);

  /// Adds a variable: a tensor that each session keeps from run to run, such as a KV cache. Before the first run, all
  /// its elements equal `initial`, rounded to the dtype. Its name must be unique among inputs and variables, and its
  /// dims must be numbers: a session allocates it before any run binds a symbol.
  Tensor variable(std::string name, TensorType type, double initial = 0);
  /// Adds a variable with these initial row-major elements, which are copied. Their number must match the shape.
  template <detail::HasElements Elements>
  Tensor variable(std::string name, Shape shape, const Elements& initial) {
    const std::span flat = detail::flat_span(initial);
    using Element = std::remove_const_t<typename decltype(flat)::element_type>;
    return variable_bytes(std::move(name), {dtype_of<Element>, std::move(shape)}, std::as_bytes(flat));
  }
  template <class T>
  Tensor variable(std::string name, Shape shape, std::initializer_list<T> initial) {
    return variable(std::move(name), std::move(shape), std::span(initial.begin(), initial.size()));
  }
  Tensor variable_bytes(std::string name, TensorType type, std::span<const std::byte> initial);
  /// Like variable_bytes, without a copy.
  Tensor variable_shared(std::string name, TensorType type, SharedBytes initial);
  /// Gives the variable a new value when the run ends: until then, everything in this graph that reads it sees the old
  /// value. Each variable has at most one update, of its own type.
  void update(Tensor variable, Tensor value);

  /// Replaces the state by body(state) as long as condition(state) is true, starting with `initial`. Returns the last
  /// state, which is `initial` if the condition is false at the start. Both functions are called while the graph is
  /// built, `condition` twice. They receive the state, one tensor per element of `initial`, and may use every tensor
  /// that was built before. `condition` returns a bool[], `body` the next state, with the same types. Other tensors
  /// that they build cannot be used outside the loop. After each iteration, the host waits for the device, reads the
  /// condition and decides whether to continue.
  ///
  ///     std::vector<Tensor> last = graph.while_loop(
  ///         {i, x}, [&](std::span<const Tensor> s) { return less(s[0], n); },
  ///         [&](std::span<const Tensor> s) { return std::vector{s[0] + 1, s[1] * 2}; });
  template <class Condition, class Body>
    requires std::is_invocable_r_v<Tensor, Condition&, std::span<const Tensor>> &&
             std::is_invocable_r_v<std::vector<Tensor>, Body&, std::span<const Tensor>>
  std::vector<Tensor> while_loop(const std::vector<Tensor>& initial, Condition&& condition, Body&& body) {
    const BodyGuard guard(*this);
    const Tensor first = condition(std::span(initial));
    const std::vector<Tensor> state = open_body("while", initial);
    if (state.size() != initial.size()) return state;  // memory ran out
    const std::vector<Tensor> next = body(std::span(state));
    const Tensor again = accept_state(initial, next) ? condition(std::span(next)) : Tensor();
    return close_loop(first, initial, next, again);
  }

  /// Computes `if_true` if the bool[] `condition` is true, otherwise `if_false`. Both functions are called while the
  /// graph is built. They may use every tensor that was built before, and must return tensors of the same types.
  ///
  ///     Tensor y = graph.if_else(big, [&] { return std::vector{x * 0.5f}; }, [&] { return std::vector{x}; })[0];
  template <class Then, class Else>
    requires std::is_invocable_r_v<std::vector<Tensor>, Then&> && std::is_invocable_r_v<std::vector<Tensor>, Else&>
  std::vector<Tensor> if_else(Tensor condition, Then&& if_true, Else&& if_false) {
    const BodyGuard guard(*this);
    open_body("if", {});
    close_branch(if_true());
    open_body("if", {});
    return close_cond(condition, if_false());
  }

  /// Adds any op of op_table.inc. Returns one tensor per result, or none if memory runs out.
  std::vector<Tensor> op(Op op, std::span<const Tensor> operands, Attributes attributes = NoAttrs{});
  Tensor op1(Op op, std::initializer_list<Tensor> operands, Attributes attributes = NoAttrs{});

  /// An application's own elementwise kernel; see custom_kernel.h.
  template <class Body, class... Tensors>
  Tensor kernel(std::string name, Tensors... inputs) {
    return custom(make_custom_kernel<Body>, std::move(name), {inputs...});
  }
  Tensor custom(CustomKernel kernel, std::initializer_list<Tensor> operands);

  /// An application's own loop nest: reductions, windows, gathers, rows with several passes. `build` is called once,
  /// with a LoopKernelBuilder (loop_kernel_builder.h) and its operand for each input, and adds everything else. The
  /// inputs' shapes are the operands', the stores' are the results'.
  ///
  ///     Tensor y = graph.kernel("double_it", {x}, [&](LoopKernelBuilder& k, std::span<const OperandId> in) {
  ///       const std::vector<AffineIndex> point = k.parallel_dims(x.shape());
  ///       const BodyValue value = k.load(k.epilogue(), in[0], point);
  ///       k.store("y", x.type(), point, k.epilogue().add(value, value));
  ///     });
  ///
  /// Elementwise nodes before and after it join its kernel, as with the library's own reductions. A mistake is reported
  /// with the kernel's name; see LoopKernelBuilder::finish, verify(LoopKernel) and verify_safe.
  template <class Build>
    requires std::is_invocable_v<Build&, LoopKernelBuilder&, std::span<const OperandId>>
  KernelResults kernel(std::string name, std::vector<Tensor> inputs, Build&& build) {
    using Function = std::remove_reference_t<Build>;
    const auto call = [](void* function, LoopKernelBuilder& kernel, std::span<const OperandId> operands) {
      (*static_cast<Function*>(function))(kernel, operands);
    };
    return nest(std::move(name), inputs, const_cast<void*>(static_cast<const void*>(std::addressof(build))), call);
  }
  /// A loop nest that is built already, or read by parse_loop_kernel.
  KernelResults kernel(LoopKernel nest, std::vector<Tensor> inputs);

  /// Ends its scope when it is destroyed.
  class [[nodiscard]] OpenScope {
   public:
    OpenScope(const OpenScope&) = delete;
    OpenScope& operator=(const OpenScope&) = delete;
    ~OpenScope() { graph_.scope_ = outer_; }

   private:
    friend class GraphBuilder;
    OpenScope(GraphBuilder& graph, std::optional<ScopeId> outer) : graph_(graph), outer_(outer) {}
    GraphBuilder& graph_;
    std::optional<ScopeId> outer_;
  };
  /// Opens a scope, such as a layer, inside the current scope. Everything that is built while the returned object lives
  /// belongs to the scope, and the scope's name precedes the names in it. The name of an earlier scope opens that scope
  /// again. The name must not be empty. Inputs and variables belong to no scope.
  ///
  ///     const auto layer = graph.scope("layer3");
  ///     Tensor q = matmul(x, wq).named("q");  // layer3/q
  OpenScope scope(std::string_view name);

  /// While an OpenFunction lives, messages about mistakes name the function that the caller called, such as softmax,
  /// not the op inside it. If several functions are open, messages name the outermost one. `name` must outlive the
  /// object.
  class [[nodiscard]] OpenFunction {
   public:
    OpenFunction(GraphBuilder& graph, std::string_view name)
        : graph_(graph), name_(name), is_outermost_(graph.function_.empty()) {
      if (is_outermost_) graph_.function_ = name;
    }
    OpenFunction(const OpenFunction&) = delete;
    OpenFunction& operator=(const OpenFunction&) = delete;
    ~OpenFunction() {
      if (!is_outermost_) return;
      graph_.function_ = {};
      graph_.origin_.reset();
    }
    /// Sets the run-time message for out-of-range indices in the nodes that are built from now on. Has no effect if
    /// another open function called this one, because the message would name arguments that the caller does not know.
    void explain_wrong_index(std::string_view what) {
      if (graph_.function_ != name_) return;
      graph_.origin_ = std::make_shared<const NodeOrigin>(NodeOrigin{std::string(name_), std::string(what)});
    }

   private:
    GraphBuilder& graph_;
    std::string_view name_;
    bool is_outermost_;
  };
  /// The name of the next node in messages: the open function, such as "softmax", or otherwise the node itself, as in
  /// "%7 = add". The names of the open scopes come first.
  std::string next_text(std::string_view what) const;
  /// Whether all tensors belong to this graph and none was built inside a loop or branch that has ended. If not,
  /// records a mistake; its message begins with `who`.
  bool accept(std::span<const Tensor> operands, const std::string& who);

  /// Makes the tensor an output. The name must be unique among outputs and not empty.
  void output(std::string name, Tensor tensor);

  /// The first mistake so far, or ok.
  const Status& status() const { return status_; }
  /// Records a mistake of a function that uses this builder. Returns an invalid tensor.
  Tensor fail(Status status);
  /// Returns the first mistake so far and forgets it, so that building goes on without what failed. Tensors that are
  /// already invalid stay invalid.
  Status take_mistake() { return std::exchange(status_, Status()); }
  /// Returns the graph, which verify() accepts, or the first mistake. The builder is empty after that.
  Result<Graph> finish();

  const Graph& graph() const { return graph_; }
  /// Whether the node was moved into the body of a loop or a branch, so that its place in graph() is empty.
  bool is_in_body(NodeId) const;

 private:
  // The public functions call these, which may throw std::bad_alloc.
  Tensor add_input(std::string name, DType dtype, Shape shape);
  Tensor add_constant(TensorType type, SharedBytes bytes);
  Tensor add_variable(std::string name, TensorType type, SharedBytes initial);
  Tensor add_update(Tensor variable, Tensor value);  // returns an invalid tensor
  Tensor add_fill(DType dtype, Shape shape, double value);
  std::vector<Tensor> add_op(Op op, std::span<const Tensor> operands, Attributes attributes);
  Tensor add_custom(CustomKernel kernel, std::span<const Tensor> operands);
  Tensor custom(CustomKernel (*make)(std::string), std::string name, std::initializer_list<Tensor> operands);
  using BuildNest = void (*)(void* function, LoopKernelBuilder&, std::span<const OperandId>);
  KernelResults nest(std::string name, std::span<const Tensor> inputs, void* function, BuildNest build);
  std::vector<Tensor> add_nest(Result<LoopKernel> nest, std::span<const Tensor> inputs, const std::string& who);
  Tensor add_output(std::string name, Tensor tensor);  // returns an invalid tensor
  Result<Graph> take_graph();
  std::vector<Tensor> append(Node node);
  friend class Tensor;
  void name_value(Value value, std::string_view name);
  /// Whether an input or a variable already has the name.
  bool is_name_taken(const std::string& name) const;

  // The nodes of a body are first appended to the graph, so that building a node works the same everywhere. When the
  // body ends, its nodes are moved out of the graph; their ids are not reused.
  struct Body;
  /// If the caller's function throws, drops the bodies that were opened for it and restores the graph.
  class BodyGuard {
   public:
    explicit BodyGuard(GraphBuilder& graph)
        : graph_(graph), num_open_(graph.open_.size()), num_branches_(graph.branches_.size()) {}
    BodyGuard(const BodyGuard&) = delete;
    BodyGuard& operator=(const BodyGuard&) = delete;
    ~BodyGuard() { graph_.drop_bodies(num_open_, num_branches_); }

   private:
    GraphBuilder& graph_;
    std::size_t num_open_, num_branches_;
  };
  void drop_bodies(std::size_t num_open, std::size_t num_branches);
  std::vector<Tensor> open_body(const char* what, std::span<const Tensor> initial);
  bool accept_state(std::span<const Tensor> initial, std::span<const Tensor> next);
  std::vector<Tensor> close_loop(Tensor first, std::span<const Tensor> initial, std::span<const Tensor> next,
                                 Tensor again);
  void close_branch(std::span<const Tensor> results);
  std::vector<Tensor> close_cond(Tensor condition, std::span<const Tensor> results);
  // These too may throw std::bad_alloc.
  Result<std::vector<Tensor>> open_state(const char* what, std::span<const Tensor> initial);
  Result<std::vector<Tensor>> check_state(std::span<const Tensor> initial, std::span<const Tensor> next);
  Result<std::vector<Tensor>> add_loop(Tensor first, std::span<const Tensor> initial, std::span<const Tensor> next,
                                       Tensor again);
  Result<std::vector<Tensor>> add_branch(std::span<const Tensor> results);
  Result<std::vector<Tensor>> add_cond(Tensor condition, std::span<const Tensor> results);
  bool accept_results(std::span<const Tensor> results, std::string_view branch);
  Body extract_body(std::string name, std::span<const Tensor> outputs, std::span<const Tensor> updates);
  Result<std::vector<Tensor>> append_inferred(Node node);
  bool accept_outside(const std::string& who);
  void mark_in_body(std::uint32_t begin);
  void drop_body_nodes(Graph& graph) const;
  bool accept(Tensor tensor, const std::string& what);
  Graph graph_;
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<std::uint32_t> open_;              // the first node of each open body
  std::vector<Range> body_ranges_;               // the nodes that were moved into bodies, in order
  std::vector<std::shared_ptr<Body>> branches_;  // the first branch of each condition whose second branch is open
  std::set<std::string, std::less<>> source_names_, output_names_;
  std::map<std::string, std::size_t> value_names_;  // name with its scopes -> last suffix: 2 for scores_2
  std::optional<ScopeId> scope_;                    // the innermost open scope
  std::string_view function_;                       // the outermost open function
  std::shared_ptr<const NodeOrigin> origin_;        // shared by the nodes that `function_` builds
  Status status_;
};

}  // namespace millrace
