// SPDX-License-Identifier: Apache-2.0
// Runs each command that the documents show, in a directory with the graphs that they name.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "millrace/graph/npy.h"
#include "tests/docs/markdown.h"
#include "tests/docs/onnx_model.h"
#include "tests/hip_standin/standin.h"
#include "tests/tools/workplace.h"

namespace millrace {
namespace {

using test::CodeBlock;

/// What replaces a part of a command, because this machine has no GPU and a test no profiler.
struct Replacement {
  std::string_view shown;
  std::string run;
};

std::vector<Replacement> replacements() {
  return {
      {"perf record -g ", ""},
      {"perf record -k mono ", ""},
      {"gdb -batch -ex run -ex \"info functions topk\" --args ", ""},
      {"--device hip:arch=gfx1100", "--device " + HipStandin::spec(",arch=gfx1100")},
      {"--device hip ", "--device " + HipStandin::spec() + " "},
  };
}

/// The command of a line, without its comment.
std::string command_of(const std::string& line) {
  const std::string command = line.substr(0, line.find("  #"));
  return command.substr(0, command.find_last_not_of(' ') + 1);
}

std::string replaced(std::string command, std::vector<int>& uses) {
  command += " ";
  const std::vector<Replacement> all = replacements();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t at = command.find(all[i].shown);
    if (at == std::string::npos) continue;
    command.replace(at, all[i].shown.size(), all[i].run);
    ++uses[i];
  }
  return command;
}

/// Puts the examples that the documents show, and the models and files that they read, where the commands look for
/// them. Returns the commands that cannot be run here, without their arguments.
std::set<std::string> set_up_examples(const test::Workplace& here) {
  struct Shown {
    std::string name;
    std::vector<std::pair<std::string, std::string>> files;  // as shown; in the folder of models
  };
  const Shown all[] = {
      {"faces", {{"ultraface-RFB-320.onnx", "ultraface-RFB-320.onnx"}, {"people.jpg", "data/ultraface_1.jpg"}}},
      {"speech", {{"silero_vad_16k_op15.onnx", "silero_vad_16k_op15.onnx"}, {"speech.wav", "data/silero_test.wav"}}},
      {"denoise", {{"gtcrn_simple.onnx", "gtcrn_simple.onnx"}, {"speech.wav", "data/silero_test.wav"}}},
  };
  const char* folder = std::getenv("MILLRACE_MODELS");
  std::set<std::string> left_out;
  for (const Shown& shown : all) {
    const std::filesystem::path program = std::filesystem::path(MILLRACE_EXAMPLES) / shown.name / shown.name;
    bool is_there = std::filesystem::exists(program) && folder != nullptr;
    for (const auto& [link, file] : shown.files) {
      const std::filesystem::path target = std::filesystem::path(folder != nullptr ? folder : "") / file;
      is_there = is_there && std::filesystem::exists(target);
      if (is_there && !std::filesystem::exists(here.path(link))) {
        std::filesystem::create_symlink(target, here.path(link));
      }
    }
    if (is_there) {
      std::filesystem::create_symlink(program, here.path("bin/" + shown.name));
    } else {
      MESSAGE(shown.name << " is not run: it is not built, or MILLRACE_MODELS names no folder that has its model");
      left_out.insert(shown.name);
    }
  }
  return left_out;
}

TEST_CASE("each command of the documents is run") {
  const test::Workplace here;
  std::filesystem::create_directory(here.path("bin"));
  here.write("bin/millrace", "#!/bin/sh\nexec '" MILLRACE_TOOL "' \"$@\"\n");
  std::filesystem::permissions(here.path("bin/millrace"), std::filesystem::perms::owner_all);
  const std::vector<float> x(80, 2.5f);
  here.write("model.onnx", test::softmax_model());
  REQUIRE(write_npy(here.path("x.npy"), {DType::kF32, {8, 10}}, std::as_bytes(std::span(x))).ok());

  const std::set<std::string> left_out = set_up_examples(here);
  std::vector<int> uses(replacements().size());
  int commands = 0, examples = 0;
  for (const CodeBlock& block : test::read_documents("sh")) {
    for (const std::string& line : test::lines_of(block.text)) {
      const std::string command = replaced(command_of(line), uses);
      if (command.starts_with("scripts/")) {  // these build this test and run it
        CHECK(
            std::filesystem::exists(std::filesystem::path(MILLRACE_SOURCE_DIR) / command.substr(0, command.find(' '))));
        continue;
      }
      INFO(block.place() << ": " << command);
      const std::string program = command.substr(0, command.find(' '));
      if (program != "millrace") {
        ++examples;
        if (left_out.contains(program)) continue;
        REQUIRE_MESSAGE(std::filesystem::exists(here.path("bin/" + program)), "no program of set_up_examples()");
      }
      const test::ToolRun run =
          here.run_command("TMPDIR=. BENCHMARK_MIN_TIME=0.001 XDG_CACHE_HOME='" + test::Workplace::kernels() +
                           "' PATH=\"$PWD/bin:$PATH\"; export "
                           "TMPDIR BENCHMARK_MIN_TIME XDG_CACHE_HOME PATH; " +
                           command);
      CHECK_MESSAGE(run.exit_code == 0, run.error);
      ++commands;
    }
  }
  CHECK(commands > 25);
  CHECK(examples == 3);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    CHECK_MESSAGE(uses[i] > 0, "no document shows '" << replacements()[i].shown << "' any more");
  }
}

TEST_CASE("a comment is not part of a command") {
  CHECK(command_of("millrace devices   # what is here") == "millrace devices");
  CHECK(command_of("millrace ops") == "millrace ops");
}

}  // namespace
}  // namespace millrace
