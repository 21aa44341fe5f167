// SPDX-License-Identifier: Apache-2.0
// Runs a handler in the host's rounding mode that corresponds to MODE.
#include "isa/instructions/float_rows.h"

#include <cfenv>

namespace millrace::isa {

void run_rounding(Handler handler, std::uint8_t round, Wave& wave, const Instruction& instruction) {
  static constexpr int kRounds[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const int before = std::fegetround();
  std::fesetround(kRounds[round & 3]);
  handler(wave, instruction);
  std::fesetround(before);
}

}  // namespace millrace::isa
