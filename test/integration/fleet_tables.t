#!/bin/sh
# SPDX-License-Identifier: MIT
# A sweep over the two sites of a job: its candidates are changes of all ranks, and
# both sites have their baseline again at the end.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a sweep over sites"
enter_store
"$etcd" start "$T/etcd" members=1 tls
ok "a store" $?
NCCLBPF_FLEET=$(cat etcd/endpoints)
NCCLBPF_JOB=tables XDG_STATE_HOME=$T/state
NCCLBPF_FLEET_CACERT=$T/etcd/ca.pem NCCLBPF_FLEET_CERT=$T/etcd/ncclbpf-control.pem
NCCLBPF_FLEET_KEY=$T/etcd/ncclbpf-control.key
export NCCLBPF_FLEET NCCLBPF_JOB XDG_STATE_HOME NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY
mkdir -m 700 a b
{ # one channel is 20 times slower from 4 MiB on
	grep '^collective' "$TOP/test/fakes/vgpu/b300.csv"
	awk -F, '$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }' "$TOP/test/fakes/vgpu/b300.csv"
	grep -v '^#\|^collective' "$TOP/test/fakes/vgpu/b300.csv"
} >times.csv
NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key NCCLBPF_AGENT_LISTEN=127.0.0.1 \
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" timeout 300 "$B/test/fakes/host/standin" \
	--ranks 4 --nodes 2 --procs --events --min 1M --max 64M --factor 8 --seconds 280 --pause-ms 1 \
	--table times.csv --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
job=$! jobs=$!
registered() {
	[ "$("$etcd" ctl "$T/etcd" get --prefix --print-value-only /ncclbpf/1/tables/comm/ | grep -c '"since":[1-9]')" -eq 2 ]
}
await registered
ok "two sites run the job" $?
# using POLICIES: the policies of all four ranks, and no table of a sweep is held
using() {
	run -o tsv comm list
	awk -F '\t' -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += ($h["policies"] != want) } END { exit bad || n != 4 }' out || return 1
	run -q -o name policy list
	! grep -q '^sweep-' out
}
cat >plan.lua <<'END'
return { scope = { collectives = { "allreduce" }, sizes = "8M..64M" }, algos = { "ring" }, protos = { "ll128", "simple" },
	channels = { 0, 1 }, rounds = 8, samples = 10, guards = { slower_pct = 100 }, label = "times are replayed" }
END
decided() { "$S" -o json comm show | grep -q '"bytes_from":67108864'; }
await decided
LIMIT_S=200 run -o table sweep start plan.lua out=best.csv
cp out sweep.out
[ "$rc" -eq 0 ]
ok "a sweep over both sites" $?
has "finds what is replayed" sweep.out "better" "ring/" "faster by" "the job has its baseline again"
has "the guard ends the trial with one channel" sweep.out "left out: allreduce 64M ring/simplex1: allreduce 64M of" "slower by"
await using "[]"
ok "the baseline is in use on both sites, no table is held" $?
status 0 "the table found is used on both sites" policy use best.csv
await using best
ok "by all ranks" $?
status 0 "and they agree" check agreement
kill "$job"
wait "$job"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
