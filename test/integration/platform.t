#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Facts about the hosts in the tuner's context, in jobs of the mock NCCL: all ranks see the same
# ones, "mixed" where ranks differ, and none where they share no segment. Commands print them, and
# offline runs take them. The job ends with status 3 if ranks decide differently.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "facts about hosts" "the mock NCCL (standin) was not built"
policy=$B/test/corpus/answers/by_gpu_arch.policy
[ -e "$B/test/corpus/answers/by_gpu_arch.bpf.o" ] ||
	skip_all "facts about hosts" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
mkdir -m 700 other

start() { # JOB ARGS...
	this=$1
	shift
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO \
		NCCLBPF_POLICY=$policy timeout 0 "$B/test/fakes/host/standin" --procs \
		--ranks 4 --seconds inf --pause-ms 2 --min 4M --max 4M "$@" >"$this.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await decides
	need "a job: $this" $?
}
decides() { # all ranks that the shell reaches, by the policy
	run -J "$this" -o json decision tail count=1
	[ "$(grep -o '"by":"by_gpu_arch"' out | wc -l)" -eq "${reached:-4}" ]
}
channels() { # N NAME: do all ranks that the shell reaches ask for N channels
	run -J "$this" -o json decision tail count=1
	[ "$(grep -o '"answer":{"algo":"ring","proto":"simple","channels":[0-9]*' out |
		sort -u | sed 's/.*://')" = "$1" ]
	ok "$2" $?
}
stop() {
	kill -TERM "$job"
	wait "$job"
	rc=$?
	[ "$rc" -ne 3 ]
	ok "and they decided alike at each collective" $?
}
facts=gpus_per_node=8,nics=8,nic_mbps=400000

# ---- ranks that agree ----
NCCLBPF_PLATFORM=gpu_arch=90,$facts start same
channels 5 "ranks that agree see the fact"
has "the records have it" out '"gpu_arch":90,"gpus_per_node":8,"nics":8,"nic_mbps":400000' \
	'"ranks_per_node":4,'
status 0 "comm show" -J same -o table comm show
has "names them" out ", gpu_arch 90, gpus_per_node 8, nics 8, nic_mbps 400000"
run -J same -o json comm show
has "also for programs" out '"gpu_arch":90,' '"ranks_per_node":4,'
run -J same -o table explain allreduce 4M
has "explain names them" out "all ranks: gpu_arch 90, gpus_per_node 8" "gpu_arch (90)"
status 0 "what was recorded decides alike" -J same policy simulate "$policy"
pids=$(ls s | sed -n 's/^same\..*\.\([0-9]*\)\.sock$/\1/p')
lose $(pgrep -P "$job") $job $pids
wait "$job"
await all_ended $pids
status 0 "also from the segment of a job that was killed" \
	policy simulate "$policy" segment=s/same.seg

# ---- ranks that differ ----
NCCLBPF_PLATFORM=gpu_arch=90,$facts start differ --rank-env "2:NCCLBPF_PLATFORM=gpu_arch=80,$facts"
channels 3 "ranks that differ see it, all of them"
run -J differ -o table comm show
has "and what is the same for all" out ", gpu_arch mixed, gpus_per_node 8, nics 8"
run -J differ -o table explain allreduce 4M
has "explain says so" out "all ranks: gpu_arch mixed, gpus_per_node 8" "gpu_arch (mixed)"
stop

# ---- two hosts, as NCCL counts them ----
NCCLBPF_PLATFORM=gpu_arch=90,$facts start nodes --nodes 2
channels 5 "ranks of two hosts that share a segment see the fact"
run -J nodes -o json comm show
has "and their number on a host" out '"ranks_per_node":2,'
stop
reached=2
NCCLBPF_PLATFORM=gpu_arch=90,$facts start hosts --nodes 2 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/other" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/other"
channels 2 "ranks of two hosts that share none know nothing"
run -J hosts -o table comm show
! grep -q "gpu_arch [0-9m]" out
ok "and nothing is shown" $?
stop
reached=3
NCCLBPF_PLATFORM=gpu_arch=90,$facts start private --nodes 2 --rank-env "1:NCCLBPF_JOB=apart"
channels 2 "nor do they if one rank has no part in the segment"
stop
reached=4

# ---- the variable ----
NCCLBPF_PLATFORM=gpu_arch=h100,nics=8 start wrong
has "a wrong value is named" wrong.out 'NCCLBPF_PLATFORM: "gpu_arch=h100" is ignored; allowed are' \
	'nic_mbps=N, where N is a whole number from 0 to 4294967294'
run -J wrong -o json comm show
has "and the rest stands" out '"nics":8,'
stop

# ---- offline ----
cat >platform_test.lua <<E
return { policy = "$policy",
	{ name = "unknown", context = { coll = "allreduce", bytes = "4M" },
		answer = { algo = "ring", proto = "simple", channels = 2 } },
	{ name = "known", context = { coll = "allreduce", bytes = "4M", gpu_arch = 942 },
		answer = { algo = "ring", proto = "simple", channels = 4 } },
	{ name = "mixed", context = { coll = "allreduce", bytes = "4M", gpu_arch = "mixed" },
		answer = { algo = "ring", proto = "simple", channels = 3 } } }
E
status 0 "policy test takes facts" policy test platform_test.lua
status 0 "so does a grid" -o json policy run "$policy" \
	'over={coll=allreduce, bytes=4M, nodes=1, gpu_arch={0,90,942,mixed}}'
[ "$(grep -o '"channels":[2-5]' out | sort -u | tr -d '\n')" = \
	'"channels":2"channels":3"channels":4"channels":5' ]
ok "with each of its values" $?
fails 64 usage "a word that is no fact" policy run "$policy" 'over={gpu_arch=fast}'
messages
