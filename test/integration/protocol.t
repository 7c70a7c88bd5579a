#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# docs/protocol.md is true: each command is described, each field of a live
# reply stands in the description of its command, and each described field is
# one that the plugin writes.
. "$TOP/test/integration/control/lib.sh"
DOC=$TOP/docs/protocol.md

# Fields of the section of a command: the indented lines behind its heading, and those of another
# section where a line says "(the fields of COMMAND)".
lines_of() { # first words of the heading
	awk -v want="#### \`$1" '
		/^#### / { on = index($0, want) == 1; begun = 0; next }
		on && /^    / { begun = 1; print; next }
		on && begun { exit }' "$DOC"
}
others() { sed -n 's/^    (the fields of \(.*\))$/\1/p'; }
fields() { # first words of the heading
	{
		lines_of "$1"
		lines_of "$1" | others | while read -r section; do lines_of "$section"; done
	} | grep -v '^    (' | grep -oE '\b[a-z][a-z0-9_]*\b' | sort -u
}
# Members of all objects in the reply but those that are named by reasons.
members() {
	printf '%s' "$R" |
		sed -E 's/"(counters|lost|events_lost)":\{[^}]*\}/"\1":0/g; s/^.*"data"://' |
		grep -oE '"[a-z][a-z0-9_]*":' | tr -d '":' | sort -u
}
described() { # section, request
	ask hello\ 1 "$2"
	members >"$T/have"
	fields "$1" >"$T/doc"
	[ -s "$T/have" ] && [ -s "$T/doc" ] || { echo "$R"; return 1; }
	comm -23 "$T/have" "$T/doc" >"$T/left"
	[ ! -s "$T/left" ] || { echo "not described:"; cat "$T/left"; return 1; }
}

words() {
	grep -oE '^CMD\([A-Z_]+, +"[a-z ]+"' "$TOP/core/defs/commands.h" | sed 's/.*"\(.*\)"/\1/'
}
words >"$T/words"
all_described() {
	while read -r w; do
		grep -qF "\`$w" "$DOC" || { echo "no $w"; return 1; }
	done <"$T/words"
}
check "each command is described" all_described

grep -E '^    [a-z]' "$DOC" | grep -vE '^    (request|reply|stream|print|f\.write)' |
	grep -oE '\b[a-z][a-z0-9_]*\b' | sort -u >"$T/every"
{
	cat "$TOP"/plugin/*/*.c "$TOP"/plugin/*/*/*.c "$TOP"/core/job/segment/*.c |
		grep -oE '"[a-z][a-z0-9_]*"' | tr -d '"'
	sed -n 's/^FACT(\(.*\))$/\1/p' "$TOP/core/defs/platform.h"
} | sort -u >"$T/written"
none_left() { comm -23 "$T/every" "$T/written" | grep . && return 1; return 0; }
check "each described field is written by the plugin" none_left

host NCCLBPF_POLICY="$B/policies/size_aware.policy" --ranks 2 --rate 1000
ask hello\ 1 "comm list"
id=$(printf '%s' "$R" | sed 's/.*"comm":"\([0-9a-f]*\)".*/\1/;q')
ask hello\ 1 "policy list"
map=$(ask hello\ 1 "map list"; printf '%s' "$R" | sed -n 's/.*{"map":"\([^"]*\)".*/\1/p')
for c in hello\ 1 "help status" status doctor "policy list" "policy show size_aware" \
		"policy dump size_aware" "policy time off" "policy history" "map list" "comm list" \
		"comm show $id" "check agreement comm=$id" "explain allreduce 1M" "decision tail" \
		"env list" net "telemetry on" stats "sample tail" "trace status" "trace read" \
		"trace tail" "controller status" "change status"; do
	section=$(printf '%s' "$c" |
		sed -E -e "s/ ($id|size_aware|allreduce.*|comm=.*|on|off|status\$)//" \
			-e 's/^(change|controller|trace)$/& status/; s/^help.*/help/')
	check "$c: its fields are described" described "$section" "$c"
done
[ -n "$map" ] && for c in show dump; do
	check "map $c: its fields are described" described "map $c" "map $c $map"
done
check "policy use: its fields are described" described "change commit" "policy use none"
stop "protocol"
done_testing
