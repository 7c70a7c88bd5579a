-- SPDX-License-Identifier: MIT
-- Summary of the GIN events of a trace: for each rank and peer its puts, signals, bytes and times
-- from post to done.
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local M = {}
local Summary = {}
Summary.__index = Summary

local MOST = 1 << 16 -- largest number of recorded times for each rank and peer
local SHOWN = 3

function M.new() return setmetatable({ by = {}, list = {} }, Summary) end

local function row_of(self, s, member)
	local key = ("%s %s %s"):format(tostring(member), s.comm_rank, s.peer)
	local r = self.by[key] or lists.add(self.list, self.by, key, {
		site = member.site, pid = member.pid, comm_rank = s.comm_rank, peer = s.peer,
			puts = 0, signals = 0, gets = 0, bytes = 0, held = 0, errors = 0,
			in_signals = 0, times = {} })
	return r
end

-- Add the GIN events among @list, the spans of one process.
function Summary:add(list, member)
	for _, s in ipairs(list) do
		if s.event == "gin_signal" then
			local r = row_of(self, s, member)
			r.in_signals = r.in_signals + 1
		elseif s.event == "gin_put" or s.event == "gin_get" then
			local r = row_of(self, s, member)
			local put = s.event == "gin_put"
			if put and s.bytes > 0 then r.puts = r.puts + 1 end
			if not put then r.gets = r.gets + 1 end
			if s.signal_op then r.signals = r.signals + 1 end
			if s.error then r.errors = r.errors + 1 end
			if s.held_ns then r.held = r.held + 1 end
			r.bytes = r.bytes + s.bytes
			if put and not s.error and #r.times < MOST then
				r.times[#r.times + 1] = s.end_ns - s.start_ns
			end
		end
	end
end

local function quantile(times, q) return times[math.max(1, math.ceil(#times * q))] end

-- Return the rows, sorted by bytes, most first. nil: the trace has no GIN events.
function Summary:rows()
	if #self.list == 0 then return nil end
	local rows = {}
	for i, r in ipairs(self.list) do
		table.sort(r.times)
		local row = lists.copy(r)
		row.times = nil
		row.put_p50_ns, row.put_p99_ns = quantile(r.times, 0.5), quantile(r.times, 0.99)
		rows[i] = row
	end
	table.sort(rows, lists.by("-bytes", "comm_rank", "peer"))
	return rows
end

local function us(ns) return ns and ("%.1f"):format(ns / 1000) or "-" end

-- Notes for people about the rows of Summary:rows.
function M.notes(rows)
	local notes = {}
	for i = 1, math.min(#rows, SHOWN) do
		local r = rows[i]
		notes[i] = ("gin: rank %d to rank %d: %s, %s, %s, p50 %s us, p99 %s us"):format(
			r.comm_rank, r.peer, units.count(r.puts, "put"),
			units.count(r.signals, "signal"), units.bytes(r.bytes), us(r.put_p50_ns),
			us(r.put_p99_ns))
	end
	if #rows > SHOWN then
		notes[#notes + 1] = ("gin: %d more pairs of ranks; -o json shows all pairs"):format(
			#rows - SHOWN)
	end
	return notes
end

return M
