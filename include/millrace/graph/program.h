// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/context.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/passes.h"
#include "millrace/graph/schedule.h"

namespace millrace {

struct CompileOptions {
  std::string device = "cpu";
  std::shared_ptr<const Context> context = {};  // null: make_default_context()
  LowerOptions lowering = {};
  PassOptions passes = {};
  /// An already made device (a wrapped one, say); null: made from `device`.
  std::shared_ptr<Device> on_device = {};
};

/// What compiling did, for people.
struct CompileReport {
  std::chrono::nanoseconds total{}, passes{}, lowering{}, code{}, load{};
  std::vector<PassReport> pass_reports;
  std::size_t num_regions = 0, num_kernels = 0, num_dispatches = 0;
  std::uint64_t slab_bytes = 0, constant_bytes = 0;
};

enum class Stage : std::uint8_t { kGraph, kDispatch, kKernels, kPlan, kSchedule, kCommands };

/// A compiled graph. Immutable, cheap to copy, shareable between threads; each thread runs it in its own Session.
class Program {
 public:
  struct Argument {
    std::string name;
    TensorType type;
    std::size_t size_bytes = 0;
  };
  const std::vector<Argument>& inputs() const;
  const std::vector<Argument>& outputs() const;
  const CompileReport& report() const;
  /// Every level can be printed.
  std::string to_text(Stage) const;

  struct State;
  explicit Program(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  // Without moves: a program that was moved from would have nothing to answer with.
  Program(const Program&) = default;
  Program& operator=(const Program&) = default;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Graph -> passes -> regions -> kernels -> schedule -> commands -> loaded code.
Result<Program> compile(Graph graph, const CompileOptions& options = {});

/// Memory and bindings of one run at a time.
class Session {
 public:
  static Result<Session> create(const Program&);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs once. Inputs are row-major, in Program::inputs() order, only read; outputs likewise, written. The caller owns
  /// both. A bool is a byte, of which 0 is false and any other true; one that is computed is 0 or 1. Fails naming the
  /// argument, its bytes and what was expected, before anything runs. Allocates nothing after the first call.
  Status run(std::span<const BufferBinding> inputs, std::span<const BufferBinding> outputs);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Caller memory as a binding; an input is never written, so const is safe to drop here.
template <class T>
BufferBinding bind(std::span<T> elements) {
  return {const_cast<void*>(static_cast<const void*>(elements.data())), elements.size_bytes()};
}
template <class Container>
BufferBinding bind(Container& container) {
  return bind(std::span(container.data(), container.size()));
}

}  // namespace millrace
