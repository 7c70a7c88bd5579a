-- SPDX-License-Identifier: MIT
-- Files of cases for `policy test`. A case is a list of steps, which are decisions, events and runs
-- of controllers, or a rule over a grid of decisions.
local contexts_of = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local costs_of = require "ncclbpf.policy.costs"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local grid = require "ncclbpf.policy.grid"
local lists = require "ncclbpf.base.lists"
local sandbox = require "ncclbpf.base.sandbox"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local WORDS = { algo = true, proto = true } -- answers that may be words of NCCL
local GRID_MEMORY = 256 << 20 -- for the rules of a case, per shape of its grid

-- Raise an error about a case; nil: about the file.
function M.bad(path, case, fmt, ...)
	local text = fmt:format(...)
	error(errors.new("malformed", case and ("case %s: %s"):format(case, text) or text,
		{ object = path }), 0)
end
local bad = M.bad

local function check_fields(path, case, t, known)
	for k in pairs(t) do
		local found = math.type(k) == "integer" and known[1]
		for _, name in ipairs(known) do found = found or name == k end
		if not found then
			bad(path, case, "no field %s, %s", tostring(k),
				errors.nearest(tostring(k), known)
				or "the fields are: " .. table.concat(known, ", "))
		end
	end
end

-- ---- answers ------------------------------------------------------------------------

local outputs = {} -- names of the outputs of each hook

-- Return the names of a hook's outputs.
function M.outputs(hook)
	outputs[hook] = outputs[hook] or lists.map(lists.select(core.fields(hook), function(f)
		return f.access == "out"
	end), "name")
	return outputs[hook]
end

local function allowed(field)
	return WORDS[field] and "a word of NCCL" or field == "chunk_size" and "a size"
		or "a whole number"
end

-- Return the expected answer as numbers. An omitted field of a decision is NCCL's.
local function wanted(path, case, hook, t)
	if type(t) ~= "table" then
		bad(path, case, "answer is %s, but must be a table", errors.kind(t))
	end
	local w = hook == "tuner" and { algo = -1, proto = -1, channels = 0, chunk_size = 0 } or {}
	check_fields(path, case, t, M.outputs(hook))
	for field, v in pairs(t) do
		local n = math.type(v) == "integer" and v
		if type(v) == "string" then
			n = WORDS[field] and core.nccl(field, v)
				or field == "chunk_size" and units.size(v)
		end
		if not n then
			bad(path, case, "answer: %s is %s, but must be %s", field, format.value(v),
				allowed(field))
		end
		w[field] = n
	end
	return w
end

-- ---- costs --------------------------------------------------------------------------

-- Return the path of a file that the file of cases names.
local function beside(path, name)
	return name:sub(1, 1) == "/" and name or (path:match "^(.*/)[^/]*$" or "") .. name
end

-- Return the recorded costs that a case names, or nil if it names no file.
local function recorded(path, case, costs)
	if type(costs) ~= "string" then return nil end
	local ok, known = pcall(costs_of.read, beside(path, costs))
	if not ok then
		bad(path, case, "costs: %s", tostring(known):gsub("\n *", " "))
	end
	return known
end

-- Add NCCL's cost table to a context. NCCL offers and chooses by it, unless @given says otherwise.
local function set_costs(path, case, context, costs, given)
	local known = recorded(path, case, costs)
	if known then
		if not costs_of.set(context, known, given) then
			bad(path, case, "costs: the question was not recorded in %s (recorded: %s)",
				costs, known.summary)
		end
		return
	end
	if costs == nil then return end
	local table_of, own = contexts_of.costs(costs)
	if not table_of then bad(path, case, "costs: %s", own) end
	context.costs = table_of
	for k, v in pairs(own) do
		if given[k] == nil then context[k] = v end
	end
end

local function decision(path, case, s, seq)
	if type(s.context) ~= "table" or type(s.answer) ~= "table" then
		bad(path, case, "the case must have the tables context and answer")
	end
	if s.context.coll == nil or s.context.bytes == nil then
		bad(path, case, "context must have coll and bytes")
	end
	local c, wrong = contexts_of.read(s.context)
	if not c then bad(path, case, "context: %s", wrong) end
	c = contexts_of.complete(c, seq)
	set_costs(path, case, c, s.costs, s.context)
	return c
end

local function event(path, case, s, hook)
	local known, fields = pcall(core.fields, hook)
	if not known then bad(path, case, "no hook %s", tostring(hook)) end
	for _, f in ipairs(fields) do
		if f.size > 8 then bad(path, case, "hook %s: its fields are texts", hook) end
	end
	if s.costs ~= nil then bad(path, case, "costs: only decisions have costs") end
	local c, wrong = contexts_of.read(s.context or {}, hook)
	if not c then bad(path, case, "context: %s", wrong) end
	c.hook = hook
	return c
end

-- Read one step. -> {run = a step of core.policy_run, hook, answer, maps, times, shown}
local function step(path, case, s, seq)
	local hook = s.hook or "tuner"
	local read = hook == "tuner" and decision or event
	local run = read(path, case, s, hook == "tuner" and seq or hook)
	local after = s.after == nil or units.duration(s.after)
	if not after then
		bad(path, case, "after is %s, but must be a duration such as 250ms",
			format.value(s.after))
	end
	if s.after ~= nil then run.after_ns = math.floor(after * 1e9 + 0.5) end
	local whole = math.type(s.times) == "integer" and s.times >= 1 and s.times <= 100000
	if s.times ~= nil and (hook == "tuner" or not whole) then
		bad(path, case, "times is %s, but must be a whole number from 1 to 100000, and "
			.. "only events and controllers have it", format.value(s.times))
	end
	return { run = run, hook = hook, answer = wanted(path, case, hook, s.answer or {}),
		maps = s.maps, times = s.times or 1, shown = s.context or { hook = hook } }
end

local ONE = { "context", "answer", "costs" }
local STEP = { "context", "answer", "costs", "hook", "maps", "after", "times" }
local CASE = { "name", "context", "answer", "costs", "over", "steps", "maps" }

-- Read the steps of a case; the first one gets the maps of the case.
local function steps_of(path, label, t)
	local steps, seq = {}, 0
	if t.steps ~= nil and type(t.steps) ~= "table" then
		bad(path, label, "steps must be a table")
	end
	for k, s in ipairs(t.steps or { { context = t.context, answer = t.answer,
		costs = t.costs } }) do
		if type(s) ~= "table" then bad(path, label, "step %d must be a table", k) end
		check_fields(path, label, s, STEP)
		steps[k] = step(path, label, s, seq)
		seq = seq + (steps[k].hook == "tuner" and 1 or 0)
	end
	if #steps == 0 then bad(path, label, "steps must have at least one step") end
	if t.maps ~= nil and steps[1].maps ~= nil then
		bad(path, label, "maps belong to the case or to its first step, not to both")
	end
	steps[1].maps = steps[1].maps or t.maps
	return steps
end

-- Read the grid of a case. -> grid, names of the fields that messages show
local function grid_of(path, label, t)
	for _, name in ipairs { "answer", "costs" } do
		local kind = type(t[name])
		local fine = kind == "function" or kind == "table"
		if not fine and (name == "answer" or kind ~= "nil" and kind ~= "string") then
			bad(path, label, "%s is %s, but must be a table%s a function of the "
				.. "context", name, format.value(t[name]),
				name == "costs" and ", a file's name or" or " or")
		end
	end
	local ok, g = pcall(grid.read, t.over, recorded(path, label, t.costs))
	if not ok then bad(path, label, "%s", errors.is(g) and g.message or tostring(g)) end
	local names = { "coll", "bytes", "nodes", "ranks" }
	for _, axis in ipairs(g.axes) do
		if not lists.has(names, axis.name) and axis.name ~= "ranks_per_node" then
			names[#names + 1] = axis.name
		end
	end
	return g, names
end

-- Read one case. -> {name, label, steps} | {name, label, grid, names, rule}
local function case_of(path, i, t)
	if type(t) ~= "table" then
		bad(path, i, "the case is a %s, but must be a table", type(t))
	end
	local name = type(t.name) == "string" and t.name or "case " .. i
	local label = type(t.name) == "string" and ("%d (%s)"):format(i, name) or i
	check_fields(path, label, t, CASE)
	if t.steps ~= nil and #lists.select(ONE, function(k) return t[k] ~= nil end) > 0 then
		bad(path, label, "either context and answer, or steps")
	end
	if t.over ~= nil and (t.steps ~= nil or t.context ~= nil) then
		bad(path, label, "over takes the place of context and steps")
	end
	local case = { name = name:gsub("[%c#]", "?"), label = label }
	if t.over == nil then
		case.steps = steps_of(path, label, t)
	else
		case.grid, case.names = grid_of(path, label, t)
		case.rule = lists.copy(t)
		if case.grid.known then case.rule.costs = nil end
	end
	return case
end

-- ---- the questions of a grid --------------------------------------------------------

-- Return what the rule of a case says of each context: {answer, costs}
local function rules(path, label, rule, contexts)
	local function of(v, seen)
		if type(v) == "function" then return v(seen) end
		return v
	end
	local list, err = sandbox.call(function()
		return lists.map(contexts, function(c)
			local seen = lists.copy(c)
			seen.coll = core.nccl("coll", c.coll) or c.coll
			seen.costs = c.costs and contexts_of.rows(c.costs)
			return { answer = of(rule.answer, seen), costs = of(rule.costs, seen) }
		end)
	end, path, GRID_MEMORY)
	if not list then
		err.message = ("case %s: %s"):format(label, err.message)
		error(err, 0)
	end
	return list
end

local function questions(path, case, shape, contexts)
	return lists.map(rules(path, case.label, case.rule, contexts), function(rule, i)
		local c, shown = contexts[i], {}
		set_costs(path, case.label, c, rule.costs, shape)
		for _, name in ipairs(case.names) do shown[name] = c[name] end
		shown.coll = core.nccl("coll", c.coll) or c.coll
		return { run = c, hook = "tuner", times = 1, shown = shown,
			answer = wanted(path, case.label, "tuner", rule.answer),
			maps = i == 1 and case.rule.maps or nil }
	end)
end

-- Call f(steps) for each run of a case: once for steps, and once for each shape of a grid.
function M.each(path, case, f)
	if case.steps then return f(case.steps) end
	local ok, e = pcall(grid.each, case.grid, function(shape, contexts)
		f(questions(path, case, shape, contexts))
	end)
	if ok then return end
	if errors.is(e) and e.code == "usage" then bad(path, case.label, "%s", e.message) end
	error(e, 0)
end

-- ---- the file -----------------------------------------------------------------------

-- M.read(path) -> {cases, files, coherence_off} | nil, err; raises errors
function M.read(path)
	local text = try(core.read(path, 1 << 20))
	local env = sandbox.pure()
	env.nb = { size = units.size }
	local t, err = sandbox.run(text, "@" .. path, env)
	if t == nil and errors.is(err) then return nil, err end
	if type(t) ~= "table" then bad(path, nil, "the file returns a table of cases") end
	check_fields(path, nil, t, { "policy", "coherence" })
	local names = type(t.policy) == "string" and { t.policy } or t.policy
	if type(names) ~= "table" or #names == 0 then
		bad(path, nil, "policy must be a file, or a list of files")
	end
	if #t == 0 then bad(path, nil, "no case") end
	local cases = {}
	for i, c in ipairs(t) do cases[i] = case_of(path, i, c) end
	local files = lists.map(names, function(name) return beside(path, tostring(name)) end)
	return { cases = cases, files = files, coherence_off = t.coherence == "off" }
end

return M
