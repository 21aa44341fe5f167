// SPDX-License-Identifier: Apache-2.0
// An application that links only the running half: moves bytes to the cpu device and back.
#include <cstdio>
#include <cstring>

#include "millrace/hal/driver.h"
#include "millrace/hal/transfer.h"

int main() {
  using namespace millrace;
  const Result<std::shared_ptr<Device>> device = cpu_driver().open(DeviceSpec::parse("cpu").value());
  if (!device.ok()) return 1;
  const Result<std::shared_ptr<Buffer>> buffer = (*device)->allocate(16);
  if (!buffer.ok()) return 1;
  char sent[16] = "to and fro", back[16] = {};
  if (!upload(**device, **buffer, std::as_bytes(std::span(sent))).ok()) return 1;
  if (!download(**device, **buffer, std::as_writable_bytes(std::span(back))).ok()) return 1;
  std::puts(back);
  return 0;
}
