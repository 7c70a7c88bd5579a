-- SPDX-License-Identifier: MIT
-- draw.lua CALLS.json TITLE: the answer of `trace calls -j` as a picture: each
-- collective's wall as a bar of the same length, in it what the CPU's call
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
local height = TOP + #rows * H + 40
put('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">', W, height)
put('<rect width="%d" height="%d" fill="#ffffff"/>', W, height)
put('<text x="16" y="24" font-size="16" font-weight="bold" fill="#222">Where a collective\'s time goes</text>')
put('<text x="16" y="44" font-size="11" fill="#555">%s</text>', esc(title or ""))
put('<text x="16" y="60" font-size="11" fill="#555">medians; the call timed by %s</text>', d.clock == "uprobes" and "uprobes" or "NCCL's own events")
for i, r in ipairs(rows) do
	local y = TOP + (i - 1) * H
	local full = W - LEFT - 110
	local cpu = full * math.min(1, r.cpu_p50_ns / r.wall_p50_ns)
	local exec = math.min(full - cpu, full * r.exec_p50_ns / r.wall_p50_ns)
	put('<text x="16" y="%d" fill="#222">%s %s</text>', y + 17, esc(tostring(r.coll)), r.bytes >= 1 << 20 and (r.bytes >> 20) .. " MiB" or (r.bytes >> 10) .. " KiB")
	put('<rect x="%d" y="%d" width="%.1f" height="24" fill="#dddddd"/>', LEFT, y, full)
	put('<rect x="%d" y="%d" width="%.1f" height="24" fill="#4477aa"/>', LEFT, y, cpu)
	put('<rect x="%.1f" y="%d" width="%.1f" height="24" fill="#ee8866"/>', LEFT + full - exec, y, exec)
	put('<text x="%d" y="%d" fill="#222">%.1f µs</text>', W - 100, y + 17, r.wall_p50_ns / 1000)
	put('<text x="%d" y="%d" font-size="11" fill="#555">unseen before %.1f %%, seen now %.1f %%</text>', LEFT, y + 38, r.unseen_before_pct, r.seen_now_pct)
end
local y = TOP + #rows * H + 20
for i, k in ipairs { { "#4477aa", "CPU in NCCL's call" }, { "#dddddd", "waiting" }, { "#ee8866", "execution" } } do
	local x = LEFT + (i - 1) * 180
	put('<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d" fill="#222">%s</text>', x, y - 10, k[1], x + 18, y, k[2])
end
put('</svg>')
print(table.concat(out, "\n"))
