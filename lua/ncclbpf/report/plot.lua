-- SPDX-License-Identifier: MIT
-- Pictures in characters: histograms, bandwidth over size on two logarithmic
-- scales, intervals. They fit the width they are given, and are plain ASCII
-- where the terminal knows nothing else. Values in, lines of text out.
local core = require "ncclbpf.core"
local units = require "ncclbpf.base.units"

local M = {}

local LEAST = 40 -- smallest width in columns, because a narrower plot cannot be read
local HEIGHT = 12

-- Return the width and the characters of a plot: the terminal's width, or 80 columns.
function M.screen(opts)
	opts = opts or {}
	local width = opts.width or core.winsize() or math.tointeger(
		tonumber(os.getenv "COLUMNS" or "")) or 80
	local utf = opts.utf
	if utf == nil then utf = core.utf8() end
	return { width = math.max(math.min(width, 200), LEAST), utf = utf }
end

local function us(ns)
	local v = ns / 1000
	return v < 10 and ("%.2f"):format(v) or v < 1000 and ("%.1f"):format(v)
		or ("%.0f"):format(v)
end

-- ---- histograms --------------------------------------------------------------------

-- Return the borders of the histogram's rows: powers of two if the values span a wide range, else
-- about ten equal round steps.
local function borders(low, high)
	local t = {}
	if high >= low * 16 then
		local b = 1
		while b * 2 <= low do b = b * 2 end
		while b <= high do
			t[#t + 1] = b
			b = b * 2
		end
		t[#t + 1] = b
		return t
	end
	local step = require("ncclbpf.report.svg").step_of(
		math.max(high - low, high * 0.001, 1), 10)
	local from = math.floor(low / step)
	repeat
		t[#t + 1] = from * step
		from = from + 1
	until t[#t] > high
	return t
end

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }

local function bar(share, width, utf)
	if not utf then
		local n = math.floor(share * width + 0.5)
		if share > 0 and n == 0 then n = 1 end
		return ("@"):rep(n) .. (" "):rep(width - n)
	end
	local n = math.floor(share * width * 8 + 0.5)
	if share > 0 and n == 0 then n = 1 end
	local text = ("█"):rep(n // 8) .. (n % 8 > 0 and EIGHTHS[n % 8] or "")
	return text .. (" "):rep(width - (n + 7) // 8)
end

-- M.histogram(times_ns, screen) -> lines: `[64.0, 68.0) us   123 |@@@@    |`
function M.histogram(values, screen)
	if #values == 0 then return {} end
	local low, high = math.huge, 0
	for _, v in ipairs(values) do low, high = math.min(low, v), math.max(high, v) end
	local at = borders(low, high)
	local count, most = {}, 0
	for i = 1, #at - 1 do count[i] = 0 end
	for _, v in ipairs(values) do
		local i = 1
		while v >= at[i + 1] do i = i + 1 end
		count[i] = count[i] + 1
		most = math.max(most, count[i])
	end
	local lines, labels, wide = {}, {}, 0
	for i = 1, #count do
		labels[i] = ("[%s, %s) us"):format(us(at[i]), us(at[i + 1]))
		wide = math.max(wide, #labels[i])
	end
	local digits = #tostring(most)
	local room = math.max(screen.width - wide - digits - 5, 4)
	for i, n in ipairs(count) do
		lines[i] = ("%-" .. wide .. "s  %" .. digits .. "d |%s|"):format(
			labels[i], n, bar(n / most, room, screen.utf))
	end
	return lines
end

-- ---- bandwidth over size -----------------------------------------------------------

local MARKS = { ascii = { "o", "x", "+", "#", "%", "&" }, utf = { "●", "○", "▲", "△", "■", "□" } }

-- Return the marks of a logarithmic scale (1, 2 and 5 times powers of ten) from below @low to above
-- @high.
local function scale(low, high)
	local t, e = {}, math.floor(math.log(low, 10))
	while true do
		for _, m in ipairs { 1, 2, 5 } do
			t[#t + 1] = m * 10.0 ^ e
			if t[2] and t[2] <= low then table.remove(t, 1) end
			if t[#t] >= high and #t > 1 then return t end
		end
		e = e + 1
	end
end

-- Write the names of the columns in @at where there is room.
local function names(at, text, width)
	local line, last = {}, -1
	for i, x in ipairs(at) do
		local from = math.max(math.min(x - #text[i] // 2, width - #text[i]), 0)
		if from > last then
			line[#line + 1] = (" "):rep(from - math.max(last, 0)) .. text[i]
			last = from + #text[i]
		end
	end
	return table.concat(line)
end

-- M.bandwidth(series, screen) -> lines
-- series: {{name, points = {{bytes, GB/s}}}}, each series has its own mark; if two marks fall on
-- one place, the later one is shown.
function M.bandwidth(series, screen)
	local low, high, small, large = math.huge, 0, math.huge, 0
	local sizes, seen = {}, {}
	for _, s in ipairs(series) do
		for _, p in ipairs(s.points) do
			low, high = math.min(low, p[2]), math.max(high, p[2])
			small, large = math.min(small, p[1]), math.max(large, p[1])
			if not seen[p[1]] then sizes[#sizes + 1] = p[1] end
			seen[p[1]] = true
		end
	end
	if high <= 0 or low <= 0 or small <= 0 then return {} end
	table.sort(sizes)
	local ys = scale(low, high)
	local left = 7
	local width = math.min(screen.width - left - 3, math.max(#sizes * 12, 30))
	local function x(bytes)
		return large == small and width // 2 or math.floor(
			(math.log(bytes / small, 2)) / math.log(large / small, 2) * (
			width - 5) + 2.5)
	end
	local function y(v)
		return math.floor((math.log(ys[#ys] / v)) / math.log(ys[#ys] / ys[1]) * (
			HEIGHT - 1) + 0.5)
	end
	local grid, marks = {}, screen.utf and MARKS.utf or MARKS.ascii
	for i = 0, HEIGHT - 1 do grid[i] = {} end
	for k, s in ipairs(series) do
		for _, p in ipairs(s.points) do
			grid[y(p[2])][x(p[1])] = marks[(k - 1) % #marks + 1]
		end
	end
	local title = {}
	for _, v in ipairs(ys) do title[y(v)] = ("%g"):format(v) end
	local lines = { "   GB/s" }
	local edge, dot = screen.utf and "│" or "|", screen.utf and "·" or "."
	for i = 0, HEIGHT - 1 do
		local t = {}
		for c = 0, width - 1 do
			t[#t + 1] = grid[i][c] or title[i] and c % 4 == 0 and dot or " "
		end
		lines[#lines + 1] = (("%" .. left .. "s %s%s"):format(
			title[i] or "", edge, table.concat(t)):gsub(" +$", ""))
	end
	lines[#lines + 1] = (" "):rep(left + 1) .. (screen.utf and "└" or "+")
		.. (screen.utf and "─" or "-"):rep(width)
	local at, text = {}, {}
	for i, v in ipairs(sizes) do at[i], text[i] = x(v), units.bytes(v) end
	lines[#lines + 1] = (" "):rep(left + 2) .. names(at, text, width)
	for k, s in ipairs(series) do
		lines[#lines + 1] = (" "):rep(left + 2) .. marks[(k - 1) % #marks + 1] .. " "
			.. s.name
	end
	return lines
end

-- ---- spread of times ---------------------------------------------------------------

-- Return the label, cut or filled with blanks to @width columns.
local function named(label, width)
	while core.width(label) > width do
		label = label:gsub("[^\128-\191][\128-\191]*$", "")
	end
	return label .. (" "):rep(width - core.width(label))
end

-- M.spread(rows, screen) -> lines: one for each kind on a common logarithmic scale, from the 10th
-- to the 90th percentile, with the median and the 99th. rows: {{label, q = 101 quantiles in ns}}
function M.spread(rows, screen)
	local low, high, wide = math.huge, 0, 0
	for _, r in ipairs(rows) do
		wide = math.max(wide, core.width(r.label))
		low, high = math.min(low, math.max(r.q[11], 1)), math.max(high, r.q[100], 1)
	end
	if high == 0 then return {} end
	local ys = scale(low / 1000, high / 1000)
	local from, to = ys[1] * 1000, ys[#ys] * 1000
	wide = math.min(wide, screen.width // 2)
	local room = screen.width - wide - 12
	local function x(ns)
		return math.floor(math.log(math.max(ns, from) / from) / math.log(to / from)
			* (room - 1) + 0.5)
	end
	local c = screen.utf and { line = "─", mid = "●", far = "×" }
		or { line = "-", mid = "o", far = "x" }
	local lines = { named("", wide) .. "    p50 us" }
	for _, r in ipairs(rows) do
		local cell, t = {}, {}
		for k = x(r.q[11]), x(r.q[91]) do cell[k] = c.line end
		cell[x(r.q[100])] = c.far
		cell[x(r.q[51])] = c.mid
		for k = 0, room - 1 do t[#t + 1] = cell[k] or " " end
		lines[#lines + 1] = (("%s %9s  %s"):format(named(r.label, wide), us(r.q[51]),
			table.concat(t)):gsub(" +$", ""))
	end
	local at, text = {}, {}
	for i, v in ipairs(ys) do at[i], text[i] = x(v * 1000), ("%g"):format(v) end
	lines[#lines + 1] = (" "):rep(wide + 12) .. names(at, text, room)
	lines[#lines + 1] = ("us: %s median, %s 10 to 90 %%, %s 99 %%"):format(c.mid, c.line, c.far)
	return lines
end

-- ---- intervals ---------------------------------------------------------------------

-- M.intervals(rows, border, screen) -> lines: the change of each kind in per cent, on one scale.
-- rows: {{label, mid, low, high}}; border: the largest tolerated change.
function M.intervals(rows, border, screen)
	local low, high, wide = 0, border, 0
	for _, r in ipairs(rows) do
		wide = math.max(wide, core.width(r.label))
		for _, v in ipairs { r.mid or 0, r.low or 0, r.high or 0 } do
			low, high = math.min(low, v), math.max(high, v)
		end
	end
	wide = math.min(wide, screen.width // 2)
	local room = screen.width - wide - 2
	local function x(v) return math.floor((v - low) / (high - low) * (room - 1) + 0.5) end
	local c = screen.utf and { zero = "│", line = "─", from = "├", to = "┤", mid = "●",
		border = "┊" } or
		{ zero = "|", line = "-", from = "[", to = "]", mid = "o", border = ":" }
	local lines = {}
	for i, r in ipairs(rows) do
		local cell = { [x(0)] = c.zero, [x(border)] = c.border }
		if r.low and r.high then
			for k = x(r.low), x(r.high) do cell[k] = c.line end
			cell[x(r.low)], cell[x(r.high)] = c.from, c.to
		end
		if r.mid then cell[x(r.mid)] = c.mid end
		local t = {}
		for k = 0, room - 1 do t[#t + 1] = cell[k] or " " end
		lines[i] = (named(r.label, wide) .. "  " .. table.concat(t)):gsub(" +$", "")
	end
	local step = require("ncclbpf.report.svg").ticks(low, high, math.max(room // 12, 2))
	local at, text = {}, {}
	for i, v in ipairs(step) do at[i], text[i] = x(v), v == 0 and "0 %" or ("%+g"):format(v) end
	lines[#lines + 1] = (" "):rep(wide + 2) .. names(at, text, room)
	return lines
end

return M
