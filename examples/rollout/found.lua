-- SPDX-License-Identifier: MIT
-- found.lua TABLE.csv: what the job's rollout has found at each size, beside
-- the published figures that the job replays, and who decides there now.
-- Exit 1 where anything is not as it must be.
local nb = require "ncclbpf"
local LEAST, MOST = -22, -5 -- published changes of the time in per cent, from 4 to 128 MiB
local NEAR = 1 -- allowed difference of the measured change, in per cent
local PATIENCE = 60 -- seconds until the job has decided all sizes anew

local wrong = 0
local function must(good, fmt, ...)
	if not good then
		wrong = wrong + 1
		print("WRONG: " .. fmt:format(...))
	end
end

-- ---- what was published -----------------------------------------------------------

local published = { nvls = {}, ring = {} }
for line in io.lines(arg[1]) do
	local algo, proto, bytes, gbs = line:match "^AllReduce,(%w+),(%w+),%*,(%d+),([%d.]+)$"
	bytes = math.tointeger(tonumber(bytes))
	if algo == "NVLS" then published.nvls[bytes] = tonumber(gbs) end
	-- the choice of nvlink_ring_mid: LL128 up to 32 MiB, then the simple protocol
	if algo == "RING" and proto == (bytes <= 32 << 20 and "LL128" or "SIMPLE") then
		published.ring[bytes] = tonumber(gbs)
	end
end
-- Compute how much slower the policy is than NCCL's choice, from the published bandwidths.
local function slower_by(bytes)
	local a, b = published.nvls[bytes], published.ring[bytes]
	return bytes <= 128 << 20 and a and b and (a / b - 1) * 100 or 0
end

-- ---- what was found ----------------------------------------------------------------

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB", timeout = 20 })
local r = assert(job:rollout_status())
local comm = assert(job:comm_list()).comms[1].comm
must(r.state == "succeeded", "the rollout is %s: %s", r.state, tostring(r.reason))

local found, sizes = {}, {}
for kind, s in pairs(r.verdict.strata) do
	local bytes = assert(nb.size(kind:match "^allreduce (%S+) of "), kind)
	sizes[#sizes + 1], found[bytes] = bytes, s
end
table.sort(sizes)
must(#sizes == 8, "%d sizes were judged, not 8", #sizes)

-- Read which policy decides each size, after the promoted policy has decided every size.

local function decided()
	local rows, settled = {}, true
	for _, row in ipairs(assert(job:comm_show(comm)).table) do rows[row.bytes_last] = row end
	for _, bytes in ipairs(sizes) do
		local better = found[bytes].outcome == "better"
		settled = settled and rows[bytes] and (rows[bytes].by == r.promoted[1]) == better
	end
	return rows, settled
end
local till, rows, settled = nb.mono() + PATIENCE, nil, nil
repeat
	rows, settled = decided()
	if not settled then nb.sleep(0.1) end
until settled or nb.mono() > till
must(settled, "after %d s sizes are not decided as they were promoted", PATIENCE)

print(("%6s  %10s  %8s  %16s  %-9s %-12s %s")
	:format("SIZE", "PUBLISHED", "SLOWER", "INTERVAL", "", "NOW DECIDED", "BY"))
for _, bytes in ipairs(sizes) do
	local s, row, want = found[bytes], rows[bytes], slower_by(bytes)
	local got, low, high = s.effect_pct, s.low_pct, s.high_pct
	local middle = bytes >= 4 << 20 and bytes <= 128 << 20
	local ran = ("%s/%s"):format(row.answer.algo, row.answer.proto)
	local name = ("%d MiB"):format(bytes >> 20)
	print(("%5dM  %+8.1f %%  %+6.1f %%  %+6.1f to %+5.1f  %-9s %-12s %s")
		:format(bytes >> 20, want, got, low, high,
			s.outcome == "better" and "promoted" or "held back", ran, row.by or "NCCL"))
	must(math.abs(got - want) <= NEAR, "%s: %.1f %% found, %.1f %% published", name, got, want)
	must((s.outcome == "better") == middle, "%s: %s", name, s.outcome)
	if middle then
		must(want >= LEAST and want <= MOST, "%s: %.1f %% is not within %d to %d %%", name,
			want, LEAST, MOST)
		must(ran == (bytes <= 32 << 20 and "ring/ll128" or "ring/simple"),
			"%s is decided with %s", name, ran)
		must(row.by == r.promoted[1], "%s is decided by %s", name, tostring(row.by))
	else
		must(not row.by, "%s is decided by %s, not by NCCL", name, tostring(row.by))
	end
end
if wrong > 0 then os.exit(1) end
print(("As published: %.0f %% less time at 8 MiB, %.0f %% less at 128 MiB; "
	.. "promoted from 4 to 128 MiB and nowhere else."):format(
	-slower_by(8 << 20), -slower_by(128 << 20)))
