// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The verifier's numbers at 8 bits: domain_pairs.h says how.
#define NB_DOM_BITS 8
#include "test/unit/domain_tests.h"

DOMAIN_MAIN
