#!/bin/sh
# SPDX-License-Identifier: MIT
# What a script in the shell may not do: take memory without bound, load
# bytecode, start programs, load machine code, swallow a Ctrl-C.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

status 1 "a script that grows without bound fails" -e 'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end'
has "with Lua's error" err "not enough memory"
status 1 "one large string" -e 'return #("x"):rep(1 << 40)'
status 0 "what a script catches, it may go on after" -e 'print(pcall(string.rep, "x", 1 << 30))'
status 0 "16 MiB are fine" -e 'return #("x"):rep(16 << 20)'
/usr/bin/luac5.4 -o bytecode.luac - 2>/dev/null <<'END' || printf '\033Lua' >bytecode.luac
return 1
END
status 65 "bytecode is refused: -f" -f bytecode.luac
status 0 "bytecode is refused: load" -e 'assert(not load(string.dump(function() end)))'
status 0 "bytecode is refused: load with a mode that allows it" -e 'assert(not load(string.dump(function() end), "x", "b"))'
status 0 "bytecode is refused: loadfile, dofile" -e 'assert(not loadfile "bytecode.luac" and not pcall(dofile, "bytecode.luac"))'
status 0 "no programs, no machine code" -e 'assert(not os.execute and not io.popen and not package.loadlib)'
status 1 "no C modules" -e 'package.cpath = "'"$B"'/lua/?.so" require "ncclbpf.nosuch"'
status 0 "--unsafe gives them" --unsafe -e 'assert(os.execute and io.popen and package.loadlib)'
status 0 "the hook of Ctrl-C stays the shell's" -e 'assert(not debug.sethook)'
timeout --preserve-status -s INT 0.5 "$S" -e 'for i = 1, math.huge do pcall(function() for j = 1, math.huge do end end) end' 2>"$T/err"
[ $? -eq 130 ]
ok "a swallowed Ctrl-C comes back" $?
timeout --preserve-status -s INT 0.5 "$S" -e 'while true do nb.run "list" end' 2>"$T/err"
[ $? -eq 130 ]
ok "also between commands" $?
status 1 "endless recursion" -e 'local function f() return 1 + f() end f()'
status 0 "the module is there without require" -e 'assert(nb == require "ncclbpf")'
