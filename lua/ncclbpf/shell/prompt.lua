-- SPDX-License-Identifier: MIT
-- The prompt: history, the state of the target, unfinished chunks, Ctrl-C and Ctrl-D.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local ascii = require "ncclbpf.base.ascii"
local lists = require "ncclbpf.base.lists"
local complete = require "ncclbpf.shell.complete"
local errors = require "ncclbpf.base.errors"
local merge = require "ncclbpf.job.merge"
local process = require "ncclbpf.base.process"

local M = {}

local HISTORY = 10000

-- ---- history --------------------------------------------------------------------------

local function history_path()
	local state = process.state_folder()
	return process.env "NCCLBPF_HISTORY" or state and state .. "/history"
end

local History = {}
History.__index = History

local function open_history(edit)
	local h = setmetatable({ edit = edit, path = history_path() }, History)
	if not h.path then return h end
	local dir = h.path:match("^(.*)/[^/]*$")
	if dir and dir ~= "" then core.mkdirs(dir) end
	local text = core.read(h.path, 16 << 20)
	local list = {}
	for line in (text or ""):gmatch("[^\n]+") do list[#list + 1] = line end
	for i = math.max(1, #list - HISTORY + 1), #list do
		edit.remember(list[i])
		h.last = list[i]
	end
	return h
end

-- Do not record repeated lines or lines that begin with a blank.
function History:add(line)
	if line == "" or line:match("^%s") or line == self.last then return end
	self.last = line
	self.edit.remember(line)
	if self.path then core.append(self.path, line .. "\n") end
end

local utf = core.utf8()

local function ask_quickly(group, line)
	local was = group.timeout
	group.timeout = clock.times.prompt
	local ok, results = pcall(group.ask, group, line)
	group.timeout = was
	group.trips = group.trips - 1
	return ok and results or {}
end

-- Return the text job/ranks #generation, with "!" if the ranks have different generations.
local function describe(app)
	local g = app.group
	if not g then return app.was and "(detached)" or "" end
	if #g:living() == 0 then return "(detached)" end
	local generation, disagree
	for _, r in ipairs(ask_quickly(g, "status")) do
		local n = r.data and r.data.generation
		if n and generation and n ~= generation then disagree = true end
		if n then generation = math.max(n, generation or n) end
	end
	local who = merge.cell(g:living())
	return ("%s/%s%s%s"):format(tostring(g.job), who, generation and " #" .. generation or "",
		disagree and "!" or "")
end

local function paint(text, color)
	return color and "\1\27[1m\1" .. text .. "\1\27[0m\1" or text
end

local function prompt_text(app)
	local what = app.label or ""
	return paint(what == "" and "ncclbpf>" or ("ncclbpf %s>"):format(what), app.color) .. " "
end

-- Events during the editing of a line.

local function descriptors(app)
	local t = {}
	if app.group then
		for _, m in ipairs(app.group:living()) do t[#t + 1] = m.conn:fd() end
	end
	return t
end

local function event(app)
	local g = app.group
	if not g then return nil end
	local before = g:living()
	if g:drain() == #before then return nil end
	local lost = lists.select(before, function(m) return not m.conn end)
	local left = #g:living()
	app.was = true
	app.label = left == 0 and "(detached)" or app.label
	local text = ("%s of job %s went away%s"):format(merge.who(lost), tostring(g.job),
		left == 0 and ": detached; attach finds a running job"
			or (", %d left"):format(left))
	return text, prompt_text(app)
end

-- ---- running --------------------------------------------------------------------------------

local function init_file(app)
	if app.flags.no_rc then return 0 end
	local config = process.env "XDG_CONFIG_HOME" or (process.env "HOME" or "") .. "/.config"
	local path = config .. "/ncclbpf/init.lua"
	if not core.stat(path) then return 0 end
	local text, err = core.read(path, 1 << 20)
	if not text then return app:report(errors.from_reply(err), "init file") end
	local f, why = load(text, "@" .. path, "t")
	if not f then
		return app:report(errors.new("bad_setting", why,
			{ hint = "--no-rc starts without it" }))
	end
	local ok, e = core.guard(app.flags.verbose, f)
	if not ok then
		e = errors.caught(e)
		return app:report(errors.new("bad_setting", e.message,
			{ where = path, hint = "--no-rc starts without it" }))
	end
	return 0
end

local function greet(app)
	local f = app.flags
	if f.quiet then return end
	local wish = { pid = f.pid, job = f.job, socket = f.socket, ranks = f.ranks }
	local ok, group, err = core.guard(false, app.attach, app, wish, f.timeout)
	if not ok then
		app:report(group, "attach")
	elseif group then
		local failure = group:failure()
		if failure then app:report(failure, "attach") end
	elseif next(wish) or err.code ~= "no_target" then
		app:report(err, "attach")
	else
		app:write(err.message .. "\n")
		if err.hint then app:write("hint: " .. err.hint .. "\n") end
	end
	app.worst = 0
end

local function farewell(app)
	if app.group and #app.group:living() > 0 and not app.flags.quiet then
		app:write(("the job continues; ncclbpf-shell -J %s attaches again\n"):format(
			tostring(app.group.job)))
	end
end

-- Run one line, which may be part of a chunk. -> the unfinished chunk, or nil
local function take(app, pending, line)
	local text = pending and pending .. "\n" .. line or line
	local ok, status = pcall(app.line, app, text)
	if not ok then
		app:report(status)
		return nil
	end
	if status == nil then return text end
	return nil
end

function M.run(app, host)
	local edit = require "ncclbpf.edit"
	app.color = app.flags.color == "always" or (app.flags.color ~= "never"
		and not os.getenv "NO_COLOR" and os.getenv "TERM" ~= "dumb")
	edit.start {
		complete = function(text) return complete.line(text, app.group, core.winsize()) end,
		descriptors = function() return descriptors(app) end,
		event = function() return event(app) end,
	}
	app.ask = function(question)
		local answer = edit.line(question)
		return answer and ascii.lower(answer):match("^y") ~= nil
	end
	app.pipe, app.pager = host.pipe, host.pipe
	app.on_attach = function() app.was = true end
	local history = open_history(edit)
	init_file(app)
	greet(app)
	local pending
	while not app.leave do
		app.label = describe(app)
		host.clear()
		local line, typed = edit.line(pending and (utf and "… " or "... ")
			or prompt_text(app))
		if line == nil then break end
		if line == false then
			host.clear()
			-- A Ctrl-C that clears a line does not count as the first of two that
			-- end the shell.
			if not typed and not pending and host.twice() then
				farewell(app)
				return 130
			end
			pending = nil
		else
			history:add(line)
			pending = take(app, pending, line)
		end
	end
	farewell(app)
	return 0
end

return M
