// SPDX-License-Identifier: Apache-2.0
// Finds the faces in a picture with an UltraFace model and draws a box around each.
//
//     faces MODEL PICTURE OUTPUT.png
#include <cmath>

#include <fmt/format.h>

#include "examples/common/stage_clock.h"
#include "examples/faces/face_finder.h"
#include "examples/faces/picture.h"
#include "millrace/graph/onnx.h"

namespace {

using namespace millrace;
using namespace faces;

Box box_in(const Picture& picture, const Face& face) {
  const auto pixel = [](float part, std::int64_t size) { return std::lround(part * static_cast<float>(size)); };
  return {pixel(face.left, picture.width), pixel(face.top, picture.height), pixel(face.right, picture.width),
          pixel(face.bottom, picture.height)};
}

Status run(int count, char** arguments) {
  if (count != 4) return invalid_argument(fmt::format("usage: {} MODEL PICTURE OUTPUT.png", arguments[0]));
  common::StageClock clock;
  MILLRACE_TRY_ASSIGN(Picture picture, read_picture(arguments[2]));
  clock.end("read");
  MILLRACE_TRY_ASSIGN(const OnnxModel model, import_onnx(arguments[1]));
  clock.end("import");
  MILLRACE_TRY_ASSIGN(FaceFinder finder, FaceFinder::create(model.graph));
  clock.end("compile");
  MILLRACE_TRY_ASSIGN(const std::vector<Face> found, finder.find(picture));
  clock.end("run");
  for (const Face& face : found) draw_box(picture, box_in(picture, face));
  MILLRACE_TRY(write_picture(arguments[3], picture));
  clock.end("write");
  fmt::print("{} faces\n", found.size());
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status status = run(count, arguments);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
