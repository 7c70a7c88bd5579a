-- SPDX-License-Identifier: MIT
-- `policy test`: run policies on the cases of a Lua file, and compare their answers with those that
-- the file wants. Prints TAP; status 2 if a case fails.
local cases = require "ncclbpf.policy.cases"
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local policy = require "ncclbpf.policy.policy"
local units = require "ncclbpf.base.units"
local values = require "ncclbpf.map.values"

local bad, try = cases.bad, errors.try
local M = {}

local FIRST = 10 -- number of questions of a grid whose differences are kept

-- A folder means the test in it that policy new has created: FOLDER/NAME_test.lua.
local function test_file(path)
	local folder = path:gsub("/+$", "")
	local inside = ("%s/%s_test.lua"):format(folder, folder:match "[^/]*$")
	return core.read(inside, 1 << 20) and inside or path
end

-- Return the policies of the file, verified. -> [{bytes, image, info}]
local function open(file)
	local list = {}
	for i, path in ipairs(file.files) do
		local image, info, bytes = policy.open(path, nil,
			file.coherence_off and "off" or nil)
		try(image, info)
		local v = try(policy.verdict(image, info, { coherence_off = file.coherence_off }))
		local failure = policy.refusal(v, path, nil, info.warnings)
		if failure then return nil, failure end
		list[i] = { bytes = bytes, image = image, info = info,
			by_costs = policy.asks_costs(image, info) }
	end
	return list
end

-- ---- running ------------------------------------------------------------------------

-- Return the elements of one map as bytes.
local function elements(path, case, p, m, list)
	if type(list) ~= "table" then
		bad(path, case.label, "maps: %s must be a table {[key] = value}", m.name)
	end
	local c, t = values.codec_of(p.image, m), {}
	local what = ("map %s: "):format(m.name)
	for k, v in pairs(list) do
		local key = try(values.encode(c, c.key, k, what .. "key"))
		t[key] = try(values.encode(c, c.value, v, what .. "value"))
	end
	return t
end

-- Return the contents of maps of each policy as bytes: {[policy] = {name = {[key] = value}}}
local function contents(path, case, policies, maps)
	if maps == nil then return nil end
	if type(maps) ~= "table" then bad(path, case.label, "maps must be a table") end
	local out, used = {}, {}
	for i, p in ipairs(policies) do
		out[i] = {}
		for _, m in ipairs(p.info.maps) do
			if maps[m.name] ~= nil then
				used[m.name] = true
				out[i][m.name] = elements(path, case, p, m, maps[m.name])
			end
		end
	end
	for name in pairs(maps) do
		if not used[name] then
			bad(path, case.label, "maps: no policy has a map %s", tostring(name))
		end
	end
	return out
end

local function check_hook(path, case, policies, hook)
	local hooks = {}
	for _, p in ipairs(policies) do
		for _, program in ipairs(p.info.programs) do hooks[program.hook] = true end
	end
	if not hooks[hook] then
		bad(path, case.label, 'no policy has a program in SEC("%s"); they have: %s', hook,
			table.concat(lists.keys(hooks), ", "))
	end
end

-- Run steps through the policies. -> outputs of each step, of the last time it ran
local function run(path, case, policies, steps, coherence_off)
	local list, last = {}, {}
	for i, s in ipairs(steps) do
		local first = lists.copy(s.run)
		first.maps = contents(path, case, policies, s.maps)
		list[#list + 1] = first
		for _ = 2, s.times do list[#list + 1] = s.run end
		last[i] = #list
	end
	local ok, answers, err = pcall(core.policy_run, lists.map(policies, "bytes"), list,
		coherence_off)
	if not ok then bad(path, case.label, "%s", tostring(answers)) end
	try(answers, err)
	return lists.map(last, function(n) return answers[n] end)
end

-- ---- results ------------------------------------------------------------------------

local function word(field, n)
	local none = (field == "algo" or field == "proto") and -1
		or (field == "channels" or field == "chunk_size") and 0
	return n == none and "NCCL's" or none == -1 and core.nccl(field, n) or tostring(n)
end

-- Return the fields in which a step's answer is another than the expected one.
local function differences(s, answer)
	local wrong = lists.select(cases.outputs(s.hook), function(field)
		return s.answer[field] and s.answer[field] ~= answer[field]
	end)
	return lists.map(wrong, function(field)
		return { field = field, wanted = word(field, s.answer[field]),
			got = word(field, answer[field]) }
	end)
end

-- Add what differs in steps of a case to its result.
local function compare(result, case, steps, answers)
	for i, s in ipairs(steps) do
		local list = differences(s, answers[i])
		local shown = #list > 0 and format.value(s.shown)
		local kept = case.steps or result.differ < FIRST
		for _, d in ipairs(kept and list or {}) do
			d.step = case.steps and #steps > 1 and i or nil
			d.context = case.grid and shown or nil
			table.insert(result.differences, d)
		end
		if case.grid and kept and shown then
			table.insert(result.lines, ("wanted %s, got %s, context %s"):format(
				context.answer(s.answer), context.answer(answers[i]), shown))
		end
		result.context = result.context or shown or nil
		result.questions = result.questions + 1
		result.differ = result.differ + (#list > 0 and 1 or 0)
	end
end

-- Return the policy that asks for NCCL's costs where a decision of @steps has none; nil: no policy
local function by_costs(policies, steps)
	local without = lists.select(steps, function(s)
		return s.hook == "tuner" and not s.run.costs
	end)
	for _, p in ipairs(#without > 0 and policies or {}) do
		if p.by_costs then return p.info.name end
	end
end

local function result_of(path, case, policies, coherence_off)
	local result = { name = case.name, differences = core.array {}, lines = {}, questions = 0,
		differ = 0 }
	local first
	cases.each(path, case, function(steps)
		for _, s in ipairs(case.steps or { steps[1] }) do
			check_hook(path, case, policies, s.hook)
		end
		compare(result, case, steps, run(path, case, policies, steps, coherence_off))
		result.by_costs = result.by_costs or by_costs(policies, steps)
		first = first or steps[1].shown
	end)
	result.ok, result.grid = result.differ == 0, case.grid ~= nil
	result.context = result.context or format.value(first)
	return result
end

local function tap(path, results)
	local t, failed = { "1.." .. #results }, 0
	for i, r in ipairs(results) do
		t[#t + 1] = ("%sok %d - %s"):format(r.ok and "" or "not ", i, r.name)
		failed = failed + (r.ok and 0 or 1)
		for _, d in ipairs(r.grid and {} or r.differences) do
			local place = d.step and ("step %d, "):format(d.step) or ""
			t[#t + 1] = ("#   %s%s: wanted %s, got %s"):format(place, d.field,
				d.wanted, d.got)
		end
		for _, line in ipairs(r.lines) do t[#t + 1] = "#   " .. line end
		if r.grid then
			t[#t + 1] = ("#   %s, %s"):format(units.count(r.questions, "question"),
				context.differing(r.differ))
		elseif not r.ok then
			t[#t + 1] = "#   context " .. r.context
		end
		if r.by_costs then
			t[#t + 1] = "#   " .. policy.costs_note(r.by_costs,
				"this case leaves out (costs)")
		end
	end
	t[#t + 1] = ("# %s: %d passed, %d failed"):format(path, #results - failed, failed)
	return table.concat(t, "\n"), failed
end

function M.cmd_test(ctx)
	local path = test_file(ctx.args[1])
	local is_c = require("ncclbpf.policy.source").is_c
	if is_c(path) or path:find "%.o$" or path:find "%.policy$" then
		return errors.fail("usage", "%s is a policy: policy test runs a Lua file of " ..
			"cases, which names the policy; policy new makes one", path)
	end
	local file = try(cases.read(path))
	local policies = try(open(file))
	local results = core.array(lists.map(file.cases, function(case)
		return result_of(path, case, policies, file.coherence_off)
	end))
	local text, failed = tap(path, results)
	return {
		schema = "policy.test/1", text = text, prose = true, status = failed > 0 and 2 or 0,
		data = { file = path, passed = #results - failed, failed = failed,
			cases = core.array(lists.map(results, function(r)
				return { name = r.name, ok = r.ok, questions = r.questions,
					differ = r.differ, differences = r.differences,
					context = r.context }
			end)) },
		rows = results, columns = { { "name" }, { "ok" }, { "context" } },
	}
end

return M
