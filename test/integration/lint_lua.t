#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/lint.lua refuses what it says it refuses, and takes the nearest other file.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
lint() { lua5.4 "$TOP/lint/lint.lua" "$T/x.lua" >"$T/out" 2>"$T/why"; }
takes() { # NAME
	lint
	ok "$1" $?
}
refuses() { # NAME TEXT
	! lint && grep -qF "$2" "$T/why"
	ok "$1" $?
}
command -v luac5.4 >/dev/null || skip_all "the lint of Lua" "no luac5.4"
echo 'local function f() return print end return f' >"$T/x.lua"
takes "a global of Lua"
echo 'return prin' >"$T/x.lua"
refuses "one that Lua does not have" "reads the global prin"
echo 'x = 1' >"$T/x.lua"
refuses "an assigned global" "assigns the global x"
echo 'return return' >"$T/x.lua"
refuses "no Lua" "x.lua:1:"
mkdir -p "$T/lint" "$T/lua/ncclbpf/low" "$T/lua/ncclbpf/high"
printf 'low:\nhigh: low\n' >"$T/lint/rooms.txt"
rooms() { lua5.4 "$TOP/lint/lint.lua" "$T"/lua/ncclbpf/*/*.lua >"$T/out" 2>"$T/why"; }
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
printf 'low: high\nhigh: low\n' >"$T/lint/rooms.txt"
! rooms && grep -qF "rooms.txt:1: low may require high, which no line above has" "$T/why"
ok "a cycle of rooms" $?
printf 'low:\n' >"$T/lint/rooms.txt"
! rooms && grep -qF "room high has no line" "$T/why"
ok "a room without a line" $?
printf 'low:\nbase:\n' >"$T/lint/rooms.txt"
rm -r "$T/lua/ncclbpf/high" "$T/lua/ncclbpf/low/y.lua"
mkdir "$T/lua/ncclbpf/base"
waits() { # LINE: in a module
	echo "local core, clock, attach, timeout = 1, 2, 3, 4 $1" >"$T/lua/ncclbpf/low/x.lua"
	! rooms && grep -qF "low/x.lua:1: " "$T/why" && grep -qF "ncclbpf.base.clock" "$T/why"
	ok "another clock or length: $1" $?
	rm "$T"/lua/ncclbpf/low/*.lua
}
for line in 'return core.mono()' 'core.sleep(clock)' 'return os.time()' 'local LONG_S = 5' \
	'clock.sleep(0.1)' 'return clock.now() + 5' 'return timeout or 5' \
	'return attach(core, 5)'; do
	waits "$line"
done
echo 'return os.time() + 5' >"$T/lua/ncclbpf/base/clock.lua"
echo 'local clock = 1 return os.time { year = 2026 }, clock.now() + clock.times.answer' \
	>"$T/lua/ncclbpf/low/x.lua"
rooms
ok "but the clock itself, and lengths of its table" $?
echo "1..$tests"
[ "$wrong" -eq 0 ]
