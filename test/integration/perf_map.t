#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# perf names machine code: the functions that samples fall into.
set -u
n=0 failed=0
say() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - perf map: $2"
	else
		failed=1
		echo "not ok $n - perf map: $2"
		sed 's/^/# /' "$dir/log"
	fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - perf map: $1 # SKIP $2"
}
# The map file is for perf, which may come later: nobody else removes it.
forget() {
	pid=$(sed -n 's/^pid \([0-9]*\)$/\1/p' "$1")
	[ -n "$pid" ] && rm -f "/tmp/perf-$pid.map"
}
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
program=$B/test/unit/test_perf_map
if "$program" 2>&1 | grep -q 'SKIP'; then
	skip "names of machine code" "no compiler for this machine"
	echo "1..$n"
	exit 0
fi

# perf makes no file if it may not measure
if ! command -v perf >/dev/null; then
	skip "perf" "no perf"
elif ! PERF_RUN=3000000 perf record -q -e cpu-clock -o "$dir/data" \
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
