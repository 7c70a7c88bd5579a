#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Chunk sizes that policies choose, in a job of the mock NCCL: NCCL 2.30 asks for them and uses
# them, explain and the records tell them, a wrong one is counted and NCCL's own stays, earlier
# releases and RCCL do not ask. The job ends with status 3 if ranks decide differently, so a change
# in the middle, beside a rank that is asked more often, also takes effect at one collective.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "chunk sizes" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB ARGS...
	this=$1
	shift
	rm -f ran
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO \
		timeout 0 "$B/test/fakes/host/standin" --procs --ranks 3 --seconds inf \
		--pause-ms 2 --min 1K --max 64M --factor 256 --report ran "$@" \
		>"$this.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
	need "a job: $this" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
ran() { tail -n 3 ran | grep -q "\"bytes\":67108864,.*\"runs\":\"$1\",\"chunk_size\":$2}"; }
counted() { # REASON
	timeout 300 "$S" -q -J "$this" -o json status 2>/dev/null | grep -q "\"$1\":[1-9]"
}
used() { # POLICY: a busy machine's ranks may run past every fence that is tried
	for _ in 1 2 3 4 5 6; do
		timeout 300 "$S" -q -J "$this" policy use "$1" >>use 2>&1 && return
	done
	cat use >why
	return 1
}

cat >large.csv <<'E'
collective,bytes,algorithm,protocol,chunk_size
any,1M..,ring,simple,256K
E
sed 's/256K/300000/' large.csv >odd.csv
sed 's/simple,256K/ll128,72000/' large.csv >other.csv
sed 's/ring,simple,256K/,,64K/' large.csv >only.csv
for t in large odd other only; do
	run policy build $t.csv
done

NCCLBPF_POLICY=$T/large.policy start new --nccl 2.30.7 --events --probe 2:50
await ran ring/simple 262144
ok "NCCL 2.30: a table's chunk size is used" $?
status 0 "explain" -J new -o table explain allreduce 64M
has "tells it" out "ring/simple chunk 256K" "chunk_size=262144" "by large"
status 0 "as JSON" -J new -o json explain allreduce 64M
has "with the number" out '"proto":"simple","channels":0,"chunk_size":262144}'
status 0 "small messages" -J new -o json explain allreduce 1K
! grep -q '"chunk_size"' out
ok "have NCCL's own" $?
run -J new -o json decision tail count=3
has "the records have it" out '"chunk_size":262144' '"tuner_abi":6'
run -J new -o table comm show
has "and the latest decisions" out "ring/simple chunk 256K"
status 0 "the same policy again" -J new policy simulate large.csv
status 2 "another one" -J new policy simulate other.csv
has "differs in it" out "ring/simple chunk 256K -> ring/ll128 chunk 72000"
cat >plan.lua <<'E'
return { scope = { collectives = { "allreduce" }, sizes = "64M..64M" }, algos = { "ring" },
	protos = { "simple" }, chunk_sizes = { 0, "256K", 300000 } }
E
status 0 "a sweep" -J new -n sweep start plan.lua
has "tries chunk sizes" out "ring/simple, ring/simple chunk 300000"
! grep -q 'ring/simple chunk 256K,' out
ok "except the current one" $?
lua_run -e 'local nb, sweep = require "ncclbpf", require "ncclbpf.sweep.choose"
local c = { coll = "allreduce", from = 1, to = 2, nodes = 1, ranks = 3 }
local x = { algo = "ring", proto = "simple", channels = 0, chunk_size = 65536 }
local header = sweep.header { x }
assert(require "ncclbpf.policy.table".compile(header .. sweep.row(c, x, header), { name = "x" }))
assert(sweep.row(c, x, "") == "allreduce,1,2,ring,simple,-1,1,3")' 2>why
ok "and its tables have them" $?
cat >large_test.lua <<'E'
return { policy = "large.csv",
	{ name = "large", context = { coll = "allreduce", bytes = "1M" },
		answer = { algo = "ring", proto = "simple", chunk_size = "256K" } },
	{ name = "small", context = { coll = "allreduce", bytes = "1K" }, answer = {} } }
E
status 0 "policy test" policy test large_test.lua
sed 's/256K/128K/' large_test.lua >wrong_test.lua
status 2 "of another size" policy test wrong_test.lua
has "tells both" out "chunk_size: wanted 131072, got 262144"

# ---- changes ----
for t in odd other only; do
	run -J new policy load $t.policy
done
used odd && await ran ring/simple 299520
ok "a change, which NCCL rounds down to 585 lines of 512 bytes" $?
used other && await ran ring/ll128 71040
ok "to another protocol, whose lines have 1,920" $?
used only && await ran '[a-z0-9_/]*' 65536
ok "a chunk size alone, of NCCL's own choice" $?
used none && await ran '[a-z0-9_/]*' '\(131072\|2097152\|32768\|576000\)'
ok "and back to NCCL's own" $?
status 0 "ranks agree" -J new check agreement
! counted chunk_range && ! counted chunk_algo && ! counted chunk_not_offered
ok "nothing was refused" $?
stop
ok "and all ranks had the same chunk sizes at each collective" $?

# ---- what NCCL cannot have ----
if [ -e "$B/test/corpus/answers/chunks_of_256.bpf.o" ]; then
	NCCLBPF_POLICY=$B/test/corpus/answers/chunks_of_256.bpf.o start small --nccl 2.30.7
	await counted chunk_range
	ok "256 bytes are refused and counted" $?
	await ran ring/simple 2097152
	ok "NCCL's own stays, and the algorithm is the policy's" $?
	run -J small -o table explain allreduce 64M
	has "explain says why" out "answered 256, allowed are 4096 to 1073741824"
	stop
	ok "and the job goes on" $?
else
	ok "chunks of 256 bytes # SKIP no clang at build time" 0
fi

# ---- who does not ask ----
NCCLBPF_POLICY=$T/large.policy start old --nccl 2.28.9
await counted chunk_not_offered
ok "NCCL 2.28 does not ask, which is counted" $?
await ran ring/simple 0
ok "and the rest of the answer stands" $?
run -J old -o table explain allreduce 64M
has "explain says so" out "does not ask its tuner for chunk sizes"
status 0 "a simulation knows" -J old -o json policy simulate large.csv
grep -q '"refused":[1-9]' out
ok "that it is refused" $?
stop
NCCLBPF_POLICY=$T/large.policy start amd --rccl --nccl 2.30.7
await counted chunk_not_offered
ok "RCCL is not told" $?
stop
ok "and goes on" $?
