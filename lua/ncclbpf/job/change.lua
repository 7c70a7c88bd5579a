-- SPDX-License-Identifier: MIT
-- Changes at a fence: the option if_generation, and the result that a command shows.
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local M = {}

-- Return the text of an option for a request line. v nil: no option.
function M.if_generation(v)
	return v and " if_generation=" .. session.quote(v) or ""
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
	local foot = {}
	local nameless = false
	for _, c in ipairs(read.list(data, "comms")) do
		local why = read.text(c.why)
		if c.state == "unchangeable" and why and why ~= "" then
			foot[#foot + 1] = ("note: communicator %s does not change: %s"):format(
				tostring(c.comm), why)
		elseif c.state == "unchangeable" then
			nameless = true
		end
	end
	if nameless then
		foot[#foot + 1] = "note: communicators without an identity do not change; " ..
			"new communicators use the change"
	end
	if ctx.flags.dry_run then
		foot[#foot + 1] = "dry run: every check passed; nothing has changed"
	end
	local same = read.number(data.same)
	local empty = same == 1 and "the communicator has it already"
		or same > 1 and ("all %d communicators have it already"):format(same)
		or data.same and "no communicator spans several sites; each site changes its own "
			.. "communicators, and new ones use the change"
		or "no communicators yet; new communicators use the change"
	return {
		schema = "change/1", data = data, rows = #rows > 0 and rows
			or { { change = data.change, generation = data.generation,
			state = data.state } },
		merged = rows, id = "change", head = head, foot = foot,
		empty = not ctx.flags.dry_run and empty or nil,
		columns = { { "comm" }, { "state" }, { "fence", num = true },
			{ "ranks", num = true }, { "passed", num = true },
			{ "generation", num = true, flat = true }, { "change", flat = true } },
	}
end

return M
