// SPDX-License-Identifier: Apache-2.0
// What drivers list and open, and how they refuse unknown words and options.
#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/hal/device.h"
#include "millrace/hal/sim_device.h"
#include "millrace/isa/driver.h"

namespace millrace {
namespace {

Result<std::shared_ptr<Device>> open(const Driver& driver, const std::string& text) {
  return driver.open(DeviceSpec::parse(text).value());
}

std::string error(const Driver& driver, const std::string& text) { return open(driver, text).status().message(); }

}  // namespace

TEST_CASE("drivers are available, and list devices that their names open") {
  for (const Driver& driver : {cpu_driver(), sim_driver()}) {
    CAPTURE(driver.name);
    CHECK(driver.available().ok());
    const std::vector<DeviceInfo> devices = driver.enumerate().value();
    CHECK(!devices.empty());
    for (const DeviceInfo& info : devices) {
      CHECK(DeviceSpec::parse(info.name).value().driver == driver.name);
      CHECK(open(driver, info.name).value()->info() == info);
    }
  }
}

TEST_CASE("the cpu driver lists this host, with every level that it executes") {
  const std::vector<DeviceInfo> devices = cpu_driver().enumerate().value();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].name == "cpu");
  CHECK(devices[0].memory_bytes > 0);
  CHECK(devices[0].targets.size() == host_isa_levels().size() + (host_cpu_features().any() ? 1 : 0));
  CHECK(devices[0].targets.front().isa == host_isa_levels().back());
  CHECK(devices[0].addresses_host_memory);
  CHECK(devices[0].is_synchronous);
}

TEST_CASE("the sim driver lists every GPU of the table") {
  const std::vector<DeviceInfo> devices = sim_driver().enumerate().value();
  REQUIRE(devices.size() == gfx_targets().size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    CHECK(devices[i].name == "sim:" + std::string(gfx_targets()[i].name));
    CHECK(devices[i].targets.size() == 1);
  }
}

TEST_CASE("a level in a cpu spec is the best whose code the device runs") {
  for (const IsaLevel level : host_isa_levels()) {
    const auto device = open(cpu_driver(), "cpu:" + std::string(to_text(level))).value();
    CHECK(device->targets().front().isa == level);
    CHECK(device->targets().size() == static_cast<std::size_t>(level) + 1);
  }
}

TEST_CASE("the cpu driver takes one level, threads, and whether they are pinned") {
  const Driver driver = cpu_driver();
  for (const std::string text : {"cpu:threads=1", "cpu:threads=2,baseline", "cpu:baseline,pinned=on", "cpu:pinned=off",
                                 "cpu:threads=1,pinned=on"}) {
    CHECK(open(driver, text).status().message() == "");
  }
  CHECK(error(driver, "cpu:seed=4") ==
        "device 'cpu:seed=4': option 'seed' is not known; cpu takes a level (baseline, avx2, avx512 or "
        "avx512+FEATURE), tune, threads, pinned and symbols");
  for (const std::string threads : {"0", "", "x", "-1", "4x", "1025", "99999999999", "Cores"}) {
    CHECK(error(driver, "cpu:threads=" + threads) ==
          "device 'cpu:threads=" + threads + "': threads is '" + threads + "', expected a number from 1 to 1024");
  }
  CHECK(error(driver, "cpu:pinned=1") == "device 'cpu:pinned=1': pinned is '1', expected on or off");
  CHECK(error(driver, "cpu:avx2,baseline") ==
        "device 'cpu:avx2,baseline': 'baseline' after level 'avx2', expected one level");
  CHECK(error(driver, "cpu:avx512,vbmi2") ==
        "device 'cpu:avx512,vbmi2': 'vbmi2' after level 'avx512', expected one level; join it with + if it is a "
        "feature");
  CHECK(error(driver, "cpu:avx9") ==
        "device 'cpu:avx9': target 'cpu:avx9': cpu level 'avx9' is not known, expected baseline, avx2 or avx512; say "
        "cpu for the host's best");
  CHECK(error(driver, "cpu:avx9,threads=2") ==
        "device 'cpu:avx9,threads=2': target 'cpu:avx9': cpu level 'avx9' is not known, expected baseline, avx2 or "
        "avx512; say cpu for the host's best");
  CHECK(open(driver, "cpu:threads=0").status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("the sim driver takes a GPU and a seed") {
  const Driver driver = sim_driver();
  for (const std::string text : {"sim:gfx1100,seed=3", "sim:seed=18446744073709551615,gfx90a", "sim:gfx942"}) {
    CHECK(open(driver, text).status().message() == "");
  }
  CHECK(error(driver, "sim:gfx1100,order=3") ==
        "device 'sim:gfx1100,order=3': option 'order' is not known; sim takes seed");
  for (const std::string seed : {"", "x", "3x", "-1", "18446744073709551616", " 3"}) {
    CHECK(error(driver, "sim:gfx1100,seed=" + seed) ==
          "device 'sim:gfx1100,seed=" + seed + "': seed is '" + seed + "', expected a number, 0 or more");
  }
}

TEST_CASE("an unknown simulated GPU is refused, and the message lists the known ones") {
  std::string known;
  for (const GfxTarget& target : gfx_targets()) known += (known.empty() ? "" : ", ") + std::string(target.name);
  CHECK(error(sim_driver(), "sim:gfx906") ==
        "device 'sim:gfx906': target 'sim:gfx906': gfx target 'gfx906' is not known, expected one of: " + known);
}

TEST_CASE("a seed changes the order of groups, not the device's name or target") {
  const auto plain = open_sim_device(DeviceSpec::parse("sim:gfx1100").value()).value();
  const auto shuffled = open_sim_device(DeviceSpec::parse("sim:gfx1100,seed=5").value()).value();
  CHECK(plain->name() == shuffled->name());
  CHECK(std::ranges::equal(plain->targets(), shuffled->targets()));
}

TEST_CASE("the isa driver lists every GPU of the table, and their names open them") {
  const Driver driver = isa_driver();
  const std::vector<DeviceInfo> devices = driver.enumerate().value();
  REQUIRE(devices.size() == gfx_targets().size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string gfx(gfx_targets()[i].name);
    CHECK(devices[i].name == "isa:" + gfx);
    CHECK(devices[i].description == "a " + gfx + " whose machine code is executed in this host's memory");
    REQUIRE(devices[i].targets.size() == 1);
    CHECK(devices[i].targets[0].to_text() == "amdgpu:" + gfx);
    CHECK(open(driver, devices[i].name).value()->info() == devices[i]);
  }
}

TEST_CASE("the isa driver takes a GPU, a seed and whether it checks") {
  const Driver driver = isa_driver();
  for (const std::string text : {"isa:gfx1100,seed=3", "isa:gfx90a,checks=off", "isa:checks=on,seed=0,gfx942"}) {
    CHECK(open(driver, text).status().message() == "");
  }
  CHECK(error(driver, "isa:gfx1100,order=3") ==
        "device 'isa:gfx1100,order=3': option 'order' is not known; isa takes seed and checks");
  CHECK(error(driver, "isa:gfx1100,seed=x") ==
        "device 'isa:gfx1100,seed=x': seed is 'x', expected a number, 0 or more");
  CHECK(error(driver, "isa:gfx1100,checks=no") == "device 'isa:gfx1100,checks=no': checks is 'no', expected on or off");
  CHECK(error(driver, "isa:gfx1100,checks=") == "device 'isa:gfx1100,checks=': checks is '', expected on or off");
  std::string known;
  for (const GfxTarget& target : gfx_targets()) known += (known.empty() ? "" : ", ") + std::string(target.name);
  CHECK(error(driver, "isa:gfx906") ==
        "device 'isa:gfx906': target 'amdgpu:gfx906': gfx target 'gfx906' is not known, expected one of: " + known);
  CHECK(error(driver, "isa") == "device 'isa': no GPU is named, expected one of: " + known + "; say isa:gfx90a");
}

}  // namespace millrace
