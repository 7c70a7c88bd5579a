#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# policy run and policy compare: the answers of policies over a grid of contexts, as a table that
# answers alike; where two policies differ, or a table and a native tuner that reads its rows one by
# one; native tuners of all versions, and bad ones; what a grid may say. QUESTIONS=N: at least.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
F=$B/test/fakes/wrapped
C=$TOP/policies/costs/h100.ndjson
cat >a.csv <<'E'
allreduce,0,65536,tree,ll,2,1,-1
allreduce,65537,33554432,ring,ll128,-1,1,-1
allgather,1048576,1048576,ring,simple,4,-1,24
reduce,7,7,ring,simple,4,-1,20
E
sed 's/65536/65535/; s/65537/65536/; s/ll128/simple/' a.csv >b.csv

# ---- run ----
status 0 "a table over a grid" -o table policy run a.csv \
	'over={coll={allreduce,reduce}, bytes=1K..64M, nodes={1,2}, ranks_per_node=8}'
has "its answers as intervals" out "left to NCCL" "allreduce         1K        64K  tree  ll"
grid='over={nodes={1,3,4}, ranks_per_node={1,5,8}}'
status 0 "as CSV" -o csv policy run a.csv "$grid"
mv out run.csv
has "is a table" run.csv "coll,min_bytes,max_bytes,algo,proto,channels,chunk_size,nodes,ranks" \
	"allreduce,65537,33554432,ring,ll128,,,1,8" \
	"allgather,1048576,1048576,ring,simple,4,,3,24" "reduce,7,7,ring,simple,4,,4,20"
status 0 "that answers alike" -o table policy compare a.csv run.csv "$grid"
has "there" out "0 answers differ" "the same answers"
status 2 "for other numbers of ranks they differ" policy compare a.csv run.csv
status 2 "a row for 20 ranks is among the questions" policy compare a.csv none over=coll=reduce
if [ -e "$B/policies/size_aware.policy" ]; then
	grid='over={nodes={1,4}, ranks_per_node={2,8}, bytes=1..1G}'
	run -o csv policy run "$B/policies/size_aware.policy" "$grid"
	mv out size.csv
	status 0 "the table of a policy in C, too" policy compare "$B/policies/size_aware.policy" \
		size.csv "$grid"
	run -o csv policy run "$B/policies/cheap_ring.policy" over=nodes=1
	has "a policy that asks for NCCL's costs: a note" err "cheap_ring asks for NCCL's costs"
	run -o table policy compare "$B/policies/cheap_ring.policy" none over=nodes=1,bytes=1
	has "also when it is compared" out "cheap_ring asks for NCCL's costs" "are not known here"
	grid='over={coll=allreduce, bytes=1K..1G}'
	status 0 "by NCCL's costs of a platform" -o csv policy run "$B/policies/cheap_ring.policy" \
		"$grid" "costs=$C"
	! grep -q 'cheap_ring asks' out err
	ok "there is no note" $?
	has "and the answers are by them" out "allreduce,1024,2097151,ring,ll,,,1,8" \
		"allreduce,262144,524287,ring,ll,,,2,16"
	status 2 "NCCL's own choice is known, too" -o json policy compare none \
		"$B/policies/cheap_ring.policy" "costs=$C"
	lua_run -e 'local core = require "ncclbpf.core"
	local list, rows = core.decode(io.read "a").data, {}
	assert(list.questions == 280 and list.differ == 1, list.differ)
	for line in io.lines(os.getenv "TOP" .. "/policies/costs/h100.ndjson") do
		local d = core.decode(line)
		local at = d.context or {}
		if at.ranks then rows[d.coll .. d.bytes .. " " .. at.ranks] = d.costs_us end
	end
	for _, r in ipairs(list.rows) do -- the ring costs more, but by no more than a tenth
		local costs = rows[r.coll .. r.min_bytes .. " " .. r.ranks]
		local least, ring = math.huge, math.huge
		for i, us in ipairs(costs) do
			if us >= 0 then least = math.min(least, us) end
			if us >= 0 and i >= 4 and i <= 6 then ring = math.min(ring, us) end
		end
		assert(least < ring and ring <= least * 1.1)
	end' <out 2>why
	ok "and only a ring that is not the cheapest counts as another answer" $?
	status 0 "two policies: the second sees the first's answer" -o table policy run \
		"$B/policies/size_aware.policy" a.csv 'over={bytes=64K,nodes=1,ranks=8}'
	has "and keeps what it does not change" out "tree"
else
	ok "a policy in C # SKIP no clang at build time" 0
fi
status 0 "no answer at all" -o table policy run none
has "says so" out "NCCL decides all of them"

# ---- compare ----
status 2 "two tables that differ" -o table policy compare a.csv b.csv
has "differ at these sizes" out "tree/ll x2" "32M" "answers differ"
status 2 "in JSON" -o json policy compare a.csv b.csv 'over={nodes=1,ranks=8}' limit=1
has "with numbers" out '"differ":28' '"min_bytes":65536' '"max_bytes":65536' '"a":"tree/ll x2"'
status 2 "with NCCL's own choice" policy compare a.csv none
rows() { # FILE ROW...: a table in Lua
	f=$1
	shift
	{
		echo "return {"
		for r; do echo "	{ coll = 'reduce', algo = 'ring', $r },"; done
		echo "}"
	} >"$f"
}
apart() { # NAME: x.lua and y.lua differ
	status 2 "$1 is among the questions" policy compare x.lua y.lua coherence=off
}
rows x.lua "nodes = '~100', channels = 2" "nodes = '~500', channels = 3"
rows y.lua "nodes = '..223', channels = 2" "nodes = '224..', channels = 3"
status 0 "measured values, and the ranges that they stand for" policy compare x.lua y.lua
rows y.lua "nodes = '..222', channels = 2" "nodes = '223..', channels = 3"
apart "the last value that is nearer to one of them"
rows y.lua "nodes = '..224', channels = 2" "nodes = '225..', channels = 3"
apart "the first value that is nearer to the other"
rows x.lua "pipe_ops = 4"
rows y.lua "pipe_ops = 5"
apart "a number of operations"
rows x.lua "channels = 2"
rows y.lua "channels = 2, reg_buff = 0" "channels = 3"
apart "registration"
lua_run -e 'local nb = require "ncclbpf"
local d = assert(nb.policy_compare { "a.csv", { { coll = "allreduce", algo = "ring" } },
	over = { coll = "allreduce", bytes = { 65536, "64M" }, nodes = 1, ranks = { 8, 16 } } })
assert(d.questions == 4 and d.differ == 4 and #d.rows == 4, d.differ)
d = assert(nb.policy_run { { { bytes = 7, algo = "ring", proto = "ll" } },
	over = { bytes = "6..9", nodes = 2, ranks_per_node = 4, coll = "any" } })
assert(d.questions == 20 and d.nccl == 15 and d.rows[1].min_bytes == 7 and #d.rows == 5)
local ok, err = nb.policy_compare { "a.csv", os.getenv "B" .. "/test/fakes/wrapped/tuner_v3.so" }
assert(not ok == (package.loadlib == nil), err)' 2>why
ok "from Lua, with tables of rows and of fields" $?

# ---- native tuners ----
if [ -e "$F/csv_tuner.so" ]; then
	lua_run -e 'math.randomseed(os.getenv "SEED" or 5)
	local r = math.random
	local function pick(t) return t[r(#t)] end
	for _ = 1, 200 do
		local lo = r(0, 1 << 12) << r(0, 20)
		print(("%s,%d,%d,%s,%s,%d,%d,%d,%d"):format(
			pick { "broadcast", "reduce", "allgather", "reducescatter", "allreduce" },
			lo, lo + (r(1, 1 << 12) << r(0, 20)),
			pick { "tree", "ring", "nvls", "pat" },
			pick { "ll", "ll128", "simple" }, pick { -1, r(64) },
			pick { -1, -1, 1 << r(0, 6) }, pick { -1, -1, -1, 8, 16, 64 },
			pick { -1, -1, -1, 1, 2 }))
	end' >rules.csv
	run policy build rules.csv hidden=keep
	export CSV_TUNER_FILE=$T/rules.csv
	status 0 "a table, and a tuner that reads its rows one by one" -o json policy compare \
		rules.policy "$F/csv_tuner.so" \
		'over={nodes=1..64, ranks_per_node={1,4,8}, pipe_ops=1, usable={2097151,63}}'
	lua_run -e 'local d = assert(require "ncclbpf.core".decode(io.read "a")).data
		assert(d.differ == 0 and d.questions >= (tonumber(os.getenv "QUESTIONS") or 100000),
			d.questions)' <out 2>why
	ok "agree in more than 100,000 questions" $?
	sed 's/,nvls,/,ring,/' rules.csv >other.csv
	run policy build other.csv hidden=keep
	status 2 "another algorithm in some rows is found" policy compare other.policy \
		"$F/csv_tuner.so" over=nodes=1,ranks=8
	for v in 2 3 4; do
		run -o table policy compare none "$F/tuner_v$v.so" 'over={bytes=1M,nodes=1,ranks=8}'
		grep -q "ring/.* x4" out
		ok "a tuner of version $v" $?
	done
	CHAIN_DOES=deny run -o csv policy run "$F/tuner_v4.so" "costs=$C" \
		'over={coll=allreduce, bytes=1M, nodes=1}'
	has "a tuner sees NCCL's costs, and takes the second cheapest" out \
		"allreduce,1048576,1048576,$(lua_run -e 'local core = require "ncclbpf.core"
	for line in io.lines(os.getenv "TOP" .. "/policies/costs/h100.ndjson") do
		local d, list = core.decode(line), {}
		if d.coll == "allreduce" and d.bytes == 1048576 and d.context.nodes == 1 then
			for i, us in ipairs(d.costs_us) do
				if us >= 0 then list[#list + 1] = { us, i - 1 } end
			end
			table.sort(list, function(a, b) return a[1] < b[1] end)
			local i = list[2][2]
			print(core.nccl("algo", i // 3) .. "," .. core.nccl("proto", i % 3))
		end
	end')"
	status 0 "and of version 7" policy compare rules.policy "$F/csv_tuner_v7.so" \
		over=bytes=1..1G,nodes=8,ranks=64
	CSV_TUNER_FILE=nowhere fails 64 bad_argument "a tuner whose init fails" \
		policy compare a.csv "$F/csv_tuner.so"
	CHAIN_DOES=abort_init ends 64 bad_argument "one that ends its process" policy compare none \
		"$F/tuner_v3.so"
	CHAIN_DOES=leave ends 64 bad_argument "one that leaves a process with the pipe" policy \
		compare none "$F/tuner_v3.so"
	CHAIN_DOES=deaf lua_run -e 'local core = require "ncclbpf.core"
		local file = os.getenv "B" .. "/test/fakes/wrapped/tuner_v3.so"
		local answers, err = core.native_tuner(file, { { ranks = 8, nodes = 1 } }, 1)
		assert(not answers and err.message:find("within 1 s", 1, true), err.message)' 2>why
	ok "one that takes no signal and does not answer, with a process of its own" $?
	fails 64 bad_argument "a library that is no tuner" policy compare none "$F/none.so"
else
	ok "native tuners # SKIP they were not built" 0
fi
fails 66 no_input "a tuner that is not there" policy compare none nowhere.so

# ---- grids ----
cp "$C" h100.ndjson
fails 64 usage "a grid of which nothing was recorded" policy run none over=nodes=4 \
	costs=h100.ndjson
echo '{"coll":"allreduce","bytes":8,"context":{"ranks":8,"nodes":1},"costs_us":null}' >null.ndjson
fails 65 malformed "a file without costs" policy run none costs=null.ndjson
fails 66 no_input "costs that are not there" policy run none costs=nowhere
fails 64 usage "a range in which no size was recorded" \
	policy run none over=bytes=1..2 costs=h100.ndjson
head -2 h100.ndjson >line.ndjson
while read -r what change; do
	sed "$change" line.ndjson >wrong.ndjson
	fails 65 malformed "recorded costs: $what" policy run none costs=wrong.ndjson
done <<'E'
collective s/broadcast/bcast/
bytes s/64,/-64,/
ranks s/"ranks":8,//
nodes s/"nodes":1/"nodes":4294967296/
shape s/"nodes":1/"nodes":9/
operations s/"pipe_ops":1/"pipe_ops":0/
fact s/:90/:"sm_90"/
context s/"context":/"asked":/
numbers s/-1]/-1,-1]/
number s/7.20045376/1e39/
cut s/,-1]}//
E
# One question of each of 200 communicators is 200 questions, not 200 sizes of 40,000 shapes.
for i in $(seq 200); do
	sed -n "2s/:64,/:$i,/; 2s/\"ranks\":8,\"nodes\":1,/\"ranks\":$((8 * i)),\"nodes\":$i,/p" \
		line.ndjson
done >many.ndjson
status 0 "costs of many communicators" -o json policy run none costs=many.ndjson
has "are as many questions as were recorded" out '"questions":200'
sed '2!d; s/broadcast/allreduce/; s/\[-1,-1,-1,[^,]*,[^,]*,[^,]*/[5,-1,-1,5,-1,-1/
	s/}$/,"nccl":{"algo":"ring","proto":"ll"}}/' line.ndjson >equal.json
run -o csv policy compare none a.csv costs=equal.json
has "of equal costs NCCL's choice is the recorded one" out "allreduce,64,64,ring/ll,tree/ll x2"
sed 's/"pipe_ops":1/"pipe_ops":4/' line.ndjson | cat line.ndjson - >ops.ndjson
status 0 "costs of several operations at once" -o json policy run none costs=ops.ndjson
has "are questions, too" out '"questions":2'
if [ -e "$B/test/corpus/answers/unusable.policy" ]; then
	status 0 "an answer that NCCL does not offer leaves its own choice" policy compare none \
		"$B/test/corpus/answers/unusable.policy" costs=line.ndjson
else
	ok "an answer that NCCL does not offer # SKIP no clang at build time" 0
fi
for over in nodez=1 nodes= 'bytes=4K..1K' 'bytes={1,' 'coll=allreduze' 'ranks=8,ranks_per_node=8' \
	'nodes=1,nodes=2' 'algo=ring' 'nodes={}'; do
	fails 64 usage "a grid: $over" policy run a.csv "over={$over}"
done
fails 65 over_limit "a grid that is too large" policy run a.csv \
	'over={nodes=1..1M, ranks_per_node=1..1M, pipe_ops=1..1M}'
fails 64 usage "limit= that is no number" policy compare a.csv b.csv limit=many
messages
