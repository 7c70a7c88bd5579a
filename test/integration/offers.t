#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Calls with configurations of their own (NCCL 2.31): the same collective and size is offered
# different choices. explain answers each offer, simulate repeats each decision with its own offer,
# and check agreement names ranks that were offered different choices for one call.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "offers of calls" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB ARGS...
	this=$1
	shift
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so timeout 0 \
		"$B/test/fakes/host/standin" --procs --ranks 2 --nccl 2.31.2 --events \
		--seconds inf --pause-ms 5 --min 1M --max 16M --factor 4 "$@" >"$this.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
	need "a job: $this" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
shown() { # COMMAND... in the words of the file want
	timeout 300 "$S" -q -J "$this" -o table "$@" >out 2>err
	grep -qf want out
}

# ---- all ranks: explain and simulate ----
printf 'allreduce,0,-1,ring,simple,-1,-1,-1\n' >ring.csv
start alike --offer tree
status 0 "a table" -J alike policy load ring.csv
status 0 "in use" -J alike policy use ring
await settled alike
echo 'times tree: tree/' >want
await shown explain allreduce 4M
ok "explain names a call's own offer" $?
has "and the largest one, with the answer to each" out "NCCL has offered different choices" \
	"times tree, ring, nvls/simple: ring/simple by ring" " by NCCL"
status 0 "choices" -J alike -o table choices
has "names a size with several offers" out "NCCL has offered different choices at " \
	": explain allreduce "
both() {
	timeout 300 "$S" -q -J alike -o json explain allreduce 4M >out 2>err
	lua_run -e 'local d = assert(require "ncclbpf.core".decode(io.read "a")).data
		for _, p in ipairs(d.processes) do
			local o = p.data.offers
			assert(#o == 2 and o[1].usable > o[2].usable and o[2].usable == 7)
			assert(o[1].answer.algo == "ring" and o[1].by == "ring")
			assert(o[2].answer.algo == "tree" and not o[2].by)
			assert(o[1].decisions > 1 and o[2].decisions > 1)
			assert(p.data.answer.algo == "ring")
			assert(p.data.context.usable == o[1].usable)
			assert(p.data.costs_us[4] > 0)
		end
		assert(#d.processes == 2)' <out 2>why
}
await both
ok "on every rank, whose latest call may be any" $?
turned() { # decisions with the table alone
	"$S" -q -J alike -o json decision tail count=60 >rec.json &&
		"$S" policy simulate ring.csv data=rec.json >/dev/null
}
await turned
ok "simulate repeats each decision with its own offer" $?
run -o json policy simulate none data=rec.json
lua_run -e 'local core = require "ncclbpf.core"
	local d = assert(core.decode(io.read "a")).data
	local small, costs = 0, 0
	local function check(x)
		local usable = x.context.usable
		if usable == 7 then small = small + 1 end
		assert((x.answer.algo == "tree") == (usable == 7))
		if type(x.costs_us) ~= "table" then return end
		costs = costs + 1
		for i, v in ipairs(x.costs_us) do
			assert((v >= 0) == (usable >> (i - 1) & 1 == 1), "another offer")
		end
	end
	for _, p in ipairs(assert(core.decode(assert(core.read("rec.json")))).data.processes) do
		for _, x in ipairs(p.data.decisions) do check(x) end
	end
	assert(small > 20 and costs > 0)
	assert(d.differ > 0 and d.differ < d.decisions, "only where the table was followed")
	' <out 2>why
ok "which has its offer, and the costs of that offer or none" $?
status 0 "ranks agree" -J alike check agreement
! grep -q 'different choices' out
ok "and were offered the same" $?
stop
ok "they decided alike at each collective" $?

# ---- one rank: the answers are the same, or not ----
start same --offer 1:ring,nvls
echo 'slot [01], decision [0-9]*, allreduce [0-9]*M: ring, nvls/simple' >want
await shown check agreement
ok "check agreement names ranks that were offered different choices" $?
has "though they agree" out "agree" "NCCL offered different choices for the same call" \
	": tree, ring, nvls/simple"
status 0 "which is no difference yet" -J same check agreement
stop
ok "as they did" $?
start apart --hang --offer 1:tree
hung() { grep -q DIVERGENCE apart.out; }
await hung
status 2 "ranks that decide differently" -J apart -o table check agreement
has "were offered different choices" out "DISAGREE" "NCCL offered different choices" ": tree"
stop

# ---- a question that offers nothing, asked on one rank alone ----
start nothing --coll broadcast --offer 1:tree
extra() {
	timeout 300 "$S" -q -J nothing -o json check agreement >out 2>err
	grep -q '"verdict":"tuner_calls_differ".*"clock":"api_calls"' out
}
await extra
ok "one rank has made more decisions" $?
! grep -q '"extra":\|"offers":' out
ok "but had no question more" $?
printf 'broadcast,0,-1,ring,simple,-1,-1,-1\n' >cast.csv
status 0 "a table" -J nothing policy load cast.csv
status 0 "and a change" -J nothing policy use cast
await settled nothing
status 0 "of all ranks at one call" -J nothing check agreement
status 0 "explain" -J nothing -o json explain broadcast 4M
lua_run -e 'local d = assert(require "ncclbpf.core".decode(io.read "a")).data
	for _, p in ipairs(d.processes) do
		assert(p.data.answer.algo == "ring" and p.data.by == "cast" and #p.data.offers == 1)
	end' <out 2>why
ok "is about questions with an offer" $?
stop
ok "no rank decided by itself" $?
