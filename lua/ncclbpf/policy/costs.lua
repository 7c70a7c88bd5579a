-- SPDX-License-Identifier: MIT
-- NCCL's cost tables of a platform, from decisions that were recorded there (costs=FILE): what NCCL
-- offers and predicts for each question. Nothing is known about other sizes and shapes.
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local simulate = require "ncclbpf.policy.simulate"
local units = require "ncclbpf.base.units"

local M = {}

local SHAPE = { "coll", "nodes", "ranks", "pipe_ops" } -- with bytes, the question of a decision

local inputs = lists.map(lists.select(core.fields "tuner", function(f)
	return f.access == "in"
end), "name")

local function key_of(c)
	local parts = lists.map(SHAPE, function(name) return tostring(c[name] or 1) end)
	return table.concat(parts, " ") .. " " .. c.bytes
end

-- Return the fields of the context with which a decision was made, or nil if its costs are unknown.
local function question(d)
	local at = type(d) == "table" and type(d.context) == "table" and d.context
	local coll = at and core.nccl("coll", tostring(d.coll))
	if not coll or math.type(d.bytes) ~= "integer" or not context.is_costs(d.costs_us) then
		return nil
	end
	local q = context.own(d.costs_us)
	for _, name in ipairs(inputs) do
		if math.type(at[name]) == "integer" then q[name] = at[name] end
	end
	for _, name in ipairs { "nccl_algo", "nccl_proto" } do -- of equal costs the record's
		local n = type(d[name]) == "string" and core.nccl(name:sub(6), d[name])
		if n then q[name] = n end
	end
	q.coll, q.bytes, q.costs, q.reg_buff, q.seq = coll, d.bytes, d.costs_us, nil, nil
	return math.type(q.nodes) == "integer" and math.type(q.ranks) == "integer" and q or nil
end

local function sorted(set)
	local list = lists.keys(set)
	table.sort(list)
	return list
end

-- Return the contents in words: "8 to 8G; 8 ranks on 1 node, 16 ranks on 2 nodes".
local function summary(known)
	local shapes = lists.map(sorted(known.shapes), function(i)
		return ("%s on %s"):format(units.count(i & 0xffffffff, "rank"),
			units.count(i >> 32, "node"))
	end)
	local sizes = known.axes.bytes
	return ("%s to %s; %s"):format(units.bytes(sizes[1]), units.bytes(sizes[#sizes]),
		table.concat(shapes, ", "))
end

-- Of several decisions about one question, the last one counts.
-- M.read(path) -> {path, axes: values of fields for a grid, find(context) -> fields | nil,
-- summary}; raises errors
function M.read(path)
	local by, bytes, nodes, ranks = {}, {}, {}, {}
	local known = { path = path, shapes = {} }
	for _, d in ipairs((simulate.decisions(path))) do
		local q = question(d)
		if q then
			by[key_of(q)] = q
			bytes[q.bytes], nodes[q.nodes], ranks[q.ranks] = true, true, true
			known.shapes[q.nodes << 32 | q.ranks] = true
		end
	end
	if not next(by) then
		errors.raise("malformed",
			"%s: the file has no decision with NCCL's costs (costs_us)", path)
	end
	known.axes = { coll = "any", bytes = sorted(bytes), nodes = sorted(nodes),
		ranks = sorted(ranks) }
	known.find = function(c) return by[key_of(c)] end
	known.summary = summary(known)
	return known
end

-- Give a context what was recorded for its question, but for the fields that @given has.
-- -> was its question recorded?
function M.set(c, known, given)
	local q = known.find(c)
	for name, v in pairs(q or {}) do
		if given[name] == nil then c[name] = v end
	end
	return q ~= nil
end

return M
