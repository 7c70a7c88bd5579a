-- SPDX-License-Identifier: MIT
-- `policy run` and `policy compare`: the answers of policies over a grid of contexts, as rows that
-- a table of the same answers would have, and where two policies, or a policy and a native tuner,
-- differ. Each shape begins with fresh maps, and asks its sizes one after the other.
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local costs = require "ncclbpf.policy.costs"
local errors = require "ncclbpf.base.errors"
local grid = require "ncclbpf.policy.grid"
local lists = require "ncclbpf.base.lists"
local policy = require "ncclbpf.policy.policy"
local simulate = require "ncclbpf.policy.simulate"
local tree = require "ncclbpf.policy.table_tree"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local FIRST = 20 -- number of differing intervals that are shown

local NONE = { algo = -1, proto = -1, channels = 0, chunk_size = 0 } -- NCCL's own choice

-- ---- who is asked -------------------------------------------------------------------

-- Return NCCL's own choice for each context.
local function no_opinion(contexts)
	return lists.map(contexts, function() return NONE end)
end

local function is_native(word) return type(word) == "string" and word:find "%.so[%d.]*$" ~= nil end

-- A script without --unsafe may not load native code.
local function native(ctx, path)
	if ctx.script and not package.loadlib then
		errors.raise("not_permitted",
			"%s: a script that asks a native tuner needs --unsafe", path)
	end
	path = path:find("/", 1, true) and path or "./" .. path
	if not core.stat(path) then errors.raise("no_input", "%s: no such file", path) end
	return { name = path:match "[^/]*$", native = true, answers = function(contexts)
		return errors.about(path, core.native_tuner(path, contexts))
	end, notes = { "note: chunk sizes are left out, because a native tuner is not asked "
		.. "for them here" } }
end

-- Return the policies of @words, in their order, as one subject: {name, answers(contexts), notes,
-- rows of a table}; raises errors
local function subject(ctx, words)
	if #words == 1 and words[1] == "none" then
		return { name = "none", notes = {}, answers = no_opinion }
	end
	if #words == 1 and is_native(words[1]) then return native(ctx, words[1]) end
	local images, names, notes, rows = {}, {}, {}, {}
	for i, word in ipairs(words) do
		local image, info, bytes = try(policy.resolve(ctx, word))
		images[i], names[i] = bytes, info.name
		for _, m in ipairs(simulate.maps_of(info)) do
			notes[#notes + 1] = ("note: policy %s has the %s map %s, which here starts "
				.. "with the policy's initial contents"):format(m.policy, m.kind,
				m.map)
		end
		if not ctx.opt.costs and policy.asks_costs(image, info) then
			notes[#notes + 1] = policy.costs_note(info.name, "are not known here")
		end
		notes[#notes + 1] = info.warnings
		local list = tree.of_image(bytes)
		table.move(list or {}, 1, #(list or {}), #rows + 1, rows)
	end
	local name = table.concat(names, ", ")
	return { name = name, notes = notes, rows = rows, answers = function(contexts)
		return errors.about(name, core.policy_run(images, contexts,
			ctx.opt.coherence == "off"))
	end }
end

-- ---- intervals ----------------------------------------------------------------------

-- The fields of a shape that rows show, in their order: those of NVIDIA's columns, then others.
local function shape_fields(g)
	local names = { "nodes", "ranks" }
	for _, axis in ipairs(g.axes) do
		if not lists.has({ "coll", "nodes", "ranks", "ranks_per_node" }, axis.name) then
			names[#names + 1] = axis.name
		end
	end
	return names
end

-- Join the sizes of one shape that have the same key: an interval reaches to the next size that is
-- asked. key(i): that of question i; nil: left out. row(i): the fields of the interval's row
local function intervals(out, g, shape, contexts, key, row)
	local open
	for i, c in ipairs(contexts) do
		local k = key(i)
		if open and open.key == k then
			open.row.questions = open.row.questions + 1
		else
			open = k and { key = k, row = row(i) }
			if open then
				local r = open.row
				r.coll, r.min_bytes = core.nccl("coll", shape.coll) or shape.coll,
					c.bytes
				r.questions = 1
				for _, name in ipairs(shape_fields(g)) do r[name] = shape[name] end
				out[#out + 1] = r
			end
		end
		local next = contexts[i + 1]
		if open then
			open.row.max_bytes = next and next.bytes - 1 or c.bytes
		end
	end
end

-- Format a size, exactly: a table's row ends beside a power of two.
local function exact(bytes)
	local text = units.bytes(bytes)
	return text:find(".", 1, true) and tostring(bytes) or text
end

local function columns_of(g, between)
	local t = { { "coll" }, { "min_bytes", num = true, show = exact },
		{ "max_bytes", num = true, show = exact } }
	table.move(between, 1, #between, #t + 1, t)
	for _, name in ipairs(shape_fields(g)) do t[#t + 1] = { name, num = true } end
	return t
end

local function answer_key(a)
	return ("%d %d %d %d"):format(a.algo, a.proto, a.channels, a.chunk_size)
end
local OWN = answer_key(NONE)

-- ---- the commands -------------------------------------------------------------------

local function grid_of(ctx, subjects)
	local g = grid.read(ctx.opt.over, ctx.opt.costs and costs.read(ctx.opt.costs))
	local native = #lists.select(subjects, function(s) return s.native end) > 0
	for _, s in ipairs(subjects) do
		if s.rows then grid.add_rows(g, s.rows, native) end
	end
	return g
end

-- Return answers as a native tuner gives them, which is not asked for chunk sizes.
local function without_chunks(answers)
	return lists.map(answers, function(a)
		return { algo = a.algo, proto = a.proto, channels = a.channels, chunk_size = 0 }
	end)
end

-- Return what NCCL does by answers, where its offers are known: what it does not offer leaves its
-- own choice.
local function effects(answers, contexts)
	return lists.map(answers, function(a, i)
		local c = contexts[i]
		return c.costs and simulate.final({ ctx = c, costs = c.costs, chunks = true }, a)
			or a
	end)
end

function M.cmd_run(ctx)
	ctx:word("coherence", { "strict", "off" })
	local s = subject(ctx, ctx.args)
	local g, rows, none = grid_of(ctx, { s }), core.array {}, 0
	local n = grid.each(g, function(shape, contexts)
		local answers = s.answers(contexts)
		if s.native then answers = without_chunks(answers) end
		local keys = lists.map(answers, answer_key)
		intervals(rows, g, shape, contexts, function(i)
			if keys[i] == OWN then
				none = none + 1
				return nil
			end
			return keys[i]
		end, function(i)
			local a = answers[i]
			return { algo = core.nccl("algo", a.algo),
				proto = core.nccl("proto", a.proto),
				channels = a.channels > 0 and a.channels or nil,
				chunk_size = a.chunk_size > 0 and a.chunk_size or nil }
		end)
	end)
	return {
		schema = "policy.run/1", rows = rows, id = "coll",
		data = { policy = s.name, questions = n, nccl = none, rows = rows },
		columns = columns_of(g, { { "algo" }, { "proto" }, { "channels", num = true },
			{ "chunk_size", num = true } }),
		head = ("%s: %s, %d of them left to NCCL"):format(s.name,
			units.count(n, "question"), none), empty = "NCCL decides all of them",
		foot = s.notes,
	}
end

function M.cmd_compare(ctx)
	ctx:word("coherence", { "strict", "off" })
	local most = ctx.opt.limit == "all" and math.huge or ctx:whole("limit", 0) or FIRST
	local a, b = subject(ctx, { ctx.args[1] }), subject(ctx, { ctx.args[2] })
	local g, rows, differ = grid_of(ctx, { a, b }), {}, 0
	local n = grid.each(g, function(shape, contexts)
		local x, y = a.answers(contexts), b.answers(contexts)
		if a.native or b.native then x, y = without_chunks(x), without_chunks(y) end
		x, y = effects(x, contexts), effects(y, contexts)
		intervals(rows, g, shape, contexts, function(i)
			local ka, kb = answer_key(x[i]), answer_key(y[i])
			if ka == kb then return nil end
			differ = differ + 1
			return ka .. " " .. kb
		end, function(i)
			return { a = context.answer(x[i]), b = context.answer(y[i]) }
		end)
	end)
	local foot = lists.unique(table.move(b.notes, 1, #b.notes, #a.notes + 1, a.notes))
	if #rows > most then
		table.insert(foot, 1, ("and %d more intervals; limit=N shows more"):format(
			#rows - most))
	end
	rows = core.array(table.move(rows, 1, math.min(#rows, most), 1, {}))
	return {
		schema = "policy.compare/1", rows = rows, id = "coll",
		data = { a = a.name, b = b.name, questions = n, differ = differ, rows = rows },
		columns = columns_of(g, { { "a" }, { "b" }, { "questions", num = true } }),
		head = ("a: %s, b: %s: %s, %s"):format(a.name, b.name,
			units.count(n, "question"), context.differing(differ)),
		empty = "the same answers",
		foot = foot, status = differ > 0 and 2 or 0,
	}
end

return M
