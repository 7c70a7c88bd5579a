-- SPDX-License-Identifier: MIT
-- Run by lua_objects.t: a job called objects runs, two ranks, two communicators.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, raises = tap.test, tap.raises
-- What all objects are: one line, a name, a locked metatable, read-only fields.
local function object(kind, o, pattern)
	test(kind .. ": prints in one line",
		tostring(o):find(pattern) ~= nil and not tostring(o):find "\n", tostring(o))
	test(kind .. ": its metatable is locked",
		getmetatable(o) == kind and not pcall(setmetatable, o, {}))
	test(kind .. ": its fields are read-only",
		not pcall(function() o.name = "x" end) and not pcall(function() o.other = 1 end))
	raises(kind .. ": a method without it", "object:method()",
		next(nb._methods[kind]) and nb._methods[kind].refresh or nb._methods[kind].explain
		or nb._methods[kind].sample)
end

local t <close> = assert(nb.attach { job = "objects" })
local function await(f)
	for _ = 1, 1200 do
		local v = f()
		if v then return v end
		nb.sleep(0.05)
	end
end

-- ---- policies ----
local p = assert(t:policy_load { path = "force.bpf.o" })
object("policy", p, "^policy force %x+: not in use$")
test("policy: has what the reply has",
	p.name == "force" and #p.digest == 64 and p.in_use == false and p.verify.insns_walked > 0)
test("policy: can be walked and is JSON",
	nb.json.decode(nb.json.encode(p)).digest == p.digest and (function()
	for k in pairs(p) do
		if k == "programs" then return true end
	end
end)())
local bytes = assert(p:image())
test("policy: its image is the one that was loaded", bytes == nb.build { path = "force.bpf.o" })
test("policy: judged here",
	p:verdict().accepted == true and p:dump().programs[1].lines[1].insn ~= nil)
raises("policy: an unknown option, at the caller", "lua_objects.lua:",
	function() p:use { com = "x" } end)
raises("policy: names the nearest", "nearest: comm", function() p:use { com = "x" } end)
local change = p:use()
test("policy: used", change and change.state == "committed" and p.in_use == false
	and p:refresh().in_use == true and p.position == 0, change)
test("policy: variables and map", t:map "force"[0].enabled == 0)
local q = assert(t:policy_load { path = "size_aware.bpf.o" })
test("policy: added before another",
	q:add { before = "force" } and t:status().policies[1] == "size_aware")
test("policy: moved", q:move { position = "last" } and t:status().policies[2] == "size_aware")
test("policy: removed", q:remove() and #t:status().policies == 1)
local gone, err
test("policy: no longer held, once no rank decides with it", await(function()
	gone, err = q:unload()
	return gone
end) and #t:policies() == 1, err)
gone, err = q:refresh()
test("policy: one that is gone is an error as value", gone == nil and err.code == "not_found", err)
gone, err = q:image()
test("policy: its image likewise", gone == nil and err.code == "not_found", err)
test("policy: all as objects",
	getmetatable(t:policies()[1]) == "policy" and t:policy "force".name == "force")

-- ---- communicators ----
-- The job makes the second one soon, and each takes a change at its own fence.
local comms = await(function()
	local l = assert(t:comms())
	return #l == 2 and l[1].policies[1] == "force" and l[1].changeable and l
end) or assert(t:comms())
local c = comms[1]
object("comm", c, "^comm %x+: 2 ranks on 1 node, %d+ decisions$")
test("comm: fields", #comms == 2 and c.ranks == 2 and c.changeable == true
	and c.policies[1] == "force" and math.type(c.decisions) == "integer")
local before = c.decisions
test("comm: fresh",
	await(function() return c:refresh().decisions > before end) and type(c.table) == "table")
test("comm: with its table", t:comm(c.comm).table[1].coll == "allreduce")
local list = await(function()
	local l = assert(c:tail { count = 4 })
	return #l > 0 and l
end)
test("comm: its decisions alone", list and list[1].comm == c.comm and list[#list].comm == c.comm)
test("comm: explain", c:explain("allreduce", "4M").comm == c.comm
	and c:explain("allreduce", 1 << 20).coll == "allreduce")
gone, err = c:explain("allredcue", 1)
test("comm: explain of what is none", gone == nil and err.code == "bad_argument", err)
test("comm: its ranks agree", c:agreement().agree == true)
raises("comm:use: an unknown option", "no option foo", function() c:use { "none", foo = 1 } end)
change = c:use "none"
test("comm: policies of its own", change and change.state == "committed" and await(function()
	return #c:refresh().policies == 0
end) and #comms[2]:refresh().policies == 1, change)
change = c:use { "common" }
test("comm: the others' again",
	change and await(function() return c:refresh().policies[1] == "force" end), change)
raises("comm: use without a name", "names expected", c.use, c)
test("comm: statistics", await(function()
	t:request "telemetry on"
	local rows = assert(c:stats())
	return rows[1] and rows[1].comm == c.comm and rows[1].exec and rows[1].exec.count > 0
end))

-- ---- decisions ----
local d = list[1]
object("decision", d, "^decision #%d+ of %x+: allreduce %d+M: ")
test("decision: fields", d.coll == "allreduce" and d.nccl.algo and d.context.ranks == 2)
test("decision: force has no opinion before it is enabled", d:changed() == false)
test("decision: explained", d:explain().bytes == d.bytes)
t:map "force"[0] = { algo = "ring", proto = "simple", channels = 4, enabled = 1 }
local seen
test("decision: a stream of objects", t:decisions { count = 1, follow = function(x)
	seen = x
	return x.by == "force"
end } and seen:changed() and tostring(seen):find "ring/simple x4 by force$" ~= nil, tostring(seen))

-- ---- series ----
-- one policy after the other (docs/lua.md): each series has its own policy's times alone
local function times_of(opts)
	local x = t:series(opts)
	assert(x:watch { count = 100, seconds = 60, every = 0.02 })
	local set, n = {}, 0
	for _, v in ipairs(x:times()) do
		n = n + (set[v] and 0 or 1)
		set[v] = true
	end
	return set, n, x
end
local ONE = { sizes = "4M..4M", comm = comms[1].comm }
local with, nwith = times_of(ONE)
assert(t:policy_use "none")
-- The job keeps its last few hundred collectives: read them before newer ones replace those of the
-- first policy.
local old = await(function()
	local x = t:series { sizes = "4M..4M", comm = comms[1].comm, history = true }
	local a, b
	x:sample()
	for _, v in ipairs(x:times()) do a, b = a or with[v], b or not with[v] end
	return a and b and x
end)
local without, nwithout = times_of(ONE)
local common
for v in pairs(without) do common = common or with[v] and v end
local function list(x)
	local l = {}
	for v in pairs(x) do l[#l + 1] = ("%g"):format(v) end
	return table.concat(l, " ")
end
test("series: begins behind the fence", nwith > 0 and nwithout > 0 and not common,
	list(with) .. "; " .. list(without))
test("series: with history it has both", old and (function()
	local a, b = false, false
	for _, v in ipairs(old:times()) do a, b = a or with[v], b or without[v] end
	return a and b
end)(), old and #old)
local fresh = t:series(ONE)
test("series: without, the first sample takes nothing", fresh:sample() == 0 and #fresh == 0)
assert(t:policy_use "force")
local s = t:series { sizes = "1M..2M" }
object("series", s, "^series of job objects: 0 samples, 0 collectives of 0 kinds$")
test("series: no rates before two samples", next(s:rates()) == nil and #s == 0 and #s:kinds() == 0)
test("series: watch returns when it has enough collectives",
	s:watch { count = 200, seconds = 60, every = 0.02 } == s and #s >= 200, #s)
local kinds = s:kinds()
test("series: the sizes that were wanted, each communicator's",
	#kinds == 2 and kinds[1]:find "^allreduce 1M of %x+$", table.concat(kinds, "; "))
local times = assert(s:times(kinds[1]))
local qs = s:quantiles { 0, 0.5, 1 }[kinds[1]]
table.sort(times)
test("series: quantiles are of its times", qs.count == #times and qs[0] == times[1]
	and qs[1] == times[#times] and qs[0.5] == times[math.ceil(#times / 2)])
local total = 0
for kind, ns in pairs(s) do total = total + #ns + (kind == kinds[1] and 0 or 0) end
test("series: pairs gives all", total == #s and #s:times() == #s)
local rates = await(function()
	assert(s:sample())
	local r = s:rates()[kinds[1]]
	return r and r.per_second > 0 and r
end)
test("series: rates",
	rates and rates.bytes_per_second == rates.per_second * (1 << 20) and rates.busbw_gbs > 0)
local sum = 0
for _, x in ipairs(s:samples()) do sum = sum + x.new end
test("series: no collective is taken twice", sum == #s and s:csv "series.csv" == #s)
local lines, ids = 0, {}
for line in io.lines "series.csv" do
	lines = lines + 1
	local id = line:match "^%d+,(.*),%d+$"
	if ids[id or line] then test("series: a line twice: " .. line, false) end
	ids[id or line] = true
end
test("series: each a line", lines == #s + 1)
local other = t:series { comm = comms[2].comm, collectives = { "allreduce" } }
other:watch { count = 20, seconds = 60, every = 0.02 }
for _, kind in ipairs(other:kinds()) do
	test("series: of one communicator: " .. kind, kind:find(comms[2].comm, 1, true) ~= nil)
end
local same = s:compare(s, { block = 5 })
test("series: compared with itself it is no slower",
	same[kinds[1]].effect_pct == 0 and same[kinds[1]].verdict ~= "fail", nb.json.encode(same))
gone, err = s:times "allreduce 1M"
test("series: a kind that is not there", gone == nil and err.code == "not_found", err)
raises("series: a wrong quantile", "0 to 1 expected", s.quantiles, s, { 0 / 0 })
raises("series: a wrong option", "nearest: sizes", function() t:series { size = "1M" } end)
raises("series: a wrong collective", "no collective allredcue",
	function() t:series { collectives = { "allredcue" } } end)
raises("series: watch without an end", "seconds, count or stop expected", s.watch, s, {})
raises("series: compare with what is none", "another series expected", s.compare, s, {})
-- more kinds than times that are kept: of the longest half, and the oldest alone
do
	local series = require "ncclbpf.api.series"
	local line = '{"header":{"id":"0x%x","rank":0,"n_ranks":1,"nnodes":1},'
		.. '"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":4096,'
		.. '"coll_exec_time_us":%d,"coll_timing_source":"kernel_gpu"}}\n'
	local file = assert(io.open("kinds.jsonl", "w"))
	for i = 1, 8 do file:write(line:format(0xabc, i, 10 + i)) end
	for i = 1, 14 do file:write(line:format(i, 100 + i, i)) end
	file:close()
	local most = series.MOST
	series.MOST = 15
	local few = assert(nb.series { file = "kinds.jsonl" })
	local q = few:quantiles { 0 }
	local of_all = few:kinds()
	test("series: the oldest of the longest kind go",
		#few == 15 and #of_all == 15 and #few:times() == 15, #few)
	series.MOST = 10
	few = assert(nb.series { file = "kinds.jsonl" })
	of_all = table.concat(few:kinds(), " ")
	local values = few:times()
	table.sort(values)
	test("series: and kinds of one time, the oldest first", #few == 10 and #few:kinds() == 10
		and values[1] == 5e-6 and values[10] == 14e-6, of_all)
	local counts = true
	for kind, row in pairs(few:quantiles { 0, 0.5, 1 }) do
		counts = counts and row.count == 1 and row[0] == few:times(kind)[1]
	end
	test("series: what is left has its quantiles", counts and next(q) ~= nil)
	series.MOST = most
end
s:clear()
test("series: cleared", #s == 0 and #s:kinds() == 0)
t:close()
gone, err = s:sample()
test("series: of a closed target", gone == nil and err.code == "no_target", err)
