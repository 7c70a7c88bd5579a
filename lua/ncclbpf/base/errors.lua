-- SPDX-License-Identifier: MIT
-- Errors as values. A function that fails returns `nil, err`; err has code, message, hint and
-- where, and prints as users read it. Codes and their exit statuses are rows of
-- core/defs/errors.h.
local core = require "ncclbpf.core"
local lists = require "ncclbpf.base.lists"

local M = {}
local rows = core.errors()
local meta = core.error_meta
core.error_meta = nil

-- Error codes that only the shell uses.
rows.interrupted = { status = 130, text = "stopped by Ctrl-C" }
rows.script_failed = { status = 1, text = "a script raised an error" }
rows.lua_syntax = { status = 65, text = "not Lua" }
rows.cannot_create = { status = 73, text = "a file cannot be created" }
rows.aborted = { status = 2, text = "the change was aborted; nothing has changed" }

function M.new(code, message, fields)
	local e = fields or {}
	e.code, e.message = code, message
	return setmetatable(e, meta)
end

-- Return nil and an error, for `return errors.fail(...)`.
function M.fail(code, fmt, ...)
	return nil, M.new(code, select("#", ...) > 0 and fmt:format(...) or fmt)
end

-- Raise an error value. For commands, and for functions that M.catch returns.
function M.raise(code, fmt, ...)
	error(select(2, M.fail(code, fmt, ...)), 0)
end

function M.is(e)
	return getmetatable(e) == "ncclbpf.error"
end

-- Were very many calls running when memory was short? The shell replaces this function.
function M.deep() return false end

-- Make an error value of the value that pcall has caught.
function M.caught(e)
	if M.is(e) then return e end
	if e == "not enough memory" and M.deep() then
		e = "stack overflow: a function that calls itself without end?"
	end
	return M.new("script_failed", tostring(e))
end

function M.status(e)
	local row = rows[e.code]
	return row and row.status or 1
end

local function place(where)
	if type(where) ~= "table" then return tostring(where) end
	local text = where.file or "?"
	if where.line then text = text .. ":" .. where.line end
	if where.col and where.col > 0 then text = text .. ":" .. where.col end
	return text
end

local function indent(text)
	return "\n    " .. text:gsub("\n+$", ""):gsub("\n", "\n    ")
end

-- Text from other processes must not control the terminal: remove control characters (also U+0080
-- to U+009F) and changes of writing direction.
function M.tame(text)
	text = text:gsub("[%z\1-\8\11-\31\127]", "?")
	if not text:find "[\194\226]" then return text end
	return (text:gsub("\194[\128-\159]", "?"):gsub("\226\128[\170-\174]", "?"):gsub(
		"\226\129[\166-\169]", "?"))
end

-- Return the error as text, without the name of the program.
function M.text(e)
	local t = {}
	if e.command then t[#t + 1] = e.command .. ": " end
	if e.object then t[#t + 1] = e.object .. ": " end
	-- if the error has a detail, print the detail's first line instead of the message
	local head, detail = e.message, e.detail
	if detail then head, detail = detail:match("^([^\n]*)\n?(.*)$") end
	t[#t + 1] = head
	if e.where and head:sub(1, #place(e.where)) ~= place(e.where) then
		t[#t + 1] = indent("at " .. place(e.where))
	end
	if e.cause then t[#t + 1] = indent("because " .. tostring(e.cause)) end
	if detail and detail ~= "" then t[#t + 1] = indent(detail) end
	if e.hint and e.hint ~= "" and not (e.detail and e.detail:find("hint:", 1, true)) then
		t[#t + 1] = indent("hint: " .. e.hint)
	end
	return M.tame(table.concat(t))
end

meta.__name = "ncclbpf.error"
meta.__tostring = M.text
meta.__metatable = "ncclbpf.error"
meta.order = { "code", "message", "command", "object", "where", "line", "at", "cause", "hint",
	"finding", "detail" }

-- Convert the error in a target's reply.
function M.from_reply(t)
	if type(t) ~= "table" then
		return M.new("protocol", "the target sent an error without fields")
	end
	local e = lists.copy(t)
	e.code = type(e.code) == "string" and e.code or "protocol"
	e.message = type(e.message) == "string" and e.message or e.code
	if type(e.hint) ~= "string" then e.hint = nil end
	return setmetatable(e, meta)
end

-- Return the results of a call, or raise its err if it returned nil, err. For commands:
-- cli/app.lua reports what they raise.
function M.try(v, err, ...)
	if not v then error(M.is(err) and err or M.from_reply(err), 0) end
	return v, err, ...
end

local OUTSIDE = {} -- metatable of an error that came from a function of the caller

-- Return a function that calls @f and returns nil, err if @f raises an error value. Misuse, bugs
-- and Ctrl-C are raised at the caller.
function M.catch(f, outermost)
	return function(...)
		local r = table.pack(pcall(f, ...))
		local e = r[2]
		if r[1] then return table.unpack(r, 2, r.n) end
		if M.is(e) and e.code ~= "interrupted" then return nil, e end
		if outermost and getmetatable(e) == OUTSIDE then error(e[1], 0) end
		error(e, 2)
	end
end

-- Wrap the caller's function @f (may be nil), so that M.catch passes on what @f raises.
function M.callback(f)
	return f and function(...)
		local r = table.pack(pcall(f, ...))
		if not r[1] then error(setmetatable({ r[2] }, OUTSIDE), 0) end
		return table.unpack(r, 2, r.n)
	end
end

-- Add a cause to an error. -> the error
function M.because(e, fmt, ...)
	local text = select("#", ...) > 0 and fmt:format(...) or fmt
	e.cause = e.cause and e.cause .. "; " .. text or text
	return e
end

-- Like M.try, for a call about @object (a file, a policy): the error names the object.
function M.about(object, v, err, ...)
	if v then return v, err, ... end
	err = M.is(err) and err or M.from_reply(err)
	-- the message may begin with a file's path
	local named = err.message:sub(1, #object + 1) == object .. ":"
	err.object = not named and object or nil
	error(err, 0)
end

-- Return "nearest: a or b" for a wrong word; nil if no word is near.
function M.nearest(word, list)
	local a, b = core.nearest(word, list)
	if a and b then return "nearest: " .. a .. " or " .. b end
	return a and "nearest: " .. a
end

-- Return what @v is in a message: "a table", "nil".
function M.kind(v) return v == nil and "nil" or "a " .. type(v) end

-- Check a table of named options: raise at the caller's caller on misuse.
function M.check_options(what, options, allowed, level)
	if options == nil then return {} end
	if type(options) ~= "table" then
		error(("%s: the options are a %s, but must be a table"):format(what, type(options)),
			(level or 2) + 1)
	end
	for k, v in pairs(options) do
		local want = allowed[k]
		if not want then
			local names = lists.keys(allowed)
			local near = type(k) == "string" and M.nearest(k, names)
			error(("%s: no option %s, %s"):format(what, tostring(k),
				near or "allowed: " .. table.concat(names, ", ")), (level or 2) + 1)
		end
		if want ~= true and type(v) ~= want and not (
			want == "integer" and math.type(v) == "integer") then
			error(("%s: option %s is a %s, but must be a %s"):format(
				what, k, type(v), want), (level or 2) + 1)
		end
	end
	return options
end

return M
