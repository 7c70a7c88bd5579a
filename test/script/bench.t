#!/bin/sh
# SPDX-License-Identifier: MIT
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
says 5 ns 0 1.65 '| 5.00 ns | 5.00 ns | - | - |' 0
check "without a budget there is no verdict" $?
says - 'not permitted' 0 0 '| - | - | - | skip: not permitted |' 0
check "what cannot be had is skipped with a word" $?

awk '/^<!-- bench -->$/ { on = 1; next } /^<!-- end of bench -->$/ { on = 0 }
	on && /^\| [a-z_0-9]+\.[a-z_0-9]+ \|/ { rows++; if (NF < 10 || $0 !~ \
		/\| (ok|OVER|BROKEN|-|skip: [^|]+) \|$/) bad++ }
	END { exit !(rows >= 30 && !bad) }' docs/performance.md
check "docs/performance.md holds a whole table" $?
for key in jit.noop interp.slo_enforcer decision.noop decision.size_aware \
	map.array_inlined map.hash map.percpu_update load.ready \
	load.slo_enforcer switch.native switch.ns switch.over switch.lost kernel.hash once.load \
	once.memory once.size part.fence_ring; do
	grep -q "^| $key | " docs/performance.md
	check "docs/performance.md: $key" $?
done
echo "1..$n"
