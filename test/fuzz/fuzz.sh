#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz.sh BUILD LENGTH [TARGET...]: libFuzzer on each target, from the corpus in the tree, as long
# as its option LENGTH says (-runs=N, -max_total_time=SECONDS). What reaches new code is kept in
# BUILD/found/TARGET for the next time; what ends a target is named, and the status is 1.
b=$1 length=$2
shift 2
here=$(dirname "$0")
bad=0
for t in ${*:-$(cd "$here" && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')}; do
	found=$b/found/$t
	mkdir -p "$found"
	"$b/test/fuzz/fuzz_$t" "$length" -timeout=60 \
		-rss_limit_mb=2000 -print_final_stats=1 \
		-artifact_prefix="$b/found/$t-" "$found" \
		"$here/../corpus/fuzz/$t" >"$b/found/$t.log" 2>&1 || {
		bad=1
		grep -E 'ERROR|SUMMARY|Test unit written' "$b/found/$t.log"
	}
	awk -v t="$t" '/number_of_executed_units/ { n = $2 }
		/new_units_added/ { new = $2 }
		/ cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
		END { printf "fuzz %-7s %9d inputs, %6d new, %6d edges\n", t, n, new, cov }' \
		"$b/found/$t.log"
done
exit $bad
