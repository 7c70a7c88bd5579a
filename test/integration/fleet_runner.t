#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# A rollout of a job of several hosts whose runner is lost with its supervisor, as if their host
# were lost: another host shows it, the agents take the candidate back, and any host continues it.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "rollouts of lost runners"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] ||
	skip_all "rollouts of lost runners" "no clang at build time"
enter_store
PAUSE=0.3
tls_store llm
XDG_STATE_HOME=$T/here
NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
	NCCLBPF_AGENT_LISTEN=127.0.0.1 serve llm a b
NCCLBPF_JOB=llm NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --nodes 2 --procs --events --min 4M \
	--max 16M --factor 4 --seconds inf --pause-ms 2 --table "$TOP/test/fakes/vgpu/b300.csv" \
	--rank-env "1:NCCLBPF_SOCKET_DIR=$T/b" >log.llm 2>&1 &
jobs="$jobs $!"
await registered
need "a job on two sites" $?

plan() { # NAME [LOST]: LOST is how long the runner's lease lasts
	cat >"$1.lua" <<END
return { name = "$1", candidate = "$B/examples/rollout/one_channel.bpf.o",
	scope = { collectives = { "allreduce" }, sizes = "4M..32M" }, blocks = 5, samples = 10,
	steps = { { fraction = 1.0, bake = "600s" } },
	judge = { confidence = 0.9, min_effect_pct = 25, looks = 1 },
	guards = { slower_pct = 400, lost = "${2:-600s}" } }
END
}
# elsewhere ARGUMENTS: a shell on another host, which has no files of this one
elsewhere() {
	XDG_STATE_HOME=$T/there
	run "$@"
	XDG_STATE_HOME=$T/here
}
fields() { # LIST: fields of the record d in the store, with tabs between them
	ctl get --print-value-only "$data/rollout" | lua_run -e '
		local d = require "ncclbpf.core".decode(io.read "a") or {}
		print('"$1"')' 2>>"$T/said"
}
decides() { # NAME: do all processes of both sites decide with this policy ("" for none)
	run -J llm -o json status
	[ "$(grep -o '"policies":\[[^]]*\]' out | sort -u)" = "\"policies\":[${1:+\"$1\"}]" ]
}
in_use() { # [WHY]: not after the rollout has ended or paused
	case $(fields 'd.state, d.arm, d.why') in
	rolled_back* | failed* | succeeded* | paused*) return $NEVER ;;
	*"	b	"*"${1:-}"*) decides one_channel ;;
	*) return 1 ;;
	esac
}
bakes() { in_use bake; }
# The runner and its supervisor die at once, as they would with their host.
lose_host() {
	pid=$(fields d.runner.pid)
	children=$(ps -o pid= --ppid "$pid")
	# shellcheck disable=SC2086
	halt $children
	# shellcheck disable=SC2086
	kill -9 "$pid" $children
}
# The lease of the runner that is lost ends now.
end_runner() {
	ctl lease revoke "$(printf %x "$(ctl get -w fields "$keys/guard/runner" |
		sed -n 's/^"Lease" : //p')")" >/dev/null
}

# ---- another host shows it, and may end it ----
plan shown
status 0 "a rollout in the background" rollout start shown.lua follow=no
await bakes
ok "its candidate is in use" $?
elsewhere -o table rollout status
has "another host shows it" out "shown: progressing" "10 of 10 blocks"
elsewhere -o json rollout status
has "with its runner" out '"running":true'
elsewhere -o tsv rollout list
has "and in the list of all jobs" out "llm	shown	progressing	10	10"
elsewhere -o table rollout abort
[ "$rc" -eq 0 ] && grep -q "was asked to abort the rollout" out
ok "and asks the runner to end it" $?
ended() { [ "$(fields d.state)" = rolled_back ]; }
await ended && decides ""
ok "which it does" $?
ctl get --prefix --keys-only /ncclbpf/1/llm/guard/ >keys
! grep -q 'guard/line\|guard/runner' keys
ok "the store has no guard of a rollout that has ended" $?

# ---- the runner is lost, and its lease ends in its time ----
plan lost 15s
status 0 "another one" rollout start lost.lua follow=no
await bakes
ok "has its candidate in use" $?
lose_host
back() { decides ""; }
await back
ok "both sites decide with the baseline again when its runner is lost" $?
elsewhere -o table rollout status
has "another host says why" out "lost: paused" "the runner was lost; the agent of site" \
	"rollout resume"
run audit
has "so does the audit" out "the runner is lost, so its candidate is rolled back"
! ctl get --prefix --keys-only /ncclbpf/1/llm/guard/ | grep -q 'guard/line'
ok "the guard is gone" $?
elsewhere rollout resume follow=no
[ "$rc" -eq 0 ]
ok "another host resumes it" $?
await in_use
ok "with the blocks that it had" "$([ "$(fields '#d.blocks')" -eq 10 ]; echo $?)"
elsewhere rollout promote
promoted() { [ "$(fields d.state)" = succeeded ] && decides one_channel; }
await promoted
ok "and promotes it" $?
! ctl get --prefix --keys-only /ncclbpf/1/llm/guard/ | grep -q 'guard/line\|guard/runner'
ok "what was promoted has no guard, so it stays without a runner" $?
elsewhere rollout undo
[ "$rc" -eq 0 ] && decides ""
ok "and can be undone there" $?

# ---- the runner dies at each step of a rollout ----
# lost_at NAME KEY PATTERN: start rollout NAME; its host dies when a key has that value
lost_at() {
	python3 "$TOP/test/integration/fleet_runner.py" "$etcd" "$T/etcd" "/ncclbpf/1/llm/$2" "$3" \
		"$XDG_STATE_HOME/ncclbpf/rollouts/llm@$(uname -n).json" "$S" rollout start \
		"$1.lua" follow=no >lost.out 2>&1 || { sed 's/^/# /' lost.out && return 1; }
	end_runner
}
undone() { [ -n "$(ctl get --keys-only /ncclbpf/1/llm/guard/undone)" ]; }
put_back() { # WHERE: has the loss there left the baseline and a paused rollout?
	await undone && decides ""
	ok "runner lost $1: both sites have the baseline" $?
	elsewhere -o json rollout status
	has "runner lost $1: the rollout is paused" out '"state":"paused"' \
		"the runner was lost; the agent of site"
}
plan step
sed -i 's/samples = 10,/samples = 1000,/' step.lua # no block ends meanwhile
lost_at step guard/line '"id":"step'
ok "the runner dies before the first block" $?
put_back "before the first block"
[ "$(fields '#d.blocks')" -eq 0 ]
ok "which had no block" $?
status 0 "that one is ended" rollout abort

plan fence
lost_at fence request/ '"rollout":"fence'
ok "the runner dies when it requests the candidate" $?
put_back "at a request"
status 0 "that one is ended, too" rollout abort

plan armed
lost_at armed order/record/ '"state":"armed"'
ok "the runner dies while the candidate's fence is armed" $?
put_back "at a fence"
for host in one two; do
	(XDG_STATE_HOME=$T/$host "$S" rollout resume follow=no >resumed.$host 2>&1 &&
		echo $host >>winners) &
	eval "$host=\$!"
done
# shellcheck disable=SC2154
wait "$one" "$two"
ok "one of two hosts that resume it at once does" "$([ "$(wc -l <winners)" -eq 1 ]; echo $?)"
await in_use
ok "under its guards" $?
elsewhere rollout abort
await ended && decides ""
ok "and ends it when asked to" $?

# ---- the coordinator's agent dies with the runner ----
plan agent
status 0 "one more" rollout start agent.lua follow=no
await bakes
site=$(ctl get --print-value-only /ncclbpf/1/llm/order/coordinator)
agents() {
	ps -eo pid=,args= | awk -v dir="$T/" '
		/ncclbpf-agent/ && !/awk/ && index($0, "--dir " dir) { print $1 }
	'
}
[ -n "$site" ] && [ "$(agents | wc -l)" -eq 2 ]
ok "two agents, of which one is the coordinator" $?
before=$(agents)
lose_host
# shellcheck disable=SC2086
kill -9 $before
end_runner
put_back "with the coordinator's agent"
status 0 "an operator ends it" rollout abort

# ---- somebody else changes the job after the runner is lost ----
plan other
status 0 "a third one" rollout start other.lua follow=no
await bakes
lose_host
status 0 "an operator replaces its candidate at once" policy use "$B/policies/nvlink_ring_mid.bpf.o"
end_runner
dropped() { ! ctl get --prefix --keys-only /ncclbpf/1/llm/guard/ | grep -q 'guard/line'; }
await dropped
ok "the agents give the guard up" $?
elsewhere -o table rollout status
has "and the other host says so" out "other: paused" "another user or shell has made generation"
decides nvlink_ring_mid
ok "the operator's policy stays" $?

# ---- a sweep ----
status 0 "the rollout is ended" rollout abort
decides ""
ok "which puts its baseline back" $?
cat >tables.lua <<'END'
return { name = "tables", scope = { collectives = { "allreduce" }, sizes = "4M..8M" }, rounds = 100,
	samples = 20, confidence = 0.5 }
END
status 0 "a sweep" sweep start tables.lua follow=no
measures() {
	ctl get --print-value-only /ncclbpf/1/llm/guard/line |
		grep -q '"id":"tables' && ! decides ""
}
await measures
ok "tries a table on both sites" $?
pid=$(ctl get --print-value-only "$data/sweep" | sed 's/.*"pid":\([0-9]*\).*/\1/')
children=$(ps -o pid= --ppid "$pid")
# shellcheck disable=SC2086
halt $children
# shellcheck disable=SC2086
kill -9 "$pid" $children
end_runner
abandoned() {
	elsewhere sweep status
	grep -q 'abandoned: the runner was lost; the agent of site .* restored the baseline' out
}
await abandoned
ok "when its runner is lost, another host says that the baseline is back" $?
decides ""
ok "which is so" $?
