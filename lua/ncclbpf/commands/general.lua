-- SPDX-License-Identifier: MIT
-- Processes and the shell itself: list, attach, detach, status, doctor, help.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local commands = require "ncclbpf.commands.rows"
local format = require "ncclbpf.base.format"
local merge = require "ncclbpf.job.merge"
local net = require "ncclbpf.commands.net"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local target = require "ncclbpf.job.target"
local help = require "ncclbpf.commands.topics"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- ---- list ---------------------------------------------------------------------------

function M.list()
	local sockets, problems, gone = target.sockets()
	local rows, known = {}, {}
	for i, s in ipairs(sockets) do
		known[s.pid] = s.job
		rows[i] = { state = "attachable", job = s.job, job_rank = s.rank, pid = s.pid,
			uid = s.uid, socket = s.path }
	end
	local others, unreadable, found = target.others(known)
	for _, s in ipairs(found) do
		rows[#rows + 1] = { state = "attachable", job = s.job, job_rank = s.rank,
			pid = s.pid, uid = s.uid, socket = s.path }
	end
	for _, o in ipairs(others) do
		rows[#rows + 1] = { state = o.launched and "launcher" or "no plugin", pid = o.pid,
			command = o.command, reason = o.reason, hint = o.hint }
	end
	return rows, problems, gone, unreadable
end

-- Two processes with the same rank: two jobs share a name. -> message, hint | nil
local function twice(job, members)
	local by, ranks, seen = {}, {}, {}
	for _, m in ipairs(members) do
		if type(m.rank) == "number" then
			if by[m.rank] and not seen[m.rank] then
				seen[m.rank] = true
				ranks[#ranks + 1] = m.rank
			end
			by[m.rank] = true
		end
	end
	if #ranks == 0 then return nil end
	return ("job %s has several processes of rank%s %s: two jobs seem "
		.. "to share the name"):format(tostring(job), #ranks == 1 and "" or "s",
		units.ranges(ranks)),
		"set NCCLBPF_JOB to a name of its own for each job"
end

function M.cmd_list(ctx)
	local rows, problems, gone, unreadable = M.list()
	local jobs, order, foot = {}, {}, {}
	for _, r in ipairs(rows) do
		if r.state == "attachable" then
			if not jobs[r.job] then
				jobs[r.job] = {}
				order[#order + 1] = r.job
			end
			table.insert(jobs[r.job], r)
		end
	end
	local merged = {}
	for _, job in ipairs(order) do
		local list, pids = jobs[job], {}
		local members = {}
		for i, r in ipairs(list) do
			members[i] = { rank = r.job_rank, pid = r.pid }
			pids[i] = r.pid
		end
		local found, hint = twice(job, members)
		if found then
			foot[#foot + 1] = "note: " .. found
			foot[#foot + 1] = "hint: " .. hint
		end
		merged[#merged + 1] = { job = job, processes = #list, ranks = merge.cell(members),
			pids = units.ranges(pids), state = "attachable" }
	end
	for _, r in ipairs(rows) do
		if r.state ~= "attachable" then
			merged[#merged + 1] = { processes = 1, pids = r.pid,
				state = ("%s: %s"):format(r.state, r.reason) }
			if r.hint then
				foot[#foot + 1] = ("hint: pid %d: %s"):format(r.pid, r.hint)
			end
		end
	end
	for _, p in ipairs(problems) do foot[#foot + 1] = "note: " .. p.message end
	if #gone > 0 and ctx.flags.verbose then
		for _, g in ipairs(gone) do
			foot[#foot + 1] = "note: removed stale socket " .. g.path
		end
	end
	if unreadable > 0 and (ctx.flags.verbose or #rows == 0) then
		foot[#foot + 1] = ("note: %d processes of other users were not looked at"):format(
			unreadable)
	end
	return {
		schema = "list/1", rows = rows, merged = merged, id = "pid", foot = foot,
		data = { processes = core.array(rows), directories = core.array(
			target.directories()), stale_removed = #gone },
		empty = ("no process with NCCL (looked in %s)"):format(
			table.concat(target.directories(), ", ")),
		columns = {
			{ "job" }, { "processes", title = "PROCESSES", num = true, people = true },
			{ "ranks", people = true }, { "pids", people = true },
			{ "state" }, { "job_rank", flat = true }, { "pid", flat = true },
			{ "uid", flat = true }, { "command", flat = true },
			{ "reason", flat = true }, { "socket", flat = true },
		},
	}
end

-- ---- attach ---------------------------------------------------------------------------

-- The target that the arguments of `attach` select: a number is a process, a path a socket,
-- another word a job.
function M.wish(args, opt)
	local wish = {}
	local word = args[1]
	if word and word:find("/", 1, true) then
		wish.socket = word
	elseif word and word:match("^%d+$") then
		wish.pid = math.tointeger(tonumber(word))
	elseif word then
		wish.job = word
	end
	if opt.pid then
		wish.pid = math.tointeger(tonumber(opt.pid))
		if not wish.pid then
			return errors.fail("usage", "pid=%s: a process number expected", opt.pid)
		end
	end
	wish.job = opt.job or wish.job
	wish.socket = opt.socket or wish.socket
	if opt.ranks then
		wish.ranks = units.ranks(opt.ranks)
		if not wish.ranks then
			return errors.fail("usage", "ranks=%s: ranks as 0-7,12 expected", opt.ranks)
		end
	end
	return wish
end

local member_columns = { { "job" }, { "rank", num = true }, { "pid", num = true }, { "host" },
	{ "role" }, { "version" },
	{ "tuner_abi", title = "TUNER", num = true }, { "state" } }

local function member_rows(s)
	local rows = {}
	for i, m in ipairs(s.members) do
		local h = m.hello or {}
		rows[i] = { job = m.job, rank = m.rank, pid = m.pid, host = h.host, role = h.role,
			version = h.version,
			tuner_abi = h.tuner_abi, state = m.conn and "attached" or m.lost
				and m.lost.message or "lost" }
	end
	return rows
end

function M.cmd_attach(ctx)
	local wish = try(M.wish(ctx.args, ctx.opt))
	-- Without arguments, use the flags of the shell.
	if not next(wish) then wish = ctx:wish() end
	local s = try(ctx.app:attach(wish, ctx:timeout()))
	local rows = member_rows(s)
	local failure = s:failure()
	return { schema = "attach/1", data = { members = core.array(rows) }, rows = rows,
		columns = member_columns, id = "pid",
		failure = failure, head = ("attached to job %s, %d process%s"):format(
			s.job, #s:living(), #s:living() == 1 and "" or "es") }
end

function M.cmd_detach(ctx)
	if not ctx.app.group then return errors.fail("no_target", "not attached") end
	local job = ctx.app.group.job
	ctx.app:detach()
	return { schema = "detach/1", data = { job = job }, rows = { { job = job } },
		columns = { { "job" } }, text = "detached from job " .. tostring(job) }
end

-- ---- status ---------------------------------------------------------------------------

local function sum_counters(per, field)
	local sum, names = {}, {}
	for _, r in ipairs(per) do
		for k, v in pairs(read.record(r.data[field])) do
			if type(v) == "number" and v ~= 0 then
				if not sum[k] then names[#names + 1] = k end
				sum[k] = (sum[k] or 0) + v
			end
		end
	end
	table.sort(names)
	local t = {}
	for i, k in ipairs(names) do t[i] = ("%s %d"):format(k, sum[k]) end
	return #t > 0 and table.concat(t, ", ") or "none"
end

local function lost_counters(per)
	local text = sum_counters(per, "events_lost")
	return text ~= "none" and text or nil
end

local function total(v)
	return type(v) == "table" and #v or v
end

local status_fields = {
	{ "version", function(d) return d.version end },
	{ "tuner", function(d)
		return d.tuner_abi == 0 and "NCCL has not called yet"
			or "v" .. tostring(d.tuner_abi)
	end },
	{ "coherence", function(d) return d.coherence end },
	{ "generation", function(d) return d.generation end, ahead = true },
	{ "digest", function(d) local t = read.text(d.digest)
		return t and t:find("[^0]") and t:sub(1, 8)
	end },
	{ "policies", function(d)
		local p = d.policies
		local text = type(p) == "table" and #p > 0 and format.plain(p):gsub(",", ", ")
			or "none, NCCL decides"
		for _, l in ipairs(reach.lines(d)) do text = text .. "; " .. l end
		return text
	end },
	{ "communicators", function(d) return total(d.comms) end, range = true },
	{ "decisions", function(d) return total(d.decisions) end, range = true },
	{ "uptime", function(d) return read.number(d.uptime_s) // 10 * 10 end, range = true,
		show = units.seconds },
}

local function range_of(items, show)
	local lo, hi = math.huge, -math.huge
	for _, it in ipairs(items) do
		if type(it.value) == "number" then
			lo, hi = math.min(lo, it.value), math.max(hi, it.value)
		end
	end
	if lo > hi then return "-" end
	lo, hi = show and show(lo) or lo, show and show(hi) or hi
	return lo == hi and tostring(lo) or lo .. ".." .. hi
end

-- Wrapped plugins, one line for each kind and state.
local function chain_line(c)
	if c.state == "left_out" then
		return ("%s is left out: %s"):format(c.path, tostring(c.why))
	end
	if c.state ~= "in_use" then return ("%s waits for NCCL's first call"):format(c.path) end
	local line = ("%s (%s, v%d) is called first"):format(
		c.path, tostring(c.name), read.number(c.interface))
	if read.number(c.errors) + read.number(c.refused) > 0 then
		line = ("%s; %d errors%s, %d answers not taken"):format(
			line, c.errors, read.text(c.failed) and (" (%s first)"):format(c.failed)
			or "", c.refused)
	end
	return line
end

local function chain_rows(per, add)
	local seen = {}
	for _, r in ipairs(per) do
		for _, c in ipairs(read.list(r.data, "chains")) do
			local key, line = "chained " .. c.kind, chain_line(c)
			if not seen[key .. line] then add(key, line) end
			seen[key .. line] = true
		end
	end
end

-- All processes share the controllers' state: show the newest reply.
local function controllers_line(per)
	local best
	for _, r in ipairs(per) do
		local c = r.data.controllers
		if type(c) == "table" and (not best or read.number(c.runs) > read.number(
			best.runs)) then
			best = c
		end
	end
	if not best then return nil end
	local who = best.paused == true and "paused" or read.number(best.elected) > 0
		and "run by process " .. best.elected or "nobody runs them yet"
	local line = ("%s; %d runs, %d changes, %d failures"):format(
		who, read.number(best.runs), read.number(best.changes), read.number(best.failures))
	return read.text(best.error) and line .. ", the last: " .. best.error or line
end

local function status_text(s, per, verbose)
	local rows, notes = {}, {}
	local members = {}
	for i, r in ipairs(per) do members[i] = r.member end
	local function add(k, v) rows[#rows + 1] = { k = k, v = v } end
	add("job", ("%s, %d process%s, %s"):format(s.job, #per, #per == 1 and "" or "es",
		merge.who(members)))
	for _, f in ipairs(status_fields) do
		local items = {}
		for i, r in ipairs(per) do
			items[i] = { member = r.member, value = f[2](r.data) }
		end
		if f.range then
			add(f[1], range_of(items, f.show))
		else
			local groups = merge.groups(items)
			add(f[1], groups[1].text == "" and "-" or groups[1].text)
			local note = merge.outliers(f[1], groups,
				{ ahead = f.ahead, verbose = verbose })
			if note then notes[#notes + 1] = "note: " .. note end
		end
	end
	for _, r in ipairs(per) do
		if read.text(r.data.times) then
			add("times", r.data.times)
			break
		end
	end
	add("kept NCCL's", sum_counters(per, "counters"))
	local seg = per[1].data.segment
	if type(seg) == "table" and read.text(seg.path) then
		add("segment", ("%s, %s"):format(seg.path, seg.shared == true
			and "shared by " .. tostring(seg.processes) or "not shared"))
	end
	chain_rows(per, add)
	local loop = controllers_line(per)
	if loop then add("controllers", loop) end
	local lost = lost_counters(per)
	if lost then add("events lost", lost) end
	local nets = {}
	for i, r in ipairs(per) do nets[i] = read.record(r.data.net) end
	local line = net.line(nets)
	if line then add("net", line) end
	local found, hint = twice(s.job, members)
	if found then
		notes[#notes + 1] = "note: " .. found
		notes[#notes + 1] = "hint: " .. hint
	end
	for _, r in ipairs(per) do
		for _, o in ipairs(read.list(r.data, "overdue")) do
			local text =
				"note: process %s: communicator %s rank slot %s has been inside "
				.. "decision %s for %s s"
			notes[#notes + 1] = text:format(tostring(r.data.pid), tostring(o.comm),
				tostring(o.slot), tostring(o.decision), tostring(o.seconds))
		end
	end
	for _, r in ipairs(per) do
		if read.number(r.data.diverged) > 0 then
			notes[#notes + 1] = (
				"note: ranks of %d communicator%s have decided differently"):format(
				r.data.diverged,
				r.data.diverged == 1 and "" or "s")
			notes[#notes + 1] = "hint: check agreement"
			break
		end
	end
	for _, r in ipairs(per) do
		if type(r.data.error) == "table" then
			notes[#notes + 1] = ("note: %s: NCCLBPF_POLICY: %s"):format(
				merge.who { r.member }, tostring(r.data.error.message))
			if read.text(r.data.error.hint) and r.data.error.hint ~= "" then
				notes[#notes + 1] = "hint: " .. r.data.error.hint
			end
			break
		end
	end
	local lines = format.table({ { "k" }, { "v" } }, rows, { quiet = true })
	for _, n in ipairs(notes) do lines[#lines + 1] = n end
	return table.concat(lines, "\n")
end

function M.cmd_status(ctx)
	local per, data, failure = try(read.ask(ctx, "status"))
	local rows = {}
	for i, r in ipairs(per) do
		local d = r.data
		rows[i] = { rank = r.member.rank, pid = r.member.pid, job = d.job,
			version = d.version, uptime_s = d.uptime_s, tuner_abi = d.tuner_abi,
			coherence = d.coherence, generation = d.generation, digest = d.digest,
			policies = d.policies, comms = total(d.comms),
			decisions = total(d.decisions), error = type(d.error) == "table"
				and d.error.message or nil }
		for k, v in pairs(read.record(d.counters)) do
			rows[i]["counter_" .. tostring(k)] = v
		end
	end
	local columns = {}
	for i, n in ipairs { "rank", "pid", "job", "version", "uptime_s", "tuner_abi", "coherence",
		"generation", "digest", "policies", "comms", "decisions", "error" } do
		columns[i] = { n }
	end
	return { schema = "status/1", data = data, rows = rows, columns = columns, id = "pid",
		failure = failure,
		text = status_text(ctx.temporary or ctx.app.group, per, ctx.flags.verbose) }
end

-- env list, set, unset, forget: all of them answer with the list.
function M.cmd_env(ctx)
	local words = { "env", ctx.row.words:match "^env (.*)$" }
	for _, a in ipairs(ctx.args) do words[#words + 1] = a end
	return read.command(ctx, {
		schema = "env/1", line = session.line(words), name = "name", id = "name",
		rows = function(d)
			local rows = {}
			for i, v in ipairs(read.list(d, "variables")) do
				rows[i] = { name = v.name, value = read.text(v.value)
					or "(not set)", by = v.by,
					old = v.met ~= true and "-" or read.text(v.old)
						or "(not set)" }
			end
			return rows
		end,
		columns = { { "name" }, { "value" }, { "by" }, { "old", title = "IN PLACE OF" } },
		empty = "NCCL finds the environment as it is",
	})
end

local worst = { ok = 0, warn = 1, bad = 2 }

function M.cmd_doctor(ctx)
	local result, err = read.command(ctx, {
		schema = "doctor/1", line = "doctor", name = "name",
		-- Merge checks that are ok; show the others of each process.
		id = function(row)
			return ("%s\0%s\0%s"):format(row.name, row.level, row.level == "ok" and ""
				or row.text)
		end,
		rows = function(d) return read.list(d, "checks") end,
		columns = { { "name", title = "CHECK" }, { "level" },
			{ "text", title = "FOUND", merge = "first" }, { "hint", flat = true } },
		empty = "nothing to check",
	})
	if not result then return nil, err end
	local s = ctx.temporary or ctx.app.group
	local found, hint = twice(s.job, s.members)
	if found then
		local row = { name = "job", level = "warn", text = found, hint = hint }
		result.rows[#result.rows + 1], result.merged[#result.merged + 1] = row, row
	end
	local seen = {}
	for _, row in ipairs(result.merged) do
		if read.text(row.hint) and row.hint ~= "" and row.level ~= "ok"
			and not seen[row.hint] then
			seen[row.hint] = true
			result.foot[#result.foot + 1] = ("hint: %s: %s"):format(row.name, row.hint)
		end
	end
	table.sort(result.merged, function(a, b)
		local x, y = worst[a.level] or 0, worst[b.level] or 0
		if x ~= y then return x > y end
		return tostring(a.name) < tostring(b.name)
	end)
	for _, row in ipairs(result.merged) do
		if row.level == "bad" then result.status = 2 end
	end
	return result
end

function M.cmd_change_status(ctx)
	local function rows(d)
		local last = read.record(d.last)
		local list = read.list(last, "comms")
		for i, c in ipairs(list) do
			list[i] = { comm = c.comm, fence = c.fence, ranks = c.ranks,
				passed = c.passed, fence_state = c.state,
				behind = #read.record(c.behind) > 0 and table.concat(c.behind, ",")
					or nil }
		end
		if #list == 0 then list[1] = {} end
		for _, row in ipairs(list) do
			row.staged, row.change, row.state, row.generation = d.staged, last.change,
				last.state, last.generation
		end
		return list
	end
	return read.command(ctx, {
		schema = "change.status/1", line = "change status", id = function(row)
			return tostring(row.comm or "the last change")
		end,
		name = "change", rows = rows,
		columns = { { "staged", show = format.short },
			{ "change", title = "LAST", show = format.short }, { "state" },
			{ "generation", num = true, ahead = true }, { "comm" },
			{ "fence", num = true }, { "ranks", num = true },
			{ "passed", num = true, merge = "max" }, { "behind", wide = true },
			{ "fence_state", flat = true } },
	})
end

-- ---- help -----------------------------------------------------------------------------

-- Rows of the shell's table. Commands that only the target knows, or that the shell passes on
-- unchanged, have the target's text.
function M.help_rows(ctx, ask)
	local rows, seen = {}, {}
	for _, c in ipairs(commands.all()) do
		seen[c.words] = true
		rows[#rows + 1] = { words = c.words, syntax = c.syntax, role = c.role,
			help = c.help, where = c.served and "target" or "shell" }
	end
	if ask and (ctx.temporary or ctx.app.group) then
		local d = read.one(ctx, "help")
		for _, c in ipairs(read.list(d, "commands")) do
			if type(c.words) == "string" and not commands.hidden[c.words] then
				if not seen[c.words] then
					rows[#rows + 1] = {
						words = c.words, syntax = c.syntax, role = c.role,
						help = c.help, where = "target" }
				elseif commands.find(c.words).served
					and not commands.find(c.words).run then
					for _, r in ipairs(rows) do
						if r.words == c.words then
							r.syntax, r.help, r.role = c.syntax, c.help,
								c.role
						end
					end
				end
			end
		end
	end
	table.sort(rows, function(a, b) return a.words < b.words end)
	return rows
end

function M.cmd_help(ctx)
	local want = table.concat(ctx.args, " ")
	local topic = help.topic(want)
	if topic then
		return { schema = "help/1", data = { topic = want, text = topic }, text = topic,
			rows = { { topic = want, text = topic } }, prose = true,
			id = "topic", columns = { { "topic" }, { "text" } } }
	end
	local all = M.help_rows(ctx, true)
	local rows = {}
	for _, r in ipairs(all) do
		if want == "" or r.words == want or r.words:sub(1, #want + 1) == want .. " " then
			rows[#rows + 1] = r
		end
	end
	if #rows == 0 then
		local words = commands.nouns()
		table.move(help.words(), 1, #help.words(), #words + 1, words)
		for _, r in ipairs(all) do
			if r.words:find(" ") then words[#words + 1] = r.words end
		end
		return nil, errors.new("usage", ("no command and no topic %s"):format(want),
			{ hint = errors.nearest(want, words)
				or "topics are: " .. table.concat(help.words(), ", ") })
	end
	local result = { schema = "help/1", data = { commands = core.array(rows) }, rows = rows,
		id = "words", prose = true,
		columns = { { "words", title = "COMMAND" }, { "syntax", title = "ARGUMENTS" },
			{ "role", wide = true }, { "where", wide = true },
			{ "help", title = "WHAT IT DOES" } } }
	if #rows == 1 then
		local r = rows[1]
		local known = commands.find(r.words)
		local text = { (r.words .. " " .. r.syntax):gsub(" $", "") .. "\n    " .. r.help }
		for _, o in ipairs(known and commands.options(known)
			or {}) do
			text[#text + 1] = ("    %-15s %s"):format(o[1] .. "=", o[2])
		end
		if known and known.details then
			text[#text + 1] = "\n    " .. known.details:gsub("\n", "\n    ")
		end
		result.text = table.concat(text, "\n")
		if r.role == "control" then
			result.text = result.text
				.. "\n\n    It changes the job: not with --role=observe."
		end
	elseif want == "" then
		result.foot = {
			"options: -p PID -J JOB -r RANKS -c COMM -S SOCKET -T SECONDS -o "
			.. "FORMAT -q -v -n -y (--help explains them)",
			"topics: help " .. table.concat(help.words(), ", help ") }
	end
	return result
end

return M
