#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# docs/verifier.md: the table of agreement with the kernel is there, adds up,
# and its reasons and classes are those of the files that they come from. The
# numbers are judged where the table is made (make check-kernel-corpus). Errors
# of other verifiers have cases that are there, and what z3 proves in CI is what
# the table of proofs says. So does what a verdict costs at most.
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
		gsub(/\*/, "", $2); print $2 + 0; exit }'
}

# The number behind the word $2 in that row.
number_after() {
	rows programs | awk -F'\t' -v row="$1" -v word="$2" 'index($1, row) == 1 {
		print substr($2, index($2, word) + length(word)) + 0 }'
}

sum() { rows "$1" | awk -F'\t' '{ n += $2 } END { print n + 0 }'; }

reasons() { # side
	sed -n "s/^$1 *|[^|]*|[^|]*| *//p" test/differential/kcorpus/explained.txt
}

all=$(number '**compared**')
accept=$(number 'both accept')
root=$(number 'we too, had we')
refuse=$(number 'both refuse')
ours=$(number 'only we refuse')
kernel=$(number 'only the kernel refuses')
aged=$(($(number 'only the running kernel refuses') + $(number 'only the running kernel accepts')))
[ "${all:-0}" -gt 1000 ]
check "the table compares $all programs" $?
[ "$all" -eq $((accept + root + refuse + ours + kernel + aged)) ]
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
	[ $side = ours ] && reasons object >>"$B/test/reasons.txt"
	rows "$head" | cut -f1 | while read -r why; do
		grep -qxF -- "$why" "$B/test/reasons.txt" || echo "# no such reason: $why"
	done >"$B/test/reasons.bad"
	cat "$B/test/reasons.bad"
	[ -s "$B/test/reasons.bad" ] && bad=1
done
check "each reason is one of test/differential/kcorpus/explained.txt" $bad

bad=0
for word in $(rows 'our finding, where' | cut -f1); do
	grep -q "^RULE([A-Z0-9_]*, *\"$word\"" core/defs/rules.h || {
		echo "# no such finding: $word"
		bad=1
	}
done
check "each finding is one of core/defs/rules.h" $bad

bad=0
for word in $(sed -n 's/^NOTE([A-Z_]*, *"\([a-z_]*\)".*/\1/p' core/defs/notes.h); do
	grep -q "^| \`$word\` |" docs/verifier.md || {
		echo "# no row for the note $word"
		bad=1
	}
done
check "each note of core/defs/notes.h has a row" $bad

part() { sed -n "/^<!-- $1:begin/,/^<!-- $1:end/p" docs/verifier.md; }

bad=0
for id in CVE-2017-16995 CVE-2020-8835 CVE-2020-27194 CVE-2021-3490 \
	CVE-2021-31440 CVE-2022-23222 CVE-2023-2163 CVE-2021-4204 \
	CVE-2022-2785 CVE-2021-29154 CVE-2022-50167 PREVAIL ubpf rbpf; do
	part bugs | grep -q "^| $id" || {
		echo "# no row: $id"
		bad=1
	}
done
check "known errors of other verifiers have a row" $bad

# `verify/reject/name` is a file, `name` in `unit/file.c` one of its tests.
part bugs | awk -F'|' '/^\|/ && $4 ~ /`/ { split($4, q, "`"); print q[2], q[4] }' |
	while read -r name file; do
		if [ -n "$file" ]; then
			grep -qE "^TEST(_EACH)?\($name[,)]" "test/$file"
		else
			grep -q '^# expect: reject' "test/corpus/$name.asm"
		fi || echo "# no such case: $name $file"
	done >"$B/test/cases.bad"
cat "$B/test/cases.bad"
[ ! -s "$B/test/cases.bad" ]
check "and a case each" $?

bad=0
for f in test/corpus/verify/reject/prevail_*.asm; do
	name=$(basename "$f" .asm)
	[ "$name" = prevail_32_bit_compare ] && name=prevail_64_bit_compare
	grep -q '^# expect: accept' "test/corpus/verify/accept/$name.asm" || bad=1
done
check "beside a twin that is accepted" $bad

quick=$(sed -n '/^QUICK = /,/split()/p' test/model/proof/domains.py | tr -d '"()=\n')
never=$(sed -n '/^NEVER = /,/split()/p' test/model/proof/domains.py | tr -d '"()=\n')
bad=0
for op in and or xor mov neg rsh jgt jge jlt jle jsgt jsge jslt jsle; do
	for bits in 64 32; do
		case " $quick " in *" $op$bits"*) ;; *)
			echo "# not in CI: $op$bits"
			bad=1
			;;
		esac
	done
done
for op in tnum agreement unary sets facts products tnum_mul constants mul64 mul32; do
	case " $quick " in *" $op "*) ;; *)
		echo "# not in CI: $op"
		bad=1
		;;
	esac
done
# What is named as not proven is all that is.
names=$(echo "$never" | tr -s ' ' '\n' | grep -E '[a-z](32|64)$' | sort | tr '\n' ' ')
[ "$names" = "lsh64 sub64 " ] || {
	echo "# not proven: $names"
	bad=1
}
check "what the table calls proven is proven in proof.t" $bad

# What a verdict costs: programs of the test, inside the limits; and of programs
# of each size, never more than the kernel's load.
part worst |
	awk -F ' *[|] *' '/[|] (accepted|refused) [|]/ { print $2 "|" $3 "|" $7 + 0 "|" $8 + 0 }' \
	>"$B/test/worst.txt"
bad=0
while IFS='|' read -r name _; do
	grep -qF "{ \"$name\", " test/unit/test_verify_worst.c || {
		echo "# no such program: $name"
		bad=1
	}
done <"$B/test/worst.txt"
[ "$(grep -c '|accepted|' "$B/test/worst.txt")" \
	-eq "$(grep -c '^	{ "' test/unit/test_verify_worst.c)" ] || bad=1
check "the costliest programs are those of test_verify_worst.c" $bad
awk -F'|' '
	$3 > 65536 || $4 > 3.5 { print "# over a limit: " $0; bad = 1 }
	END { exit bad || NR < 16 }
' "$B/test/worst.txt"
check "within the memory and the time that are stated" $?
bad=0
for shape in branches loops subprograms; do
	for size in 1 10 100; do
		part speed | grep -q "^| $shape $size k | .* x | ok |$" || {
			echo "# no row, or slower than the kernel: $shape $size k"
			bad=1
		}
	done
done
part speed | awk -F'|' '
	/^[|].* k [|]/ && ($11 !~ / ok / || $10 + 0 > 1) { print "# " $0; bad = 1 }
	END { exit bad }
' || bad=1
check "no verdict takes longer than the kernel's load" $bad
echo "1..$n"
