#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# What a job leaves in the store stays bounded: the coordinator deletes old images,
# entries of audit, replies, and records of communicators, and keeps the newest
# and what something names. A record that somebody deletes is made again.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "old keys in the store"
enter_store
PAUSE=0.5 # a look starts python3
store_of sweep
sweep() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/test/bench" \
		python3 "$TOP/test/integration/fleet_sweep.py" "$fleet" "$1"
}
sweep fill
NCCLBPF_FLEET=$fleet NCCLBPF_FLEET_AUDIT=100 serve sweep a b
env NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=sweep \
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --nodes 2 --procs --min 4M --max 32M \
	--seconds inf --pause-ms 5 --rank-env "1:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
job=$! jobs="$jobs $!"
left() { sweep count >why && grep -qx "$1" why; }
await left "images 129 newest True named True whole True"
ok "the newest images stay with their pieces, and the one that the desired state names" $?
await left "audit 100 newest True"
ok "the newest entries of audit stay, as many as NCCLBPF_FLEET_AUDIT says" $?
await left "reply/ 64" && await left "request/ 64"
ok "replies that nobody has fetched go, and requests that are damaged" $?
await left "order/record/ 102[45]" && await left "members/ 102[45]"
ok "records of communicators that are gone go, the job's own stays" $?
sweep ask
few() {
	sweep count >why && awk '
		$1 == "audit" { a = $2 }
		$1 == "reply/" { r = $2 }
		END { exit !(a && a <= 132 && r <= 96) }
	' why
}
await few
ok "40 more changes leave the store as large" $?

# The record of a living communicator is lost
P=$B/policies/size_aware.policy
run --fleet "$fleet" -J sweep policy use "$P"
ok "an image is stored and used afterwards" "$rc"
record() { ctl get --prefix --print-value-only $keys/order/record/ | grep -c '"state":"commit"'; }
[ "$(record)" -eq 1 ]
ok "the communicator has a record" $?
ctl del "$keys/order/record/$(ctl get --prefix --print-value-only $keys/site/ |
	sed -n 's/.*"comms":{"\([0-9a-f]*\)".*/\1/p' | head -1)" >/dev/null
rebuilt() { [ "$(record)" -eq 1 ]; }
await rebuilt
ok "it is made again of the sites' copies" $?
run --fleet "$fleet" -J sweep policy use "$B/policies/nvlink_ring_mid.policy"
ok "and the next change is committed" "$rc"
kill "$job"
wait "$job"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
