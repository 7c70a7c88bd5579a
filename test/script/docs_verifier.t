#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/verifier.md: the table of agreement with the kernel is there, adds up,
# and its reasons and classes are those of the files that they come from. The
# numbers are judged where the table is made (make check-kernel-corpus).
cd "$TOP" || exit 70
n=0

check() { # name, status
	n=$((n + 1))
	[ "$2" -eq 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

# Rows of the table under the heading whose first cell begins with $1: cells,
# separated by tabs.
rows() {
	awk -v head="$1" '
		/^<!-- corpus:begin/ { on = 1; next }
		/^<!-- corpus:end/ { on = 0 }
		!on || !/^\|/ { mine = 0; next }
		index($0, "| " head) == 1 { mine = 1; next }
		mine && !/^\|-/ { gsub(/^\| | \|$/, ""); gsub(/ \| /, "\t"); print }
		' docs/verifier.md
}

# The first number of the second cell of the row that begins with $1.
number() {
	rows programs | awk -F'\t' -v row="$1" 'index($1, row) == 1 {
		gsub(/\*/, "", $2); print $2 + 0 }'
}

# The number behind the word $2 in that row.
number_after() {
	rows programs | awk -F'\t' -v row="$1" -v word="$2" 'index($1, row) == 1 {
		print substr($2, index($2, word) + length(word)) + 0 }'
}

sum() { rows "$1" | awk -F'\t' '{ n += $2 } END { print n + 0 }'; }

reasons() { # side
	sed -n "s/^$1 *|[^|]*|[^|]*| *//p" test/kcorpus/explained.txt
}

all=$(number '**compared**')
accept=$(number 'both accept')
root=$(number 'we too, had we')
refuse=$(number 'both refuse')
ours=$(number 'only we refuse')
kernel=$(number 'only the kernel refuses')
[ "${all:-0}" -gt 1000 ]
check "the table compares $all programs" $?
[ "$all" -eq $((accept + root + refuse + ours + kernel)) ]
check "each of them is counted once" $?
[ $((100 * (accept + root))) -ge $((95 * (accept + root + ours))) ]
check "of what the kernel accepts 95 in 100 are accepted" $?
[ "$kernel" -eq "$(number_after 'only the kernel refuses' explained)" ]
check "what only the kernel refuses is explained" $?
[ "$(sum 'why only the kernel refuses')" -eq "$kernel" ]
check "by reasons that add up" $?
[ "$(sum 'our finding, where')" -eq "$ours" ]
check "findings where only we refuse add up" $?
[ "$(sum 'why only we refuse')" -eq "$(number_after 'only we refuse' 'by design')" ]
check "what of it is by design adds up" $?

bad=0
for side in kernel ours; do
	head='why only we refuse'
	[ $side = kernel ] && head='why only the kernel refuses'
	reasons $side >"$B/test/reasons.txt"
	rows "$head" | cut -f1 | while read -r why; do
		grep -qxF -- "$why" "$B/test/reasons.txt" || echo "# no such reason: $why"
	done >"$B/test/reasons.bad"
	cat "$B/test/reasons.bad"
	[ -s "$B/test/reasons.bad" ] && bad=1
done
check "each reason is one of test/kcorpus/explained.txt" $bad

bad=0
for word in $(rows 'our finding, where' | cut -f1); do
	grep -q "^FINDING([A-Z0-9_]*, *\"$word\"" core/tbl/findings.h || {
		echo "# no such finding: $word"
		bad=1
	}
done
check "each finding is one of core/tbl/findings.h" $bad
echo "1..$n"
