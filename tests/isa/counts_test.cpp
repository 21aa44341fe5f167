// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "millrace/isa/device.h"

namespace millrace {

TEST_CASE("isa counts: a sum adds each count, and the text names each once") {
  IsaCounts counts{.num_groups = 1, .num_waves = 2, .vector_instructions = 3, .waits = 4, .bank_conflicts = 5};
  counts += {.num_groups = 10, .vector_instructions = 20, .scalar_instructions = 30};
  CHECK(counts == IsaCounts{.num_groups = 11,
                            .num_waves = 2,
                            .vector_instructions = 23,
                            .scalar_instructions = 30,
                            .waits = 4,
                            .bank_conflicts = 5});
  CHECK(counts.wave_instructions() == 57);
  CHECK(to_text(counts) ==
        "groups                  11\n"
        "waves                   2\n"
        "vector instructions     23\n"
        "scalar instructions     30\n"
        "scalar loads            0\n"
        "global instructions     0\n"
        "local instructions      0\n"
        "branches                0\n"
        "waits                   4\n"
        "barriers                0\n"
        "other instructions      0\n"
        "lane instructions       0\n"
        "global bytes read       0\n"
        "global bytes written    0\n"
        "local bytes read        0\n"
        "local bytes written     0\n"
        "bank conflicts          5\n");
}

}  // namespace millrace
