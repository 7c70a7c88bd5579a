-- SPDX-License-Identifier: MIT
-- plot.lua: pictures in characters of fixed numbers, for the golden file.
local plot = require "ncclbpf.report.plot"
local function show(title, lines, width)
	print("== " .. title)
	for _, l in ipairs(lines) do
		assert((utf8.len(l) or #l) <= width, "wider than the screen: " .. l)
		print(l)
	end
end
local near, far = {}, {}
for i = 1, 400 do near[i], far[i] = 64000 + i * i % 97 * 60 + i % 7 * 300, 1000 * 1.02 ^ i // 1 end
local a, b = { name = "baseline", points = {} }, { name = "candidate", points = {} }
for i, us in ipairs { 23.5, 30, 45, 64, 95, 140, 236 } do
	local size = (1 << 19 + i) + 0
	a.points[i] = { size, size / us / 1000 * 1.75 }
	b.points[i] = { size, size / us / 1000 * 1.75 * (i > 2 and 1.25 or 1) }
end
local rows = { { label = "allreduce 1M", mid = -0.2, low = -1.9, high = 1.3 },
	{ label = "allreduce 32M of a communicator with a long name", mid = -20.8, low = -21.7,
	high = -19.9 },
	{ label = "allreduce 64M" } }
for _, width in ipairs { 40, 80 } do
	for _, utf in ipairs { false, true } do
		local s = plot.screen { width = width, utf = utf }
		local what = ("%d columns, %s: "):format(width, utf and "UTF-8" or "ASCII")
		show(what .. "near times", plot.histogram(near, s), width)
		show(what .. "far times", plot.histogram(far, s), width)
		show(what .. "bandwidth", plot.bandwidth({ a, b }, s), width)
		local spread = {}
		for i, times in ipairs { near, far, { 5000, 5000 } } do
			spread[i] = { label = ("allreduce %dM ring/simple"):format(1 << i),
				q = require "ncclbpf.core".quantiles(times, 100) }
		end
		show(what .. "spread of times", plot.spread(spread, s), width)
		show(what .. "one size",
			plot.bandwidth({ { name = "a", points = { { 4096, 0.5 } } } }, s), width)
		show(what .. "intervals", plot.intervals(rows, 1, s), width)
	end
end
assert(#plot.spread({}, plot.screen()) == 0 and #plot.histogram({}, plot.screen()) == 0
	and #plot.bandwidth({}, plot.screen()) == 0)
assert(plot.screen { width = 3 }.width == 40)
