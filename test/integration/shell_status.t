#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The exit statuses of docs/shell.md, one by one.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
P=$B/policies/force.bpf.o
R=$B/test/corpus/shell/refused.bpf.o

status 0 "0: done" list
status 0 "0: verdict good" policy verify "$P"
status 1 "1: a script raised" -e 'error "no"'
status 1 "1: a script raised something odd" -e 'error {}'
status 2 "2: verdict bad" policy verify "$R"
status 2 "2: also with -q" -q policy verify "$R"
status 2 "2: also as JSON" -o json policy verify "$R"
status 64 "64: unknown option" --nosuch
status 64 "64: option without its value" list -o
status 64 "64: unknown format" list -o yaml
status 64 "64: unknown command" frobnicate
status 64 "64: unknown verb" policy frobnicate
status 64 "64: too few words" policy verify
status 64 "64: too many words" detach now
status 64 "64: unknown word=value" map dump x depth=3
status 64 "64: prefixes are for people" pol verify "$P"
status 64 "64: bad time-out" -T soon list
status 64 "64: bad ranks" -r 3-1 list
status 64 "64: bad process" -p zero status
echo text >t.bpf.o
status 65 "65: malformed object" policy verify t.bpf.o
status 65 "65: Lua syntax" -e 'x = = 3'
echo 'x = = 3' >bad.lua
status 65 "65: Lua syntax in a file" -f bad.lua
status 66 "66: file not there" policy verify none.bpf.o
status 66 "66: script not there" -f none.lua
status 66 "66: a folder is no file" policy verify /
status 69 "69: no target" status
status 69 "69: no such process" -p 999999 status
status 69 "69: no such socket" -S "$T/none.sock" status
status 73 "73: cannot create" policy build "$P" out=/nonexistent/p
timeout 300 "$S" list >/dev/full 2>/dev/null
[ $? -eq 74 ]
ok "74: standard output is full" $?
"$B/test/fakes/terminal/fake" mute "$T/mute.sock" >"$T/fake.out" &
jobs="$jobs $!"
"$B/test/fakes/terminal/fake" version "$T/version.sock" >"$T/fake2.out" &
jobs="$jobs $!"
await grep -q ready "$T/fake.out"
await grep -q ready "$T/fake2.out"
status 75 "75: nobody answers" -T 0.3 -S "$T/mute.sock" status
ends 76 version_mismatch "76: another version" -S "$T/version.sock" status
status 77 "77: a role that may not" --role=observe policy use x
chmod 755 "$T/s"
status 77 "77: an unsafe socket directory" status
chmod 700 "$T/s"
ln -s "$T/s" "$T/link"
NCCLBPF_SOCKET_DIR=$T/link status 77 "77: a socket directory that is a link" status
# stopped SIGNAL CODE: the status of a shell that gets the signal when CODE runs
stopped() {
	rm -f "$T/up"
	env --default-signal=INT "$S" -e "io.open('$T/up', 'w'):close() $2" 2>"$T/err" &
	await test -e "$T/up"
	kill -s "$1" $!
	wait $!
}
stopped INT 'while true do pcall(function() while true do end end) end'
[ $? -eq 130 ]
ok "130: interrupted, though the script catches errors" $?
stopped INT 'nb.sleep(600)'
[ $? -eq 130 ]
ok "130: interrupted while it waits" $?
stopped TERM 'nb.sleep(600)'
[ $? -eq 143 ]
ok "143: terminated" $?

# standard input and scripts
printf 'list\nnosuch\nlist\n' | timeout 300 "$S" -q >"$T/out" 2>"$T/err"
[ $? -eq 64 ] || [ $? -eq 65 ]
ok "standard input stops at the first failure" $?
printf 'policy verify %s\nlist\n' "$R" | timeout 300 "$S" -o json >"$T/out" 2>"$T/err"
[ $? -eq 2 ] && [ "$(wc -l <"$T/out")" -eq 1 ]
ok "and its status is the failure's" $?
printf 'policy verify %s\nlist\n' "$R" | timeout 300 "$S" --keep-going -o json >"$T/out" 2>"$T/err"
[ $? -eq 2 ] && [ "$(wc -l <"$T/out")" -eq 2 ]
ok "--keep-going goes on and returns the worst" $?
printf 'for i = 1, 2 do\nprint(i)\nend\n' | timeout 300 "$S" >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && [ "$(cat "$T/out")" = "1
2" ]
ok "a chunk over several lines" $?
printf 'for i = 1, 2 do\n' | timeout 300 "$S" >"$T/out" 2>"$T/err"
[ $? -eq 65 ]
ok "a chunk that never ends is malformed" $?
printf ':list\n= 1 + 1\n# a remark\nlist = 5\nprint(list)\n' |
	timeout 300 "$S" -q >"$T/out" 2>"$T/err"
[ $? -eq 0 ] && [ "$(tail -2 "$T/out")" = "2
5" ]
ok "colon, equals, remarks, and an assignment to a noun's name" $?
cat >arg.lua <<'END'
assert(arg[1] == "one" and arg[2] == "-x" and select("#", ...) == 2)
return 7
END
status 7 "-f FILE: words in arg, an integer is the status" -f arg.lua one -x
status 1 "an error value keeps its code: not_found" -e '
	assert(nil, require("ncclbpf.base.errors").new("not_found", "gone"))
'
has "and its text" err "gone"
