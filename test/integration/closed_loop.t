#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Controllers in a job of the stand-in host, one process a rank: channels go
# 2, 12, 2, 12 as somebody else takes the links and leaves, alike on all ranks.
# What is asserted are states that are reached, not when.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "closed loop" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB POLICY [NAME=value...] -- ARGS...
	loopjob=$1 policy=$2
	shift 2
	echo 1 >"$T/contend"
	: >"$T/report"
	NCCLBPF_POLICY=$B/$policy.policy NCCLBPF_CONTROLLER_MS=50 \
		NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=$loopjob NCCL_DEBUG=INFO \
		timeout 0 env "$@" --procs --events --seconds inf --pause-ms 2 \
		--min 64M --max 64M --contend "$T/contend" \
		--report "$T/report" >"$T/$loopjob.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$loopjob" >/dev/null 2>&1
	need "a job: $loopjob" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
# The last number of channels in the report; those that it had, in order.
now() { tail -1 "$T/report" 2>/dev/null | sed -n 's/.*"channels":\([0-9]*\).*/\1/p'; }
is_now() { [ "$(now)" = "$1" ]; }
path() { sed -n 's/.*"channels":\([0-9]*\).*/\1/p' "$T/report" | uniq | tr '\n' ' '; }

start loop policies/adaptive_channels "$B/test/fakes/host/standin" --ranks 4
await is_now 12
ok "channels come to 12" $?
echo 10 >contend
await is_now 2
ok "fall back to 2 while times are 10 times as long" $?
before=$(wc -l <report)
later() { [ "$(wc -l <report)" -gt $((before + 100)) ]; }
await later
is_now 2
ok "and stay there" $?
echo 1 >contend
await is_now 12
ok "and recover to 12" $?
status 0 "all ranks decided alike" -J loop check agreement
status 0 "who runs the controllers" -J loop -o json controller status
truth() { # CODE over the answers d of all processes, c of the first
	lua_run -e 'local d = require("ncclbpf.core").decode(io.read "a") d = d.data or d
		local here = 0
		for _, p in ipairs(d.processes) do if p.data.here then here = here + 1 end end
		local c = d.processes[1].data '"$1" <"$T/out" 2>>"$T/why"
}
truth 'assert(here == 1 and c.controllers and c.elected and c.runs > 0 and c.changes >= 12)'
ok "one process of four" $?
run -J loop -o table status
has "status has a line on them" out "run by process " " runs, "
status 0 "what was committed" -J loop -o json policy history
truth 'local h = c.history
	assert(#h == 2 and h[1].generation > 12 and h[2].generation == 1 and h[2].kept)'
ok "history has the last of the controllers' changes, and what was before them" $?
status 1 "none of which is gone back from" -J loop policy undo
stop
ok "and the host saw no divergence" $?
path >path
echo "# channels: $(cat path)"
# NCCL's own number first. Each step is 2 more, or back to 2; on a busy machine one fence may carry
# two of them.
steps() {
	up='(4 )?(6 )?(8 )?(10 )?12 '
	grep -qxE "[0-9]+ (2 )?${up}2 $up" path &&
		awk '{ for (i = 3; i <= NF; i++) if ($i > $(i - 1) + 4) exit 1 }' path
}
steps
ok "the way there, on all ranks" $?
[ ! -e "$T/s/loop.loop" ]
ok "nothing is left behind" $?

# ---- slo_enforcer: a time that 12 channels do not meet either

start slo policies/slo_enforcer "$B/test/fakes/host/standin" --ranks 4
status 0 "a target" -J slo map set slo_enforcer/targets '{coll=4, class=26}' '{time_ns=100000}'
status 0 "and what may be given for it" -J slo map set slo_enforcer/limits '{coll=4, class=26}' 12
await is_now 12
ok "slo_enforcer: the budget grows to its limit" $?
echo 10 >contend
await is_now 2
ok "falls back where more would not help" $?
echo 1 >contend
await is_now 12
ok "and grows again" $?
status 0 "slo_enforcer: all ranks decided alike" -J slo check agreement
stop
ok "slo_enforcer: the host saw no divergence" $?
path >path
echo "# channels: $(cat path)"
steps
ok "slo_enforcer: the way there" $?

# ---- merging, hostile controllers, deaths

H=test/corpus/events/loop_hostile
if [ ! -e "$B/$H.policy" ]; then
	echo "# SKIP no clang: no policy of controllers that go wrong"
	exit
fi
field() { # NAME: of the elected process
	timeout 300 "$S" -q -J "$loopjob" -o json controller status 2>/dev/null >"$T/status"
	lua_run -e 'local d = require("ncclbpf.core").decode(io.read "a") d = d.data or d
		local c = d.processes[1].data
		for _, p in ipairs(d.processes) do if p.data.here then c = p.data end end
		print(c["'"$1"'"])' <"$T/status" 2>/dev/null
}
more() { # NAME THAN
	n=$(field "$1")
	[ "${n:-0}" -gt "$2" ] 2>/dev/null
}
elected() { p=$(field elected) && [ "${p:-nil}" != nil ]; }
runs_on() { # two more runs from now
	before=$(field runs)
	await more runs $((${before:-0} + 1))
}

began=$(date +%s)
start bad $H "$B/test/fakes/host/standin" --ranks 3
await more runs 3
ok "controllers run" $?
[ "$(field changes)" = 0 ]
ok "a run that writes nothing makes no change" $?
run -J bad map set loop_hostile/ask 0 3
before=$(field runs)
await more runs $((before + 3))
ok "runs that write what is there" $?
[ "$(field changes)" = 0 ]
ok "make no change either" $?
run -J bad map set loop_hostile/ask 0 1
await more failures 2
ok "too many elements are a failure each time" $?
[ "$(field changes)" = 0 ] && field error | grep -q 'changed more than'
ok "with the reason, and nothing is changed" $?
run -J bad map set loop_hostile/ask 0 4
await more changes 2
ok "the next runs change again" $?
run -J bad map set loop_hostile/ask 0 2
before=$(field runs)
await more runs $((before + 1))
ok "one that never ends is ended" $?
run -J bad map set loop_hostile/ask 0 0
runs_on
ok "and others go on" $?
run -J bad controller pause
has "pause" out paused
idle() { # no run in half a second
	before=$(field runs)
	sleep 0.5
	[ -n "$before" ] && [ "$(field runs)" = "$before" ]
}
await idle
ok "no more runs" $?
run -J bad controller resume
await more runs "$before"
ok "until resume" $?
status 0 "bad: all ranks decided alike" -J bad check agreement

# The merged maps: what the elected process saw is the sum, and the largest.
cat >merged.lua <<'L'
local t <close> = nb.attach { job = "bad" }
local saw, most = t:map_dump { "loop_hostile/saw" }.processes, 0
for _, r in ipairs(saw) do
	local e = r.data.entries
	local sum, max, procs, ranks = e[1].value, e[2].value, e[3].value, e[4].value
	if procs > 0 then
		-- three ranks, each at most a few decisions ahead of the least
		assert(procs == 3 and ranks == 3, ("%d processes, %d ranks"):format(procs, ranks))
		assert(sum > 2 * max - 100 and sum <= 3 * max, ("sum %d, max %d"):format(sum, max))
		local began, wall = tonumber(os.getenv "BEGAN"), e[6].value // 10^9
		assert(e[5].value < 1 << 40, "now_ns and bpf_ktime_get_ns have one clock")
		assert(wall >= began and wall <= os.time(), ("%g is no time of today"):format(wall))
		most = most + 1
	end
end
assert(most == 1, most .. " processes ran it")
L
# A run takes the maps that have come within half a second: on a loaded machine a later one has all.
merged() { BEGAN=$began timeout 300 "$S" -q -f merged.lua 2>why; }
await merged
ok "sum and max over three processes, and both clocks" $?

first=$(field elected)
torn() { # scribble over all sheets
	head -c 8192 /dev/urandom | dd of="$T/s/bad.loop" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
torn 0
torn $((1 << 21))
torn $((1 << 22))
runs_on
ok "a mailbox that was scribbled over is written anew" $?
[ "$(field elected)" = "$first" ]
ok "by the same elected process" $?

stop
ok "bad: the host saw no divergence" $?

# ---- two processes that do not end with each other

two() {
	NCCLBPF_POLICY=$B/$H.policy NCCLBPF_CONTROLLER_MS=50 NCCLBPF_JOB=pair \
		NCCL_TUNER_PLUGIN=$B/libncclbpf.so timeout 0 "$B/test/fakes/host/standin" \
		--ranks 1 --nccl 2.24.3 --seconds inf --pause-ms 5 >/dev/null 2>&1 &
	jobs="$jobs $!"
}
pids() {
	timeout 300 "$S" -q -J pair -o tsv status 2>/dev/null |
		awk -F '\t' '$2 ~ /^[0-9]+$/ { print $2 }'
}
both() { [ "$(pids | wc -l)" = 2 ]; }
loopjob=pair
two
two
await both && await elected && runs_on
ok "two processes, controllers run" $?
first=$(field elected)
other=
for p in $(pids); do
	[ "$p" = "$first" ] || other=$p
done
halt "$other"
one() { # of the elected process alone: the stopped one would not answer
	timeout 300 "$S" -q -p "$first" -o json controller status 2>/dev/null |
		grep -q '"missing": *1'
}
await one
ok "one that stands still holds no run up" $?
kill -CONT "$other"
kill -KILL "$first"
after() { p=$(field elected) && [ "${p:-nil}" = "$other" ]; }
await after
ok "another one is elected when that one is killed" $?
runs_on
ok "and runs them" $?
