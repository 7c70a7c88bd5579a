#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Random programs with small budgets stay inside the verifier's states, and ranks agree whatever
# local data spends.
CK_TAP_LOG_FILE_NAME=- exec "$B/test/unit/test_verify_embedding_small"
