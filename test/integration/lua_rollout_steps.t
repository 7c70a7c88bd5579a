#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Rollouts from a plain lua5.4: steps, bakes, failures.
SCRIPT=lua_rollout_steps.lua
. "$TOP/test/integration/lua_rollout_lib.sh"
