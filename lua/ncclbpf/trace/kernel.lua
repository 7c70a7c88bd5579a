-- SPDX-License-Identifier: MIT
-- What `trace calls` and `trace rdma` share: both follow the job's events for some seconds beside
-- programs in the kernel, and show both as one table.
local clock = require "ncclbpf.base.clock"
local trace = require "ncclbpf.trace.trace"

local M = {}

-- The option seconds=: the length of the trace.
function M.seconds(ctx) return ctx:duration("seconds", 0.001) or 3 end

-- For @seconds or until Ctrl-C, read the events that the request @line asks for, and the records
-- of the kernel's programs @p (nil: none). Then close @p. @each(list, member) gets the events of
-- one process, @take(list) gets records; the function ends early if one of them returns true.
-- -> events lost, records dropped | nil, err
function M.follow(s, line, seconds, p, each, take)
	local function records() return p and take(p:read()) end
	local batch, losses, rest = trace.taker(function(list, member)
		local full = each(list, member)
		return records() or full
	end)
	local _, ok, good, failure = trace.followed(s, line, batch, rest, nil,
		{ till = clock.now() + seconds, gone = function() end })
	records()
	local dropped = p and p:dropped() or 0
	if p then p:close() end
	if not ok then error(good, 0) end
	if not good then return nil, failure end
	return losses(), dropped
end

-- Return { [pid] = rank } of the living processes.
function M.ranks(s)
	local rank = {}
	for _, m in ipairs(s:living()) do rank[m.pid] = m.rank end
	return rank
end

-- Add notes about missing records. @dropped: number of records that the kernel's programs, named
-- @what, dropped
function M.add_losses(foot, dropped, what, lost)
	if dropped > 0 then
		foot[#foot + 1] = ("note: the kernel's ring had no room for %d %s"):format(
			dropped, what)
	end
	if lost > 0 then
		foot[#foot + 1] = (
			"note: %d events were overwritten before this shell read them"):format(lost)
	end
end

function M.us(ns) return ns and ("%.1f"):format(ns / 1000) end

return M
