-- SPDX-License-Identifier: MIT
-- Commands that change the policies in use, and their history.
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local changes = require "ncclbpf.job.change"
local errors = require "ncclbpf.base.errors"
local policy = require "ncclbpf.policy.policy"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

-- Read the option start: will a job of this name also start with the policies?
local function start_option(ctx, s)
	if not ctx:yes "start" then return false end
	if not s.fleet then
		errors.raise("usage", "start=yes is for jobs of several hosts: " ..
			"set NCCLBPF_POLICY for job %s", tostring(s.job))
	end
	if ctx.opt.comm then
		errors.raise("usage", "start=yes and comm= exclude each other: " ..
			"a job starts with one list of policies")
	end
	return true
end

-- @readable: the command in the words of the user, for audit, if @line has others
local change = errors.catch(function(ctx, line, verb, readable)
	local s = try(ctx:session())
	local start = start_option(ctx, s)
	-- undo and map changes concern all communicators, so the line has no option comm
	local to = try(reach.option(s, ctx.row and ctx.row.options.comm
		and ctx.opt.comm or nil))
	local data = try(s:change(line .. to .. changes.if_generation(
		ctx.opt.if_generation), { dry_run = ctx.flags.dry_run, start = start,
		readable = readable }))
	return changes.result(ctx, data, verb)
end)

-- Load an image into the job. @label: what the user calls it -> its digest for requests (because
-- others may load a policy of the same name meanwhile), its name, a function that unloads it again,
-- what the compiler tells (or nil) | nil, err
local load_image = errors.catch(function(ctx, label, image, info, bytes)
	local s = try(ctx:session())
	local results, before = errors.about(label, policy.load(s, info.name, bytes, image, info))
	local name = read.record(results[1].data).name or info.name
	-- a change of several sites carries policies by name
	return s.fleet and name or info.digest, name, function()
		policy.unload(s, info.digest, results, before)
	end, info.warnings
end)

-- Returns the policy that @word names. If @word is a file, or a policy of the job with values of
-- its parameters, the function loads it first, and also returns a function that unloads it again,
-- and what the compiler tells. -> word for requests, name, function?, text? | nil, err
local held = errors.catch(function(ctx, word)
	local _, values = policy.split(word)
	if not policy.is_file(word) and not values then return word, word end
	return load_image(ctx, policy.label(word), try(policy.resolve(ctx, word)))
end)

-- Explain why a process no longer holds the policy @word that this command has loaded.
local function explain_loss(err, word, name)
	if err and err.code == "not_found" and word ~= name and err.message:find(word, 1, true) then
		err.hint = ("another policy %s was loaded meanwhile: repeat the command"):format(
			name)
	end
end

-- Append what the compilers told to the lines below a result.
local function with_warnings(result, warnings)
	for _, text in ipairs(result and warnings or {}) do
		result.foot = result.foot or {}
		table.insert(result.foot, text)
	end
end

-- After a dry run, unload the files.
local function after(ctx, loaded)
	for _, unload_it in ipairs(ctx.flags.dry_run and loaded or {}) do unload_it() end
end

function M.cmd_use(ctx)
	local words, names, loaded, warnings, err = {}, {}, {}, {}, nil
	for i, w in ipairs(ctx.args) do
		local unload_it
		words[i], names[i], unload_it, warnings[#warnings + 1] = held(ctx, w)
		if not words[i] then
			err = names[i]
			break
		end
		loaded[#loaded + 1] = unload_it
	end
	local result
	if not err then
		result, err = change(ctx, session.line { "policy", "use", table.unpack(words) },
			"policy use " .. table.concat(names, " "))
		for i, word in ipairs(words) do explain_loss(err, word, names[i]) end
	end
	with_warnings(result, warnings)
	after(ctx, loaded)
	return result, err
end

-- Return the request line of policy add, remove or move.
function M.edit_line(verb, name, place)
	local words = { "policy", verb, name }
	for _, k in ipairs { "before", "position" } do
		local v = place and place[k]
		if v then words[#words + 1] = k .. "=" .. v end
	end
	return session.line(words)
end

function M.cmd_edit(ctx)
	local verb = ctx.row.words:match "%S+$"
	local word, name, unload_it, told = ctx.args[1], ctx.args[1], nil, nil
	if verb == "add" then word, name, unload_it, told = held(ctx, word) end
	if not word then return nil, name end
	local result, err = change(ctx, M.edit_line(verb, word, ctx.opt),
		ctx.row.words .. " " .. name)
	explain_loss(err, word, name)
	with_warnings(result, { told })
	after(ctx, { unload_it })
	return result, err
end

-- Let a policy take the place of @old. @new, @name, @unload_it, @told: as load_image returns them.
-- -> result | nil, err
local function replace(ctx, verb, old, new, name, unload_it, told)
	local result, err = change(ctx, session.line { "policy", "replace", old, new }, verb, verb)
	explain_loss(err, new, name)
	with_warnings(result, { told })
	after(ctx, { unload_it })
	return result, err
end

function M.cmd_replace(ctx)
	local old = ctx.args[1]
	local new, name, unload_it, told = held(ctx, ctx.args[2])
	if not new then return nil, name end
	return replace(ctx, ("policy replace %s %s"):format(old, name), old, new, name, unload_it,
		told)
end

-- Return the digest of the policy in use that @word names; raises errors
local function in_use(ctx, word)
	local found, held_too, names = {}, false, {}
	for _, p in ipairs(read.list(try(read.one(ctx, "policy list")), "policies")) do
		local digest = tostring(p.digest)
		if p.name == word or #word >= 8 and digest:sub(1, #word) == word then
			held_too = true
			local used = p.position or #read.record(p.comms) > 0
			found[#found + 1] = used and digest or nil
		end
		if p.position then names[#names + 1] = p.name end
	end
	if #found == 1 then return found[1] end
	if #found > 1 then
		local short = table.concat(lists.map(found, format.short), ", ")
		error(errors.new("bad_argument",
			("%d policies %s are in use: %s"):format(#found, word, short),
			{ hint = "give the digest of one of them in place of the name" }), 0)
	end
	error(errors.new("not_found", ("policy %s is not in use"):format(word), { hint = held_too
		and ("policy use '%s?NAME=VALUE' uses it with these values"):format(word)
		or errors.nearest(word, names)
		or "policy list shows the policies in use, in order" }), 0)
end

-- Change parameters of a policy in use. Parameters that the words do not name keep their values.
function M.cmd_set(ctx)
	local word = ctx.args[1]
	local digest = in_use(ctx, word)
	local values = table.concat(ctx.args, ",", 2)
	local new, name, unload_it, told = load_image(ctx, word,
		policy.exported(ctx, digest, values, word))
	if not new then return nil, name end
	return replace(ctx, ("policy set %s %s"):format(word, values), digest, new, name, unload_it,
		told)
end

function M.cmd_undo(ctx)
	local line = "policy undo" .. (ctx.opt.to and " to=" .. session.quote(ctx.opt.to) or "")
	local result, err = change(ctx, line, line)
	if not result or ctx.flags.dry_run then return result, err end
	-- Show the policies after the undo.
	local d = read.one(ctx, "status")
	if d and d.generation == result.data.generation and type(d.policies) == "table" then
		result.head = ("%s, policies %s"):format(
			result.head, #d.policies > 0 and table.concat(d.policies, ", ") or "none")
	end
	if not ctx.opt.to then
		result.foot[#result.foot + 1] = "policy undo again takes this back; "
			.. "policy undo to=GENERATION goes further (policy history)"
	end
	return result
end

-- "user@host", or nil.
local function by_whom(by)
	local user, host = read.text(read.record(by).user), read.text(read.record(by).host)
	return user and host and ("%s@%s"):format(user, host) or user or host
end

function M.cmd_history(ctx)
	-- Each site of a fleet commits a generation by its own agent.
	local own = try(ctx:session()).fleet and "first" or nil
	return read.command(ctx, {
		schema = "policy.history/1", line = "policy history", id = "generation",
		rows = function(d)
			local rows = {}
			for i, h in ipairs(read.list(d, "history")) do
				local names = {}
				for k, n in ipairs(type(h.policies) == "table" and h.policies
					or {}) do
					names[k] = tostring(n)
				end
				rows[i] = { generation = h.generation, policies = #names > 0
					and table.concat(names, ", ") or "none",
					scoped = read.text(h.scoped), digest = h.digest,
					time = h.time, by_uid = h.uid, by_pid = h.pid,
					by = by_whom(h.by), by_start = h.start,
					rollout = read.text(read.record(h.by).rollout),
					process = read.text(read.record(h.by).process),
					undo = h.generation == d.generation and "in use" or h.kept
						and "yes" or "no" }
			end
			return rows
		end,
		columns = { { "generation", num = true },
			{ "policies", show = function(v, row)
				return row.scoped and ("%s; %s"):format(tostring(v), row.scoped)
					or v
			end },
			{ "scoped", flat = true }, { "digest", show = format.short }, { "time" },
			{ "by_uid", num = true, wide = true },
			{ "by_pid", num = true, wide = true, merge = own }, { "by", drop = 1 },
			{ "by_start", num = true, flat = true, merge = own },
			{ "rollout", flat = true },
			{ "process", flat = true }, { "undo" } },
		foot = function()
			return { "policy undo to=GENERATION goes back to one of these" }
		end,
	})
end

function M.cmd_unload(ctx)
	local dry = ctx.flags.dry_run
	return read.command(ctx, {
		schema = "policy.unload/1", line = session.line {
			"policy", "unload", ctx.args[1] } .. (dry and " commit=no" or ""),
			id = "digest", name = "name",
		-- A process may have unloaded it at an attempt that another one refused.
		opts = { absent = "not_found" },
		rows = function(d)
			return { { name = d.name, digest = d.digest, state = dry
				and "would be unloaded" or "unloaded" } }
		end,
		columns = { { "name" }, { "digest", show = format.short }, { "state" } },
	})
end

return M
