-- SPDX-License-Identifier: MIT
-- The Lua interface: `local nb = require "ncclbpf"`, the same in the shell
-- and in a plain lua5.4. Expected failures return nil, err (err.code,
-- err.message, err.hint); misuse raises. docs/lua.md describes it.
local class = require "ncclbpf.base.class"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local gin = require "ncclbpf.commands.gin"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local format = require "ncclbpf.base.format"
local changes = require "ncclbpf.job.change"
local maps = require "ncclbpf.map.map"
local mapset = require "ncclbpf.map.write"
local objects = require "ncclbpf.api.objects"
local plan = require "ncclbpf.rollout.plan"
local policy = require "ncclbpf.policy.policy"
local reach = require "ncclbpf.job.selector"
local series = require "ncclbpf.api.series"
local tables = require "ncclbpf.policy.table"
local comm = require "ncclbpf.commands.comm"
local units = require "ncclbpf.base.units"
local vars = require "ncclbpf.map.variables"

-- string.format, tostring and tonumber follow the locale of the process. Ours may not.
if ("%.1f"):format(0.5) ~= "0.5" then
	error(("ncclbpf: the process's locale writes 0.5 as %.1f; ncclbpf reads and writes numbers "
		.. "with a point. Call os.setlocale(\"C\", \"numeric\") before require \"ncclbpf\"")
		:format(0.5), 2)
end

local nb = { version = core.version, null = core.null }
local state, self_of, check = class.state, class.self, class.check
local try = errors.try

-- ---- maps ------------------------------------------------------------------------------

local Map = {}
local new_map

-- Return the key and the value of one element of map @c as bytes. A nil @value stands for the
-- removal of the element.
local function element(c, key, value)
	return { text = format.value(key), key = try(maps.encode(c, c.key, key, "key")),
		value = value ~= nil and try(mapset.value_bytes(c, value, "value")) or nil }
end

-- Store the elements in all processes. -> the change, or the first process's answer
local function store(s, c, list, opts)
	local got = try(mapset.apply(s.group, c, s.name, list, opts))
	return c.map.coherent and got or session.answers(got)[1].data
end

local map_set = errors.catch(function(s, key, value, opts)
	local c = try(maps.describe(s.group, s.name))
	return store(s, c, { element(c, key, value) }, opts)
end)

-- Return the process with the lowest rank, as a list.
local function first(group)
	return { group:living()[1] or error(group:failure()
		or errors.new("no_target", "not attached"), 0) }
end

local map_get = errors.catch(function(s, key)
	local c = try(maps.describe(s.group, s.name))
	local k = try(maps.encode(c, c.key, key, "key"))
	local d, err = s.group:one(session.line { "map", "get", s.name, maps.hex(k) })
	if not d then return nil, maps.name_key(err, format.value(key), s.name) end
	local list = maps.values(c, d.value, d.ncpus, false)
	if not list then return errors.fail("protocol", "the value is not hexadecimal") end
	if (d.ncpus or 1) > 1 then return list end
	return list[1]
end)

-- m:get(key) -> value (per-CPU maps: a list) | nil, err
function Map:get(key)
	return map_get(self_of(self, "map"), key)
end

-- m:set(key, value[, {flags="any|new|old", if_generation=}]) -> change or result | nil, err
function Map:set(key, value, opts)
	local s = self_of(self, "map")
	errors.check_options("map:set", opts, { flags = "string", if_generation = "integer" })
	if value == nil then error("map:set: a value expected; map:remove deletes elements", 2) end
	return map_set(s, key, value, opts)
end

function Map:remove(key)
	return map_set(self_of(self, "map"), key, nil)
end

-- m:get_all{key, ...} -> list of {key, value}, without absent keys
function Map:get_all(keys)
	local s = self_of(self, "map")
	check(keys, "table", "map:get_all")
	local c = try(maps.describe(s.group, s.name))
	local wanted = {}
	for i, k in ipairs(keys) do
		local bytes = try(maps.encode(c, c.key, k, "key " .. i))
		wanted[i] = { bytes, format.value(k) }
	end
	if #wanted == 0 then return {} end
	local per, failures = maps.get_many(s.group, s.name, wanted, first(s.group))
	if #failures > 0 then return nil, session.sum_up(failures) end
	return per[1].entries
end

-- m:update({[key] = value, ...}[, {remove={key, ...}, flags="any|new|old",
-- if_generation=}]): make all changes with one request. For a coherent map, all or none are
-- made, at one fence.
-- -> change or result | nil, err
function Map:update(values, opts)
	local s = self_of(self, "map")
	check(values, "table", "map:update")
	opts = errors.check_options("map:update", opts,
		{ remove = "table", flags = "string", if_generation = "integer" })
	local c = try(maps.describe(s.group, s.name))
	local list = {}
	for _, k in ipairs(opts.remove or {}) do list[#list + 1] = element(c, k) end
	for k, v in pairs(values) do list[#list + 1] = element(c, k, v) end
	if #list == 0 then error("map:update: nothing to store or remove", 2) end
	-- Sort the keys of a table, so that equal tables make equal request lines.
	table.sort(list, function(a, b)
		if (a.value == nil) ~= (b.value == nil) then return a.value == nil end
		return a.key < b.key
	end)
	return store(s, c, list, { flags = opts.flags, if_generation = opts.if_generation })
end

-- m:pop([{count=, as=, follow=function(value, rank, dropped) return stop end}])
-- -> the next value (count: a list of them; nil: empty) | nil, err
function Map:pop(opts)
	local s = self_of(self, "map")
	opts = errors.check_options("map:pop", opts, { count = "integer", as = "string",
		follow = "function" })
	local mappop = require "ncclbpf.map.pop"
	if opts.follow then
		local each = errors.callback(opts.follow)
		return mappop.pop(s.group, s.name, { as = opts.as,
			follow = function(entries, member, dropped)
			for _, e in ipairs(entries) do
				if each(e.value, member.rank, dropped) then return true end
			end
		end })
	end
	local per, failures = try(mappop.pop(s.group, s.name,
		{ as = opts.as, count = opts.count, members = first(s.group) }))
	if #failures > 0 then return nil, session.sum_up(failures) end
	if not opts.count then return per[1].entries[1] and per[1].entries[1].value end
	return lists.map(per[1].entries, "value")
end

-- for value in m:take() do ... end removes the values that the map has now, one by one
function Map:take(opts)
	local s = self_of(self, "map")
	opts = errors.check_options("map:take", opts, { as = "string" })
	local list, at = {}, 0
	return function()
		at = at + 1
		if at > #list then
			local err
			list, err = Map.pop(self, { count = 256, as = opts.as })
			if not list then error(err, 2) end
			at = 1
		end
		return list[at]
	end, s.name
end

-- m:entries{limit=, all=true} -> list of {key, value}; all: one list for
-- each process, as {rank, pid, entries}
function Map:entries(opts)
	local s = self_of(self, "map")
	opts = errors.check_options("map:entries", opts, { limit = "integer", all = "boolean" })
	local per, failures = maps.dump(s.group, s.name, { limit = opts.limit,
		members = not opts.all and first(s.group) or nil })
	if #failures > 0 then return nil, session.sum_up(failures) end
	if not opts.all then return per[1].entries end
	return lists.map(per, function(p)
		return { rank = p.member.rank, pid = p.member.pid, entries = p.entries }
	end)
end

-- m:info() -> definition and fill, as `map show`
function Map:info()
	local s = self_of(self, "map")
	return try(maps.describe(s.group, s.name)).map
end
class.protect(Map)

new_map = class.new("map", Map, {
	__index = function(o, k)
		if Map[k] then return Map[k] end
		local v, err = map_get(self_of(o, "map"), k)
		if v == nil and err and err.code ~= "no_such_key" then error(err, 2) end
		return v
	end,
	__newindex = function(o, k, v)
		local ok, err = map_set(self_of(o, "map"), k, v)
		if not ok then error(err, 2) end
	end,
	-- read page by page, because a large map may not fit into memory
	__pairs = function(o)
		local st = self_of(o, "map")
		return maps.each(st.group, st.name, first(st.group)[1], false), o, nil
	end,
	__tostring = function(o)
		local s = state[o]
		return ("map %s of job %s"):format(s.name, tostring(s.group.job))
	end,
})

-- ---- targets ------------------------------------------------------------------------------

local Target = {}
local new_target

-- Return the processes of target @o; raises the reason why there are none.
local function group_of(o)
	local s = self_of(o, "target", 3)
	if s.app then
		-- The shell's own target follows attach and detach. Like a command, it attaches
		-- to the only job.
		if s.app.group then return s.app.group end
		local f = s.app.flags
		return try(s.app:attach({ pid = f.pid, job = f.job, socket = f.socket,
			ranks = f.ranks }, f.timeout))
	end
	if s.group.closed then error(errors.new("no_target", "the target is closed"), 0) end
	return s.group
end

-- Ask the lowest rank that answers; raises its error. -> data, or the list @field of it
local function ask_one(o, line, field)
	local d = try(group_of(o):one(line))
	if field then return d[field] or {} end
	return d
end

-- t:request(line) -> list of {rank, pid, site, data | err}, one a process | nil, err
function Target:request(line)
	check(line, "string", "target:request")
	return lists.map(group_of(self):ask(line), function(r)
		return { rank = r.member.rank, pid = r.member.pid, site = r.member.site,
			data = r.data, err = r.err }
	end)
end

-- t:change(line) -> the change, committed on all processes | nil, err
function Target:change(line)
	check(line, "string", "target:change")
	return group_of(self):change(line)
end

function Target:processes()
	return lists.map(group_of(self).members, function(m)
		return { rank = m.rank, pid = m.pid, site = m.site, job = m.job,
			host = m.hello and m.hello.host,
			attached = m.conn ~= nil, err = m.lost }
	end)
end

-- t:gin{contexts=, comm=} -> the peers of kernels in all processes, as the command gin | nil, err
function Target:gin(opts)
	opts = errors.check_options("target:gin", opts or {},
		{ contexts = "boolean", comm = "string" })
	return gin.rows(group_of(self), opts)
end

function Target:status() return ask_one(self, "status") end
function Target:doctor() return ask_one(self, "doctor", "checks") end
function Target:maps() return ask_one(self, "map list", "maps") end

-- Make a list of objects from the reply.
local function list_of(o, line, field, new)
	return lists.map(ask_one(o, line, field), function(d) return new(o, d) end)
end

-- t:policies(), t:comms() -> objects with the fields of the reply | nil, err
function Target:policies() return list_of(self, "policy list", "policies", objects.policy) end
function Target:comms() return list_of(self, "comm list", "comms", objects.comm) end

function Target:comm(id)
	check(id, "string", "target:comm")
	return objects.comm(self, ask_one(self, session.line { "comm", "show", id }))
end

-- t:map(name) -> map | nil, err
function Target:map(name)
	check(name, "string", "target:map")
	local g = group_of(self)
	try(maps.describe(g, name))
	return new_map { kind = "map", group = g, name = name }
end

-- t:policy(name) -> an object {name, digest, ...} with its variables in vars, by name or path
-- (p.vars.counter, p.vars["limits[2].bytes"] = 5) | nil, err. Reading asks the lowest rank that
-- answers. Writing stores in all processes.
local function section_of(g, name, path)
	local found
	for _, sec in ipairs { ".bss", ".data", ".rodata" } do
		local c, err = maps.describe(g, name .. "/" .. sec)
		if c then
			local ok, why = vars.find(c, path)
			if ok then return c, name .. "/" .. sec end
			found = found or why
		elseif err.code ~= "not_found" then
			return nil, err
		end
	end
	return nil, found or errors.new("not_found", ("policy %s has no variables"):format(name))
end

local new_vars = class.new("vars", {}, {
	__index = function(o, path)
		local s = self_of(o, "vars")
		local c, where = try(section_of(s.group, s.name,
			check(path, "string", "vars: name")))
		local d = try(s.group:one(session.line { "map", "get", where, maps.hex(vars.KEY) }))
		return (vars.value(c, path, maps.unhex(d.value), false))
	end,
	__newindex = function(o, path, value)
		local s = self_of(o, "vars")
		local c, where = try(section_of(s.group, s.name,
			check(path, "string", "vars: name")))
		session.answers(s.group:ask(try(vars.line(c, where, path, value))))
	end,
})

function Target:policy(name)
	check(name, "string", "target:policy")
	return objects.policy(self, ask_one(self, session.line { "policy", "show", name }))
end

-- t:policy_load{path=|policy=, name=} -> {name, digest, ...} | nil, err
function Target:policy_load(opts)
	opts = errors.check_options("target:policy_load", opts,
		{ path = "string", name = "string", policy = "table" })
	if not opts.path == not opts.policy then
		error("target:policy_load: option path or policy expected", 2)
	end
	if opts.policy and not tables.is_made(opts.policy) then
		error("target:policy_load: option policy: a policy made by nb.policy expected", 2)
	end
	local g = group_of(self)
	local image, info, bytes
	if opts.policy then
		bytes = opts.policy:image()
		if opts.name then
			bytes = try(core.image_named(bytes, opts.name))
		end
		image = core.image(bytes)
		info = image:info()
	else
		image, info, bytes = try(policy.open(opts.path, opts.name))
	end
	local results = try(policy.load(g, opts.name or info.name, bytes, image, info))
	if g.fleet then results = try(g:verified(opts.name or info.name, results)) end
	return objects.policy(self, results[1].data)
end

local function comm_option(g, v, what)
	if type(v) == "table" then v = table.concat(v, ",") end
	if v ~= nil then check(v, "string", what .. ": comm") end
	return try(reach.option(g, v))
end

-- t:policy_use("a", "b") or t:policy_use{"a", "b", comm=, if_generation=} -> change | nil, err.
-- comm: only for these communicators: identities, unique prefixes of identities, or "others"
function Target:policy_use(...)
	local names, opts = errors.names("target:policy_use",
		{ comm = true, if_generation = "integer" }, ...)
	if #names == 0 then error('target:policy_use: names expected, or "none"', 2) end
	local list = { "policy", "use" }
	for i, n in ipairs(names) do
		list[#list + 1] = check(n, "string", "target:policy_use: name " .. i)
	end
	local g = group_of(self)
	return g:change(session.line(list) .. comm_option(g, opts.comm, "target:policy_use")
		.. changes.if_generation(opts.if_generation))
end

-- t:policy_add(name[, {before=, position="first"|"last", comm=}]) -> change | nil, err
-- t:policy_move(name, {before=, position=, comm=}), t:policy_remove(name[,
-- {comm=}]): the same
for _, verb in ipairs { "add", "move", "remove" } do
	local what = "target:policy_" .. verb
	Target["policy_" .. verb] = function(self, name, place)
		check(name, "string", what)
		place = errors.check_options(what, place, verb ~= "remove"
			and { before = "string", position = "string", comm = true }
			or { comm = true })
		local g = group_of(self)
		return g:change(require("ncclbpf.policy.change").edit_line(verb, name, place)
			.. comm_option(g, place.comm, what))
	end
end

function Target:policy_unload(name)
	check(name, "string", "target:policy_unload")
	local results = group_of(self):ask(session.line { "policy", "unload", name })
	-- A process may have unloaded it at an attempt that another one refused.
	local had = lists.select(results, function(r)
		return not (r.err and r.err.code == "not_found")
	end)
	return session.answers(#had > 0 and had or results)[1].data
end

-- t:undo([{to=generation, if_generation=}]) -> change | nil, err
function Target:undo(opts)
	opts = errors.check_options("target:undo", opts,
		{ to = "integer", if_generation = "integer" })
	return group_of(self):change("policy undo" .. (opts.to and " to=" .. opts.to or "")
		.. changes.if_generation(opts.if_generation))
end

-- t:history() -> list of {generation, digest, policies, time, uid, pid, kept},
-- newest first | nil, err
function Target:history() return ask_one(self, "policy history", "history") end

-- t:explain(collective, bytes[, {comm=}]) -> steps and answer | nil, err
function Target:explain(coll, bytes, opts)
	check(coll, "string", "target:explain: collective")
	opts = errors.check_options("target:explain", opts, { comm = "string" })
	return ask_one(self, try(comm.explain_line(coll, bytes, opts.comm)))
end

-- Read a stream of the job. words: the request; each(item) converts an item of a reply
local function tail(o, words, opts, field, each)
	local line = ("%s count=%d%s"):format(words, opts.count or 20, opts.comm
		and " comm=" .. session.quote(opts.comm) or "")
	if not opts.follow then
		local list = ask_one(o, line, field)
		-- each communicator returns its latest decisions, so the sum may exceed count
		local t, skip = {}, math.max(0, #list - (opts.count or 20))
		for i = skip + 1, #list do t[i - skip] = each(list[i]) end
		return t
	end
	local take = errors.callback(opts.follow)
	return group_of(o):follow(line .. " follow=yes", function(data, m)
		for _, d in ipairs(data[field] or {}) do
			if take(each(d), m.rank) then return true end
		end
	end)
end

-- t:decisions{count=20, comm=, follow=function(d, rank) return stop end}
function Target:decisions(opts)
	opts = errors.check_options("target:decisions", opts,
		{ count = "integer", comm = "string", follow = "function" })
	return tail(self, "decision tail", opts, "decisions", function(d)
		return objects.decision(self, d)
	end)
end

function Target:trace(opts)
	opts = errors.check_options("target:trace", opts,
		{ count = "integer", follow = "function" })
	return tail(self, "trace tail", opts, "lines", function(d) return d end)
end

-- t:series{comm=, collectives={}, sizes="4M..128M", history=} -> a series of the times of
-- collectives
local function new_series(o, opts, name)
	local s = self_of(o, "target", 3)
	local g = s.app and s.app.group or s.group
	return series.live(function() return group_of(o) end, opts,
		"job " .. tostring(g and g.job or "?"), name, 3)
end
function Target:series(opts) return new_series(self, opts, "target:series") end

function Target:close()
	local s = self_of(self, "target")
	if s.group then s.group:close() end
end

new_target = class.new("target", Target, {
	__tostring = function(o)
		local s = state[o]
		local g = s.app and s.app.group or s.group
		if not g or g.closed then return "target: not attached" end
		return ("target: job %s, %s"):format(tostring(g.job),
			units.count(#g:living(), "process"))
	end,
	__close = function(o)
		local s = state[o]
		if s and s.group then s.group:close() end
	end,
	__gc = function(o)
		local s = state[o]
		if s and s.group then s.group:close() end
	end,
})

-- t:rollout(plan or path) -> a planned rollout; t:rollout() -> the job's rollout | nil, err
function Target:rollout(spec)
	self_of(self, "target")
	local rolloutobj = require "ncclbpf.api.rollout"
	local function group() return group_of(self) end
	if spec == nil then return rolloutobj.current(group) end
	if type(spec) ~= "string" then check(spec, "table", "target:rollout: plan") end
	local p, hooks = try((type(spec) == "string" and plan.read or plan.check)(spec))
	if hooks then
		return nil, errors.new("refused", "only the command rollout start runs hooks",
			{ object = spec, hint = "between two calls of rollout:step() " ..
				"a script runs its own code" })
	end
	return rolloutobj.planned(group, p)
end
class.protect(Target)

objects.bind { ask_one = ask_one, group_of = group_of, series = new_series, vars = function(o, name)
	return new_vars { group = group_of(o), name = name }
end }

-- ---- the module ------------------------------------------------------------------------------

-- nb.judge{a=, b=, block=, ...} -> verdict on two lists of samples
nb.judge = require("ncclbpf.rollout.judge").judge

-- nb.list() -> processes: {state, job, job_rank, pid, socket | reason, hint}
function nb.list()
	return (require("ncclbpf.commands.list").list())
end

-- nb.attach{pid=|job=|socket=, fleet=URLs, ranks={...}, timeout=} -> target | nil, err
nb.attach = errors.catch(function(opts)
	opts = errors.check_options("nb.attach", opts, {
		pid = "integer", job = "string", socket = "string", fleet = "string",
		ranks = "table", timeout = "number" })
	local group = try(session.attach({ pid = opts.pid, job = opts.job, socket = opts.socket,
		fleet = sites.named(opts), ranks = opts.ranks }, opts.timeout))
	local failure = group:failure()
	if failure then
		group:close()
		return nil, failure
	end
	return new_target { kind = "target", group = group }
end)

-- nb.build{path=, name=} -> image bytes, facts | nil, err
nb.build = errors.catch(function(opts)
	opts = errors.check_options("nb.build", opts, { path = "string", name = "string" })
	if not opts.path then error("nb.build: option path expected", 2) end
	local _, info, bytes = try(policy.open(opts.path, opts.name))
	return bytes, info
end)

-- nb.verify{path=} -> {accepted, programs, ...} | nil, err
nb.verify = errors.catch(function(opts)
	opts = errors.check_options("nb.verify", opts, {
		path = "string", coherence_off = "boolean" })
	if not opts.path then error("nb.verify: option path expected", 2) end
	local image, info = try(policy.open(opts.path, nil, opts.coherence_off and "off" or nil))
	return policy.verdict(image, info, { coherence_off = opts.coherence_off })
end)

-- nb.disassemble{path=} -> {name, digest, programs} | nil, err
nb.disassemble = errors.catch(function(opts)
	opts = errors.check_options("nb.disassemble", opts, { path = "string" })
	if not opts.path then error("nb.disassemble: option path expected", 2) end
	local image, info = try(policy.open(opts.path))
	return policy.dump(image, info)
end)

-- Return the shell for commands of a script: the running shell, or else a new one that attaches to
-- the only job.
local function app_of()
	if not nb._current then
		local app = require("ncclbpf.cli.app").new { format = "json" }
		app.keeps = true
		rawset(nb, "_current", app)
	end
	return nb._current
end

-- Run words; errors come back instead of being printed. -> status, text
local function run(list, opts)
	local app = app_of()
	local saved = { app.capture, app.capture_err, app.worst }
	local out, failure = {}, nil
	app.capture, app.capture_err = out, {}
	app.report = function(_, e)
		e = errors.caught(e)
		failure = failure or e
		return errors.status(e)
	end
	local ok, status = pcall(app.run, app, list, opts)
	app.report = nil
	app.capture, app.capture_err, app.worst = table.unpack(saved, 1, 3)
	if not ok then error(status, 0) end
	return status, table.concat(out), failure
end

-- nb.run(line[, {format=}]) -> text it would print, status | nil, err. The
-- command acts on the shell's target, or on one that its options name.
function nb.run(line, opts)
	check(line, "string", "nb.run")
	opts = errors.check_options("nb.run", opts, { format = "string" })
	local list, err = require("ncclbpf.cli.words").split(line)
	if not list then return nil, err end
	local flags = setmetatable({ format = opts.format }, { __index = app_of().flags })
	local status, text, failure = run(list, { flags = flags })
	if failure then return nil, failure end
	return text, status
end

-- nb.policy.load{"x.bpf.o"}, nb.map.dump{"limits", limit = 10}, ...: run a command of the
-- shell, named by its words. -> the data of its JSON form | nil, err
local function command(words)
	return function(arguments)
		if arguments ~= nil then
			check(arguments, "table", "nb." .. words:gsub(" ", "."))
		end
		local list = {}
		for w in words:gmatch("%S+") do list[#list + 1] = w end
		for _, v in ipairs(arguments or {}) do list[#list + 1] = tostring(v) end
		local literal = {}
		for k, v in pairs(arguments or {}) do
			if type(k) == "string" then
				literal[#literal + 1] = ("%s=%s"):format(k, tostring(v))
			end
		end
		table.sort(literal)
		table.move(literal, 1, #literal, #list + 1, list)
		local result
		local _, _, failure = run(list, { take = function(r) result = r end })
		if not result then return nil, failure end
		return result.data or {}, result.failure
	end
end

do
	for _, row in ipairs(require("ncclbpf.commands.rows").all()) do
		local noun, verb = row.words:match("^(%S+) (%S+)$")
		if noun then
			nb[noun] = nb[noun] or {}
			nb[noun][verb] = command(row.words)
		elseif type(row.run) == "function" and nb[row.words] == nil then
			nb[row.words] = command(row.words)
		end
	end
end

nb.policy.table, nb.policy.csv = tables.table, tables.csv
nb.policy.within = function(...) return require("ncclbpf.policy.restrict").within(...) end

-- nb.sweep{scope=, algos=, ..., data=, target=} -> result | nil, err (docs/sweep.md)
setmetatable(nb.sweep, { __metatable = "nb.sweep", __call = function(_, spec)
	return require("ncclbpf.commands.sweep").sweep(spec, function(target)
		return group_of(target or rawget(nb, "target")
			or error("nb.sweep: field target: a target of nb.attach expected, or data",
			0))
	end)
end })

-- nb.rollout{target=, ...plan...}, nb.rollout "plan.lua", nb.rollout(): like
-- target:rollout, for the named target or the shell's
setmetatable(nb.rollout, { __metatable = "nb.rollout", __call = function(_, spec)
	local t, target = spec, nil
	if type(spec) == "table" then
		t, target = {}, spec.target
		for k, v in pairs(spec) do
			if k ~= "target" then t[k] = v end
		end
	end
	target = target or rawget(nb, "target") or error(
		"nb.rollout: field target: a target of nb.attach expected", 2)
	if class.state[target] == nil or class.state[target].kind ~= "target" then
		error("nb.rollout: field target: a target of nb.attach expected", 2)
	end
	return Target.rollout(target, t)
end })

-- nb.series{file=}: read a file of NVIDIA's Inspector -> a series, a warning or nil | nil, err
function nb.series(opts)
	opts = errors.check_options("nb.series", opts, { file = "string" })
	if not opts.file then
		error("nb.series: option file expected; target:series is of a job", 2)
	end
	return series.file(opts.file)
end

nb.size, nb.duration = units.size, units.duration
nb.json = { encode = core.encode, decode = core.decode, array = core.array }
nb.time, nb.sleep, nb.mono = core.time, clock.sleep, clock.now

-- The methods of all objects, which a test compares with the meta file.
nb._methods = { target = Target, map = Map, policy = objects.methods.policy,
	comm = objects.methods.comm, decision = objects.methods.decision,
	series = series.methods, rollout = require("ncclbpf.api.rollout").methods }

-- Hooks of rollouts get a target of the rollout's group, and close it. The function is set
-- here because modules of the room rollout may not require this module.
class.makers.target = function(group) return new_target { app = { group = group } } end

-- Connect nb.target to the shell's current target.
function nb._app(app)
	rawset(nb, "_current", app)
	rawset(nb, "target", new_target { kind = "target", app = app })
end

return nb
