-- SPDX-License-Identifier: MIT
-- Changes at a fence: the option if_generation, and the result that a command shows.
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local M = {}

-- Return the text of an option for a request line. v nil: no option.
function M.if_generation(v)
	return v and " if_generation=" .. session.quote(v) or ""
end

-- Describe the communicators that keep their policies while they live. -> lines; an error if no
-- communicator changes, or nil
local function fixed(data)
	local comms, none = read.list(data, "comms"), read.text(data.why)
	local by, list, n = {}, {}, 0
	if none and none ~= "" then
		return {}, errors.new("refused", "no communicator changes: " .. none)
	end
	local late = 0 -- communicators that change when all of their ranks have registered
	local nameless = 0
	for _, c in ipairs(comms) do
		if c.state == "unchangeable" then
			local why = read.text(c.why)
			late = late + (why:find("ranks have registered", 1, true) and 1 or 0)
			nameless = nameless + (why:find("no identity", 1, true) and 1 or 0)
			why = why ~= "" and why or "no reason is known"
			local g = by[why] or lists.add(list, by, why, { why = why, comms = {} })
			g.comms[#g.comms + 1] = tostring(c.comm)
			n = n + 1
		end
	end
	local foot = lists.map(list, function(g)
		local who = #g.comms == 1 and "communicator " .. g.comms[1] .. " does not change"
			or ("%d communicators do not change"):format(#g.comms)
		return ("note: %s: %s"):format(who, g.why)
	end)
	if n == 0 then return foot end
	if nameless < n then
		foot[#foot + 1] = "note: new communicators within this host use the change"
	end
	if nameless > 0 then
		foot[#foot + 1] =
			"note: new communicators without identity start with NCCLBPF_POLICY, too"
	end
	if n < #comms then return foot end
	if late == n then
		return foot, errors.new("refused", "no communicator changes yet: " ..
			"ranks are missing, and the change waits for them")
	end
	return foot, errors.new("refused", n == 1
		and "no communicator changes: the job's only one keeps its policies while it lives"
		or ("no communicator changes: all %d keep their policies while they live")
			:format(n))
end

-- Return the outcome of a change as a command's result.
function M.result(ctx, data, verb)
	local rows = lists.map(read.list(data, "comms"), function(c)
		return { comm = c.comm, state = c.state, fence = c.fence, ranks = c.ranks,
			passed = c.passed,
			generation = data.generation, change = data.change }
	end)
	local head = ("%s: %s%s"):format(verb, tostring(data.state or "done"), data.generation
		and ", generation " .. tostring(data.generation) or "")
	local foot, failure = fixed(data)
	if ctx.flags.dry_run then
		foot[#foot + 1] = "dry run: every check passed; nothing has changed"
	end
	local same = not failure and read.number(data.same) or 0
	local empty = same == 1 and "the communicator has it already"
		or same > 1 and ("all %d communicators have it already"):format(same)
		or data.same and "no communicator spans several sites; each site changes its own "
			.. "communicators, and new ones use the change"
		or "no communicators yet; new communicators use the change"
	return {
		schema = "change/1", data = data, rows = #rows > 0 and rows
			or { { change = data.change, generation = data.generation,
			state = data.state } },
		failure = failure, merged = rows, id = "change", head = head, foot = foot,
		empty = not (ctx.flags.dry_run or failure) and empty or nil,
		columns = { { "comm" }, { "state" }, { "fence", num = true },
			{ "ranks", num = true }, { "passed", num = true },
			{ "generation", num = true, flat = true }, { "change", flat = true } },
	}
end

return M
