#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 300
# test/run: a suite that ends early, dies, hangs, was not built or tests nothing fails; nothing of
# a suite outlives it or Ctrl-C; only what failed or changed runs again.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
. "$TOP/test/tap.sh"
log=$T/out
mkdir -p "$T/test/integration" "$T/test/unit" "$T/build/test" "$T/policies"
: >"$T/Makefile"
cp "$TOP/test/run" "$T/test"
cp "$B/test/nursery" "$T/build/test"
suite() { # name, header or "", lines
	printf '#!/bin/sh\n# %s\n%s\n' "${2:-tier: quick  load: wait  limit: 60}" "$3" \
		>"$T/test/integration/$1.t"
	chmod +x "$T/test/integration/$1.t"
}
runs() { # arguments
	"$T/test/run" -b "$T/build" "$@" >"$T/out" 2>&1
}
says() { grep -q -e "$1" "$T/out"; }

suite good "" 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no b"; echo 1..2'
suite later "tier: full  load: cpu  limit: 60" 'echo "ok 1 - c"; echo 1..1'
runs && says '^1 passed, 0 failed, 1 skipped$'
say $? "the quick tier: counts, status 0"
runs -a -t full && says '^2 passed, 0 failed, 1 skipped$'
say $? "the full tier has the quick one"
[ "$(head -1 "$T/out")" = "plan: 2 suites (1 quick, 1 full)" ]
say $? "the plan comes first"
runs -a -t quick later && says '^plan: 0 suites$' &&
	runs -a later && says '^plan: 1 suites (1 full)$'
say $? "names of a tier"
runs && says '^0 passed, 0 failed, 0 skipped$' && says '^1 suites have passed'
say $? "what has passed and has not changed does not run again"
echo '# changed' >>"$T/test/integration/good.t"
runs && says '^1 passed'
say $? "what has changed does"

refused() { # name, pattern, what
	runs "=$1"
	[ $? -eq 1 ] && says "$2" && says '^[0-9]* passed, 1 failed, [01] skipped$'
	say $? "$3"
}
suite red "" 'echo "not ok 1 - a"; echo 1..1; exit 1'
refused red '^==== red' "a failed test fails, and its log comes last"
suite red "" 'echo "ok 1 - a"; exit 0; echo 1..1'
refused red 'no plan: it ended early' "an early exit 0 fails"
suite red "" 'echo "ok 1 - all # SKIP no tool"'
refused red 'no plan: it ended early' "so does one whose only test is skipped"
suite red "" 'echo 1..0'
refused red 'it tests nothing and says no reason' "a plan without a test or a reason fails"
suite skips "tier: full  load: wait  limit: 60" 'echo "1..0 # SKIP no tool"'
runs =skips && says '^0 passed, 0 failed, 1 skipped$' && says 'skipped: no tool$'
say $? "a suite that cannot run says why"
suite red "" 'echo 1..2; echo "ok 1 - a"'
refused red '1 tests, but its plan is 1..2' "fewer tests than the plan has fail"
suite red "" 'echo "ok 1 - a"; echo 1..1; exit 3'
refused red 'status 3 without a failed test' "a status that no test explains fails"
suite red "" 'echo "ok 1 - a"; echo 1..1; kill -SEGV $$'
refused red 'ended by signal 11' "a signal fails"
suite red "" 'cheque a; echo "ok 1 - a"; echo 1..1'
refused red 'cheque: not found' "a check that is misspelt fails"
suite red "tier: quick  load: wait  limit: 1" "sleep 600 & setsid sleep 601 &
echo \$! >$T/pid
echo 'ok 1 - a'; sleep 602"
refused red 'still ran after its limit of 1 s' "a suite that hangs fails"
! kill -0 "$(cat "$T/pid")" 2>/dev/null
say $? "and its processes are gone, in sessions of their own too"
suite red "" "setsid sleep 603 & echo \$! >$T/pid; echo 'ok 1 - a'; echo 1..1"
runs =red && ! kill -0 "$(cat "$T/pid")" 2>/dev/null
say $? "what a suite leaves behind is ended"
chmod -x "$T/test/integration/red.t"
refused red 'it is not executable' "a suite that is not executable fails"
rm "$T/test/integration/red.t"
echo '// tier: quick  load: cpu  limit: 60' >"$T/test/unit/test_gone.c"
refused unit-gone 'it was not built' "a unit program that was not built fails"
rm "$T/test/unit/test_gone.c"
suite red "tier: fast  load: wait  limit: 60" 'echo 1..0'
runs
[ $? -eq 70 ] && says "'tier: fast' in its header is not known"
say $? "an unknown tier is an error"
printf '#!/bin/sh\necho 1..0\n' >"$T/test/integration/red.t"
runs
[ $? -eq 70 ] && says "has no header"
say $? "so is a suite without a header"
rm "$T/test/integration/red.t"
runs nothing_like_it
[ $? -eq 70 ] && says 'no suite is called nothing_like_it'
say $? "and a name that no suite has"
suite lacking "tier: full  load: wait  limit: 60  needs: no_such_tool" 'echo 1..0'
runs lacking && says '^skip lacking: no no_such_tool$'
say $? "what a suite needs and is missing skips it by name"
runs -a good later '!later' && says '^1 passed' && ! says '^ok   later'
say $? "!NAME leaves out"

# Ctrl-C at a moment when two suites run, one of them in a session of its own.
suite slow_a "tier: soak  load: wait  limit: 600" "setsid sleep 604 & echo \$! >$T/a.new
mv $T/a.new $T/a; wait"
suite slow_b "tier: soak  load: wait  limit: 600" "trap '' TERM INT; sleep 605 & echo \$! >$T/b.new
mv $T/b.new $T/b; wait"
"$T/test/run" -b "$T/build" slow_a slow_b >"$T/out" 2>&1 &
run=$!
turn=0
until [ -e "$T/a" ] && [ -e "$T/b" ]; do
	turn=$((turn + 1))
	[ $turn -lt 1200 ] || break
	sleep 0.05
done
kill -INT "$run"
wait "$run"
[ $? -eq 130 ] && says '^stopped' && ! kill -0 "$(cat "$T/a")" 2>/dev/null &&
	! kill -0 "$(cat "$T/b")" 2>/dev/null
say $? "Ctrl-C ends all suites and all that they have started, status 130"
rm "$T/a" "$T/b"
"$T/test/run" -b "$T/build" slow_a >"$T/out" 2>&1 &
run=$!
turn=0
until [ -e "$T/a" ]; do
	turn=$((turn + 1))
	[ $turn -lt 1200 ] || break
	sleep 0.05
done
kill -KILL "$run"
wait "$run" 2>/dev/null
turn=0
while kill -0 "$(cat "$T/a")" 2>/dev/null && [ $turn -lt 1200 ]; do
	turn=$((turn + 1))
	sleep 0.05
done
! kill -0 "$(cat "$T/a")" 2>/dev/null
say $? "so does the death of test/run itself"
echo "1..$n"
exit $bad
