-- SPDX-License-Identifier: MIT
-- Commands that change the policies in use, and their history.
local format = require "ncclbpf.base.format"
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

local change = errors.catch(function(ctx, line, verb)
	local s = try(ctx:session())
	local start = start_option(ctx, s)
	-- undo and map changes concern all communicators, so the line has no option comm
	local to = try(reach.option(s, ctx.row and ctx.row.options.comm
		and ctx.opt.comm or nil))
	local data = try(s:change(line .. to .. changes.if_generation(
		ctx.opt.if_generation), { dry_run = ctx.flags.dry_run, start = start }))
	return changes.result(ctx, data, verb)
end)

-- Returns the policy that @word names. If @word is a file, the function loads it first, and also
-- returns a function that unloads it again. -> name, function? | nil, err
local held = errors.catch(function(ctx, word)
	if not policy.is_file(word) then return word end
	local image, info, bytes = try(policy.open(word))
	local s = try(ctx:session())
	local results, before = errors.about(policy.label(word),
		policy.load(s, info.name, bytes, image, info))
	return read.record(results[1].data).name or info.name, function()
		policy.unload(s, info.digest, results, before)
	end
end)

-- After a dry run, unload the files.
local function after(ctx, loaded)
	for _, unload_it in ipairs(ctx.flags.dry_run and loaded or {}) do unload_it() end
end

function M.cmd_use(ctx)
	local names, loaded, err = {}, {}, nil
	for i, w in ipairs(ctx.args) do
		local unload_it
		names[i], unload_it = held(ctx, w)
		if not names[i] then
			err = unload_it
			break
		end
		loaded[#loaded + 1] = unload_it
	end
	local result
	if not err then
		result, err = change(ctx, session.line { "policy", "use", table.unpack(names) },
			"policy use " .. table.concat(names, " "))
	end
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
	local name, unload_it = ctx.args[1], nil
	if verb == "add" then name, unload_it = held(ctx, name) end
	if not name then return nil, unload_it end
	local result, err = change(ctx, M.edit_line(verb, name, ctx.opt),
		ctx.row.words .. " " .. name)
	after(ctx, { unload_it })
	return result, err
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
