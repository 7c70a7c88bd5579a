-- SPDX-License-Identifier: MIT
-- report_check.lua DOM DATA: every number of the rollout's file DATA stands in
-- the text that the browser has made of the report (its DOM), and no name of
-- the data has become an element.
local core = require "ncclbpf.core"
local dom = assert(core.read(arg[1], 64 << 20))
local file = assert(core.decode(assert(core.read(arg[2], 64 << 20))))
local data = assert(
	core.decode((dom:match '<script type="application/json" id="data">(.-)</script>')))
local n = 0
local function has(text)
	n = n + 1
	assert(dom:find(text, 1, true), "not in the page: " .. text)
end
local function esc(v)
	return (tostring(v):gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }))
end

-- the file inside is the file outside
for _, k in ipairs { "plan", "blocks", "events", "verdict", "baseline", "candidate" } do
	assert(core.encode(data[k]) == core.encode(file[k]), k .. " differs")
end
for kind, s in pairs(file.verdict.strata) do
	local label = kind:gsub(" of .*$", "")
	has(("<tr><td>%s</td><td class=\"%s\">%s</td><td><div class=\"bar\">"):format(esc(label),
		s.verdict, s.verdict))
	has((('<td class="n">%+.1f %%</td>'):rep(3) .. ('<td class="n">%d</td>'):rep(2)):format(
		s.effect_pct, s.low_pct, s.high_pct, s.blocks_a, s.blocks_b))
	local k = data.seen.kinds[kind]
	for _, arm in ipairs { "a", "b" } do
		local q, gbs = k[arm].q_ns, k[arm].busbw_gbs
		has(("<tr><td>%s</td><td>%s</td><td class=\"n\">%d</td>"
			.. ('<td class="n">%.1f</td>'):rep(6)):format(esc(label), arm:upper(),
			k[arm].n, q[11] / 1000, q[51] / 1000, q[91] / 1000, q[100] / 1000,
			q[101] / 1000, gbs.p50))
		has(("%.1f GB/s (%.1f to %.1f)</title>"):format(gbs.p50, gbs.p10, gbs.p90))
	end
	has(("title=\"%s: "):format(esc(label)))
	-- 8 ranks: AllReduce carries 7/4 of its bytes
	assert(math.abs(k.b.busbw_gbs.p50 - k.size / k.b.q_ns[51] * 1.75) < 1e-6)
	for i, b in ipairs(file.blocks) do
		has(("<title>block %d, %s, generation %d: %.1f us</title>"):format(i, b.arm == "a"
			and "baseline" or "candidate", b.generation, b.medians[kind] / 1000))
	end
end
-- the quantiles are those of the CSV, counted here
local times, all = {}, 0
for line in io.lines((arg[2]:gsub("one.json$", "one.times.csv"))) do
	local arm, size, ns = line:match "^%d+,%d+,([ab]),[^,]*,allreduce,(%d+),[^,]*,%d+,(%d+)$"
	if arm then
		local key = size .. arm
		times[key] = times[key] or {}
		table.insert(times[key], tonumber(ns))
		all = all + 1
	end
end
assert(data.seen.samples == all and all > 5000)
for _, k in pairs(data.seen.kinds) do
	for _, arm in ipairs { "a", "b" } do
		local list = times[k.size .. arm]
		table.sort(list)
		for i, v in ipairs(k[arm].q_ns) do
			assert(v == list[math.max(1, math.ceil(#list * (i - 1) / 100))], i)
		end
		assert(k[arm].n == #list and #k[arm].q_ns == 101)
	end
end
has "5 (+"
for _, e in ipairs(file.events) do
	has("<td>" .. e.time .. "</td>")
	has("<td>" .. esc(e.reason) .. "</td>")
end
has(esc(file.plan.name) .. ' <span class="badge')
-- one script element, the data; no element that a name wanted to be
local _, scripts = dom:gsub("<script", "")
assert(scripts == 1, scripts .. " scripts")
for _, word in ipairs { "<img", "<b>ffee", "<iframe" } do
	assert(not dom:find(word, 1, true), word)
end
assert(not dom:gsub("https?://www.w3.org/2000/svg", ""):find "https?://", "needs something else")
print("# " .. n .. " texts")
