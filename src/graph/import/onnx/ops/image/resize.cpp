// SPDX-License-Identifier: Apache-2.0
// Imports Resize and Upsample: reads scales or sizes as exact fractions, so that dims may be symbols.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/composites/repeat.h"
#include "graph/import/onnx/node_context.h"
#include "graph/import/onnx/ops/image/resize_axis.h"
#include "millrace/base/printable.h"
#include "millrace/graph/composites.h"

namespace millrace {

#define MILLRACE_ONNX_OP(name, since_version, function) Result<OnnxResults> function(OnnxNodeContext&);
#include "graph/import/onnx/ops/image.inc"
#undef MILLRACE_ONNX_OP

namespace {

using Axes = std::vector<OnnxResizedAxis>;

/// The fraction that positions are computed with: a simple one that rounds to the scale in f32 if there is one,
/// otherwise the exact value. Empty if the scale is not an f32 from 2^-20 to 2^20.
std::optional<SizeFraction> scale_fraction(double number) {
  if (!(number >= 0x1p-20 && number <= 0x1p20) || double{static_cast<float>(number)} != number) return {};
  for (std::int64_t denominator = 1; denominator <= kMaxSizeDivisor; ++denominator) {
    const double numerator = std::nearbyint(number * static_cast<double>(denominator));
    if (double{static_cast<float>(numerator / static_cast<double>(denominator))} == number) {
      return SizeFraction{static_cast<std::int64_t>(numerator), denominator};
    }
  }
  SizeFraction fraction{0, 1};
  while (number != std::floor(number)) {
    number *= 2;
    fraction.denominator *= 2;
  }
  fraction.numerator = static_cast<std::int64_t>(number);
  return fraction;
}

void scale_axis(OnnxResizedAxis& axis, const SizeExpr& numerator, const SizeExpr& denominator) {
  axis.numerator = numerator;
  axis.denominator = denominator;
  axis.length_numerator = axis.from * numerator;
  axis.length_denominator = denominator;
  axis.to = floor_div(axis.length_numerator, denominator);
}

/// The extent of a result. ONNX defines it by a product in f32: 90 * 1.3 is 116.
std::int64_t scaled_extent(std::int64_t extent, double scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(extent) * static_cast<float>(scale)));
}

/// The maximum extent of a symbolic dim if its scale is not exactly a fraction with a small denominator.
constexpr std::int64_t kMaxScaledExtent = 1 << 16;

/// Whether the fraction gives the same result as scaled_extent(), for every extent up to the maximum.
bool gives_extents(const SizeFraction& fraction, double scale) {
  for (std::int64_t extent = 0; extent <= kMaxScaledExtent; ++extent) {
    if (extent * fraction.numerator / fraction.denominator != scaled_extent(extent, scale)) return false;
  }
  return true;
}

Status scale_axes(std::span<const double> scales, const std::string& where, Axes& axes) {
  if (scales.size() != axes.size()) {
    return invalid_argument(
        fmt::format("{}: has {} numbers, expected one for each of {} axes", where, scales.size(), axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::optional<SizeFraction> scale = scale_fraction(scales[i]);
    if (!scale) {
      return unimplemented(fmt::format("{}: found {}, expected scales from 2^-20 to 2^20", where, scales[i]));
    }
    const bool is_known = axes[i].from.is_constant();
    if (!is_known && !as_fraction(scales[i])) {
      axes[i].from = min(axes[i].from, kMaxScaledExtent);
      if (!gives_extents(*scale, scales[i])) {
        return unimplemented(
            fmt::format("{}: found {}, whose products with the dim {} are not the same in f32 and as a fraction; give "
                        "the dim a value",
                        where, scales[i], axes[i].from.to_text()));
      }
    }
    scale_axis(axes[i], scale->numerator, scale->denominator);
    if (is_known) axes[i].to = scaled_extent(axes[i].from.constant(), scales[i]);
  }
  return {};
}

/// Scales may be sizes: a model can divide the wanted extent by the dim.
Status read_scales(OnnxNodeContext& node, std::size_t operand, Axes& axes) {
  const OnnxSizes* sizes = node.value(operand).sizes();
  if (sizes == nullptr || sizes->are_numbers()) {
    MILLRACE_TRY_ASSIGN(const OnnxConstant scales, node.constant(operand));
    return scale_axes(numbers_of(scales), fmt::format(".input[{}]", operand), axes);
  }
  if (sizes->values.size() != axes.size()) {
    return node.operand_error(
        operand, fmt::format("has {} numbers, expected one for each of {} axes", sizes->values.size(), axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) scale_axis(axes[i], sizes->values[i], sizes->divisor);
  return {};
}

/// With a policy other than stretch, one scale serves all axes: the smallest or the largest.
Status keep_aspect_ratio(OnnxNodeContext& node, std::string_view policy, Axes& axes) {
  if (policy == "stretch" || axes.empty()) return {};
  if (policy != "not_larger" && policy != "not_smaller") {
    return node.attribute_error(
        "keep_aspect_ratio_policy",
        fmt::format("found '{}', expected stretch, not_larger or not_smaller", printable(policy)));
  }
  const auto is_known = [](const OnnxResizedAxis& axis) {
    return axis.from.is_constant() && axis.to.is_constant() && axis.from.constant() > 0;
  };
  if (!std::ranges::all_of(axes, is_known)) {
    return node.attribute_error("keep_aspect_ratio_policy", "depends on dims that are not known; give them values");
  }
  const auto has_smaller_scale = [](const OnnxResizedAxis& a, const OnnxResizedAxis& b) {
    return saturating::multiply(a.to.constant(), b.from.constant()) <
           saturating::multiply(b.to.constant(), a.from.constant());
  };
  const OnnxResizedAxis chosen = policy == "not_larger" ? *std::ranges::min_element(axes, has_smaller_scale)
                                                        : *std::ranges::max_element(axes, has_smaller_scale);
  for (OnnxResizedAxis& axis : axes) {
    scale_axis(axis, chosen.to, chosen.from);
    axis.to = floor_div(2 * axis.length_numerator + axis.length_denominator, 2 * axis.length_denominator);
  }
  return {};
}

Status read_sizes(OnnxNodeContext& node, std::string_view policy, Axes& axes) {
  MILLRACE_TRY_ASSIGN(const OnnxSizes sizes, node.sizes(3));
  if (sizes.values.size() != axes.size() || sizes.divisor != 1) {
    return node.operand_error(
        3, fmt::format("has {} sizes, expected one for each of {} axes", sizes.values.size(), axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].to = axes[i].numerator = axes[i].length_numerator = sizes.values[i];
    axes[i].denominator = axes[i].from;
  }
  return keep_aspect_ratio(node, policy, axes);
}

/// The choice that a text attribute names.
template <class Choice>
Result<Choice> read_choice(OnnxNodeContext& node, std::string_view name, std::string_view otherwise,
                           std::span<const std::pair<std::string_view, Choice>> choices) {
  MILLRACE_TRY_ASSIGN(const std::string_view found, node.text_attribute(name, otherwise));
  std::string expected;
  for (const auto& [text, choice] : choices) {
    if (text == found) return choice;
    expected += fmt::format("{}{}", expected.empty() ? "" : ", ", text);
  }
  return node.attribute_error(name, fmt::format("found '{}', expected one of {}", printable(found), expected));
}

constexpr std::pair<std::string_view, OnnxResizeMode> kModes[] = {
    {"nearest", OnnxResizeMode::kNearest}, {"linear", OnnxResizeMode::kLinear}, {"cubic", OnnxResizeMode::kCubic}};
constexpr std::pair<std::string_view, OnnxResizeMode> kOldestModes[] = {{"nearest", OnnxResizeMode::kNearest},
                                                                        {"bilinear", OnnxResizeMode::kLinear}};
constexpr std::pair<std::string_view, OnnxNearest> kNearestModes[] = {
    {"round_prefer_floor", OnnxNearest::kRoundPreferFloor},
    {"round_prefer_ceil", OnnxNearest::kRoundPreferCeil},
    {"floor", OnnxNearest::kFloor},
    {"ceil", OnnxNearest::kCeil}};
constexpr std::pair<std::string_view, OnnxCoordinates> kCoordinates[] = {
    {"half_pixel", OnnxCoordinates::kHalfPixel},
    {"half_pixel_symmetric", OnnxCoordinates::kHalfPixelSymmetric},
    {"pytorch_half_pixel", OnnxCoordinates::kPytorchHalfPixel},
    {"align_corners", OnnxCoordinates::kAlignCorners},
    {"asymmetric", OnnxCoordinates::kAsymmetric},
    {"tf_half_pixel_for_nn", OnnxCoordinates::kTfHalfPixelForNn},
    {"tf_crop_and_resize", OnnxCoordinates::kTfCropAndResize}};

Result<OnnxResizeStyle> read_style(OnnxNodeContext& node) {
  OnnxResizeStyle style;
  MILLRACE_TRY_ASSIGN(style.mode, read_choice<OnnxResizeMode>(node, "mode", "nearest", kModes));
  MILLRACE_TRY_ASSIGN(style.nearest,
                      read_choice<OnnxNearest>(node, "nearest_mode", "round_prefer_floor", kNearestModes));
  MILLRACE_TRY_ASSIGN(style.coordinates,
                      read_choice<OnnxCoordinates>(node, "coordinate_transformation_mode", "half_pixel", kCoordinates));
  MILLRACE_TRY_ASSIGN(style.cubic_coefficient, node.number_attribute("cubic_coeff_a", -0.75));
  MILLRACE_TRY_ASSIGN(style.exclude_outside, node.flag_attribute("exclude_outside", false));
  MILLRACE_TRY_ASSIGN(style.extrapolation_value, node.number_attribute("extrapolation_value", 0));
  if (node.version() >= 18) {
    MILLRACE_TRY_ASSIGN(style.antialias, node.flag_attribute("antialias", false));
    if (style.antialias && style.mode == OnnxResizeMode::kNearest) {
      return node.attribute_error("antialias", "found 1 with the mode nearest, expected linear or cubic");
    }
  }
  return style;
}

/// The axes that the node resizes. Their new extents are not set yet.
Result<Axes> read_resized_axes(OnnxNodeContext& node, const Shape& shape) {
  std::optional<std::vector<std::int64_t>> named;
  if (node.version() >= 18) {
    MILLRACE_TRY_ASSIGN(named, node.integers_attribute("axes"));
  }
  Axes axes;
  std::vector<bool> is_named(shape.rank());
  for (std::size_t i = 0; i < (named ? named->size() : shape.rank()); ++i) {
    const std::int64_t given = named ? (*named)[i] : static_cast<std::int64_t>(i);
    const std::optional<std::int64_t> axis = find_axis(given, shape.rank());
    if (!axis || is_named[static_cast<std::size_t>(*axis)]) {
      return node.attribute_error(
          "axes", fmt::format("found {}, expected different axes of a tensor of rank {}", given, shape.rank()));
    }
    is_named[static_cast<std::size_t>(*axis)] = true;
    axes.push_back({.axis = *axis, .from = shape[static_cast<std::size_t>(*axis)], .to = 0});
  }
  return axes;
}

/// roi lists the starts of all axes and then the ends, as fractions of the extents.
Status read_roi(OnnxNodeContext& node, Axes& axes) {
  MILLRACE_TRY_ASSIGN(const Tensor given, node.tensor(1));
  const auto count = static_cast<std::int64_t>(axes.size());
  if (given.shape() != Shape({2 * count}) || !is_float(given.dtype())) {
    return node.operand_error(1, fmt::format("is {}, expected {} floats", given.type().to_text(), 2 * count));
  }
  const Tensor roi = cast(given, DType::kF64);
  const auto element = [&](std::int64_t i) { return reshape(slice(roi, {i}, {i + 1}), {}); };
  for (std::int64_t i = 0; i < count; ++i) {
    axes[static_cast<std::size_t>(i)].roi_start = element(i);
    axes[static_cast<std::size_t>(i)].roi_end = element(count + i);
  }
  return {};
}

/// Whether result point i is operand point i / n, rounded down, if the scale is a whole number n from 2 on.
bool repeats_points(const OnnxResizeStyle& style) {
  if (style.mode != OnnxResizeMode::kNearest) return false;
  switch (style.coordinates) {
    case OnnxCoordinates::kHalfPixel:
    case OnnxCoordinates::kHalfPixelSymmetric:
    case OnnxCoordinates::kPytorchHalfPixel:
      return style.nearest == OnnxNearest::kRoundPreferFloor || style.nearest == OnnxNearest::kRoundPreferCeil;
    case OnnxCoordinates::kAsymmetric:
    case OnnxCoordinates::kTfHalfPixelForNn:
      return style.nearest == OnnxNearest::kFloor;
    default:
      return false;
  }
}

/// How often each point of the axis is repeated, if that is all that happens; otherwise 0.
std::int64_t times_repeated(const OnnxResizedAxis& axis, const OnnxResizeStyle& style) {
  const std::int64_t times = repeats_points(style) ? whole_factor(axis.from, axis.to) : 0;
  return axis.numerator == axis.denominator * times ? times : 0;
}

Result<OnnxResults> resize_axes(OnnxNodeContext& node, Tensor x, const Axes& axes, const OnnxResizeStyle& style) {
  const DType dtype = x.dtype();
  const bool is_nearest = style.mode == OnnxResizeMode::kNearest;
  if (!is_nearest && !is_float(dtype)) {
    return node.operand_error(0, fmt::format("is {}, expected floats unless the mode is nearest; how integers round "
                                             "is not defined",
                                             x.type().to_text()));
  }
  if (!is_nearest && dtype != DType::kF64) x = cast(x, DType::kF32);
  std::vector<RepeatedDim> repeated;
  for (const OnnxResizedAxis& axis : axes) {
    const bool is_crop = style.coordinates == OnnxCoordinates::kTfCropAndResize;
    if (axis.from == axis.to && axis.numerator == axis.denominator && !is_crop) continue;
    const auto dim = static_cast<std::size_t>(axis.axis);
    MILLRACE_TRY(node.match_dim(x, dim, axis.from));
    if (const std::int64_t times = times_repeated(axis, style); times != 0) {
      repeated.push_back({dim, times});
    } else {
      MILLRACE_TRY_ASSIGN(x, node.built(resize_axis(x, axis, style)));
    }
  }
  std::ranges::sort(repeated, {}, &RepeatedDim::dim);
  MILLRACE_TRY_ASSIGN(x, node.built(repeat_points(x, repeated)));
  return is_nearest ? x : cast(x, dtype);
}

/// Before version 7, the height and the width of images each have an attribute for their scale.
Status read_oldest_scales(OnnxNodeContext& node, Axes& axes) {
  if (axes.size() != 4) return node.operand_error(0, fmt::format("has rank {}, expected 4", axes.size()));
  MILLRACE_TRY_ASSIGN(const double height, node.number_attribute("height_scale"));
  MILLRACE_TRY_ASSIGN(const double width, node.number_attribute("width_scale"));
  return scale_axes(std::vector{1.0, 1.0, height, width}, ".attribute 'height_scale' or 'width_scale'", axes);
}

/// Upsample, and Resize of version 10. Positions are asymmetric. The mode nearest takes the point below or, along an
/// axis that becomes smaller, the point above.
Result<OnnxResults> import_old_resize(OnnxNodeContext& node) {
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  OnnxResizeStyle style{.coordinates = OnnxCoordinates::kAsymmetric, .nearest = OnnxNearest::kFloor};
  const auto modes = node.version() < 7 ? std::span(kOldestModes) : std::span(kModes).first(2);
  MILLRACE_TRY_ASSIGN(style.mode, read_choice<OnnxResizeMode>(node, "mode", "nearest", modes));
  Axes axes;
  for (std::size_t d = 0; d < x.shape().rank(); ++d) {
    axes.push_back({.axis = static_cast<std::int64_t>(d), .from = x.shape()[d], .to = 0});
  }
  if (node.version() >= 9) {
    MILLRACE_TRY(read_scales(node, 1, axes));
  } else if (node.version() < 7) {
    MILLRACE_TRY(read_oldest_scales(node, axes));
  } else {
    MILLRACE_TRY_ASSIGN(const std::optional<std::vector<double>> scales, node.numbers_attribute("scales"));
    if (!scales) return node.attribute_error("scales", "is missing");
    MILLRACE_TRY(scale_axes(*scales, ".attribute 'scales'", axes));
  }
  Tensor resized = x;
  for (const OnnxResizedAxis& axis : axes) {
    style.nearest =
        decide_less(axis.numerator, axis.denominator).value_or(false) ? OnnxNearest::kCeil : OnnxNearest::kFloor;
    MILLRACE_TRY_ASSIGN(OnnxResults one, resize_axes(node, resized, {axis}, style));
    resized = *one.values()[0].tensor();
  }
  return resized;
}

/// Whether the operand is there and has elements: before version 13, an empty list stands for a missing one.
Result<bool> has_elements(OnnxNodeContext& node, std::size_t operand) {
  if (!node.has(operand)) return false;
  MILLRACE_TRY_ASSIGN(const TensorType type, node.type(operand));
  return !type.shape.num_elements().is(0);
}

}  // namespace

Result<OnnxResults> import_upsample(OnnxNodeContext& node) {
  if (node.version() >= 10) return unimplemented(": the op is deprecated from version 10 on; use Resize");
  return import_old_resize(node);
}

Result<OnnxResults> import_resize(OnnxNodeContext& node) {
  if (node.version() < 11) return import_old_resize(node);
  MILLRACE_TRY_ASSIGN(const Tensor x, node.tensor(0));
  MILLRACE_TRY_ASSIGN(const OnnxResizeStyle style, read_style(node));
  MILLRACE_TRY_ASSIGN(Axes axes, read_resized_axes(node, x.shape()));
  std::string_view policy = "stretch";
  if (node.version() >= 18) {
    MILLRACE_TRY_ASSIGN(policy, node.text_attribute("keep_aspect_ratio_policy", policy));
  }
  MILLRACE_TRY_ASSIGN(const bool has_scales, has_elements(node, 2));
  MILLRACE_TRY_ASSIGN(const bool has_sizes, has_elements(node, 3));
  if (has_scales == has_sizes && !axes.empty()) {
    return invalid_argument(fmt::format(": found {}, expected scales or sizes",
                                        has_sizes ? "both scales and sizes" : "neither scales nor sizes"));
  }
  if (has_scales) {
    MILLRACE_TRY(read_scales(node, 2, axes));
  } else if (has_sizes) {
    MILLRACE_TRY(read_sizes(node, policy, axes));
  }
  if (style.coordinates == OnnxCoordinates::kTfCropAndResize) {
    MILLRACE_TRY(read_roi(node, axes));
  } else {
    node.ignore_operand(1);
  }
  return resize_axes(node, x, axes, style);
}

}  // namespace millrace
