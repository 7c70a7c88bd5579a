#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Telemetry and profiler programs in a running job of the stand-in host: what
# NCCL is asked for follows need, what is measured is what the host says, and
# people, programs and Prometheus get it.
. "$TOP/test/integration/shm_room.sh"
shm_room "telemetry" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "telemetry" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
P=$B/libncclbpf.so

standin() { # JOB [NAME=value...] -- ARGS...
	name=$1
	shift
	NCCL_TUNER_PLUGIN=$P NCCLBPF_JOB=$name timeout 0 env "$@" --events \
		--seconds inf --pause-ms 2 >"$T/$name.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$name" >/dev/null 2>&1
	need "a job: $name" $?
}

# truth CODE: Lua over the answer in $T/out: d its data, row(coll) a row that
# has GPU times
cat >lib.lua <<'L'
local ok, d = pcall(function() return require "ncclbpf.core".decode(io.read "a") end)
assert(ok, d)
if d.data then d = d.data end
function each(f)
	for _, p in ipairs(d.processes) do
		for _, r in ipairs(p.data.rows or {}) do f(r, p) end
	end
end
function all(f)
	local n = 0
	each(function(r, p) n = n + 1 assert(f(r, p), require "ncclbpf.core".encode(r)) end)
	return n
end
L
truth() {
	cp "$T/out" "$T/truth.in"
	lua_run -e "$(cat lib.lua) $1" <"$T/truth.in" 2>>"$T/why"
}
asked() { # TEXT: what stats says contains it
	run -J one -o json stats
	grep -q -e "$1" "$T/out"
}

standin one NCCL_DEBUG= "$B/test/fakes/host/standin" --ranks 4 --procs --nccl 2.28.9 --min 4K \
	--max 4M --factor 1024
await asked '"profiler_abi":5'
run -J one -o table stats
has "nothing is measured before it is asked for" out "nothing measured yet"
silent() { # also for no kernels, once NCCL has connected the profiler channels
	run -J one -o json stats
	truth '
		for _, p in ipairs(d.processes) do
			assert(p.data.telemetry == false and #p.data.events == 0)
		end
	' 2>/dev/null
}
await silent
ok "and NCCL is asked for nothing" $?
status 64 "telemetry of nothing" -J one telemetry perhaps
status 64 "an option's value" -J one telemetry on gpu=maybe
status 0 "telemetry on" -J one -o table telemetry on
has "says which events NCCL is asked for" out "coll p2p proxy_op kernel_ch"
full() {
	run -J one -o json stats
	truth '
		local n = all(function(r) return r.gpu and r.gpu.count > 20 end) assert(n == 8)
	' 2>/dev/null
}
await full
run -J one -o table sample tail count=3
has "the last collectives one by one" out "EXEC us" "allreduce"
! grep -q "no profiler" out
ok "without a word on profilers" $?
[ "$(grep -c '^[0-9a-f]' out)" -eq 3 ] && ! grep -q '^note: comm rank' out
ok "three, whatever rank is ahead, and no note that ranks have numbers" $?
run -J one -o json comm show
cp out comm.json
run -J one -o json stats
cat >model.lua <<'L'
local f = assert(io.open "comm.json")
local comm = require "ncclbpf.core".decode(f:read "a").data
local cost = {}
for _, t in ipairs(comm.processes[1].data.table) do cost[t.bytes_from] = t.cost_us * 1000 end
local n = all(function(r)
	local want = cost[r.bytes_from] and cost[r.bytes_from] + r.comm_rank * 1000
	local factor = 2 * (r.ranks - 1) / r.ranks
	return r.coll == "allreduce" and r.ranks == 4 and r.source == "kernel_gpu" and want
		and math.abs(r.exec.mean_ns - want) < 2
		and math.abs(r.exec.p50_ns - want) <= want / 16
		and math.abs(r.algbw_gbs - r.bytes_last / want) < 0.01 * r.algbw_gbs
		and math.abs(r.busbw_gbs / r.algbw_gbs - factor) < 1e-6
		and r.enqueue.count >= r.exec.count
end)
assert(n == 8, n)
L
# The counters are read while ranks count, so a sum may lack a sample: ask again.
model() {
	run -J one -o json stats
	truth "$(cat model.lua)"
}
await model
ok "times and bandwidths are the host's" $?
run -J one -o table stats
has "for people" out "telemetry is on, with GPU and proxy times" "COLL" "P50 us" "BUS GB/s" \
	"allreduce" "4K" "4M"
! grep -q COMM out
ok "of one communicator the table need not say which" $?
cat >slow.lua <<'L'
local f = assert(io.open "comm.json")
local want = {}
for _, t in ipairs(require "ncclbpf.core".decode(f:read "a").data.processes[1].data.table) do
	want[#want + 1] = ("%.1f"):format((t.cost_us * 1000 + 3000) // 1 / 1000)
end
local text = io.read "a"
for _, w in ipairs(want) do
	assert(text:find(" " .. w .. " ", 1, true), w .. " is not in " .. text)
end
assert(#want == 2 and text:find "RECENT P50 us")
L
shown() {
	run -J one -o table stats
	lua_run slow.lua <out 2>>"$T/why"
}
await shown
ok "of each collective the slowest rank of the host" $?
cat >beside.lua <<'L'
for _, p in ipairs(d.processes) do
	local n = 0
	for _, r in ipairs(p.data.measured) do
		n = n + (r.enqueue.p99_ns >= r.enqueue.p50_ns and r.gpu.p99_ns >= r.gpu.p50_ns
			and r.busbw_gbs > r.algbw_gbs and 1 or 0)
	end
	assert(n == 2 and #p.data.table == 2)
end
L
beside() {
	run -J one -o json comm show
	truth "$(cat beside.lua)"
}
await beside
ok "comm show has what came of each decision" $?
run -J one -o table comm show
has "for people: enqueuing, GPU, network, median and 99th percentile, both bandwidths" out \
	"ENQUEUE us 50/99%" "GPU us 50/99%" "PROXY us 50/99%" "ALG GB/s" "BUS GB/s"
awk '
	/^COLL/ { n = NF }
	/^allreduce/ {
		if ($0 !~ / [0-9.]+\/[0-9.]+ +[0-9.]+\/[0-9.]+ +- +[0-9.]+ +[0-9.]+$/) bad = 1
		rows++
	}
	END { exit bad || rows != 2 }
' out
ok "a line for each decision" $?
run -J one -o csv stats allreduce
head -1 out | grep -q 'coll.*exec_p50_ns.*' && head -1 out | grep -q 'busbw_gbs' &&
	[ "$(wc -l <out)" -eq 9 ]
ok "as CSV, a line for each rank and row" $?
slowest() {
	run -J one -o csv stats allreduce
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ sub(/\r$/, ""); size = $at["bytes_from"]; ns = $at["host_p50_ns"]; rank = $at["comm_rank"]
		if (ns < $at["exec_mean_ns"] || (size in all && all[size] != ns)) bad = 1
		if (rank == 3 && ns != $at["exec_mean_ns"]) bad = 1
		all[size] = ns }
	END { exit bad || NR != 9 }' out
}
await slowest
ok "with the slowest rank of the host beside each rank's own" $?
run -J one -o ndjson stats
[ "$(grep '"coll":"allreduce"' out |
	grep -c '"host_busbw_gbs":[0-9.]*,.*"host_p50_ns":[1-9]')" -eq 8 ]
ok "as NDJSON" $?
run -J one -o table stats broadcast
has "one collective alone" out "nothing measured yet"
run -J one -o table watch 1 count=2 stats
[ "$rc" -eq 0 ] && [ "$(grep -c 'telemetry is on' out)" -eq 2 ]
ok "watch shows it again" $?

run -J one metrics
awk '
	/^# TYPE/ { type[$3] = $4; next }
	/^#/ { help[$3] = 1; next }
	{ name = $1; sub(/\{.*/, "", name) }
	!(name in type) || !(name in help) || $NF !~ /^[-+0-9.e]+$/ ||
		$0 !~ /\{([a-z_]+="[^"]*",?)*\} / {
		print
		bad = 1
	}
	END { exit bad }
' out >why
ok "metrics are Prometheus text" $?
has "with Inspector's names and labels" out 'nccl_bus_bandwidth_gbs{' \
	'nccl_collective_exec_time_microseconds{' 'collective="AllReduce"' 'message_size="4-8MB"' \
	'algo_proto="' 'n_nodes="1"' 'nranks="4"' 'slurm_job_id="one"'
awk '
	/^ncclbpf_host_collective_exec_seconds\{/ {
		n[substr($0, index($0, "message_size"), 20)]++
		if (/ rank=|pid=/) bad = 1
	}
	/^ncclbpf_host_bus_bandwidth_gbs\{/ { b++ }
	/^nccl_collective_exec_time_microseconds\{/ && $NF > most { most = $NF }
	/^ncclbpf_host_collective_exec_seconds\{.*stat="max"/ && $NF * 1e6 > host {
		host = $NF * 1e6
	}
	END {
		for (i in n) { rows++; if (n[i] != 3) bad = 1 }
		exit bad || rows != 2 || b != 2 || host < most - 0.001
	}
' out
ok "and of each collective the slowest rank of the host, as series of its own" $?
# what the job is, and how it stands: HELP and TYPE for each, one of each
for f in decisions_total:counter generation:gauge build_info:gauge agreement:gauge \
		rollout_state:gauge policy_faults_total:counter events_lost_total:counter; do
	grep -q "^# TYPE ncclbpf_$f\$" <<F && grep -q "^# HELP ncclbpf_${f%:*} [A-Z0-9]" \
		out || echo "$f" >>missing
$(sed -n 's/^# TYPE \([a-z_]*\) \([a-z]*\)$/# TYPE \1:\2/p' out)
F
done
[ ! -e missing ]
ok "metrics of our own, each with its kind" $?
has "agreement, no rollout, no fault" out 'ncclbpf_agreement{slurm_job_id="one",node="' \
	'comm_id="0xc0ffee0000000000"} 1' 'state="none"} 1' 'state="progressing"} 0' \
	'reason="generation_missing"} 0'
# take SOURCE: of what promtool finds only Inspector's unit is not ours to
# choose
promtool_reads() {
	"$promtool" check metrics <"$1" 2>&1 |
		grep -v '^nccl_[a-z0-9_]*_microseconds use base unit "seconds"' >why
	[ ! -s why ]
}
promtool=$(command -v promtool || ls "$TOP/build/tools/promtool" 2>/dev/null)
take() { # SOURCE
	if [ -n "$promtool" ]; then
		promtool_reads "$1"
		ok "promtool has nothing to say on $1" $?
	else
		ok "promtool has nothing to say on $1 # SKIP no promtool (test/setup.sh promtool)" 0
	fi
}
cp out measured.prom
take measured.prom
[ -z "$promtool" ] || {
	sed 's/^# TYPE ncclbpf_generation gauge/# TYPE ncclbpf_generation counter/' \
		measured.prom >wrong.prom
	! promtool_reads wrong.prom
	ok "and would, were a kind wrong" $?
}
status 0 "metrics into a file" -J one metrics out=m.prom
grep -q '^ncclbpf_build_info{' m.prom && [ ! -e m.prom.new ]
ok "which is there at once" $?
status 73 "or cannot be" -J one metrics out=/nonexistent/m.prom

status 0 "telemetry off" -J one -o table telemetry off
run -J one -o json stats
truth '
	for _, p in ipairs(d.processes) do
		assert(p.data.telemetry == false and #p.data.events == 0)
	end
'
ok "NCCL is asked for nothing again" $?
status 0 "telemetry clear" -J one telemetry clear
empty() {
	run -J one -o json stats
	truth 'all(function() return false end)' 2>/dev/null ||
		{ run -J one telemetry clear; return 1; }
}
await empty
ok "and nothing comes any more" $?

# programs come and go with policies
[ -e "$B/test/corpus/events/hooks.policy" ] || {
	echo "1..$tests"
	exit $wrong
}
H=$B/test/corpus/events/hooks.policy
status 0 "a policy for six hooks" -J one policy load "$H"
status 0 "in use" -J one policy use hooks
await asked '"events":\["group","coll","p2p","proxy_op","proxy_step","kernel_ch"\]'
ok "NCCL is asked for what its hooks need" $?
cat >seen.lua <<'L'
for _, p in ipairs(d.processes) do
	local e = p.data.entries or p.data.elements
	local function at(i) return e[i + 1].value end
	for _, i in ipairs(WANT) do assert(at(i).count > 0, i) end
	local c, k, g = at(1), at(4), at(5)
	assert(c.what == (4 << 16 | c.what & 0xffff) and c.ranks == RANKS and c.comm_id == k.comm_id
		and c.comm_id ~= 0)
	assert(c.rank == p.rank and k.rank == p.rank and g.rank == p.rank)
	assert((c.bytes == 4096 or c.bytes == 4 << 20) and c.ns > 1000 and c.channels > 0)
	assert(k.what == c.what or k.bytes ~= c.bytes)
	assert(k.ns > 1000)
end
L
seen() { # JOB WANT RANKS
	run -J "$1" -o json map dump seen
	truth "WANT, RANKS = $2, $3 $(cat seen.lua)"
}
await seen one '{0, 1, 4, 5}' 4 2>/dev/null
seen one '{0, 1, 4, 5}' 4
ok "each hook's program saw its events" $?
run -J one -o json policy list
truth 'for _, p in ipairs(d.processes) do for _, q in ipairs(p.data.policies[1].programs) do
	if q.hook == "profiler/coll_done" then assert(q.runs > 0 and q.engine) end end end'
ok "their runs are counted" $?
# how long a policy's runs take
if [ -e "$B/policies/size_aware.policy" ]; then
	status 0 "a policy of the tuner" -J one policy load "$B/policies/size_aware.policy"
	run -J one policy use size_aware
	status 0 "some runs are timed" -J one policy time on
	timed() {
		run -J one metrics
		awk '
			/^ncclbpf_policy_run_seconds_count\{.*policy="size_aware"/ && $NF > 4 {
				n++
			}
			END { exit n != 4 }
		' out
	}
	await timed
	awk '
		/^ncclbpf_policy_run_seconds_/ && /policy="size_aware"/ {
			pid = $0
			sub(/.*pid="/, "", pid)
			sub(/".*/, "", pid)
		}
		/^ncclbpf_policy_run_seconds_bucket.*policy="size_aware"/ {
			le++
			if ($NF < last[pid]) bad = 1
			if (!/ [0-9]+$/) bad = 1
			bound = $0
			sub(/.*le="/, "", bound)
			most[pid] += ($NF - last[pid]) * (bound ~ /Inf/ ? 1 : bound)
			last[pid] = $NF
		}
		/^ncclbpf_policy_run_seconds_bucket.*policy="size_aware".*le="\+Inf"/ {
			inf[pid] = $NF
		}
		/^ncclbpf_policy_run_seconds_count.*policy="size_aware"/ {
			if ($NF != inf[pid]) bad = 1
			procs++
		}
		/^ncclbpf_policy_run_seconds_sum.*policy="size_aware"/ {
			# a run may end between the reading of both
			if ($NF <= 0 || $NF > 2 * most[pid]) bad = 1
		}
		END { exit bad || procs != 4 || le != 32 }
	' out
	ok "as a histogram of seconds" $?
	cp out timed.prom
	take timed.prom
	run -J one policy time off
fi
status 0 "no policy" -J one policy use none
await asked '"events":\[\]'
ok "nor any event" $?
kill $job

# several communicators, whose calls the application tags
standin several NCCL_DEBUG= "$B/test/fakes/host/standin" --ranks 2 --procs --groups 2 \
	--nccl 2.31.2 --tags 2 --min 4K --max 4K
run -J several telemetry on
both() {
	run -J several -o json stats
	[ "$(grep -oE '"comm": *"[0-9a-f]{16}"' out | sort -u | wc -l)" -eq 2 ]
}
await both
run -J several -o table stats
has "with several, the table says which" out "COMM"
[ "$(grep -oE '^[0-9a-f]{16}' out | sort -u | wc -l)" -eq 2 ]
ok "in each row" $?
tagged() {
	run -J several -o json stats tags
	truth '
		local n = 0
		for _, p in ipairs(d.processes) do
			for _, t in ipairs(p.data.tags) do
				assert((t.tag == 1 or t.tag == 2) and t.ranks == 2)
				assert(t.exec.count > 5 and t.exec.sum_ns > 5000)
				assert(math.abs(t.bytes // 4096 - t.exec.count) <= 2)
				n = n + 1
			end
		end
		assert(n == 8, n) -- of each rank and communicator
	' 2>/dev/null
}
await tagged
ok "times of calls by the application's tag" $?
run -J several -o table stats tags
has "for people" out "telemetry is on" "COMM" "TAG" "TOTAL us" "P50 us"
[ "$(grep -cE '^[0-9a-f]{16}  *[12] ' out)" -eq 4 ]
ok "one line for all ranks" $?
trace_tagged() {
	run -J several trace start out=tags.nd format=ndjson seconds=500ms events=coll
	lua_run -e 'local seen = {}
	for l in io.lines() do
		local s = require "ncclbpf.core".decode(l)
		seen[s.tag or 0] = true
	end
	assert(seen[0] and seen[1] and seen[2])' <tags.nd 2>>why
}
await trace_tagged
ok "a trace has the tags" $?
kill $job

# from the start, two nodes, another version
standin two NCCLBPF_POLICY="$H" \
	"$B/test/fakes/host/standin" --ranks 2 --procs --nodes 2 --nccl 2.31.2 --tags 2 \
	--min 4K --max 4K
await seen two '{0, 1, 3, 4, 5}' 2 2>/dev/null
run -J two -o json map dump seen
truth 'for _, p in ipairs(d.processes) do
	local s = (p.data.entries or p.data.elements)[4].value
	assert(s.count > 0 and s.bytes == 4096 and s.ns == 1 and s.what >> 16 == 4
		and s.rank == p.rank)
end'
ok "steps over the network: func, bytes, waits" $?
tag_seen() { # a program has seen it
	run -J two -o json map dump seen
	truth 'for _, p in ipairs(d.processes) do
		local tag = (p.data.entries or p.data.elements)[2].value.tag
		assert(tag == 1 or tag == 2, tag)
	end' 2>/dev/null
}
await tag_seen
ok "the tag of a collective" $?
kill $job
# the example
if [ -e "$B/policies/latency.policy" ]; then
	standin three NCCLBPF_POLICY="$B/policies/latency.policy" "$B/test/fakes/host/standin" \
		--ranks 2 --threads --nccl 2.23.4 --min 4K --max 4K --nodes 2
	shown() {
		run -J three -o json map dump latency
		truth 'for _, p in ipairs(d.processes) do
			local v = (p.data.entries or p.data.elements)[1]
			local n = 0
			for _, b in ipairs(v.value.bucket) do n = n + b end
			assert(v.key.coll == "allreduce" and v.key.size_log2 == 12
				and v.value.asked > 0 and n > 0 and v.value.sum_ns > 0)
		end'
	}
	await shown 2>/dev/null
	ok "the example policy fills its histogram, with the oldest version" $?
	kill $job
fi
# NCCL without a profiler interface: a variable that is set is not hinted at
for release in 2.21.5 2.22.3 2.24.3; do
	old=old_$(echo $release | tr . _)
	NCCL_TUNER_PLUGIN=$P NCCL_PROFILER_PLUGIN=$P NCCLBPF_JOB=$old timeout 0 \
		"$B/test/fakes/host/standin" --ranks 1 --nccl $release --min 4K --max 4K \
		--seconds inf --pause-ms 2 >"$T/old.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	decides() { # the tuner's interface is known
		run -J $old -o json status
		grep -q '"tuner_abi":[2-9]' out
	}
	await decides
	run -J $old -o table telemetry on
	case $release in
	2.21*) hint="this is NCCL 2.21, which has no profiler; times need NCCL 2.23 or newer" ;;
	2.22*) hint="NCCL 2.22 has no profiler; with NCCL 2.23, start the job with" ;;
	*) hint="hint: start the job with NCCL_PROFILER_PLUGIN set like NCCL_TUNER_PLUGIN" ;;
	esac
	cat out err >all
	has "NCCL $release without a profiler: the hint" all \
		"NCCL has called no profiler in 1 of 1 processes" "$hint"
	kill $job
done
finish
trap - EXIT
