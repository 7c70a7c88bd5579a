#!/bin/sh
# SPDX-License-Identifier: MIT
# The judge of rollouts: test/script/judge.lua has the cases.
. "$TOP/test/script/shell_lib.sh"
lua_run "$TOP/test/script/judge.lua"
rc=$?
rm -rf "$T"
exit $rc
