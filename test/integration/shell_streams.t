#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The shell's standard streams as others leave them: closed, a folder, with lines that end in CR LF;
# and what it says of a script whose calls never end.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
said() { # STATUS NAME: the last command's status; standard error has words
	rc=$?
	{
		echo "status $rc"
		cat err
	} >why
	[ $rc -eq "$1" ] && [ -s err ] && ! grep -q internal err
	ok "$2" $?
}

"$S" <&- 2>err >out
said 66 "no standard input"
"$S" </ 2>err >out
said 66 "a folder as standard input"
"$S" -e 'return 1' <&- 2>err >out
[ $? -eq 0 ] && [ "$(cat out)" = 1 ]
ok "what reads none does not need it" $?
"$S" -e 'return 1' >&- 2>err
said 74 "no standard output"
"$S" -o json policy verify nothing.policy >&- 2>err
said 74 "nor for an error in JSON"
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
said 64 "a misspelt command"
! grep -q "$(printf '\r')" err
ok "whose error does not show the CR" $?

ends 1 script_failed "a script that calls itself without end" -e \
	'local function f() return 1 + f() end f()'
ends 1 script_failed "also in a coroutine" -e 'local function f() return 1 + f() end
	local ok, why = coroutine.resume(coroutine.create(f)) error(why, 0)'
ends 1 script_failed "one that takes memory" -e 'local t = {} for i = 1, 1e9 do t[i] = {} end'
echo 'local function f() return 1 + f() end return f()' >deep.lua
ends 1 script_failed "a policy's file that calls itself without end" policy verify deep.lua
