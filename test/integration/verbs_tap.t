#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The tap by itself: what programs are told, and that the caller gets what the
# adapter said; then the plugin's programs below a ring of processes. Without
# the shell, so that `make check-san` runs it under the sanitizers.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1

LD_LIBRARY_PATH="$B/ncclbpf:$V" timeout 300 "$V/tap_check" >"$T/sub" 2>&1
rc=$?
cp "$T/sub" "$T/all"
while IFS= read -r line; do
	cp "$T/all" "$T/why"
	case $line in
	"ok "*) ok "${line#*- }" 0 ;;
	"not ok "*) ok "${line#*- }" 1 ;;
	esac
done <"$T/sub"
cp "$T/all" "$T/why"
grep -q '^1\.\.78$' "$T/sub" && [ $rc -eq 0 ]
ok "tap_check has run to its end" $?

# NCCLBPF_VERBS opens the tap; the programs run in the ring's processes.
for policy in qp_watch step_latency qp_tune; do
	rm -f "$VHCA"
	timeout 300 env LD_LIBRARY_PATH="$V" NCCLBPF_POLICY="$B/examples/rdma/$policy.policy" \
		NCCLBPF_CHAIN_NET="$V/libnccl-net-verbs.so" NCCLBPF_VERBS=on \
		"$R" "$B/libncclbpf.so" --rounds 4 --bytes 40960 --log >"$T/ring" 2>"$T/err"
	rc=$?
	cat "$T/ring" "$T/err" >"$T/why"
	grep -q 'every sum is right' "$T/ring" && ! grep -q ' WARN ' "$T/err" && [ $rc -eq 0 ]
	ok "a ring of four processes with $policy: its sums are right" $?
done
