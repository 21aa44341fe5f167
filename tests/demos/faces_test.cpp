// SPDX-License-Identifier: Apache-2.0
// examples/faces: pictures, boxes, the faces of two pictures, and the program.
#include <cmath>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "examples/faces/face_finder.h"
#include "examples/faces/picture.h"
#include "millrace/graph/onnx.h"
#include "tests/demos/demo.h"
#include "tests/docs/onnx_model.h"
#include "tests/graph/import/onnx/real_models.h"

namespace millrace {
namespace {

using faces::Face;
using faces::Picture;
using test::demo_error;
using test::model_path;
using test::ToolRun;
using test::Workplace;

TEST_CASE("faces: a box is drawn inside its corners and inside the picture") {
  const auto drawn = [](const faces::Box& box) {
    Picture picture = {8, 6, std::vector<std::uint8_t>(8 * 6 * 3, 7)};
    draw_box(picture, box);
    std::string text;
    for (std::size_t i = 0; i < 48; ++i) {
      const std::vector<std::uint8_t> pixel(picture.bytes.begin() + static_cast<std::ptrdiff_t>(3 * i),
                                            picture.bytes.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
      const bool is_green = pixel == std::vector<std::uint8_t>{0, 255, 0};
      CHECK((is_green || pixel == std::vector<std::uint8_t>(3, 7)));
      text += is_green ? '#' : '.';
      if (i % 8 == 7) text += '\n';
    }
    return text;
  };
  CHECK(drawn({1, 0, 7, 6}) ==
        ".######.\n"
        ".######.\n"
        ".##..##.\n"
        ".##..##.\n"
        ".######.\n"
        ".######.\n");
  CHECK(drawn({-3, -3, 5, 5}) ==
        "...##...\n"
        "...##...\n"
        "...##...\n"
        "#####...\n"
        "#####...\n"
        "........\n");
  CHECK(drawn({6, 4, 20, 20}) ==
        "........\n"
        "........\n"
        "........\n"
        "........\n"
        "......##\n"
        "......##\n");
  CHECK(drawn({3, 3, 3, 5}) == drawn({9, 9, 12, 12}));
}

std::string ppm(const Picture& picture) {
  return fmt::format("P6\n{} {}\n255\n", picture.width, picture.height) +
         std::string(picture.bytes.begin(), picture.bytes.end());
}

TEST_CASE("faces: a PPM file that is cut off or of another kind is refused") {
  const Workplace here;
  const auto refused = [&](const std::string& file, const std::string& found) {
    here.write("a.ppm", file);
    CHECK(faces::read_picture(here.path("a.ppm")).status().message() ==
          "picture '" + here.path("a.ppm") + "': found " + found +
              ", expected a whole P6 file with maximum 255 and no comment; write it again");
  };
  const std::string good = ppm({2, 1, {1, 2, 3, 4, 5, 6}});
  REQUIRE(good.size() == 17);
  refused("P6", "2 bytes with width 0, height 0 and maximum 0");
  refused(good.substr(0, 16), "16 bytes with width 2, height 1 and maximum 255");
  refused("P6\n0 1\n255\n", "11 bytes with width 0, height 1 and maximum 255");
  refused("P6\n-1 -1\n255\n123", "16 bytes with width -1, height -1 and maximum 255");
  refused("P6\n1 1\n65535\n123456", "19 bytes with width 1, height 1 and maximum 65535");
  refused("P6\n# made by hand\n1 1\n255\n123", "29 bytes with width 0, height 0 and maximum 0");
}

TEST_CASE("faces: a PPM file is read, and a written PNG file is read back") {
  const Workplace here;
  Picture picture = {5, 3, {}};
  for (int i = 0; i < 45; ++i) picture.bytes.push_back(static_cast<std::uint8_t>(5 * i));
  here.write("a.ppm", ppm(picture));
  const Picture found = faces::read_picture(here.path("a.ppm")).value();
  CHECK(found.width == 5);
  CHECK(found.height == 3);
  CHECK(found.bytes == picture.bytes);
  faces::write_picture(here.path("a.png"), found).throw_if_error();
  CHECK(here.read("a.png").starts_with("\x89PNG\r\n"));
  CHECK(faces::read_picture(here.path("a.png")).value().bytes == picture.bytes);
}

/// Reads a picture from a file of f32[3, 240, 320], whose elements are (byte - 127) / 128.
Picture read_prepared(const std::string& path) {
  const std::vector<float> values = test::read_raw<float>(path);
  constexpr std::size_t kPixels = 320 * 240;
  REQUIRE(values.size() == 3 * kPixels);
  Picture picture = {320, 240, std::vector<std::uint8_t>(3 * kPixels)};
  for (std::size_t i = 0; i < 3 * kPixels; ++i) {
    const float byte = values[i] * 128 + 127;
    REQUIRE(byte == std::round(byte));
    picture.bytes[3 * (i % kPixels) + i / kPixels] = static_cast<std::uint8_t>(byte);
  }
  return picture;
}

TEST_CASE("faces: the 44 and 71 faces of two pictures are those recorded, best first") {
  const std::string path = model_path("ultraface-RFB-320.onnx");
  if (path.empty()) return;
  const nlohmann::json recorded = nlohmann::json::parse(test::read_text(model_path("ref/ultraface_nms.json")));
  faces::FaceFinder finder = faces::FaceFinder::create(import_onnx(path).value().graph).value();
  for (const auto& [name, count] : {std::pair("ultraface_1", 44), std::pair("ultraface_27", 71)}) {
    CAPTURE(name);
    const auto scores = recorded[name]["scores"].get<std::vector<float>>();
    const auto boxes = recorded[name]["boxes"].get<std::vector<float>>();
    REQUIRE(scores.size() == static_cast<std::size_t>(count));
    const std::vector<Face> found =
        finder.find(read_prepared(model_path(fmt::format("data/{}_320x240.f32", name)))).value();
    REQUIRE(found.size() == scores.size());
    float worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Face& face = found[i];
      const float differences[] = {face.score - scores[i], face.left - boxes[4 * i], face.top - boxes[4 * i + 1],
                                   face.right - boxes[4 * i + 2], face.bottom - boxes[4 * i + 3]};
      for (const float difference : differences) worst = std::max(worst, std::fabs(difference));
    }
    CHECK(worst < 1e-4f);
  }
}

TEST_CASE("faces: the program finds 44 faces in a photograph and draws their boxes") {
  const std::string model = model_path("ultraface-RFB-320.onnx");
  if (model.empty()) return;
  const Workplace here;
  const std::string photograph = model_path("data/ultraface_1.jpg");
  const ToolRun run = run_demo(here, "faces", "'" + model + "' '" + photograph + "' out.png");
  CHECK(run.exit_code == 0);
  CHECK(run.out == "44 faces\n");
  for (const char* stage : {"read ", "import ", "compile ", "run ", "write "}) CHECK(test::contains(run.error, stage));

  const Picture before = faces::read_picture(photograph).value();
  const Picture after = faces::read_picture(here.path("out.png")).value();
  REQUIRE(after.width == before.width);
  REQUIRE(after.height == before.height);
  const auto is_green = [&](std::int64_t x, std::int64_t y) {
    if (x < 0 || y < 0 || x >= after.width || y >= after.height) return false;
    const std::uint8_t* pixel = &after.bytes[static_cast<std::size_t>(3 * (y * after.width + x))];
    return pixel[0] == 0 && pixel[1] == 255 && pixel[2] == 0;
  };
  std::size_t drawn = 0, changed = 0;
  for (std::int64_t y = 0; y < after.height; ++y) {
    for (std::int64_t x = 0; x < after.width; ++x) {
      const auto at = static_cast<std::ptrdiff_t>(3 * (y * after.width + x));
      drawn += is_green(x, y);
      changed += !std::equal(before.bytes.begin() + at, before.bytes.begin() + at + 3, after.bytes.begin() + at);
    }
  }
  CHECK(drawn == changed);
  const nlohmann::json recorded = nlohmann::json::parse(test::read_text(model_path("ref/ultraface_nms.json")));
  const auto boxes = recorded["ultraface_1"]["boxes"].get<std::vector<double>>();
  for (std::size_t i = 0; i < 44; ++i) {
    CAPTURE(i);
    // One pixel inside of each edge's middle; the JPEG decoder of the record may round otherwise.
    const double left = boxes[4 * i] * 720, top = boxes[4 * i + 1] * 478, right = boxes[4 * i + 2] * 720,
                 bottom = boxes[4 * i + 3] * 478;
    const auto middle_x = std::lround((left + right) / 2), middle_y = std::lround((top + bottom) / 2);
    CHECK(is_green(std::lround(left + 1), middle_y));
    CHECK(is_green(std::lround(right - 1.5), middle_y));
    CHECK(is_green(middle_x, std::lround(top + 1)));
    CHECK(is_green(middle_x, std::lround(bottom - 1.5)));
  }
}

TEST_CASE("faces: what cannot be used is refused with a message") {
  const Workplace here;
  here.write("good.ppm", ppm({2, 1, {1, 2, 3, 4, 5, 6}}));
  here.write("bad.jpg", "not a picture");
  here.write("large.jpg", "");
  std::filesystem::resize_file(here.path("large.jpg"), 67108865);
  here.write("softmax.onnx", test::softmax_model());
  CHECK(demo_error(here, "faces", "model.onnx good.ppm") == "usage: " MILLRACE_EXAMPLES
                                                            "/faces/faces MODEL PICTURE OUTPUT.png");
  CHECK(demo_error(here, "faces", "model.onnx none.jpg out.png") ==
        "picture 'none.jpg': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "faces", "model.onnx large.jpg out.png") ==
        "picture 'large.jpg': has 67108865 bytes, expected at most 67108864; give a smaller picture");
  CHECK(demo_error(here, "faces", "model.onnx bad.jpg out.png") ==
        "picture 'bad.jpg': unknown image type; give a JPEG, PNG or PPM file");
  CHECK(demo_error(here, "faces", "model.onnx good.ppm out.png") ==
        "onnx 'model.onnx': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "faces", "softmax.onnx good.ppm out.png") ==
        "faces: the model has x: f32[batch, 10] -> y: f32[batch, 10], expected input: f32[1, 3, h, w] -> "
        "scores: f32[1, n, 2], boxes: f32[1, n, 4]; give an UltraFace model");
}

}  // namespace
}  // namespace millrace
