-- SPDX-License-Identifier: MIT
-- A rollout as one self-contained HTML file: verdict and reason, choices, bandwidth, percentiles,
-- blocks over time, ranks, decisions, events and data. Pictures are SVG (report/svg.lua). Each
-- number in the text is one of the JSON data in the file.
local lists = require "ncclbpf.base.lists"
local chart = require "ncclbpf.report.svg"
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local promote = require "ncclbpf.rollout.promote"
local read = require "ncclbpf.job.read"
local rollout = require "ncclbpf.rollout.run"
local units = require "ncclbpf.base.units"
local witness = require "ncclbpf.rollout.evidence"

local M = {}
local esc = chart.esc

local STYLE = [[
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#dde2e7;--back:#fff;
--card:#f6f8fa;--a:#6b7785;--b:#0b6bcb;--pass:#18794e;--fail:#c62a2f;--inconclusive:#8a5d00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4af;--line:#323b45;--back:#14181c;
--card:#1c2228;--a:#a3adb8;--b:#62b0ff;--pass:#5bd197;--fail:#ff8a8d;--inconclusive:#e5b94e}}
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:62rem;
font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--back);
overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 .6rem}h2{font-size:1.15rem;
margin:2.2rem 0 .5rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}h3{font-size:.95rem;
margin:.4rem 0}p{margin:.4rem 0}
.badge{display:inline-block;padding:.1rem .7rem;border-radius:1rem;color:var(--back);
font-size:.95rem;font-weight:600;vertical-align:.2rem}.badge.pass{background:var(--pass)}
.badge.fail{background:var(--fail)}.badge.inconclusive{background:var(--inconclusive)}
.why{font-size:1.05rem}.soft{color:var(--soft)}.note{border-left:3px solid var(--inconclusive);
padding-left:.7rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:1rem 0}
.cards div{background:var(--card);border-radius:.5rem;padding:.6rem .8rem}.cards b{display:block;
font-size:1.3rem;font-variant-numeric:tabular-nums}.cards span{color:var(--soft);font-size:.85rem}
.wide{overflow-x:auto;margin-top:.7rem}table{border-collapse:collapse;width:100%;font-size:.88rem}
th,td{text-align:left;padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);
vertical-align:top}th{color:var(--soft);font-weight:600}.wide th,.wide td{white-space:nowrap}
.wide td:last-child:not(.n){white-space:normal;min-width:14rem}.js .wide th{cursor:pointer}
.wide th[aria-sort]::after{content:" \25B4"}.wide th[aria-sort=descending]::after{content:" \25BE"}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.facts th{width:9rem}td.pass,.text.pass{color:var(--pass)}td.same,.text.same{color:var(--soft)}
td.fail,.text.fail{color:var(--fail)}td.inconclusive,.text.inconclusive{color:var(--inconclusive)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:1rem}
figure{margin:0;min-width:0}svg{width:100%;height:auto;display:block}svg text{
font:11px system-ui,"DejaVu Sans",sans-serif;fill:var(--soft)}
.axis{stroke:var(--line)}.axis.zero{stroke:var(--soft)}svg .title{font-size:12px}
g.kind{--c:hsl(var(--h) 60% 48%)}g.kind path{fill:none;stroke:var(--c);
stroke-width:1.8}g.kind circle{fill:var(--c)}g.kind:hover path{stroke-width:4}
svg text.kind{fill:hsl(var(--h) 60% 42%)}
circle:hover{stroke:var(--ink);stroke-width:2}details{margin:.5rem 0}summary{cursor:pointer}
circle.a{fill:var(--a)}circle.b{fill:var(--b)}.line{fill:none;
stroke-width:2}.line.a{stroke:var(--a)}.line.b{stroke:var(--b)}.thin{stroke-width:1.2;opacity:.55}
.band{opacity:.16}.band.a{fill:var(--a)}.band.b{fill:var(--b)}
.key i{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin:0 .2em 0 .9em}
.key i.a,.time i.a{background:var(--a)}.key i.b,.time i.b{background:var(--b)}.key i:first-child{
margin-left:0}
.effects>div{display:grid;grid-template-columns:minmax(7rem,14rem) 1fr 12.5rem;gap:0 .9rem;
align-items:center;font-size:.9rem}.bar,.scale{position:relative;height:1.5rem}.bar>*,.scale span{
position:absolute}.bar s{top:0;bottom:0;width:0;border-left:1px solid var(--line)}.bar .zero{
border-color:var(--soft)}.bar .border{border-left:2px dashed var(--fail)}
.bar i{top:.6rem;height:.3rem;border-radius:.2rem;min-width:2px}.bar b{top:.4rem;width:.7rem;
height:.7rem;margin-left:-.35rem;border-radius:50%}.bar .pass{background:var(--pass)}.bar .same{
background:var(--soft)}.bar .fail{background:var(--fail)}.bar .inconclusive{
background:var(--inconclusive)}.effects .title{text-align:center;color:var(--soft);
font-size:.8rem}.scale span{transform:translateX(-50%);color:var(--soft);
font-size:.8rem}.text{font-variant-numeric:tabular-nums}
.time,.when{position:relative;height:1.6rem;overflow:hidden}.time{background:var(--card);
border-radius:.3rem}.time i,.when span{position:absolute;top:0;bottom:0}.when span{
color:var(--soft);font-size:.75rem;border-left:1px solid var(--soft);padding-left:2px}
.ranks{display:flex;gap:1px}.ranks span{flex:1 1 0;min-width:0;height:1.5rem;font-size:.72rem;
text-align:center;line-height:1.5rem;overflow:hidden;background:var(--card)}.ranks .slow{
background:color-mix(in srgb,var(--fail) var(--w),var(--card))}.ranks .quick{
background:color-mix(in srgb,var(--b) var(--w),var(--card))}
button,a.file{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--line);
border-radius:.4rem;padding:.3rem .8rem;margin-right:.5rem;cursor:pointer;text-decoration:none;
display:inline-block}
@media(max-width:36rem){.effects>div{grid-template-columns:1fr auto}.effects .bar,.effects .scale,
.effects .title{
grid-column:1/3;grid-row:2}.facts th{width:7.5rem}}
@media print{body{max-width:none}button{display:none}h2{break-after:avoid}figure,.effects{
break-inside:avoid}}
]]

local SCRIPT = [[document.getElementById("save").onclick=function(){var a=document.createElement(
"a");a.href=URL.createObjectURL(new Blob([document.getElementById(
"data").textContent],{type:"application/json"}));a.download="rollout.json";a.click()}
document.body.className="js"
document.querySelectorAll(".wide table").forEach(function(t){
var head=t.rows[0].cells,rows=[].slice.call(t.rows,1)
rows.forEach(function(r,i){r.order=i})
function by(i,way){return function(p,q){var a=p.cells[i].textContent,b=q.cells[i].textContent,
x=parseFloat(a),y=parseFloat(b);return way*(i===0?p.order-q.order:isNaN(x)||isNaN(y)?
a.localeCompare(b):x-y)||p.order-q.order}}
function sort(i){var way=head[i].getAttribute("aria-sort")==="ascending"?-1:1
rows.sort(by(i,way)).forEach(function(r){t.tBodies[0].appendChild(r)})
for(var k=0;k<head.length;k++)head[k].removeAttribute("aria-sort")
head[i].setAttribute("aria-sort",way>0?"ascending":"descending")}
;[].forEach.call(head,function(h,i){h.tabIndex=0;h.onclick=function(){sort(i)}
h.onkeydown=function(e){if(e.key==="Enter")sort(i)}})})]]

-- ---- helpers -------------------------------------------------------------------------

local function num(v, fmt) return type(v) == "number" and (fmt or "%.1f"):format(v) or "" end

local function us(ns) return num(ns and ns / 1000) end

-- Is the word usable as a CSS class?
local function verdict_of(s)
	local v = s.verdict
	return (v == "pass" or v == "fail") and v or "inconclusive"
end

-- The outcome of a kind of collective, and its CSS class; with promote = "better" each kind
-- has its own outcome.
local CLASS = { better = "pass", worse = "fail", same = "same", open = "inconclusive" }
local function outcome_of(s)
	local class = CLASS[s.outcome]
	if class then return s.outcome, class end
	local v = verdict_of(s)
	return v, v
end

-- The name of a kind, without the communicator if all kinds share it.
local label

-- @columns: titles of columns. A title that begins with "#" marks a column of numbers. Cells
-- are HTML.
local function table_of(columns, rows, class)
	local t = { class and ("<table class=%s>"):format(class) or "<div class=wide><table>" }
	if columns then
		t[#t + 1] = "<tr>"
		for _, c in ipairs(columns) do
			t[#t + 1] = c:sub(1, 1) == "#" and ("<th class=n>%s</th>"):format(
				esc(c:sub(2))) or ("<th>%s</th>"):format(esc(c))
		end
		t[#t + 1] = "</tr>"
	end
	for _, row in ipairs(rows) do
		t[#t + 1] = "<tr>"
		for i, cell in ipairs(row) do
			local number = columns and columns[i]:sub(1, 1) == "#"
			t[#t + 1] = not columns and i == 1 and ("<th>%s</th>"):format(cell)
				or number and ("<td class=n>%s</td>"):format(cell) or
				cell:match "^<td" and cell or ("<td>%s</td>"):format(cell)
		end
		t[#t + 1] = "</tr>\n"
	end
	t[#t + 1] = class and "</table>" or "</table></div>"
	return table.concat(t)
end

local KEY = "<p class=\"soft key\"><i class=a></i>A, baseline <i class=b></i>B, candidate%s</p>"

local function key(more) return KEY:format(more and " &nbsp; " .. esc(more) or "") end

-- Convert a time stamp of core.time to seconds, for differences only.
local function seconds(text)
	local y, mo, d, h, mi,
		s = tostring(text):match "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):([%d.]+)Z$"
	if not y then return nil end
	return os.time { year = y, month = mo, day = d, hour = h, min = mi, sec = 0 } + tonumber(s)
end

local function names(list)
	return #list == 0 and "none (NCCL's own choice)" or table.concat(list, ", ")
end

-- ---- sections ------------------------------------------------------------------------

local function span_of(r)
	local first = seconds(read.record(r.events[1]).time)
	local last = seconds(read.record(r.events[#r.events]).time)
	return first and last and last >= first and last - first or nil, first
end

local function cards(r, kinds, seen)
	local best, worst
	for _, kind in ipairs(kinds) do
		local e = r.verdict.strata[kind].effect_pct
		if type(e) == "number" then
			best, worst = math.min(best or e, e), math.max(worst or e, e)
		end
	end
	local t = {}
	local function card(value, what)
		t[#t + 1] = ("<div><b>%s</b><span>%s</span></div>"):format(esc(value), esc(what))
	end
	if best then
		card(chart.change(best), #kinds == 1 and "candidate"
			or "candidate, best kind of collective")
		if #kinds > 1 then card(chart.change(worst), "candidate, worst kind") end
	end
	card(("%d of %d"):format(#r.blocks, require("ncclbpf.rollout.plan").total(r.plan)),
		"blocks")
	if seen.of == "collectives" then card(("%d"):format(seen.samples), "collectives timed") end
	local span = span_of(r)
	if span then card(units.seconds(span), "from start to end") end
	return "<div class=cards>" .. table.concat(t) .. "</div>"
end

-- Return the change of a kind's time in words; @v: its outcome.
local function change_of(s, v)
	local mid, low, high = tonumber(s.effect_pct), tonumber(s.low_pct), tonumber(s.high_pct)
	if not mid or v == "inconclusive" then return v end
	local unsure = low and high and low <= 0 and high >= 0
	return (unsure and "about as fast" or chart.change(mid)) .. ", " .. v
end

local function effects(r, kinds)
	local rows, lines = {}, {}
	local promoted = r.promoted and r.state == "succeeded"
	for i, kind in ipairs(kinds) do
		local s = r.verdict.strata[kind]
		local v, class = outcome_of(s)
		local function n(x) return type(x) == "number" and x or nil end
		rows[i] = { label = label(kind), verdict = class, mid = n(s.effect_pct),
			low = n(s.low_pct) and n(s.high_pct) and s.low_pct, high = n(s.high_pct),
			text = change_of(s, v) }
		lines[i] = { esc(label(kind)), ('<td class="%s">%s</td>'):format(class, v),
			num(s.effect_pct, "%+.1f %%"), num(s.low_pct, "%+.1f %%"),
			num(s.high_pct, "%+.1f %%"),
			num(s.blocks_a, "%d"), num(s.blocks_b, "%d"), esc(s.reason or "") }
		if promoted then
			table.insert(lines[i], 3, s.outcome == "better"
				and '<td class="pass">promoted</td>'
				or '<td class="same">held back</td>')
		end
	end
	local columns = { "kind", "verdict", "#change of time", "#from", "#to", "#A", "#B",
		"reason" }
	if promoted then table.insert(columns, 3, "now") end
	return ("<h2>Is the candidate faster?</h2><p class=soft>Change of the time in per cent, " ..
		"from block medians, with its interval (joint confidence %g %%). " ..
		"Below 0, left, the candidate is faster; " ..
		"the dashed line is the largest tolerated slowdown, %+g %%.</p>")
		:format(r.plan.judge.confidence * 100, r.plan.judge.min_effect_pct)
			.. chart.effects(rows, r.plan.judge.min_effect_pct) ..
		"<p></p>" .. table_of(columns, lines)
end

local function facts(r)
	local rows = { { "job", esc(r.job) }, { "rollout", "<code>" .. esc(r.id) .. "</code>" },
		{ "baseline", esc(names(r.baseline)) }, { "candidate", esc(names(r.candidate)) } }
	if r.promoted and r.state == "succeeded" then
		rows[#rows + 1] = {
			"promoted", esc(("%s: %s; elsewhere the previous policies"):format(
			names(r.promoted), promote.text(
			read.record(read.record(r.verdict).strata)))) }
	end
	local where = read.record(r.where)
	if where.version then
		rows[#rows + 1] = {
			"ran on", esc(("%s, %s; ncclbpf %s, tuner interface v%s"):format(
			table.concat(read.record(where.hosts), ", "),
			where.processes == 1 and "1 process"
				or tostring(where.processes) .. " processes",
				tostring(where.version), tostring(where.tuner_abi))) }
	end
	local used = {}
	for _, arm in ipairs { r.baseline, r.candidate } do
		for _, name in ipairs(arm) do used[name] = true end
	end
	for _, p in ipairs(read.list(where, "policies")) do
		if used[p.name] then
			rows[#rows + 1] = { "policy", ("%s <code>%s</code>"):format(
				esc(p.name), esc(p.digest)) }
		end
	end
	local comms = read.list(where, "comms")
	for i, c in ipairs(comms) do
		if i <= 16 then
			rows[#rows + 1] = { "communicator",
				("<code>%s</code> %s"):format(
				esc(c.comm), esc(("%s, %s"):format(
				units.count(c.ranks, "rank"), units.count(c.nodes, "node")))) }
		end
	end
	if #comms > 16 then rows[#rows + 1] = { "", ("and %d more"):format(#comms - 16) } end
	rows[#rows + 1] = { "order of turns", esc("by chance, seed " .. tostring(r.plan.seed)) }
	return "<h2>What ran where</h2>" .. table_of(nil, rows, "facts")
end

-- Kinds of one collective and communicator, by size.
local function groups(seen, kinds)
	local list, by = {}, {}
	for _, kind in ipairs(kinds) do
		local k = seen.kinds[kind]
		if k then
			local name = ("%s of %s"):format(k.coll, k.comm)
			if not by[name] then lists.add(list, by, name, { name = name }) end
			table.insert(by[name], { size = k.size, text = units.bytes(k.size),
				a = k.a.busbw_gbs, b = k.b.busbw_gbs })
		end
	end
	for _, g in ipairs(list) do table.sort(g, function(x, y) return x.size < y.size end) end
	return list
end

local function bandwidth(seen, kinds)
	local t = {}
	for _, g in ipairs(groups(seen, kinds)) do
		local sized = g[1].size > 0
		if sized then
			t[#t + 1] = ("<figure><h3>%s</h3>%s</figure>"):format(
				esc(g.name), chart.bandwidth(
				g.name .. ", bus bandwidth over size", g))
		end
	end
	if #t == 0 then return "" end
	local rows = {}
	for _, kind in ipairs(kinds) do
		local k = seen.kinds[kind]
		local a, b = k and k.a.busbw_gbs, k and k.b.busbw_gbs
		if k then
			rows[#rows + 1] = { esc(label(kind)), num(a and a.p50), a
				and ("%.1f to %.1f"):format(a.p10, a.p90) or "", num(b and b.p50), b
				and ("%.1f to %.1f"):format(b.p10, b.p90) or "",
				num(a and b and (a.p50 / b.p50 - 1) * 100, "%+.1f %%") }
		end
	end
	return "<h2>Bandwidth over size</h2>"
		.. key("bus bandwidth in GB/s; line: median, band and whiskers: " ..
		"80 % of the times; a size counts as the power of two that it begins with") ..
		"<div class=grid>" .. table.concat(t) .. "</div>"
			.. table_of({ "kind", "#A GB/s", "#80 %", "#B GB/s", "#80 %",
				"#change of time" },
			rows)
end

local function percentiles(seen, kinds)
	local lines, rows = {}, {}
	for i, kind in ipairs(kinds) do
		local k = seen.kinds[kind]
		if k and i <= 24 then
			lines[#lines + 1] = { label = label(kind), a = k.a.q_ns, b = k.b.q_ns }
		end
		for _, arm in ipairs(k and { "a", "b" } or {}) do
			local q = k[arm].q_ns
			rows[#rows + 1] = { esc(label(kind)), ascii.upper(arm), num(k[arm].n, "%d"),
				us(q[11]), us(q[51]), us(q[91]), us(q[100]), us(q[101]) }
		end
	end
	if #rows == 0 then return "" end
	local what = seen.of == "blocks" and "block medians, because single times were not kept"
		or "a collective takes as long as its slowest rank"
	return ("<h2>Percentiles</h2><p class=soft>The candidate's times against the baseline's " ..
		"at the same percentile; %s. A line below 0 is faster.</p><figure>%s</figure>")
		:format(what, chart.percentiles("change of the time by percentile", lines)) ..
		table_of({ "kind", "arm", "#n", "#p10 us", "#p50 us", "#p90 us", "#p99 us",
			"#max us" }, rows)
end

local function timeline(r)
	local span, first = span_of(r)
	if not span or span <= 0 then return "" end
	local blocks, events, last = {}, {}, 0
	for i, b in ipairs(r.blocks) do
		local to = seconds(b.time)
		local from = seconds(b.began)
		if to then
			from = from and from - first or last
			blocks[#blocks + 1] = { from = from, to = to - first, arm = b.arm,
				title = ("block %d, %s, generation %s"):format(
				i, chart.arm(b.arm), tostring(b.generation)) }
			last = to - first
		end
	end
	for i, e in ipairs(r.events) do
		local at = seconds(e.time)
		if at then
			events[#events + 1] = { at = at - first, n = i,
				title = tostring(e.reason or e.to) }
		end
	end
	local generations = ""
	if #r.blocks > 0 then
		generations = ("generations %s to %s; "):format(
			tostring(r.blocks[1].generation), tostring(r.blocks[#r.blocks].generation))
	end
	return "<h2>In time</h2>" .. key(generations .. "numbers below are those of the events")
		.. chart.timeline(blocks, events, span)
end

local function by_block(r, kinds)
	local t = {}
	for n, kind in ipairs(kinds) do
		local list = {}
		for i, b in ipairs(r.blocks) do
			local v = b.medians[kind]
			local spread = read.record(read.record(b.spread)[kind])
			if type(v) == "number" then
				list[#list + 1] = { n = i, arm = b.arm, ns = v,
					low = tonumber(spread.p10_ns),
					high = tonumber(spread.p90_ns), generation = b.generation }
			end
		end
		if n <= 24 then
			t[#t + 1] = ("<figure><h3>%s</h3>%s</figure>"):format(
				esc(label(kind)), chart.blocks(
				kind .. ", block by block", list, math.max(#r.blocks, 2)))
		end
	end
	return "<p class=soft>Median of each block, with 80 % of its times.</p><div class=grid>"
		.. table.concat(t) .. "</div>"
end

local function ranks(seen, kinds)
	local t, most = {}, nil
	for _, kind in ipairs(kinds) do
		local k = seen.kinds[kind]
		for _, arm in ipairs(k and { "a", "b" } or {}) do
			local list, all = k["ranks_" .. arm], {}
			for i, x in ipairs(list) do all[i] = x.ns end
			if #list > 1 then
				local mid = core.quantiles(all, 2)[2]
				local cells = {}
				for i, x in ipairs(list) do
					cells[i] = { rank = x.rank, pct = (x.ns / mid - 1) * 100 }
					local pct = cells[i].pct
					if not most or math.abs(pct) > math.abs(most[2]) then
						most = { x.rank, pct, label(kind), arm }
					end
				end
				t[#t + 1] = ("<p class=soft>%s, %s</p>%s"):format(
					esc(label(kind)), chart.arm(arm), chart.ranks(cells))
			end
		end
	end
	if #t == 0 then return "" end
	return ("<h2>Rank by rank</h2><details><summary>Largest difference from the median "
		.. "rank: rank %s takes %+.1f %% (%s, %s)</summary><p class=soft>Time of each "
		.. "rank against the median rank's, in per cent; rank 0 is the leftmost."
		.. "</p>%s</details>"):format(esc(most[1]), most[2], esc(most[3]),
		chart.arm(most[4]), table.concat(t))
end

local function decisions(seen, kinds)
	local rows = {}
	for _, kind in ipairs(kinds) do
		local k = seen.kinds[kind]
		local words = lists.keys(k and k.ran or {})
		for _, word in ipairs(words) do
			rows[#rows + 1] = { esc(label(kind)), esc(word),
				("%d"):format(k.ran[word].a), ("%d"):format(k.ran[word].b) }
		end
	end
	if #rows == 0 then return "" end
	return "<h2>What was decided</h2>" .. table_of(
		{ "kind", "algorithm/protocol that ran", "#A times", "#B times" }, rows)
end

local function events(r)
	local rows = lists.map(r.events, function(e, i)
		return { ("%d"):format(i), esc(e.time), esc(e.from), esc(e.to), esc(e.actor),
			esc(e.reason or "") }
	end)
	return "<h2>What happened</h2>" .. table_of({ "#", "time", "from", "to", "by", "why" },
		rows)
end

local function data(r, seen, csv)
	local keep = {}
	for k, v in pairs(r) do
		if k ~= "path" and k ~= "group" and k ~= "runner" and k ~= "elsewhere"
			and k ~= "samples" and k ~= "hooks" then
			keep[k] = v
		end
	end
	keep.seen = seen
	-- Escape text so that it cannot contain elements.
	local json = core.encode(keep):gsub("<", "\\u003c")
	local link = csv and (' <a class=file download href="%s">%s</a>'):format(
		csv:gsub("[^%w._-]", function(c)
		return ("%%%02X"):format(c:byte())
	end), esc(csv)) or ""
	return ("<h2>Data</h2><p class=soft>Verdict, blocks, " ..
		"quantiles and events are in this file, " ..
		"as JSON in the element <code>data</code>%s.</p><p><button id=save>Save " ..
		"as JSON</button>%s</p><script type=\"application/json\" id=data>%s</script>")
		:format(csv and "; each collective's time is a line of the CSV beside it" or "",
			link, json)
end

-- ---- the whole -----------------------------------------------------------------------

-- Return the content security policy of the file: no network, and only our own script.
local function guard()
	local hash = core.sha256(SCRIPT):gsub("%x%x", function(b)
		return string.char(tonumber(b, 16))
	end)
	return ("<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
		.. "style-src 'unsafe-inline'; img-src data:; script-src 'sha256-%s'\">"):format(
		core.base64(hash))
end

local STATE = { succeeded = "pass", rolled_back = "fail", failed = "fail" }

-- M.html(r[, opts]) -> the file's text, the measured choices
-- opts: label (a note at the top, such as "times were replayed"), csv (the name
-- of the file beside it that holds each time)
function M.html(r, opts)
	opts = opts or {}
	local seen = witness.read(r)
	local strata = type(r.verdict) == "table" and r.verdict.strata or {}
	local judged = rollout.kinds(strata)
	local kinds = #judged > 0 and judged or rollout.kinds(seen.kinds)
	label = witness.labels(kinds)
	local t = {
		"<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport "
			.. "content=\"width=device-width,initial-scale=1\">", guard(),
		("<title>rollout %s: %s</title><style>%s</style></head><body>"):format(
			esc(r.plan.name), esc(r.state), STYLE),
		("<p class=soft>ncclbpf rollout</p><h1>%s <span class=\"badge "
			.. "%s\">%s</span></h1><p class=why>%s</p>"):format(
			esc(r.plan.name), STATE[r.state] or "inconclusive",
			esc((r.state:gsub("_", " "))), esc(r.why or "")),
		r.plan.reason and ("<p class=soft>Tried because: %s</p>"):format(esc(r.plan.reason))
			or "",
		opts.label and ("<p class=note>%s</p>"):format(esc(opts.label)) or "",
		rollout.times(r) and ("<p class=note>Times are not measured: %s.</p>"):format(
			esc(rollout.times(r))) or "",
		cards(r, judged, seen),
		#judged > 0 and effects(r, judged)
			or "<p class=soft>No check was made, " ..
			"so there is no verdict on any kind of collective.</p>",
		facts(r), bandwidth(seen, kinds), percentiles(seen, kinds), timeline(r),
		#r.blocks > 0 and by_block(r, kinds) or "", ranks(seen, kinds),
		decisions(seen, kinds), events(r), data(r, seen, opts.csv),
		("<p class=soft>ncclbpf %s, %s</p><script>%s</script></body></html>\n"):format(
			esc(core.version), esc(core.time()), SCRIPT),
	}
	return table.concat(t, "\n"), seen
end

-- M.figures(text) -> {name, svg}: the pictures of a report as separate files
function M.figures(text)
	local list = {}
	for attributes, body in text:gmatch "<svg ([^>]*)>(.-)</svg>" do
		local label_of = attributes:match 'aria%-label="([^"]*)"' or "figure"
		local name = ascii.lower(label_of:gsub("&%w+;", ""):gsub("[^%w.]+", "-"):gsub(
			"^%-+", ""):gsub("%-+$", ""):sub(1, 80))
		local style = STYLE:gsub("&", "&amp;"):gsub("<", "&lt;")
		list[#list + 1] = { name = ("%02d-%s.svg"):format(#list + 1, name),
			svg = ('<?xml version="1.0" encoding="utf-8"?>\n<svg '
				.. 'xmlns="http://www.w3.org/2000/svg" '
				.. '%s><style>%s</style>%s</svg>\n'):format(
				attributes, style, body) }
	end
	return list
end

-- Copy the file of times beside the report. -> true | nil, err
function M.csv(r, path)
	local from = r.samples and io.open(r.samples)
	if not from then return nil end
	-- do not replace a file of other contents, such as a candidate's table
	local old = io.open(path)
	local first = old and old:read "l"
	if old then old:close() end
	if first and first ~= from:read "l" then
		from:close()
		return nil, errors.new(
			"exists", path .. ": contains other data than a rollout's times",
			{ hint = "another name for the report" })
	end
	from:seek "set"
	local to, why = io.open(path, "w")
	local good = to ~= nil
	while good do
		local bytes = from:read(1 << 20)
		if not bytes then break end
		good, why = to:write(bytes)
	end
	from:close()
	if to then good = to:close() and good end
	if not good then
		why = tostring(why)
		return nil, errors.new("cannot_create", why:sub(1, #path) == path and why
			or ("%s: %s"):format(path, why))
	end
	return true
end

return M
