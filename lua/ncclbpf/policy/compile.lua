-- SPDX-License-Identifier: MIT
-- Compile policies written as Lua functions: the tree of policy/parse.lua to instructions and an
-- image. Values are 64-bit integers as in Lua, or true and false. Each variable has a stack slot,
-- an expression's value is in r0, r6 is the context.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local parse = require "ncclbpf.policy.parse"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- ---- instructions -----------------------------------------------------------------

-- opcode of each operation with a register
local ALU = { ["+"] = 0x0f, ["-"] = 0x1f, ["*"] = 0x2f, ["|"] = 0x4f, ["&"] = 0x5f, ["~"] = 0xaf }
local JUMP = { ["=="] = 0x1d, ["~="] = 0x5d, [">"] = 0x6d, [">="] = 0x7d, ["<"] = 0xcd,
	["<="] = 0xdd }
local NEGATED = { ["=="] = "~=", ["~="] = "==", [">"] = "<=", ["<="] = ">", ["<"] = ">=",
	[">="] = "<" }
local MOV, LDDW, EXIT, JA, CALL = 0xbf, 0x18, 0x95, 0x05, 0x85
local LOAD = { [4] = 0x61, [8] = 0x79 }
local STORE = { [4] = 0x63, [8] = 0x7b }
local STACK = 512

local C = {}
C.__index = C

function C:fail(n, fmt, ...)
	error(errors.new("malformed", fmt:format(...), {
		where = { file = self.file, line = n.line, col = n.col } }), 0)
end

function C:put(op, dst, src, off, imm)
	self.n = self.n + 1
	self.code[self.n] = { op, dst or 0, src or 0, off or 0, imm or 0 }
end

function C:jump(op, dst, src, label, imm)
	self:put(op, dst, src, 0, imm)
	self.jumps[#self.jumps + 1] = { self.n, label }
end

function C:label() return {} end
function C:here(label) label.at = self.n end

function C:constant(dst, v)
	if v >= -0x80000000 and v <= 0x7fffffff then
		self:put(0xb7, dst, 0, 0, v)
	else
		self:put(LDDW, dst, 0, 0, v & 0xffffffff)
		self:put(0, 0, 0, 0, (v >> 32) & 0xffffffff)
	end
end

-- Allocate a stack slot. -> offset from r10
function C:slot(n)
	self.depth = self.depth + 8
	if self.depth > STACK then
		self:fail(n, "too many values at once: at most %d", STACK // 8)
	end
	return -self.depth
end

function C:release() self.depth = self.depth - 8 end

-- ---- types and words ------------------------------------------------------------------

local WORDS = { algo = "algo", proto = "proto", coll = "coll", nccl_algo = "algo",
	nccl_proto = "proto" }

local function word_kind(n)
	return n.kind == "field" and WORDS[n.name] or nil
end

-- Translate a quoted word, such as "ring", to its number. @other: the operand that the word is
-- compared with, which tells whether the word is an algorithm or a protocol.
function C:word(n, other)
	local kind = other and word_kind(other)
	if kind then
		local v = core.nccl(kind, n.value)
		if v then return v end
		local list = {}
		for i = 0, 20 do list[#list + 1] = core.nccl(kind, i) end
		self:fail(n, "%q: %s expected", n.value, table.concat(list, ", "))
	end
	local v = units.size(n.value)
	if not v then
		self:fail(n, "%q: a size (\"4M\") expected, or a word compared with "
			.. "algo, proto or coll", n.value)
	end
	return v
end

function C:find(n)
	for i = #self.locals, 1, -1 do
		if self.locals[i].name == n.name then return self.locals[i] end
	end
end

-- Return the type of expression @n, "int" or "bool". Replace words and constants by numbers.
function C:type(n, beside)
	if n.type then return n.type end
	local t = "int"
	if n.kind == "string" then
		n.value = self:word(n, beside)
		n.kind = "number"
	elseif n.kind == "bool" then
		t = "bool"
	elseif n.kind == "number" then
		t = "int"
	elseif n.kind == "name" then
		t = self:type_of_name(n)
	elseif n.kind == "field" then
		if not self.fields[n.name] then
			self:fail(n, "no field %s, %s", n.name,
				errors.nearest(n.name, self.field_names)
				or "there are: " .. table.concat(self.field_names, ", "))
		end
	elseif n.kind == "lookup" then
		self:fail(n, "maps.%s may lack this element: write maps.%s[...] or DEFAULT",
			n.name, n.name)
	elseif n.kind == "unary" then
		t = n.op == "not" and "bool" or "int"
		self:want(n.a, t, n.op)
	elseif n.kind == "min" or n.kind == "max" then
		self:want(n.a, "int", n.kind)
		self:want(n.b, "int", n.kind)
	else
		t = self:type_of_binary(n)
	end
	n.type = t
	return t
end

function C:type_of_name(n)
	local l = self:find(n)
	if l then
		n.slot = l.slot
		return l.type
	end
	local v = self.constants[n.name]
	if type(v) == "number" then v = math.tointeger(v) end
	if math.type(v) == "integer" then
		n.kind, n.value = "number", v
		return "int"
	elseif v ~= nil then
		self:fail(n, "%s is a %s; from outside the function only whole numbers can be used",
			n.name, type(v))
	end
	self:fail(n, "no local %s", n.name)
end

function C:want(n, want, where, beside)
	local t = self:type(n, beside)
	if t ~= want then
		self:fail(n, "%s: %s expected, found %s", where, want == "int" and "a number"
			or "true or false (a comparison)",
			t == "int" and "a number" or "true or false")
	end
end

function C:type_of_binary(n)
	local op = n.op
	if op == "or" and n.a.kind == "lookup" then
		if not self.maps[n.a.name] then
			self:fail(n.a, "no map %s%s", n.a.name, #self.map_names > 0
				and "; there are: " .. table.concat(self.map_names, ", ")
				or ": option maps names them")
		end
		self:want(n.a.key, "int", "a key")
		self:want(n.b, "int", "or")
		return "int"
	elseif op == "and" or op == "or" then
		self:want(n.a, "bool", op)
		self:want(n.b, "bool", op)
		return "bool"
	elseif op == "==" or op == "~=" then
		-- The other operand gives the meaning of a word.
		local first, second = n.a, n.b
		if first.kind == "string" then first, second = second, first end
		local t = self:type(first, second)
		self:want(second, t, op, first)
		return "bool"
	end
	local bool = JUMP[op] ~= nil
	self:want(n.a, "int", op, n.b)
	self:want(n.b, "int", op, n.a)
	return bool and "bool" or "int"
end

-- ---- expressions -------------------------------------------------------------------------

-- Can one or two instructions load this operand into any register?
local function is_leaf(n) return n.kind == "number" or n.kind == "name" or n.kind == "field" end

function C:leaf(n, dst)
	if n.kind == "number" then
		self:constant(dst, n.value)
	elseif n.kind == "name" then
		self:put(LOAD[8], dst, 10, n.slot)
	else
		local f = self.fields[n.name]
		self:put(LOAD[f.size], dst, 6, f.off)
		if f.signed then
			self:put(0x67, dst, 0, 0, 32)
			self:put(0xc7, dst, 0, 0, 32)
		end
	end
end

-- a to r0, b to r1
function C:both(n)
	if is_leaf(n.b) then
		self:value(n.a)
		self:leaf(n.b, 1)
		return
	end
	local slot = self:slot(n)
	self:value(n.a)
	self:put(STORE[8], 10, 0, slot)
	self:value(n.b)
	self:put(MOV, 1, 0)
	self:put(LOAD[8], 0, 10, slot)
	self:release()
end

-- r0 = floor(r0 / r1), or the remainder; x // 0 is 0 and x % 0 is x, as in BPF
function C:divide(op)
	local done = self:label()
	self:put(MOV, 2, 0)
	self:put(0x3f, 2, 1, 1) -- r2 = r0 s/ r1
	self:put(MOV, 3, 2)
	self:put(0x2f, 3, 1)
	self:put(0x1f, 0, 3) -- r0 = the rest
	local keep = self:label()
	self:jump(0x15, 0, 0, keep, 0)
	self:jump(0x15, 1, 0, keep, 0)
	self:put(MOV, 3, 0)
	self:put(0xaf, 3, 1)
	self:jump(0x75, 3, 0, keep, 0) -- the signs are equal if the XOR of both is >= 0
	self:put(0x07, 2, 0, 0, -1)
	self:put(0x0f, 0, 1)
	self:here(keep)
	if op == "//" then self:put(MOV, 0, 2) end
	self:here(done)
end

-- r0 shifted by r1 as in Lua: shifts by 64 or more give 0, negative shifts go the other way.
function C:shift(op)
	local left, right = 0x6f, 0x7f
	if op == ">>" then left, right = right, left end
	local back, none, done = self:label(), self:label(), self:label()
	self:jump(0xc5, 1, 0, back, 0) -- s< 0
	self:jump(0x75, 1, 0, none, 64)
	self:put(left, 0, 1)
	self:jump(JA, 0, 0, done)
	self:here(back)
	self:put(0x87, 1)
	self:jump(0x35, 1, 0, none, 64) -- unsigned, because the least number negated is itself
	self:put(right, 0, 1)
	self:jump(JA, 0, 0, done)
	self:here(none)
	self:put(0xb7, 0, 0, 0, 0)
	self:here(done)
end

function C:lookup(n)
	local m = self.maps[n.a.name]
	local slot, missing, done = self:slot(n), self:label(), self:label()
	self:value(n.a.key)
	self:put(STORE[m.key_size], 10, 0, slot)
	self:put(LDDW, 1, 1, 0, m.index)
	self:put(0)
	self:put(MOV, 2, 10)
	self:put(0x07, 2, 0, 0, slot)
	self:put(CALL, 0, 0, 0, 1)
	self:release()
	self:jump(0x15, 0, 0, missing, 0)
	self:put(LOAD[m.value_size], 0, 0, 0)
	self:jump(JA, 0, 0, done)
	self:here(missing)
	self:value(n.b)
	self:here(done)
end

-- Compute the value of @n in r0. A bool becomes 0 or 1.
function C:value(n)
	if is_leaf(n) then return self:leaf(n, 0) end
	if n.kind == "bool" then
		self:constant(0, n.value and 1 or 0)
	elseif n.type == "bool" then
		local no, done = self:label(), self:label()
		self:unless(n, no)
		self:put(0xb7, 0, 0, 0, 1)
		self:jump(JA, 0, 0, done)
		self:here(no)
		self:put(0xb7, 0, 0, 0, 0)
		self:here(done)
	elseif n.kind == "unary" then
		self:value(n.a)
		if n.op == "-" then self:put(0x87, 0) else self:put(0xa7, 0, 0, 0, -1) end
	elseif n.kind == "min" or n.kind == "max" then
		self:both(n)
		local done = self:label()
		self:jump(n.kind == "min" and JUMP["<="] or JUMP[">="], 0, 1, done)
		self:put(MOV, 0, 1)
		self:here(done)
	elseif n.op == "or" then
		self:lookup(n)
	else
		self:both(n)
		if ALU[n.op] then self:put(ALU[n.op], 0, 1)
		elseif n.op == "<<" or n.op == ">>" then self:shift(n.op)
		else self:divide(n.op) end
	end
end

-- Jump to @label if @n is false (@when: if it is true).
function C:unless(n, label, when)
	if n.kind == "bool" then
		-- Do not compute the jump at compile time, because the verifier refuses
		-- unreachable code.
		self:constant(0, n.value and 1 or 0)
		self:jump(when and 0x55 or 0x15, 0, 0, label, 0)
	elseif n.kind == "unary" then
		self:unless(n.a, label, not when)
	elseif n.op == "and" or n.op == "or" then
		-- and: both must hold; or: one is enough
		if (n.op == "and") ~= (when or false) then
			self:unless(n.a, label, when)
			self:unless(n.b, label, when)
		else
			local past = self:label()
			self:unless(n.a, past, not when)
			self:unless(n.b, label, when)
			self:here(past)
		end
	elseif n.kind == "binary" then
		self:both(n)
		self:jump(JUMP[when and n.op or NEGATED[n.op]], 0, 1, label)
	else
		self:value(n)
		self:jump(when and 0x55 or 0x15, 0, 0, label, 0)
	end
end

-- ---- statements ------------------------------------------------------------------------------

function C:set(s)
	local t = s.target
	if t.kind == "name" then
		local l = self:find(t)
		if not l then self:fail(t, "no local %s; write local %s = ...", t.name, t.name) end
		self:want(s.value, l.type, t.name)
		self:value(s.value)
		self:put(STORE[8], 10, 0, l.slot)
		return
	end
	if t.kind ~= "field" then self:fail(t, "a field or a local expected before =") end
	self:type(t)
	local f = self.fields[t.name]
	if f.access ~= "out" then
		self:fail(t, "%s is read-only; only algo, proto and channels can be set", t.name)
	end
	self:want(s.value, "int", t.name, t)
	self:value(s.value)
	self:put(STORE[f.size], 6, 0, f.off)
end

function C:branch(s)
	local done = self:label()
	for i, arm in ipairs(s.arms) do
		local otherwise = self:label()
		self:want(arm.cond, "bool", "if")
		self:mark(arm.cond)
		self:unless(arm.cond, otherwise)
		self:block(arm.body)
		if (i < #s.arms or s.other) and not arm.ended then self:jump(JA, 0, 0, done) end
		self:here(otherwise)
	end
	if s.other then self:block(s.other) end
	self:here(done)
end

function C:mark(n)
	local last = self.lines[#self.lines]
	if last and last.pc == self.n then self.lines[#self.lines] = nil end
	self.lines[#self.lines + 1] = { pc = self.n, line = n.line, col = n.col,
		text = self.source_lines[n.line] or "" }
end

function C:statement(s)
	if s.kind ~= "if" and s.kind ~= "do" then self:mark(s) end
	if s.kind == "local" then
		local t = self:type(s.value)
		self:value(s.value)
		local slot = self:slot(s)
		self:put(STORE[8], 10, 0, slot)
		self.locals[#self.locals + 1] = { name = s.name, type = t, slot = slot }
	elseif s.kind == "set" then
		self:set(s)
	elseif s.kind == "if" then
		self:branch(s)
	elseif s.kind == "do" then
		self:block(s.body)
	else
		self:jump(JA, 0, 0, self.out)
	end
end

function C:block(list)
	local n = #self.locals
	for _, s in ipairs(list) do self:statement(s) end
	for _ = n + 1, #self.locals do
		self.locals[#self.locals] = nil
		self:release()
	end
end

-- Skip statements after a return: the verifier refuses unreachable code.
local function prune(list)
	local out, ended = {}, false
	for _, s in ipairs(list) do
		if ended then break end
		out[#out + 1] = s
		if s.kind == "if" then
			local all = s.other ~= nil
			for _, arm in ipairs(s.arms) do
				arm.body, arm.ended = prune(arm.body)
				all = all and arm.ended
			end
			if s.other then
				local e
				s.other, e = prune(s.other)
				all = all and e
			end
			ended = all
		elseif s.kind == "do" then
			s.body, ended = prune(s.body)
		elseif s.kind == "return" then
			ended = true
		end
	end
	return out, ended
end

-- ---- the image ---------------------------------------------------------------------------------

local SIZES = { u32 = 4, u64 = 8 }

-- Return the map definitions of {name = {key="u32", value="u64", entries=N}}, in the order of
-- names.
local function map_specs(c, maps)
	local list = {}
	for name in pairs(maps or {}) do c.map_names[#c.map_names + 1] = name end
	table.sort(c.map_names)
	for i, name in ipairs(c.map_names) do
		local m = maps[name]
		if type(name) ~= "string" or type(m) ~= "table" then
			error("option maps: tables by name expected", 3)
		end
		errors.check_options("map " .. name, m,
			{ key = "string", value = "string", entries = "integer" }, 3)
		local k, v = SIZES[m.key or "u32"], SIZES[m.value or "u64"]
		if not k or not v then
			error(("map %s: key and value: u32 or u64 expected"):format(name), 3)
		end
		if m.entries and (m.entries < 1 or m.entries > 0xffffffff) then
			error(("map %s: entries: 1 to 2^32-1 expected"):format(name), 3)
		end
		c.maps[name] = { index = i - 1, key_size = k, value_size = v }
		list[i] = { name = name, key_size = k, value_size = v, entries = m.entries or 64 }
	end
	return list
end

local function assemble(c)
	for _, j in ipairs(c.jumps) do
		local off = j[2].at - j[1]
		if off > 32767 then
			errors.raise("over_limit",
				"the function is too long: " ..
				"a jump over more than 32767 instructions")
		end
		c.code[j[1]][4] = off
	end
	local t = {}
	for i, s in ipairs(c.code) do
		local imm = s[5]
		if imm > 0x7fffffff then imm = imm - 0x100000000 end
		t[i] = string.pack("<BBi2i4", s[1], s[3] << 4 | s[2], s[4], imm)
	end
	return table.concat(t)
end

local function new(file, source, constants)
	local c = setmetatable({ code = {}, n = 0, jumps = {}, depth = 0, locals = {}, lines = {},
		maps = {}, map_names = {}, fields = {},
		field_names = {}, file = file, constants = constants, source_lines = {} }, C)
	for _, f in ipairs(core.fields "tuner") do
		f.signed = f.type == "int32_t"
		c.fields[f.name] = f
		c.field_names[#c.field_names + 1] = f.name
	end
	local n = 0
	for line in (source .. "\n"):gmatch "([^\n]*)\n" do
		n = n + 1
		c.source_lines[n] = line:gsub("^%s+", ""):gsub("[^\32-\126]", "?"):sub(1, 250)
	end
	return c
end

-- Compile a syntax tree to a policy. -> policy; raises errors
local function compile(tree, file, source, constants, opts)
	local c = new(file, source, constants)
	local specs = map_specs(c, opts.maps)
	c.out = c:label()
	local ok, err = xpcall(function()
		c:put(MOV, 6, 1)
		c:block((prune(tree)))
		c:here(c.out)
		c:put(0xb7, 0, 0, 0, 0)
		c:put(EXIT)
	end, function(e) return errors.is(e) and e or debug.traceback(e) end)
	if not ok then error(err, 0) end
	local slots = assemble(c)
	local name = opts.name or "expr"
	local image = try(core.image_make { name = name, program = "decide",
		file = file:gsub("[^\32-\126]", "?"):sub(-250), slots = slots, lines = c.lines,
		maps = specs })
	return require("ncclbpf.policy.table").new(name, image)
end

local OPTIONS = { name = "string", maps = "table" }

-- nb.policy.expr(text[, {name=, maps=}]) -> policy | nil, err
M.expr = errors.catch(function(text, opts)
	if type(text) ~= "string" then
		error("nb.policy.expr: text expected, found " .. type(text), 2)
	end
	opts = errors.check_options("nb.policy.expr", opts, OPTIONS)
	local tree = try(parse.text(text, "text"))
	return compile(tree, "text", text, {}, opts)
end)

-- Return the integer upvalues of the function.
local function upvalues(f)
	local t = {}
	for i = 1, 255 do
		local name, v = debug.getupvalue(f, i)
		if not name then break end
		t[name] = v
	end
	return t
end

-- nb.policy.fn(function(ctx) ... end[, {name=, maps=}]) -> policy | nil, err
M.fn = errors.catch(function(f, opts)
	if type(f) ~= "function" then
		error("nb.policy.fn: a function expected, found " .. type(f), 2)
	end
	opts = errors.check_options("nb.policy.fn", opts, OPTIONS)
	local info = debug.getinfo(f, "S")
	local file, source = info.source:match "^@(.*)$", nil
	if file then
		source = core.read(file, 16 << 20)
	elseif info.source:sub(1, 1) ~= "=" then
		file, source = info.short_src, info.source
	end
	if info.what ~= "Lua" or not source then
		return errors.fail("no_input",
			"the source of this function cannot be read; nb.policy.expr takes text")
	end
	local tree = try(parse.func(source, file, info.linedefined, info.lastlinedefined))
	return compile(tree, file, source, upvalues(f), opts)
end)

return M
