#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# What the shell shows of a job on two sites: stats, samples, metrics, decisions,
# explain, maps and traces of all ranks, each with its site; and of the sites that
# answer when one does not, with the name of the missing one.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "views of two sites"
enter_store
PAUSE=0.3
tls_store views
NCCLBPF_JOB=views
export NCCLBPF_JOB
cat >count.bpf.c <<'END'
#include "ncclbpf_policy.h"
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1);
} runs SEC(".maps");
SEC("tuner") int count(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&runs, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
END
NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
	NCCLBPF_AGENT_LISTEN=127.0.0.1 serve views a b
NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_SOCKET_DIR="$T/a" timeout 0 "$B/test/fakes/host/standin" --ranks 4 --nodes 2 \
	--procs --events --min 1M --max 4M --factor 4 --seconds inf --pause-ms 10 \
	--rank-env 0:RANK=0 --rank-env 1:RANK=1 --rank-env 2:RANK=2 --rank-env 3:RANK=3 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
jobs="$jobs $!"
await registered
need "two sites run the job" $?
status 0 "a policy that counts its runs" policy use ./count.bpf.c
switched() {
	run -o table change status
	[ "$(grep -cE ' c0ffee0000000000 +[0-9]+ +4 +4( |$)' out)" -eq 1 ] &&
		[ "$(grep -c committed out)" -eq 1 ]
}
await switched
ok "change status counts the ranks of all sites that have passed the fence" $?

# truth CODE: of the JSON answer d; four(list) is true if the list has all ranks and two sites
cat >four.lua <<'END'
local core = require "ncclbpf.core"
local ok, d = pcall(core.decode, io.read "a")
assert(ok and d, d)
d = d.data or d
function all(list)
	local ranks, sites, n = {}, {}, 0
	for _, p in ipairs(list) do
		ranks[p.rank] = true
		if p.site and not sites[p.site] then sites[p.site], n = true, n + 1 end
	end
	return n, #list, ranks[0] and ranks[1] and ranks[2] and ranks[3] and true or false
end
function four(list)
	local sites, _, ranks = all(list)
	assert(sites == 2 and ranks, core.encode(list))
	return true
end
END
truth() {
	{ cat four.lua; echo "$1"; } >truth.lua
	lua_run truth.lua <out >>why 2>&1
}
of_all() { # NAME CODE COMMAND...
	name=$1 code=$2
	shift 2
	again() { run -o json "$@" && [ "$rc" -eq 0 ] && truth "$code"; }
	await again "$@"
	ok "$name" $?
}
of_all "telemetry is enabled on all sites" 'four(d.processes)' telemetry on

of_all "stats count the collectives of all ranks" '
	four(d.processes)
	for _, p in ipairs(d.processes) do assert(#p.data.rows > 0) end' stats
run -o tsv metrics
for r in 0 1 2 3; do
	grep -q "site=\"[^\"]*\",pid=\"[0-9]*\",rank=\"$r\"" out || echo "$r"
done >lacking
[ "$(grep -o 'site="[^"]*"' out | sort -u | wc -l)" -eq 2 ] && ! [ -s lacking ]
ok "metrics have the series of each rank with its site" $?
cp out metrics.all
of_all "explain has the answer of each rank" 'four(d.processes)' explain allreduce 1M
of_all "map dump has the map of each process" '
	four(d.processes)
	for _, p in ipairs(d.processes) do assert(core.encode(p.data):find "runs") end
' map dump runs
# The newest ones are of one site, if it answers long after the other.
of_both() { # COMMAND...
	run -o tsv "$@"
	awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ sites[$h["site"]]; ranks[$h["rank"]] }
		END { for (s in sites) n++; for (r in ranks) m++; exit n != 2 || m != 4 }
	' out
}
await of_both decision tail count=1000
ok "decision tail has the decisions of all ranks with their sites" $?
await of_both sample tail count=1000
ok "sample tail has the times of all ranks with their sites" $?
of_all "check agreement compares the ranks of both sites" '
	for _, c in ipairs(d.comms) do assert(c.sites == 2 and c.verdict == "agreed", c.verdict) end
	assert(#d.comms > 0)' check agreement

# ---- traces ----
sites=$(sed -n 's/.*site="\([^"]*\)".*/\1/p' metrics.all | sort -u)
tracks() { # FILE: is there a process of each rank, which names its site
	for r in 0 1 2 3; do
		grep -q "\"name\":\"rank $r ([^\"]* of site [^\"]*)\"" "$1" || return 1
	done
	for s in $sites; do
		grep -q "\"name\":\"rank [0-3] ([^\"]* of site $s)\"" "$1" || return 1
	done
}
traced() {
	run -o json trace start out=live.json seconds=1 &&
		[ "$(grep -c '"cat":"coll".*"exec_us"' live.json)" -gt 12 ] && tracks live.json
}
await traced
ok "trace start out= makes one file of all sites, with a track for each rank" $?
lua_run "$TOP/test/integration/trace_check.lua" live.json 'assert(#of("coll") > 0)' >why 2>&1
ok "in Chrome's format" $?
run -T 300 -o table trace start out=last.json seconds=100ms
grep -q "last.json: " out && ! grep -q "last events" out
ok "all ranks of both sites answer with their last events" $?
of_all "trace start fills the rings of all sites" 'four(d.processes)
	for _, p in ipairs(d.processes) do assert(p.data.recording) end' trace start events=coll
full() {
	run -o json trace status && truth '
		four(d.processes) for _, p in ipairs(d.processes) do assert(p.data.in_ring > 50) end
	'
}
await full
ok "trace status shows each process" $?
status 0 "trace stop out= copies the rings" trace stop out=rings.json
tracks rings.json
ok "of all sites into one file" $?
lines() {
	run trace start out=rings.nd format=ndjson events=coll seconds=1
	[ "$(grep -o '"site":"[^"]*"' rings.nd | sort -u | wc -l)" -eq 2 ]
}
await lines
ok "a line of format=ndjson names its site" $?

# ---- a site that does not answer ----
"$etcd" ctl "$T/etcd" put /ncclbpf/1/views/site/lost \
	'{"address":"https://127.0.0.1:9","host":"far"}' >/dev/null
lacks() { # COMMAND...: the other sites' answer, the missing one is named, and the status says so
	run -T 60 -o table "$@"
	[ "$rc" -ne 0 ] && [ -s out ] && grep -q "site lost" err
	ok "$*: a site that does not answer is named, and what is shown is of the others" $?
}
lacks stats
lacks metrics
lacks explain allreduce 1M
lacks map dump runs
lacks decision tail count=4
lacks sample tail count=4
lacks check agreement
lacks trace status
lacks trace start out=half.json events=coll seconds=1
half() { run -T 60 trace start out=half.json events=coll seconds=1; tracks half.json; }
await half
ok "the file has the events of the others" $?
lacks trace stop out=rest.json
tracks rest.json
ok "and so has the file of the rings" $?

# ---- hosts whose clocks began at different times ----
cat >clocks.lua <<'END'
local trace = require "ncclbpf.trace.trace"
local s = { fleet = true, sites = { x = { host = "h" }, y = { host = "h" }, z = { host = "i" } } }
local got = {}
local take = trace.taker(function(list, m) got[m.site] = list[1] end, s)
local fields = { "event", "start_ns", "end_ns", "x0", "x1", "x2" }
local function line(site, wall, at)
	take({ fields = fields, wall_ns = wall, spans = { { "coll", at, at + 5, 4, 1, at + 9 } } },
		{ site = site })
	return got[site]
end
local x, y, z = line("x", 1000, 70), line("y", 1003, 70), line("z", 400, 670)
assert(x.start_ns == 70 and x.end_ns == 75 and x.done_ns == 79 and x.exec_ns == 3)
assert(y.start_ns == 70, "one host has one clock")
assert(z.start_ns == 70 and z.end_ns == 75 and z.done_ns == 79, "the same moment of another host")
END
lua_run clocks.lua >why 2>&1
ok "events of several hosts are on one clock" $?
