// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace millrace {

/// Holds a function that is passed as an option, like std::function<void(Args...)>. It avoids the standard header
/// `functional`, which also includes containers and would account for a fifth of the cost of including millrace.h.
/// Copies share the function. A default-constructed Callback is empty; calling it is undefined.
template <class... Args>
class Callback {
 public:
  Callback() = default;
  template <class F>
    requires(std::is_invocable_v<F&, Args...> && !std::is_same_v<F, Callback>)
  Callback(F function)
      : state_(std::make_shared<F>(std::move(function))),
        call_([](void* state, Args... args) { (*static_cast<F*>(state))(static_cast<Args>(args)...); }) {}

  explicit operator bool() const { return call_ != nullptr; }
  void operator()(Args... args) const { call_(state_.get(), static_cast<Args>(args)...); }

 private:
  std::shared_ptr<void> state_;
  void (*call_)(void* state, Args...) = nullptr;
};

}  // namespace millrace
