#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The examples with several communicators end as they say: canary, service
# level, tenants.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "examples" "the mock NCCL (standin) was not built"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] || skip_all "examples" "no clang at build time"
trap finish EXIT
for e in canary slo-guard tenants; do
	timeout 300 bash "$TOP/examples/$e/demo.sh" "$B" >"$T/out" 2>"$T/err"
	rc=$?
	cat "$T/out" "$T/err" >"$T/why"
	ok "$e" "$rc"
	case $e in
	canary) has "tells what it did" out "rolled_back: allreduce" \
		"were decided by the candidate" "ring-mid-canary: succeeded" ;;
	slo-guard) has "tells what it did" out "longer than 1ms, after" ;;
	tenants) has "tells what it did" out "only c0ffee0000000000: nvlink_ring_mid" \
		"only c0ffee0000000001: size_aware" ;;
	esac
done
