#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# A job whose library is RCCL: the mock NCCL asks and reports as RCCL 2.27.7 does.
. "$TOP/test/integration/shm_room.sh"
shm_room "RCCL" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/librccl.so.1" ] || skip_all "RCCL" "the mock RCCL was not built"
trap finish EXIT
cd "$T" || exit 1
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so
standin() { timeout $HANG "$B/test/fakes/host/standin" --rccl --procs --events "$@"; }

# ---- its log, whose levels have other numbers than NCCL's ----
NCCLBPF_CHAIN_TUNER=/nowhere/tuner.so NCCL_DEBUG=INFO standin --ranks 2 --max 1K >log 2>&1
has "a warning is one" log " WARN ncclbpf: NCCLBPF_CHAIN_TUNER: the tuner /nowhere/tuner.so"
has "information is no warning" log " INFO ncclbpf: opening the tuner /nowhere/tuner.so"
NCCLBPF_CHAIN_TUNER=/nowhere/tuner.so NCCL_DEBUG=WARN standin --ranks 2 --max 1K >log 2>&1
[ "$(grep -c " ncclbpf: " log)" = 2 ] && ! grep -qv " WARN " log
ok "NCCL_DEBUG=WARN shows the warning of each rank alone" $?

# ---- a wrapped plugin may have RCCL's name ----
cp "$B/test/fakes/wrapped/tuner_v4.so" librccl-tuner-mine.so
LD_LIBRARY_PATH=$T NCCLBPF_CHAIN_TUNER=mine NCCL_DEBUG=INFO standin --ranks 2 --max 1K >log 2>&1
grep -q "the tuner .*/librccl-tuner-mine.so (.*interface v4) is called first" log
ok "it is found by it" $?

# ---- its constants are not NCCL's ----
export NCCLBPF_CHAIN_TUNER=$B/test/fakes/wrapped/tuner_v5.so
CHAIN_DOES=edit NCCL_DEBUG=INFO standin --nccl 2.30.7 --ranks 2 --max 1K >log 2>&1
has "the log warns of a wrapped tuner that edits them" log "constant 143 edited" \
	" WARN ncclbpf: the tuner $NCCLBPF_CHAIN_TUNER has edited RCCL's constants"
CHAIN_DOES=edit_rccl NCCL_DEBUG=INFO standin --nccl 2.30.7 --ranks 2 --max 1K >log 2>&1
has "also of those that only RCCL has" log "constant 159 edited" \
	" WARN ncclbpf: the tuner $NCCLBPF_CHAIN_TUNER has edited RCCL's constants"
CHAIN_DOES=fail_rccl NCCL_DEBUG=INFO standin --nccl 2.30.7 --ranks 2 --max 1K >log 2>&1
! grep -q edited log && grep -q "plugin returned 3" log
ok "one whose init fails leaves them as they were" $?
NCCL_DEBUG=INFO standin --nccl 2.30.7 --ranks 2 --max 1K >log 2>&1
! grep -q edited log && grep -q "interface v5) is called first" log
ok "one that does not is not" $?
unset NCCLBPF_CHAIN_TUNER

# ---- a job ----
NCCLBPF_JOB=amd timeout 0 "$B/test/fakes/host/standin" --rccl --procs --events --ranks 2 \
	--seconds inf --pause-ms 20 --min 256K --max 4M --factor 4 --coll allreduce,reducescatter \
	--report ran >amd.out 2>&1 &
amd=$!
jobs="$jobs $amd"
export NCCLBPF_JOB=amd
# seen: has the job made more than eight decisions?
seen() { "$S" -q -o json decision tail count=64 | grep -qE '"seq":([89]|[1-9][0-9]+),'; }
await seen

# ---- what it runs without a policy is not known ----
status 0 "status" -o table status
has "names the library" out "RCCL 2.27.7"
status 0 "its own choice" -o table explain reducescatter 1M
has "is the table's" out "cheapest of RCCL's cost table" "ring/simple" \
	"RCCL changes the protocol of its own choice after it has asked the tuner: what it runs"
status 0 "for each size" -o table choices reducescatter
has "choices, too" out "what it runs where no policy answers is not known"
ran_other() { grep -q '"coll":"reducescatter","bytes":1048576,.*"runs":"ring/ll"' ran; }
await ran_other
ok "it runs something else" $?
status 0 "recorded decisions" -o json decision tail count=8
has "say so" out '"rccl":true'
printf 'allreduce,0,-1,ring,simple,100,-1,-1\n' >wide.csv
status 0 "decisions once more" -o table policy simulate none
has "are not known either" out "note: RCCL changes the protocol of its own choice"
run -o table policy simulate wide.csv
has "more channels than NCCL has" out "ring/simple x100"

# ---- doctor ----
run -o json doctor
has "knows RCCL, without a policy" out '"name":"rccl"' "the library is RCCL 2.27.7: no policy is" \
	"the profiler identifies communicators"

# ---- it has up to 128 channels ----
status 0 "a table of 100 channels" policy load wide.csv
status 0 "is used, because the profiler names the communicator" policy use wide
ran_wide() { grep -q '"coll":"allreduce".*"channels":100,"runs":"ring/simple"' ran; }
await ran_wide
ok "RCCL runs with them" $?
status 0 "and so it is recorded" -o json decision tail count=16
has "channels, too" out '"channels":100'
status 0 "a policy's answer" -o table explain allreduce 1M
has "is known" out "by wide"
! grep -q "RCCL changes" out
ok "so nothing is said" $?
status 0 "for each size" -o table choices allreduce
! grep -q "RCCL changes" out
ok "nothing is said either" $?
ticks() { run -o json doctor; grep -q "a tick of RCCL's GPU clock is 10 ns" out; }
run telemetry on
await ticks
ok "the tick of its GPU clock was measured" $?
by_gpu() { run -o json stats; grep -q '"source":"kernel_gpu"' out; }
await by_gpu
ok "and the GPU times kernels" $?

# ---- a policy of channels alone leaves the protocol to RCCL ----
status 0 "channels alone" policy load "$B/test/corpus/answers/two_channels.policy"
status 0 "in use" policy use two_channels
ran_two() { grep -q '"coll":"reducescatter","bytes":1048576,.*"channels":2,"runs":"ring/ll"' ran; }
await ran_two
ok "RCCL runs its own protocol on two channels" $?
status 0 "which is explained" -o table explain reducescatter 1M
has "as not known" out "by two_channels" "RCCL changes the protocol of its own choice"
status 0 "for each size" -o table choices reducescatter
has "also" out "x2" "two_channels" "what it runs where no policy answers is not known"
two_recorded() { run -o json decision tail count=8; ! grep -q '"by":"wide"' out; }
await two_recorded
run -o table policy simulate "$B/test/corpus/answers/two_channels.policy"
has "nor is it where decisions are repeated" out "note: RCCL changes the protocol of its own choice"

# ---- a rollout ----
export XDG_STATE_HOME="$T/state"
echo 'return { candidate = "none", blocks = 10 }' >try.lua
status 0 "a rollout without a policy on one side" rollout start try.lua follow=no
run -o table rollout status
has "says what its times are" out "note: RCCL changes the protocol of its own choice" \
	"those of what RCCL ran"
run rollout abort
over() { run -o json rollout status; ! grep -q '"running":true' out; }
await over

# ---- the segment of one that was killed ----
status 0 "no policy any more" policy use none
at_last() { "$S" -q -o json decision tail count=1 | grep -q '"by":null'; }
await at_last
pids=$(ls s | sed -n 's/^amd\..*\.\([0-9]*\)\.sock$/\1/p')
lose $(pgrep -P "$amd") $amd $pids
wait $amd 2>/dev/null
await all_ended $pids
run -o table policy simulate none segment=s/amd.seg
has "is RCCL's, too" out "note: RCCL changes the protocol of its own choice"
