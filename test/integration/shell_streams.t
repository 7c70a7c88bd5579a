#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The shell's standard streams as others leave them: closed, a folder, with lines that end in CR LF;
# and what it says of a script whose calls never end.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
said() { # STATUS NAME TEXT: the last command's status, and a text on standard error
	rc=$?
	{
		echo "status $rc"
		cat err
	} >why
	[ $rc -eq "$1" ] && grep -qF -e "$3" err && ! grep -q internal err
	ok "$2" $?
}

"$S" <&- 2>err >out
said 66 "no standard input" "ncclbpf-shell: standard input: Bad file descriptor"
has "says what to do" err "hint: give a command: ncclbpf-shell list"
"$S" </ 2>err >out
said 66 "a folder as standard input" "ncclbpf-shell: standard input: Is a directory"
"$S" -e 'return 1' <&- 2>err >out
[ $? -eq 0 ] && [ "$(cat out)" = 1 ]
ok "what reads none does not need it" $?
"$S" -e 'return 1' >&- 2>err
said 74 "no standard output" "ncclbpf-shell: standard output: Bad file descriptor"
"$S" -o json policy verify nothing.policy >&- 2>err
said 74 "nor for an error in JSON" "ncclbpf-shell: standard output: Bad file descriptor"
"$S" -e 'io.stderr:write "x"' 2>&- >out
ok "no standard error" $?

printf 'timing on\r\n\r\nlocal x = [[a\r\nb]]\r\nprint(#x)\r\n# a comment\r\nprint "end"\r\n' >crlf
sed -i 's/^local //' crlf
"$S" <crlf >out 2>err
rc=$?
cat out err >why
[ $rc -eq 0 ] && grep -q 'timing is on' out && grep -qx 3 out && grep -qx end out
ok "commands and Lua with CR LF" $?
printf 'polcy list\r\n' | "$S" >out 2>err
said 64 "an error does not show the CR" "nearest: policy"

status 1 "a script that calls itself without end" -e 'local function f() return 1 + f() end f()'
has "overflows its stack" err "stack overflow"
status 1 "also in a coroutine" -e 'local function f() return 1 + f() end
	local ok, why = coroutine.resume(coroutine.create(f)) error(why, 0)'
has "there, too" err "stack overflow"
status 1 "one that takes memory" -e 'local t = {} for i = 1, 1e9 do t[i] = {} end'
has "is told so" err "not enough memory"
echo 'local function f() return 1 + f() end return f()' >deep.lua
status 1 "a policy's file that calls itself without end" policy verify deep.lua
has "overflows as well" err "stack overflow"
