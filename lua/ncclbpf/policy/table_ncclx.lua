-- SPDX-License-Identifier: MIT
-- Rules of NCCLX's built-in tuner, as its JSON files have them, as rows of a decision table:
-- {"rules": [{"filter": {"collective": "allgather", "bytesPerRank": "[0,1048576]", "nNodes": 2},
-- "config": {"algorithm": "ring", "protocol": "ll128"}}]}. The first rule that matches wins.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"

local M = {}

-- The field of a row that a field of NCCLX sets. range: an interval such as (1,8].
local FILTER = {
	collective = { "coll" }, bytesPerRank = { "bytes_per_rank", range = true },
	nNodes = { "nodes", range = true }, nLocalRanks = { "ranks_per_node", range = true },
	numPipeOps = { "pipe_ops" }, regBuff = { "reg_buff" },
}
local CONFIG = { algorithm = { "algo" }, protocol = { "proto" }, channels = { "channels" },
	chunkSize = { "chunk_size" } }
local REQUIRED = { filter = { "collective" }, config = { "algorithm", "protocol" } }

local function bad(i, fmt, ...)
	errors.raise("malformed", "rule %d: " .. fmt, i, ...)
end

-- Return NCCLX's interval as a cell of a table: "(1,8]" -> "2..8"; any other text as it is.
local function interval(i, name, text)
	if text == "*" then return "any" end
	local from, a, b, to = text:match "^%s*([%[(])%s*(%d*)%s*,%s*(%d*)%s*([%])])%s*$"
	if not from then return text end
	local lo, hi = math.tointeger(tonumber(a)), math.tointeger(tonumber(b))
	if a ~= "" and not lo or b ~= "" and not hi then
		bad(i, "%s is %s, but its numbers must be below 2^63", name, text)
	end
	if lo and from == "(" then lo = lo + 1 end
	if hi and to == ")" then hi = hi - 1 end
	if lo and hi and lo > hi then bad(i, "%s %s: no number lies in it", name, text) end
	if not lo and not hi then return "any" end
	return ("%s..%s"):format(lo or "", hi or "")
end

-- Add the fields of the object @part of a rule to a row.
local function add(row, i, part, object, fields)
	if type(object) ~= "table" then bad(i, "the rule must have an object %s", part) end
	for _, name in ipairs(REQUIRED[part]) do
		if object[name] == nil then bad(i, "%s must have %s", part, name) end
	end
	for name, v in pairs(object) do
		local to = fields[name]
		if not to then bad(i, "%s: no field %s", part, tostring(name)) end
		if type(v) ~= "string" and math.type(v) ~= "integer" then
			bad(i, "%s must be a text or a whole number", name)
		end
		row[to[1]] = to.range and interval(i, name, tostring(v)) or v
	end
end

-- Return the rows of a file's rules. -> rows as Lua has them | nil, err
M.rows = errors.catch(function(text)
	local d, err = core.decode(text)
	if type(d) ~= "table" or type(d.rules) ~= "table" then
		return errors.fail("malformed", "%s", err and err.message
			or "the file must be an object with a list rules (NCCLX's tuner)")
	end
	local list = {}
	for i, rule in ipairs(d.rules) do
		if type(rule) ~= "table" then bad(i, "the rule must be an object") end
		list[i] = {}
		add(list[i], i, "filter", rule.filter, FILTER)
		add(list[i], i, "config", rule.config, CONFIG)
		-- 0: NCCL's own
		if list[i].chunk_size == 0 then list[i].chunk_size = nil end
	end
	return list
end)

return M
