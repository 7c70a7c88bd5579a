-- SPDX-License-Identifier: MIT
-- Does NCCL call a profiler? All times come from it.
local errors = require "ncclbpf.base.errors"
local read = require "ncclbpf.job.read"

local M = {}

-- NCCL has a profiler interface since 2.23. The tuner interface that it has chosen tells releases
-- apart: 2.21 takes v2, 2.22 and 2.23 take v3.
local SET = "start the job with NCCL_PROFILER_PLUGIN set like NCCL_TUNER_PLUGIN"
local HINTS = { [2] = "this is NCCL 2.21, which has no profiler; times need NCCL 2.23 or newer",
	[3] = "NCCL 2.22 has no profiler; with NCCL 2.23, " .. SET }

-- Return what to do about the processes of @members in which NCCL calls no profiler.
function M.hint(members)
	local oldest
	for _, m in ipairs(members) do
		local abi = read.number(m.hello and m.hello.tuner_abi)
		if abi > 0 and (not oldest or abi < oldest) then oldest = abi end
	end
	return HINTS[oldest] or SET
end

-- Return the notes for those of the replies @per in whose processes NCCL has called no profiler.
function M.notes(per)
	local silent = {}
	for _, r in ipairs(per) do
		if read.number(r.data.profiler_abi) == 0 then silent[#silent + 1] = r.member end
	end
	if #silent == 0 then return {} end
	return { ("note: NCCL has called no profiler in %d of %d processes"):format(#silent, #per),
		"hint: " .. M.hint(silent) }
end

-- Return the notes for the replies @per in which NCCL is not asked for GPU times, because it would
-- find too little room: one for each reason.
function M.refused(per)
	local count, order, notes = {}, {}, {}
	for _, r in ipairs(per) do
		local why = r.data and read.text(r.data.no_gpu_times)
		if why and not count[why] then order[#order + 1] = why end
		if why then count[why] = (count[why] or 0) + 1 end
	end
	for i, why in ipairs(order) do
		local of = count[why] < #per and (" (%d of %d processes)"):format(count[why], #per)
		notes[i] = "note: " .. why .. (of or "")
	end
	return notes
end

-- Return the first reason among the replies @per, or nil.
function M.why(per)
	for _, r in ipairs(per) do
		local why = r.data and read.text(r.data.no_gpu_times)
		if why then return why end
	end
end

-- Does the group @g make decisions although NCCL calls no profiler in any of its processes?
function M.absent(g)
	local at_work = false
	for _, r in ipairs(g:ask "status") do
		at_work = at_work or r.data and read.number(r.data.decisions) > 0
	end
	if not at_work then return false end
	local n = 0
	for _, r in ipairs(g:ask "stats") do
		if r.data and r.data.profiler_abi ~= 0 then return false end
		n = n + (r.data and 1 or 0)
	end
	return n > 0
end

-- Return the notes for a group @g whose processes have made at most one decision each, because
-- events come only after the first collective.
function M.first(g)
	local made, n = 0, 0
	for _, r in ipairs(g:ask "status") do
		made = made + read.number(r.data and r.data.decisions)
		n = n + (r.data and 1 or 0)
	end
	if made == 0 or made > n then return {} end
	return { "note: no process has made more than one decision; " ..
			"NCCL makes its connections in the first collective",
		"hint: trace again when status shows more decisions" }
end

-- Check that NCCL calls a profiler, because otherwise there are no times to compare. -> true | nil,
-- err
function M.wanted(g)
	if not M.absent(g) then return true end
	return nil, errors.new(
		"refused", "NCCL calls no profiler, so there are no times to compare",
		{ hint = M.hint(g:living()) })
end

return M
