#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# Files of rollouts and sweeps: test/integration/rollout_store.lua has the cases.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
export XDG_STATE_HOME="$T/state"
lua_run "$TOP/test/integration/rollout_store.lua"
