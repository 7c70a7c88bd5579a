// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The verifier's numbers at 4 bits: domain_pairs.h says how.
#define NB_DOM_BITS 4
#include "test/unit/domain_tests.h"

DOMAIN_MAIN
