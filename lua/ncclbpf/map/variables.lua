-- SPDX-License-Identifier: MIT
-- Variables of a policy's data sections, by name and path such as limits[2].bytes. The section's
-- type information gives their place. Those of .data.coherent change like a coherent map, at a
-- fence. All others are local: each process has its own, and no answer of a tuner may depend on
-- them. A local variable is stored alone, so concurrent stores to others are not lost.
local errors = require "ncclbpf.base.errors"
local map = require "ncclbpf.map.map"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}
M.KEY = ("\0"):rep(4) -- of the section's only element

-- Split a path: "a.b[3].c" -> {"a", "b", 3, "c"}; nil if the text is no path.
function M.path(text)
	local steps, at = {}, 1
	while at <= #text do
		local name, e = text:match("^%.?([%a_][%w_]*)()", at)
		if name and (at == 1) == (text:sub(at, at) ~= ".") then
			steps[#steps + 1], at = name, e
		else
			name, e = text:match("^%[(%d+)%]()", at)
			if not name or at == 1 then return nil end
			steps[#steps + 1], at = math.tointeger(tonumber(name)), e
		end
	end
	return #steps > 0 and steps or nil
end

-- Return the name of the field or variable at the end of a path; "" for an element.
local function last(text)
	return text:match("([%a_][%w_]*)$") or ""
end

function M.is_section(c)
	return c.map.origin == "data" or c.map.origin == "bss" or c.map.origin == "rodata"
end

-- Find a variable. -> type id, offset, size | nil, err
M.find = errors.catch(function(c, text)
	local steps = M.path(text)
	if not steps then
		return errors.fail(
			"bad_argument", "%s: not a variable; name, name.field or name[0]", text)
	end
	if not c.btf or c.value.id == 0 then
		return nil, errors.new("bad_argument", (
			"%s: the policy has no type information"):format(text),
			{ hint = "compile the policy with -g" })
	end
	return errors.about(text, c.btf:at(c.value.id, steps))
end)

-- Return the value of a variable in the section's bytes.
function M.value(c, text, bytes, exact)
	local id, at, size = M.find(c, text)
	if not id then return nil, at end
	return c.btf:decode(id, bytes:sub(at + 1, at + size), exact or false, last(text))
end

-- Return the bytes of @v (a Lua value), and their place in the section; raises errors
local function encode(c, text, v)
	local id, at, size = try(M.find(c, text))
	return try(map.encode({ btf = c.btf, map = c.map },
		{ id = id, size = size, name = last(text) }, v, text)), at
end

-- Return the request that stores @v (a Lua value). -> line; raises errors
function M.line(c, name, text, v)
	local bytes, at = encode(c, text, v)
	return ("%s at=%d"):format(session.line { "map", "set", name, map.hex(M.KEY),
		map.hex(bytes) }, at)
end

-- Return the section's bytes @all with @v in the variable; raises errors
function M.with(c, all, text, v)
	local bytes, at = encode(c, text, v)
	return all:sub(1, at) .. bytes .. all:sub(at + #bytes + 1)
end

return M
