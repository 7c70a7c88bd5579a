#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Sweeps from files: each form of measurements, every fault with its place, a
# least effect, no flapping between neighbouring sizes, tables that compile.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

# ---- plans that are none ----
bad() { # FIELDS
	echo "return { $1 }" >bad.lua
	fails 64 bad_argument "refused: $1" sweep start bad.lua
}
bad 'rounds = 2'
bad 'roudns = 12'
bad 'algos = { "rnig" }'
bad 'channels = { 8, 129 }'
bad 'baseline = "ring/ll"'
bad 'data = "x.csv", baseline = "ring"'
bad 'data = { { fiel = "x" } }'
bad 'data = { { file = "x", algo = "ring" } }'
bad 'data = { { file = "x", algo = "ring", proto = "lll" } }'
bad 'data = {}'
bad 'hysteresis_pct = 0/0'
bad 'scope = { sizes = "9M..1M" }'
echo 'return { data = "nowhere.csv", baseline = "ring/ll" }' >none.lua
status 66 "a file that is not there" sweep start none.lua
status 64 "what is neither plan nor word" sweep start bad.lua data=
status 69 "a live one without a job" sweep start "$TOP/examples/nightly-sweep/plan.lua"

# ---- files with faults ----
echo 'return { data = "m.csv", baseline = "ring/simple" }' >m.lua
fault() { # NAME; the file is on the standard input
	cat >m.csv
	fails 65 malformed "$1" sweep start m.lua
}
H=collective,size_bytes,algorithm,protocol,channels,nodes,ranks,latency_us
fault 'an unknown column' <<E
collective,size,latency_us
$H
allreduce,4096,ring,,1,1,8,10
E
fault 'no measurement' <<E
$H
E
times='     time   algbw   busbw #wrong' in_place='    51.00   82.2   143.9      0'
fault 'too few fields' <<E
# Collective test starting: all_reduce_perf
#       size         count      type   redop    root$times$times
     4194304       1048576     float     sum      -1    50.10   83.7   146.5
E
fault 'a time that is none' <<E
# Collective test starting: all_reduce_perf
#       size         count      type   redop    root$times$times
     4194304       1048576     float     sum      -1 fast   83.7   146.5      0$in_place
E
fault 'a row without a header' <<E
     4194304       1048576     float     sum      -1 50.1   83.7   146.5      0  algbw
E
fault 'not JSON' <<E
{"results": [
E
fault 'JSON: a size that is none' <<E
{"version":3,"results":[{"size":"x"}]}
E
fault 'JSON: a time below 0' <<E
{"version":3,"results":[{"size":8,"out_of_place":null,"in_place":{"time":-1}}]}
E
fault 'JSON: a version that is none' <<E
{"version":"three","results":[]}
E
cat >m.csv <<E
#
# size count type redop root time algbw busbw #wrong
 8 2 float sum -1 5.0 0.1 0.1 0
E
fails 65 malformed "nothing says which collective" sweep start m.lua
printf '%s\nallreduce,4096,,,,1,8,10\n' $H >m.csv
echo 'return { data = "m.csv", scope = { sizes = "1G..2G" } }' >scope.lua
status 65 "nothing in the scope" sweep start scope.lua
printf "%s\n\"allreduce\",4096,\"ring\",ll,,1,8,10\n" $H >m.csv
echo 'return { data = "m.csv" }' >nobase.lua
fails 64 bad_argument "no baseline" sweep start nobase.lua

# ---- what is chosen ----
# times of NCCL's own choice 100, of ring/ll128 by size as said, a little noise
make_csv() { # "EFFECT_PCT..." for 1M, 2M, 4M, ...
	awk -v effects="$1" -v head=$H '
		BEGIN {
			srand(7)
			print head
			n = split(effects, e, " ")
			for (i = 1; i <= n; i++) for (k = 0; k < 12; k++) {
				printf "allreduce,%d,,,,1,8,%.3f\n", 1048576 * 2 ^ (i - 1),
					100 * (0.998 + k * 7 % 12 / 3000)
				printf "allreduce,%d,ring,ll128,,1,8,%.3f\n", 1048576 * 2 ^ (i - 1),
					(100 + e[i]) * (0.998 + k * 5 % 12 / 3000)
				printf "allreduce,%d,nvls,simple,,1,8,%.3f\n",
					1048576 * 2 ^ (i - 1), 130 * (0.998 + k / 3000)
			}
		}
	' >m.csv
}
echo 'return { data = "m.csv", min_effect_pct = 3, hysteresis_pct = 2 }' >m.lua
table() { # what the table has, without comments
	grep -v '^#' out.csv | tr '\n' ' '
}
sweeps() { # NAME EFFECTS TABLE
	make_csv "$2"
	rm -f out.csv
	run -o table sweep start m.lua out=out.csv
	got=$(table 2>/dev/null)
	echo "table: $got" >>why
	[ "$rc" -eq 0 ] && [ "$got" = "$3" ]
	ok "$1" $?
}
sweeps "what is surely faster, in one row" "-20 -20 -20 0" \
	"allreduce,1048576,8388607,ring,ll128,-1,1,8 "
has "how sure each size is, in the table" out.csv "# allreduce 1M: ring/ll128: -" \
	"12 and 12 blocks, better" "# allreduce 8M: baseline: nothing faster by 3 %"
[ "$(grep -oE "[A-Z]+ %" out)" = "SLOWER %" ] &&
	grep -qE '^allreduce +1M +better .* -(19|20)\.[0-9] ' out
ok "a candidate that takes less time has a negative SLOWER %" $?
sweeps "less than the least effect is not taken" "-2 -2 -2" ""
has "and why not" out "nothing faster by 3 %" "no row is better, so the baseline stays" \
	"nothing written"
sweeps "slower is never taken" "5 30 -1" ""
sweeps "one size that is little better is not worth two changes" "0 -3.6 0" ""
has "which is said" out "hysteresis" "is not worth two changes of the answer"
sweeps "one that is much better is" "0 -12 0" "allreduce,2097152,4194303,ring,ll128,-1,1,8 "
sweeps "neighbours keep one answer across a size where it is as good" \
	"-10 0 -10" "allreduce,1048576,8388607,ring,ll128,-1,1,8 "
has "which is said too" out "bridged" "not slower; uses the choice of the neighbouring sizes"
sweeps "but not across one where it is slower" "-10 6 -10" \
	"allreduce,1048576,2097151,ring,ll128,-1,1,8 allreduce,4194304,8388607,ring,ll128,-1,1,8 "
make_csv "-20 0 -20"
sed -i '/,2097152,/d' m.csv
run sweep start m.lua out=out.csv
[ "$(table)" = \
	"allreduce,1048576,2097151,ring,ll128,-1,1,8 allreduce,4194304,8388607,ring,ll128,-1,1,8 " ]
ok "a size that was not measured gets no row" $?
echo 'return { data = "m.csv", gaps = "fill" }' >fill.lua
run sweep start fill.lua out=out.csv
[ "$(table)" = "allreduce,1048576,8388607,ring,ll128,-1,1,8 " ]
ok "gaps = fill gives it that of its neighbours" $?
make_csv "-20"
head -7 m.csv >few.csv
run -o table sweep start m.lua data=few.csv
has "too little data are not enough" out "inconclusive" "blocks"
make_csv "-20 -20"
status 0 "policy build takes the table" sweep start m.lua out=out.csv
status 0 "as it is" policy build out.csv
status 0 "a policy at once" sweep start m.lua out=out.policy
status 0 "that verifies" policy verify out.policy
run sweep start m.lua out=back.bpf.o
run -o table policy diff out.policy back.bpf.o
has "an object too, the same" out "equal in maps and instructions"
status 73 "a file that cannot be written" sweep start m.lua out=/nowhere/x.csv
status 0 "JSON" -o json sweep start m.lua
lua_run -e 'local core = require "ncclbpf.core"
	local d = assert(core.decode(io.read "a")).data
	assert(#d.rows == 2 and d.comparisons == 4 and #d.table == 1
		and d.table[1].max_bytes == 4194303)
	for _, r in ipairs(d.rows) do
		assert(r.verdict == "better" and r.answer == "ring/ll128" and r.effect_pct < -19
			and r.effect_pct > -21)
		assert(r.low_pct <= r.effect_pct and r.effect_pct <= r.high_pct and r.high_pct < 0
			and r.blocks_a == 12)
	end' <out 2>>why
ok "with the numbers" $?
echo 'return { data = "m.csv", baseline = "nvls/simple" }' >base.lua
grep -v ',,,,' m.csv >two.csv
run -o table sweep start base.lua data=two.csv out=out.csv
has "a baseline of one's own" out "ring/ll128" "better"
lua_run -e 'local of = require("ncclbpf.sweep.measurements").combination
	assert(select(3, of "ring/llx128") == 128 and not of "ring/llx129")'
ok "a baseline has at most the 128 channels of RCCL" $?

# ---- nccl-tests ----
text() { # FILE US: as mpirun --tag-output prints it, logs in between
	gap='                              ' per='(+ per-iteration)'
	names='     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%'
	units='     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)'
	out_of_place="   $2.1   83.7  83.7     N/A  1 2 3 4"
	in_place="   $2.9   82.2   82.2       0  1 2 3 4"
	cat >"$1" <<E
[1,0]<stdout>:# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809
[1,0]<stdout>:# Collective test starting: all_reduce_perf
[1,0]<stdout>:#  Rank  0 Group  0 Pid   1001 on     node07 device  0 [0000:1b:00] NVIDIA B300
[1,0]<stdout>:#  Rank  1 Group  0 Pid   1002 on     node07 device  1 [0000:43:00] NVIDIA B300
[1,0]<stdout>:#
[1,0]<stdout>:#$gap$gap  out-of-place $per$gap  in-place $per
[1,0]<stdout>:#       size         count      type   redop    root$names$names
[1,0]<stdout>:#        (B)    (elements)                          $units$units
node07:1001:1050 [0] NCCL INFO some line in between
[1,0]<stdout>:     4194304       1048576     float     sum      -1$out_of_place$in_place
[1,0]<stdout>:# Avg bus bandwidth    : 83.0
E
}
list='' k=0
while [ $k -lt 10 ]; do
	text "base$k.txt" "6$k"
	text "ring$k.txt" "4$k"
	list="$list 'base$k.txt',"
	list="$list { file = 'ring$k.txt', algo = 'ring', proto = 'll128', channels = 8 },"
	k=$((k + 1))
done
echo "return { data = { $list } }" >tests.lua
status 0 "nccl-tests' text, tagged, with logs between" -o table sweep start tests.lua out=out.csv
has "is read by its header" out "ring/ll128x8" "better" "from files"
[ "$(table)" = "allreduce,4194304,8388607,ring,ll128,8,1,2 " ]
ok "ranks and nodes from its list of devices" $?
json() { # FILE US ENV VERSION
	cat >"$1" <<E
{"version":$4,"args":["/opt/all_reduce_perf","-b","4M"],"env":["HOME=/root"$3],
"config":{"nthreads":1,"devices":[{"rank":0,"hostname":"a"},{"rank":1,"hostname":"b"}]},
"results":[{"size":4194304,"count":1,"out_of_place":{"time":99.0,"alg_bw":1.0},
"out_of_place_per_iter":{"times_us":[$2.1,$2.2,$2.3]},"in_place":{"time":$2.0,"nwrong":null}}]}
E
}
list='' k=0
while [ $k -lt 10 ]; do
	json "base$k.json" "6$k" "" 3
	json "ring$k.json" "4$k" ',"NCCL_ALGO=RING","NCCL_PROTO=LL"' 3
	list="$list 'base$k.json', 'ring$k.json',"
	k=$((k + 1))
done
json newer.json 65 "" 4
echo "return { data = { $list 'newer.json' } }" >json.lua
status 0 "nccl-tests' JSON" -o table sweep start json.lua out=out.csv
has "the combination from its environment, newer versions with a warning" out "ring/ll " "better" \
	"warning: newer.json: version 4"
[ "$(table)" = "allreduce,4194304,8388607,ring,ll,-1,2,2 " ]
ok "nodes and ranks from its devices" $?

# ---- what NVIDIA's Inspector writes ----
allreduce() { # RANK NUMBER US SOURCE [MORE]: a collective's line
	printf '{"header":{"id":"0xabc","rank":%s,"n_ranks":2,"nnodes":1},%s' "$1" "${5:-}"
	printf '"coll_perf":{"coll":"AllReduce","coll_sn":%s,"coll_msg_size_bytes":4194304,' "$2"
	printf '"coll_exec_time_us":%s,"coll_timing_source":"%s"}}\n' "$3" "$4"
}
inspector() { # FILE US: eight collectives of two ranks, the second slower by a half
	for i in 1 2 3 4 5 6 7 8; do
		for rank in 0 1; do
			allreduce $rank $i $(($2 * (2 + rank) / 2 + i)) kernel_gpu \
				'"metadata":{"pid":7},'
		done
	done >"$1"
}
inspector ring.jsonl 200
inspector own.jsonl 400
allreduce 0 9 1 collective_cpu >>own.jsonl
echo '{"header":{"id":"0xabc","rank":0,"n_ranks":2,"nnodes":1},"p2p_perf":{"p2p":"Send"}}' \
	>>own.jsonl
cat >insp.lua <<E
return { data = { { file = "ring.jsonl", algo = "ring", proto = "ll128" }, "own.jsonl" },
	confidence = 0.9 }
E
status 0 "Inspector's lines" -o table sweep start insp.lua out=out.csv
has "the slowest rank of each, by one source" out "ring/ll128" "better" \
	"warning: own.jsonl: 1 lines of another source than kernel_gpu"
[ "$(table)" = "allreduce,4194304,8388607,ring,ll128,-1,1,2 " ]
ok "with nodes and ranks" $?
cat >faults.lua <<'E'
local nb = require "ncclbpf"
local sized = '{"header":{},"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_msg_size_bytes":8,'
for text, want in pairs { ['{"coll_perf":3}'] = "header and coll_perf",
	['{"coll_perf":'] = "not JSON",
	['{"header":{},"coll_perf":{"coll":"x"}}'] = "coll_perf.coll is x",
	['{"header":{},"coll_perf":{"coll":"AllReduce","coll_sn":-1}}'] = "coll_sn",
	[sized .. '"coll_exec_time_us":"1"}}'] = "coll_exec_time_us",
	[sized .. '"coll_exec_time_us":1,"coll_timing_source":"sun"}}'] =
		"coll_timing_source is sun" } do
	local f = io.open("bad.jsonl", "w")
	f:write(sized, '"coll_exec_time_us":1,"coll_timing_source":"kernel_gpu"}}\n', text, "\n")
	f:close()
	local none, err = nb.sweep_start { { data = { "bad.jsonl" } } }
	assert(none == nil and err.code == "malformed" and err.message:find(want, 1, true)
		and err.where.line == 2, text .. ": " .. tostring(err))
end
E
lua_run faults.lua 2>>why
ok "each fault with its line" $?

# ---- from Lua ----
cat >api.lua <<'E'
local nb = require "ncclbpf"
local r = assert(nb.sweep_start { { data = { "m.csv" }, name = "api" }, out = "api.policy" })
assert(#r.rows == 2 and r.file == "api.policy")
local v = assert(nb.policy_verify "api.policy")
assert(v.name == "api" and v.accepted)
local none = assert(nb.sweep_start { { data = { "m.csv" }, min_effect_pct = 50 } })
assert(#none.table == 0)
local x, err = nb.sweep_start { { data = { "m.csv" }, rounds = 1 } }
assert(not x and err.code == "bad_argument")
assert(not pcall(nb.sweep_start, print) and not pcall(nb.sweep_start, {}))
E
lua_run api.lua 2>"$T/why"
ok "a sweep of files from Lua" $?
messages
