// SPDX-License-Identifier: Apache-2.0
#include "tests/hip_standin/application.h"

#include <map>

#include <fmt/format.h>

#include "millrace/jit/code_object.h"
#include "millrace/jit/kernel_compiler.h"
#include "millrace/jit/machine_builder.h"

namespace millrace::hip_standin {
namespace {

MachineKernel store_kernel(std::uint32_t subgroup_size) {
  MachineBuilder b("store");
  b.set_workgroup(subgroup_size, subgroup_size);
  const MemoryHandle y = b.buffer("y", DType::kU32, BufferAccess::kWrite);
  const MachineValue value = b.convert(DType::kU32, b.size(Dim("value"))),
                     num_iterations = b.size(Dim("num_iterations"));
  const MachineValue result =
      b.for_loop(b.i64(0), num_iterations, b.i64(1), {value}, [&](MachineValue, const MachineBuilder::Values& carried) {
        const MachineValue three = b.convert(DType::kU32, b.i32(3)), one = b.convert(DType::kU32, b.i32(1));
        return MachineBuilder::Values{b.mul_add(carried[0], three, one)};
      })[0];
  b.if_else(
      b.eq(b.thread_id(), b.i32(0)),
      [&] {
        b.store(y, b.workgroup_id(), result);
        return MachineBuilder::Values{};
      },
      [] { return MachineBuilder::Values{}; });
  return b.finish();
}

}  // namespace

std::string address_text(const void* address) { return fmt::format("{:#x}", reinterpret_cast<std::uint64_t>(address)); }

StoreObject make_store_object(const char* target_text, bool is_linked) {
  const TargetSpec target = TargetSpec::parse(target_text).value();
  const auto generator = make_llvm_generator();
  const PlannedKernel planned = generator->plan(store_kernel(target.subgroup_size()), target).value();
  const ExecutableImage image = generator->emit(planned, target).value();
  StoreObject object{.bytes = {}, .symbol = image.symbol, .workgroup_size = image.info.workgroup_size};
  object.bytes =
      is_linked ? link_images({&image, 1}).value() : std::vector<std::byte>(image.bytes.begin(), image.bytes.end());
  return object;
}

StoreKernel load_store(Application& app, const char* target) {
  static std::map<std::string, StoreObject> objects;
  StoreObject& object = objects[target];
  if (object.bytes.empty()) object = make_store_object(target);
  StoreKernel kernel{.workgroup_size = object.workgroup_size};
  REQUIRE(app.hip.hipModuleLoadData(&kernel.module, object.bytes.data()) == hip::Error::kSuccess);
  REQUIRE(app.hip.hipModuleGetFunction(&kernel.function, kernel.module, object.symbol.c_str()) == hip::Error::kSuccess);
  return kernel;
}

hip::Error launch(Application& app, const StoreKernel& kernel, StoreLaunch of, hip::Stream stream) {
  void* parameters[] = {&of.status, &of.y, &of.value, &of.num_iterations};
  return app.hip.hipModuleLaunchKernel(kernel.function, of.num_groups, 1, 1, kernel.workgroup_size, 1, 1, 0, stream,
                                       parameters, nullptr);
}

}  // namespace millrace::hip_standin
