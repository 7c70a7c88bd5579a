-- SPDX-License-Identifier: MIT
-- A rollout as one self-contained HTML file without a script: verdict, changes of the time,
-- bandwidth, times, blocks, events and data. Each number is one of the JSON data in the file.
local ascii = require "ncclbpf.base.ascii"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local promote = require "ncclbpf.rollout.promote"
local read = require "ncclbpf.job.read"
local record = require "ncclbpf.rollout.record"
local rollout = require "ncclbpf.rollout.run"
local svg = require "ncclbpf.report.svg"
local units = require "ncclbpf.base.units"
local witness = require "ncclbpf.rollout.evidence"

local M = {}
local esc = svg.esc

local STYLE = svg.STYLE .. [[
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:62rem;
font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--back);
overflow-wrap:anywhere}h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 .6rem}h2{
font-size:1.15rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--line)}h3{font-size:.95rem;
margin:.4rem 0}p{margin:.4rem 0}.soft{color:var(--soft)}.badge{display:inline-block;
padding:.1rem .7rem;border-radius:1rem;color:var(--back);font-size:.95rem;vertical-align:.2rem}
.badge.pass{background:var(--pass)}.badge.fail{background:var(--fail)}.badge.open{
background:var(--open)}.note{border-left:3px solid var(--open);padding-left:.7rem}.wide{
overflow-x:auto;margin:.7rem 0}table{border-collapse:collapse;width:100%;font-size:.88rem;
font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .7rem .25rem 0;
border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}
.wide th,.wide td{white-space:nowrap}.wide td:last-child{white-space:normal;min-width:9rem}
td.n,th.n{text-align:right}td.pass{color:var(--pass)}td.fail{color:var(--fail)}td.open{
color:var(--open)}.bar{position:relative;height:1.4rem;min-width:12rem}.bar>*{position:absolute}
.bar s{top:0;bottom:0;border-left:1px solid var(--soft)}.bar .border{
border-left:2px dashed var(--fail)}.bar i{top:.55rem;height:.3rem;min-width:2px}.bar b{top:.35rem;
width:.7rem;height:.7rem;margin-left:-.35rem;border-radius:50%}.bar .pass{background:var(--pass)}
.bar .same{background:var(--soft)}.bar .fail{background:var(--fail)}.bar .open{
background:var(--open)}.grid{display:grid;
grid-template-columns:repeat(auto-fill,minmax(min(100%,24rem),1fr));gap:1rem}figure{margin:0;
min-width:0}svg{width:100%;height:auto;display:block}.key i{display:inline-block;width:.8em;
height:.8em;border-radius:50%;margin:0 .2em 0 .9em}.key .a{background:var(--a);margin-left:0}
.key .b{background:var(--b)}@media print{body{max-width:none}h2{break-after:avoid}figure{
break-inside:avoid}}
]]

-- ---- parts of sections -----------------------------------------------------------------

local ARM = { a = "baseline", b = "candidate" }
local FIGURES = 24 -- figures of one section; tables have all kinds

local function num(v, fmt) return type(v) == "number" and (fmt or "%.1f"):format(v) or "" end
local function us(ns) return num(ns and ns / 1000) end
local function pct(v) return num(v, "%+.1f %%") end

-- Describe a change of the time in per cent: -12.34 -> "12.3 % faster"
local function change(v)
	if math.abs(v) < 0.05 then return "as fast" end
	return ("%.1f %% %s"):format(math.abs(v), v < 0 and "faster" or "slower")
end

-- Return the outcome of a kind of collective, and its CSS class. With promote = "better" each kind
-- has its own outcome.
local CLASS = { better = "pass", worse = "fail", same = "same", pass = "pass", fail = "fail" }
local function outcome_of(s)
	local word = (CLASS[s.outcome] or s.outcome == "open") and s.outcome or s.verdict
	return CLASS[word] and word or s.outcome == "open" and word or "inconclusive",
		CLASS[word] or "open"
end

-- @columns: titles; one that begins with "#" is of numbers. nil: the first cell of each row is its
-- title. Cells are HTML; a cell that is {class, HTML} has the class.
local function table_of(columns, rows)
	local t = { "<div class=wide><table>" }
	local function put(tag, class, cell)
		t[#t + 1] = ("<%s%s>%s</%s>"):format(tag, class and " class=" .. class or "", cell,
			tag)
	end
	local function numbers(i) return columns and columns[i]:sub(1, 1) == "#" and "n" or nil end
	if columns then
		t[#t + 1] = "<tr>"
		for i, c in ipairs(columns) do put("th", numbers(i), esc((c:gsub("^#", "")))) end
		t[#t + 1] = "</tr>\n"
	end
	for _, row in ipairs(rows) do
		t[#t + 1] = "<tr>"
		for i, cell in ipairs(row) do
			local class, html = numbers(i), cell
			if type(cell) == "table" then class, html = cell[1], cell[2] end
			put(not columns and i == 1 and "th" or "td", class, html)
		end
		t[#t + 1] = "</tr>\n"
	end
	return table.concat(t) .. "</table></div>"
end

local KEY = "<p class=\"soft key\"><i class=a></i>A, baseline <i class=b></i>B, candidate &nbsp; "

local function names(list)
	return #list == 0 and "none (NCCL's own choice)" or table.concat(list, ", ")
end

-- ---- sections: c = {r = the rollout, kinds, seen, label(kind)} --------------------------

local function number_of(v) return type(v) == "number" and v or nil end
-- Draw the interval of a change on the scale from @low to @high, with 0 and the tolerated change.
local function bar(s, class, label, low, high, border)
	local function at(v) return (v - low) / (high - low) * 100 end
	local t = { ('<div class=bar><s style="left:%.2f%%"></s>'
		.. '<s class=border style="left:%.2f%%"></s>'):format(at(0), at(border)) }
	local mid, from, to = number_of(s.effect_pct), number_of(s.low_pct), number_of(s.high_pct)
	if from and to then
		t[#t + 1] = ('<i class=%s style="left:%.2f%%;width:%.2f%%"></i>'):format(class,
			at(from), at(to) - at(from))
	end
	if mid then
		t[#t + 1] = ('<b class=%s style="left:%.2f%%" title="%s: %s"></b>'):format(class,
			at(mid), esc(label), change(mid))
	end
	return table.concat(t) .. "</div>"
end

local function effects(c)
	local r, strata = c.r, c.r.verdict.strata
	local judge, rows = r.plan.judge, {}
	local border = judge.min_effect_pct
	local low, high = math.min(0, border), math.max(0, border)
	for _, kind in ipairs(c.kinds) do
		for _, k in ipairs { "effect_pct", "low_pct", "high_pct" } do
			local v = number_of(strata[kind][k]) or 0
			low, high = math.min(low, v), math.max(high, v)
		end
	end
	local promoted = r.promoted and r.state == "succeeded"
	for i, kind in ipairs(c.kinds) do
		local s, label = strata[kind], c.label(kind)
		local word, class = outcome_of(s)
		if promoted then
			word = word .. (s.outcome == "better" and ", promoted" or ", held back")
		end
		rows[i] = { esc(label), { class, word },
			bar(s, class, label, low - 0.5, high + 0.5, border), pct(s.effect_pct),
			pct(s.low_pct), pct(s.high_pct), num(s.blocks_a, "%d"),
			num(s.blocks_b, "%d"), esc(s.reason or "") }
	end
	return ("<h2>Is the candidate faster?</h2><p class=soft>Change of the time in per cent, "
		.. "from block medians, with its interval (joint confidence %g %%). Left of 0 the "
		.. "candidate is faster; the dashed line is the largest tolerated slowdown, "
		.. "%+g %%.</p>"):format(judge.confidence * 100, border) .. table_of({ "kind",
		"verdict", ("%.0f %% to %+.0f %%"):format(low, high), "#change of time", "#from",
		"#to", "#A", "#B", "reason" }, rows)
end

local function facts(c)
	local r, used = c.r, {}
	local rows = { { "job", esc(r.job) }, { "rollout", "<code>" .. esc(r.id) .. "</code>" },
		{ "baseline", esc(names(r.baseline)) }, { "candidate", esc(names(r.candidate)) } }
	local function row(name, fmt, ...) rows[#rows + 1] = { name, esc(fmt:format(...)) } end
	if r.promoted and r.state == "succeeded" then
		row("promoted", "%s: %s; elsewhere the previous policies", names(r.promoted),
			promote.text(read.record(read.record(r.verdict).strata)))
	end
	local where = read.record(r.where)
	if where.version then
		row("ran on", "%s, %s; ncclbpf %s, tuner interface v%s%s",
			table.concat(read.record(where.hosts), ", "),
			units.count(where.processes, "process"), where.version,
			where.tuner_abi,
			read.text(where.library) and " of " .. where.library or "")
	end
	for _, arm in ipairs { r.baseline, r.candidate } do
		for _, name in ipairs(arm) do used[name] = true end
	end
	row("blocks", "%d of %d", #r.blocks, require("ncclbpf.rollout.plan").total(r.plan))
	if c.seen.of == "collectives" then row("collectives timed", "%d", c.seen.samples) end
	for _, p in ipairs(read.list(where, "policies")) do
		if used[p.name] then row("policy", "%s %s", p.name, p.digest) end
	end
	local comms = read.list(where, "comms")
	for i = 1, math.min(#comms, 16) do
		row("communicator", "%s %s, %s", comms[i].comm, units.count(comms[i].ranks, "rank"),
			units.count(comms[i].nodes, "node"))
	end
	if #comms > 16 then row("", "and %d more", #comms - 16) end
	row("order of turns", "by chance, seed %s", r.plan.seed)
	return "<h2>What ran where</h2>" .. table_of(nil, rows)
end

-- Kinds of one collective and communicator, by size.
local function groups(c)
	local list, by = {}, {}
	for _, kind in ipairs(c.kinds) do
		local k = c.seen.kinds[kind]
		if k and k.size > 0 then
			local name = ("%s of %s"):format(k.coll, k.comm)
			if not by[name] then lists.add(list, by, name, { name = name }) end
			table.insert(by[name], k)
		end
	end
	for _, g in ipairs(list) do table.sort(g, function(x, y) return x.size < y.size end) end
	return list
end

local function size_figure(g)
	local series, marks, high = {}, {}, 0
	local function at(k) return math.log(k.size, 2) end
	for i, arm in ipairs { "a", "b" } do
		series[i] = { class = arm, line = true, points = {} }
		for _, k in ipairs(g) do
			local v = k[arm].busbw_gbs
			if v then
				high = math.max(high, v.p90)
				table.insert(series[i].points, { at(k), v.p50, v.p10, v.p90,
					title = ("%s, %s: %.1f GB/s (%.1f to %.1f)"):format(
					ARM[arm], units.bytes(k.size), v.p50, v.p10, v.p90) })
			end
		end
	end
	local every = math.ceil(#g / 8)
	for i = 1, #g, every do marks[#marks + 1] = { at(g[i]), units.bytes(g[i].size) } end
	return svg.figure { label = g.name .. ", bus bandwidth over size", size = { 420, 240 },
		titles = { "message size (bytes)", "bus bandwidth (GB/s)" }, series = series,
		x = { at(g[1]) - 0.6, at(g[#g]) + 0.6, marks = marks },
		y = { 0, high > 0 and high * 1.08 or 1 } }
end

local function bandwidth(c)
	local t = {}
	for i, g in ipairs(groups(c)) do
		if i > FIGURES then break end
		t[i] = ("<figure><h3>%s</h3>%s</figure>"):format(esc(g.name), size_figure(g))
	end
	if #t == 0 then return "" end
	return "<h2>Bandwidth over size</h2>" .. KEY .. "bus bandwidth in GB/s; line: median, "
		.. "band: 80 % of the times; a size counts as the power of two that it begins "
		.. "with</p><div class=grid>" .. table.concat(t) .. "</div>"
end

-- Describe the rank whose time differs most from the median rank's: "5 (+4.6 %)"
local function odd_rank(list)
	local mid, most = core.quantiles(lists.map(list, "ns"), 2)[2], list[1]
	for _, x in ipairs(list) do
		if math.abs(x.ns - mid) > math.abs(most.ns - mid) then most = x end
	end
	return #list > 1 and ("%d (%+.1f %%)"):format(most.rank, (most.ns / mid - 1) * 100) or ""
end

local function times(c)
	local rows = {}
	for _, kind in ipairs(c.kinds) do
		local k = c.seen.kinds[kind]
		for _, arm in ipairs(k and { "a", "b" } or {}) do
			local q, ran, gbs = k[arm].q_ns, {}, k[arm].busbw_gbs
			for _, word in ipairs(lists.keys(k.ran)) do
				local n = k.ran[word][arm]
				if n > 0 then ran[#ran + 1] = ("%s %d"):format(word, n) end
			end
			rows[#rows + 1] = { esc(c.label(kind)), ascii.upper(arm),
				num(k[arm].n, "%d"), us(q[11]), us(q[51]), us(q[91]), us(q[100]),
				us(q[101]), num(gbs and gbs.p50), odd_rank(k["ranks_" .. arm]),
				esc(table.concat(ran, ", ")) }
		end
	end
	if #rows == 0 then return "" end
	local what = c.seen.of == "blocks" and "block medians, because single times were not kept"
		or "a collective takes as long as its slowest rank"
	return ("<h2>Times</h2><p class=soft>In microseconds; %s. GB/s: bus bandwidth of the "
		.. "median. Rank: the one whose time differs most from the median rank's. Ran: "
		.. "algorithms and protocols, with the number of times.</p>"):format(what)
		.. table_of({ "kind", "arm", "#n", "#p10", "#p50", "#p90", "#p99", "#max",
			"#GB/s", "#rank", "ran" }, rows)
end

local function block_figure(c, kind)
	local blocks, low, high = c.r.blocks, math.huge, 0
	local series = { { class = "a", points = {} }, { class = "b", points = {} } }
	for i, b in ipairs(blocks) do
		local v, spread = b.medians[kind], read.record(read.record(b.spread)[kind])
		if type(v) == "number" then
			local from, to = number_of(spread.p10_ns), number_of(spread.p90_ns)
			low, high = math.min(low, from or v, v), math.max(high, to or v, v)
			table.insert(series[b.arm == "a" and 1 or 2].points, { i, v / 1000,
				from and to and from / 1000, from and to and to / 1000,
				title = #blocks <= 200 and ("block %d, %s, generation %s: %.1f us")
				:format(i, ARM[b.arm], b.generation, v / 1000) or nil })
		end
	end
	if high == 0 then return "" end
	local pad, total = math.max((high - low) * 0.1, high * 0.01), math.max(#blocks, 2)
	return svg.figure { label = kind .. ", block by block", size = { 420, 240 },
		titles = { "blocks, in their order", "time (us)" }, series = series,
		x = { 0.5, total + 0.5, marks = { { 1, "block 1", "start" },
			{ total, tostring(total), "end" } } },
		y = { math.max(low - pad, 0) / 1000, (high + pad) / 1000 } }
end

local function by_block(c)
	local t = {}
	for i = 1, math.min(#c.kinds, FIGURES) do
		t[i] = ("<figure><h3>%s</h3>%s</figure>"):format(esc(c.label(c.kinds[i])),
			block_figure(c, c.kinds[i]))
	end
	return "<h2>Block by block</h2>" .. KEY .. "median of each block, with 80 % of its "
		.. "times</p><div class=grid>" .. table.concat(t) .. "</div>"
end

local function events(c)
	return "<h2>What happened</h2>" .. table_of({ "#", "time", "from", "to", "by", "why" },
		lists.map(c.r.events, function(e, i)
			return { ("%d"):format(i), esc(e.time), esc(e.from), esc(e.to),
				esc(e.actor), esc(e.reason or "") }
		end))
end

local function data(c, csv)
	local keep = record.kinds.rollout.saved(c.r)
	keep.seen, keep.runner, keep.samples = c.seen, nil, nil
	local function quoted(b) return ("%%%02X"):format(b:byte()) end
	local link = csv and ("; each collective's time is a line of "
		.. "<a download href=\"%s\">%s</a>"):format(csv:gsub("[^%w._-]", quoted),
		esc(csv)) or ""
	-- Escape text so that it cannot contain elements.
	return ("<h2>Data</h2><p class=soft>Verdict, blocks, quantiles and events are in this "
		.. "file, as JSON in the element <code>data</code>%s.</p>"
		.. "<script type=\"application/json\" id=data>%s</script>"):format(link,
		(core.encode(keep):gsub("<", "\\u003c")))
end

-- ---- the whole -------------------------------------------------------------------------

local STATE = { succeeded = "pass", rolled_back = "fail", failed = "fail" }
-- M.html(r[, opts]) -> the file's text, the measured choices
-- opts: label (a note at the top, such as "times were replayed"), csv (the name
-- of the file beside it that holds each time)
function M.html(r, opts)
	opts = opts or {}
	local seen = witness.read(r)
	local judged = rollout.kinds(type(r.verdict) == "table" and r.verdict.strata or {})
	local kinds = #judged > 0 and judged or rollout.kinds(seen.kinds)
	local c = { r = r, kinds = kinds, seen = seen, label = witness.labels(kinds) }
	local function note(class, fmt, text)
		return text and ("<p class=%s>%s</p>"):format(class, fmt:format(esc(text))) or ""
	end
	-- The content security policy of the file: no network and no script.
	return table.concat({ ("<!doctype html><html lang=en><head><meta charset=utf-8>"
		.. "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
		.. "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
		.. "style-src 'unsafe-inline'\"><title>rollout %s: %s</title><style>%s</style>"
		.. "</head><body>"):format(esc(r.plan.name), esc(r.state), STYLE),
		("<p class=soft>ncclbpf rollout</p><h1>%s <span class=\"badge %s\">%s</span></h1>")
			:format(esc(r.plan.name), STATE[r.state] or "open",
			esc((r.state:gsub("_", " ")))),
		note("why", "%s", r.why), note("soft", "Tried because: %s", r.plan.reason),
		note("note", "%s", opts.label),
		note("note", "Times are not measured: %s.", rollout.times(r)),
		#judged > 0 and effects(c) or "<p class=soft>No check was made, "
			.. "so there is no verdict on any kind of collective.</p>",
		facts(c), bandwidth(c), times(c), #r.blocks > 0 and by_block(c) or "", events(c),
		data(c, opts.csv),
		("<p class=soft>ncclbpf %s, %s</p></body></html>\n"):format(esc(core.version),
			esc(core.time())) }, "\n"), seen
end

-- Copy the file of times beside the report. -> true | nil, err
function M.csv(r, path)
	local from <close> = r.samples and io.open(r.samples) or nil
	if not from then return nil end
	-- do not replace a file of other contents, such as a candidate's table
	local old = io.open(path)
	local first = old and old:read "l", old and old:close()
	if first and first ~= from:read "l" then
		return nil, errors.new("exists", path
			.. ": contains other data than a rollout's times", { hint =
			"choose another name for the report" })
	end
	from:seek "set"
	local to, why = io.open(path, "w")
	local good = to
	for bytes in function() return good and from:read(1 << 20) end do
		good, why = to:write(bytes)
	end
	if to and to:close() and good then return true end
	why = tostring(why)
	return nil, errors.new("cannot_create", why:sub(1, #path) == path and why
		or ("%s: %s"):format(path, why))
end

return M
