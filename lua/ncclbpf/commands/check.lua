-- SPDX-License-Identifier: MIT
-- Check that all ranks have made the same decisions. Asks the job, or reads the segment of a job
-- that is gone.
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- The text for each verdict.
M.VERDICTS = {
	agreed = "agree",
	alone = "cannot be compared: no two ranks have made decisions here",
	counts_differ = "cannot be compared: COUNTS DIFFER (ranks decided more or less often)",
	tuner_calls_differ =
		"agree after each call of NCCL's API, although NCCL asked the tuner more often on "
			.. "some ranks",
	api_calls_differ = "got the same questions, but after DIFFERENT CALLS of NCCL's API",
	state_differs = "have decided alike, but the contents of their REPLICATED MAPS differ",
	too_far_apart =
		"agree at all comparable decisions; some ranks are more than 1024 decisions apart",
	mismatched = "started with different policies, so NCCL decides for them",
	diverged = "DISAGREE",
	diverged_before = "DISAGREE; the first difference is older than the recorded decisions",
}

local function choice(d)
	if type(d) ~= "table" then return "not kept" end
	local text = ("%s %s %s/%s"):format(tostring(d.coll), units.bytes(d.bytes),
		read.text(d.algo) or "?", read.text(d.proto) or "?")
	return text .. collectives.extras(d)
end

-- Return groups of ranks that decided alike, the largest first.
local function groups(members, seq)
	local by, list = {}, {}
	for _, m in ipairs(members) do
		local key = read.number(m.decisions) <= seq and "not reached yet"
			or choice(m.decision)
		if not by[key] then lists.add(list, by, key, { answer = key, members = {} }) end
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
		local rank = m.site and read.number(m.rank) >= 0 and "rank " .. m.rank .. ", " or ""
		t[#t + 1] = ("%s%s (%spid %s%s)"):format(tostring(m.slot),
			m.site and " of site " .. tostring(m.site) or "", rank, tostring(m.pid),
			m.live and "" or ", gone")
	end
	return table.concat(t, ", ")
end

local function first(members, field)
	for _, m in ipairs(members) do
		if type(m.decision) == "table" then return m.decision[field] end
	end
end

local function slot_name(c)
	return tostring(c.extra_slot) .. (c.extra_site and " of site " .. c.extra_site or "")
end

-- @calls: the text of a member's number of calls, or ""
local function list_members(t, c, calls)
	for _, m in ipairs(read.list(c, "members")) do
		t[#t + 1] = ("    slot %-4s %8s decisions%s%s"):format(tostring(m.slot),
			tostring(m.decisions), calls:format(tostring(m.calls)),
			m.site and " at site " .. tostring(m.site) or "")
	end
end

-- NCCL checks the configuration of a call on each rank alone.
local function list_offers(t, c)
	local list = read.list(c, "offers")
	if #list < 2 then return end
	t[#t + 1] = "  NCCL offered different choices for the same call: its ncclCollConfig_t and "
		.. "NCCL's variables must be the same on all ranks, and NCCL does not compare them"
	for _, o in ipairs(list) do
		t[#t + 1] = ("    slot %s%s, decision %s, %s %s: %s"):format(tostring(o.slot),
			o.site and " of site " .. tostring(o.site) or "", tostring(o.seq),
			tostring(o.coll), units.bytes(read.number(o.bytes)),
			collectives.offer(o.usable))
	end
end

local function explain(t, c)
	local members = read.list(c, "members")
	if c.verdict == "tuner_calls_differ" then
		t[#t + 1] =
			"  NCCL 2.29 and later may ask the tuner on some ranks only, so " ..
			"changes take effect at calls of NCCL's API, which all ranks " ..
			"count alike"
		if read.number(c.extra) > 0 then
			t[#t + 1] = (
				"  NCCL asked slot %s %s more than others among the "
					.. "recorded decisions, first at its decision %s"):format(
				slot_name(c), units.count(c.extra, "time"), tostring(c.seq))
		end
		list_members(t, c, " after %8s calls")
	elseif c.verdict == "counts_differ" then
		t[#t + 1] = ("  ranks have made %s to %s decisions"):format(
			tostring(c.least), tostring(c.most))
		t[#t + 1] = c.clock == "none"
			and "  NCCL 2.29 and later may ask the tuner on some ranks only: " ..
				"set NCCL_PROFILER_PLUGIN to ncclbpf in all processes, " ..
				"so ranks count calls of NCCL's API instead"
			or "  the other ranks are not asked, " ..
				"or have not reached their first decision"
		list_members(t, c, "")
	elseif c.verdict == "diverged" or c.verdict == "api_calls_differ" then
		t[#t + 1] = (c.earlier
			and "  the ranks had differed before; " ..
			"the first recorded decision that differs is number %s:"
			or "  the first decision that differs is number %s:"):format(
				tostring(c.seq))
		for _, g in ipairs(groups(members, read.number(c.seq))) do
			local gen = first(g.members, "generation")
			-- Each site has its own generation numbers.
			local by = c.sites and ", policies " .. (read.text(g.members[1].policies)
				or "?") or gen and ", generation " .. tostring(gen) or ""
			t[#t + 1] = ("    %-40s %s: slot %s%s"):format(g.answer,
				units.count(#g.members, "rank"), names(g.members), by)
		end
		if read.number(c.extra) > 0 then
			t[#t + 1] = (
				"  slot %s made %s that the others did not, " ..
				"and then decides like the others: " ..
				"a simulated group (ncclGroupSimulateEnd) on some ranks does that")
				:format(slot_name(c), units.count(c.extra, "decision"))
		end
	elseif c.verdict == "state_differs" then
		t[#t + 1] = ("  the first difference that is recorded is that after API call %s")
			:format(tostring(c.seq))
	elseif c.verdict == "diverged_before" then
		t[#t + 1] = (
			"  the running hashes differ, " ..
			"the recorded decisions (from %s on) are equal"):format(tostring(c.seq))
	end
	list_offers(t, c)
	local waiting = lists.select(members, function(m) return m.waits end)
	if #waiting > 0 then t[#t + 1] = "  waiting at a fence: slot " .. names(waiting) end
end

local function text(d, comms)
	local t = {}
	for _, c in ipairs(comms) do
		local v = M.VERDICTS[c.verdict] or tostring(c.verdict)
		local site = c.site and ("site %s: "):format(c.site) or ""
		local where = c.sites and "of " .. units.count(c.sites, "site") or "here"
		t[#t + 1] = site .. ("comm %s: %s of %s ranks %s, compared up to decision %s: %s")
			:format(tostring(c.comm), tostring(c.here), tostring(c.ranks), where,
				tostring(c.compared_to), v)
		explain(t, c)
	end
	if #comms == 0 then t[#t + 1] = "no communicators" end
	if read.number(d.left_out) > 0 then
		t[#t + 1] = ("%d more communicators: ask for one with comm=ID"):format(d.left_out)
	end
	return table.concat(t, "\n")
end

-- true: the ranks agree; false: they cannot be compared yet. All other verdicts are bad.
M.FINE = { agreed = true, tuner_calls_differ = true, alone = false, too_far_apart = false,
	counts_differ = false }

-- Combine the answers of all sites. @list: { {site=, data=, tracks=} }, where data is one
-- site's answer. For a communicator of several sites, the ranks of all sites are compared. ->
-- data; raises errors
local function of_sites(list, comm)
	local d, comms, left = { agree = true }, core.array {}, 0
	for _, x in ipairs(list) do
		left = left + read.number(x.data.left_out)
		for _, c in ipairs(read.list(x.data, "comms")) do
			if read.number(c.ranks) <= read.number(c.here) then
				c.site = x.site
				d.agree = d.agree and M.FINE[c.verdict] ~= nil
				comms[#comms + 1] = c
			end
		end
	end
	local shared = try(core.agreement_of(list, comm))
	d.agree = d.agree and shared.agree
	table.move(shared.comms, 1, #shared.comms, #comms + 1, comms)
	left = left + read.number(shared.left_out)
	d.comms, d.left_out = comms, left > 0 and left or nil
	return d
end

-- Ask one process of each site. If it does not answer, ask another process of the site.
local function ask_sites(s, line)
	local by, order, answers = {}, {}, {}
	for _, m in ipairs(s.members) do
		if not by[m.site] then order[#order + 1] = m.site end
		lists.push(by, m.site, m)
	end
	for round = 1, 3 do
		local members = {}
		for _, site in ipairs(order) do
			local m = by[site][round]
			if m and not (answers[site] and answers[site].data) then
				members[#members + 1] = m
			end
		end
		for _, r in ipairs(#members > 0
			and s:ask(line, { members = members, want_object = true }) or {}) do
			answers[r.member.site] = r
		end
	end
	return lists.map(order, function(site) return answers[site] end)
end

local TRIES = 3

-- All processes of a host share the segment, so the first process that answers is enough. -> data;
-- for several sites also the sites' answers and a site's failure; raises errors
local function ask(ctx, comm)
	local s = try(ctx:session())
	local line = "check agreement" .. reach.words(comm)
	if not s.fleet then
		for _, r in ipairs(try(read.ask(ctx, line))) do
			if type(r.data) == "table" then return r.data end
		end
		errors.raise("protocol",
			"check agreement: no process sent a reply that the shell can read")
	end
	local d, per, failure
	-- Sites answer at different times. If a rank has overwritten all decisions that
	-- could be compared, ask again.
	for _ = 1, TRIES do
		local list, far, _ = {}, false, nil
		per, _, failure = try(read.ask(ctx, line,
			{ results = ask_sites(s, line .. " tracks=yes") }))
		for i, r in ipairs(per) do
			list[i] = { site = r.member.site, data = r.data, tracks = r.object or "" }
		end
		d = of_sites(list, comm)
		for _, c in ipairs(d.comms) do far = far or c.verdict == "too_far_apart" end
		if not far then break end
	end
	return d, per, failure
end

-- Compare the ranks in the segment files @paths of one job, one file for each host. -> data;
-- raises errors
local function read_files(paths, comm)
	if #paths == 1 then return (try(core.job_agreement(paths[1], comm))) end
	local list, seen = {}, {}
	for i, path in ipairs(paths) do
		if seen[path] then
			errors.raise("usage", "segment=%s is given twice", path)
		end
		seen[path] = true
		local d, tracks = try(core.job_agreement(path, comm))
		list[i] = { site = path, data = d, tracks = tracks }
	end
	return of_sites(list, comm)
end

function M.cmd_agreement(ctx)
	local comm = ctx.opt.comm
	local d, fleet, failure
	if ctx.opt.segment then
		d = read_files(ctx.opt.segment, comm)
	else
		d, fleet, failure = ask(ctx, comm)
	end
	local comms = read.list(d, "comms")
	if d.agree == false then
		local n, used, offers = 0, false, false
		for _, c in ipairs(comms) do
			for _, m in ipairs(read.list(c, "members")) do
				used = used or (read.text(m.policies) or "") ~= ""
			end
			if tostring(c.verdict):match "^diverged" or c.verdict == "mismatched"
				or c.verdict == "api_calls_differ"
				or c.verdict == "state_differs" then
				n = n + 1
				offers = offers or #read.list(c, "offers") > 0
			end
		end
		failure = errors.new("ranks_disagree", ("ranks of %s do not agree"):format(
			units.count(n, "communicator")), {
			hint = offers and "give all ranks the same NCCL_ variables, " ..
				"and each call the same ncclCollConfig_t on all ranks"
				or used and "no change is possible until they agree; " ..
				"give policy use none and start a new communicator"
				or "no policy is in use, so compare what NCCL decides by: " ..
				"its version, its NCCL_ variables and the GPUs of these ranks",
		})
	end
	return {
		schema = "check.agreement/1", data = d, text = text(d, comms), rows = comms,
		id = "comm", failure = failure,
		columns = read.with_site({ { "comm" }, { "verdict" }, { "ranks", num = true },
			{ "here", num = true }, { "compared_to", num = true },
			{ "seq", num = true } }, fleet or {}),
	}
end

return M
