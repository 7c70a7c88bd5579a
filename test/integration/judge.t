#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# The judge of rollouts: test/integration/judge.lua has the cases.
. "$TOP/test/integration/shell_lib.sh"
lua_run "$TOP/test/integration/judge.lua"
rc=$?
rm -rf "$T"
exit $rc
