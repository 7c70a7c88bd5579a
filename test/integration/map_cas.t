#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Compare-and-swap on the generation: of changes that expect the same one, one
# is made. Clients that add to a value at the same time lose none of it.
. "$TOP/test/integration/control/lib.sh"
SH_OPTIONS='-J t'
export NCCLBPF_SOCKET_DIR="$T/s"
hex() { printf '%02x%02x000000000000' $(($1 % 256)) $(($1 / 256)); }

# race CLIENTS TIMES: each makes so many changes
race() {
	pids=
	for i in $(seq "$1"); do
		timeout 300 "$SH" --no-rc \
			-f "$TOP/test/integration/map_cas.lua" t "$2" "$i" >"$T/client.$i" 2>&1 &
		pids="$pids $!"
	done
	bad=0
	for p in $pids; do wait "$p" || bad=1; done
	cat "$T"/client.* | grep '^made' | sed 's/^/# /' >"$T/clients"
	[ $bad -eq 0 ] || { cat "$T"/client.*; return 1; }
}
unique() { # no generation was made twice
	cat "$T"/client.* | grep '^generation' | sort >"$T/all"
	[ "$(wc -l <"$T/all")" -eq "$1" ] && [ "$(uniq -d "$T/all" | wc -l)" -eq 0 ]
}

# ---- one process: the wire
host --ranks 4 --procs 1 --rate 2000
load choice
ask "policy use choice"
ask "status"
g=$(printf '%s' "$R" | sed 's/.*"generation":\([0-9]*\).*/\1/')
refuses "another generation is expected: refused" stale \
	"map set choice 00000000 $(hex 1) if_generation=$((g + 1))"
says "with what was found and what was expected" \
	"the job has generation $g (allowed: $((g + 1))" '"hint":"a concurrent change'
ask "change status"
says "nothing is left staged" '"staged":null'
refuses "a staged change too" stale \
	"map set choice 00000000 $(hex 1) commit=no if_generation=$((g + 1))"
ask "change status"
says "and not staged" '"staged":null'
ask "map set choice 00000000 $(hex 1) if_generation=$g"
says "the generation that is there: made" '"state":"committed"'
refuses "and so no more" stale "map set choice 00000000 $(hex 2) if_generation=$g"
settle
ask "map set choice 00000000 $(hex 2) commit=no if_generation=$((g + 1))"
D=$(printf '%s' "$R" | sed 's/.*"change":"\([0-9a-f]*\)".*/\1/')
refuses "compared at the commit" stale "change commit $D if_generation=$g"
ask "change commit $D if_generation=$((g + 1))"
says "and made if it is that" '"state":"committed"'
settle
refuses "policy use" stale "policy use none if_generation=$g"
refuses "policy remove" stale "policy remove choice if_generation=$g"
refuses "policy undo" stale "policy undo if_generation=$g"
refuses "no number" bad_argument "policy undo if_generation=last"
load tables
ask "policy use choice tables"
settle
refuses "a local map has no generation" usage \
	"map set hits 00000000 0000000000000000 if_generation=0"

# ---- one process, two clients at once
ask "map set choice 00000000 $(hex 0)"
settle
check "two clients that add 40 each" race 2 40
cat "$T/clients"
ask "map get choice 00000000"
says "nothing is lost" "\"value\":\"$(hex 80)\""
check "each change has a generation of its own" unique 80
stop "clients that add"

# ---- four processes: the shell
host --ranks 4 --procs 4 --rate 2000
check "load" sh_ 0 policy load "$P/choice.policy"
check "policy use expects" sh_ 0 policy use choice if_generation=0
check "policy use expects what is not" sh_ 2 policy use none if_generation=0
check "it says so" grep -q 'the job has generation [0-9]* (allowed: 0' "$T/err"
settle
check "map set expects what is not" sh_ 2 map set choice 0 "hex:$(hex 1)" if_generation=0
check "map load too" eval 'printf "key\tvalue\n0\thex:$(hex 1)\n" >"$T/file" &&
	sh_ 2 map load choice "$T/file" if_generation=0'
check "three clients that add 15 each" race 3 15
cat "$T/clients"
ask "map get choice 00000000"
says "nothing is lost over four processes" "\"value\":\"$(hex 45)\""
check "each change has a generation of its own" unique 45
stop "clients of four processes"
done_testing
