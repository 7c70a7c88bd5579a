-- SPDX-License-Identifier: MIT
-- A rollout as one HTML file that needs nothing else: verdict and reason, what
-- ran, the effect of each kind with its interval, every block in time, the
-- events, and the data. Pictures are SVG; the numbers are those of the data.
local core = require "ncclbpf.core"
local rollout = require "ncclbpf.rollout"

local M = {}

local function esc(v)
	return (tostring(v):gsub("[&<>\"']", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }))
end

local function number(v, fmt) return type(v) == "number" and (fmt or "%.1f"):format(v) or "" end

local STYLE = [[
:root{--ink:#1b1f24;--soft:#5b6570;--line:#d5dae0;--back:#fff;--a:#5b6570;--b:#0b6bcb;--pass:#18794e;--fail:#c62a2f;--inconclusive:#9a6700}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4af;--line:#39424c;--back:#14181c;--a:#9aa4af;--b:#62b0ff;--pass:#5bd197;--fail:#ff8a8d;--inconclusive:#e5b94e}}
body{margin:2rem auto;max-width:60rem;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back)}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;width:100%;font-size:.9rem}th,td{text-align:left;padding:.2rem .6rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.pass{color:var(--pass)}.fail{color:var(--fail)}.inconclusive{color:var(--inconclusive)}
.soft{color:var(--soft)}svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg .ink{fill:var(--ink)}
.axis{stroke:var(--line)}.a{fill:var(--a)}.b{fill:var(--b)}code{font-size:.9em;overflow-wrap:anywhere}@media print{body{margin:0}}
]]

-- A round step that cuts @span into about @n.
local function step_of(span, n)
	local rough = span / n
	local unit = 10 ^ math.floor(math.log(rough, 10))
	for _, m in ipairs { 1, 2, 5 } do
		if unit * m >= rough then return unit * m end
	end
	return unit * 10
end

local function kinds_of(r)
	return rollout.kinds(type(r.verdict) == "table" and r.verdict.strata or {})
end

-- Each kind's shift with its interval, on one scale of per cent.
local function effects(r, kinds)
	local low, high = 0, 0
	for _, kind in ipairs(kinds) do
		local s = r.verdict.strata[kind]
		for _, k in ipairs { "effect_pct", "low_pct", "high_pct" } do
			if type(s[k]) == "number" then low, high = math.min(low, s[k]), math.max(high, s[k]) end
		end
	end
	local border = r.plan.judge.min_effect_pct
	high = math.max(high, border)
	local pad = (high - low) * 0.05
	low, high = low - pad, high + pad
	local W, LEFT, ROW = 860, 300, 26
	local height = #kinds * ROW + 34
	local function x(v) return LEFT + (v - low) / (high - low) * (W - LEFT - 20) end
	local t = { ('<svg viewBox="0 0 %d %d" role="img" aria-label="effect of each kind">'):format(W, height) }
	local step = step_of(high - low, 6)
	for i = math.ceil(low / step), math.floor(high / step) do
		t[#t + 1] = ('<line class="axis" x1="%.1f" x2="%.1f" y1="4" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%+g %%</text>'):format(
			x(i * step), x(i * step), height - 28, x(i * step), height - 12, i * step)
	end
	t[#t + 1] = ('<line x1="%.1f" x2="%.1f" y1="4" y2="%d" stroke="var(--fail)" stroke-dasharray="4 3"/>'):format(x(border), x(border), height - 28)
	for i, kind in ipairs(kinds) do
		local s, y = r.verdict.strata[kind], i * ROW - 8
		t[#t + 1] = ('<text class="ink" x="0" y="%d">%s</text>'):format(y + 4, esc(kind))
		if type(s.low_pct) == "number" then
			t[#t + 1] = ('<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="var(--%s)" stroke-width="3"/>'):format(x(s.low_pct), x(s.high_pct), y, y, s.verdict)
		end
		if type(s.effect_pct) == "number" then
			t[#t + 1] = ('<circle cx="%.1f" cy="%d" r="5" fill="var(--%s)"/>'):format(x(s.effect_pct), y, s.verdict)
		end
	end
	t[#t + 1] = "</svg>"
	return table.concat(t)
end

-- One kind's medians, block by block, in the order in which they ran.
local function blocks(r, kind)
	local low, high
	for _, b in ipairs(r.blocks) do
		local v = b.medians[kind]
		if v then low, high = math.min(low or v, v), math.max(high or v, v) end
	end
	if not low then return "" end
	local W, H, LEFT = 860, 150, 70
	local pad = math.max((high - low) * 0.1, high * 0.01)
	low, high = math.max(low - pad, 0), high + pad
	local function y(v) return 8 + (high - v) / (high - low) * (H - 38) end
	local t = { ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s, block by block">'):format(W, H, esc(kind)) }
	local step = step_of(high - low, 4)
	for i = math.ceil(low / step), math.floor(high / step) do
		t[#t + 1] = ('<line class="axis" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%g us</text>'):format(
			LEFT, W, y(i * step), y(i * step), LEFT - 6, y(i * step) + 4, i * step / 1000)
	end
	local n = #r.blocks
	for i, b in ipairs(r.blocks) do
		local v = b.medians[kind]
		if v then
			t[#t + 1] = ('<circle class="%s" cx="%.1f" cy="%.1f" r="4"><title>block %d, %s, generation %s: %.1f us</title></circle>'):format(
				b.arm, LEFT + (i - 0.5) / n * (W - LEFT - 10), y(v), i, b.arm == "a" and "baseline" or "candidate", esc(b.generation), v / 1000)
		end
	end
	t[#t + 1] = ('<text x="%d" y="%d">block 1</text><text x="%d" y="%d" text-anchor="end">block %d</text></svg>'):format(LEFT, H - 8, W - 10, H - 8, n)
	return table.concat(t)
end

local function names(list) return #list == 0 and "none (NCCL's own choice)" or table.concat(list, ", ") end

local function facts(r)
	local rows = {
		{ "job", r.job }, { "rollout", r.id }, { "baseline", names(r.baseline) }, { "candidate", names(r.candidate) },
		{ "blocks", ("%d of %d"):format(#r.blocks, r.plan.blocks * 2) }, { "seed of the order", r.plan.seed },
	}
	local t = {}
	for i, row in ipairs(rows) do t[i] = ("<tr><th>%s</th><td>%s</td></tr>"):format(esc(row[1]), esc(row[2])) end
	return "<table>" .. table.concat(t) .. "</table>"
end

local function table_of(r, kinds)
	local t = { "<table><tr><th>kind</th><th>verdict</th><th class=n>slower</th><th class=n>from</th><th class=n>to</th><th class=n>A</th><th class=n>B</th><th>reason</th></tr>" }
	for _, kind in ipairs(kinds) do
		local s = r.verdict.strata[kind]
		t[#t + 1] = ('<tr><td>%s</td><td class="%s">%s</td><td class=n>%s</td><td class=n>%s</td><td class=n>%s</td><td class=n>%d</td><td class=n>%d</td><td>%s</td></tr>')
			:format(esc(kind), s.verdict, s.verdict, number(s.effect_pct, "%+.1f %%"), number(s.low_pct, "%+.1f %%"), number(s.high_pct, "%+.1f %%"),
				s.blocks_a, s.blocks_b, esc(s.reason or ""))
	end
	t[#t + 1] = "</table>"
	return table.concat(t)
end

local function events(r)
	local t = { "<table><tr><th>time</th><th>from</th><th>to</th><th>by</th><th>why</th></tr>" }
	for _, e in ipairs(r.events) do
		t[#t + 1] = ("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>"):format(esc(e.time), esc(e.from), esc(e.to), esc(e.actor), esc(e.reason or ""))
	end
	t[#t + 1] = "</table>"
	return table.concat(t)
end

-- M.html(r[, label]) -> the file's text. @label: said at the top, such as
-- that times were replayed.
function M.html(r, label)
	local kinds = kinds_of(r)
	local state = { succeeded = "pass", rolled_back = "fail", failed = "fail" }
	local keep = {}
	for k, v in pairs(r) do
		if k ~= "path" and k ~= "group" and k ~= "runner" then keep[k] = v end
	end
	local t = {
		"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">",
		("<title>rollout %s: %s</title><style>%s</style>"):format(esc(r.plan.name), esc(r.state), STYLE),
		("<h1>%s: <span class=\"%s\">%s</span></h1><p>%s</p>"):format(esc(r.plan.name), state[r.state] or "inconclusive", esc(r.state), esc(r.why or "")),
		label and ("<p class=soft>%s</p>"):format(esc(label)) or "",
		r.plan.reason and ("<p class=soft>%s</p>"):format(esc(r.plan.reason)) or "",
		"<h2>What ran</h2>", facts(r),
	}
	if #kinds > 0 then
		t[#t + 1] = ("<h2>How much slower the candidate is</h2><p class=soft>Shift of block medians with its interval, %g %% sure in all; left of 0 is faster; the broken line is what is borne, %+g %%.</p>")
			:format(r.plan.judge.confidence * 100, r.plan.judge.min_effect_pct)
		t[#t + 1] = effects(r, kinds)
		t[#t + 1] = table_of(r, kinds)
		t[#t + 1] = '<h2>Block by block</h2><p class=soft><svg viewBox="0 0 12 12" style="width:.8em;display:inline"><circle class=a cx=6 cy=6 r=5 /></svg> baseline <svg viewBox="0 0 12 12" style="width:.8em;display:inline"><circle class=b cx=6 cy=6 r=5 /></svg> candidate; median of a block, the slowest rank of this host</p>'
		for _, kind in ipairs(kinds) do t[#t + 1] = ("<h3>%s</h3>%s"):format(esc(kind), blocks(r, kind)) end
	end
	t[#t + 1] = "<h2>What happened</h2>" .. events(r)
	-- nothing in a text may look like an element
	local data = core.encode(keep):gsub("<", "\\u003c")
	t[#t + 1] = ('<h2>Data</h2><p class=soft>All of it is in this file, as JSON in the element <code>data</code>.</p><script type="application/json" id=data>%s</script>'):format(data)
	t[#t + 1] = ("<p class=soft>ncclbpf %s, %s</p></html>\n"):format(esc(core.version), esc(core.time()))
	return table.concat(t, "\n")
end

return M
