-- SPDX-License-Identifier: MIT
-- draw.lua CALLS.json TITLE: the answer of `trace calls -j` as a picture: each
-- collective's wall time as a bar, all on one scale, in it what the CPU's call
-- shows and what GPU or network do.
local path, title = ...
local f = assert(io.open(path))
local d = assert(nb.json.decode(f:read "a")).data
f:close()
local W, H, LEFT, TOP = 760, 46, 150, 84
local out = {}
local function put(fmt, ...) out[#out + 1] = fmt:format(...) end
local function esc(s) return (s:gsub("&", "&amp;"):gsub("<", "&lt;")) end
local rows = d.rows
local height = TOP + #rows * H + 76
local FULL = W - LEFT - 110
local most = 1
for _, r in ipairs(rows) do most = math.max(most, r.wall_p50_ns) end
-- A round number that divides the longest wall time into about five parts, for the axis.
local step = 10 ^ math.floor(math.log(most / 5, 10))
for _, m in ipairs { 1, 2, 5, 10 } do
	if m * step * 5 >= most then
		step = m * step
		break
	end
end
put('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" '
	.. 'font-family="sans-serif" font-size="13">', W, height)
put('<rect width="%d" height="%d" fill="#ffffff"/>', W, height)
put('<text x="16" y="24" font-size="16" font-weight="bold" fill="#222">'
	.. "Where a collective's time goes</text>")
put('<text x="16" y="44" font-size="11" fill="#555">%s</text>', esc(title or ""))
put('<text x="16" y="60" font-size="11" fill="#555">medians; the call timed by %s</text>',
	d.clock == "uprobes" and "uprobes" or "NCCL's own events")
local foot = TOP + #rows * H
for v = 0, most, step do
	local x = LEFT + FULL * v / most
	put('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#cccccc"/>', x, x, TOP - 6, foot)
	put('<text x="%.1f" y="%d" font-size="11" text-anchor="middle" fill="#555">%g</text>', x,
		foot + 14, v / 1000)
end
put('<text x="%d" y="%d" font-size="11" text-anchor="middle" fill="#555">wall time (µs)</text>',
	LEFT + FULL // 2, foot + 30)
for i, r in ipairs(rows) do
	local y = TOP + (i - 1) * H
	local full = FULL * r.wall_p50_ns / most
	local cpu = full * math.min(1, r.cpu_p50_ns / r.wall_p50_ns)
	local exec = math.min(full - cpu, full * r.exec_p50_ns / r.wall_p50_ns)
	put('<text x="16" y="%d" fill="#222">%s %s</text>', y + 17, esc(tostring(r.coll)),
		r.bytes >= 1 << 20 and (r.bytes >> 20) .. " MiB" or (r.bytes >> 10) .. " KiB")
	put('<rect x="%d" y="%d" width="%.1f" height="24" fill="#dddddd"/>', LEFT, y, full)
	put('<rect x="%d" y="%d" width="%.1f" height="24" fill="#4477aa"/>', LEFT, y, cpu)
	put('<rect x="%.1f" y="%d" width="%.1f" height="24" fill="#ee8866"/>',
		LEFT + full - exec, y, exec)
	put('<text x="%.1f" y="%d" fill="#222">%.1f µs</text>', LEFT + full + 8, y + 17,
		r.wall_p50_ns / 1000)
	put('<text x="%d" y="%d" font-size="11" fill="#555">'
		.. 'unseen before %.1f %%, seen now %.1f %%</text>',
		LEFT, y + 38, r.unseen_before_pct, r.seen_now_pct)
end
local y = foot + 58
for i, k in ipairs { { "#4477aa", "CPU in NCCL's call" }, { "#dddddd", "waiting" },
		{ "#ee8866", "execution" } } do
	local x = LEFT + (i - 1) * 180
	put('<rect x="%d" y="%d" width="12" height="12" fill="%s"/>', x, y - 10, k[1])
	put('<text x="%d" y="%d" fill="#222">%s</text>', x + 18, y, k[2])
end
put('</svg>')
print(table.concat(out, "\n"))
