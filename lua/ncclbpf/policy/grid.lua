-- SPDX-License-Identifier: MIT
-- Grids of contexts for `policy run` and `policy compare`: values for each field of the context,
-- such as {coll=allreduce, bytes=1K..1G, nodes={1,2,4}, ranks_per_node=8}. A shape is a combination
-- of all values but the sizes, which are asked in ascending order. With recorded costs, a grid has
-- only questions that were recorded.
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local costs = require "ncclbpf.policy.costs"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local rows = require "ncclbpf.policy.table_rows"
local tree = require "ncclbpf.policy.table_tree"
local units = require "ncclbpf.base.units"

local M = {}

local MOST = 1 << 20 -- questions of a grid
local DEFAULT = { coll = "any", bytes = "1..16G", nodes = { 1, 2, 3, 4, 8, 16, 32, 64 },
	ranks_per_node = { 1, 2, 4, 8 } }
-- The values of fields that become axes where rows name them.
local NAMED = { pipe_ops = { 1 }, reg_buff = { 0, 1 } }

local function bad(fmt, ...) errors.raise("usage", "over: " .. fmt, ...) end

-- ---- values -------------------------------------------------------------------------

-- Return the ends of a range, the powers of two in it, and their neighbours in it.
local function range(lo, hi)
	local list = { lo, hi }
	local power = 1
	while power > 0 and power - 1 <= hi do
		for v = power - 1, power + 1 do
			if v >= lo and v <= hi then list[#list + 1] = v end
		end
		power = power << 1
	end
	return list
end

-- Return the values that one word of a field stands for. @recorded: the only values that a range
-- means; nil: any
local function values_of(name, word, recorded)
	local a, b = tostring(word):match "^(.-)%.%.(.-)$"
	local lo, hi = a and units.size(a), b and units.size(b)
	if a then
		if not lo or not hi or lo > hi then
			bad("%s=%s must be a range such as 1K..1G", name, word)
		end
		return recorded and lists.select(recorded, function(v)
			return v >= lo and v <= hi
		end) or range(lo, hi)
	end
	if name == "coll" and word == "any" then
		local list = {}
		for i = 1, rows.COLLS do list[i] = i - 1 end
		return list
	end
	if name == "ranks_per_node" then name = "ranks" end
	local c, wrong = context.read { [name] = word }
	if not c then bad("%s", wrong) end
	return { c[name] }
end

local function field_values(name, v, recorded)
	local list = {}
	for _, word in ipairs(type(v) == "table" and v or { v }) do
		for _, x in ipairs(values_of(name, word, recorded)) do list[#list + 1] = x end
	end
	if #list == 0 and not recorded then bad("%s must have a value", name) end
	table.sort(list)
	return lists.unique(list)
end

-- ---- grids --------------------------------------------------------------------------

-- Split "{a=1, b={2,3}}" into {a = "1", b = {"2", "3"}}; raises errors
local function split(text)
	local t, at = {}, 1
	text = text:match "^%s*{(.*)}%s*$" or text
	while at <= #text do
		local name, stop = text:match("^[%s,]*([%a_]+)%s*=%s*()", at)
		local list, word
		if name then
			list = text:match("^%b{}", stop)
			word = list or text:match("^[^%s,{}]+", stop)
		end
		if not word then
			bad("%s must be fields such as {coll=allreduce, bytes=1K..1G, nodes={1,2}}",
				text:sub(at))
		end
		if t[name] then bad("%s: given twice", name) end
		t[name], at = word, stop + #word
		if list then
			t[name] = {}
			for x in list:sub(2, -2):gmatch "[^%s,]+" do table.insert(t[name], x) end
		end
		at = text:match("^[%s,]*()", at)
	end
	return t
end

local is_field = lists.set(lists.map(lists.select(core.fields "tuner", function(f)
	return f.access == "in"
end), "name"))

-- Return the fields of a context that a grid may set, sorted.
local function known_fields()
	local names = lists.keys(is_field)
	table.sort(names)
	return names
end

-- M.read(text or a script's table; nil: the default, recorded costs or nil) -> grid; raises errors
-- axes: {name, values} of each field but the sizes; bytes: the sizes; free: fields that the
-- default has given
function M.read(over, known)
	local given = type(over) == "string" and split(over) or over or {}
	local g, fields = { axes = {}, free = {}, known = known }, known_fields()
	local recorded = known and known.axes or {}
	local t = lists.copy(known and recorded or DEFAULT)
	if given.ranks ~= nil then t.ranks_per_node = nil end
	if given.ranks_per_node ~= nil then t.ranks = nil end
	for name in pairs(t) do g.free[name] = given[name] == nil end
	for name, v in pairs(given) do
		if not lists.has(fields, name) then
			bad("no field %s, %s", tostring(name),
				errors.nearest(tostring(name), fields)
				or "the fields are: " .. table.concat(fields, ", "))
		end
		t[name] = v
	end
	if t.ranks ~= nil and t.ranks_per_node ~= nil then
		bad("ranks and ranks_per_node exclude each other")
	end
	g.bytes = field_values("bytes", t.bytes, recorded.bytes)
	t.bytes = nil
	for _, name in ipairs(lists.keys(t)) do
		g.axes[#g.axes + 1] = { name = name, values = field_values(name, t[name],
			recorded[name] ~= "any" and recorded[name] or nil) }
	end
	return g
end

-- Return the measured values (~) of the condition @name in rows of a collective, sorted.
local function measured(list, name, coll)
	local values = lists.map(lists.select(list, function(row)
		return row[name] and row[name].near and (row.coll < 0 or row.coll == coll)
	end), function(row) return row[name][1] end)
	table.sort(values)
	return lists.unique(values)
end

-- Return the values of the condition @name at which rows begin and end, and those between measured
-- values where the nearest one changes.
local function edges(list, name)
	local values = {}
	for _, row in ipairs(list) do
		local r = row[name]
		local ends = r and { r[1] - 1, r[1], r[2], r[2] + 1 } or {}
		table.move(ends, 1, #ends, #values + 1, values)
	end
	for coll = 0, rows.COLLS - 1 do
		local near = measured(list, name, coll)
		for i = 2, #near do
			local v = tree.middle(near[i - 1], near[i])
			table.move({ v, v + 1 }, 1, 2, #values + 1, values)
		end
	end
	return values
end

-- Add the axes of fields that only some grids have, if a row names them.
local function add_axes(g, list, native)
	for _, name in ipairs(lists.keys(NAMED)) do
		local named = lists.select(list, function(row)
			-- where a row is left to NCCL, reg_buff is no condition
			return row[name] and (native or not (row.left and name == "reg_buff"))
		end)
		local there = lists.select(g.axes, function(axis) return axis.name == name end)
		if #named > 0 and #there == 0 then
			g.axes[#g.axes + 1] = { name = name, values = lists.copy(NAMED[name]) }
			g.free[name] = name ~= "reg_buff"
		end
	end
end

-- Add the values at which rows of a table begin and end, to the fields that the user has not
-- given. @native: a native tuner is asked too, and sees reg_buff where the table leaves a row to
-- NCCL
function M.add_rows(g, list, native)
	g.rows = g.rows or {}
	if g.free.bytes then table.move(list, 1, #list, #g.rows + 1, g.rows) end
	local function with_edges(values, name)
		for _, x in ipairs(edges(list, name)) do
			if x > 0 and x <= 1 << 20 then values[#values + 1] = x end
		end
		table.sort(values)
		return lists.unique(values)
	end
	add_axes(g, list, native)
	for _, axis in ipairs(g.axes) do
		if g.free[axis.name] and axis.name ~= "coll" then
			axis.values = with_edges(axis.values, axis.name)
		end
	end
	if g.free.ranks_per_node then g.ranks = with_edges(g.ranks or {}, "ranks") end
end

-- Return the numbers of ranks on @nodes nodes that a grid asks for: by ranks per node, and those at
-- which rows begin and end.
local function ranks_of(g, per_node, nodes)
	local list = lists.map(per_node, function(n) return n * nodes end)
	table.move(g.ranks or {}, 1, #(g.ranks or {}), #list + 1, list)
	table.sort(list)
	return lists.unique(list)
end

-- Return the sizes to ask for a shape: those of the grid, and those at which rows begin and end.
local function sizes_of(g, shape)
	local list = {}
	for _, row in ipairs(g.rows or {}) do
		local lo, hi = rows.sizes(row, shape.ranks)
		if (row.coll < 0 or row.coll == shape.coll) and lo <= hi then
			local above = hi < math.maxinteger and hi + 1 or hi
			for _, v in ipairs { lo - 1, lo, hi, above } do
				if v >= 0 then list[#list + 1] = v end
			end
		end
	end
	if #list == 0 then return g.bytes end
	table.move(g.bytes, 1, #g.bytes, #list + 1, list)
	table.sort(list)
	return lists.unique(list)
end

-- Return the contexts of one shape, in the order of their sizes.
local function contexts_of(g, shape)
	local whole = context.complete(lists.copy(shape), 0)
	whole.usable = whole.usable or (1 << 21) - 1
	local list = {}
	for _, bytes in ipairs(sizes_of(g, shape)) do
		local c = lists.copy(whole)
		c.bytes, c.seq = bytes, shape.seq or #list
		if not g.known or costs.set(c, g.known, shape) then list[#list + 1] = c end
	end
	return list
end

local function check_questions(n)
	if n > MOST then
		errors.raise("over_limit", "the grid has more than %d questions; "
			.. "over={...} with fewer values makes fewer", MOST)
	end
end

-- Call f(shape, contexts) for each shape. A shape with fewer ranks than nodes is left out.
-- -> number of questions; raises errors
function M.each(g, f)
	local shape, n, all = {}, 0, g.known and 1 or #g.bytes
	for _, axis in ipairs(g.axes) do
		all = all * #axis.values
		check_questions(all)
	end
	local function go(d)
		local axis = g.axes[d]
		local name, values = axis and axis.name, axis and axis.values or {}
		if name == "ranks_per_node" then -- behind nodes
			name, values = "ranks", ranks_of(g, values, shape.nodes)
		end
		for _, v in ipairs(values) do
			shape[name] = v
			go(d + 1)
		end
		if axis or shape.ranks < shape.nodes or g.known and not g.known.has(shape) then
			return
		end
		local s = lists.copy(shape)
		s.ranks_per_node = context.per_node(s.ranks, s.nodes)
		local contexts = contexts_of(g, s)
		n = n + #contexts
		check_questions(n)
		if #contexts > 0 then f(s, contexts) end
	end
	go(1)
	if n == 0 and g.known then
		bad("none of the questions was recorded in %s (recorded: %s)", g.known.path,
			g.known.summary)
	end
	return n
end

return M
