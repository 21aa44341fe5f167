// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "examples/faces/picture.h"
#include "millrace/millrace.h"

namespace faces {

/// Where a face is, in fractions of the picture's width and height, from 0 to 1, and how sure the model is.
struct Face {
  float score = 0;
  float left = 0, top = 0, right = 0, bottom = 0;
};

/// Three programs: a picture of any size becomes what the model expects, the model scores thousands of boxes, and
/// non-maximum suppression keeps one per face.
class FaceFinder {
 public:
  /// Compiles an UltraFace model: input f32[1, 3, h, w] -> scores f32[1, n, 2], boxes f32[1, n, 4].
  static millrace::Result<FaceFinder> create(millrace::Graph model);
  /// The faces, best first, at most 200.
  millrace::Result<std::vector<Face>> find(const Picture&);

 private:
  struct Sizes {
    std::int64_t height = 0, width = 0, boxes = 0;
  };
  static millrace::Result<Sizes> sizes_of(const millrace::Program& model);
  FaceFinder(Sizes sizes, millrace::Session prepare, millrace::Session model, millrace::Session choose)
      : sizes_(sizes), prepare_(std::move(prepare)), model_(std::move(model)), choose_(std::move(choose)) {}

  Sizes sizes_;
  millrace::Session prepare_, model_, choose_;
};

}  // namespace faces
