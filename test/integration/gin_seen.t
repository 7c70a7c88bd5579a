#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Puts and signals of kernels in gin, stats, metrics and traces: four ranks in
# two processes, each number counted twice and compared. Over a store of two
# sites each row has its site.
. "$TOP/test/integration/shell_lib.sh"
M=$B/examples/moe-alltoall/moe_alltoall
[ -x "$M" ] || skip_all "GIN in stats, metrics and traces" "the example was not built"
etcd=$TOP/test/fakes/etcd/etcd.sh
leave() {
	"$etcd" stop "$T/store" 2>/dev/null
	finish
}
trap leave EXIT
cd "$T" || exit 1
export NCCL_SOCKET_IFNAME=lo

# moe NAME ROUNDS: the all-to-all, waiting; "echo go >NAME.go" runs it again
moe() {
	mkfifo "$1.go"
	timeout 300 env NCCLBPF_GIN=on \
		NCCLBPF_JOB="${JOB:-$1}" NCCLBPF_SOCKET_DIR="${DIR:-$NCCLBPF_SOCKET_DIR}" "$M" \
		"$B/libncclbpf.so" --mode direct --hold --rounds "$2" \
		--tokens 100 <"$1.go" >"$1.out" 2>"$1.err" &
	jobs="$jobs $!"
	moe=$!
}
ready() { [ "$(grep -c '^ready' "$1.out")" -ge "$2" ] || ! kill -0 "$moe" 2>/dev/null; }
moe one 2
exec 3>one.go
await ready one 1
grep -q 'no GIN device' one.err &&
	skip_all "GIN in stats, metrics and traces" "no loopback interface is up"

cat >lib.lua <<'END'
local core = require "ncclbpf.core"
-- the JSON answer in @file: its data, and all peers of all processes
function answer(file)
	local f = assert(io.open(file))
	local d = assert(core.decode(f:read "a")).data
	f:close()
	local peers = {}
	for _, p in ipairs(d.processes or {}) do
		for _, row in ipairs(p.data.peers) do peers[#peers + 1] = row end
	end
	return d, peers
end
function sum(rows, key)
	local n = 0
	for _, r in ipairs(rows) do n = n + (type(key) == "function" and key(r) or r[key]) end
	return n
end
function timed(r) return type(r.put) == "table" and r.put.count or 0 end
END
truth() { # CODE: over d and peers, the JSON answer in out
	cp out answer.json
	lua_run -e "dofile 'lib.lua' d, peers = answer 'answer.json' $1" 2>>why
}

run -J one -o json gin
truth '
	assert(#peers == 16)
	puts, signals = sum(peers, "puts"), sum(peers, "signals")
	assert(puts == sum(peers, "in_puts") and signals == sum(peers, "in_signals")
		and puts > 1000)
	local whole = 0
	for _, p in ipairs(d.processes) do whole = whole + p.data.puts end
	assert(whole == puts and sum(peers, "outstanding") == 0 and sum(peers, timed) == 0)
	assert(sum(peers, function(r) return r.state == "self" and 1 or 0 end) == 4)'
ok "gin: what all ranks put is what all ranks got" $?
run -J one -o json gin contexts=yes
truth '
	assert(#peers == 16)
	for _, r in ipairs(peers) do assert(r.context == 0 and r.devcomm == 0 and r.puts > 0) end'
ok "gin contexts=yes: each peer of the one context" $?
status 0 "stats gin" -J one stats gin
has "it says how to measure times" err "telemetry on"
run -J one -o table stats
has "stats has a line about GIN" out "gin: tcp, 4 collComms" "stats gin"

# the same rounds again, measured and traced
run -J one telemetry on
status 0 "a trace of GIN needs no profiler" -J one trace start events=gin_put,gin_signal
echo go >&3
await ready one 2
run -J one -o json trace stop out=gin.json
cp out summary
run -J one -o json stats gin
truth '
	-- half of all operations: those after "telemetry on"
	assert(2 * sum(peers, timed) == sum(peers, "puts") + sum(peers, "signals"))
	for _, r in ipairs(peers) do
		assert(r.put.p50_ns > 0 and r.put.p99_ns >= r.put.p50_ns
			and r.put.sum_ns >= r.put.max_ns)
	end
	local f = assert(io.open("counts.lua", "w"))
	f:write(("return { ops = %d, puts = %d, signals = %d, bytes = %d }"):format(
		sum(peers, timed), sum(peers, "puts"), sum(peers, "signals"), sum(peers, "bytes")))
	f:close()'
ok "stats gin: each put since telemetry on has its time" $?
lua_run "$TOP/test/integration/trace_check.lua" gin.json '
	local n = dofile "counts.lua"
	local tracks = {}
	assert(#of "gin_put" == n.ops, #of "gin_put")
	assert(#of "gin_signal" == n.signals // 2)
	for _, e in ipairs(of "gin_put") do
		local name = threads[e.pid .. "." .. e.tid]
		assert(name:find(("^comm 0*11 gin rank %d"):format(e.args.peer)), name)
		assert(e.name:find "^put " or e.name:find "^signal %d+$", e.name)
		tracks[e.pid .. " " .. e.args.peer] = true
	end
	for _, e in ipairs(of "gin_signal") do
		assert(e.dur == 0 and e.name:find "^signal %d+ arrived$")
	end
	local k = 0
	for _ in pairs(tracks) do k = k + 1 end
	assert(k == 16 and #of "coll" == 0)' >why 2>&1
ok "the trace: a track for each rank and peer, each put and each signal" $?
cp summary out
truth '
	local n = dofile "counts.lua"
	assert(#d.gin == 16 and sum(d.gin, "bytes") * 2 == n.bytes
		and sum(d.gin, "signals") * 2 == n.signals)
	assert(sum(d.gin, "in_signals") == sum(d.gin, "signals") and d.gin[1].put_p50_ns > 0)
	assert(d.gin[1].peer == 0 and d.gin[1].comm_rank == 0 and d.gin[1].bytes > d.gin[16].bytes)'
ok "its summary has the peers, the busiest first" $?
run -J one trace start out=other.json events=coll seconds=100ms
lua_run "$TOP/test/integration/trace_check.lua" other.json 'assert(#slices == 0)' 2>why
ok "a trace of other events has none of GIN" $?
ends 64 bad_argument "a wrong event of GIN" -J one trace start out=x.json events=gin_frob

run -J one metrics
cp out m.prom
lua_run -e '
	local n = dofile "counts.lua"
	local function total(name)
		local v = 0
		for line in io.lines "m.prom" do
			local x = line:match("^" .. name .. "{.*} (%S+)$")
			if x then v = v + x end
		end
		return v
	end
	assert(total "ncclbpf_gin_puts_total" == n.puts
		and total "ncclbpf_gin_bytes_total" == n.bytes)
	assert(total "ncclbpf_gin_context_puts_total" == n.puts)
	assert(total "ncclbpf_gin_received_signals_total" == n.signals)
	assert(total "ncclbpf_gin_put_seconds_count" == n.ops
		and total "ncclbpf_gin_put_seconds_sum" > 0)
' 2>why
ok "metrics: the same numbers" $?
has "metrics: offences by name, broken peers by state" m.prom \
	'ncclbpf_gin_offences_total{' 'reason="bounds"} 0' 'state="lost"} 0' 'state="stalled"} 0' \
	'quantile="0.99"'
promtool=$(command -v promtool || ls "$TOP/build/tools/promtool" 2>/dev/null)
if [ -n "$promtool" ]; then
	"$promtool" check metrics <m.prom >why 2>&1 && [ ! -s why ]
	ok "promtool finds nothing to say" $?
else
	ok "promtool # SKIP no promtool (test/setup.sh promtool)" 0
fi
run -J one telemetry clear
run -J one -o json stats gin
truth '
	local n = dofile "counts.lua"
	assert(sum(peers, timed) == 0 and sum(peers, "puts") == n.puts)
'
ok "telemetry clear drops times and keeps counts" $?
run -J one telemetry off

# GIN is on, and nothing asks for it
on() { # JOB [NAME=value...] COMMAND...: with GIN on, until it can be attached to
	name=$1
	shift
	env NCCLBPF_GIN=on NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_JOB="$name" \
		"$@" </dev/null >"$name.out" 2>&1 &
	jobs="$jobs $!"
	await timeout 300 "$S" -q attach "$name" >/dev/null 2>&1
	need "a job: $name" $?
}
run -J one -o json doctor
has "doctor: in use" out '"name":"gin","level":"ok"'
exec 3>&-
standin=$B/test/fakes/host/standin
on idle timeout 0 "$standin" --ranks 1 --seconds inf --pause-ms 50
run -J idle -o json doctor
has "doctor: on, but nobody has asked" out '"name":"gin","level":"warn"' \
	"GIN is on, but NCCL has not asked for our GIN plugin" "set NCCL_NET_PLUGIN=ncclbpf"
on old timeout 0 "$standin" --nccl 2.28.3 --ranks 1 --seconds inf --pause-ms 50
run -J old -o json doctor
has "doctor: NCCL is too old" out "GIN is on, but NCCL 2.28.3 has no GIN plugins"

# two sites of one job
if [ ! -x "$B/test/fakes/etcd/site" ] || ! command -v etcd >/dev/null; then
	ok "gin over a store # SKIP etcd-server is not installed" 0
	exit
fi
"$etcd" start "$T/store" || exit 1
store=$(cat store/endpoints)
for s in west east; do
	mkdir -m 700 "$T/$s"
	JOB=train DIR=$T/$s moe $s 1
	[ $s = west ] && exec 4>west.go || exec 5>east.go
	await ready $s 1
	timeout 0 "$B/test/fakes/etcd/site" "$store" train $s "$T/$s" >$s.agent 2>&1 &
	jobs="$jobs $!"
	await test -s $s.agent
done
both() {
	timeout 300 "$S" --fleet "$store" -o tsv attach train 2>/dev/null |
		grep -c attached | grep -qx 4
}
await both
run --fleet "$store" -J train -o tsv gin
[ "$rc" -eq 0 ] && [ "$(grep -c '^west	' out)" -eq 16 ] && [ "$(grep -c '^east	' out)" -eq 16 ] &&
	grep -q '^site	' out
ok "gin of two sites: each row has its site" $?
run --fleet "$store" -J train -o tsv stats gin
[ "$rc" -eq 0 ] && [ "$(grep -c '^west	' out)" -eq 16 ] && [ "$(grep -c '^east	' out)" -eq 16 ]
ok "stats gin likewise" $?
status 0 "metrics likewise" --fleet "$store" -J train metrics
has "with the label site" out 'site="west",pid=' 'site="east",pid='
cat >far.lua <<'END'
local nb = require "ncclbpf"
local t <close> = assert(nb.attach { fleet = arg[1], job = "train" })
for _, contexts in ipairs { false, true } do
	local n, puts = { west = 0, east = 0 }, { west = 0, east = 0 }
	for _, p in ipairs(assert(t:gin { contexts = contexts }).processes) do
		for _, row in ipairs(p.data.peers) do
			n[p.site], puts[p.site] = n[p.site] + 1, puts[p.site] + row.puts
			assert(row.comm_rank and row.peer and p.pid)
		end
	end
	assert(n.west == 16 and n.east == 16 and puts.west > 100 and puts.west == puts.east)
end
END
lua_run far.lua "$store" >why 2>&1
ok "Lua has the same rows, with their site" $?
exec 4>&- 5>&-
