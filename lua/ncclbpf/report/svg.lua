-- SPDX-License-Identifier: MIT
-- The one kind of picture: points on two scales, as a small SVG that keeps its text readable at
-- any width. Numbers and texts in, text out; all text is escaped here.
local M = {}

function M.esc(v)
	v = tostring(v):gsub("[%z\1-\8\11\12\14-\31\127]", "?")
	return (v:gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
		['"'] = "&quot;", ["'"] = "&#39;" }))
end
local esc = M.esc

-- Colours of pages and pictures; a is the baseline, b the candidate.
M.STYLE = [[
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#dde2e7;--back:#fff;
--card:#f6f8fa;--a:#6b7785;--b:#0b6bcb;--pass:#18794e;--fail:#c62a2f;--open:#8a5d00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4af;--line:#323b45;--back:#14181c;
--card:#1c2228;--a:#a3adb8;--b:#62b0ff;--pass:#5bd197;--fail:#ff8a8d;--open:#e5b94e}}
svg{background:var(--back)}svg text{font:11px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft)}
svg .title{font-size:12px}.axis{stroke:var(--line)}.axis.zero{stroke:var(--soft)}
circle.a,.band.a{fill:var(--a)}circle.b,.band.b{fill:var(--b)}.band{opacity:.16}
.line{fill:none;stroke-width:2}.line.wide{stroke-width:9;opacity:.4}
.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}
circle:hover{stroke:var(--ink);stroke-width:2}
]]

-- Return round values from @low to @high that divide the range into about @n parts.
function M.ticks(low, high, n)
	local t, unit = {}, 10 ^ math.floor(math.log((high - low) / n, 10))
	local step = unit * 10
	for _, m in ipairs { 5, 2, 1 } do
		if unit * m >= (high - low) / n then step = unit * m end
	end
	for i = math.ceil(low / step), math.floor(high / step) do t[#t + 1] = i * step end
	return t
end

local LEFT, RIGHT, TOP, BOTTOM, NOTE = 62, 14, 12, 44, 16

-- Return the points of a series as the parts of its line: a new one begins at each point with a
-- gap.
local function parts_of(points)
	local parts = {}
	for i, p in ipairs(points) do
		if i == 1 or p.gap then parts[#parts + 1] = {} end
		table.insert(parts[#parts], p)
	end
	return parts
end

-- M.figure(f) -> an element svg
-- f: label; size = {width, height}; x, y = {low, high, marks = {{value, text}}}, where the scale of
-- y has round marks in the format y.fmt without marks; titles = {x, y}, the unit in them;
-- notes = lines below the picture;
-- series = {{class = "a" | "b", name = a text for the key, line = draw a line and a band,
-- wide = the line is broad and pale, so that another one on it is seen,
-- points = {{x, y, low, high, title = a text under the pointer, text = a text beside it,
-- at = {to the right, down} from the point to the text, gap = no line leads here,
-- bare = no circle}}}}
function M.figure(f)
	local w, notes = f.size[1], f.notes or {}
	local h = f.size[2] - NOTE * #notes
	local t = { ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s">'):format(
		w, f.size[2], esc(f.label)) }
	local function put(fmt, ...) t[#t + 1] = fmt:format(...) end
	local function x(v)
		return LEFT + (v - f.x[1]) / (f.x[2] - f.x[1]) * (w - LEFT - RIGHT)
	end
	local function y(v)
		v = math.min(math.max(v, f.y[1]), f.y[2])
		return TOP + (f.y[2] - v) / (f.y[2] - f.y[1]) * (h - TOP - BOTTOM)
	end
	local function text(px, py, anchor, s, more)
		put('<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>', px, py, anchor,
			more or "", esc(s))
	end
	for _, v in ipairs(M.ticks(f.y[1], f.y[2], 5)) do
		put('<line class="axis%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>',
			v == 0 and f.y[1] < 0 and " zero" or "", LEFT, w - RIGHT, y(v), y(v))
		text(LEFT - 5, y(v) + 4, "end", v == 0 and "0" or (f.y.fmt or "%g"):format(v))
	end
	for _, m in ipairs(f.x.marks) do text(x(m[1]), h - BOTTOM + 16, m[3] or "middle", m[2]) end
	text((LEFT + w - RIGHT) / 2, h - 7, "middle", f.titles[1], ' class="title"')
	text(-(TOP + h - BOTTOM) / 2, 13, "middle", f.titles[2],
		' class="title" transform="rotate(-90)"')
	local key = LEFT + 10
	for _, s in ipairs(f.series) do
		for _, part in ipairs(s.line and parts_of(s.points) or {}) do
			local up, down, points, spread = {}, {}, {}, false
			for i, p in ipairs(part) do
				points[i] = ("%.1f %.1f"):format(x(p[1]), y(p[2]))
				up[i] = ("%.1f %.1f"):format(x(p[1]), y(p[4] or p[2]))
				table.insert(down, 1,
					("%.1f %.1f"):format(x(p[1]), y(p[3] or p[2])))
				spread = spread or p[3] ~= nil
			end
			if spread and #points > 1 then
				put('<path class="band %s" d="M%sL%sZ"/>', s.class,
					table.concat(up, "L"), table.concat(down, "L"))
			end
			if #points > 1 then
				put('<path class="line %s%s" d="M%s"/>', s.class,
					s.wide and " wide" or "", table.concat(points, "L"))
			end
		end
		for _, p in ipairs(s.points) do
			if p[3] then
				put('<line class="line %s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"'
					.. "/>", s.class, x(p[1]), x(p[1]), y(p[3]), y(p[4]))
			end
			if not p.bare then
				put('<circle class="%s" cx="%.1f" cy="%.1f" r="3">%s</circle>',
					s.class, x(p[1]), y(p[2]), p.title
						and "<title>" .. esc(p.title) .. "</title>" or "")
			end
			if p.text then
				local at = p.at or { 0, s.below and 17 or -9 }
				text(x(p[1]) + at[1], y(p[2]) + at[2],
					p.at and "start" or "middle", p.text)
			end
		end
		if s.name then
			if s.line then
				put('<path class="line %s%s" d="M%d %dh16"/>', s.class,
					s.wide and " wide" or "", key - 8, TOP + 4)
			end
			put('<circle class="%s" cx="%d" cy="%d" r="%d"/>', s.class, key, TOP + 4,
				s.line and 3 or 5)
			text(key + 12, TOP + 8, "start", s.name)
			key = key + 40 + 6 * #s.name
		end
	end
	for i, note in ipairs(notes) do text(LEFT, h + NOTE * i - 4, "start", note) end
	return table.concat(t) .. "</svg>"
end

-- M.file(svg) -> the element as a file of its own
function M.file(svg)
	return '<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"'
		.. svg:gsub("^<svg", ""):gsub(">", ("><style>%s</style>"):format(
		M.STYLE:gsub("%%", "%%%%")), 1) .. "\n"
end

return M
