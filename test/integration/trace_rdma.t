#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# trace rdma where the kernel does not allow it, or has no InfiniBand. What it shows
# where it does is tested in a virtual machine (test/packaging/demo_rdma.t).
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "trace rdma" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=plain \
	timeout 0 "$B/test/fakes/host/standin" --events --seconds inf --ranks 2 --procs --min 4K \
	--max 4M --factor 1024 --pause-ms 5 >"$T/plain.out" 2>&1 &
jobs=$!
await timeout 300 "$S" -q attach plain >/dev/null 2>&1
need "a job: plain" $?
status 64 "a wrong duration" -J plain trace rdma seconds=soon
if command -v setpriv >/dev/null &&
		setpriv --bounding-set=-all --inh-caps=-all true 2>/dev/null; then
	setpriv --bounding-set=-all --inh-caps=-all timeout 300 "$S" \
		-J plain trace rdma seconds=300ms out=t.json >out 2>err
	[ $? -eq 65 ]
	ok "without permission it is refused" $?
	has "what is missing is named, and what needs no permission" err "missing: CAP_SYS_ADMIN" \
		"verbs has the counters of the tap"
	[ ! -e t.json ]
	ok "no file is begun" $?
fi
if [ ! -e /sys/module/ib_core ] && [ "$(id -u)" -eq 0 ]; then
	ends 65 not_supported "a kernel without InfiniBand" -J plain trace rdma seconds=300ms
fi
run -J plain -o json trace status
cp "$T/out" "$T/why"
grep -q '"traces":0' "$T/out" && ! grep -q '"traces":[1-9]' "$T/out"
ok "no trace is left behind" $?
