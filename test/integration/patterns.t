#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# The policies of examples that have a test: each compares the policy with its rule, which the test
# has once more, over a grid of decisions or over made-up intervals.
. "$TOP/test/integration/shell_lib.sh"
E=$B/examples
[ -e "$E/patterns/hysteresis.bpf.o" ] || skip_all "patterns" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
for f in "$TOP"/examples/*/*_test.lua; do
	dir=${f%/*}
	of=${dir##*/}
	mkdir -p "$of"
	cp "$E/$of"/*.bpf.o "$of"
	cp "$dir"/*.csv "$of" 2>/dev/null
	sed "s/\.bpf\.c/.bpf.o/; s|\"\.\./\.\./|\"$TOP/|" "$f" >"$of/${f##*/}"
	status 0 "$of/${f##*/}" policy test "$of/${f##*/}"
done
[ "$tests" -ge 7 ]
ok "all of them ran" $?
# A test that cannot fail says nothing: other values of a parameter, and other rows, are found.
cd patterns || exit 1
sed 's/bpf\.o/bpf.o?slow_us=2050/' hysteresis_test.lua >slower_test.lua
status 2 "another limit of hysteresis" policy test slower_test.lua
sed 's/2,~8$/2,~6/' nearest_shape.csv >other.csv
sed 's/nearest_shape.csv/other.csv/' nearest_shape_test.lua >other_test.lua
status 2 "another shape of nearest_shape" policy test other_test.lua
