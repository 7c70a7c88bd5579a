#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# explain in full: the line that made an answer, the comparisons on its way, the
# row of a table, and NCCL's cost table. choices: the same for each power of two.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "explain" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=ex \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --seconds inf --pause-ms 20 \
	--min 1M --max 64M --factor 4 --table "$TOP/test/fakes/vgpu/b300.csv" >ex.out 2>&1 &
jobs="$jobs $!"
export NCCLBPF_JOB=ex
# enough: is decision 8 or a later one in the list?
enough() { "$S" -q -o json decision tail count=64 | grep -qE '"seq":([89]|[1-9][0-9]+),'; }
await enough
use() { # NAMES...: and all ranks decide with them
	timeout 300 "$S" policy use "$@" >/dev/null
	await settled ex
}

# ---- no policy ----
status 0 "no policy" -o table explain allreduce 16M
has "NCCL's cost table, the cheapest first" out \
	"NCCL's cost table, predicted us: nvls/simple" "ring/ll128"
status 0 "doctor finds nothing wrong" -o table doctor
has "and says what is next" out "nothing wrong: " "next: choices shows"
status 0 "a size that was not seen" -o table explain allreduce 1K
has "has no table" out "NCCL's cost table is not known"

# ---- C: an inlined function of a header, and the policy's own lines ----
cat >mid.bpf.c <<'E'
#include "ncclbpf_policy.h"
SEC("tuner")
int mid(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes >= MIB(4))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	return 0;
}
E
status 0 "a policy in C" policy load mid.bpf.c
use mid
status 0 "is explained" -o table explain allreduce 16M
header=$(grep -n 'ctx->algo = algo;' "$TOP/policies/ncclbpf_policy.h" | cut -d: -f1)
has "the header's name, line and text" out "mid made the answer at" \
	"ncclbpf_policy.h:$header:  ctx->algo = algo;"
has "a comparison by the policy's own line" out "bytes (16M) >= 4M" "mid.bpf.c:5"

# ---- its fields and comparisons ----
# policy NAME LINES: load a policy whose function has these lines, from line 5 on
policy() {
	{
		printf '#include "ncclbpf_policy.h"\nSEC("tuner")\n'
		printf 'int %s(struct ncclbpf_tuner *ctx)\n{\n%s\n\treturn 0;\n}\n' "$1" "$2"
	} >"$1.bpf.c"
	status 0 "a policy: $1" policy load "$1.bpf.c"
}
policy made '	if (ctx->coll == NCCL_COLL_ALL_REDUCE && ctx->bytes >= MIB(4) &&
	    ctx->bytes <= MIB(32) && ctx->ranks < 16) {
		ctx->algo = NCCL_ALGO_RING;
		ctx->proto = NCCL_PROTO_SIMPLE;
	}'
use made
status 0 "is explained" -o table explain allreduce 16M
has "the lines that made the answer" out \
	"made made the answer at $T/made.bpf.c:7:  ctx->algo = NCCL_ALGO_RING;" \
	"made made the answer at $T/made.bpf.c:8:  ctx->proto = NCCL_PROTO_SIMPLE;"
has "the comparisons on its way" out "coll (allreduce) == allreduce" "bytes (16M) in 4M to 32M" \
	"ranks (2) <" "made.bpf.c:5"
status 0 "one byte too few" -o table explain allreduce 4194303
has "a bound and what misses it can be told apart" out "bytes (4194303)" "4M"
status 0 "in JSON" -o json explain allreduce 16M
cp out ex.json
cat >check.lua <<'E'
local core = require "ncclbpf.core"
local d = assert(core.decode(io.read "a")).data.processes[1].data
assert(d.context.ranks == 2 and d.context.usable > 0 and #d.costs_us == 21)
local best
for i, v in ipairs(d.costs_us) do
	assert((v >= 0) == (d.context.usable >> (i - 1) & 1 == 1))
	if v >= 0 and (not best or v < d.costs_us[best]) then best = i end
end
assert(core.nccl("algo", (best - 1) // 3) == d.nccl.algo
	and core.nccl("proto", (best - 1) % 3) == d.nccl.proto, "NCCL's choice is the cheapest")
assert(#d.why == 1 and d.why[1].name == "made" and d.why[1].left_out == 0)
for _, b in ipairs(d.why[1].branches) do
	assert(b.op)
	-- clang gives no line to a comparison of a range
	assert(b.at.line == 0 or b.at.file:find "/made.bpf.c$" and
		(b.at.line == 5 or b.at.line == 6))
end
for _, w in ipairs(d.why[1].writes) do
	assert((w.field == "algo" and w.at.line == 7) or (w.field == "proto" and w.at.line == 8))
end
E
lua_run check.lua <ex.json 2>why
ok "context, costs, lines" $?

policy early '	if (ctx->bytes < MIB(4) || ctx->bytes > MIB(32))
		return 0;
	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;'
use early
status 0 "a range by early returns is explained" -o table explain allreduce 16M
has "as a range" out "bytes (16M) in 4M to 32M"
status 0 "outside of it" -o table explain allreduce 64M
has "too" out "bytes (64M) not in 4M to 32M"
use made

# ---- choices: each power of two, of one communicator ----
# listed ARGS...: the rows of choices, with single blanks
listed() {
	status 0 "choices $*" -o table choices "$@"
	tr -s ' ' <out >rows
}
listed allreduce
has "what was decided, by whom, beside NCCL's own choice" rows \
	"allreduce, comm c0ffee0000000000: 2 ranks on 1 node" ", policies made" \
	"16M nvls/simple ring/simple made" "64M nvls/simple nvls/simple NCCL"
has "and what has not been: a policy's answer, or NCCL's, which is not known" rows \
	"8M not known ring/simple made" "128M to 16G not known NCCL's choice NCCL" \
	"not known: NCCL has not asked about this size"
[ "$(wc -l <out)" -le 24 ] && awk 'length > 80 && !/^not known/ { exit 1 }' out
ok "on one screen of 80 x 24" $?
status 0 "a row for each size" -o wide choices allreduce comm=ranks:2
[ "$(grep -c '^[0-9]*[KMG]\{0,1\} ' out)" -eq 35 ]
ok "of 1 byte to 16 GiB" $?
cat >choices.lua <<'E'
local job = require "ncclbpf".attach { job = "ex" }
local d = assert(job:choices { "AllReduce" })
assert(#d.choices == 35 and d.policies[1] == "made" and not d.wrapped)
for i, c in ipairs(d.choices) do
	local e = assert(job:explain { "allreduce", c.bytes, comm = d.comm })
	assert(c.bytes == 1 << i - 1 and c.seen == e.seen and c.by == e.by)
	for _, k in ipairs { "algo", "proto" } do
		assert(c.nccl[k] == e.nccl[k] and c.answer[k] == e.answer[k])
	end
	assert(c.own == not c.by)
	assert((c.by == "made") == (c.bytes >= 4 << 20 and c.bytes <= 32 << 20))
end
E
lua_run choices.lua 2>why
ok "choices has the answers of explain" $?
cat >fences.lua <<'E'
local members = { { pid = 1, rank = 0 }, { pid = 2, rank = 1 } }
-- Two ranks answer choices; the question of each number finds them in generation_of(number).
local function choices(generation_of)
	local asked, group = 0, {}
	function group.ask(_, line)
		local data = { comms = { { comm = "1", ranks = 2, decisions = 9 } } }
		if line ~= "comm list" then
			asked = asked + 1
			data = { coll = "allreduce", generation = generation_of(asked) }
		end
		return { { member = members[1], data = data },
			{ member = members[2], data = data } }
	end
	return require "ncclbpf.commands.choices".cmd_choices {
		args = {}, opt = {}, flags = {}, format = function() return "json" end,
		session = function() return group end }.data.processes, asked
end
local _, asked = choices(function() return 1 end)
assert(asked == 35, asked)
local per
per, asked = choices(function(n) return n > 5 and 2 or 1 end)
assert(#per == 2 and asked == 70, asked)
for _, process in ipairs(per) do
	assert(process.data.generation == 2 and #process.data.choices == 35)
	for _, c in ipairs(process.data.choices) do assert(c.generation == 2) end
end
_, asked = choices(function(n) return n end)
assert(asked == 105, asked)
E
lua_run fences.lua 2>why
ok "ranks that pass a fence meanwhile are asked again, at most twice" $?
fails 64 bad_argument "a wrong collective" choices allreduc
fails 1 not_found "a communicator that is not there" choices allreduce comm=1234

# ---- a table: its row ----
cat >rows.csv <<'E'
allreduce,1048576,-1,pat,simple,-1,-1,-1
allreduce,0,4194304,tree,ll,-1,-1,2
allreduce,4194305,33554431,ring,ll128,-1,1,-1
allreduce,33554432,-1,ring,simple,-1,1,-1
E
status 0 "a table" policy load rows.csv
use rows
status 0 "is explained" -o table explain allreduce 16M
has "by its row" out \
	"table rows: row 3 (allreduce,4194305,33554431,ring,ll128,-1,1,-1,-1,-1) of 4" \
	"before it, not offered by NCCL: row 1 (allreduce,1048576,"
has "and the nearest sizes with another one" out "bytes 4194304 or less: row 2" \
	"bytes 33554432 or more: row 4"
status 0 "a size between" -o table explain allreduce 4M
has "has its own" out "row 2" "bytes 4194305 or more: row 3"
status 0 "a collective that no row is about" -o table explain broadcast 4M
has "no row" out "table rows: no row of 4"
status 0 "both" policy use made rows
await settled ex
run -o json explain allreduce 16M
lua_run -e 'local d = assert(require "ncclbpf.core".decode(io.read "a")).data
	assert(#d.tables == 1 and d.tables[1].policy == "rows" and d.tables[1].row == 3
		and d.tables[1].not_offered[1] == 1)
	assert(d.tables[1].below.bytes == 4194304 and d.tables[1].below.row == 2
		and d.tables[1].above.bytes == 33554432 and d.tables[1].above.row == 4)
	local p = d.processes[1].data
	assert(p.by == "rows" and #p.why == 2 and p.answer.algo == "ring"
		and p.answer.proto == "ll128")
' <out 2>why
ok "the table's row in JSON, beside the other's lines" $?

# ---- maps ----
cat >mapped.bpf.c <<'E'
#include "ncclbpf_policy.h"
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} limits SEC(".maps") __coherent;
SEC("tuner")
int mapped(struct ncclbpf_tuner *ctx)
{
	__u32 key = 1;
	__u64 *limit = bpf_map_lookup_elem(&limits, &key);

	if (limit && ctx->bytes >= *limit) {
		ctx->algo = NCCL_ALGO_RING;
		ctx->proto = NCCL_PROTO_LL128;
	}
	return 0;
}
E
status 0 "a policy with a map" policy load mapped.bpf.c
use mapped
run map set limits 1 8M
await settled ex
status 0 "is explained" -o table explain allreduce 16M
has "with the value that the job's map has" out "bytes (16M) >= 8M, from a map"

# ---- a protocol that costs choose: the test of usable is of a shifted value ----
policy chosen '	int simple = ncclbpf_cost(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE) <
		     ncclbpf_cost(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	if (ctx->bytes >= ctx->ranks * MIB(2))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128 + simple);'
use chosen
status 0 "is explained" -o table explain allreduce 64M
has "made by it, from a size that the ranks give" out "by chosen" "a value from ranks (4M)"
! grep -q "offers ring/ll " out && grep -q "from usable" out
ok "names no combination that was not tested" $?

# ---- objects ----
if [ -e "$B/policies/nvlink_ring_mid.bpf.o" ]; then
	run policy load "$B/policies/nvlink_ring_mid.bpf.o"
	use nvlink_ring_mid
	status 0 "an object" -o table explain allreduce 16M
	has "by the lines of its source" out "nvlink_ring_mid.bpf.c:" "NCCL offers ring/ll128" \
		"bytes (16M) in 4M to 32M"
else
	ok "an object # SKIP no clang at build time" 0
fi
# ---- what cannot be done: whose answer it is, and what may be answered ----
policy chan '	ctx->channels = 999;'
policy nine '	ctx->algo = 9;'
policy ringed '	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;'
use chan ringed
status 0 "too many channels" -o table explain allreduce 16M
has "are charged to who asked for them" out "chan answered 999, allowed are 1 to"
listed allreduce
has "names the reason" rows "ring/simple ringed (dropped: channels_range)" "chan answered 999"
policy half '	ctx->algo = NCCL_ALGO_RING;'
use half
listed
has "an algorithm alone is completed where NCCL's offer is known" rows \
	"2M not known ring/? half" "16M nvls/simple ring/simple half"
use nine
status 0 "an algorithm that there is not" -o table explain allreduce 16M
has "is shown as it is" out "9/" "changed it" "nine answered 9, allowed are 0 to"
status 0 "ranks agree: explaining changed nothing" check agreement

# ---- NCCL 2.21 passes no costs ----
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=blind \
	timeout 0 "$B/test/fakes/host/standin" --nccl 2.21.5 --ranks 1 --seconds inf \
	--pause-ms 20 --min 1M --max 1M >blind.out 2>&1 &
jobs="$jobs $!"
asked() { run -J blind -o tsv choices && grep -q '	1048576	true' out; }
await asked
listed -J blind
has "choices of NCCL 2.21 are not known" rows "1M not known NCCL's choice NCCL" \
	"it passes no cost table"
messages
