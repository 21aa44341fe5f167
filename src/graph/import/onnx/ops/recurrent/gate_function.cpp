// SPDX-License-Identifier: Apache-2.0
// Reads the activations of recurrent layers.
#include "graph/import/onnx/ops/recurrent/gate_function.h"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {
namespace {

/// An activation by its name in ONNX. The attributes list only the parameters that it has, and must list those without
/// a default.
struct KnownFunction {
  std::string_view name;
  Tensor (*apply)(Tensor x, double alpha, double beta);
  bool has_alpha = false, has_beta = false;
  std::optional<double> alpha = {}, beta = {};  // defaults
};

constexpr KnownFunction kFunctions[] = {
    {"Affine", [](Tensor x, double alpha, double beta) { return x * alpha + beta; }, true, true},
    {"Elu", [](Tensor x, double alpha, double) { return elu(x, alpha); }, true, false, 1},
    {"HardSigmoid", [](Tensor x, double alpha, double beta) { return clamp(x * alpha + beta, 0, 1); }, true, true, 0.2,
     0.5},
    {"LeakyRelu", [](Tensor x, double alpha, double) { return where(x >= 0.0, x, x * alpha); }, true, false, 0.01},
    {"Relu", [](Tensor x, double, double) { return relu(x); }},
    {"ScaledTanh", [](Tensor x, double alpha, double beta) { return tanh(x * beta) * alpha; }, true, true},
    {"Sigmoid", [](Tensor x, double, double) { return sigmoid(x); }},
    {"Softplus", [](Tensor x, double, double) { return softplus(x); }},
    {"Softsign", [](Tensor x, double, double) { return x / (abs(x) + 1.0); }},
    {"Tanh", [](Tensor x, double, double) { return tanh(x); }},
    {"ThresholdedRelu", [](Tensor x, double alpha, double) { return where(x >= alpha, x, 0.0); }, true, false, 1},
};

/// Consumes the values of an attribute one by one. After the last one, the defaults apply.
class Parameters {
 public:
  Parameters(std::string_view attribute, std::span<const double> values) : attribute_(attribute), values_(values) {}

  Result<double> take(OnnxNodeContext& node, std::string_view function, std::optional<double> otherwise) {
    if (used_ < values_.size()) return values_[used_++];
    if (otherwise) return *otherwise;
    return node.attribute_error(attribute_, fmt::format("has no value for {}, which has no default", function));
  }
  Status check_all_used(OnnxNodeContext& node) const {
    if (used_ == values_.size()) return {};
    return node.attribute_error(
        attribute_, fmt::format("has {} values, but the activations have {} such parameters", values_.size(), used_));
  }

 private:
  std::string_view attribute_;
  std::span<const double> values_;
  std::size_t used_ = 0;
};

}  // namespace

Result<std::vector<std::vector<GateFunction>>> read_gate_functions(OnnxNodeContext& node, std::size_t num_directions,
                                                                   const std::vector<std::string_view>& defaults) {
  MILLRACE_TRY_ASSIGN(std::optional<std::vector<std::string_view>> names, node.texts_attribute("activations"));
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<double>> alphas, node.numbers_attribute("activation_alpha"));
  MILLRACE_TRY_ASSIGN(const std::optional<std::vector<double>> betas, node.numbers_attribute("activation_beta"));
  if (!names) {
    names.emplace();
    for (std::size_t d = 0; d < num_directions; ++d) names->insert(names->end(), defaults.begin(), defaults.end());
  }
  if (names->size() != num_directions * defaults.size()) {
    return node.attribute_error("activations", fmt::format("has {} names, expected {}: {} per direction", names->size(),
                                                           num_directions * defaults.size(), defaults.size()));
  }
  Parameters alpha("activation_alpha", alphas ? *alphas : std::span<const double>());
  Parameters beta("activation_beta", betas ? *betas : std::span<const double>());
  std::vector<std::vector<GateFunction>> functions(num_directions);
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto* known = std::ranges::find(kFunctions, (*names)[i], &KnownFunction::name);
    if (known == std::end(kFunctions)) {
      return node.attribute_error("activations",
                                  fmt::format("'{}' is not an activation of recurrent layers", printable((*names)[i])));
    }
    GateFunction function{known->apply};
    if (known->has_alpha) {
      MILLRACE_TRY_ASSIGN(function.alpha, alpha.take(node, known->name, known->alpha));
    }
    if (known->has_beta) {
      MILLRACE_TRY_ASSIGN(function.beta, beta.take(node, known->name, known->beta));
    }
    functions[i / defaults.size()].push_back(function);
  }
  MILLRACE_TRY(alpha.check_all_used(node));
  MILLRACE_TRY(beta.check_all_used(node));
  return functions;
}

}  // namespace millrace
