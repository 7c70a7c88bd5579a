#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD: every benchmark of a release build, as ratios from one run.
set -eu
B=$1
echo "machine: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) CPUs, $(uname -sr)"
echo
echo "one decision through getCollInfo (tuner v5), batches in turns:"
"$B/test/bench/decision" "$B/test/bench/empty_tuner.so" "$B/libncclbpf.so" \
	"$B/policies/noop.policy" "$B/policies/size_aware.policy" \
	"$B/policies/slo_enforcer.policy"
echo
echo "one run of a program: native code, machine code, interpreter:"
"$B/test/bench/exec_bench" "$B"/policies/*.policy
if [ -x "$B/test/bench/map_bench" ]; then
	echo
	echo "maps:"
	"$B/test/bench/map_bench"
fi
