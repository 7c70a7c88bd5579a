-- SPDX-License-Identifier: MIT
-- Parameters of decision tables in Lua: numbers that rows name in place of a value. The image has
-- them, and the table that they belong to, so that another value compiles the same table again.
local ascii = require "ncclbpf.base.ascii"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local MAX = math.maxinteger
local MOST = 64 -- NB_IMAGE_MAX_PARAMS
local FIELDS = { "default", "max", "min" }
local RANGE = "ncclbpf_param_" -- as in ncclbpf_policy.h

local function bad(name, fmt, ...)
	errors.raise("malformed", "params: %s: %s", tostring(name), fmt:format(...))
end

-- Return a whole number of a parameter's description; nil: @v is none.
local function number(v)
	return math.type(v) == "integer" and v or type(v) == "string" and units.size(v) or nil
end

-- Return a parameter: {name, value, default, min, max}; raises errors
local function parameter(name, spec, value)
	local known = type(name) == "string" and #name < 64 and name:find "^[%a_][%w_]*$"
	if not known or ascii.lower(name) == "any" then
		bad(name, "a name must consist of 1 to 63 letters, digits and _, must not begin "
			.. "with a digit, and must not be any")
	end
	local t = type(spec) == "table" and spec or { default = spec }
	for k in pairs(t) do
		if k ~= 1 and not lists.has(FIELDS, k) then
			bad(name, "no field %s (allowed: %s)", tostring(k),
				table.concat(FIELDS, ", "))
		end
	end
	local p = { name = name, default = number(t.default or t[1]), min = number(t.min or 0),
		max = number(t.max or MAX) }
	for _, k in ipairs(FIELDS) do
		if not p[k] then
			bad(name, "%s is %s, but must be a whole number or a size such as 4M", k,
				format.value(t[k] or t[1]))
		end
	end
	if p.min > p.default or p.default > p.max then
		bad(name, "the default, %d, is not in its range, %d to %d", p.default, p.min, p.max)
	end
	p.value = value or p.default
	return p
end

-- Return the parameters of a table's field params, sorted by name. @values: {name = value} in place
-- of defaults, or nil; raises errors
function M.list(spec, values)
	if type(spec) ~= "table" then
		errors.raise("malformed", "field params is a %s, but must be a table", type(spec))
	end
	local t = {}
	for name, x in pairs(spec) do t[#t + 1] = parameter(name, x, values and values[name]) end
	if #t < 1 or #t > MOST then
		errors.raise("malformed", "field params: %d parameters (allowed: 1 to %d)", #t,
			MOST)
	end
	table.sort(t, lists.by("name"))
	return t
end

-- Return a cell's text with numbers in place of parameters; marks them in @p.used. @p: the parser
-- of rows, whose field params has the values by name, or nil
function M.replace(p, text)
	if not p.params then return text end
	return (text:gsub("%f[%w_][%a_][%w_]*", function(word)
		local v = p.params[word]
		if v then p.used[word] = true end
		return v and tostring(v)
	end))
end

-- Refuse parameters that no row names; raises errors
function M.check_used(list, used)
	for _, p in ipairs(list) do
		if not used[p.name] then bad(p.name, "no row names it") end
	end
end

-- Return what core.table_image takes: the values, the source, the variables. @source: the table's
-- rows and options
function M.sections(list, source)
	local bytes, names = {}, {}
	source.params = {}
	for _, p in ipairs(list) do
		source.params[p.name] = { default = p.default, min = p.min, max = p.max }
		bytes[#bytes + 1] = ("<i8i8i8i8"):pack(p.value, p.default, p.min, p.max)
		names[#names + 1] = { p.name, 8 }
		names[#names + 1] = { RANGE .. p.name, 24 }
	end
	return table.concat(bytes), core.encode(source), names
end

-- Return the source of a table with parameters; nil: the image has none.
function M.source(info)
	for _, m in ipairs(info.maps) do
		if m.name == ".rodata.source" and m.origin == "rodata" then
			local source = try(core.decode(m.init))
			if type(source) ~= "table" or type(source.rows) ~= "table"
				or type(source.params) ~= "table" then
				errors.raise("bad_image", "policy %s: its source is damaged",
					info.name)
			end
			return source
		end
	end
end

return M
