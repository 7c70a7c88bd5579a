#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# With small budgets, which programs of a few instructions use up, interpreter and machine code
# stop at the same instruction.
CK_TAP_LOG_FILE_NAME=- exec "$B/test/unit/test_budget_matrix"
