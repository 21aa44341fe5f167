// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/erf.h"
#include "millrace/ops/math/exp.h"
#include "millrace/ops/math/log.h"
#include "millrace/ops/math/pow.h"
#include "millrace/ops/math/sigmoid.h"
#include "millrace/ops/math/tanh.h"
