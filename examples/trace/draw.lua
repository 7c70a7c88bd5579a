-- SPDX-License-Identifier: MIT
-- draw.lua CALLS.json SOURCE [NOTE]: the answer of `trace calls -j` as a picture in light and dark
-- colours: each collective's wall time as a bar, all on one scale, in it what the CPU's call
-- shows and what GPU or network do. SOURCE tells what ran; NOTE is a line below the picture.
local svg = require "ncclbpf.report.svg"
local path, source, note = ...
local f = assert(io.open(path))
local d = assert(nb.json.decode(f:read "a")).data
f:close()
local W, H, LEFT, TOP = 760, 46, 140, 64
local out, esc = {}, svg.esc
local function put(fmt, ...) out[#out + 1] = fmt:format(...) end
-- more: attributes, such as a class for the colour and size
local function text(x, y, more, fmt, ...)
	put('<text x="%.1f" y="%d"%s>%s</text>', x, y, more, esc(fmt:format(...)))
end
local function bar(x, y, width, height, class)
	put('<rect x="%.1f" y="%d" width="%.1f" height="%d" class="%s"/>', x, y, width, height,
		class)
end

local rows = d.rows
local foot = TOP + #rows * H
local height = foot + 96 + (note and 16 or 0)
local FULL = W - LEFT - 90
local most = 1
for _, r in ipairs(rows) do most = math.max(most, r.wall_p50_ns) end
put('<svg viewBox="0 0 %d %d" role="img" aria-label="Where a collective&#39;s time goes"><style>'
	.. "svg text.ink{fill:var(--ink)}svg text.head{font-size:15px;fill:var(--ink)}"
	.. ".wait{fill:var(--line)}.call{fill:var(--b)}.run{fill:var(--open)}</style>", W, height)
text(16, 22, ' class="head"', "Where a collective's time goes")
text(16, 42, ' class="title"', "medians; %s the time in the call",
	d.clock == "uprobes" and "uprobes measure" or "NCCL's own events give")
for _, v in ipairs(svg.ticks(0, most, 5)) do
	local x = LEFT + FULL * v / most
	put('<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>', x, x, TOP - 6, foot)
	text(x, foot + 14, ' text-anchor="middle"', "%g", v / 1000)
end
text(LEFT + FULL // 2, foot + 32, ' class="title" text-anchor="middle"',
	"time from the call to the end of the collective (µs)")
for i, r in ipairs(rows) do
	local y = TOP + (i - 1) * H
	local full = FULL * r.wall_p50_ns / most
	local cpu = full * math.min(1, r.cpu_p50_ns / r.wall_p50_ns)
	local exec = math.min(full - cpu, full * r.exec_p50_ns / r.wall_p50_ns)
	text(16, y + 16, ' class="title ink"', "%s %s", tostring(r.coll), r.bytes >= 1 << 20
		and (r.bytes >> 20) .. " MiB" or (r.bytes >> 10) .. " KiB")
	bar(LEFT, y, full, 22, "wait")
	bar(LEFT, y, cpu, 22, "call")
	bar(LEFT + full - exec, y, exec, 22, "run")
	text(LEFT + full + 8, y + 16, ' class="title ink"', "%.0f µs", r.wall_p50_ns / 1000)
	text(LEFT, y + 35, "", "the call alone shows %.0f %%, call and execution together %.0f %%",
		100 - r.unseen_before_pct, r.seen_now_pct)
end
local key = 16
for _, k in ipairs { { "call", "CPU in NCCL's call" }, { "wait", "waiting in the stream" },
		{ "run", "execution on the GPU" } } do
	bar(key, foot + 48, 12, 12, k[1])
	text(key + 18, foot + 58, ' class="ink"', "%s", k[2])
	key = key + 180
end
local y = foot + 82
if note then
	text(16, y, "", "%s", note)
	y = y + 16
end
text(16, y, "", "Source: make demo-trace, 2 ranks; %s", source or "")
put("</svg>")
io.write(svg.file(table.concat(out, "\n")))
