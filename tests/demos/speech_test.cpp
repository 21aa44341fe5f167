// SPDX-License-Identifier: Apache-2.0
// examples/speech: probabilities, segments, and the program.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "examples/common/wave_file.h"
#include "examples/speech/detector.h"
#include "tests/demos/demo.h"
#include "tests/docs/onnx_model.h"
#include "tests/graph/import/onnx/real_models.h"

namespace millrace {
namespace {

using speech::Segment;
using test::demo_error;
using test::model_path;
using test::ToolRun;
using test::Workplace;

TEST_CASE("frames with speech form segments, which pauses of 4 frames divide") {
  using Segments = std::vector<Segment>;
  const float no = 0.5f, yes = 0.75f;
  CHECK(speech::find_segments(std::vector<float>{}).empty());
  CHECK(speech::find_segments(std::vector{no, no}).empty());
  CHECK(speech::find_segments(std::vector{yes}) == Segments{{0, 1}});
  CHECK(speech::find_segments(std::vector{no, yes, no, no, no, yes, no}) == Segments{{1, 6}});
  CHECK(speech::find_segments(std::vector{no, yes, no, no, no, no, yes, yes}) == Segments{{1, 2}, {6, 8}});
}

TEST_CASE("speech: each frame's probability is the recorded one, and zeros fill up the last frame") {
  for (const char* name : {"silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx"}) {
    const std::string path = model_path(name);
    if (path.empty()) continue;
    CAPTURE(name);
    const std::vector<float> samples = common::read_wave(model_path("data/silero_test.wav"), 16000).value();
    const std::vector<float> expected = test::read_raw<float>(model_path("ref/silero_test_wav_probs.f32"));
    REQUIRE(expected.size() == 1875);
    const Program program = compile(speech::import_detector(path).value()).value();
    Session session = Session::create(program).value();
    const std::vector<float> found = speech::find_probabilities(session, samples).value();
    REQUIRE(found.size() == expected.size());
    float worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) worst = std::max(worst, std::fabs(found[i] - expected[i]));
    CHECK(worst < 1e-4f);
    CHECK(std::ranges::count_if(found, speech::is_speech) == 1452);

    std::vector<float> part(samples.begin(), samples.begin() + 700), whole = part;
    whole.resize(1024);
    session.reset().throw_if_error();
    const std::vector<float> of_part = speech::find_probabilities(session, part).value();
    session.reset().throw_if_error();
    CHECK(of_part.size() == 2);
    CHECK(of_part == speech::find_probabilities(session, whole).value());
  }
}

TEST_CASE("speech: the program prints the segments of the recorded probabilities") {
  const std::string model = model_path("silero_vad_op18_ifless.onnx");
  if (model.empty()) return;
  std::string expected;
  for (const Segment& segment :
       speech::find_segments(test::read_raw<float>(model_path("ref/silero_test_wav_probs.f32")))) {
    expected += fmt::format("{:8.2f} s to {:8.2f} s\n", 0.032 * static_cast<double>(segment.begin),
                            0.032 * static_cast<double>(segment.end));
  }
  const ToolRun run = run_demo(Workplace(), "speech", "'" + model + "' '" + model_path("data/silero_test.wav") + "'");
  CHECK(run.exit_code == 0);
  CHECK(run.out == expected + "1452 of 1875 frames are speech\n");
  for (const char* stage : {"read ", "import ", "compile ", "run "}) CHECK(test::contains(run.error, stage));
}

TEST_CASE("speech: what cannot be used is refused with a message") {
  const Workplace here;
  common::write_wave(here.path("good.wav"), 16000, std::vector<float>(600)).throw_if_error();
  common::write_wave(here.path("fast.wav"), 44100, std::vector<float>(600)).throw_if_error();
  here.write("softmax.onnx", test::softmax_model());
  CHECK(demo_error(here, "speech", "") == "usage: " MILLRACE_EXAMPLES "/speech/speech MODEL WAVE");
  CHECK(demo_error(here, "speech", "model.onnx none.wav") ==
        "wave 'none.wav': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "speech", "model.onnx fast.wav") ==
        "wave 'fast.wav': found rate 44100, channels 1, bits 16, format 1, expected 16000, 1, 16 and 1 (PCM); convert "
        "it");
  CHECK(demo_error(here, "speech", "model.onnx good.wav") ==
        "onnx 'model.onnx': the file cannot be opened: No such file or directory; check the path");
  CHECK(demo_error(here, "speech", "softmax.onnx good.wav") ==
        "onnx 'softmax.onnx': 1 part cannot be imported:\n"
        "  graph: a value is given for 'sr', which is not an input");
}

}  // namespace
}  // namespace millrace
