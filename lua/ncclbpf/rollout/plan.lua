-- SPDX-License-Identifier: MIT
-- Rollout plans: read, check each field, fill in defaults (docs/rollouts.md).
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local judge = require "ncclbpf.rollout.judge"
local sandbox = require "ncclbpf.base.sandbox"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local MEMORY = 64 << 20 -- bytes that the Lua of a plan may allocate

-- Checks of the values of fields.

local function number(least, most, whole)
	return function(v)
		if type(v) == "number" and v == v and v >= least and v <= most
			and (not whole or math.tointeger(v)) then
			return whole and math.tointeger(v) or v
		end
		return nil, ("%s from %s to %s"):format(
			whole and "a whole number" or "a number", tostring(least), tostring(most))
	end
end

local function word(...)
	local list = { ... }
	return function(v)
		for _, w in ipairs(list) do
			if v == w then return v end
		end
		return nil, table.concat(list, " or ")
	end
end

local function text(v)
	if type(v) == "string" and v ~= "" and #v <= 400 and not v:find "%c" then return v end
	return nil, "a text of one line"
end

local function seconds(v)
	local s = type(v) == "number" and v or type(v) == "string" and units.duration(v)
	if s and s == s and s > 0 and s < 1e7 then return s end
	return nil, 'a duration like "30s" or a number of seconds'
end

local function within(least, most)
	return function(v)
		local s = seconds(v)
		if s and s >= units.duration(least) and s <= units.duration(most) then return s end
		return nil, ('a duration from "%s" to "%s"'):format(least, most)
	end
end

local function is_list(v)
	for k in pairs(type(v) == "table" and v or {}) do
		if math.type(k) ~= "integer" or k < 1 or k > #v then return false end
	end
	return type(v) == "table" and #v > 0
end

-- @allowed: the words that check() accepts, or nil
local function list_of(check, what, allowed)
	return function(v)
		local out = core.array {}
		if not is_list(v) then return nil, "a list of " .. what end
		for i, x in ipairs(v) do
			local y = check(x)
			if y == nil then
				local near = allowed and type(x) == "string"
					and errors.nearest(x, allowed)
				return nil, "a list of " .. what, nil,
					("number %d is %s%s"):format(i, type(x) == "string"
						and ("%q"):format(x) or tostring(x),
					near and " (" .. near .. ")" or "")
			end
			out[i] = y
		end
		return out
	end
end

local collectives = require("ncclbpf.job.collectives").words_of "coll"

local function collective(v)
	if type(v) == "string" and core.nccl("coll", v) then return v end
end

local function size(v)
	if math.type(v) == "integer" and v >= 0 then return v end
	return type(v) == "string" and units.size(v) or nil
end

-- Check a range of sizes: {"4M", "128M"} or "4M..128M"
local function range(v)
	local a, b
	if type(v) == "string" then
		a, b = v:match "^(.-)%.%.(.*)$"
	elseif type(v) == "table" and #v == 2 then
		a, b = v[1], v[2]
	end
	a, b = size(a), size(b)
	if a and b and a <= b then return core.array { a, b } end
	return nil, 'sizes like "4M..128M", the lesser first'
end

-- Check communicators: identities {"c0ffee"}, a number such as 1, or a share such as "34%"
local function comms(v)
	if math.type(v) == "integer" and v >= 1 and v <= 16 then return v end
	local pct = type(v) == "string" and tonumber(v:match "^(%d+)%%$")
	if pct and pct >= 1 and pct <= 100 then return v end
	local list = type(v) == "table" and list_of(function(x)
		return type(x) == "string" and (x:match "^%x+$" and #x <= 16 or x:match "^%a+:%d+$")
			and ascii.lower(x) or nil
	end,
		"")(v)
	if list and #list <= 16 then return list end
	return nil,
		'a list of at most 16 communicators like {"c0ffee"}, a number of them (1 to '
		.. '16), or a share like "34%"'
end

-- Check a share: "34%" or 0.34
local function share(v)
	local pct = type(v) == "string" and tonumber(v:match "^([%d.]+)%%$")
		or math.type(v) == "float" and v * 100
	if pct and pct == pct and pct > 0 and pct <= 100 then return v end
	return nil, 'a share like "34%" or 0.34'
end

local check_fields

-- Check a list of at most @most tables with the fields @rows. @wrong(t) -> what is wrong with a
-- table, or nil. @what: the list in messages
local function tables_of(name, rows, most, what, wrong)
	return function(v)
		if not is_list(v) or #v > most then return nil, what end
		local out = core.array {}
		for i, x in ipairs(v) do
			local at = ("%s[%d]"):format(name, i)
			local t, err = check_fields(rows, x, at .. ".")
			if not t then return nil, nil, err end
			if wrong(t) then
				return nil, nil, errors.new("bad_argument", at .. " " .. wrong(t))
			end
			out[i] = t
		end
		return out
	end
end

local steps = tables_of("steps", {
	units = { number(1, 1000, true) }, fraction = { share },
	bake = { seconds },
}, 20, "a list of 1 to 20 tables", function(s)
	return (s.units == nil) == (s.fraction == nil) and "must have either units or fraction"
end)

local names = list_of(function(v) return type(v) == "string" and v:match "^[%w_.%-]+$" or nil end,
	"names of policies")

local function arm(v)
	if v == "none" then return core.array {} end
	if type(v) == "table" and #v == 1 and type(v[1]) == "string" and v[1]:find "/" then
		v = v[1]
	end
	if type(v) == "string" then return text(v) end
	return names(v)
end

local function fields(t) return { fields = t } end

local schema = fields {
	name = { text, "rollout" },
	reason = { text },
	scope = { fields {
		collectives = { list_of(collective, "collectives", collectives) },
		sizes = { range }, comms = { comms } } },
	baseline = { arm },
	candidate = { arm, required = true },
	blocks = { number(2, 500, true), 20 },
	samples = { number(5, 1000, true), 50 },
	block_timeout = { seconds, 30 },
	judge = { fields { confidence = { number(0.5, 0.9999), 0.98 },
		min_effect_pct = { number(0, 100), 1 }, looks = { number(1, 20, true), 4 } } },
	guards = { fields { slower_pct = { number(5, 10000), 100 },
		refused = { number(0, 1e9, true), 0 }, slo = { seconds },
		lost = { within("5s", "1h"), 60 } } },
	on_pass = { word("promote", "pause"), "promote" },
	promote = { word("all", "scope", "better"), "all" },
	deadline = { seconds, 3600 },
	steps = { steps },
	seed = { number(1, 2 ^ 31, true) },
}

-- Names of our fields in other tools, and where a field belongs.
local elsewhere = { hooks = "a hook is a Lua function, which only a plan in Lua can have",
	progress_deadline = "block_timeout for each block, deadline for all", gates = "guards",
	dry_run = "rollout plan FILE, or rollout start -n FILE", stages = "steps",
	bake = "steps = { { fraction = 1.0, bake = \"5m\" } }",
	metrics = "hooks.judge judges by any measure, in a plan in Lua",
	holdback = 'promote = "scope" leaves all communicators outside scope.comms',
}

-- Return the text with which messages show the value @v that they found in a plan.
local function found(v)
	if type(v) == "string" then return ("%q"):format(v) end
	if type(v) ~= "table" then return tostring(v) end
	local k = next(v)
	return k == nil and "an empty table" or type(k) == "string"
		and ("a table with the field %s"):format(k) or "a table"
end

local function check_one(row, v, at)
	if type(row[1]) == "table" then return check_fields(row[1].fields, v, at .. ".") end
	local got, want, err, wrong = row[1](v)
	if err then return nil, err end
	if got == nil then
		if want == nil then want = "another value" end
		return errors.fail("bad_argument", "%s must be %s, but %s", at, want, wrong
			or "is " .. found(v))
	end
	return got
end

function check_fields(rows, t, at)
	if type(t) ~= "table" then
		return errors.fail("bad_argument", "%s is %s, but must be a table of fields",
			at == "" and "the plan" or at:sub(1, -2), errors.kind(t))
	end
	local out = {}
	for k in pairs(t) do
		if not rows[k] then
			local list = lists.keys(rows)
			return nil, errors.new("bad_argument",
				("%s%s: no such field"):format(at, tostring(k)),
				{ hint = at == "" and elsewhere[k] or type(k) == "string"
					and errors.nearest(k, list)
					or "fields: " .. table.concat(list, ", ") })
		end
	end
	for _, k in ipairs(lists.keys(rows)) do
		local row, err = rows[k], nil
		if t[k] ~= nil and t[k] ~= core.null then
			out[k], err = check_one(row, t[k], at .. k)
			if err then return nil, err end
		elseif row.required then
			return errors.fail("bad_argument", "%s%s: missing", at, k)
		elseif type(row[1]) == "table" then
			out[k] = check_fields(row[1].fields, {}, at .. k .. ".")
		else
			out[k] = row[2]
		end
	end
	return out
end

-- Return the false-alarm probability of one step. All steps share the plan's probability.
function M.alpha(p)
	return (1 - p.judge.confidence) / (p.steps and #p.steps or 1)
end

local WARM_UP = 0.1 -- share of a block that lies before the counted collectives

-- Return the number of collectives of a block, with those of its warm-up.
function M.collectives(p) return math.ceil(p.samples / (1 - WARM_UP)) end

-- Return what happens after a verdict.
function M.action(p, verdict)
	return verdict == "pass" and p.on_pass or verdict == "fail" and "rollback" or "pause"
end

-- M.check(t) -> plan with defaults | nil, err, which names field, value found and values allowed
M.check = errors.catch(function(t)
	local p = try(check_fields(schema.fields, t, ""))
	local least = judge.least_blocks(judge.share(M.alpha(p), p.judge.looks, p.judge.looks))
	if p.blocks < least then
		return errors.fail("bad_argument",
			"blocks is %d, but confidence %g needs %d or more, "
			.. "and more for several kinds", p.blocks, p.judge.confidence, least)
	end
	local bakes = 0
	for _, s in ipairs(p.steps or { {} }) do bakes = bakes + (s.bake or 0) end
	if bakes >= p.deadline then
		return errors.fail(
			"bad_argument", "deadline is %s, but must be more than the bake time %s",
			units.seconds(p.deadline), units.seconds(bakes))
	end
	for i = 2, #(p.steps or {}) do
		local a, b = p.steps[i - 1].units, p.steps[i].units
		if a and b and b < a then
			return errors.fail("bad_argument",
				"steps[%d].units is %d, but the step before has %d already", i, b,
				a)
		end
	end
	if p.judge.looks > p.blocks then
		return errors.fail(
			"bad_argument",
			"judge.looks is %d, but must be at most %d, the number of blocks",
			p.judge.looks, p.blocks)
	end
	return p
end)

-- Read a table from JSON, or from a Lua file. -> table, SHA-256 of the file | nil, err (or raised)
local function table_of(path)
	local bytes = try(core.read(path, 1 << 20))
	if bytes:match "^%s*{" then
		local t, err = core.decode(bytes)
		return t or errors.raise("bad_argument", "%s: %s", path, err.message),
			core.sha256(bytes)
	end
	local env = sandbox.pure()
	env.pcall = pcall -- passes on the error of an exceeded limit
	local what = "the plan's code"
	local t, err = sandbox.run(bytes, "=" .. path:match "[^/]*$", env, what, MEMORY)
	if not errors.is(err) then err = nil end -- a second value that the code returned
	if err and err.code ~= "lua_syntax" then
		local limit = err.message:sub(1, #what) == what
		return nil, errors.new("bad_argument", limit and err.message
			or ("%s failed: %s"):format(what, err.message), { object = path,
			hint = "a plan may use Lua's string, table, math and utf8, nothing else" })
	end
	return t, err or core.sha256(bytes)
end

local HOOKS = { setup = true, step = true, judge = true, done = true }

-- Take the field hooks out of @t. -> functions by name, or nil; raises errors
local function hooks_of(t)
	local found = type(t) == "table" and t.hooks
	if not found then return nil end
	t.hooks = nil
	if type(found) ~= "table" then
		errors.raise("bad_argument", "hooks is a %s, but must be a table of functions",
			type(found))
	end
	for k, f in pairs(found) do
		if not HOOKS[k] then
			local names = lists.keys(HOOKS)
			local text = "hooks.%s: a plan has no such hook (allowed: %s)"
			error(errors.new("bad_argument", text:format(tostring(k),
				table.concat(names, ", ")), { hint = type(k) == "string"
				and errors.nearest(k, names) or nil }), 0)
		elseif type(f) ~= "function" then
			errors.raise("bad_argument", "hooks.%s is a %s, but must be a function", k,
				type(f))
		end
	end
	return found
end

-- Paths of policy files are relative to the plan.
local function beside(p, path)
	local folder = path:match "^(.*/)" or ""
	for _, k in ipairs { "baseline", "candidate" } do
		if type(p[k]) == "string" and not p[k]:match "^/" then p[k] = folder .. p[k] end
	end
end

-- M.read(path, or a script's table) -> plan, hooks: functions by name, or nil, SHA-256 of the
-- file | nil, err
M.read = errors.catch(function(path)
	if type(path) == "table" then
		local t = lists.copy(path)
		local hooks = hooks_of(t)
		return try(M.check(t)), hooks
	end
	local t, digest = try(table_of(path))
	local fine, hooks = pcall(hooks_of, t)
	if not fine then errors.about(path, nil, hooks) end
	local p = errors.about(path, M.check(t))
	beside(p, path)
	return p, hooks, digest
end)

local function share_text(v) return type(v) == "string" and v or ("%g %%"):format(v * 100) end

-- Describe a plan: list of {what, how}
function M.steps(p)
	local arms = function(a)
		if a == nil then return "the job's policies when the rollout starts" end
		if type(a) == "string" then return a end
		return #a == 0 and "none (NCCL's own choice)" or table.concat(a, ", ")
	end
	local scope = {}
	if p.scope.collectives then scope[#scope + 1] = table.concat(p.scope.collectives, ", ") end
	local where = p.scope.comms
	where = type(where) == "table" and "communicators " .. table.concat(where, ", ") or where
		and tostring(where) .. " of the job's communicators"
	if p.scope.sizes then
		scope[#scope + 1] = ("%s to %s"):format(
			units.bytes(p.scope.sizes[1]), units.bytes(p.scope.sizes[2]))
	end
	local first = M.first_look(p)
	local looks = {}
	for k = 1, p.judge.looks do looks[k] = tostring(M.look_at(p, k)) end
	local seen = M.collectives(p)
	local better = p.promote == "better"
	local staged = {}
	for i, s in ipairs(p.steps or {}) do
		local n = s.units and units.count(s.units, "communicator")
			or share_text(s.fraction) .. " of the communicators"
		staged[i] = n .. (s.bake and ", bakes " .. units.seconds(s.bake) or "")
	end
	local list = {
		{ "baseline", arms(p.baseline) },
		{ "candidate", arms(p.candidate) },
		{ "reaches", where and ("%s; promoted: %s"):format(
			where, p.promote == "all" and "all communicators" or better
			and "the communicators where the candidate is better" or "the same")
			or "all communicators of the job, one generation at a time" },
		{ "judged by", #scope > 0 and table.concat(scope, "; ")
			or "all collectives and sizes" },
		{ "blocks",
			("%d pairs of blocks, in random order A B or B A; " ..
				"of a block's %d collectives " ..
				"of a kind the first %g %% do not count"):format(
			p.blocks, seen, WARM_UP * 100) },
		{ "looks", ("after pair %s"):format(table.concat(looks, ", ")) },
		better and { "passes",
			("when a kind is faster, with joint confidence %g %%, by more than %g %%; "
			.. "then: %s, for such kinds alone"):format(
			p.judge.confidence * 100, p.judge.min_effect_pct, p.on_pass) } or
			{ "passes",
				("when each kind is, with joint confidence %g %%, " ..
				"not slower by more than %g %%; then: %s"):format(
				p.judge.confidence * 100, p.judge.min_effect_pct,
				p.on_pass) },
		{ "fails", (better
			and "when no kind of collective is faster and none is undecided"
			or ("when one kind is slower by more than %g %%, with the same confidence")
				:format(p.judge.min_effect_pct)) .. "; then: rollback" },
		{ "otherwise", "inconclusive; then: pause" },
		{ "stops at once",
			("after 10 collectives of a kind slower than the baseline's by %g %%%s; " ..
			"after more than %d refused answers; " ..
			"if ranks differ; if a process ends"):format(p.guards.slower_pct,
			p.guards.slo and ", or that take longer than "
				.. units.seconds(p.guards.slo) or "", p.guards.refused) },
		{ "lasts",
			("at least %d collectives of the most frequent kind, " ..
			"and %d for all blocks; at most %s"):format(
			seen * 2 * M.look_at(p, first) * math.max(#staged, 1),
			seen * M.total(p), units.seconds(p.deadline)) },
	}
	local function more(at, what, how) table.insert(list, at, { what, how }) end
	if #staged > 0 then
		more(4, "steps", table.concat(staged, "; then ")
			.. "; the judge checks each step; "
			.. "the steps share the risk of an error equally")
	end
	return list
end

-- Return the first check that has enough blocks for a significant result.
function M.first_look(p)
	for k = 1, p.judge.looks do
		local n = math.min(M.look_at(p, k), 40)
		if 2 * core.rank_tail(n, n, 0) <= judge.share(M.alpha(p), k, p.judge.looks) then
			return k
		end
	end
	return p.judge.looks
end

-- Checks that sweep plans use too (sweep/choose.lua)
local function name(v)
	if type(v) == "string" and v:match "^[%w_.%-]+$" and #v <= 32 then return v end
	return nil, "letters, digits, _, . and -, 32 at most"
end
M.kit = {
	number = number, word = word, text = text, name = name, seconds = seconds,
	list_of = list_of, collective = collective, range = range, fields = fields,
	check_fields = check_fields, table_of = table_of, tables_of = tables_of,
}

-- Return the number of blocks of the whole rollout.
function M.total(p)
	return p.blocks * 2 * (type(p.steps) == "table" and #p.steps or 1)
end

-- Return the number of block pairs after which check @k takes place
function M.look_at(p, k) return math.ceil(p.blocks * k / p.judge.looks) end

return M
