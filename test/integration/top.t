#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# `top` on a terminal of 80 columns and 24 rows: what it shows of a job with two
# communicators, its keys, new sizes, and the terminal after q and after signals.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "top" "the mock NCCL (standin) was not built"
[ -e "$B/examples/parameters/limits.bpf.o" ] || skip_all "top" "no clang at build time"
py=python3
$py -c 'import pyte' 2>/dev/null || py=/usr/bin/python3 # Debian's
$py -c 'import pyte' 2>/dev/null || skip_all "top" "no python3-pyte"
trap finish EXIT
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=train NCCLBPF_POLICY=$B/policies/force.policy \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --groups 2 --events \
	--seconds inf --pause-ms 2 --nccl 2.28.9 --min 4K --max 4M \
	--factor 1024 >"$T/job.out" 2>&1 &
job=$!
jobs="$jobs $job"
await timeout 300 "$S" -q attach train >/dev/null 2>&1
need "a job: train" $?
run -J train telemetry on
status 64 "an interval that is none" -J train top every=soon
ends 64 usage "without a terminal" -J train top
timeout 300 $py "$TOP/test/integration/top_screen.py" "$S" "kill $job" \
	"$B/test/corpus/answers/unusable.policy" "$B/examples/parameters/limits.bpf.o" \
	>"$T/top.out" 2>"$T/why"
rc=$?
sed -n 's/^\(\(not \)\{0,1\}ok\) [0-9]* - /\1 - /p; /^#/p' "$T/top.out" | while read -r line; do
	echo "$line"
done >"$T/lines"
while IFS= read -r line; do
	case $line in
	ok*) ok "${line#ok - }" 0 ;;
	not*) ok "${line#not ok - }" 1 ;;
	*) echo "$line" ;;
	esac
done <"$T/lines"
ok "all of it was tried" $rc
