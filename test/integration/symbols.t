#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# gdb and perf name machine code: a backtrace through a helper, a callback, a
# function and the entry of a program, with source lines; and the functions
# that samples fall into.
set -u
n=0 failed=0
say() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - symbols: $2"
	else
		failed=1
		echo "not ok $n - symbols: $2"
		sed 's/^/# /' "$dir/log"
	fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - symbols: $1 # SKIP $2"
}
# The map file is for perf, which may come later: nobody else removes it.
forget() {
	pid=$(sed -n 's/^pid \([0-9]*\)$/\1/p' "$1")
	[ -n "$pid" ] && rm -f "/tmp/perf-$pid.map"
}
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
program=$B/test/unit/test_symbols
if "$program" 2>&1 | grep -q 'SKIP'; then
	skip "names of machine code" "no compiler for this machine"
	echo "1..$n"
	exit 0
fi

if command -v gdb >/dev/null; then
	SYMBOLS_RUN=1 gdb -nx -batch -ex 'set confirm off' -ex 'set breakpoint pending on' \
		-ex 'set debuginfod enabled off' -ex 'break helper_get_prandom_u32' \
		-ex run -ex bt -ex continue "$program" >"$dir/log" 2>&1
	if grep -qi 'ptrace: Operation not permitted\|Could not trace' "$dir/log"; then
		skip "gdb" "tracing is not permitted"
	else
		has() {
			grep -qE "$1" "$dir/log"
			say $? "$2"
		}
		has '^#0 .*helper_get_prandom_u32' "the helper"
		has '^#1 .*small/choose/g \(\) at policies/other.h:77' "a callback and its line"
		has '^#2 .*small/choose/f \(\) at policies/small.bpf.c:4' "its caller"
		has '^#3 .*small/choose \(\) at policies/small.bpf.c:12' "the entry"
		has '^#[0-9]+ .*run_once' "and who called the program"
	fi
	forget "$dir/log"
else
	skip "gdb" "no gdb"
fi

# perf makes no file if it may not measure
if ! command -v perf >/dev/null; then
	skip "perf" "no perf"
elif ! SYMBOLS_RUN=3000000 perf record -q -e cpu-clock -o "$dir/data" \
	"$program" >"$dir/out" 2>&1; then
	skip "perf" "measuring is not permitted"
else
	perf report -i "$dir/data" --stdio --sort symbol >"$dir/log" 2>&1
	grep -q 'small/choose' "$dir/log"
	say $? "perf's samples are named"
fi
[ -f "$dir/out" ] && forget "$dir/out"
echo "1..$n"
exit $failed
