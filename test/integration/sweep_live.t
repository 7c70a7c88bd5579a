#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Sweeps on a job of the stand-in that replays times: the best table found, a
# candidate stopped by the guard, the baseline again after the end, an abort from
# another shell, Ctrl-C and a shell that was killed.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "sweep on a job" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
# one channel is 20 times slower from 4 MiB on
{
	echo collective,algorithm,protocol,channels,bytes,busbw_gbs
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' "$TOP/test/fakes/vgpu/b300.csv"
	grep -v '^#\|^collective' "$TOP/test/fakes/vgpu/b300.csv"
} >times.csv
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=one \
	timeout 0 "$B/test/fakes/host/standin" --ranks 4 --procs --events --seconds inf \
	--pause-ms 1 --min 1M --max 64M --factor 8 --table times.csv >one.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach one >/dev/null 2>&1
need "a job: one" $?
export NCCLBPF_JOB=one
using() { # NAMES: the policies in use are these, and no table of a sweep is held
	run -o json status
	grep -q "\"policies\":\[$1\]" out || return 1
	run -q -o name policy list
	! grep -q '^sweep-' out
}

fails 1 not_found "no sweep yet" sweep status
cat >plan.lua <<'E'
return { scope = { collectives = { "allreduce" }, sizes = "8M..64M" }, algos = { "ring" },
	protos = { "ll128", "simple" }, channels = { 0, 1 }, rounds = 8, samples = 10,
	guards = { slower_pct = 100 }, label = "times are replayed" }
E
decided() { "$S" -o json comm show | grep -q '"bytes_from":67108864'; }
await decided
status 0 "a dry run" -n sweep start plan.lua
has "says what would be tried, of what NCCL offers" out \
	"ring/ll128, ring/ll128x1, ring/simple, ring/simplex1" "now nvls/simple" \
	"8 rounds of up to 5" "the baseline again"
sed 's/rounds = 8/rounds = 4/' plan.lua >short.lua
fails 64 bad_argument "too few rounds to be sure of anything" sweep start short.lua
sed 's/"ring"/"pat"/' plan.lua >pat.lua
fails 2 refused "what NCCL does not offer" sweep start pat.lua

run -o table sweep start plan.lua out=best.csv
[ "$rc" -eq 0 ]
ok "a sweep" $?
has "finds what is replayed" out "better" "ring/" "faster by" "times are replayed" \
	"the job has its baseline again"
has "the guard ends the trial with one channel" out \
	"left out: allreduce 64M ring/simplex1: allreduce 64M of" "slower by" "collectives"
grep -q '^allreduce,8388608,.*,ring,' best.csv && ! grep -v '^#' best.csv | grep -q ',1,1,4$'
ok "a table of it" $?
using ""
ok "the baseline is in use, no table is held" $?
status 0 "ranks agree" check agreement
status 0 "policy load takes the table" policy load best.csv
status 0 "and use" policy use best
status 0 "status" sweep status
has "says it is done" out "done"

# ---- behind what is in use; ended in each way ----
sed -e 's/rounds = 8/rounds = 300/' \
	-e 's/, "simple" }, channels = { 0, 1 }/ }, channels = { 0, 2 }/' plan.lua >long.lua
started() { # with a table of its own in use; never if its shell has ended
	"$S" -o json status | grep -q "\"policies\":\[\"best\",\"sweep-" && return
	case $(ps -o stat= -p "$shell") in '' | Z*) return $NEVER ;; esac
	return 1
}
runner() { # the PID of the process that sweeps
	run -o json sweep status
	lua_run -e 'print(require "ncclbpf.core".decode(io.read "a").data.pid)' <out
}
"$S" sweep start long.lua >long.out 2>&1 &
shell=$!
await started
ok "a table behind the baseline" $?
runner=$(runner)
[ "$runner" != $shell ]
ok "by a process of its own" $?
fails 75 busy "no second one beside it" sweep start plan.lua
status 0 "abort, from another shell" sweep abort
has "is asked for" out "process $runner was asked to end the sweep"
wait $shell
[ $? -eq 3 ]
ok "it ends without a verdict" $?
using '"best"'
ok "with the baseline" $?

"$S" sweep start long.lua >long.out 2>&1 &
shell=$!
await started
kill -INT $shell
wait $shell
[ $? -eq 130 ]
ok "Ctrl-C" $?
using '"best"'
ok "puts the baseline back" $?

"$S" sweep start long.lua >long.out 2>&1 &
shell=$!
await started
kill -9 $shell
wait $shell 2>/dev/null
run -o json sweep status
has "a sweep goes on without the shell that started it" out '"state":"running"' '"running":true'
kill -9 "$(runner)"
rescued() { "$S" sweep status | grep -q 'its supervisor restored the baseline'; }
await rescued
ok "a runner that was killed has a supervisor" $?
using '"best"'
ok "which puts the baseline back" $?
status 0 "abort where nobody runs it" sweep abort
has "is harmless" out "the job has its baseline"

sed 's/rounds = 300/rounds = 12/' long.lua >short.lua
status 0 "a sweep that nobody follows" sweep start short.lua follow=no
status 0 "is followed later" -o table sweep status follow=yes
has "to its end" out "comparisons" "the job has its baseline again"
using '"best"'
ok "and leaves the baseline" $?

"$S" -o table sweep start long.lua >long.out 2>&1 &
shell=$!
await started
# the sweep may be in the middle of a change of its own: then this one is refused
ours() { run policy use none && [ "$rc" -eq 0 ]; }
await ours
wait $shell
[ $? -eq 3 ]
ok "a change by somebody else ends it" $?
using ""
ok "and stays" $?
grep -q 'was made by another user or shell, and stays in place' long.out
ok "which is said" $?
status 0 "ranks agree at the end" check agreement

# ---- the example ----
kill $jobs 2>/dev/null
sh "$TOP/examples/nightly-sweep/demo.sh" "$B" >night.out 2>&1
ok "two nights of the example" $?
from="test/fakes/vgpu/b300.csv (published figures of 8 x B300)"
has "its table says that the times are replayed" night.out \
	"# Times are not measured: replayed from $from." \
	"allreduce,16777216,33554431,ring,ll128,-1,1,8" "night two"
has "which the second night finds again" night.out "equal in maps and instructions"
messages
