-- SPDX-License-Identifier: MIT
-- Run by lua_api.t in a folder with the policies' objects; LIVE=1: a job of
-- four processes called demo runs.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, raises = tap.test, tap.raises
local function fails(name, code, ...) return tap.fails(name, code, nil, ...) end

-- files
local built = assert(nb.policy_build { "force.bpf.o", out = "built.policy" })
test("build gives facts", built.name == "force" and #built.digest == 64 and built.maps == 1)
local v = nb.policy_verify "force.bpf.o"
test("verify accepts", v and v.accepted and v.programs[1].stats.insns_walked > 0)
local err = fails("a refused policy", "verify_rejected", nb.policy_verify { "refused.bpf.o" })
test("comes with its verdict", err.data.accepted == false
	and err.data.programs[1].finding.class == "nullable" and err.finding.class == "nullable")
test("and the text that the job would show", tostring(err):find("l->bytes", 1, true) ~= nil)
test("disassemble", nb.policy_dump "noop.bpf.o".programs[1].lines[1].insn ~= nil)
fails("a file that is not there", "no_input", nb.policy_verify "none")
err = fails("a file that is no object", "bad_elf", nb.policy_verify "/etc/passwd")
test("an error prints as people read it", tostring(err):find("hint:", 1, true) ~= nil, err)
test("an error has a locked metatable",
	getmetatable(err) == "ncclbpf.error" and not pcall(setmetatable, err, {}))
test("assert shows the message",
	select(2, pcall(assert, nb.policy_verify "none")).code == "no_input")

-- type information from anywhere
do
	local core = require "ncclbpf.core"
	local policy = require "ncclbpf.policy.policy"
	local function image_of(path) return (assert(policy.open(path))) end
	local blob = image_of "types.bpf.o":btf()
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

	local halves = core.btf(image_of "halves.bpf.o":btf())
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
do
	local core, restrict = require "ncclbpf.core", require "ncclbpf.policy.restrict"
	local _, _, set = assert(require("ncclbpf.policy.policy").open {
		{ coll = "allreduce", algo = "ring", channels = 7 },
		{ coll = "broadcast", algo = "ring", channels = 7 } })
	local rows = { { coll = core.nccl("coll", "allreduce"), min = 4 << 20, max = 8 << 20 },
		{ coll = core.nccl("coll", "broadcast"), min = 0, max = math.maxinteger,
			comm = 0xc0ffee0000000001 } }
	local all = {}
	for i, x in ipairs { { "allreduce", 4 << 20 }, { "allreduce", (8 << 20) + 1 },
		{ "broadcast", 64, 0xc0ffee0000000001 }, { "broadcast", 64, 2 },
		{ "allreduce", (4 << 20) - 1 } } do
		all[i] = { coll = core.nccl("coll", x[1]), bytes = x[2], comm_id = x[3],
			usable = (1 << 21) - 1 }
	end
	local part = assert(restrict.image(set, "part", rows, restrict.text(rows)))
	local got = {}
	for i, a in ipairs(assert(core.policy_run({ part }, all, false))) do
		got[i] = a.algo .. "/" .. a.channels
	end
	test("has no opinion elsewhere", table.concat(got, " ") == "1/7 -1/0 1/7 -1/0 -1/0",
		table.concat(got, " "))

	local policy = require "ncclbpf.policy.policy"
	local _, _, calls = assert(policy.open "global_function_writes_output.bpf.o")
	part = assert(restrict.image(calls, "part", rows, "the condition"))
	local lines = core.image(part):disasm(1)
	test("the condition is the first line", lines[1].source == "the condition", lines[1].source)
	got = assert(core.policy_run({ part }, {
		{ coll = rows[1].coll, bytes = 4 << 20, ranks = 5 },
		{ coll = rows[1].coll, bytes = 1, ranks = 5 } }, false))
	test("calls lead to functions that have moved",
		got[1].channels == 5 and got[2].channels == 0, got[1].channels)
	local _, _, events = assert(policy.open "gin_pace.bpf.o")
	fails("a policy of events", "bad_argument",
		restrict.image(events, "part", rows, "the condition"))
end

-- what a change says of new communicators, with and without those that have no identity
do
	local change = require "ncclbpf.job.change"
	local function notes(...)
		local comms = {}
		for i, why in ipairs { ... } do
			comms[i] = { comm = tostring(i), state = "unchangeable", why = why }
		end
		local foot = change.result({ flags = {} }, { comms = comms }, "policy use").foot
		foot = table.concat(foot, "\n")
		return (foot:find("new communicators within this host use the change", 1, true)
			and "use " or "") .. (foot:find("without identity start with", 1, true)
			and "start" or "")
	end
	local none, late = "gives communicators no identity", "1 of 2 ranks have registered"
	local got = table.concat({ notes(late), notes(none), notes(none, late) }, ",")
	test("the notes after a change", got == "use ,start,use start", got)
end

-- misuse
local function verify(t) return function() nb.policy_verify(t) end end
raises("an unknown field names the nearest", "no field coherense, nearest: coherence",
	nb.policy_verify, { "x", coherense = "off" })
raises("misuse points at the caller", "lua_api.lua:", verify { "x", coherense = "off" })
raises("too few words", "too few words; usage: policy verify FILE", verify())
raises("too many", "too many arguments, the first extra one is y", verify { "x", "y" })
raises("a word that is nil", "word 1 is nil", verify { nil, "x" })
raises("a word that is a function", "word 1 is a function, but must be a string or a number",
	verify { print })
raises("a wrong kind of field",
	"field coherence is a function, but must be a string, number, boolean or list",
	verify { "x", coherence = print })
raises("no table", "the argument is a boolean, but must be a table of words and fields",
	verify(true))
raises("an option of the shell of a wrong kind", "field timeout is a string, but must be a number",
	verify { "x", timeout = "2s" })
raises("no dry run", "no field dry_run", verify { "x", dry_run = true })
raises("bad attach option", "nearest: job", nb.attach, { jb = "demo" })

-- units, JSON
test("sizes", nb.size "4M" == 4 << 20 and nb.size "1.5KiB" == 1536 and nb.size "7" == 7
	and nb.size "x" == nil and nb.size "4X" == nil and nb.size "99999999999999999999" == nil)
local duration = require("ncclbpf.base.units").duration
test("durations", duration "200ms" == 0.2 and duration "2" == 2 and duration "1.5m" == 90
	and duration "s" == nil)
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
fails("to a job that is not there", "no_target", nb.attach "no such job")
fails("attach to a socket that is not there", "no_target",
	nb.attach { socket = "/nonexistent/x.sock" })

if os.getenv "LIVE" ~= "1" then
	print(("ok %d - a running job # SKIP no plugin or no stand-in host in the build")
		:format(tap.n + 1))
	return
end

-- a running job
local mine = 0
for _, p in ipairs(nb.list().processes) do
	if p.job == "demo" and p.state == "attachable" then mine = mine + 1 end
end
test("list", mine == 4, mine)
local t, why = nb.attach "demo"
test("attach", t ~= nil, why)
test("a job prints", tostring(t):match "^job demo, 4 processes$" ~= nil, tostring(t))
test("its metatable is locked", getmetatable(t) == "job" and not pcall(setmetatable, t, {}))
raises("its fields are read-only", "cannot be set", function() t.x = 1 end)
raises("a method without its object", "lua_api.lua:", function() t.status() end)
raises("says how it is called", "job:method()", t.status)
local s = t:status()
test("a reply of each process", #s.processes == 4 and s.processes[3].rank == 2
	and s.processes[3].data.job == "demo")
test("a field of the first process's reply", s.job == "demo" and s.generation == 0)
test("doctor", #t:doctor().checks > 3)
test("no policies yet", #t:policy_list().policies == 0)
local loaded = t:policy_load { "force.bpf.o" }
test("load", loaded and loaded.name == "force" and loaded.digest == built.digest)
local bad = fails("a refused policy", "verify_rejected", t:policy_load { "refused.bpf.o" })
test("has the finding and the text",
	bad.finding and bad.finding.line > 0 and bad.detail:find("l->bytes", 1, true) ~= nil)
test("and was left nowhere", #t:policy_list().policies == 1)
test("a dry run changes nothing", t:policy_use { "force", dry_run = true }.state == "checked"
	and t:status().generation == 0)
local c = t:policy_use "force"
test("use: committed",
	c and c.state == "committed" and c.generation == 1 and c.comms[1].fence > 0, c)
fails("use of a name that is not there", "not_found", t:policy_use { "nosuch" })
fails("a change that others have overtaken", "stale",
	t:policy_use { "none", if_generation = 0 })
local function value(map, key)
	local r, e = t:map_get { map, key }
	return r and r.entries[1].value, e
end
local function set(map, ...)
	local done, err
	for _ = 1, 10 do -- the ranks of a busy machine may be late
		done, err = t:map_set { map, ... }
		if done or err.code ~= "busy" then break end
	end
	return done, err
end
x = value("force", 0)
test("read an element", x.algo == "tree" and x.enabled == 0)
assert(set("force", 0, { algo = "ring", proto = 1, channels = 4, enabled = true }))
x = value("force", 0)
test("write one: typed, at a fence, on all",
	x.algo == "ring" and x.proto == "ll128" and x.channels == 4, nb.json.encode(x))
test("a change made a generation", t:status().generation == 2, t:status().generation)
x.channels = 9
test("read, change a field, write", set("force", 0, x) and value("force", 0).channels == 9)
fails("a wrong field", "bad_argument", set("force", 0, { algoo = 1 }))
fails("an element that is not there", "no_such_key", t:map_get { "force", 5 })
fails("a key of the wrong size", "bad_argument", set("force", "hex:0000000000", x))
local dump = t:map_dump { "force" }
test("dump", #dump.processes == 4 and dump.processes[4].data.entries[1].value.channels == 9
	and #dump.entries == 1 and dump.entries[1].key == 0)
test("definition", t:map_show "force".coherent == true and t:map_show "force".max_entries == 1)
fails("a map that is not there", "not_found", t:map_show "nosuch")
local comm = t:comm_list().comms[1]
test("communicators", comm.ranks == 4 and comm.changeable)
local shown
for _ = 1, 1200 do
	shown = t:comm_show(comm.comm)
	if shown.table[1] and shown.table[1].generation == 3 then break end
	nb.sleep(0.05)
end
test("one has its table", #shown.table >= 8 and shown.table[1].answer.algo == "ring",
	nb.json.encode(shown.table[1]))
local ex = t:explain { "allreduce", 4 << 20 }
test("explain", ex.coll == "allreduce" and ex.answer.algo == "ring"
	and ex.policies[1].name == "force", nb.json.encode(ex))
test("explain takes text sizes", t:explain { "AllReduce", "4M" }.bytes == 4 << 20)
fails("a wrong collective", "bad_argument", t:explain { "allreduc", 1 })
test("decisions", #t:decision_tail { count = 5 }.decisions == 5)
local seen = 0
local ok, ferr = t:decision_tail { follow = function(p)
	seen = seen + #p.decisions
	return seen >= 10
end }
test("decisions that go on, until the function says stop", ok and seen >= 10, ferr or seen)
seen = 0
ok, ferr = t:decision_tail { count = 7, follow = function(p) seen = seen + #p.data.decisions end }
test("or count of them have come", ok and seen == 7, ferr or seen)
test("an error of the function is the script's own", select(2, pcall(function()
	t:decision_tail { follow = function() error("mine", 0) end }
end)) == "mine")
test("the stream is gone from the connection", t:status().job == "demo")
seen = {}
assert(t:map_dump { "force", every = 0.05, follow = function(p)
	seen[#seen + 1] = p
	if #seen == 1 then assert(set("force", 0, { channels = 2 })) end
	return #seen == 2
end })
test("elements, then their changes", seen[1].entries[1].key == 0 and seen[2][1].key == "0"
	and seen[2][1].new:find "channels=2" ~= nil, nb.json.encode(seen[2]))
test("trace is empty", #t:trace_tail().lines == 0)
local r = t:request "comm list"
test("request asks every process",
	#r == 4 and r[4].rank == 3 and r[4].data.comms[1].comm == comm.comm)
local q = t:request "no such command"
test("its errors are values", #q == 4 and q[1].err ~= nil and q[1].data == nil)
local _, broken = t:policy_unload "a\nb"
test("a line break in a request",
	broken.code == "bad_argument" and broken.message:find "line break")
test("undo", t:policy_undo().state == "committed" and value("force", 0).channels == 9)
do
	local t2 <close> = nb.attach { job = "demo", ranks = { 1, 2 } }
	test("some ranks", #t2:status().processes == 2)
	test("detach", t:detach().job == "demo")
	test("others stay attached", t2:status() ~= nil)
end
fails("a detached job", "no_target", t:status())
fails("takes no request", "no_target", t:request "status")
fails("detached twice", "no_target", t:detach())

-- values of every kind
t = assert(nb.attach { job = "demo" })
assert(t:policy_load "types.bpf.o")
assert(t:policy_use "types")
local key = { low = -7, high = 65535 }
err = fails("-1 is no unsigned number", "bad_argument", set("everything", key, { u64 = -1 }))
test("says why", err.message:find "out of range" ~= nil, err)
assert(set("everything", key, { u64 = "18446744073709551615", s64 = math.mininteger, text = "abc",
	mode = "MODE_ODD", algo = "nvls_tree", three = 5, five = -1,
	pair = { { low = 1 }, { high = 2 } }, number = { part = { 1, 2, 3, 4 } }, flag = true }))
local got = value("everything", key)
test("64 bits as a Lua integer", got.u64 == -1 and got.s64 == math.mininteger)
test("text, enums, bits", got.text == "abc" and got.mode == "MODE_ODD" and got.algo == "nvls_tree"
	and got.three == 5 and got.five == -1)
test("structs, arrays, unions, unnamed members", got.pair[1].low == 1 and got.pair[2].high == 2
	and got.number.whole == 0x04030201 and got.flag == true and got.hidden == 0)
got.u64 = 3
assert(set("everything", key, got))
got = value("everything", key)
test("what was read can be written", got.u64 == 3 and got.number.part[4] == 4)
test("remove", t:map_remove { "everything", key } and not value("everything", key))
local counts = assert(t:map_get { "counts", 0 }).entries[1].values
test("a per-CPU element is a list", type(counts) == "table" and #counts >= 1)
-- one policy more, elsewhere, fewer
c = t:policy_add { "force", before = "types" }
test("add: committed", c and c.state == "committed" and t:status().policies[1] == "force", c)
c = t:policy_move { "force", position = "last" }
test("move: committed", c and c.state == "committed" and t:status().policies[2] == "force", c)
fails("move of one that is not there", "not_found",
	t:policy_move { "nosuch", position = "first" })
c = nb.policy_remove { "force" }
test("remove, on the only job", c and #t:status().policies == 1, c)
raises("remove has no place", "no field position", t.policy_remove, t,
	{ "force", position = "first" })
c = t:policy_use { "none", comm = { comm.comm } }
test("a list of communicators", c and c.state == "committed" and #c.comms == 1, c)

-- the same without an object
test("nb.comm_list gives what JSON has", #nb.comm_list().processes == 4
	and nb.comm_list().processes[1].data.comms[1].ranks == 4)
test("with options of the shell", #nb.status { job = "demo", ranks = { 1 } }.processes == 1)
fails("of a job that is not there", "no_target", nb.status { job = "nothing" })
test("nb.status, nb.explain", nb.status().processes[1].data.job == "demo"
	and nb.explain { "allreduce", "4M" }.processes[1].data.bytes == 4 << 20)
-- every command has a function, but those of the terminal
for _, row in ipairs(require("ncclbpf.commands.rows").all()) do
	local name = row.words:gsub(" ", "_")
	local screen = ({ attach = 1, quit = 1, timing = 1, top = 1, watch = 1 })[name]
	if not screen and not (type(nb[name]) == "function" and t[name]) then
		test("no function for " .. row.words, false)
	end
end
