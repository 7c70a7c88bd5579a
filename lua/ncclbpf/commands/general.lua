-- SPDX-License-Identifier: MIT
-- Processes and the shell itself: list, attach, detach, status, doctor, help.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local commands = require "ncclbpf.commands.rows"
local format = require "ncclbpf.base.format"
local jobs = require "ncclbpf.commands.list"
local merge = require "ncclbpf.job.merge"
local gin = require "ncclbpf.commands.gin"
local net = require "ncclbpf.commands.net"
local profiler = require "ncclbpf.job.profiler"
local verbs = require "ncclbpf.commands.verbs"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local help = require "ncclbpf.commands.topics"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- ---- attach ---------------------------------------------------------------------------

-- Return the target that the argument of `attach` selects: a number is a process, a path a socket,
-- another word a job.
local function wish_of(word)
	if not word then return {} end
	if word:find("/", 1, true) then return { socket = word } end
	if word:match("^%d+$") then return { pid = math.tointeger(tonumber(word)) } end
	return { job = word }
end

local member_columns = { { "job" }, { "rank", num = true, flat = true },
	{ "pid", num = true, flat = true }, { "ranks", people = true, wrap = true },
	{ "pids", people = true, wrap = true }, { "host", drop = 1 },
	{ "role" }, { "version", drop = 2 },
	{ "tuner_abi", title = "TUNER", num = true }, { "state" } }

-- Combine the rows of processes that differ only in rank and PID.
local function folded(rows)
	local by, list = {}, {}
	for _, r in ipairs(rows) do
		local key = table.concat({ tostring(r.job), tostring(r.site),
			tostring(r.host), tostring(r.role),
			tostring(r.version), tostring(r.tuner_abi), r.state }, "\0")
		local g = by[key] or lists.add(list, by, key,
			setmetatable({ members = {}, all = {} }, { __index = r }))
		table.insert(g.members, { rank = r.rank, pid = r.pid })
		table.insert(g.all, r.pid)
	end
	for _, g in ipairs(list) do
		g.ranks, g.pids = merge.cell(g.members), units.ranges(g.all)
	end
	return list
end

local function member_rows(s)
	return lists.map(s.members, function(m)
		local h = m.hello or {}
		return { job = m.job, site = m.site, rank = m.rank, pid = m.pid, host = h.host,
			role = h.role, version = h.version, tuner_abi = h.tuner_abi,
			state = m.conn and "attached" or m.lost and m.lost.message or "lost" }
	end)
end

function M.cmd_attach(ctx)
	local wish = wish_of(ctx.args[1])
	-- Without arguments, use the flags of the shell.
	if not next(wish) then wish = ctx:wish() end
	wish.fleet = wish.fleet or sites.named(ctx.flags)
	wish.ranks = ctx.flags.ranks
	local s = try(ctx.app:attach(wish, ctx:timeout()))
	local rows = member_rows(s)
	local failure = s:failure()
	return { schema = "attach/1", data = { members = core.array(rows) }, rows = rows,
		merged = folded(rows), id = "pid", columns = s.fleet and table.move(
			member_columns, 1, #member_columns, 2, { { "site" } }) or member_columns,
		failure = failure, head = ("attached to job %s, %s%s"):format(
			s.job, units.count(#s:living(), "process"), s.fleet
				and " of " .. units.count(merge.sites(s:living()), "site")
				or "") }
end

function M.cmd_detach(ctx)
	if not ctx.app.group then return errors.fail("no_target", "not attached") end
	local job = ctx.app.group.job
	ctx.app:detach()
	return { schema = "detach/1", data = { job = job }, rows = { { job = job } },
		columns = { { "job" } }, text = "detached from job " .. tostring(job) }
end

-- ---- status ---------------------------------------------------------------------------

local function total(v)
	return type(v) == "table" and #v or v
end

-- Fields of `status`: name, value of a reply; without a function, the reply's field of this name
local status_fields = {
	{ "version" }, { "tuner", function(d)
		return d.tuner_abi == 0 and "NCCL has not called yet"
			or "v" .. tostring(d.tuner_abi)
	end },
	{ "library", function(d) return read.text(d.library) end },
	{ "coherence" }, { "generation", ahead = true }, { "digest", function(d)
		local t = read.text(d.digest)
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
	local lo, hi = merge.extent(items)
	if not lo then return "-" end
	lo, hi = show and show(lo) or lo, show and show(hi) or hi
	return lo == hi and tostring(lo) or lo .. ".." .. hi
end

-- List the wrapped plugins: one line for each kind and state.
local function chain_line(c)
	if c.state == "left_out" then
		return ("%s is left out: %s"):format(c.path, tostring(c.why))
	end
	if c.state ~= "in_use" then return ("%s waits for NCCL's first call"):format(c.path) end
	local line = ("%s (%s, v%d) is called first"):format(
		c.path, tostring(c.name), read.number(c.interface))
	if read.number(c.errors) + read.number(c.refused) > 0 then
		line = ("%s; %d errors%s, %d answers refused"):format(
			line, c.errors, read.text(c.failed) and (" (%s first)"):format(c.failed)
			or "", c.refused)
	end
	return line
end

local function chain_rows(per, add)
	local seen = {}
	for c in read.each(per, "chains") do
		local key, line = "chained " .. c.kind, chain_line(c)
		if not seen[key .. line] then add(key, line) end
		seen[key .. line] = true
	end
end

-- All processes share the controllers' state: show the newest reply.
local function controllers_line(per)
	local best, site
	for _, r in ipairs(per) do
		local c = r.data.controllers
		if type(c) == "table" and (not best or read.number(c.runs) > read.number(
			best.runs)) then
			best, site = c, r.member.site
		end
	end
	if not best then return nil end
	local who = best.paused == true and "paused" or read.number(best.elected) > 0
		and ("run by process %s%s"):format(best.elected, site and " of site " .. site or "")
		or "no process runs them yet"
	local line = ("%s; %d runs, %d changes, %d failures"):format(
		who, read.number(best.runs), read.number(best.changes), read.number(best.failures))
	return read.text(best.error) and line .. ", the last: " .. best.error or line
end

-- List the segments. A job of several hosts has one at each site; they are in the order of
-- site names.
local function segment_rows(per, add)
	local by, names = {}, {}
	for _, r in ipairs(per) do
		local site = r.member.site or ""
		if not by[site] then names[#names + 1] = site end
		by[site] = by[site] or { members = {} }
		local b, seg = by[site], r.data.segment
		table.insert(b.members, r.member)
		if not b.text and type(seg) == "table" and read.text(seg.path) then
			b.text = ("%s, %s"):format(seg.path, seg.shared == true
				and "shared by " .. tostring(seg.processes) or "not shared")
		end
	end
	table.sort(names)
	for _, site in ipairs(names) do
		local text = by[site].text
		if site ~= "" then
			add("site", ("%s, %s%s"):format(site, merge.who(by[site].members),
				text and ", segment " .. text or ""))
		elseif text then
			add("segment", text)
		end
	end
end

local function status_text(s, per, verbose)
	local rows, notes = {}, {}
	local members = lists.map(per, "member")
	local function add(k, v) rows[#rows + 1] = { k = k, v = v } end
	add("job", ("%s, %s, %s"):format(s.job, units.count(#per, "process"), merge.who(members)))
	for _, f in ipairs(status_fields) do
		local items = lists.map(per, function(r)
			local value = r.data[f[1]]
			if f[2] then value = f[2](r.data) end
			return { member = r.member, value = value }
		end)
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
	-- Return the first value that pick(reply) gives, and its process.
	local function first(pick)
		for _, r in ipairs(per) do
			local v = pick(r.data)
			if v then return v, merge.who { r.member } end
		end
	end
	local function note(fmt, ...) notes[#notes + 1] = fmt:format(...) end
	local times = first(function(d) return read.text(d.times) end)
	if times then add("times", times) end
	add("dropped", read.counters(per, "counters") or "none")
	segment_rows(per, add)
	chain_rows(per, add)
	local loop = controllers_line(per)
	if loop then add("controllers", loop) end
	local lost = read.counters(per, "events_lost")
	if lost then add("events lost", lost) end
	for _, x in ipairs { { "net", net }, { "gin", gin }, { "verbs", verbs } } do
		local line = x[2].line(read.records(per, x[1]))
		if line then add(x[1], line) end
	end
	local found, hint = jobs.twice(s.job, members)
	if found then
		note("note: %s\nhint: %s", found, hint)
	end
	for _, text in ipairs(profiler.refused(per)) do notes[#notes + 1] = text end
	for o, r in read.each(per, "overdue") do
		note("note: process %s: "
			.. "communicator %s rank slot %s has been inside decision %s for %s s",
			tostring(r.data.pid), tostring(o.comm), tostring(o.slot),
			tostring(o.decision), tostring(o.seconds))
	end
	local n = first(function(d) return read.number(d.diverged) > 0 and d.diverged end)
	if n then
		note("note: ranks of %s have decided differently\nhint: check agreement",
			units.count(n, "communicator"))
	end
	local text, who = first(function(d) return read.text(d.notice) end)
	if text then note("note: %s: %s\nhint: doctor", who, text) end
	text, who = first(function(d) return read.text(d.uncompiled) end)
	if text then
		note("note: %s: the interpreter runs the policies: %s\nhint: doctor", who, text)
	end
	local err
	err, who = first(function(d) return type(d.error) == "table" and d.error end)
	if err then
		note("note: %s: NCCLBPF_POLICY: %s", who, tostring(err.message))
		if (read.text(err.hint) or "") ~= "" then note("hint: %s", err.hint) end
	end
	local lines = format.table({ { "k" }, { "v" } }, rows, { quiet = true })
	for _, n in ipairs(notes) do lines[#lines + 1] = n end
	return table.concat(lines, "\n")
end

local FIELDS = { "rank", "pid", "job", "version", "uptime_s", "tuner_abi", "coherence",
	"generation", "digest", "policies", "comms", "decisions", "error" }

function M.cmd_status(ctx)
	local per, data, failure = try(read.ask(ctx, "status"))
	local rows = lists.map(per, function(r)
		local row, d = {}, r.data
		for _, name in ipairs(FIELDS) do row[name] = d[name] end
		row.comms, row.decisions = total(d.comms), total(d.decisions)
		row.error = read.record(d.error).message
		for k, v in pairs(read.record(d.counters)) do
			row["counter_" .. tostring(k)] = v
		end
		return read.identify(row, r.member)
	end)
	return { schema = "status/1", data = data, rows = rows, id = "pid", failure = failure,
		columns = read.with_site(format.columns(FIELDS), per),
		text = status_text(ctx.temporary or ctx.app.group, per, ctx.flags.verbose) }
end

-- The commands env list, set, unset and remove. Each of them replies with the list of
-- overrides.
function M.cmd_env(ctx)
	local words = { "env", ctx.row.words:match "^env (.*)$" }
	for _, a in ipairs(ctx.args) do words[#words + 1] = a end
	return read.command(ctx, {
		schema = "env/1", line = session.line(words), name = "name", id = "name",
		rows = function(d)
			return lists.map(read.list(d, "variables"), function(v)
				return { name = v.name, value = read.text(v.value)
					or "(not set)", by = v.by,
					old = v.met ~= true and "-" or read.text(v.old)
						or "(not set)" }
			end)
		end,
		columns = { { "name" }, { "value", wrap = true }, { "by" },
			{ "old", title = "IN PLACE OF" } },
		empty = "no variable is overridden",
	})
end

local worst = { ok = 0, warn = 1, bad = 2 }

function M.cmd_doctor(ctx)
	local result, err = read.command(ctx, {
		schema = "doctor/1", line = "doctor", name = "name",
		-- Show one row for a check that is ok in all processes, and a row for each
		-- process that differs.
		id = function(row)
			return ("%s\0%s\0%s"):format(row.name, row.level, row.level == "ok" and ""
				or row.text)
		end,
		rows = function(d) return read.list(d, "checks") end,
		columns = { { "name", title = "CHECK" }, { "level" },
			{ "text", title = "FOUND", merge = "first", wrap = true },
			{ "hint", flat = true } },
		empty = "",
	})
	if not result then return nil, err end
	local s = ctx.temporary or ctx.app.group
	local found, hint = jobs.twice(s.job, s.members)
	if found then
		local row = { name = "job", level = "warn", text = found, hint = hint }
		result.rows[#result.rows + 1], result.merged[#result.merged + 1] = row, row
	end
	local wrong = lists.select(result.merged, function(row) return row.level ~= "ok" end)
	local names, seen = lists.set(lists.map(wrong, "name")), {}
	local fine = lists.select(result.merged, function(row)
		return row.level == "ok" and not names[row.name]
	end)
	for _, row in ipairs(wrong) do
		if row.level == "bad" then result.status = 2 end
		if read.text(row.hint) and row.hint ~= "" and not seen[row.hint] then
			seen[row.hint] = true
			result.foot[#result.foot + 1] = ("hint: %s: %s"):format(row.name, row.hint)
		end
	end
	table.sort(wrong, function(a, b)
		local x, y = worst[a.level] or 0, worst[b.level] or 0
		if x ~= y then return x > y end
		return tostring(a.name) < tostring(b.name)
	end)
	table.sort(fine, lists.by "name")
	result.merged = wrong
	local line = ("%s ok on %s"):format(units.count(#fine, "check"),
		units.count(#s:living(), "process"))
	if ctx.flags.verbose then
		table.move(fine, 1, #fine, #wrong + 1, wrong)
	elseif #wrong == 0 then
		result.empty = "nothing wrong: " .. line
		result.foot[#result.foot + 1] = "next: choices shows who decides at each size, "
			.. "policy new NAME makes a policy"
	elseif #fine > 0 then
		result.foot[#result.foot + 1] = line
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
			{ "fence", num = true }, { "ranks", num = true, merge = "sites" },
			{ "passed", num = true, merge = "sites" }, { "behind", wide = true },
			{ "fence_state", flat = true } },
	})
end

-- ---- help -----------------------------------------------------------------------------

-- Return the rows of the shell's table with their help texts. The target supplies the text of
-- commands that only it knows, or that the shell passes on unchanged.
function M.help_rows(ctx, ask)
	local rows, by = {}, {}
	local function add(c, where)
		local row = by[c.words] or lists.add(rows, by, c.words, { words = c.words })
		row.syntax, row.role, row.help, row.where = c.syntax, c.role, c.help, where
	end
	for _, c in ipairs(commands.all()) do add(c, c.served and "target" or "shell") end
	local d = ask and (ctx.temporary or ctx.app.group) and read.one(ctx, "help")
	for _, c in ipairs(read.list(d, "commands")) do
		local known = commands.find(c.words)
		if type(c.words) == "string" and not commands.hidden[c.words]
			and (not known or known.served and not known.run) then
			add(c, "target")
		end
	end
	table.sort(rows, function(a, b) return a.words < b.words end)
	return rows
end

-- A command belongs to the group that has its noun, or to the last group if none has.
local function group_of(words)
	local noun = words:match "^%S+"
	for _, g in ipairs(commands.groups) do
		if lists.has(g.nouns, noun) then return g end
	end
	return commands.groups[#commands.groups]
end

-- Write "status", "env list" and "env set" as "status; env: list, set".
local function short_list(rows)
	local alone, nouns, verbs = {}, {}, {}
	for _, r in ipairs(rows) do
		local noun, verb = r.words:match "^(%S+) (%S+)$"
		if not noun then
			alone[#alone + 1] = r.words
		else
			if not verbs[noun] then nouns[#nouns + 1] = noun end
			lists.push(verbs, noun, verb)
		end
	end
	local t = lists.map(nouns, function(noun)
		return noun .. ": " .. table.concat(verbs[noun], ", ")
	end)
	if #alone > 0 then table.insert(t, 1, table.concat(alone, ", ")) end
	return table.concat(t, "; ")
end

-- Show all groups, with their purposes and commands.
local function overview(rows)
	local t, by = {}, {}
	for _, r in ipairs(rows) do lists.push(by, group_of(r.words), r) end
	for _, g in ipairs(commands.groups) do
		t[#t + 1] = ("%-13s %s"):format(g.name, g.help)
		t[#t + 1] = ("%-13s %s"):format("", short_list(by[g] or {}))
	end
	t[#t + 1] = "\nMore: help GROUP, help COMMAND"
	t[#t + 1] = "Topics: help " .. table.concat(help.words(), "|")
	t[#t + 1] = "Options: -p PID -J JOB -S SOCKET -r RANKS -T SECONDS -o FORMAT -q -v -n -y " ..
		"(--help explains them)"
	return table.concat(t, "\n")
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
	local rows, group = {}, nil
	for _, g in ipairs(commands.groups) do
		if g.name == want then group = g end
	end
	for _, r in ipairs(all) do
		r.group = group_of(r.words).name
		if want == "" or group and r.group == want or r.words == want
			or r.words:sub(1, #want + 1) == want .. " " then
			rows[#rows + 1] = r
		end
	end
	if #rows == 0 then
		local words = commands.nouns()
		for _, g in ipairs(commands.groups) do words[#words + 1] = g.name end
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
		columns = { { "words", title = "COMMAND" },
			{ "syntax", title = "ARGUMENTS", wide = true, wrap = true },
			{ "group", flat = true }, { "role", wide = true }, { "where", wide = true },
			{ "help", title = "WHAT IT DOES" } } }
	if #rows == 1 then
		local r = rows[1]
		local known = commands.find(r.words)
		local text = { (r.words .. " " .. r.syntax):gsub(" $", "") .. "\n    " .. r.help }
		for _, o in ipairs(known and commands.options(known) or {}) do
			text[#text + 1] = ("    %-15s %s"):format(o[1] .. "=", o[2])
		end
		if known and known.details then
			text[#text + 1] = "\n    " .. known.details:gsub("\n", "\n    ")
		end
		result.text = table.concat(text, "\n")
		if r.role == "control" then
			result.text = result.text .. "\n\n    This command changes the job, "
				.. "so --role=observe refuses it."
		end
	elseif want == "" then
		result.text = overview(rows)
	elseif group then
		result.head = group.help .. "\n"
	end
	return result
end

return M
