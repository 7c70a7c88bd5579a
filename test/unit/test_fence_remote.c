// SPDX-License-Identifier: MIT
// The tests of test_fence.c with the record in a store beyond this host's
// segment: late, and with messages that are lost.
#define FENCE_REMOTE
#include "test/unit/test_fence.c" // NOLINT(bugprone-suspicious-include)
