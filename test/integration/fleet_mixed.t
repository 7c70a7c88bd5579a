#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd,etcdctl
# A communicator of two hosts with NCCLBPF_POLICY, of which one host lacks NCCLBPF_FLEET: the other
# one names the missing ranks in its log, status and doctor. Without a store on any host the
# policy stays in force, and log and doctor say that nobody compares the hosts.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "hosts with and without a store"
enter_store
store_of mixed
NCCLBPF_JOB=mixed
export NCCLBPF_JOB
mkdir -m 700 a b
NCCLBPF_FLEET=$fleet NCCLBPF_AGENT_LISTEN=127.0.0.1 \
	"$B/ncclbpf-agent" --job mixed --dir "$T/a" >agent.a 2>&1 &
jobs=$!
rank() { # NUMBER SITE [FLEET]: one of four ranks, two on each of two hosts
	RANK=$1 WORLD_SIZE=4 NCCLBPF_FLEET=${3:-} NCCLBPF_LOG=info NCCL_DEBUG=INFO \
		NCCLBPF_POLICY="$B/policies/noop.policy" \
		NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/$2" \
		"$B/test/fakes/host/standin" --ranks 4 --nodes 2 --rank "$1" \
		--meet "$T/meet.$run_n" --min 4M --max 32M --seconds inf --pause-ms 5 \
		>"log.$run_n.$1" 2>&1 &
	ranks="$ranks $!"
	jobs="$jobs $!"
}
on() { # SITE ARGUMENTS: a shell on that host, which asks no store
	dir=$1
	shift
	NCCLBPF_FLEET='' NCCLBPF_SOCKET_DIR=$T/$dir run "$@"
}

# ---- one host has no NCCLBPF_FLEET ----
ranks='' run_n=1
rank 0 a "$fleet"
rank 1 a "$fleet"
rank 2 b
rank 3 b
missing="2 of 4 ranks have registered, on 1 site: ranks 2-3 have no ncclbpf, "
missing="${missing}no agent, or no NCCLBPF_FLEET"
warned() { grep -q "$missing" log.1.0; }
await warned
ok "the log of a host with the variable names the missing ranks" $?
cat log.1.0 log.1.2 agent.a >why
doctored() { on a doctor; grep -q "$missing" out; }
await doctored
ok "so does doctor" $?
on a -o table status
grep -q "$missing" out
ok "and status" $?
on a -o json comm list
grep -q "ranks 2-3 have no ncclbpf" out
ok "and comm list" $?
on b doctor
grep -q "nobody compares their policies" out
ok "the host without it says that nobody compares the hosts" $?
[ "$(grep -c "$missing" log.1.0)" -eq 1 ]
ok "the log says it once" $?
ends 2 unchangeable "a change" --fleet "$fleet" policy use "$B/policies/size_aware.policy"
kill $ranks
wait $ranks 2>/dev/null

# ---- no host has it ----
ranks='' run_n=2
for r in 0 1; do rank $r a; done
for r in 2 3; do rank $r b; done
decides() { on "$1" status; grep -q noop out; }
await decides a && await decides b
ok "without a store all hosts decide by NCCLBPF_POLICY" $?
compares() { [ "$(grep -c "nobody compares their policies" "log.2.$1")" -eq 1 ]; }
await compares 0 && await compares 2
ok "each process logs once that nobody compares the hosts" $?
on a doctor
[ "$(grep -c "nobody compares their policies" out)" -eq 2 ]
ok "doctor says so once for each process" $?
kill $ranks
wait $ranks
ok "the ranks have decided alike" $?
