#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh ends with an error if a lane of tests is killed, and also if the tests
# of this lane that failed before pass on their second try. It forgets no test.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
n=0 bad=0
is() { # status, name
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" && return
	echo "not ok $n - $2"
	sed 's/^/# /' "$T/out"
	bad=1
}
mkdir -p "$T/test/integration" "$T/build"
cp "$TOP/test/run.sh" "$T/test"
program() { # name, lines
	printf '#!/bin/sh\n%s\n' "$2" >"$T/test/integration/$1.t"
	chmod +x "$T/test/integration/$1.t"
}
runs() {
	rm -f "$T/tried"
	env -u LANE -u NOT -u BESIDE RERUN=1 "$T/test/run.sh" "$T/build" >"$T/out" 2>&1
}
program other 'echo "ok 1 - outside of all lanes"'
# Programs of this name run in a lane.
program trace_a "[ -e $T/tried ] && echo 'ok 1 - second try' && exit
: >$T/tried
echo 'not ok 1 - first try'"
runs && grep -q '^passed on the second try only: trace_a$' "$T/out" &&
	grep -q '^2 passed, 0 failed, 0 skipped$' "$T/out"
is $? "a program that passes on its second try is named and does not fail the run"
# The parent of timeout is the shell of the lane.
program trace_b 'set -- $(cat /proc/$PPID/stat)
kill -KILL "$4"'
program trace_c 'echo "not ok 1 - never run"'
runs
[ $? -ne 0 ] && grep -q '^[0-9]* passed, [1-9][0-9]* failed, 0 skipped$' "$T/out" &&
	grep -q '^lane waits ended early' "$T/out"
is $? "a killed lane fails the run although its failed program would pass"
rm -f "$T"/test/integration/trace_*
program unmarked 'echo "ok 1 - never run"'
chmod -x "$T/test/integration/unmarked.t"
! runs && grep -q '^1 passed, 1 failed, 0 skipped$' "$T/out"
is $? "a test that is not executable fails the run"
echo "1..$n"
exit $bad
