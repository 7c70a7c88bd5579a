-- SPDX-License-Identifier: MIT
-- Do the ranks agree? Asks the job, or reads the segment of a job that is gone.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- Meaning and severity of each verdict
local VERDICTS = {
	agreed = "agree",
	alone = "nothing to compare: fewer than two ranks with decisions here",
	tuner_calls_differ =
		"agree at each call of NCCL's API; the tuner was not asked equally often",
	api_calls_differ = "asked the tuner alike, but after DIFFERENT CALLS of NCCL's API",
	too_far_apart =
		"agree as far as they can be compared; some ranks are more than 1024 "
		.. "decisions apart",
	mismatched = "began with different policies, so they use none",
	diverged = "DISAGREE",
	diverged_before = "DISAGREE, since before the decisions that are kept",
}

local function choice(d)
	if type(d) ~= "table" then return "not kept" end
	local text = ("%s %s %s/%s"):format(tostring(d.coll), units.bytes(d.bytes),
		read.text(d.algo) or "?", read.text(d.proto) or "?")
	if read.number(d.channels) > 0 then text = text .. " x" .. d.channels end
	return text
end

-- Groups of ranks that decided alike, the largest first.
local function groups(members, seq)
	local by, list = {}, {}
	for _, m in ipairs(members) do
		local key = read.number(m.decisions) <= seq and "not come to it yet"
			or choice(m.decision)
		if not by[key] then
			by[key] = { answer = key, members = {} }
			list[#list + 1] = by[key]
		end
		local g = by[key].members
		g[#g + 1] = m
	end
	table.sort(list, function(a, b)
		if #a.members ~= #b.members then return #a.members > #b.members end
		return a.answer < b.answer
	end)
	return list
end

local function names(members)
	local t = {}
	for i, m in ipairs(members) do
		if i > 8 then
			t[#t + 1] = ("and %d more"):format(#members - 8)
			break
		end
		t[#t + 1] = ("%s (pid %s%s)"):format(tostring(m.slot), tostring(m.pid), m.live
			and "" or ", gone")
	end
	return table.concat(t, ", ")
end

local function first(members, field)
	for _, m in ipairs(members) do
		if type(m.decision) == "table" then return m.decision[field] end
	end
end

local function explain(t, c)
	local members = read.list(c, "members")
	if c.verdict == "tuner_calls_differ" then
		t[#t + 1] =
			"  NCCL 2.29 and later may ask it on some ranks alone: changes take "
			.. "effect at calls of the API, which all ranks count alike"
		if read.number(c.extra) > 0 then
			t[#t + 1] = (
				"  slot %s was asked %d time%s more than others among the "
				.. "decisions kept, first at its decision %s"):format(
				tostring(c.extra_slot), c.extra, c.extra == 1 and "" or "s",
					tostring(c.seq))
		end
		for _, m in ipairs(members) do
			t[#t + 1] = ("    slot %-4s %8s decisions after %8s calls"):format(
				tostring(m.slot), tostring(m.decisions), tostring(m.calls))
		end
	elseif c.verdict == "diverged" or c.verdict == "api_calls_differ" then
		t[#t + 1] = (c.earlier
			and "  they had differed before; the first of the decisions kept that "
			.. "differs is number %s:"
			or "  the first decision that differs is number %s:"):format(
				tostring(c.seq))
		for _, g in ipairs(groups(members, read.number(c.seq))) do
			local gen = first(g.members, "generation")
			t[#t + 1] = ("    %-40s %d rank%s: slot %s%s"):format(
				g.answer, #g.members, #g.members == 1 and "" or "s",
				names(g.members),
				gen and ", generation " .. tostring(gen) or "")
		end
		if read.number(c.extra) > 0 then
			t[#t + 1] = (
				"  slot %s made %d decision%s that the others did not, and "
				.. "goes on like them: a simulated group "
				.. "(ncclGroupSimulateEnd) on some ranks does that")
				:format(tostring(c.extra_slot), c.extra, c.extra == 1 and "" or "s")
		end
	elseif c.verdict == "diverged_before" then
		t[#t + 1] = (
			"  the running hashes differ, the decisions kept "
			.. "(from %s on) do not"):format(tostring(c.seq))
	end
	local waiting = {}
	for _, m in ipairs(members) do
		if m.waits then waiting[#waiting + 1] = m end
	end
	if #waiting > 0 then t[#t + 1] = "  waiting at a fence: slot " .. names(waiting) end
end

local function text(d, comms)
	local t = {}
	for _, c in ipairs(comms) do
		local v = VERDICTS[c.verdict] or tostring(c.verdict)
		t[#t + 1] = ("comm %s: %s of %s ranks here, compared up to decision %s: %s"):format(
			tostring(c.comm), tostring(c.here),
			tostring(c.ranks), tostring(c.compared_to), v)
		explain(t, c)
	end
	if #comms == 0 then t[#t + 1] = "no communicators" end
	if read.number(d.left_out) > 0 then
		t[#t + 1] = ("%d more communicators: ask for one with comm=ID"):format(d.left_out)
	end
	return table.concat(t, "\n")
end

-- All processes of a host share the segment, so the first answer counts. -> data | nil, err
local function ask(ctx, comm)
	local per = try(read.ask(ctx, "check agreement"
		.. (comm and " comm=" .. session.quote(comm) or "")))
	for _, r in ipairs(per) do
		if type(r.data) == "table" then return r.data end
	end
	return errors.fail("protocol", "check agreement: no answer that can be read")
end

function M.cmd_agreement(ctx)
	local comm = ctx.opt.comm or ctx.flags.comm
	local path = ctx.opt.segment or ctx.flags.segment
	local d, err
	if path then
		d, err = core.job_agreement(path, comm)
	else
		d, err = ask(ctx, comm)
	end
	if not d then return nil, err end
	local comms = read.list(d, "comms")
	local failure
	if d.agree == false then
		local n = 0
		for _, c in ipairs(comms) do
			if tostring(c.verdict):match "^diverged" or c.verdict == "mismatched"
				or c.verdict == "api_calls_differ" then
				n = n + 1
			end
		end
		failure = errors.new("ranks_disagree", (
			"ranks of %d communicator%s do not agree"):format(n, n == 1 and "" or "s"),
			{
			hint = "until they do no change can be had; policy use none and a new "
				.. "communicator is the way back",
		})
	end
	return {
		schema = "check.agreement/1", data = d, text = text(d, comms), rows = comms,
		id = "comm", failure = failure,
		columns = { { "comm" }, { "verdict" }, { "ranks", num = true },
			{ "here", num = true }, { "compared_to", num = true },
			{ "seq", num = true } },
	}
end

return M
