#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 300
# The shell's connections to processes that answer with long replies, close a connection, or read
# nothing. slow_client.py plays the processes.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT

timeout "$HANG" python3 "$TOP/test/integration/slow_client.py" "$T" &
jobs="$jobs $!"
await test -e "$T/ready"
need "two processes" $?
lua_suite slow_client.lua
