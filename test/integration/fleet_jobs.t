#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900  needs: etcd
# A rollout over several jobs of a store: one job first, then the rest. A job that has
# passed keeps the candidate until all have passed, and all are promoted. A guard that
# a later job breaks takes the candidate from all jobs. So does the death of the runner.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "rollouts over jobs"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] ||
	skip_all "rollouts over jobs" "no clang at build time"
enter_store
tls_store
mkdir -m 700 a b c d e
plain=$TOP/test/fakes/vgpu/b300.csv
{ # one channel is 20 times slower
	grep '^collective' "$plain"
	awk -F, '$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }' "$plain"
	grep -v '^#\|^collective' "$plain"
} >slow.csv

# run_job NAME NODES DIR DIR2 TABLE: a job of two ranks in their socket directories
run_job() {
	NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
		NCCLBPF_AGENT_LISTEN=127.0.0.1 "$agents" "$1" "$T/$3" "$T/$4" >>log.agents 2>&1 &
	jobs="$jobs $!"
	NCCLBPF_JOB=$1 NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_SOCKET_DIR="$T/$3" timeout 500 "$B/test/fakes/host/standin" --ranks 2 \
		--nodes "$2" --procs --events --min 4M --max 16M --factor 4 --seconds 490 \
		--pause-ms 1 --table "$5" --rank-env "1:NCCLBPF_SOCKET_DIR=$T/$4" >"log.$1" 2>&1 &
	jobs="$jobs $!"
}
run_job llm-a 2 a b "$plain"
run_job llm-b 1 c c "$plain"
run_job old-c 2 d e slow.csv
registered() {
	[ "$("$etcd" ctl "$T/etcd" get --prefix --keys-only /ncclbpf/1/ |
		grep -c '/site/')" -eq 5 ] &&
		[ "$("$etcd" ctl "$T/etcd" get --prefix --print-value-only /ncclbpf/1/llm-a/comm/ |
			grep -c '"since":[1-9]')" -eq 2 ]
}
await registered
ok "three jobs on five sites" $?

# elsewhere ARGUMENTS: a shell on another host, which has no files of this one
elsewhere() {
	XDG_STATE_HOME=$T/there
	run "$@"
	XDG_STATE_HOME=$T/state
}
file_of() { echo "state/ncclbpf/rollouts/$1@$(uname -n).json"; } # JOB
runner_of() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runner"]["pid"])' \
		"$(file_of "$1")"
}
plan() { # NAME JOBS [FIELDS]
	cat >"$1.lua" <<END
return { name = "$1", jobs = $2, candidate = "$B/examples/rollout/one_channel.bpf.o",
	scope = { collectives = { "allreduce" }, sizes = "4M..32M" }, blocks = 10, samples = 10,
	judge = { confidence = 0.95, min_effect_pct = 25, looks = 1 },
	guards = { slower_pct = 400 }, $3 }
END
}
# has_policy JOB NAME: do all processes of the job have exactly this policy ("" for none)
has_policy() {
	run -J "$1" -o json status
	[ "$rc" -eq 0 ] && python3 - "$2" "$T/out" <<'END'
import json, sys
want = [sys.argv[1]] if sys.argv[1] else []
d = json.load(open(sys.argv[2]))
def find(x):
    if isinstance(x, dict):
        if "policies" in x: yield x["policies"]
        for v in x.values(): yield from find(v)
    elif isinstance(x, list):
        for v in x: yield from find(v)
found = [p or [] for p in find(d)]
sys.exit(not (found and all(list(p) == want for p in found)))
END
}

# ---- the plan ----
plan good '"llm-*"'
status 0 "a plan with a pattern of jobs" rollout plan good.lua
has "the plan says what happens to the jobs" out "llm-*: 1 job; then 100% of the jobs" \
	"all promote after the last step"
status 0 "its dry run" -n rollout start good.lua
has "the dry run names the jobs of each step" out "step 1: 1 job: llm-a" \
	"step 2: 2 jobs: llm-a, llm-b"
echo 'return { jobs = "llm-*", candidate = "none", steps = { { units = 1 } } }' >units.lua
status 64 "steps of communicators do not fit a plan with jobs" rollout plan units.lua
has "the message names the step" err "steps[1]: a plan with jobs has steps of jobs"
echo 'return { candidate = "none", steps = { { jobs = 1 } } }' >nojobs.lua
status 64 "nor steps of jobs a plan without" rollout plan nojobs.lua
echo 'return { jobs = "no-*", candidate = "none" }' >none.lua
run rollout start none.lua
[ "$rc" -ne 0 ] && grep -q 'no job matches "no-\*", there are: llm-a, llm-b, old-c' err
ok "a pattern without jobs is an error that names the jobs" $?

# ---- all pass ----
LIMIT_S=200 run -o json rollout start good.lua
cp out good.json
[ "$rc" -eq 0 ] && grep -q '"state": *"succeeded"' good.json
ok "a rollout over two jobs is promoted" $?
has_policy llm-a one_channel && has_policy llm-b one_channel
ok "both jobs have the candidate, on all sites" $?
has_policy old-c ""
ok "a job that the pattern does not match keeps its policies" $?
python3 - <<'END'
import glob, json, sys
r = json.load(open("good.json"))
r = r.get("data", r)
kids = {}
for f in glob.glob("state/ncclbpf/rollouts/llm-*.json"):
    k = json.load(open(f))
    kids[k["job"]] = k
def when(events, words):
    return min(e["time"] for e in events if words in e["reason"])
step2 = when(r["events"], "step 2 of 2")
assert when(kids["llm-a"]["events"], "keeps the candidate until all jobs") <= step2
assert when(kids["llm-b"]["events"], "started") >= step2
for k in kids.values():
    assert k["of"] == r["id"] and k["state"] == "succeeded", k["state"]
    kept = when(kids["llm-b"]["events"], "keeps the candidate until")
    assert when(k["events"], "asked to promote") >= kept
END
ok "the second job began when the first had passed, and both were promoted after that" $?
status 0 "rollout jobs shows it" -o json rollout jobs good
has "with each job's state" out '"job":"llm-a"' '"state":"succeeded"'
status 0 "undone in one job" -J llm-a rollout undo
status 0 "and in the other" -J llm-b rollout undo

# ---- a guard is broken in the second job ----
plan bad '{ "llm-a", "old-c" }'
LIMIT_S=200 run -o json rollout start bad.lua
cp out bad.json
[ "$rc" -ne 0 ] && grep -q '"state": *"rolled_back"' bad.json &&
	grep -q 'job old-c: rolled_back: .*slower by' bad.json
ok "a guard of the second job ends the rollout" $?
grep -q 'keeps the candidate until all jobs' "$(file_of llm-a)"
ok "although the first job had passed" $?
has_policy llm-a "" && has_policy old-c ""
ok "no job has the candidate" $?
grep -q '"state":"rolled_back"' "$(file_of llm-a)"
ok "the first job's rollout says that it was rolled back" $?

# ---- the runner is killed ----
late='steps = { { jobs = 1 }, { jobs = "100%", bake = "600s" } }'
plan killed '"llm-*"' "$late"
status 0 "a rollout in the background" rollout start killed.lua follow=no
first_runs() {
	run -o json rollout jobs killed
	grep -q '"state": *"passed"' out
}
await first_runs
ok "its first job has passed" $?
kill -9 "$(runner_of all.killed)"
ended() {
	run -o json rollout jobs killed
	grep -q '"state":"rolled_back"' "$(file_of all.killed)" &&
		grep -q "the rollout's runner died" out
}
await ended
ok "its supervisor ends it" $?
has_policy llm-a "" && has_policy llm-b ""
ok "and no job keeps the candidate" $?

# ---- another host shows it; its runner and supervisor are killed ----
plan lost '"llm-*"' "$late, block_timeout = \"5s\""
sed -i 's/slower_pct = 400/slower_pct = 400, lost = "15s"/' lost.lua
status 0 "one more in the background" rollout start lost.lua follow=no
tries() {
	elsewhere -o json rollout jobs lost
	grep -q '"state": *"passed"' out && has_policy llm-b one_channel
}
await tries
ok "another host shows the states of its jobs" $?
elsewhere -o tsv rollout list
grep -q "^llm-\*	lost	progressing" out &&
	[ "$(grep -c '^llm-[ab]	lost	progressing' out)" -eq 2 ]
ok "and lists it with its jobs" $?
elsewhere list
! grep -q 'all\.' out
ok "a rollout over jobs is no job" $?
pid=$(runner_of all.lost)
# shellcheck disable=SC2046
kill -STOP $(ps -o pid= --ppid "$pid" | head -1) &&
	kill -9 "$pid" $(ps -o pid= --ppid "$pid" | head -1)
elsewhere -o table rollout jobs lost
restored() { has_policy llm-a "" && has_policy llm-b ""; }
await restored
ok "without them, each job's runner takes the candidate back" $?
elsewhere -J llm-b -o table rollout status
has "and says why" out "rolled_back" "nobody runs rollout lost-"
elsewhere -o table rollout jobs lost
has "the other host says that the runner has gone" out \
	"progressing, but the runner, process $pid, is gone"

# ---- the runners of all jobs die when the promotion begins ----
plan begun '"llm-*"' 'block_timeout = "5s"'
sed -i 's/slower_pct = 400/slower_pct = 400, lost = "5s"/' begun.lua
python3 "$TOP/test/integration/fleet_runner.py" "$etcd" "$T/etcd" /ncclbpf/1/all.begun/rollout \
	'"state":"promoting"' "$(file_of all.begun)" "$S" rollout start begun.lua follow=no \
	>lost.out 2>&1
ok "the runner of another one dies when all jobs have passed" $?
promoted() {
	grep -q '"state":"succeeded"' "$(file_of llm-a)" &&
		grep -q '"state":"succeeded"' "$(file_of llm-b)"
}
await promoted
has_policy llm-a one_channel && has_policy llm-b one_channel
ok "and each job's runner promotes it" $?
elsewhere -J llm-a rollout undo
elsewhere -J llm-b rollout undo

# ---- and the runners of the jobs die with it ----
plan both '"llm-*"' 'block_timeout = "5s"'
sed -i 's/slower_pct = 400/slower_pct = 400, lost = "5s"/' both.lua
python3 "$TOP/test/integration/fleet_runner.py" "$etcd" "$T/etcd" /ncclbpf/1/all.both/rollout \
	'"state":"promoting"' "$(file_of all.both),$(file_of llm-a),=$(file_of llm-b)" "$S" \
	rollout start both.lua follow=no >lost.out 2>&1
ok "the runners of the rollout and of both jobs die, and all their supervisors but one" $?
gone() { ! "$etcd" ctl "$T/etcd" get --prefix --keys-only /ncclbpf/1/llm-a/guard/ | grep -q .; }
await gone
ok "the first job has no guard when its runner's lease has ended" $?
succeeded() { grep -q '"state":"succeeded"' "$(file_of llm-b)"; }
await succeeded
grep -q "the rollout's runner died; its supervisor promoted the candidate" "$(file_of llm-b)"
ok "the supervisor of the second job promotes it" $?
has_policy llm-a one_channel && has_policy llm-b one_channel
ok "both jobs have the candidate" $?
elsewhere -J llm-a rollout abort
elsewhere -J llm-b rollout undo
has_policy llm-a "" && has_policy llm-b ""
ok "and lose it when an operator says so" $?

# ---- the runner of one job is killed ----
plan alone '"llm-*"' "$late"
status 0 "another one" rollout start alone.lua follow=no
first_runs() {
	run -o json rollout jobs alone
	grep -q '"state": *"passed"' out
}
await first_runs
kill -9 "$(runner_of llm-a)"
ended() {
	run -o json rollout jobs alone
	grep -q '"state":"rolled_back"' "$(file_of all.alone)" &&
		grep -q "job llm-a: paused: the rollout's runner died" out
}
await ended
ok "the death of one job's runner ends the rollout of all" $?
has_policy llm-a "" && has_policy llm-b ""
ok "and all sites of all jobs have their baselines" $?
