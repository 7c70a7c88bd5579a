-- SPDX-License-Identifier: MIT
-- NCCL's cost tables of a platform, from decisions that were recorded there (costs=FILE): what NCCL
-- offers and predicts for each question. Nothing is known about other sizes and shapes.
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local simulate = require "ncclbpf.policy.simulate"
local units = require "ncclbpf.base.units"

local M = {}

local SHAPE = { "coll", "nodes", "ranks", "pipe_ops" } -- with bytes, the question of a decision

local LEAST = { pipe_ops = 1, nodes = 1, ranks = 1 }

local inputs = lists.select(core.fields "tuner", function(f) return f.access == "in" end)

-- Return the communicator and the kind of a question as text.
local function shape_of(c)
	return table.concat(lists.map(SHAPE, function(name) return tostring(c[name] or 1) end), " ")
end

local function check(fine, where, fmt, ...)
	if fine then return end
	error(errors.new("malformed", fmt:format(...), { where = where }), 0)
end

local function found(v) return (v == nil or v == core.null) and "missing" or format.value(v) end

local function check_whole(v, where, name, least, most)
	check(math.type(v) == "integer" and v >= least and v <= most, where,
		"%s is %s, but must be a whole number from %d to %d", name, found(v), least, most)
end

local function check_costs(list, where)
	local n = type(list) == "table" and #list
	check(n == context.COSTS, where, "costs_us has %s, but must have %d numbers",
		n and units.count(n, "element") or found(list), context.COSTS)
	for i, us in ipairs(list) do
		check(context.is_cost(us), where, "costs_us[%d] is %s, but must be a number from "
			.. "-3.4e38 to 3.4e38", i - 1, found(us))
	end
end

-- Return the fields of the context with which a decision was made, or nil if its costs were not
-- recorded; raises errors
local function question(d, where)
	check(type(d) == "table", where, "a decision is %s, but must be an object", found(d))
	if d.costs_us == nil or d.costs_us == core.null then return nil end
	local at, coll = d.context, type(d.coll) == "string" and core.nccl("coll", d.coll)
	check_costs(d.costs_us, where)
	check(coll, where, "coll is %s, but must be the name of a collective",
		found(d.coll))
	check_whole(d.bytes, where, "bytes", 0, math.maxinteger)
	check(type(at) == "table", where, "context is %s, but must be an object", found(at))
	local q = context.own(d.costs_us)
	for _, f in ipairs(inputs) do
		local v = at[f.name]
		if v ~= nil or f.name == "ranks" or f.name == "nodes" then
			check_whole(v, where, "context." .. f.name, LEAST[f.name] or 0,
				f.size == 4 and 0xffffffff or math.maxinteger)
			q[f.name] = v
		end
	end
	check(q.ranks >= q.nodes, where, "context.ranks is %d, but must be at least context.nodes, "
		.. "which is %d", q.ranks, q.nodes)
	local own = type(d.nccl) == "table" and d.nccl or {} -- JSON nests what NDJSON does not
	for _, kind in ipairs { "algo", "proto" } do -- of equal costs the record's
		local word = d["nccl_" .. kind] or own[kind]
		local n = type(word) == "string" and core.nccl(kind, word)
		if n then q["nccl_" .. kind] = n end
	end
	q.coll, q.bytes, q.costs, q.reg_buff, q.seq = coll, d.bytes, d.costs_us, nil, nil
	return q
end

local function sorted(set)
	local list = lists.keys(set)
	table.sort(list)
	return list
end

-- Return the contents in words: "8 to 8G; 8 ranks on 1 node, 16 ranks on 2 nodes".
local function summary(known)
	local shapes = lists.map(sorted(known.comms), function(i)
		return ("%s on %s"):format(units.count(i & 0xffffffff, "rank"),
			units.count(i >> 32, "node"))
	end)
	local sizes = known.axes.bytes
	return ("%s to %s; %s"):format(units.bytes(sizes[1]), units.bytes(sizes[#sizes]),
		table.concat(shapes, ", "))
end

-- Return the values of fields of which a grid has all combinations. @seen: {name = set}
local function axes_of(seen)
	local axes = { coll = "any" }
	for name, set in pairs(seen) do axes[name] = sorted(set) end
	if #axes.pipe_ops == 1 and axes.pipe_ops[1] == 1 then axes.pipe_ops = nil end
	return axes
end

-- Of several decisions about one question, the last one counts.
-- M.read(path) -> {path, axes: values of fields for a grid, has(shape), find(context) -> fields |
-- nil, summary}; raises errors
function M.read(path)
	local by, seen = {}, { bytes = {}, nodes = {}, ranks = {}, pipe_ops = {} }
	local known = { path = path, comms = {} }
	local list, lines = simulate.decisions(path)
	for i, d in ipairs(list) do
		local q = question(d, { file = path, line = lines[i] })
		if q then
			local shape = shape_of(q)
			by[shape] = by[shape] or {}
			by[shape][q.bytes] = q
			for name, set in pairs(seen) do set[q[name] or 1] = true end
			known.comms[q.nodes << 32 | q.ranks] = true
		end
	end
	if not next(by) then
		errors.raise("malformed",
			"%s: the file has no decision with NCCL's costs (costs_us)", path)
	end
	known.axes = axes_of(seen)
	known.has = function(shape) return by[shape_of(shape)] ~= nil end
	known.find = function(c) return known.has(c) and by[shape_of(c)][c.bytes] end
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
	return q and true or false
end

return M
