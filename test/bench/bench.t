#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The table of `make bench`: verdicts, what fails, and the one in the docs.
T=$(mktemp -d)
cd "$TOP" || exit 1
trap 'rm -rf "$T"' EXIT
n=0

check() { # name, status
	n=$((n + 1))
	[ "$2" -eq 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

says() { # row's fields but the key: the table's line matches $6
	printf 'k\tt\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" |
		awk -f test/bench/table.awk >"$T/table"
	rc=$?
	grep -q "$5" "$T/table" && [ "$rc" -eq "$6" ]
}

says 8 ns 8 1.65 '| 8.00 ns | 8.00 ns | 8 ns | ok |' 0
check "within its budget" $?
says 9 ns 8 1.65 '| 9.00 ns | 9.00 ns | 8 ns | OVER |' 0
check "over its budget is said, and passes" $?
says 12 ns 8 3.3 '| 12.00 ns | 6.00 ns | 8 ns | ok |' 0
check "times go by the yardstick" $?
says 1.2 x 1.1 4.0 '| 1.20 x | - | 1.1 x | OVER |' 0
check "ratios do not" $?
says 25 ns 8 1.65 '| BROKEN |' 1
check "three times its budget fails" $?
says 1.38 x 1.1 0 '| BROKEN |' 1
check "a ratio fails from 1.25 times its budget on" $?
says 1.37 x 1.1 0 '| OVER |' 0
check "and not before" $?
says 1 asked 0.1 0 '| 1 asked | - | 0 | BROKEN |' 1
check "an event that nobody wants fails" $?
printf 'k\tt\t%s\tns\t8\t1.65\n' 30 7 9 >"$T/thrice"
awk -f test/bench/table.awk "$T/thrice" | grep -q '| 7.00 ns | 7.00 ns | 8 ns | ok |'
check "of a row measured again the least counts" $?
printf 'k\tt\t%s\tlost\t0.1\t0\n' 0 1 0 >"$T/thrice"
awk -f test/bench/table.awk "$T/thrice" | grep -q '| 1 lost | - | 0 | BROKEN |'
check "but a lost decision is not forgotten" $?
printf 'bad\tt\t30\tns\t8\t1.65\ngood\tt\t3\tns\t8\t1.65\n' >"$T/two"
[ "$(awk -v names=1 -f test/bench/table.awk "$T/two")" = bad ]
check "who is to be measured again is named" $?
"$B/test/bench/exec_bench" -n "$B"/policies/*.policy -r "$B"/test/corpus/rules/*.policy \
	"$B"/examples/patterns/*.policy >"$T/twins" && [ "$(grep -c '^rule' "$T/twins")" -ge 8 ]
check "each program of policies/ that decides or sees collectives, and each rule, has a twin" $?
sed 's/.*/| & |/' "$T/twins" | while read -r row; do
	grep -qF "$row" docs/bench.md || echo "$row"
done >"$T/without"
! grep . "$T/without"
check "and a row in docs/bench.md" $?
printf '@\tnoop\t%s\n' '3.2	4' >"$T/anchors"
printf '@\tlookup_only\t%s\n' '20	10' >>"$T/anchors"
awk -f test/bench/anchors.awk "$T/anchors" | grep -q \
	'^| lookup_only | 10.8 ns | .* | 5.0 ns | 0.50 x | native, LLVM JIT, uBPF JIT, prototype |$'
check "figures of other runtimes at the same pace" $?
says 1 lost 0.1 0 '| BROKEN |' 1
check "a lost decision fails" $?
says 5 ns 0 1.65 '| 5.00 ns | 5.00 ns | - | - |' 0
check "without a budget there is no verdict" $?
says - 'not permitted' 0 0 '| - | - | - | skip: not permitted |' 0
check "what cannot be had is skipped with a word" $?

awk '/^<!-- bench -->$/ { on = 1; next } /^<!-- end of bench -->$/ { on = 0 }
	on && /^\| [a-z_0-9]+\.[a-z_0-9]+ \|/ { rows++; if (NF < 10 || $0 !~ \
		/\| (ok|OVER|BROKEN|-|skip: [^|]+) \|$/) bad++ }
	END { exit !(rows >= 30 && !bad) }' docs/bench.md
check "docs/bench.md holds a whole table" $?
# Other tuner plugins beside ours, in the same rounds: here the empty one twice.
for peer in one two; do
	cp "$B/test/bench/empty_tuner.so" "$T/$peer.so"
done
: >"$T/rows"
BENCH_ROWS="$T/rows" BENCH_PEER="$T/one.so:$T/two.so" "$B/test/bench/decision" \
	"$B/test/bench/empty_tuner.so" "$B/libncclbpf.so" \
	"$B/policies/noop.policy" >"$T/out" 2>&1
check "BENCH_PEER takes other plugins" $?
awk -F '\t' '{ n[$1]++ } END { exit !(NR == 4 && n["decision.none"] == 1 &&
	n["decision.noop"] == 1 && n["decision.one"] == 1 &&
	n["decision.two"] == 1) }' "$T/rows"
check "each has a row beside ours" $?
awk -f test/bench/table.awk "$T/rows" | grep -q \
	'^| decision.one | getCollInfo, one, over an empty native plugin | .* ns | .* ns | - | - |$'
check "and a line in the table" $?
BENCH_ROWS="$T/rows" BENCH_PEER="$T/none.so" "$B/test/bench/decision" \
	"$B/test/bench/empty_tuner.so" "$B/libncclbpf.so" \
	"$B/policies/noop.policy" >"$T/out" 2>&1
[ $? -ne 0 ] && grep -q 'none.so' "$T/out"
check "one that cannot be opened is named" $?
# Profilers likewise; a library with both is measured as both, ours beside each
# version that there is.
: >"$T/rows"
wrapped=$B/test/fakes/wrapped
BENCH_ROWS="$T/rows" BENCH_PEER="$wrapped/bench_profiler.so:$wrapped/profiler_v3.so:$T/one.so" \
	"$B/test/bench/event_bench" "$B/policies/latency.policy" >"$T/out" 2>&1
check "BENCH_PEER takes other profilers" $?
awk -F '\t' '$3 > 0 { n[$1]++ } END { exit !(n["event.bench_profiler"] == 1 &&
	n["event.profiler_v3"] == 1 && n["event.full_v3"] == 1 &&
	n["event.full_v6"] == 1 && !n["event.one"] && !n["event.full_v5"]) }' "$T/rows"
check "each has a row beside ours of its version" $?
! grep '^peer:' "$T/out" | grep -v ', 0 orphans, 0 open, 0 foreign, bad 0,' >"$T/bad" &&
	grep -q '^peer: profiler v6: [1-9]' "$T/out"
check "and is told what NCCL would tell it" $?
BENCH_ROWS="$T/rows" BENCH_PEER="$B/test/fakes/wrapped/bench_profiler.so" "$B/test/bench/decision" \
	"$B/test/bench/empty_tuner.so" "$B/libncclbpf.so" \
	"$B/policies/noop.policy" >"$T/out" 2>&1 && ! grep -q bench_profiler "$T/out"
check "one that is a profiler alone is no tuner" $?

for key in jit.noop interp.slo_enforcer decision.noop decision.size_aware jit.size_aware \
		jit.nvlink_ring_mid jit.adaptive_channels jit.force_choice jit.slo_enforcer \
		jit.lookup_only kernel.array map.hash_1m map.misses map.threads load.us \
		map.array_inlined map.hash map.percpu_update load.ready load.slo_enforcer \
		switch.ns switch.lost event.mask event.attached kernel.hash \
		once.load once.memory once.size part.fence_ring; do
	grep -q "^| $key | " docs/bench.md
	check "docs/bench.md: $key" $?
done
echo "1..$n"
