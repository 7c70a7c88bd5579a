#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# test/corpus/classes.txt names a case for each class of programs that a
# verifier must refuse or accept, and beside each refused one the nearest that
# is accepted. The cases are there and say that verdict; unit-verify_programs,
# and for C policies unit-policies_cpus, hold the verifier to it.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$TOP/test/corpus" || exit 1
table=classes.txt
. "$TOP/test/tap.sh"
log=$dir/log

# Does the case say this verdict?
holds() { # verdict, case
	case $2 in
	unit/*.c:*)
		f=${2%%:*}
		grep -qE "^TEST(_EACH)?\(${2##*:}[,)]" "../$f"
		;;
	verify/*.asm) # in the file of a refused one stands its accepted twin
		{ grep -q "^# expect: $1" "$2" ||
			{ [ "$1" = accept ] && grep -q "# near:" "$2"; }; } 2>/dev/null
		;;
	"$1"/*.bpf.c) [ -f "$2" ] ;;
	*) false ;;
	esac
}

# "wrong" lines of a table, one a line
wrong() { # table
	grep -v '^#' "$1" | while read -r verdict word file rest; do
		want=$verdict
		# Linux accepts it, for root; docs/verifier.md says why not we
		[ "$verdict $word" = "accept stack_unset" ] && want=reject
		holds "$want" "$file" || echo "$verdict $word: $file"
		[ "$verdict" = reject ] || continue
		twin=${rest%% *}
		holds accept "$twin" || echo "$word: its nearest: $twin"
	done
}

for v in "reject 101" "accept 58"; do
	grep "^${v% *} " $table | awk '{ print $2 }' | sort -u >"$dir/log"
	[ "$(wc -l <"$dir/log")" -eq "${v#* }" ]
	say $? "$v classes, each with a word of its own"
done
wrong $table >"$dir/log"
[ ! -s "$dir/log" ]
say $? "each class has its case, each refused one its nearest accepted one"

# What is wrong is noticed: a file that is not there, the other verdict.
kept=verify/reject/iterator_not_ended other=verify/accept/iterator_nested_loops
sed -e 's/map_value_at_its_end/no_such_file/' -e '/^accept rodata /s/accept\//reject\//' \
	-e "/^reject iter_kept /s,$kept,$other," $table >"$dir/table"
wrong "$dir/table" >"$dir/log"
[ "$(wc -l <"$dir/log")" -eq 4 ]
say $? "a case that is missing or has the other verdict would be noticed"

cases=$(find verify reject accept -name '*.asm' -o -name '*.bpf.c' | wc -l)
echo "$cases cases" >"$dir/log"
[ "$cases" -ge 400 ]
say $? "at least 400 cases in all"
echo "1..$n"
exit $bad
