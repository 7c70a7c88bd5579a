-- SPDX-License-Identifier: MIT
-- Pictures of a report: small SVG that keeps its text readable at any width,
-- and strips of plain elements. Numbers and texts in, text out; all text is
-- escaped here. Arms are a (baseline) and b (candidate).
local M = {}

function M.esc(v)
	v = tostring(v):gsub("[%z\1-\8\11\12\14-\31\127]", "?")
	return (v:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
		['"'] = "&quot;", ["'"] = "&#39;" }))
end
local esc = M.esc

local W, H, LEFT, BOTTOM, TOP, RIGHT = 420, 240, 62, 44, 10, 12

-- Return a round step that divides @span into about @n parts.
local function step_of(span, n)
	local rough = span / n
	local unit = 10 ^ math.floor(math.log(rough, 10))
	for _, m in ipairs { 1, 2, 5 } do
		if unit * m >= rough then return unit * m end
	end
	return unit * 10
end
M.step_of = step_of

-- Return round values from @low to @high, for the marks of an axis.
local function ticks(low, high, n)
	local t, step = {}, step_of(high - low, n)
	for i = math.ceil(low / step), math.floor(high / step) do t[#t + 1] = i * step end
	return t
end
M.ticks = ticks

-- Begin a picture with axes. @xs, @ys: {low, high}. @xmarks, @ymarks: {{value, text}}. @titles:
-- two texts that name what each axis shows, and the unit. @size: {width, height, right margin};
-- nil: the default size.
-- -> lines to add to, x(v), y(v), finish()
local function frame(label, xs, ys, xmarks, ymarks, titles, size)
	local w, h, right = table.unpack(size or { W, H, RIGHT })
	local function x(v) return LEFT + (v - xs[1]) / (xs[2] - xs[1]) * (w - LEFT - right) end
	local function y(v)
		return TOP + (ys[2] - math.min(math.max(v, ys[1]), ys[2])) / (ys[2] - ys[1]) * (
			h - TOP - BOTTOM)
	end
	local t = { ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s">'):format(
		w, h, esc(label)) }
	for _, m in ipairs(ymarks) do
		t[#t + 1] = (
			'<line class="axis%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" '
			.. 'y="%.1f" text-anchor="end">%s</text>'):format(
			m[1] == 0 and ys[1] < 0 and " zero" or "", LEFT, w - right, y(m[1]),
			y(m[1]), LEFT - 5, y(m[1]) + 4, esc(m[2]))
	end
	for _, m in ipairs(xmarks) do
		t[#t + 1] = ('<text x="%.1f" y="%d" text-anchor="%s">%s</text>'):format(
			x(m[1]), h - BOTTOM + 16, m[3] or "middle", esc(m[2]))
	end
	t[#t + 1] = ('<text class="title" x="%.1f" y="%d" text-anchor="middle">%s</text>'):format(
		(LEFT + w - right) / 2, h - 7, esc(titles[1]))
	t[#t + 1] = ('<text class="title" transform="rotate(-90)" x="%.1f" y="13" '
		.. 'text-anchor="middle">%s</text>'):format(-(TOP + h - BOTTOM) / 2, esc(titles[2]))
	return t, x, y, function()
		t[#t + 1] = "</svg>"
		return table.concat(t)
	end
end

local function marks(values, fmt)
	local t = {}
	for i, v in ipairs(values) do t[i] = { v, v == 0 and "0" or fmt:format(v) } end
	return t
end

local function path(points)
	local t = {}
	for i, p in ipairs(points) do
		t[i] = ("%s%.1f %.1f"):format(i == 1 and "M" or "L", p[1], p[2])
	end
	return table.concat(t)
end

-- Draw the times of both arms by size. @rows: {{size, text, a = {p10, p50, p90}, b = }}, sorted by
-- size. Each arm is a line; its spread is a band and whiskers.
function M.bandwidth(label, rows)
	local high = 0
	for _, r in ipairs(rows) do
		for _, arm in ipairs { "a", "b" } do
			if r[arm] then high = math.max(high, r[arm].p90) end
		end
	end
	local function at(r) return math.log(math.max(r.size, 1), 2) end
	local first, last = at(rows[1]), at(rows[#rows])
	local xm, every = {}, math.max(1, math.ceil(#rows / 8))
	for i, r in ipairs(rows) do
		if (i - 1) % every == 0 then xm[#xm + 1] = { at(r), r.text } end
	end
	high = high > 0 and high * 1.08 or 1
	local t, x, y, finish = frame(label, { first - 0.6, last + 0.6 }, { 0, high }, xm,
		marks(ticks(0, high, 5), "%g"), { "message size (bytes)", "bus bandwidth (GB/s)" })
	for k, arm in ipairs { "a", "b" } do
		local up, down, line, shift = {}, {}, {}, k * 6 - 9
		for _, r in ipairs(rows) do
			local v = r[arm]
			if v then
				up[#up + 1] = { x(at(r)), y(v.p90) }
				table.insert(down, 1, { x(at(r)), y(v.p10) })
				line[#line + 1] = { x(at(r)), y(v.p50), v, r.text }
			end
		end
		table.move(down, 1, #down, #up + 1, up)
		if #line > 1 then
			t[#t + 1] = (
				'<path class="band %s" d="%sZ"/><path '
				.. 'class="line %s" d="%s"/>'):format(
				arm, path(up), arm, path(line))
		end
		for _, p in ipairs(line) do
			t[#t + 1] = (
				'<line class="line %s" x1="%.1f" x2="%.1f" y1="%.1f" '
				.. 'y2="%.1f"/><circle class="%s" cx="%.1f" cy="%.1f" '
				.. 'r="3.5"><title>%s, %s: %.1f GB/s (%.1f to '
				.. '%.1f)</title></circle>'):format(
				arm, p[1] + shift, p[1] + shift, y(p[3].p10), y(p[3].p90), arm,
					p[1], p[2], M.arm(arm), esc(p[4]), p[3].p50, p[3].p10,
					p[3].p90)
		end
	end
	return finish()
end

function M.arm(arm) return arm == "a" and "baseline" or "candidate" end

-- Return a range that contains @low to @high with a margin.
local function room(low, high)
	local pad = math.max((high - low) * 0.1, high * 0.01, 1e-9)
	return { math.max(low - pad, 0), high + pad }
end

-- -Describe a change of the time in per cent: -12.34 -> "12.3 % faster"
function M.change(pct)
	if math.abs(pct) < 0.05 then return "as fast" end
	return ("%.1f %% %s"):format(math.abs(pct), pct < 0 and "faster" or "slower")
end

-- Move the labels at the ends of lines apart, so that they do not overlap. @ends: {{y,
-- ...}}, sorted -> places
local function apart(ends, gap, low, high)
	table.sort(ends, function(p, q) return p[1] < q[1] end)
	for i, e in ipairs(ends) do
		e.at = math.max(e[1], i > 1 and ends[i - 1].at + gap or low)
	end
	for i = #ends, 1, -1 do
		ends[i].at = math.min(ends[i].at, i < #ends and ends[i + 1].at - gap or high)
	end
	return ends
end

-- Draw the candidate's times against the baseline's at the same percentile, a line for each kind.
-- @rows: {{label, a = quantiles, b = quantiles}}, 101 values each. The lines end at 99 %: one
-- outlier would make the rest of them look flat. The report's table has the highest values.
function M.percentiles(label, rows)
	local lines, low, high = {}, 0, 0
	for _, r in ipairs(rows) do
		local points = {}
		for _, p in ipairs { 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99 } do
			local a, b = r.a[p + 1], r.b[p + 1]
			if a and b and a > 0 then
				local pct = (b / a - 1) * 100
				points[#points + 1] = { p, pct, a, b }
				low, high = math.min(low, pct), math.max(high, pct)
			end
		end
		if #points > 0 then lines[#lines + 1] = { label = r.label, points = points } end
	end
	if #lines == 0 then return "" end
	local pad = math.max((high - low) * 0.06, 0.5)
	local ys = { low - pad, high + pad }
	local height = math.max(300, 60 + 14 * #lines)
	local t, x, y, finish = frame(label, { 0, 100 }, ys,
		{ { 10, "10" }, { 50, "50" }, { 90, "90" }, { 99, "99" } },
		marks(ticks(ys[1], ys[2], 6), "%+g"),
		{ "percentile of the times (%)", "change of the time (%), below 0: faster" },
		{ 860, height, 190 })
	local ends = {}
	for i, l in ipairs(lines) do
		local path_of, hue = {}, (i - 1) * 360 // #lines
		for k, p in ipairs(l.points) do path_of[k] = { x(p[1]), y(p[2]) } end
		t[#t + 1] = ('<g class="kind" style="--h:%d"><path d="%s"/>')
			:format(hue, path(path_of))
		for _, p in ipairs(l.points) do
			t[#t + 1] = ('<circle cx="%.1f" cy="%.1f" r="3"><title>%s, percentile %d: '
				.. '%.1f us, baseline %.1f us, %s</title></circle>'):format(
				x(p[1]), y(p[2]), esc(l.label), p[1], p[4] / 1000, p[3] / 1000,
				M.change(p[2]))
		end
		t[#t + 1] = "</g>"
		ends[i] = { y(l.points[#l.points][2]), l.label, hue }
	end
	for _, e in ipairs(apart(ends, 13, TOP + 6, height - BOTTOM)) do
		t[#t + 1] = ('<text class="kind" style="--h:%d" x="%d" y="%.1f">%s</text>'):format(
			e[3], 860 - 184, e.at + 4, esc(e[2]))
	end
	return finish()
end

-- Draw the medians of one kind, block by block in the order of time, with the range of the
-- middle 80 % of each block's times. @list: {{n, arm, ns, low, high, generation}}
function M.blocks(label, list, total)
	local low, high = math.huge, 0
	for _, b in ipairs(list) do
		low, high = math.min(low, b.low or b.ns, b.ns), math.max(high, b.high or b.ns, b.ns)
	end
	if #list == 0 then return "" end
	local ys = room(low / 1000, high / 1000)
	local t, x, y, finish = frame(label, { 0.5, total + 0.5 }, ys,
		{ { 1, "block 1", "start" }, { total, tostring(total), "end" } },
		marks(ticks(ys[1], ys[2], 4), "%g"), { "blocks, in their order", "time (us)" })
	for _, b in ipairs(list) do
		if b.low then
			t[#t + 1] = (
				'<line class="line thin %s" x1="%.1f" x2="%.1f" y1="%.1f" '
				.. 'y2="%.1f"/>'):format(
				b.arm, x(b.n), x(b.n), y(b.low / 1000), y(b.high / 1000))
		end
		t[#t + 1] = ('<circle class="%s" cx="%.1f" cy="%.1f" r="%s"'):format(
			b.arm, x(b.n), y(b.ns / 1000), total > 100 and "2" or "3.5")
		t[#t + 1] = total > 200 and "/>"
			or ("><title>block %d, %s, generation %s: %.1f us</title></circle>"):format(
			b.n, M.arm(b.arm), esc(b.generation), b.ns / 1000)
	end
	return finish()
end

-- ---- strips ------------------------------------------------------------------------

local function share(v, low, high)
	return math.min(math.max((v - low) / (high - low) * 100, 0), 100)
end

-- Describe the change of a kind: "allreduce 8M: 10.8 % faster (-12.2 to -9.7 %)"
function M.interval(r)
	return ("%s: %s%s"):format(r.label, M.change(r.mid), r.low and r.high
		and (" (%+.1f to %+.1f %%)"):format(r.low, r.high) or "")
end

-- Draw the change of each kind in per cent on one scale, with the tolerated change as a dashed
-- line. @rows: {{label, verdict, mid, low, high, text}}
function M.effects(rows, border)
	local low, high = 0, border
	for _, r in ipairs(rows) do
		for _, k in ipairs { "mid", "low", "high" } do
			if r[k] then low, high = math.min(low, r[k]), math.max(high, r[k]) end
		end
	end
	local pad = (high - low) * 0.06
	low, high = low - pad, high + pad
	local lines = {}
	for _, v in ipairs(ticks(low, high, 5)) do
		lines[#lines + 1] = ('<s class=%s style="left:%.2f%%"></s>'):format(
			v == 0 and "zero" or "tick", share(v, low, high))
	end
	lines[#lines + 1] = ('<s class=border style="left:%.2f%%"></s>'):format(
		share(border, low, high))
	local grid = table.concat(lines)
	local t = { "<div class=effects>" }
	for _, r in ipairs(rows) do
		t[#t + 1] = ('<div><div class=label>%s</div><div class=bar>%s'):format(
			esc(r.label), grid)
		if r.low then
			t[#t + 1] = ('<i class=%s style="left:%.2f%%;width:%.2f%%"></i>'):format(
				r.verdict, share(r.low, low, high),
				share(r.high, low, high) - share(r.low, low, high))
		end
		if r.mid then
			t[#t + 1] = ('<b class=%s style="left:%.2f%%" title="%s"></b>'):format(
				r.verdict, share(r.mid, low, high), esc(M.interval(r)))
		end
		t[#t + 1] = ('</div><div class="text %s">%s</div></div>'):format(
			r.verdict, esc(r.text))
	end
	t[#t + 1] = "<div><div></div><div class=scale>"
	for _, v in ipairs(ticks(low, high, 5)) do
		t[#t + 1] = ('<span style="left:%.2f%%">%s</span>'):format(
			share(v, low, high), v == 0 and "0" or ("%+g"):format(v))
	end
	t[#t + 1] = "</div><div></div></div><div><div></div><div class=title>"
		.. "change of the time (%), below 0: faster</div><div></div></div></div>"
	return table.concat(t)
end

-- Draw the blocks of both arms over time. @blocks {{from, to, arm, title}}, @events {{at, n,
-- title}}, in seconds from 0 to @span.
function M.timeline(blocks, events, span)
	local t = { "<div class=time>" }
	for _, b in ipairs(blocks) do
		t[#t + 1] = ('<i class=%s style="left:%.3f%%;width:%.3f%%" title="%s"></i>'):format(
			b.arm, share(b.from, 0, span), math.max(
			share(b.to, 0, span) - share(b.from, 0, span), 0.1), esc(b.title))
	end
	t[#t + 1] = "</div><div class=when>"
	local last = -10
	for _, e in ipairs(events) do
		local at = math.min(share(e.at, 0, span), 97)
		-- if labels would overlap, draw only the first
		if at - last >= 3 then
			t[#t + 1] = ('<span style="left:%.2f%%" title="%s">%d</span>'):format(
				at, esc(e.title), e.n)
			last = at
		end
	end
	t[#t + 1] = "</div>"
	return table.concat(t)
end

-- Draw each rank's difference from the ranks' median, in per cent, for one kind. @cells:
-- {{rank, pct}}
function M.ranks(cells)
	local t = { "<div class=ranks>" }
	for _, c in ipairs(cells) do
		local strength = math.min(math.abs(c.pct) / 10, 1) * 0.8
		t[#t + 1] = (
			'<span class=%s style="--w:%.0f%%" title="rank %d: '
			.. '%+.1f %%">%s</span>'):format(
			c.pct >= 0 and "slow" or "quick", strength * 100, c.rank, c.pct,
			#cells <= 16 and ("%+.1f"):format(c.pct) or "")
	end
	t[#t + 1] = "</div>"
	return table.concat(t)
end

return M
