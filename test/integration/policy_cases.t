#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# What policy test runs beside single decisions: the example of docs/policies.md, steps on maps that
# keep their contents, events and controllers by a clock that the test steps, host maps, NCCL's
# costs, and rules over a grid; what a file may not say.
. "$TOP/test/integration/shell_lib.sh"
[ -e "$B/policies/cheap_ring.policy" ] || skip_all "policy_cases" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
E=$B/examples
cp "$B"/policies/*.policy "$E/host-signals/rail_backoff.bpf.o" "$E/fsdp/fsdp.bpf.o" .
"$S" -q policy build "$B/test/corpus/shell/clocked.bpf.o" out=clocked.policy >out

# ---- the example of docs/policies.md ----
awk '/^### Costs, controllers and rules/ { on = 1 } on && /^```$/ { exit } code { print }
	on && /^```lua/ { code = 1 }' "$TOP/docs/policies.md" |
	sed 's/\.bpf\.c"/.policy"/g' >page_test.lua
status 0 "the example of docs/policies.md" policy test page_test.lua
has "its questions are counted" out "ok 1 - the ring" "488 questions, 0 answers differ" \
	"2 passed, 0 failed"
sed 's/\* 11 and/* 9 and/' page_test.lua >other_test.lua
status 2 "another rule" -o json policy test other_test.lua
lua_run -e 'local core = require "ncclbpf.core"
local case = assert(core.decode(io.read "a")).data.cases[1]
-- the rule by hand, at the sizes and shapes that the page names
local wrong = 0
for _, d in ipairs(case.differences) do
	local bytes = tonumber(d.context:match "bytes=(%d+)")
	local ring, tree = 40 + bytes // 9000, 10 + bytes // 6000
	local least = math.min(ring, tree)
	if (ring * 10 <= least * 11) == (ring * 10 <= least * 9) then wrong = wrong + 1 end
end
local contexts = {}
for _, d in ipairs(case.differences) do contexts[d.context] = true end
local n = 0
for _ in pairs(contexts) do n = n + 1 end
assert(case.differ > 10 and case.differ < case.questions and n == 10 and wrong == 0, case.differ)
' <out 2>why
ok "differs where it says so, and ten questions are shown" $?
run policy test other_test.lua
[ "$(grep -cE "^#   wanted .*, got .*, context \{" out)" -eq 10 ]
ok "one line for each question" $?
has "with the whole answer" out "wanted NCCL's, got ring/simple, context {"

# ---- steps ----
cat >steps_test.lua <<'L'
local function shown(coll, channels)
	return { context = { coll = coll, bytes = 8 }, answer = { channels = channels } }
end
local function add(ns, times)
	return { hook = "profiler/coll_done", context = { exec_ns = ns }, times = times }
end
local function look(t)
	t.hook = "controller"
	return t
end
return {
	policy = "clocked.policy",
	{ name = "a sum of two steps and ten more", steps = {
		add(5), add(7), look {}, shown("broadcast", 12), add(3, 10), shown("broadcast", 12),
		look {}, shown("broadcast", 42) } },
	{ name = "maps begin anew", steps = { look {}, shown("broadcast", 0) } },
	{ name = "the first run, one second later, and one after its own interval", steps = {
		look {}, shown("allreduce", 2000 << 16),
		look { answer = { interval_ns = 300000000 } },
		shown("allreduce", 2300 << 16 | 300) } },
	{ name = "a clock that is stepped", steps = {
		look { after = "0" }, shown("allreduce", 1000 << 16), add(1),
		{ hook = "profiler/coll_done", after = "40ms", times = 2 },
		look { after = "1.5s" }, shown("allreduce", 2580 << 16 | 1580) } },
	{ name = "runs and changes are counted", steps = {
		look {}, shown("reduce", 0), look {}, shown("reduce", 1 << 16 | 1),
		look { context = { changes = 9 } }, shown("reduce", 2 << 16 | 9) } },
	{ name = "a per-CPU map from the test", maps = { sum = { [0] = 9 } }, steps = {
		look {}, shown("broadcast", 9), look { maps = { sum = { [0] = 4 } } },
		shown("broadcast", 4) } },
}
L
status 0 "events and controllers, on maps that keep their contents" policy test steps_test.lua
sed 's/, 42)/, 43)/; s/interval_ns = 3/interval_ns = 4/' steps_test.lua >wrong_test.lua
status 2 "a wrong expectation" policy test wrong_test.lua
has "is named with its step" out "not ok 1" "step 8, channels: wanted 43, got 42" "not ok 3" \
	"step 3, interval_ns: wanted 400000000, got 300000000" "4 passed, 2 failed"
cat >rail_test.lua <<'L'
local ask = { coll = "allreduce", bytes = "64M" }
local function decide(channels) return { context = ask, answer = { channels = channels } } end
local function at(s, troubles)
	return { written_ns = s * 1000000000, troubles_per_s = troubles }
end
return {
	policy = "rail_backoff.bpf.o",
	{ name = "a host map, and values that age", steps = {
		{ hook = "controller", maps = { host = { [1] = at(1, 0), [2] = at(1, 500) } } },
		decide(6), { hook = "controller", maps = { host = { [2] = at(3, 0) } } },
		decide(12),
		{ hook = "controller" }, decide(12), { hook = "controller" }, decide(12),
		{ hook = "controller" }, decide(nil) } },
	{ name = "begins as zeroes again", steps = { { hook = "controller" }, decide(nil) } },
}
L
status 0 "host maps" policy test rail_test.lua
cat >replicated_test.lua <<'L'
local gather = { coll = "allgather", bytes = "64M" }
local call = { hook = "profiler/coll_api", context = { coll = "allgather" } }
local function decide(channels) return { context = gather, answer = { channels = channels } } end
return {
	policy = { "clocked.policy", "fsdp.bpf.o" },
	{ name = "counted calls", steps = { call, decide(32), { hook = "controller" }, decide(32),
		call, decide(16), { hook = "controller" }, decide(16) } },
	{ name = "from the test's", maps = { step = { [0] = { gathers = 6, backward = 1 } } },
		steps = { { hook = "controller" }, call, decide(8) } },
}
L
status 0 "a controller's change keeps replicated maps" policy test replicated_test.lua

# ---- costs ----
cat >costs_test.lua <<'L'
local c = { coll = "allreduce", bytes = "4K" }
local usable = { coll = "allreduce", bytes = "4K", usable = { "tree/ll" } }
return {
	policy = "cheap_ring.policy",
	{ name = "the cheapest protocol of the ring", context = c,
		costs = { ring = { 12, 10.5, 11 }, nvls = { -1, -1, 9.75 } },
		answer = { algo = "ring", proto = "ll128" } },
	{ name = "more than a tenth dearer", context = c,
		costs = { ring = { 12, 10.75, 11 }, nvls = { -1, -1, 9.75 } }, answer = {} },
	{ name = "no ring", context = c, costs = { tree = { 1, 1, 1 } }, answer = {} },
	{ name = "what the context says counts", context = usable, costs = { ring = { 1, 1, 1 } },
		answer = {} },
	{ name = "no costs", context = c, answer = {} },
	{ name = "a grid with one answer", over = { coll = "allreduce", nodes = 1, ranks = 8 },
		costs = { ring = { 1, 2, 3 } }, answer = { algo = "ring", proto = "ll" } },
}
L
status 0 "costs" policy test costs_test.lua
has "without them, a policy that asks for them has a note" out "ok 5 - no costs" \
	"cheap_ring asks for NCCL's costs, which this case leaves out (costs)"
[ "$(grep -c 'cheap_ring asks' out)" -eq 1 ]
ok "and with them none" $?

cp "$TOP/policies/costs/h100.ndjson" .
cat >platform_test.lua <<'L'
-- the rule of cheap_ring
local function rule(c)
	local least, ring, at = math.huge, math.huge, 0
	for algo, row in pairs(c.costs) do
		for p, us in ipairs(row) do
			if us >= 0 then least = math.min(least, us) end
			if us >= 0 and us < ring and algo == "ring" then ring, at = us, p end
		end
	end
	assert(c.bytes > 64 or c.coll ~= "broadcast" or c.nodes > 1
		or c.costs.ring[1] == 7.20045376 and not c.costs.tree and c.gpu_arch == 90)
	return ring * 10 <= least * 11
		and { algo = "ring", proto = ({ "ll", "ll128", "simple" })[at] } or {}
end
local large = { coll = "allreduce", bytes = "1G", nodes = 2, ranks = 16 }
return {
	policy = "cheap_ring.policy",
	{ name = "all", over = {}, costs = "h100.ndjson", answer = rule },
	{ name = "some", over = { coll = "allreduce", bytes = "1K..1M", nodes = "2..4" },
		costs = "h100.ndjson", answer = rule },
	{ name = "one", context = large, costs = "h100.ndjson", answer = {} },
	{ name = "steps", steps = { { context = large, costs = "h100.ndjson", answer = {} } } },
}
L
status 0 "NCCL's costs of a platform" policy test platform_test.lua
has "at the sizes and shapes that were recorded" out "280 questions, 0 answers differ" \
	"11 questions, 0 answers differ"

# ---- refusals ----
wrong() { # NAME, text of a case
	echo "local c = { coll = 'reduce', bytes = 1 }
return { policy = 'clocked.policy', $2 }" >wrong_test.lua
	fails 65 malformed "$1" policy test wrong_test.lua
}
wrong "a field of no context" "{ context = { coll = 'reduce', bytes = 1, zz = 1 }, answer = {} }"
wrong "a hook that is none" "{ steps = { { hook = 'profiler/coll' } } }"
wrong "a hook of no program" "{ steps = { { hook = 'profiler/group' } } }"
wrong "a hook with texts" "{ steps = { { hook = 'env' } } }"
wrong "a field of another hook" "{ steps = { { hook = 'controller', context = { bytes = 1 } } } }"
wrong "an output of another hook" "{ steps = { { hook = 'controller', answer = { algo = 1 } } } }"
wrong "costs of an event" "{ steps = { { hook = 'controller', costs = {} } } }"
wrong "a time that is none" "{ steps = { { hook = 'controller', after = 'soon' } } }"
wrong "times that are none" "{ steps = { { hook = 'controller', times = 0 } } }"
wrong "a decision several times" "{ steps = { { context = c, answer = {}, times = 2 } } }"
wrong "costs of no algorithm" "{ context = c, answer = {}, costs = { rings = { 1, 1, 1 } } }"
wrong "costs without a protocol" "{ context = c, answer = {}, costs = { ring = { 1, 1 } } }"
wrong "costs that were not recorded" "{ context = c, answer = {}, costs = 'h100.ndjson' }"
wrong "costs that are not there" "{ over = {}, answer = {}, costs = 'nowhere' }"
echo '{' >cut.ndjson
wrong "costs that are no records" "{ over = {}, answer = {}, costs = 'cut.ndjson' }"
wrong "costs that are a number" "{ over = {}, answer = {}, costs = 5 }"
wrong "a grid and a context" "{ over = { coll = 'reduce' }, context = c, answer = {} }"
wrong "a grid of no field" "{ over = { colls = 'reduce' }, answer = {} }"
wrong "a grid without a rule" "{ over = { coll = 'reduce' } }"
wrong "a rule without an answer" "{ over = { nodes = 1 }, answer = function() end }"
wrong "maps twice" "{ maps = {}, steps = { { hook = 'controller', maps = {} } } }"
wrong "an element beyond a map" "{ maps = { sum = { [1] = 1 } }, context = c, answer = {} }"
echo "return { policy = 'clocked.policy', { over = { nodes = 3 }, answer = {},
	costs = 'h100.ndjson' } }" >wrong_test.lua
fails 65 malformed "a grid that was not recorded" policy test wrong_test.lua
echo "return { policy = 'clocked.policy', { over = { nodes = 1 }, answer = function(c)
	return { channels = c.size + 1 } end } }" >wrong_test.lua
run -o json policy test wrong_test.lua
[ "$rc" -ne 0 ] && grep -q "case 1: wrong_test.lua:2:" out
ok "an error in a rule, with its case and its line" $?
cat >node_test.lua <<'L'
return { policy = "cheap_ring.policy", { name = "one question", over = { coll = "allreduce",
	bytes = 1, nodes = 3, ranks_per_node = 5 }, costs = { ring = { 1, 2, 3 } },
	answer = { algo = "ring", proto = "simple" } } }
L
status 2 "one question" policy test node_test.lua
has "is counted as one" out "1 question, 1 answer differs"
echo 'allreduce,0,-1,ring,simple,-1,3,15' >shape.csv
echo 'return { policy = "shape.csv", { context = { coll = "allreduce", bytes = 1, nodes = 3,
	ranks_per_node = 5 }, answer = { algo = "ring", proto = "simple" } } }' >shape_test.lua
status 0 "the ranks of a context follow from those of a node" policy test shape_test.lua
messages
