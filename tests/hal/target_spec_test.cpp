// SPDX-License-Identifier: Apache-2.0
#include "millrace/hal/target_spec.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "hal/feature_sets.h"

namespace millrace {

TEST_CASE("cpu alone is the highest level of the host") {
  REQUIRE(!host_isa_levels().empty());
  const TargetSpec spec = TargetSpec::parse("cpu").value();
  CHECK(spec.family == "cpu");
  CHECK(spec.isa == host_isa_levels().back());
  CHECK(spec.features == host_cpu_features());
  CHECK(spec.tune == host_cpu_tune());
}

TEST_CASE("the tune is a part of a target's text, unless it is generic") {
  const auto parse = [](const char* text) { return TargetSpec::parse(text).value(); };
  CHECK(parse("cpu:avx2").tune == CpuTune::kGeneric);
  CHECK(parse("cpu:avx2,tune=generic").to_text() == "cpu:avx2");
  const TargetSpec tuned = parse("cpu:avx512+vbmi2,tune=intel");
  CHECK(tuned.to_text() == "cpu:avx512+vbmi2,tune=intel");
  CHECK(tuned == TargetSpec{.isa = IsaLevel::kAvx512, .features = {.vbmi2 = true}, .tune = CpuTune::kIntel});
  CHECK(tuned.plain().to_text() == "cpu:avx512");
  CHECK(parse("cpu:tune=host") == parse("cpu"));
  CHECK(parse("cpu:avx2,tune=host").tune == host_cpu_tune());
  CHECK(parse("cpu:tune=generic").isa == host_isa_levels().back());
  CHECK(parse("cpu:avx2").covers(parse("cpu:avx2,tune=intel")));
  CHECK(parse("cpu:avx2,tune=intel").covers(parse("cpu:avx2")));
  const auto error = [](const char* text) { return TargetSpec::parse(text).status().message(); };
  CHECK(error("cpu:avx2,tune=k8") == "target 'cpu:avx2,tune=k8': tune is 'k8', expected generic, intel or host");
  CHECK(error("cpu:tune=") == "target 'cpu:tune=': tune is '', expected generic, intel or host");
  CHECK(error("cpu:avx2,tune=intel,tune=intel") ==
        "target 'cpu:avx2,tune=intel,tune=intel': tune is 'intel,tune=intel', expected generic, intel or host");
}

TEST_CASE("a level stands for its cores with each set of features, and any other target for itself") {
  const auto texts_of = [](const char* text) {
    std::vector<std::string> texts;
    for (const TargetSpec& spec : with_feature_sets(TargetSpec::parse(text).value())) texts.push_back(spec.to_text());
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(texts_of("cpu:avx512") ==
        Texts{"cpu:avx512", "cpu:avx512+vbmi2", "cpu:avx512+vpopcntdq", "cpu:avx512+vbmi2+vpopcntdq"});
  for (const char* one : {"cpu:baseline", "cpu:avx2", "cpu:avx512+vbmi2", "amdgpu:gfx1100", "sim:gfx90a"}) {
    CHECK(texts_of(one) == Texts{one});
  }
}

TEST_CASE("features follow avx512, in a fixed order") {
  const TargetSpec both = TargetSpec::parse("cpu:avx512+vpopcntdq+vbmi2").value();
  CHECK(both.features == CpuFeatures{.vbmi2 = true, .vpopcntdq = true});
  CHECK(both.to_text() == "cpu:avx512+vbmi2+vpopcntdq");
  CHECK(TargetSpec::parse(both.to_text()).value() == both);
  CHECK(both.plain().to_text() == "cpu:avx512");
  const TargetSpec one = TargetSpec::parse("cpu:avx512+vpopcntdq").value();
  CHECK(both.covers(one));
  CHECK(one.covers(one));
  CHECK(!one.covers(both));
  CHECK(one.covers(TargetSpec{.isa = IsaLevel::kAvx2}));
  CHECK(!TargetSpec{.isa = IsaLevel::kAvx512}.covers(one));
  CHECK(!both.covers(TargetSpec{.family = "amdgpu", .gfx = "gfx1100"}));
  const auto error = [](const char* text) { return TargetSpec::parse(text).status().message(); };
  CHECK(error("cpu:avx512+avx10") ==
        "target 'cpu:avx512+avx10': cpu feature 'avx10' is not known; leave it out or say one of: vbmi2, vpopcntdq");
  CHECK(error("cpu:avx512+") ==
        "target 'cpu:avx512+': cpu feature '' is not known; leave it out or say one of: vbmi2, vpopcntdq");
  CHECK(error("cpu:avx2+vbmi2") ==
        "target 'cpu:avx2+vbmi2': level avx2 takes no features, only avx512 does; say cpu:avx2 or "
        "cpu:avx512+vbmi2");
  CHECK(error("cpu:avx2+") ==
        "target 'cpu:avx2+': cpu feature '' is not known; leave it out or say one of: vbmi2, vpopcntdq");
}

TEST_CASE("the levels of the host are baseline and those above it, lowest first, without a gap") {
  const auto levels = host_isa_levels();
  for (std::size_t i = 0; i < levels.size(); ++i) CHECK(static_cast<std::size_t>(levels[i]) == i);
  CHECK(host_isa_levels().data() == levels.data());
}

TEST_CASE("every target's text parses to the target") {
  for (IsaLevel level : {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512}) {
    const TargetSpec spec{.family = "cpu", .isa = level};
    CHECK(spec.to_text() == "cpu:" + std::string(to_text(level)));
    CHECK(TargetSpec::parse(spec.to_text()).value() == spec);
  }
  for (const std::string family : {"amdgpu", "sim"}) {
    for (const GfxTarget& gfx : gfx_targets()) {
      const TargetSpec spec{.family = family, .gfx = std::string(gfx.name)};
      CHECK(spec.to_text() == family + ":" + std::string(gfx.name));
      CHECK(TargetSpec::parse(spec.to_text()).value() == spec);
      CHECK(spec.gfx_target() == &gfx);
    }
  }
}

TEST_CASE("a GPU's threads run in subgroups, a CPU's alone") {
  const auto spec = [](const char* text) { return TargetSpec::parse(text).value(); };
  CHECK(spec("amdgpu:gfx942").subgroup_size() == 64);
  CHECK(spec("amdgpu:gfx1100").subgroup_size() == 32);
  CHECK(spec("cpu:avx512").subgroup_size() == 1);
  CHECK(spec("amdgpu:gfx1100").has_fma());
  CHECK(spec("amdgpu:gfx1100").vector_bytes() == 16);
}

TEST_CASE("a target is a CPU, or a GPU of the table, or neither") {
  CHECK(TargetSpec{}.is_cpu());
  CHECK(!TargetSpec{}.is_gpu());
  CHECK(!TargetSpec{.family = "cpu", .gfx = "gfx1100"}.is_gpu());
  CHECK(TargetSpec{.family = "amdgpu", .gfx = "gfx1100"}.is_gpu());
  CHECK(!TargetSpec{.family = "amdgpu", .gfx = "gfx1100"}.is_cpu());
  CHECK(!TargetSpec{.family = "amdgpu"}.is_gpu());
  CHECK(!TargetSpec{.family = "amdgpu", .gfx = "gfx803"}.is_gpu());
  CHECK(TargetSpec{.family = "amdgpu"}.subgroup_size() == 1);
}

TEST_CASE("a simulated GPU is a GPU of the table too") {
  const TargetSpec sim{.family = "sim", .gfx = "gfx90a"};
  CHECK(sim.is_simulated());
  CHECK(sim.is_gpu());
  CHECK(!sim.is_cpu());
  CHECK(sim.subgroup_size() == 64);
  CHECK(!TargetSpec{}.is_simulated());
  CHECK(!TargetSpec{.family = "amdgpu", .gfx = "gfx90a"}.is_simulated());
}

TEST_CASE("a target of another family prints its family alone") {
  CHECK(TargetSpec{.family = "amdgpu"}.to_text() == "amdgpu");
}

TEST_CASE("vector registers follow the level") {
  const auto spec = [](IsaLevel level) { return TargetSpec{.family = "cpu", .isa = level}; };
  CHECK(spec(IsaLevel::kBaseline).vector_bytes() == 16);
  CHECK(spec(IsaLevel::kAvx2).vector_bytes() == 32);
  CHECK(spec(IsaLevel::kAvx512).vector_bytes() == 64);
  CHECK(spec(IsaLevel::kAvx2).num_vector_registers() == 16);
  CHECK(spec(IsaLevel::kAvx512).num_vector_registers() == 32);
  CHECK(!spec(IsaLevel::kBaseline).has_fma());
  CHECK(spec(IsaLevel::kAvx2).has_fma());
}

TEST_CASE("text that names no target is refused, with the unknown part and the known names") {
  struct Case {
    std::string text;
    std::string message;
    StatusCode code = StatusCode::kInvalidArgument;
  };
  const auto family = [](const std::string& text, const std::string& name) {
    return Case{text,
                "target '" + text + "': family '" + name +
                    "' is not known, expected one of: cpu, amdgpu, sim; say cpu for the host",
                StatusCode::kNotFound};
  };
  const auto level = [](const std::string& text, const std::string& name) {
    return Case{text, "target '" + text + "': cpu level '" + name +
                          "' is not known, expected baseline, avx2 or avx512; say cpu for the host's best"};
  };
  const auto gfx = [](const std::string& text, const std::string& name) {
    return Case{text, "target '" + text + "': gfx target '" + name +
                          "' is not known, expected one of: gfx90a, gfx942, gfx1030, gfx1100, gfx1151, gfx1201"};
  };
  const Case cases[] = {family("", ""),
                        family("local", "local"),
                        family("cuda", "cuda"),
                        family("CPU", "CPU"),
                        family(" cpu", " cpu"),
                        family(":", ""),
                        family("cpus", "cpus"),
                        family(":avx2", ""),
                        family("AMDGPU:gfx1100", "AMDGPU"),
                        {"amdgpu",
                         "target 'amdgpu': no GPU is named, expected one of: gfx90a, gfx942, gfx1030, gfx1100, "
                         "gfx1151, gfx1201; say amdgpu:gfx90a"},
                        {"sim",
                         "target 'sim': no GPU is named, expected one of: gfx90a, gfx942, gfx1030, gfx1100, "
                         "gfx1151, gfx1201; say sim:gfx90a"},
                        gfx("sim:", ""),
                        gfx("sim:gfx1101", "gfx1101"),
                        gfx("amdgpu:", ""),
                        gfx("amdgpu:gfx9", "gfx9"),
                        gfx("amdgpu:gfx11000", "gfx11000"),
                        gfx("amdgpu:GFX1100", "GFX1100"),
                        gfx("amdgpu:gfx1100:gfx1201", "gfx1100:gfx1201"),
                        level("cpu:", ""),
                        level("cpu:avx9", "avx9"),
                        level("cpu:AVX2", "AVX2"),
                        level("cpu:avx2 ", "avx2 "),
                        level("cpu:avx2:avx512", "avx2:avx512")};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const Result<TargetSpec> spec = TargetSpec::parse(c.text);
    REQUIRE(!spec.ok());
    CHECK(spec.status().code() == c.code);
    CHECK(spec.status().message() == c.message);
  }
}

}  // namespace millrace
