-- SPDX-License-Identifier: MIT
-- table.lua report=FILE [from=SIZE]: what is decided for each size, beside the
-- time that the job reports for it and how much slower that is than in its first loop.
local nb = require "ncclbpf"

local args = {}
for _, word in ipairs(arg) do
	local name, value = word:match("^(%w+)=(.*)$")
	if name then args[name] = value end
end

-- Read the job's report, which has a JSON line for each collective of rank 0. Returns the first
-- time of each size, and the times of the last complete loop.
local function times(path)
	local first, last, loop, now = {}, {}, nil, {}
	for line in io.lines(path) do
		local n = line:match('"loop":(%d+)')
		local bytes = tonumber(line:match('"bytes":(%d+)'))
		local t = { us = tonumber(line:match('"time_us":([%d.]+)')),
			gbs = tonumber(line:match('"busbw_gbs":([%d.]+)')) }
		if n ~= loop then loop, last, now = n, now, {} end
		now[bytes] = t
		first[bytes] = first[bytes] or t
	end
	return first, last
end

local function size(n)
	for _, unit in ipairs { { 1 << 30, "G" }, { 1 << 20, "M" }, { 1 << 10, "K" } } do
		if n >= unit[1] then return ("%d%s"):format(n // unit[1], unit[2]) end
	end
	return ("%d"):format(n)
end

local function bytes(word)
	local n, unit = word:match "^(%d+)([KMG]?)$"
	return tonumber(n) << ({ [""] = 0, K = 10, M = 20, G = 30 })[unit]
end

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local comm = assert(job:comm_list()).comms[1].comm
local first, last = times(args.report)
local from = bytes(args.from or "0")
print(("%6s  %-6s %-7s %8s %10s %10s %8s  %s"):format(
	"SIZE", "ALGO", "PROTO", "CHANNELS", "TIME us", "BUSBW GB/s", "SLOWER %", "DECIDED BY"))
for _, row in ipairs(assert(job:comm_show(comm)).table) do
	local t, was = last[row.bytes_last], first[row.bytes_last]
	if t and row.bytes_last >= from then
		local slower = (t.us / was.us - 1) * 100
		print(("%6s  %-6s %-7s %8s %10.1f %10.1f %8s  %s"):format(size(row.bytes_last),
			row.answer.algo, row.answer.proto,
			row.answer.channels == 0 and "NCCL's" or tostring(row.answer.channels),
			t.us, t.gbs, math.abs(slower) < 0.05 and "" or ("%+.1f"):format(slower),
			row.by or "NCCL"))
	end
end
