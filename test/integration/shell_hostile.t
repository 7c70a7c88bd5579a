#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# A target that answers rubbish, too much, too late or not at all: a clear
# error within the time-out, never a crash, never a hang.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT

try() { # mode, wanted status, text wanted in the error, time-out
	"$B/test/fakes/terminal/fake" "$1" "$T/$1.sock" >"$T/$1.out" &
	fake=$!
	await grep -q ready "$T/$1.out"
	for cmd in "comm list" "map dump x" "policy list" "status" "decision tail" "doctor"; do
		# shellcheck disable=SC2086
		run -T "${4:-20}" -S "$T/$1.sock" -o json $cmd
		[ "$rc" -eq "$2" ] && { [ "$2" -eq 0 ] || grep -qF "$3" "$T/out"; }
		ok "$1: $cmd gives status $2" $?
		lua_run -e 'assert(require "ncclbpf.core".decode(io.read "l"))' <"$T/out" \
			>>"$T/why" 2>&1
		ok "$1: $cmd: and one line of JSON" $?
	done
	kill "$fake" 2>/dev/null
	wait "$fake" 2>/dev/null
}

try garbage 76 protocol
try number 76 protocol
try flood 76 "1048576 bytes"
try deep 76 protocol
try close 69 no_target
try half 69 no_target
try silent 75 timed_out 1
try otherid 75 timed_out 1
try noerror 76 protocol
try badcode 76 protocol

for mode in types escape empty dribble; do
	"$B/test/fakes/terminal/fake" $mode "$T/$mode.sock" >"$T/$mode.out" &
	jobs="$jobs $!"
	await grep -q ready "$T/$mode.out"
	for cmd in "comm list" "map list" "map show x" "map dump x" "map get x 1" "map set x 1 2" \
			"policy list" "policy dump x" "policy use x" "status" \
			"doctor" "decision tail" "trace tail" "change status" "comm show" \
			"explain allreduce 4M"; do
		# shellcheck disable=SC2086
		run -T 2 -S "$T/$mode.sock" -o table $cmd
		[ "$rc" -ne 70 ] && [ "$rc" -lt 128 ] &&
			! grep -q "attempt to\|stack traceback\|\.lua:[0-9]" "$T/err" "$T/out"
		ok "$mode: $cmd survives (status $rc)" $?
	done
done
"$B/test/fakes/terminal/fake" escape "$T/e2.sock" >"$T/e2.out" &
jobs="$jobs $!"
await grep -q ready "$T/e2.out"
run -S "$T/e2.sock" -o table comm list
! grep -q "$(printf '\033')" "$T/out"
ok "control characters of a target never reach the terminal" $?
run -S "$T/e2.sock" -o tsv comm list
! grep -q "$(printf '\033')" "$T/out"
ok "nor a pipe" $?
lua_run -e 'local format, errors = require "ncclbpf.base.format", require "ncclbpf.base.errors"
local bad = "a\u{9b}31m\u{202e}b\u{2066}c\u{85}d\27"
local r = { rows = { { v = bad, l = { bad } } }, columns = { { "v" }, { "l" } }, head = bad,
	foot = { bad } }
local as_table = { format = "table" }
for _, t in ipairs { format.render(r, as_table), format.render({ text = bad }, as_table),
		tostring(errors.new("io", bad)) } do
	assert(t:find("a?31m?b?c?d?", 1, true), t)
	assert(not t:find "[\27\127-\255]", t)
end
assert(errors.tame "é \u{a0}\u{2026} …\n\t" == "é \u{a0}\u{2026} …\n\t")' >"$T/why" 2>&1
ok "nor do control characters beyond ASCII, nor the turning of directions" $?

# a socket with nobody behind it
lua_run -e '
local core = require "ncclbpf.core"
assert(not core.connect("'"$T"'/none", 1))' 2>"$T/why"
ok "connecting to nothing fails" $?
