#!/bin/bash
# SPDX-License-Identifier: MIT
# stops.sh BUILD RUNS [SEED]: stop `make check` as Ctrl-C does, RUNS times, each time after another
# number of suites; nothing that it has started may be left: no process, mount, socket or file.
# Prints the longest time that a stop took; status 1 if something was left.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
build=$1 runs=$2
RANDOM=${3:-$$}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0 worst=0
# Processes whose environment names this script's folder, which no other has.
ours() {
	grep -lsz "^NB_STOPS=$out\$" /proc/[0-9]*/environ
}
left() { # what, lines
	[ -z "$2" ] && return
	printf '%s left:\n%s\n' "$1" "$2"
	bad=1
}
sort /proc/mounts >"$out/mounts"
for ((i = 1; i <= runs; i++)); do
	after=$((RANDOM % 60)) pause=$((RANDOM % 1000))
	mkfifo "$out/lines"
	NB_STOPS=$out "$TOP/test/run" -b "$build" -a >"$out/lines" 2>&1 &
	run=$!
	exec 3<"$out/lines"
	for ((n = 0; n < after; n++)); do read -r _ <&3 || break; done
	sleep "0.$(printf %03d $pause)"
	began=${EPOCHREALTIME/./}
	kill -INT $run
	cat <&3 >"$out/rest"
	wait $run
	rc=$?
	took=$(((${EPOCHREALTIME/./} - began) / 1000))
	exec 3<&-
	rm "$out/lines"
	[ $took -gt $worst ] && worst=$took
	[ $rc -eq 130 ] || { echo "stop $i: status $rc"; bad=1; }
	left processes "$(for p in $(ours); do tr '\0' ' ' 2>/dev/null <"${p%environ}cmdline" |
		cut -c 1-100; echo; done)"
	left mounts "$(sort /proc/mounts | comm -13 "$out/mounts" -)"
	left sockets "$(grep -o " /tmp/nbt\.$run\..*" /proc/net/unix)"
	left folders "$(find /tmp -maxdepth 1 -name "nbt.$run.*")"
	echo "stop $i after $after lines: $took ms"
done
echo "$runs stops, the longest took $worst ms"
exit $bad
