// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "millrace/graph/schedule.h"

namespace millrace {

/// For each kernel that checks indices, by name: the nodes that it may report, as the message of a run names them:
/// "%2 = gather: an index in operand 1, i32[3], is outside of axis 0 of operand 0, f32[5]; give -5 to 4".
std::map<std::string, std::string> describe_index_checks(const DispatchGraph&,
                                                         const std::vector<std::vector<KernelSequence>>& sequences,
                                                         const Schedule&);

}  // namespace millrace
