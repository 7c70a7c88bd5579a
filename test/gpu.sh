#!/bin/sh
# SPDX-License-Identifier: MIT
# gpu.sh BUILD: all that wants a real GPU, in at most 8 minutes: the suites gpu, gpu_more and
# gpu_torch, and what ncclbpf costs at 1 KiB and at 64 KiB (bench/gpu.sh). It prints their figures.
set -u
[ -c /dev/nvidia0 ] || {
	echo "skipped: there is no GPU"
	exit 0
}
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit 1
CHANGES=${CHANGES:-1000} timeout 300 test/run -a -b "$B" =gpu =gpu_more =gpu_torch
rc=$?
cat "$B"/test/log/gpu.log "$B"/test/log/gpu_more.log "$B"/test/log/gpu_torch.log | grep '^#'
for size in 1K 64K; do
	SIZE=$size ROUNDS=2 SECONDS_EACH=3 timeout 90 test/bench/gpu.sh "$B" || rc=1
done
exit $rc
