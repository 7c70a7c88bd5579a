-- SPDX-License-Identifier: MIT
-- choices.lua TABLE: README's picture of test/fakes/vgpu/b300.csv. It shows how much slower or
-- faster than NCCL's default (NVLS) two ways of choosing are: NCCL_ALGO=Ring for every size, and
-- policies/nvlink_ring_mid.bpf.c, which takes Ring from 4 to 192 MiB. Only the table's published
-- rows count.
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
local all = { class = "a", name = "NCCL_ALGO=Ring for all sizes", line = true, points = {} }
local mid = { class = "b", name = "policy nvlink_ring_mid", line = true, below = true, points = {} }
local marks = {}
for i, bytes in ipairs(sizes) do
	-- Times are inverse to bandwidths.
	local pct = (gbs.nccl[bytes] / gbs.ring[bytes] - 1) * 100
	local taken = bytes <= 192 << 20
	marks[i] = { i, units.bytes(bytes) }
	all.points[i] = { i, pct, text = not taken and ("%+.1f %%"):format(pct) or nil }
	mid.points[i] = { i, taken and pct or 0, text = taken and ("%+.1f %%"):format(pct) or "0" }
end
io.write(svg.file(svg.figure {
	label = "AllReduce on 8 x B300: time against NCCL's default", size = { 640, 380 },
	titles = { "message size (bytes)", "change of the time (%), below 0: faster" },
	x = { 0.5, #sizes + 0.5, marks = marks }, y = { -26, 26, fmt = "%+g" },
	series = { all, mid },
}))
