#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# Rollouts as objects, from a plain lua5.4, and the plan's fields. lua_rollout_steps.t has
# steps and bakes.
SCRIPT=lua_rollout.lua
. "$TOP/test/integration/lua_rollout_lib.sh"
status 0 "the example in steps" rollout plan "$TOP/examples/canary/staged.lua"
has "says how long it takes at least" out \
	"1 communicator, bakes 2m; then 50% of the communicators, bakes 30s; then 100 % of" \
	"at least 1242 collectives"
