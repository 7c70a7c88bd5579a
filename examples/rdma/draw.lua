-- SPDX-License-Identifier: MIT
-- draw.lua DIRECTORY TITLE: the receives of each rank as bars over time, a panel for each run, from
-- what collect.lua wrote. SVG to standard output.
local dir, title = ...
local W, LEFT, ROW, TOP, GAP = 900, 70, 22, 66, 62
local FULL = W - LEFT - 20
-- colours of the steps that add, pass sums on, or are slow
local COLOUR = { "#4477aa", "#66ccee", "#ee6677" }
local runs = { { "wire", "no loss" }, { "loss", "2 % of the packets lost" },
	{ "tuned", "2 % lost, time-out 15 set by the policy qp_tune" } }
for _, r in ipairs(runs) do
	local f = assert(io.open(("%s/%s.json"):format(dir, r[1])))
	r.data = assert(nb.json.decode(f:read "a"))
	f:close()
end

local function esc(s) return (s:gsub("&", "&amp;"):gsub("<", "&lt;")) end
local out = {}
local function put(fmt, ...) out[#out + 1] = fmt:format(...) end

-- The receives of one run: the first start and the last end of all steps, and the median time of
-- receives.
local function span(data)
	local from, to, all = math.huge, 0, {}
	for _, p in ipairs(data.steps) do
		for _, s in ipairs(p.list) do
			from, to = math.min(from, s.start_ns), math.max(to, s.end_ns)
			if s.send == 0 then all[#all + 1] = s.end_ns - s.start_ns end
		end
	end
	table.sort(all)
	return from, to, all[math.max(1, #all // 2)]
end
-- A round number that divides @most into five to ten parts, for an axis.
local function tick(most)
	local t = 10 ^ math.floor(math.log(most / 5, 10))
	for _, m in ipairs { 1, 2, 5, 10 } do
		if m * t * 10 >= most then return m * t end
	end
	return most
end

local nranks = #runs[1].data.steps
local panel = nranks * ROW + GAP
local height = TOP + #runs * panel + 20
local _, _, usual = span(runs[1].data)
put('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
	.. 'font-family="sans-serif" font-size="12">', W, height)
put('<rect width="%d" height="%d" fill="#ffffff"/>', W, height)
put('<text x="16" y="24" font-size="16" font-weight="bold" fill="#222222">'
	.. 'Steps of a ring AllReduce over verbs, by rank</text>')
put('<text x="16" y="42" font-size="11" fill="#555555">%s; '
	.. 'each bar is a receive, from post to completion</text>', esc(title or ""))
for i, r in ipairs(runs) do
	local y = TOP + (i - 1) * panel + 16
	local from, to = span(r.data)
	local step = tick((to - from) / 1e6)
	local foot = y + nranks * ROW
	put('<text x="16" y="%d" fill="#222222">%s: %.0f ms</text>', y - 6, r[2], (to - from) / 1e6)
	local v = 0
	while v <= (to - from) / 1e6 do
		local x = LEFT + FULL * v * 1e6 / (to - from)
		put('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#dddddd"/>', x, x, y, foot)
		put('<text x="%.1f" y="%d" font-size="10" text-anchor="middle" fill="#555555">'
			.. '%g ms</text>', x, foot + 13, v)
		v = v + step
	end
	for k, p in ipairs(r.data.steps) do
		local top = y + (k - 1) * ROW
		put('<text x="16" y="%d" fill="#222222">rank %d</text>', top + 14, p.rank)
		for _, s in ipairs(p.list) do
			if s.send == 0 then
				local ns = s.end_ns - s.start_ns
				local kind = ns > 5 * usual and 3 or s.tag < nranks - 1 and 1 or 2
				put('<rect x="%.1f" y="%d" width="%.1f" height="16" fill="%s" '
					.. 'stroke="#ffffff" stroke-width="0.5">'
					.. '<title>step %d, %.2f ms</title></rect>',
					LEFT + FULL * (s.start_ns - from) / (to - from), top + 2,
					math.max(FULL * ns / (to - from), 0.8), COLOUR[kind],
					s.tag, ns / 1e6)
			end
		end
	end
end
local words = { "adding up", "handing round",
	("more than 5 times the median without loss (%.2f ms)"):format(usual / 1e6) }
for i, w in ipairs(words) do
	local x = LEFT + (i - 1) * 150
	put('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>', x, height - 28, COLOUR[i])
	put('<text x="%d" y="%d" fill="#222222">%s</text>', x + 18, height - 18, w)
end
put '</svg>'
print(table.concat(out, "\n"))
