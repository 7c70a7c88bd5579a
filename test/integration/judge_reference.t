#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# The judge's test against R's values and published tables.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
lua_run "$TOP/test/integration/judge_reference.lua"
