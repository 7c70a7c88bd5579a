-- SPDX-License-Identifier: MIT
-- choices.lua TABLE: README's picture of test/fakes/vgpu/b300.csv. It shows how much slower or
-- faster than NCCL's default (NVLS) two ways of choosing are: NCCL_ALGO=Ring for every size, and
-- policies/nvlink_ring_mid.bpf.c. Only the table's published rows count.
local svg = require "ncclbpf.report.svg"
local units = require "ncclbpf.base.units"

local gbs, part, sizes = { nccl = {}, ring = {} }, nil, {}
for line in io.lines(arg[1]) do
	if line:find "^#" then
		part = line:find "^# published: NCCL" and "nccl"
			or line:find "^# published: Ring" and "ring" or nil
	elseif part and line ~= "" then
		local bytes, v = line:match "^AllReduce,%w+,%w+,%*,(%d+),([%d.]+)$"
		bytes = math.tointeger(tonumber(bytes))
		gbs[part][bytes] = tonumber(v)
		if part == "nccl" then sizes[#sizes + 1] = bytes end
	end
end

-- The policy takes Ring in these ranges (MiB) and leaves all other sizes to NCCL.
local RANGES = { { 4, 32 }, { 64, 192 } }
local function taken(bytes)
	for _, r in ipairs(RANGES) do
		if bytes >= r[1] << 20 and bytes <= r[2] << 20 then return true end
	end
end

local function x(bytes) return math.log(bytes, 2) end
local all = { class = "a", name = "NCCL_ALGO=Ring for all sizes", line = true, wide = true,
	points = {} }
local mid = { class = "b", name = "policy nvlink_ring_mid: Ring at 4 to 32 and 64 to 192 MiB",
	line = true, below = true, points = {} }
local marks, before = {}, nil
for i, bytes in ipairs(sizes) do
	-- Times are inverse to bandwidths.
	local pct = (gbs.nccl[bytes] / gbs.ring[bytes] - 1) * 100
	local text = ("%+.1f %%"):format(pct)
	-- Sizes between which others are powers of two without figures have no line between them.
	local apart = before and bytes > 2 * before
	marks[i] = { x(bytes), units.bytes(bytes) }
	all.points[i] = { x(bytes), pct, text = not taken(bytes) and text or nil, gap = apart }
	-- Outside of its ranges the policy is NCCL's default: 0, also where there are no figures.
	if before and taken(before) and not (taken(bytes) and taken(before + 1)) then
		local ends = before
		for _, r in ipairs(RANGES) do
			if before <= r[2] << 20 and before >= r[1] << 20 then ends = r[2] << 20 end
		end
		table.insert(mid.points, { x(ends), 0, bare = true, gap = ends > before })
		if taken(bytes) then table.insert(mid.points, { x(bytes), 0, bare = true }) end
	end
	table.insert(mid.points, { x(bytes), taken(bytes) and pct or 0,
		text = taken(bytes) and text or "0",
		at = taken(bytes) and { 8, before and 14 or 4 } or nil })
	before = bytes
end
io.write(svg.file(svg.figure {
	label = "AllReduce on 8 x B300: time against NCCL's default", size = { 640, 400 },
	titles = { "message size (bytes)", "change of the time (%), below 0: faster" },
	x = { x(sizes[1]) - 0.6, x(sizes[#sizes]) + 0.6, marks = marks },
	y = { -26, 26, fmt = "%+g" }, series = { all, mid },
	notes = { "Source: arXiv:2603.11438, AllReduce on 8 x B300, bus bandwidths published for "
		.. "these sizes, as times.",
		"0 is NCCL's default, NVLS. Nothing was measured here; make demo replays "
		.. "the figures." },
}))
