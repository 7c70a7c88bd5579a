#!/bin/sh
# SPDX-License-Identifier: MIT
# flaky.sh BUILD TIER RUNS LOAD: run all suites of TIER RUNS times beside LOAD busy processes and
# print counts and times of each run; status 1 if a run failed. Its logs: BUILD/test/flaky/.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
build=$1 tier=$2 runs=$3 load=$4
logs=$build/test/flaky
rm -rf "$logs" && mkdir -p "$logs" || exit 73
busy=
i=0
while [ $i -lt "$load" ]; do
	i=$((i + 1))
	# Each in a session of its own: Linux gives a session, not a process, its share.
	setsid sh -c 'while :; do :; done' &
	busy="$busy $!"
done
trap 'kill $busy 2>/dev/null' EXIT
trap 'exit 130' INT TERM
bad=0 i=0
while [ $i -lt "$runs" ]; do
	i=$((i + 1))
	"$TOP/test/run" -b "$build" -t "$tier" -a >"$logs/$i.log" 2>&1 || bad=$((bad + 1))
	printf 'run %d: %s; %s\n' "$i" "$(tail -1 "$logs/$i.log")" \
		"$(grep ' suites, .* s, processors' "$logs/$i.log")"
	sed -n 's/^FAIL \([^ ]*\).*/    failed: \1/p' "$logs/$i.log"
done
echo "$((runs - bad)) of $runs runs passed beside $load busy processes"
[ $bad -eq 0 ]
