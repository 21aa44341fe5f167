// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/ops/math/atan2.h"
#include "millrace/ops/math/erf.h"
#include "millrace/ops/math/exp.h"
#include "millrace/ops/math/exp2.h"
#include "millrace/ops/math/expm1.h"
#include "millrace/ops/math/log.h"
#include "millrace/ops/math/log1p.h"
#include "millrace/ops/math/log2.h"
#include "millrace/ops/math/pow.h"
#include "millrace/ops/math/sigmoid.h"
#include "millrace/ops/math/sin_cos.h"
#include "millrace/ops/math/softplus.h"
#include "millrace/ops/math/tan.h"
#include "millrace/ops/math/tanh.h"
