// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/graph/builder.h"

namespace millrace {

enum class OnnxResizeMode { kNearest, kLinear, kCubic };
enum class OnnxNearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
/// How Resize maps a point of the result to a position in the operand; the names are those of the attribute.
enum class OnnxCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};

/// The attributes that all axes of a Resize share.
struct OnnxResizeStyle {
  OnnxResizeMode mode = OnnxResizeMode::kNearest;
  OnnxCoordinates coordinates = OnnxCoordinates::kHalfPixel;
  OnnxNearest nearest = OnnxNearest::kRoundPreferFloor;
  double cubic_coefficient = -0.75;
  double extrapolation_value = 0;  // of positions outside the operand, with kTfCropAndResize
  bool antialias = false;
  bool exclude_outside = false;
};

/// One axis of a Resize.
struct OnnxResizedAxis {
  std::int64_t axis = 0;
  SizeExpr from, to;  // extents
  /// The scale is numerator / denominator. The extent is scaled to length_numerator / length_denominator, which need
  /// not be an integer.
  SizeExpr numerator = 1, denominator = 1;
  SizeExpr length_numerator = 1, length_denominator = 1;
  Tensor roi_start = {}, roi_end = {};  // f64 scalars, for kTfCropAndResize only
};

/// Resizes x along one axis. Its dtype must be f32 or f64 unless the mode is kNearest.
Tensor resize_axis(Tensor x, const OnnxResizedAxis& axis, const OnnxResizeStyle& style);

}  // namespace millrace
