-- SPDX-License-Identifier: MIT
-- Run by expr.t: policies written as functions. Random functions are compiled
-- and run, and run by Lua itself: the answers are the same. EXPRS, EXPR_SEED:
-- how many, and which.
local nb = require "ncclbpf"
local n = 0
local function test(name, ok, why)
	n = n + 1
	print(("%sok %d - %s"):format(ok and "" or "not ", n, name))
	if not ok then print("# " .. tostring(why):gsub("\n", "\n# ")) end
end

-- ---- random functions ------------------------------------------------------
math.randomseed(tonumber(os.getenv "EXPR_SEED") or 5, 9)
local random = math.random
local function pick(t) return t[random(#t)] end
local FIELDS = { "comm_id", "bytes", "seq", "coll", "ranks", "nodes", "pipe_ops", "nvl_domains",
	"usable", "nccl_algo", "nccl_proto", "algo", "proto", "channels" }
local EDGES = { 0, 1, 2, 3, 7, 63, 64, 65, 255, 4096, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40,
	math.maxinteger }
local int, bool
local locals

local function number()
	if random(3) == 1 then return tostring(pick(EDGES)) end
	return tostring(random(0, 40))
end

function int(d)
	local r = random(d > 0 and 20 or 4)
	if r <= 2 then return "ctx." .. pick(FIELDS) end
	if r == 3 or r == 4 and #locals == 0 then return number() end
	if r == 4 then return pick(locals) end
	if r <= 6 then return ("-(%s)"):format(int(d - 1)) end
	if r == 7 then return ("(~%s)"):format(int(d - 1)) end
	if r <= 9 then
		return ("(%s %s %s)"):format(int(d - 1), pick { "//", "%" },
			pick { "3", "-7", "1000", "(1 << 33)", "-1", "(ctx.ranks | 1)" })
	end
	if r == 10 then return ("(maps.small[%s & 7] or %s)"):format(int(d - 1), int(d - 1)) end
	if r == 11 then return ("(maps.wide[%s %% 5] or 3)"):format(int(d - 1)) end
	if r == 12 then
		return ("math.%s(%s, %s)"):format(pick { "min", "max" }, int(d - 1), int(d - 1))
	end
	if r == 13 then
		return ("(%s %s %s)"):format(int(d - 1), pick { "<<", ">>" },
			pick { "1", "63", "64", "-3", "(" .. int(d - 1) .. ")" })
	end
	return ("(%s %s %s)"):format(int(d - 1), pick { "+", "-", "*", "&", "|", "~" }, int(d - 1))
end

function bool(d)
	local r = random(d > 0 and 6 or 2)
	if r <= 3 then
		return ("%s %s %s")
			:format(int(d - 1), pick { "==", "~=", "<", "<=", ">", ">=" }, int(d - 1))
	end
	if r == 4 then return ("not (%s)"):format(bool(d - 1)) end
	if r == 5 then
		return pick { "true", "false",
			"(" .. bool(d - 1) .. ") == (" .. bool(d - 1) .. ")" }
	end
	return ("(%s) %s (%s)"):format(bool(d - 1), pick { "and", "or" }, bool(d - 1))
end

local function block(d)
	local t, seen = {}, #locals
	for _ = 1, random(3) do
		local r = random(d > 0 and 7 or 3)
		if r <= 2 then
			t[#t + 1] = ("ctx.%s = %s")
				:format(pick { "algo", "proto", "channels" }, int(3))
		elseif r == 3 and #locals > 0 then
			t[#t + 1] = ("%s = %s"):format(pick(locals), int(2))
		elseif r <= 4 then
			local value = int(2)
			locals[#locals + 1] = "v" .. #locals
			t[#t + 1] = ("local %s = %s"):format(locals[#locals], value)
		elseif r == 5 then
			t[#t + 1] = ("do %s end"):format(block(d - 1))
		else
			t[#t + 1] = ("if %s then %s"):format(bool(2), block(d - 1))
			if random(2) == 1 then
				t[#t + 1] = ("elseif %s then %s"):format(bool(2), block(d - 1))
			end
			if random(2) == 1 then t[#t + 1] = "else " .. block(d - 1) end
			t[#t + 1] = "end"
		end
	end
	if random(12) == 1 then t[#t + 1] = "do return end" end
	while #locals > seen do locals[#locals] = nil end
	return table.concat(t, "\n")
end

local function context()
	local c = { algo = -1, proto = -1, channels = 0 }
	for _, f in ipairs(FIELDS) do
		local wide = f == "comm_id" or f == "bytes" or f == "seq"
		if f:find "^nccl_" then c[f] = random(-1, 6)
		elseif c[f] == nil then
			c[f] = random(3) == 1 and pick(EDGES) or random(0, 1 << 20)
			if not wide then c[f] = c[f] & 0xffffffff end
		end
	end
	return c
end

local MAPS = { small = { key = "u32", value = "u32", entries = 16 },
	wide = { key = "u64", value = "u64" } }
local CONTENT = { small = { [0] = 5, [3] = 0xffffffff, [6] = 0 },
	wide = { [1] = math.mininteger, [4] = 1 << 40 } }

-- A context whose answers keep 32 bits, as the real one's.
local function watched(c)
	return setmetatable({}, { __index = c, __newindex = function(_, k, v)
		v = v & 0xffffffff
		if k ~= "channels" and v >= 0x80000000 then v = v - 0x100000000 end
		c[k] = v
	end })
end

local rounds, wrong, refused, changed = tonumber(os.getenv "EXPRS") or 400, nil, nil, 0
for _ = 1, rounds do
	locals = {}
	local text = block(3)
	local p, err = nb.policy.expr(text, { maps = MAPS })
	if not p then
		refused = refused or ("%s\n%s"):format(err, text)
		break
	end
	local contexts = {}
	for i = 1, 20 do contexts[i] = context() end
	local answers
	answers, err = p:run(contexts, CONTENT)
	if not answers then
		refused = refused or ("%s\n%s"):format(err, text)
		break
	end
	local env = { maps = CONTENT, math = math }
	local f = assert(load("local ctx = ... " .. text, "=random", "t", env))
	for i, c in ipairs(contexts) do
		local got = answers[i]
		f(watched(c))
		if c.algo ~= -1 or c.proto ~= -1 then changed = changed + 1 end
		if got.algo ~= c.algo or got.proto ~= c.proto or got.channels ~= c.channels then
			wrong = wrong or ("%s/%s/%s, Lua says %s/%s/%s\n%s"):format(got.algo,
				got.proto, got.channels, c.algo, c.proto, c.channels, text)
		end
	end
end
test("random functions are compiled and accepted", not refused, refused)
test("they answer as Lua does", not wrong and changed > rounds, wrong or changed)

-- ---- functions ----------------------------------------------------------------
local LEAST = 4 << 20
local q, err = nb.policy.fn(function(ctx)
	if ctx.coll == "allreduce" and ctx.bytes >= LEAST and ctx.bytes <= "32M" then
		ctx.algo = "ring"
		ctx.proto = "ll128"
	elseif ctx.nodes > 1 then
		ctx.channels = maps.limits[ctx.nodes] or 8
	end
end, { name = "mid", maps = { limits = { key = "u32", value = "u64", entries = 32 } } })
test("a function becomes a policy", q, err)
test("which has a name and a map with types",
	q:info().name == "mid" and q:info().maps[1].coherent and q:info().maps[1].btf_key > 0)
local a = assert(q:run({ { coll = "allreduce", bytes = "4M" },
	{ coll = "allreduce", bytes = 4194303, nodes = 2 },
	{ coll = "reduce", bytes = 1, nodes = 3 } },
	{ limits = { [3] = 17 } }))
test("words, sizes and whole numbers around it count", a[1].algo == 1 and a[1].proto == 1
	and a[2].channels == 8 and a[3].channels == 17 and a[3].algo == -1, a[1].algo)
test("one context gives one answer", q:run { coll = "allreduce", bytes = "8M" }.algo == 1)
q:save "mid.bpf.o"
q:save "mid.policy"
local image, info = nb.build { path = "mid.bpf.o" }
test("its object is the same policy", image and info.maps[1].name == "limits"
	and info.maps[1].coherent and nb.verify { path = "mid.bpf.o" }.accepted)
local d = assert(nb.disassemble { path = "mid.policy" })
local source
for _, l in ipairs(d.programs[1].lines) do
	source = source or l.source and l.source:find('ctx.algo = "ring"', 1, true) and l
end
test("its instructions name lines of the script",
	source and source.file:find "expr.lua$" and source.line > 100, source)
q = assert(nb.policy.expr "ctx.algo = ctx.reg_buff")
local v = q:verify()
test("what differs between ranks is refused by the verifier, with the line", not v.accepted
	and v.programs[1].text:find("ctx.algo = ctx.reg_buff", 1, true), v.programs[1].text)

-- ---- what is not in the language, with its place --------------------------------
local function fault(text, line, col, says)
	local r, e = nb.policy.expr(text, { maps = { m = {} } })
	test(says, r == nil and e.code == "malformed" and e.where.line == line
		and e.where.col == col and tostring(e):find(says, 1, true), e)
end
fault("ctx.algo = 1.5", 1, 12, "1.5: whole numbers only")
fault("\nctx.algoo = 1", 2, 5, "no field algoo, nearest: algo")
fault("ctx.bytes = 1", 1, 5, "bytes is read-only")
fault("ctx.algo = x", 1, 12, "no local x")
fault("x = 1", 1, 1, "no local x; write local x = ...")
fault("ctx.algo = ctx.bytes > 1", 1, 22, "algo: a number expected, found true or false")
fault("if ctx.bytes then end", 1, 8, "if: true or false (a comparison) expected, found a number")
fault("if 1 < 2 < 3 then end", 1, 6, "<: a number expected, found true or false")
fault("while true do end", 1, 1, "while: loops are not allowed")
fault("ctx.algo = 'rign'", 1, 12, '"rign": tree, ring, collnet_direct')
fault("ctx.channels = 'ring'", 1, 16, '"ring": a size ("4M") expected')
fault("ctx.channels = maps.m[1]", 1, 21, "write maps.m[...] or DEFAULT")
fault("ctx.channels = maps.n[1] or 2", 1, 21, "no map n; there are: m")
fault("maps.m[1] = 2", 1, 6, "a policy function can only read maps")
fault("ctx.channels = ctx.bytes / 2", 1, 26, "/: // divides whole numbers")
fault("ctx.channels = 2 ^ 3", 1, 18, "^: powers are not available")
fault("ctx.channels = print(3)", 1, 16, "not allowed; use ctx.FIELD, maps.NAME[KEY]")
fault("ctx.channels = {}", 1, 16, "tables are not allowed")
fault("if ctx.bytes > 1 then\nctx.algo = 1", 2, 13,
	"end expected to close the if of line 1, found end of the text")
fault("return 7", 1, 8, "return takes no value")
fault("local x", 1, 8, "= expected after the name")
fault("ctx.algo = (1", 1, 14, ") expected to close that of line 1")
fault("end", 1, 1, "nothing to close with end")
fault("ctx.algo = $", 1, 12, 'unexpected "$"')
fault("ctx.algo = 99999999999999999999", 1, 12, "more than 64 bits")
fault("ctx.algo = " .. ("("):rep(150) .. "1", 1, 111, "nested too deeply")
local deep = {}
for i = 1, 70 do deep[i] = ("local a%d = %d"):format(i, i) end
fault(table.concat(deep, "\n"), 65, 7, "too many values at once")
q, err = nb.policy.fn(function(ctx)
	local b = ctx.bytes
	ctx.algo = b / 2
end)
local fault_line = debug.getinfo(1, "l").currentline - 2
test("a fault in a function has the script's line",
	q == nil and err.where.file:find "expr.lua$" and err.where.line == fault_line, err)
q, err = nb.policy.fn(print)
test("functions without source", q == nil and err.code == "no_input", err)
q, err = nb.policy.fn(function(ctx) ctx.algo = n end)
test("others around it count as numbers, too", q, err)
test("misuse raises", not pcall(nb.policy.fn, 7) and not pcall(nb.policy.expr, print)
	and not pcall(nb.policy.expr, "", { nam = "x" }))
for _, entries in ipairs { 0, -1, 1 << 32, (1 << 32) + 1, math.mininteger } do
	local fine, why = pcall(nb.policy.expr, "ctx.algo = maps.m[1] or 2",
		{ maps = { m = { entries = entries } } })
	test(("a map of %d entries"):format(entries), not fine
		and tostring(why):find("map m: entries: 1 to 2^32-1 expected", 1, true), why)
end
print("1.." .. n)
