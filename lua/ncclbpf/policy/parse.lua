-- SPDX-License-Identifier: MIT
-- Parse policies written as Lua functions into a tree. The language is a subset of Lua
-- (docs/tables.md); an error names the line of anything else.
local errors = require "ncclbpf.base.errors"

local M = {}

-- ---- words ----------------------------------------------------------------------

local KEYWORDS = {}
for w in (
	"and break do else elseif end false for function goto " ..
	"if in local nil not or repeat return then true until while"):gmatch "%a+" do
	KEYWORDS[w] = true
end

local P = {}
P.__index = P

-- Raise an error at a token. M.parse catches it.
function P:fail(t, fmt, ...)
	error(errors.new("malformed", fmt:format(...), {
		where = { file = self.file, line = t.line, col = t.col } }), 0)
end

local LONG = "^%[(=*)%["

function P:skip(i)
	local text = self.text
	while true do
		local a, b = text:find("^[ \t\r\n\f\v]+", i)
		if a then
			i = b + 1
		elseif text:find("^%-%-", i) then
			local _, _, eq = text:find(LONG, i + 2)
			local _, e
			if eq then
				_, e = text:find("]" .. eq .. "]", i + 2, true)
			else
				_, e = text:find("[^\n]*", i)
			end
			i = (e or #text) + 1
		else
			return i
		end
	end
end

function P:place(i)
	-- tokens come in order, so continue counting at the last token
	local n = self.at_line
	for at in self.text:sub(self.at, i - 1):gmatch "()\n" do
		n = n + 1
		self.line_start = self.at + at
	end
	self.at, self.at_line = i, n
	return n, i - self.line_start + 1
end

local OPERATORS = { "...", "<<", ">>", "//", "==", "~=", "<=", ">=", "::", "..", "+", "-", "*", "/",
	"%", "^", "#", "&", "~", "|", "<", ">",
	"=", "(", ")", "{", "}", "[", "]", ";", ":", ",", "." }

function P:lex(i)
	local text = self.text
	i = self:skip(i)
	local t = { from = i }
	t.line, t.col = self:place(i)
	if i > #text then
		t.kind, t.to = "end of the text", i
		return t
	end
	local word = text:match("^[%a_][%w_]*", i)
	if word then
		t.kind, t.text, t.to = KEYWORDS[word] and word or "name", word, i + #word
		return t
	end
	local number = text:match("^0[xX]%x+", i) or text:match("^%d+", i)
	if number then
		local rest = text:match("^[%w_.]+", i + #number)
		if rest and rest:sub(1, 2) ~= ".." then
			self:fail(t, "%s: whole numbers only", number .. rest)
		end
		t.kind, t.value, t.to = "number", math.tointeger(tonumber(number)), i + #number
		if not t.value then self:fail(t, "%s: more than 64 bits", number) end
		return t
	end
	local quote = text:match("^[\"']", i)
	if quote then
		local s = text:match("^[^\"'\\\n]*", i + 1)
		if text:sub(i + 1 + #s, i + 1 + #s) ~= quote then
			self:fail(t, "a string must end on its line and must not contain \\")
		end
		t.kind, t.value, t.to = "string", s, i + #s + 2
		return t
	end
	for _, op in ipairs(OPERATORS) do
		if text:sub(i, i + #op - 1) == op then
			t.kind, t.to = op, i + #op
			return t
		end
	end
	self:fail(t, "unexpected %q", text:sub(i, i))
end

function P:next()
	local t = self.token
	self.token = self:lex(t and t.to or self.from)
	return t
end

function P:take(kind)
	if self.token.kind ~= kind then return nil end
	return self:next()
end

function P:show(t)
	return t.text or t.value and tostring(t.value) or t.kind
end

function P:expect(kind, after)
	local t = self:take(kind)
	if not t then
		self:fail(self.token, "%s expected%s, found %s", kind, after and " " .. after or "",
			self:show(self.token))
	end
	return t
end

-- ---- expressions --------------------------------------------------------------------

local BINARY = { ["or"] = 1, ["and"] = 2, ["<"] = 3, [">"] = 3, ["<="] = 3, [">="] = 3, ["~="] = 3,
	["=="] = 3, ["|"] = 4, ["~"] = 5, ["&"] = 6,
	["<<"] = 7, [">>"] = 7, ["+"] = 9, ["-"] = 9, ["*"] = 10, ["//"] = 10, ["%"] = 10 }
local UNARY = 11
local NOT_HERE = { ["/"] = "// divides whole numbers", ["^"] = "powers are not available",
	[".."] = "strings cannot be joined", ["#"] = "lengths are not available",
	["{"] = "tables are not allowed",
	["function"] = "a policy function cannot contain functions",
	["..."] = "a policy function has one argument" }

local function node(t, kind, f)
	f.kind, f.line, f.col = kind, t.line, t.col
	return f
end

function P:primary()
	local t = self.token
	if NOT_HERE[t.kind] then self:fail(t, "%s: %s", t.kind, NOT_HERE[t.kind]) end
	if self:take "number" then return node(t, "number", { value = t.value }) end
	if self:take "string" then return node(t, "string", { value = t.value }) end
	if self:take "true" then return node(t, "bool", { value = true }) end
	if self:take "false" then return node(t, "bool", { value = false }) end
	if self:take "(" then
		local e = self:expression(0)
		self:expect(")", "to close that of line " .. t.line)
		e.closed = true
		return e
	end
	if self:take "name" then return self:suffix(t) end
	self:fail(t, "an expression expected, found %s", self:show(t))
end

-- ctx.field, maps.name[key], math.min(a, b), a local or a constant
function P:suffix(t)
	if t.text == self.ctx then
		self:expect(".", "behind " .. t.text)
		local f = self:expect "name"
		return node(f, "field", { name = f.text })
	elseif t.text == "maps" and self.token.kind == "." then
		self:next()
		local m = self:expect "name"
		self:expect("[", "behind the map's name")
		local key = self:expression(0)
		self:expect "]"
		return node(m, "lookup", { name = m.text, key = key })
	elseif t.text == "math" and self.token.kind == "." then
		self:next()
		local f = self:expect "name"
		if f.text ~= "min" and f.text ~= "max" then
			self:fail(f, "math.%s: there are math.min and math.max", f.text)
		end
		self:expect "("
		local a = self:expression(0)
		self:expect ","
		local b = self:expression(0)
		self:expect ")"
		return node(f, f.text, { a = a, b = b })
	end
	local k = self.token.kind
	if k == "(" or k == "." or k == "[" or k == ":" then
		self:fail(
			t, "%s: not allowed; use %s.FIELD, " ..
			"maps.NAME[KEY], math.min and math.max", t.text, self.ctx)
	end
	return node(t, "name", { name = t.text })
end

function P:expression(limit)
	self.depth = self.depth + 1
	if self.depth > 100 then self:fail(self.token, "nested too deeply") end
	local t, left = self.token, nil
	if t.kind == "-" or t.kind == "~" or t.kind == "not" then
		self:next()
		left = node(t, "unary", { op = t.kind, a = self:expression(UNARY) })
	else
		left = self:primary()
	end
	while true do
		t = self.token
		local level = BINARY[t.kind]
		if NOT_HERE[t.kind] then self:fail(t, "%s: %s", t.kind, NOT_HERE[t.kind]) end
		if not level or level <= limit then break end
		self:next()
		left = node(t, "binary", { op = t.kind, a = left, b = self:expression(level) })
	end
	self.depth = self.depth - 1
	return left
end

-- ---- statements ------------------------------------------------------------------------

local LOOPS = { ["while"] = true, ["for"] = true, ["repeat"] = true, ["goto"] = true,
	["break"] = true }

function P:statement()
	local t = self.token
	if LOOPS[t.kind] then self:fail(t, "%s: loops are not allowed", t.kind) end
	if self:take ";" then return nil end
	if self:take "local" then
		local n = self:expect("name", "behind local")
		if n.text == self.ctx or n.text == "maps" or n.text == "math" then
			self:fail(n, "%s is a reserved name", n.text)
		end
		self:expect("=", "after the name: a local needs a value")
		return node(n, "local", { name = n.text, value = self:expression(0) })
	elseif self:take "if" then
		return self:branches(t)
	elseif self:take "do" then
		local b = self:block()
		self:expect("end", "to close the do of line " .. t.line)
		return node(t, "do", { body = b })
	elseif self:take "return" then
		self:take ";"
		local k = self.token.kind
		if k ~= "end" and k ~= "else" and k ~= "elseif" and k ~= "end of the text" then
			self:fail(self.token,
				"return takes no value; " ..
				"the answer is %s.algo, %s.proto and %s.channels",
				self.ctx, self.ctx, self.ctx)
		end
		return node(t, "return", {})
	end
	local n = self:expect "name"
	local target = self:suffix(n)
	if target.kind == "lookup" then
		self:fail(target, "maps.%s: a policy function can only read maps", target.name)
	end
	self:expect("=", "behind " .. target.name)
	return node(n, "set", { target = target, value = self:expression(0) })
end

function P:block()
	self.depth = self.depth + 1
	if self.depth > 60 then self:fail(self.token, "nested too deeply") end
	local list = {}
	while true do
		local k = self.token.kind
		if k == "end" or k == "else" or k == "elseif" or k == "end of the text" then
			break
		end
		local s = self:statement()
		if s then list[#list + 1] = s end
	end
	self.depth = self.depth - 1
	return list
end

function P:branches(t)
	local arms = {}
	repeat
		local cond = self:expression(0)
		self:expect("then", "behind the condition")
		arms[#arms + 1] = { cond = cond, body = self:block() }
	until not self:take "elseif"
	local other = self:take "else" and self:block()
	self:expect("end", "to close the if of line " .. t.line)
	return node(t, "if", { arms = arms, other = other })
end

local function parser(text, file, line, ctx)
	return setmetatable({ text = text, file = file, from = 1, at = 1, at_line = line,
		line_start = 1, ctx = ctx, depth = 0 }, P)
end

local function guarded(f)
	local ok, tree = pcall(f)
	if ok then return tree end
	if errors.is(tree) then return nil, tree end
	error(tree, 0)
end

-- Parse statements to a syntax tree. -> block | nil, err
function M.text(text, file)
	return guarded(function()
		local p = parser(text, file, 1, "ctx")
		p:next()
		local b = p:block()
		if p.token.kind ~= "end of the text" then
			p:fail(p.token, "nothing to close with %s", p:show(p.token))
		end
		return b
	end)
end

-- Parse the function in lines @first to @last of a source. -> block | nil, err
function M.func(source, file, first, last)
	return guarded(function()
		local lines, n = {}, 0
		for line in (source .. "\n"):gmatch "([^\n]*)\n" do
			n = n + 1
			if n >= first and n <= last then lines[#lines + 1] = line end
		end
		local text = table.concat(lines, "\n")
		local from, rest = text:find "%f[%w_]function%f[^%w_]"
		local p = parser(text, file, first, "ctx")
		local head = { line = first, col = from or 1 }
		if not from then p:fail(head, "no function begins here") end
		if text:match("^[^\n]*", rest + 1):find "%f[%w_]function%f[^%w_]" then
			p:fail(head,
				"two functions begin in this line; " ..
				"put each function in a line of its own")
		end
		p.from = rest + 1
		p:next()
		p:take "name"
		p:expect("(", "behind function")
		p.ctx = p:expect("name", "for the context").text
		p:expect(")", "behind the one argument")
		local b = p:block()
		p:expect("end", "to close the function")
		return b
	end)
end

return M
