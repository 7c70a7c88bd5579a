#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [DOC]: every benchmark of a release build; the rows that have a
# budget, and a few that are there to be seen, as one table. With DOC the table
# goes between the marks of that file as well.
#
#   BENCH_DETAILS=1        print what each benchmark has besides
#   BENCH_PEER=so[:so]...  other tuners (v5) and profilers (v1 to v6) beside ours
#
# Fails where a row is far over its budget (table.awk says how far): then
# something is broken. A benchmark with such a row is run again, twice at most,
# and the least of what was measured counts: a busy machine is no broken build.
set -eu
B=$1
DOC=${2:-}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
export BENCH_ROWS="$T/rows"
: >"$BENCH_ROWS"

run() {
	: >"$T/one"
	BENCH_ROWS="$T/one" run_once "$@"
	for again in 1 2; do
		awk -v names=1 -f test/bench/table.awk "$T/one" >"$T/names" && break
		echo "again: $(tr '\n' ' ' <"$T/names")" >&2
		BENCH_ROWS="$T/one" run_once "$@"
	done
	cat "$T/one" >>"$BENCH_ROWS"
}

run_once() {
	if [ "${BENCH_DETAILS:-}" ]; then
		echo "-- $*" | sed "s|$B/||g"
		timeout -k 5 300 "$@"
		echo
	else
		timeout -k 5 300 "$@" >"$T/out" || { cat "$T/out"; exit 1; }
	fi
}

policies=$(printf '%s:' "$B"/policies/*.policy)
run "$B/test/bench/exec_bench" "$B"/policies/*.policy -r "$B"/test/corpus/rules/*.policy \
	"$B"/examples/patterns/*.policy
run "$B/test/bench/inline_bench"
run "$B/test/bench/decision" "$B/test/bench/empty_tuner.so" \
	"$B/libncclbpf.so" "$B/policies/noop.policy" \
	"$B/policies/size_aware.policy" "$B/policies/slo_enforcer.policy"
run "$B/test/bench/plugin_bench" "$B/policies/noop.policy" \
	"$B/policies/size_aware.policy" "$B/policies/slo_enforcer.policy"
run "$B/test/bench/event_bench" "$B/policies/latency.policy"
run "$B/test/bench/net_bench" "$B/libncclbpf.so" "$B/test/fakes/host/net_plugin_v12.so"
run "$B/test/bench/gin_bench" "$B/libncclbpf.so" "$B/test/bench/gin_noop.policy"
LD_LIBRARY_PATH="$B/test/bench/verbs" run "$B/test/bench/verbs_bench" "$B/libncclbpf.so"
LD_LIBRARY_PATH="$B/test/bench/verbs" \
	run "$B/test/bench/verbs_bench" "$B/libncclbpf.so" "$B/test/bench/verbs_noop.bpf.o"
LD_LIBRARY_PATH="$B/test/bench/verbs" \
	run "$B/test/bench/verbs_bench" "$B/libncclbpf.so" "$B/test/bench/verbs_times.bpf.o" times
run "$B/test/bench/map_bench"
run "$B/test/bench/lookup_bench"
LUA_PATH="lua/?.lua;lua/?/init.lua;;" LUA_CPATH="$B/lua/?.so;;" \
	lua5.4 test/bench/table_bench.lua "$T" >>"$BENCH_ROWS"
run "$B/test/bench/table_bench" "$T"
CSV_TUNER_FILE=$T/200.csv run "$B/test/bench/decision" -s 204800 "$B/test/bench/empty_tuner.so" \
	"$B/libncclbpf.so" "$T/200.policy" "$B/test/fakes/wrapped/csv_tuner.so"
run "$B/test/bench/decision" -s 10240000 "$B/test/bench/empty_tuner.so" \
	"$B/libncclbpf.so" "$T/10k.policy"
VERIFY_MADE=few run "$B/test/bench/verify_bench" "$B"/policies/*.policy
run "$B/test/bench/load_bench" "$B/libncclbpf.so" \
	"$B/policies/slo_enforcer.policy" "${policies%:}"
run "$B/test/bench/change_bench" "$B/libncclbpf.so" \
	"$B/policies/noop.policy:$B/policies/size_aware.policy"
strip -o "$T/so" "$B/libncclbpf.so"
printf 'once.size\tlibncclbpf.so, stripped\t%s\tMiB\t0.8\t0\n' \
	"$(awk -v n="$(stat -c %s "$T/so")" 'BEGIN { print n / 1048576 }')" \
	>>"$BENCH_ROWS"

machine="$(sed -n 's/^model name.*: //p' /proc/cpuinfo |
	head -1), $(nproc) CPUs, $(uname -sr), $(${CC:-cc} --version | head -1)"
{
	echo "Machine: $machine."
	echo
	awk -f test/bench/table.awk "$BENCH_ROWS" && rc=0 || rc=$?
	echo $rc >"$T/rc"
} >"$T/table"
awk -f test/bench/anchors.awk "$BENCH_ROWS" >"$T/anchors"
cat "$T/table"
echo
cat "$T/anchors"
if [ "$DOC" ]; then
	awk -v table="$T/table" -v anchors="$T/anchors" '
		function put(file,   line) {
			print; print ""; skip = 1
			while ((getline line <file) > 0) print line
			print "" }
		/^<!-- bench -->$/ { put(table) }
		/^<!-- anchors -->$/ { put(anchors) }
		/^<!-- end of (bench|anchors) -->$/ { skip = 0 }
		!skip && !/^<!-- (bench|anchors) -->$/' "$DOC" >"$T/doc"
	cat "$T/doc" >"$DOC"
fi

# The docs have the same rows, whatever their numbers.
rows() {
	sed -n 's/^| \([a-z]*\.[a-z_0-9]*\) |.*/\1/p' "$1"
}
rows "$T/table" >"$T/now"
rows docs/bench.md >"$T/then"
if [ -z "${BENCH_PEER:-}" ] && ! diff "$T/then" "$T/now" >"$T/diff"; then
	echo "docs/bench.md has other rows: make bench DOC=docs/bench.md"
	cat "$T/diff"
	exit 1
fi
exit "$(cat "$T/rc")"
