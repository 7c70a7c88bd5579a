#!/bin/sh
# SPDX-License-Identifier: MIT
# lua/lint.lua refuses what it says it refuses, and takes the nearest other file.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
lint() { lua5.4 "$TOP/lua/lint.lua" "$T/x.lua" >"$T/out" 2>"$T/why"; }
takes() { # NAME, file on standard input
	cat >"$T/x.lua"
	lint
	ok "$1" $?
}
refuses() { # NAME TEXT, file on standard input
	cat >"$T/x.lua"
	! lint && grep -qF "$2" "$T/why"
	ok "$1" $?
}
command -v luac5.4 >/dev/null || skip_all "the lint of Lua" "no luac5.4"
line() { printf 'local t = "%*s"\n' "$1" x; }
line 88 | takes "a line of 100 columns"
line 89 | refuses "a line of 101" "x.lua:1: 101 columns, 100 allowed"
printf '\tlocal t = "%*s"\n' 81 x | refuses "a tab is up to 8 columns" "101 columns"
echo "---@field x $(line 100)" | takes "a long annotation"
seq -f '-- %g' 800 | takes "a file of 800 lines"
seq -f '-- %g' 801 | refuses "a file of 801" "801 lines, 800 allowed"
echo 'local function f() return print end return f' | takes "a global of Lua"
echo 'return prin' | refuses "one that Lua does not have" "reads the global prin"
echo 'x = 1' | refuses "an assigned global" "assigns the global x"
echo 'return return' | refuses "no Lua" "x.lua:1:"
mkdir -p "$T/lua/ncclbpf/low" "$T/lua/ncclbpf/high"
printf 'low:\nhigh: low\n' >"$T/lua/rooms.txt"
rooms() { lua5.4 "$TOP/lua/lint.lua" "$T"/lua/ncclbpf/*/*.lua >"$T/out" 2>"$T/why"; }
echo 'return require "ncclbpf.low.x"' | tee "$T/lua/ncclbpf/low/y.lua" >"$T/lua/ncclbpf/high/y.lua"
echo 'return require("ncclbpf.core")' >"$T/lua/ncclbpf/low/x.lua"
rooms
ok "a room that requires itself, one below and the C module" $?
echo 'return require("ncclbpf.low.z")' >"$T/lua/ncclbpf/low/x.lua"
! rooms && grep -qF "ncclbpf/low/z.lua, which is not there" "$T/why"
ok "a module that is not there" $?
echo 'return function() return require("ncclbpf.high.y") end' >"$T/lua/ncclbpf/low/x.lua"
! rooms && grep -qF "low/x.lua:1: low may not require high" "$T/why"
ok "one that requires a room above, even late" $?
printf 'low: high\nhigh: low\n' >"$T/lua/rooms.txt"
! rooms && grep -qF "rooms.txt:1: low may require high, which no line above has" "$T/why"
ok "a cycle of rooms" $?
printf 'low:\n' >"$T/lua/rooms.txt"
! rooms && grep -qF "room high has no line" "$T/why"
ok "a room without a line" $?
echo "1..$tests"
[ "$wrong" -eq 0 ]
