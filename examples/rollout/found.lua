-- SPDX-License-Identifier: MIT
-- found.lua TABLE.csv: what the job's rollout has found at each size, beside
-- the published figures that the job replays, and who decides there now.
-- Exit 1 where anything is not as it must be.
local nb = require "ncclbpf"
local LEAST, MOST = 5, 27 -- published gains in per cent of bandwidth, from 4 to 128 MiB
local NEAR = 1 -- allowed difference of the measured gain, in per cent
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
	if algo == "RING" and proto == (bytes <= 32 << 20 and "LL128" or "SIMPLE") then published.ring[bytes] = tonumber(gbs) end
end
local function gain_of(bytes)
	local a, b = published.nvls[bytes], published.ring[bytes]
	return bytes <= 128 << 20 and a and b and (b / a - 1) * 100 or 0
end

-- ---- what was found ----------------------------------------------------------------

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB", timeout = 20 })
local r = assert(job:rollout())
local comm = assert(job:comms())[1].comm
must(r.state == "succeeded", "the rollout is %s: %s", r.state, tostring(r.reason))

-- The change of bandwidth in per cent, for a change of time in per cent.
local function bandwidth(pct) return (1 / (1 + pct / 100) - 1) * 100 end

local found, sizes = {}, {}
for kind, s in pairs(r.verdict.strata) do
	local bytes = assert(nb.size(kind:match "^allreduce (%S+) of "), kind)
	sizes[#sizes + 1], found[bytes] = bytes, s
end
table.sort(sizes)
must(#sizes == 8, "%d sizes were judged, not 8", #sizes)

-- Read who decides each size, after every size was decided with the promoted policy.

local function decided()
	local rows, settled = {}, true
	for _, row in ipairs(assert(job:comm(comm)).table) do rows[row.bytes_last] = row end
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

print(("%6s  %10s  %8s  %16s  %-9s %-12s %s"):format("SIZE", "PUBLISHED", "FOUND", "INTERVAL", "", "NOW DECIDED", "BY"))
for _, bytes in ipairs(sizes) do
	local s, row, want = found[bytes], rows[bytes], gain_of(bytes)
	local got, low, high = bandwidth(s.effect_pct), bandwidth(s.high_pct), bandwidth(s.low_pct)
	local middle = bytes >= 4 << 20 and bytes <= 128 << 20
	local ran = ("%s/%s"):format(row.answer.algo, row.answer.proto)
	local name = ("%d MiB"):format(bytes >> 20)
	print(("%5dM  %8.1f %%  %+6.1f %%  %+6.1f to %+5.1f  %-9s %-12s %s"):format(bytes >> 20, want, got, low, high, s.outcome == "better" and "promoted" or "held back",
		ran, row.by or "NCCL"))
	must(math.abs(got - want) <= NEAR, "%s: %.1f %% found, %.1f %% published", name, got, want)
	must((s.outcome == "better") == middle, "%s: %s", name, s.outcome)
	if middle then
		must(want >= LEAST and want < MOST + 0.5, "%s: %.1f %% is not within 5 to 27 %%", name, want)
		must(ran == (bytes <= 32 << 20 and "ring/ll128" or "ring/simple"), "%s is decided with %s", name, ran)
		must(row.by == r.promoted[1], "%s is decided by %s", name, tostring(row.by))
	else
		must(not row.by, "%s is decided by %s, not by NCCL", name, tostring(row.by))
	end
end
if wrong > 0 then os.exit(1) end
print(("As published: +%.0f to +%.0f %% from 4 to 128 MiB, promoted there and nowhere else."):format(gain_of(128 << 20), gain_of(8 << 20)))
