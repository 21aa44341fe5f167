// SPDX-License-Identifier: Apache-2.0
#include "examples/faces/face_finder.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace faces {

using namespace millrace;

namespace {

constexpr std::int64_t kMaxFaces = 200;
constexpr double kMinScore = 0.7, kMaxOverlap = 0.3;

/// The picture in the model's size, with channels from -1 to 1. Copies the nearest points, without smoothing.
Result<Graph> build_preparation(std::int64_t height, std::int64_t width) {
  const SizeExpr rows = Dim("rows").at_least(1).at_most(16384), columns = Dim("columns").at_least(1).at_most(16384);
  GraphBuilder graph("prepare");
  const Tensor picture = graph.input("picture", DType::kU8, {rows, columns, 3});
  const Tensor small = resize(picture, {0, 1}, {height, width}, ResizeMode::kNearest, ResizeCoordinates::kAsymmetric);
  const Tensor normal = (cast(small, DType::kF32) - 127) / 128.0;
  graph.output("input", unsqueeze(transpose(normal, {2, 0, 1}), {0}));
  return graph.finish();
}

/// The boxes that are faces, one per face; boxes from `count` on are unspecified.
Result<Graph> build_choice(std::int64_t num_boxes) {
  GraphBuilder graph("choose");
  const Tensor scores = graph.input("scores", DType::kF32, {1, num_boxes, 2});  // background, face
  const Tensor boxes = reshape(graph.input("boxes", DType::kF32, {1, num_boxes, 4}), {num_boxes, 4});
  const Tensor face_scores = reshape(slice(scores, {0, 0, 1}, {1, num_boxes, 2}), {num_boxes});
  const auto [indices, count] = non_max_suppression(boxes, face_scores, kMaxFaces, kMaxOverlap, kMinScore);
  graph.output("best_scores", gather(face_scores, indices, 0));
  graph.output("best_boxes", gather(boxes, indices, 0));
  graph.output("count", count);
  return graph.finish();
}

Result<Session> start(Result<Graph> graph) {
  if (!graph.ok()) return graph.status();
  MILLRACE_TRY_ASSIGN(const Program program, compile(*std::move(graph)));
  return Session::create(program);
}

std::string to_text(const std::vector<Argument>& arguments) {
  std::vector<std::string> texts;
  for (const Argument& argument : arguments) texts.push_back(argument.name + ": " + argument.type.to_text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<FaceFinder::Sizes> FaceFinder::sizes_of(const Program& model) {
  const std::vector<Argument>&inputs = model.inputs(), &outputs = model.outputs();
  if (inputs.size() == 1 && inputs[0].type.shape.rank() == 4 && inputs[0].type.shape.is_static() &&
      outputs.size() == 2 && outputs[0].type.shape.rank() == 3 && outputs[0].type.shape.is_static()) {
    const Shape& input = inputs[0].type.shape;
    const Sizes sizes = {input[2].constant(), input[3].constant(), outputs[0].type.shape[1].constant()};
    const Argument expected[] = {{"input", {DType::kF32, {1, 3, sizes.height, sizes.width}}},
                                 {"scores", {DType::kF32, {1, sizes.boxes, 2}}},
                                 {"boxes", {DType::kF32, {1, sizes.boxes, 4}}}};
    const auto is = [](const Argument& a, const Argument& b) { return a.name == b.name && a.type == b.type; };
    if (is(inputs[0], expected[0]) && is(outputs[0], expected[1]) && is(outputs[1], expected[2])) return sizes;
  }
  return invalid_argument(
      fmt::format("faces: the model has {} -> {}, expected input: f32[1, 3, h, w] -> scores: f32[1, n, 2], "
                  "boxes: f32[1, n, 4]; give an UltraFace model",
                  to_text(inputs), to_text(outputs)));
}

Result<FaceFinder> FaceFinder::create(Graph graph) {
  MILLRACE_TRY_ASSIGN(const Program program, compile(std::move(graph)));
  MILLRACE_TRY_ASSIGN(const Sizes sizes, sizes_of(program));
  MILLRACE_TRY_ASSIGN(Session model, Session::create(program));
  MILLRACE_TRY_ASSIGN(Session prepare, start(build_preparation(sizes.height, sizes.width)));
  MILLRACE_TRY_ASSIGN(Session choose, start(build_choice(sizes.boxes)));
  return FaceFinder(sizes, std::move(prepare), std::move(model), std::move(choose));
}

Result<std::vector<Face>> FaceFinder::find(const Picture& picture) {
  std::vector<float> input(static_cast<std::size_t>(3 * sizes_.height * sizes_.width));
  MILLRACE_TRY(
      prepare_.run({bind("picture", picture.bytes, {picture.height, picture.width, 3})}, {bind("input", input)}));

  const auto num_boxes = static_cast<std::size_t>(sizes_.boxes);
  std::vector<float> scores(2 * num_boxes), boxes(4 * num_boxes);
  MILLRACE_TRY(model_.run({bind("input", input)}, {bind("scores", scores), bind("boxes", boxes)}));

  std::array<float, kMaxFaces> best_scores;
  std::array<float, 4 * kMaxFaces> best_boxes;
  std::int64_t count = 0;
  MILLRACE_TRY(choose_.run({bind("scores", scores), bind("boxes", boxes)},
                           {bind("best_scores", best_scores), bind("best_boxes", best_boxes), bind("count", count)}));
  std::vector<Face> faces;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::span box = std::span(best_boxes).subspan(4 * i, 4);
    faces.push_back({best_scores[i], box[0], box[1], box[2], box[3]});
  }
  return faces;
}

}  // namespace faces
