#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/built.py: a suite that names a file which its tier does not build is found.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
suite() { # TIER LINE...
	printf '# tier: %s  load: wait  limit: 9\n' "$1" >x.t
	shift
	printf '%s\n' "$@" >>x.t
}
built() { python3 "$TOP/lint/built.py" "$T/x.t" >why 2>&1; }
b='$B' # of the suites that are made
bench="\"$b/test/bench/load_bench\""
suite full "$bench"
built
ok "the full tier builds benchmarks" $?
suite quick "$bench"
! built && grep -q 'B/test/bench/load_bench is not built for the tier quick' why
ok "the quick tier does not" $?
suite quick "S=$b/ncclbpf-shell" '"$S" list; use '"$b"'/policies/$p.policy'
built
ok "products and policies are there" $?
suite quick "C=$b/test/bench" '"$C/load_bench"'
! built && grep -q 'B/test/bench/load_bench' why
ok "a variable hides nothing" $?
suite full "\"$b/test/differential/conformance/walk\""
! built
ok "nor does a folder that is built" $?
