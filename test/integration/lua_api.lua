-- SPDX-License-Identifier: MIT
-- Run by lua_api.t in a folder with the policies' objects; LIVE=1: a job of
-- four processes called demo runs.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, raises = tap.test, tap.raises
local function fails(name, code, ...) return tap.fails(name, code, nil, ...) end

-- files
local bytes, info = nb.build { path = "force.bpf.o" }
test("build gives bytes and facts", type(bytes) == "string" and info.name == "force"
	and #info.digest == 64 and #info.maps == 1, info)
test("build again gives the same bytes", nb.build { path = "force.bpf.o" } == bytes)
local v = nb.verify { path = "force.bpf.o" }
test("verify accepts", v and v.accepted and v.programs[1].stats.insns_walked > 0)
v = nb.verify { path = "refused.bpf.o" }
test("a bad verdict is an answer, not a failure",
	v and not v.accepted and v.programs[1].finding.class == "nullable",
	v and v.programs[1].finding and v.programs[1].finding.class)
test("with the text that the job would show", v.programs[1].text:find("l->bytes", 1, true) ~= nil)
local d = nb.disassemble { path = "noop.bpf.o" }
test("disassemble", d and d.programs[1].lines[1].insn ~= nil)
fails("a file that is not there", "no_input", nb.build { path = "none" })
local err = fails("a file that is no object", "bad_elf", nb.build { path = "/etc/passwd" })
test("an error prints as people read it", tostring(err):find("hint:", 1, true) ~= nil, err)
test("an error has a locked metatable",
	getmetatable(err) == "ncclbpf.error" and not pcall(setmetatable, err, {}))
test("assert shows the message",
	select(2, pcall(assert, nb.build { path = "none" })).code == "no_input")

-- type information from anywhere
do
	local core = require "ncclbpf.core"
	local blob = core.image(assert(nb.build { path = "types.bpf.o" })):btf()
	local types = core.btf(blob)
	test("type information opens", types and types:find "everything", types)
	local refused = 0
	for size = 0, #blob - 1 do
		local cut, why = core.btf(blob:sub(1, size))
		refused = refused + (not cut and why.code == "bad_btf" and 1 or 0)
	end
	test("cut off anywhere it is refused", refused == #blob, refused)
	math.randomseed(7)
	local opened = 0
	for _ = 1, 2000 do
		local at = math.random(25, #blob)
		local changed = core.btf(
			blob:sub(1, at - 1) .. string.char(math.random(0, 255)) .. blob:sub(at + 1))
		opened = opened + (changed and 1 or 0)
		for id = 1, changed and 80 or 0 do
			local v = changed:decode(id, ("\1\2\3\255"):rep(64))
			changed:name(id)
			changed:order(id)
			changed:at(id, { 0, "low" })
			if v ~= nil then changed:encode(id, v, 16) end
		end
	end
	test("changed anywhere it is refused or read within its bounds",
		opened > 100 and opened < 2000, opened)

	local halves = core.btf(core.image(assert(nb.build { path = "halves.bpf.o" })):btf())
	local id, size = halves:find "halves"
	local function bytes(v) return (halves:encode(id, v, size)) end
	test("a union takes a field behind its start", bytes { high = 7 } == ("<I4I4"):pack(0, 7))
	test("and fields that share no byte, or agree",
		bytes { low = 1, high = 7 } == ("<I4I4"):pack(1, 7) and
		bytes { low = 1, high = 7, whole = 7 << 32 | 1 } == ("<I4I4"):pack(1, 7))
	test("but none that disagree", not halves:encode(id, { high = 7, whole = 1 }, size))
	halves:__gc()
	local good, why = pcall(halves.find, halves, "halves")
	test("closed, it says so", not good and why:find("closed", 1, true), why)
end

-- a policy for some sizes alone
local p = nb.policy.within("size_aware.bpf.o", { { coll = "allreduce", bytes = "4M..8M" },
	{ coll = "broadcast", comm = "c0ffee0000000001" } }, { name = "part" })
local all = { { coll = "allreduce", bytes = 4 << 20 },
	{ coll = "allreduce", bytes = (8 << 20) + 1 },
	{ coll = "broadcast", bytes = 64, comm_id = 0xc0ffee0000000001 },
	{ coll = "broadcast", bytes = 64, comm_id = 2 },
	{ coll = "allreduce", bytes = (4 << 20) - 1 } }
local set = nb.policy.within(assert(nb.policy.table { { coll = "allreduce", algo = "ring",
	channels = 7 }, { coll = "broadcast", algo = "ring", channels = 7 } }),
	{ { coll = "allreduce", bytes = "4M..8M" },
	{ coll = "broadcast", comm = "c0ffee0000000001" } })
test("a policy for some sizes alone",
	p and p:name() == "part" and p:verify().accepted and set and set:verify().accepted, p)
local got = {}
for i, a in ipairs(assert(set:run(all))) do got[i] = a.algo .. "/" .. a.channels end
test("has no opinion elsewhere", table.concat(got, " ") == "1/7 -1/0 1/7 -1/0 -1/0",
	table.concat(got, " "))
fails("sizes that are none", "malformed",
	nb.policy.within(set, { { coll = "allreduce", bytes = "8M..4M" } }))
fails("a collective that is none", "malformed", nb.policy.within(set, { { coll = "allrdc" } }))
fails("a communicator that is none", "malformed",
	nb.policy.within(set, { { coll = "allreduce", comm = "xyz" } }))
raises("misuse of it", "a list of rows expected", nb.policy.within, set, {})

-- misuse
local e = raises("an unknown option names the nearest", "nearest: path", nb.build, { pth = "x" })
e = raises("misuse points at the caller", "lua_api.lua:", function() nb.build { pth = "x" } end)
raises("a wrong kind of option", "string expected", nb.build, { path = 3 })
raises("no options at all", "path expected", nb.build)
raises("an option table is wanted", "table of options", nb.attach, "demo")
raises("bad attach option", "nearest: job", nb.attach, { jb = "demo" })

-- units, JSON
test("sizes", nb.size "4M" == 4 << 20 and nb.size "1.5KiB" == 1536 and nb.size "7" == 7
	and nb.size "x" == nil and nb.size "4X" == nil and nb.size "99999999999999999999" == nil)
test("durations", nb.duration "200ms" == 0.2 and nb.duration "2" == 2 and nb.duration "1.5m" == 90
	and nb.duration "s" == nil)
local j = nb.json.decode '{"b":9223372036854775807,"a":null,"l":[],"o":{},"s":"\\u00e9\\n","f":1.5}'
test("JSON: 64 bits exact, null absent",
	j.b == math.maxinteger and j.a == nil and j.s == "é\n" and j.f == 1.5)
test("JSON goes back as it came",
	nb.json.encode(j) == '{"b":9223372036854775807,"a":null,"l":[],"o":{},"s":"é\\n","f":1.5}',
	nb.json.encode(j))
fails("JSON that is none", "malformed", nb.json.decode "{")
j = nb.json.decode('{"18446744073709551615":[18446744073709551615,9223372036854775808,'
	.. '9223372036854775807,-9223372036854775808],'
	.. '"s":"\\"18446744073709551615","f":18446744073709551615.0}')
test("JSON's integers from 2^63 on have the same bits",
	j["18446744073709551615"][1] == -1 and j["18446744073709551615"][2] == math.mininteger
	and j["18446744073709551615"][3] == math.maxinteger
	and j["18446744073709551615"][4] == math.mininteger and j.s == '"18446744073709551615'
	and j.f == 2 ^ 64)
test("by itself too", nb.json.decode "18446744073709551614" == -2)
fails("one that has no 64 bits", "malformed", nb.json.decode "[18446744073709551616]")
fails("nor has a negative one", "malformed", nb.json.decode "[-9223372036854775809]")
test("JSON of a deep table is refused", not pcall(function()
	local t = {}
	for _ = 1, 100 do t = { t } end
	nb.json.encode(t)
end))
test("JSON of a cycle is refused", not pcall(function()
	local t = {}
	t.t = t
	nb.json.encode(t)
end))
test("JSON of a function is refused", not pcall(nb.json.encode, { f = print }))

-- no target
fails("attach to a process that is not there", "no_target", nb.attach { pid = 999999 })
fails("attach to a socket that is not there", "no_target",
	nb.attach { socket = "/nonexistent/x.sock" })

if os.getenv "LIVE" ~= "1" then
	print(("ok %d - a running job # SKIP no plugin or no stand-in host in the build")
		:format(tap.n + 1))
	return
end

-- a running job
local mine = 0
for _, p in ipairs(nb.list()) do
	if p.job == "demo" and p.state == "attachable" then mine = mine + 1 end
end
test("list", mine == 4, mine)
local t, why = nb.attach { job = "demo" }
test("attach", t ~= nil, why)
test("a target prints", tostring(t):match "^target: job demo, 4 processes$" ~= nil, tostring(t))
test("its metatable is locked", getmetatable(t) == "target" and not pcall(setmetatable, t, {}))
raises("its fields are read-only", "cannot be set", function() t.x = 1 end)
raises("a method without its object", "object:method()", t.status)
test("four processes with ranks", #t:processes() == 4 and t:processes()[3].rank == 2)
test("status", t:status().job == "demo" and t:status().generation == 0)
test("doctor", #t:doctor() > 3)
test("no policies yet", #t:policies() == 0)
local loaded = t:policy_load { path = "force.bpf.o" }
test("load", loaded and loaded.name == "force" and loaded.digest == info.digest)
local bad = fails("a refused policy", "verify_rejected", t:policy_load { path = "refused.bpf.o" })
test("has the finding and the text",
	bad.finding and bad.finding.line > 0 and bad.detail:find("l->bytes", 1, true) ~= nil)
test("and was left nowhere", #t:policies() == 1)
local c = t:policy_use "force"
test("use: committed",
	c and c.state == "committed" and c.generation == 1 and c.comms[1].fence > 0, c)
fails("use of a name that is not there", "not_found", t:policy_use { "nosuch" })
raises("use with an option that is not there", "nearest: comm", t.policy_use, t,
	{ "force", com = {} })
raises("use without a name", "names expected", t.policy_use, t)
local m = t:map "force"
test("a map prints", tostring(m) == "map force of job demo", tostring(m))
test("read an element", m[0].algo == "tree" and m[0].enabled == 0)
m[0] = { algo = "ring", proto = 1, channels = 4, enabled = true }
test("write one: typed, at a fence, on all",
	m[0].algo == "ring" and m[0].proto == "ll128" and m[0].channels == 4, nb.json.encode(m[0]))
test("a change made a generation", t:status().generation == 2, t:status().generation)
local x = m[0]
x.channels = 9
m[0] = x
test("read, change a field, write", m[0].channels == 9 and m[0].algo == "ring")
raises("a wrong field raises", 'no field "algoo"', function() m[0] = { algoo = 1 } end)
test("an element that is not there is nil", m[5] == nil)
fails("get says why", "no_such_key", m:get(5))
raises("a key of the wrong size raises", "5 bytes, the map has 4",
	function() m["hex:0000000000"] = x end)
local count = 0
for k, value in pairs(m) do count = count + (k == 0 and value.channels or 0) end
test("pairs", count == 9, count)
test("entries of all processes", #m:entries { all = true } == 4)
test("info", m:info().coherent == true and m:info().max_entries == 1)
fails("a map that is not there", "not_found", t:map "nosuch")
local comm = t:comms()[1]
test("comms", comm.ranks == 4 and comm.changeable)
local shown
for _ = 1, 1200 do
	shown = t:comm(comm.comm)
	if shown.table[1] and shown.table[1].generation == 3 then break end
	nb.sleep(0.05)
end
test("comm has its table", #shown.table >= 8 and shown.table[1].answer.algo == "ring",
	nb.json.encode(shown.table[1]))
local ex = t:explain("allreduce", 4 << 20)
test("explain", ex.coll == "allreduce" and ex.answer.algo == "ring"
	and ex.policies[1].name == "force", nb.json.encode(ex))
test("explain takes text sizes", t:explain("AllReduce", "4M").bytes == 4 << 20)
fails("a wrong collective", "bad_argument", t:explain("allreduc", 1))
test("decisions", #t:decisions { count = 5 } == 5)
local seen = 0
local ok, ferr = t:decisions { count = 1, follow = function()
	seen = seen + 1
	return seen >= 10
end }
test("decisions that go on, until the function says stop", ok and seen >= 10, ferr or seen)
test("the stream is gone from the connection", t:status().job == "demo")
test("trace is empty", #t:trace() == 0)
local r = t:request "comm list"
test("request asks every process",
	#r == 4 and r[4].rank == 3 and r[4].data.comms[1].comm == comm.comm)
local q = t:request "no such command"
test("its errors are values", #q == 4 and q[1].err ~= nil and q[1].data == nil)
local _, broken = t:policy_unload "a\nb"
test("a line break in a request",
	broken.code == "bad_argument" and broken.message:find "line breaks")
test("undo", t:undo().state == "committed" and m[0].channels == 4, m[0].channels)
local text, status = nb.run("-J demo comm list", { format = "tsv" })
test("run gives what would be printed",
	text and text:find(comm.comm, 1, true) ~= nil and status == 0, status)
fails("run of a failing command", "usage", nb.run "policy frobnicate")
do
	local t2 <close> = nb.attach { job = "demo", ranks = { 1, 2 } }
	test("some ranks", #t2:processes() == 2)
	t:close()
	test("others stay attached", t2:status() ~= nil)
end
fails("a closed target", "no_target", t:status())
test("closing twice is fine", pcall(t.close, t))

-- values of every kind
local t3 = assert(nb.attach { job = "demo" })
assert(t3:policy_load { path = "types.bpf.o" })
assert(t3:policy_use("types"))
local ev = assert(t3:map "everything")
local key = { low = -7, high = 65535 }
raises("-1 is no unsigned number", "out of range", function() ev[key] = { u64 = -1 } end)
ev[key] = { u64 = "18446744073709551615", s64 = math.mininteger, text = "abc", mode = "MODE_ODD",
	algo = "nvls_tree", three = 5, five = -1, pair = { { low = 1 }, { high = 2 } },
	number = { part = { 1, 2, 3, 4 } }, flag = true }
local got = ev[key]
test("64 bits as a Lua integer", got.u64 == -1 and got.s64 == math.mininteger)
test("text, enums, bits", got.text == "abc" and got.mode == "MODE_ODD" and got.algo == "nvls_tree"
	and got.three == 5 and got.five == -1)
test("structs, arrays, unions, unnamed members", got.pair[1].low == 1 and got.pair[2].high == 2
	and got.number.whole == 0x04030201 and got.flag == true and got.hidden == 0)
got.u64 = 3
ev[key] = got
test("what was read can be written", ev[key].u64 == 3 and ev[key].number.part[4] == 4)
test("delete", ev:remove(key) and ev[key] == nil)
local counts = assert(t3:map "counts")
test("a per-CPU element is a list", type(counts[0]) == "table" and #counts[0] >= 1)
-- one policy more, elsewhere, fewer
local c3 = t3:policy_add("force", { before = "types" })
test("add: committed", c3 and c3.state == "committed" and t3:status().policies[1] == "force", c3)
c3 = t3:policy_move("force", { position = "last" })
test("move: committed", c3 and c3.state == "committed" and t3:status().policies[2] == "force", c3)
fails("move of one that is not there", "not_found",
	t3:policy_move("nosuch", { position = "first" }))
c3 = nb.policy.remove { "force" }
test("remove, by the command's function", c3 and #t3:status().policies == 1, c3)
raises("remove has no place", "no option position", t3.policy_remove, t3, "force",
	{ position = "first" })
t3:close()

-- every command of the shell, as a function
local list = assert(nb.comm.list())
test("nb.comm.list gives what JSON has",
	#list.processes == 4 and list.processes[1].data.comms[1].ranks == 4)
test("nb.policy.verify of a file", nb.policy.verify { "force.bpf.o" }.accepted == true)
local verdict, refused = nb.policy.verify { "refused.bpf.o" }
test("a bad verdict comes with its error",
	verdict.accepted == false and refused.code == "verify_rejected")
local dump = assert(nb.map.dump { "counts", limit = 1 })
test("nb.map.dump with an option",
	#dump.processes == 4 and dump.processes[1].data.entries[1].key == 0)
fails("its errors are values", "usage", nb.map.dump { "counts", depth = 1 })
raises("its misuse raises", "table expected", nb.map.dump, "force")
test("nb.status, nb.explain", nb.status().processes[1].data.job == "demo"
	and nb.explain { "allreduce", "4M" }.processes[1].data.bytes == 4 << 20)
