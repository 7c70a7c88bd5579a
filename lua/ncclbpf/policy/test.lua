-- SPDX-License-Identifier: MIT
-- `policy test`: run a tuner policy on the contexts of a Lua file, and compare its answers with
-- those that the file wants. Prints TAP; status 2 if a case fails.
local contexts_of = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local policy = require "ncclbpf.policy.policy"
local units = require "ncclbpf.base.units"
local values = require "ncclbpf.map.values"

local try = errors.try
local M = {}

local ANSWERS = { "algo", "proto", "channels", "chunk_size" }
local NUMBERS = { channels = true, chunk_size = true } -- 0: NCCL's own

local function bad(path, case, fmt, ...)
	local text = fmt:format(...)
	error(errors.new("malformed", case and ("case %s: %s"):format(case, text) or text,
		{ object = path }), 0)
end

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

-- ---- contexts and answers -----------------------------------------------------------

local function word(field, n)
	if NUMBERS[field] then return n == 0 and "NCCL's" or tostring(n) end
	return n < 0 and "NCCL's" or core.nccl(field, n) or tostring(n)
end

-- Return the expected answer as numbers. An omitted field is NCCL's.
local function wanted(path, case, t)
	local w = { algo = -1, proto = -1, channels = 0, chunk_size = 0 }
	check_fields(path, case, t, ANSWERS)
	for field, v in pairs(t) do
		local n = type(v) == "string" and (field == "chunk_size" and units.size(v)
			or not NUMBERS[field] and core.nccl(field, v))
			or math.type(v) == "integer" and v
		if not n then
			bad(path, case, "answer: %s: %s expected, found %s", field,
				field == "chunk_size" and "a size" or NUMBERS[field]
					and "a whole number" or "a word of NCCL",
				format.value(v))
		end
		w[field] = n
	end
	return w
end

local STEP = { "context", "answer" }

local function step(path, case, s, seq)
	if type(s.context) ~= "table" or type(s.answer) ~= "table" then
		bad(path, case, "context and answer expected, each a table")
	end
	if s.context.coll == nil or s.context.bytes == nil then
		bad(path, case, "context: coll and bytes expected")
	end
	local c, wrong = contexts_of.read(s.context)
	if not c then bad(path, case, "context: %s", wrong) end
	return { context = contexts_of.complete(c, seq), answer = wanted(path, case, s.answer),
		shown = s.context }
end

-- Reads one case of a test file. Returns {name, steps = {{context, answer, shown}}, maps}.
local function case_of(path, i, t)
	if type(t) ~= "table" then bad(path, i, "a table expected, found %s", type(t)) end
	local name = type(t.name) == "string" and t.name or "case " .. i
	local label = type(t.name) == "string" and ("%d (%s)"):format(i, name) or i
	check_fields(path, label, t, { "name", "context", "answer", "steps", "maps" })
	if t.steps and (t.context or t.answer) then
		bad(path, label, "either context and answer, or steps")
	end
	local steps = {}
	for k, s in ipairs(t.steps or { { context = t.context, answer = t.answer } }) do
		if type(s) ~= "table" then bad(path, label, "step %d: a table expected", k) end
		check_fields(path, label, s, STEP)
		steps[k] = step(path, label, s, k - 1)
	end
	if #steps == 0 then bad(path, label, "steps: at least one expected") end
	return { name = name:gsub("[%c#]", "?"), label = label, steps = steps, maps = t.maps }
end

-- ---- the file -----------------------------------------------------------------------

-- A folder means the test in it that policy new has created: FOLDER/NAME_test.lua.
local function test_file(path)
	local folder = path:gsub("/+$", "")
	local inside = ("%s/%s_test.lua"):format(folder, folder:match "[^/]*$")
	return core.read(inside, 1 << 20) and inside or path
end

local function read(path)
	local text = try(core.read(path, 1 << 20))
	local sandbox = require "ncclbpf.base.sandbox"
	local env = sandbox.pure()
	env.nb = { size = units.size }
	local t, err = sandbox.run(text, "@" .. path, env)
	if t == nil and errors.is(err) then return nil, err end
	if type(t) ~= "table" then bad(path, nil, "the file returns a table of cases") end
	check_fields(path, nil, t, { "policy", "coherence" })
	local names = type(t.policy) == "string" and { t.policy } or t.policy
	if type(names) ~= "table" or #names == 0 then
		bad(path, nil, "policy: a file expected, or a list of files")
	end
	if #t == 0 then bad(path, nil, "no case") end
	local cases, dir = {}, path:match "^(.*/)[^/]*$" or ""
	for i, c in ipairs(t) do cases[i] = case_of(path, i, c) end
	local files = {}
	for i, name in ipairs(names) do
		name = tostring(name)
		files[i] = name:sub(1, 1) == "/" and name or dir .. name
	end
	return { cases = cases, files = files, coherence_off = t.coherence == "off" }
end

-- Return the policies of the file, verified. -> [{bytes, image, info}]
local function open(file)
	local list = {}
	for i, path in ipairs(file.files) do
		local image, info, bytes = policy.open(path, nil,
			file.coherence_off and "off" or nil)
		try(image, info)
		local v = try(policy.verdict(image, info, { coherence_off = file.coherence_off }))
		local failure = policy.refusal(v, path)
		if failure then return nil, failure end
		local tuner
		for _, p in ipairs(info.programs) do tuner = tuner or p.hook == "tuner" end
		if not tuner then
			return errors.fail("not_supported",
				'%s: it has no program in SEC("tuner"); policy test runs no others',
				path)
		end
		list[i] = { bytes = bytes, image = image, info = info }
	end
	return list
end

-- ---- running ------------------------------------------------------------------------

-- Return the elements of a policy's maps as bytes. @used: collects the maps that a policy has.
local function elements(path, case, p, used)
	local out = {}
	for _, m in ipairs(p.info.maps) do
		local list = (case.maps or {})[m.name]
		if list ~= nil then
			if type(list) ~= "table" then
				bad(path, case.label, "maps: %s: {[key] = value} expected", m.name)
			end
			local c, t = values.codec_of(p.image, m), {}
			used[m.name] = true
			for k, v in pairs(list) do
				local what = ("map %s: "):format(m.name)
				local key = try(values.encode(c, c.key, k, what .. "key"))
				t[key] = try(values.encode(c, c.value, v, what .. "value"))
			end
			out[m.name] = t
		end
	end
	return out
end

-- Run all steps of a case through the policies in order. -> contexts with the last answers
local function run(path, case, policies, coherence_off)
	local contexts, used = {}, {}
	for i, s in ipairs(case.steps) do contexts[i] = s.context end
	for _, p in ipairs(policies) do
		local maps = elements(path, case, p, used)
		local ok, answers, err = pcall(core.policy_run, p.bytes, contexts, maps,
			coherence_off)
		if not ok then bad(path, case.label, "%s", tostring(answers)) end
		try(answers, err)
		for i, a in ipairs(answers) do
			for _, field in ipairs(ANSWERS) do contexts[i][field] = a[field] end
		end
	end
	for name in pairs(case.maps or {}) do
		if not used[name] then
			bad(path, case.label, "maps: no policy has a map %s", name)
		end
	end
	return contexts
end

local function differences(case, contexts)
	local t = core.array {}
	for i, s in ipairs(case.steps) do
		for _, field in ipairs(ANSWERS) do
			if contexts[i][field] ~= s.answer[field] then
				t[#t + 1] = { step = #case.steps > 1 and i or nil, field = field,
					wanted = word(field, s.answer[field]),
					got = word(field, contexts[i][field]) }
			end
		end
	end
	return t
end

local function tap(path, results)
	local t, failed = { "1.." .. #results }, 0
	for i, r in ipairs(results) do
		t[#t + 1] = ("%sok %d - %s"):format(r.ok and "" or "not ", i, r.name)
		failed = failed + (r.ok and 0 or 1)
		for _, d in ipairs(r.differences) do
			local place = d.step and ("step %d, "):format(d.step) or ""
			t[#t + 1] = ("#   %s%s: wanted %s, got %s"):format(place, d.field, d.wanted,
				d.got)
		end
		if not r.ok then t[#t + 1] = "#   context " .. r.context end
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
	local file = try(read(path))
	local policies = try(open(file))
	local results = core.array {}
	for i, case in ipairs(file.cases) do
		local d = differences(case, run(path, case, policies, file.coherence_off))
		local at = d[1] and d[1].step or 1
		results[i] = { name = case.name, ok = #d == 0, differences = d,
			context = format.value(case.steps[at].shown) }
	end
	local text, failed = tap(path, results)
	return {
		schema = "policy.test/1", text = text, prose = true, status = failed > 0 and 2 or 0,
		data = { file = path, passed = #results - failed, failed = failed,
			cases = results },
		rows = results, columns = { { "name" }, { "ok" }, { "context" } },
	}
end

return M
