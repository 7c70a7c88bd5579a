#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: spin
# The steps of the fence protocol have the same names in the model, in the table
# of steps and in the code, and a fault is injected at each; also at those of the
# closed loop.
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$TOP" || exit 1
n=0
same() { # name, file, file
	n=$((n + 1))
	if diff "$2" "$3" >"$T/diff"; then echo "ok $n - $1"; else
		echo "not ok $n - $1"
		sed 's/^/# /' "$T/diff"
	fi
}
sed -n 's/^\tSTEP(\([A-Z_]*\)).*/\1/p' plugin/job/step.h | sort >"$T/all"
grep -v ^LOOP_ "$T/all" >"$T/table"
grep ^LOOP_ "$T/all" >"$T/loop"
grep -o '@[A-Z_][A-Z_]*' test/model/fence.pml | tr -d @ | grep -vx NAME | sort -u >"$T/model"
cat plugin/job/fence.c plugin/change/change.c | tr '\n' ' ' |
	grep -oE 'NB_(STEP|DONE)\( *[A-Z_]+' | sed 's/.*( *//' | sort -u >"$T/code"
n=$((n + 1))
[ "$(wc -l <"$T/table")" -ge 19 ] && echo "ok $n - the table has steps" ||
	echo "not ok $n - the table has steps"
same "the model has them" "$T/table" "$T/model"
same "the code takes them" "$T/table" "$T/code"
# OVERRUN is what others bring about; SWAP is written down at every change
grep -o 'NB_STEP_[A-Z_]*' test/unit/test_fence_faults.c | sed 's/NB_STEP_//' |
	grep -vx 'ROWS\|SWAP' |
	sort -u >"$T/faults"
grep -vx 'SWAP\|OVERRUN' "$T/table" >"$T/stops"
same "a fault is injected at each" "$T/stops" "$T/faults"
# those of the closed loop
grep -oE 'NB_STEP\(LOOP_[A-Z]+' plugin/controller/controller.c | sed 's/.*(//' | sort -u >"$T/code"
same "the closed loop takes its own" "$T/loop" "$T/code"
grep -o 'NB_STEP_LOOP_[A-Z]*' test/unit/test_loop_faults.c | sed 's/NB_STEP_//' |
	sort -u >"$T/faults"
same "and a fault is injected at each" "$T/loop" "$T/faults"
echo "1..$n"
