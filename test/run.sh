#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD [PARTS]: run every test program of a build directory (or those
# whose names hold one of PARTS, separated by blanks) and
# count its TAP lines. A program that prints no test, dies or outlives its
# time is a failure. Last line: "N passed, N failed, N skipped". NOT=PARTS
# leaves some out, =NAME is one part exactly. Without PARTS what mostly waits
# and, without NOT, the long hunts run beside the others; with PARTS, those of
# BESIDE do. RERUN=1: a program that failed runs once more, alone; what passes
# only then is named at the end, after the 15 programs that took longest, with
# the time of their processors.
set -u
case ${1:-} in '' | -h | --help)
	sed -n '3,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p;}' "$0"
	[ -n "${1:-}" ]
	exit
	;;
esac
TOP=$(cd "$(dirname "$0")/.." && pwd)
B=$(cd "$1" && pwd)
want=${2:-}
only=$want
SHARED=
[ -d "$TOP/../shared" ] && SHARED=$(cd "$TOP/../shared" && pwd)
export TOP B SHARED
log=$B/test/log
mkdir -p "$log"
again=$log/again
passed=0 failed=0 skipped=0
hunts="mutants model proof"
oracles="oracle_ arm64 unit-verify_domains"
not=${NOT:-}
waits="fleet rollout slow_rank closed_loop loop_faults trace net chain env control_ shell_"
waits="$waits divergence check_agreement comms_churn demo_coherence"
waits="$waits quickstart torchrun metrics_serve store_etcd"
lanes= pids=
lane() { # name, parts
	LANE=1 BESIDE= NOT=$not "$0" "$B" "$2" >"$log/$1.out" 2>&1 &
	pids="$pids $!" lanes="$lanes $1"
}
[ -n "$not" ] && echo "left out: $not"
[ -n "${LANE:-}" ] || : >"$again"
[ -n "${LANE:-}" ] || : >"$log/times"
if [ -z "$want" ]; then
	lane waits "$waits"
	[ -z "$not" ] && lane hunts "$hunts" && lane oracles "$oracles"
	not="$not $hunts $oracles $waits"
elif [ -n "${BESIDE:-}" ]; then
	lane beside "$BESIDE"
	not="$not $BESIDE"
fi
[ -n "$pids" ] && trap 'kill $pids 2>/dev/null' EXIT

wanted() {
	for w in $not; do
		case =$1 in *"$w"*) return 1 ;; esac
	done
	[ -z "$want" ] && return 0
	for w in $want; do
		case $w in =*) [ "$w" = "=$1" ] && return 0 ;; esac
		case $1 in *"$w"*) return 0 ;; esac
	done
	return 1
}

one() { # name, command...
	name=$1
	shift
	wanted "$name" || return
	start=$(date +%s)
	times >"$log/times.$$"
	timeout -k 10 "${LIMIT:-600}" "$@" >"$log/$name.log" 2>&1
	rc=$?
	counts=$(awk '
		/^ok [0-9]/ { if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) s++; else p++ }
		/^not ok [0-9]/ { f++ }
		END { print p + 0, f + 0, s + 0 }' "$log/$name.log")
	set -- $counts
	p=$1 f=$2 s=$3
	# Death without a failed test, and silence, count as one failure.
	if [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
	if [ $((p + f + s)) -eq 0 ]; then f=1; fi
	# A check that is misspelt must not pass for one.
	if grep -q '\.t: [0-9]*: [a-z_]*: not found$' "$log/$name.log"; then f=$((f + 1)); fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-44s %4d ok %3d failed %3d skipped %4d s\n' "$name" "$p" "$f" \
		"$s" $(($(date +%s) - start))
	# The second line of times is what the programs have taken since the beginning.
	times >>"$log/times.$$"
	awk -v name="$name" -v wall=$(($(date +%s) - start)) '
		{ gsub(/[ms]/, " "); t[NR] = $1 * 60 + $2 + $3 * 60 + $4 }
		END { printf "%s %d %d\n", name, wall, t[4] - t[2] }' "$log/times.$$" >>"$log/times"
	rm -f "$log/times.$$"
	[ "$s" -gt 0 ] && sed -n 's/^ok [0-9]* - \(.*# *[Ss][Kk][Ii][Pp].*\)/    skipped: \1/p' \
		"$log/$name.log" | sort -u | head -5
	if [ "$f" -gt 0 ]; then
		echo "$name $p $f $s" >>"$again"
		echo "    status $rc, log $log/$name.log"
		grep -A 12 '^not ok' "$log/$name.log" | head -40 | sed 's/^/    /'
		[ "$(grep -c '^not ok' "$log/$name.log")" -gt 0 ] ||
			tail -25 "$log/$name.log" | sed 's/^/    /'
	fi
}

everything() {
	for t in "$B"/test/unit/test_*; do
		case $t in *.o | *.d) continue ;; esac
		[ -x "$t" ] &&
			CK_TAP_LOG_FILE_NAME=- one "unit-$(basename "$t" | sed 's/test_//')" "$t"
	done
	for t in "$B"/test/fuzz/fuzz_*; do
		case $t in *.o | *.d) continue ;; esac
		[ -x "$t" ] && one "fuzz-$(basename "$t" | sed 's/fuzz_//')" "$t" \
			"$TOP/test/corpus/fuzz/$(basename "$t" | sed 's/fuzz_//')"
	done
	# a test that is not executable fails
	for t in "$TOP"/test/*/*.t "$TOP"/test/*/*/*.t; do
		[ -e "$t" ] && one "$(basename "$t" .t)" "$t"
	done
}

everything
[ -n "$pids" ] && wait $pids
trap - EXIT
lost=
for l in $lanes; do
	sed -e '$d' -e '/^left out: /d' "$log/$l.out"
	set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
		"$log/$l.out")
	# A lane without counts is a failure. Its programs are not run again, since
	# their counts are unknown, and so is which of them have run.
	[ $# -eq 3 ] || lost="$lost $l"
	passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1})) skipped=$((skipped + ${3:-0}))
done
# Once more, alone: what a loaded machine made fail passes now; what is wrong fails
# again. The first log is kept.
second=
for l in $lost; do echo "lane $l ended early, log $log/$l.out"; done
if [ -n "${RERUN:-}" ] && [ -z "${LANE:-}$lost" ] && [ -s "$again" ]; then
	cp "$again" "$again.list"
	not=
	while read -r who p f s; do
		mv "$log/$who.log" "$log/$who.first.log"
		want="=$who" passed=$((passed - p)) failed=$((failed - f)) skipped=$((skipped - s))
		was=$failed
		echo "once more, alone:"
		everything </dev/null
		[ "$failed" -eq "$was" ] && second="$second $who"
	done <"$again.list"
fi
if [ -z "${LANE:-}" ] && [ -z "$only" ]; then
	echo && echo "longest:"
	sort -k 2nr "$log/times" | head -15 |
		awk '{ printf "%-44s %4d s, processors %4d s\n", $1, $2, $3 }'
fi
[ -n "$second" ] && echo && echo "passed on the second try only:$second"
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
