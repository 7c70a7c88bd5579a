-- SPDX-License-Identifier: MIT
-- Choose the best decision table from measurements of combinations (algorithm, protocol,
-- channels, chunk size). A candidate is chosen if it is surely faster by a least effect.
-- Neighbouring sizes keep one answer unless a change gains enough. Uses neither a job nor files.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local collectives = require "ncclbpf.job.collectives"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local judge = require "ncclbpf.rollout.judge"
local plan = require "ncclbpf.rollout.plan"
local data = require "ncclbpf.sweep.measurements"
local decision = require "ncclbpf.policy.table_rows"
local units = require "ncclbpf.base.units"

local M = {}

-- ---- the plan -----------------------------------------------------------------

local kit = plan.kit
local try = errors.try

local function known(kind)
	return function(v)
		return type(v) == "string" and core.nccl(kind, v) and ascii.lower(v) or nil
	end
end

local function channels(v)
	return math.type(v) == "integer" and v >= 0 and v <= decision.CHANNELS and v or nil
end

local function chunk_size(v)
	v = type(v) == "string" and units.size(v) or v
	return math.type(v) == "integer" and (v == 0
		or v >= decision.CHUNK_LEAST and v <= decision.CHUNK_MOST) and v or nil
end

local function one_of(check, want)
	return function(v)
		local x = check(v)
		if x == nil then return nil, want end
		return x
	end
end

local ALGOS, PROTOS = table.concat(data.words_of "algo", ", "),
	table.concat(data.words_of "proto", ", ")

local source = {
	file = { kit.text, required = true },
	coll = { one_of(kit.collective, table.concat(data.words_of "coll", ", ")) },
	algo = { one_of(known "algo", ALGOS) },
	proto = { one_of(known "proto", PROTOS) },
	channels = { kit.number(0, decision.CHANNELS, true) },
	ranks = { kit.number(1, 1 << 30, true) },
	nodes = { kit.number(1, 1 << 30, true) },
}

local tables = kit.tables_of("data", source, math.huge,
	"a file, or a list of files or { file = ... }",
	function(t)
		return (t.algo == nil) ~= (t.proto == nil)
			and "must have both algo and proto, or neither (NCCL's own choice)"
	end)

local function sources(v)
	if type(v) == "string" then v = { v } end
	return tables(type(v) == "table" and lists.map(v, function(x)
		return type(x) == "string" and { file = x } or x
	end) or v)
end

local function combination(v)
	if v == "none" then return v end
	local a, p = data.combination(v)
	if not a then return nil, p end
	return ascii.lower(tostring(v))
end

M.schema = {
	name = { kit.name, "sweep" },
	reason = { kit.text },
	scope = { kit.fields { collectives = { kit.list_of(kit.collective, "collectives") },
		sizes = { kit.range } } },
	algos = { kit.list_of(known "algo", "algorithms (" .. ALGOS .. ")") },
	protos = { kit.list_of(known "proto", "protocols (" .. PROTOS .. ")") },
	channels = { kit.list_of(channels, ("numbers of channels from 0 (NCCL's own) to %d"):format(
		decision.CHANNELS)) },
	chunk_sizes = { kit.list_of(chunk_size, "chunk sizes of 4K to 1G, or 0 (NCCL's own)") },
	most = { kit.number(1, 64, true), 16 },
	rounds = { kit.number(4, 500, true), 12 },
	samples = { kit.number(5, 1000, true), 20 },
	block_timeout = { kit.seconds, 30 },
	confidence = { kit.number(0.5, 0.9999), 0.98 },
	min_effect_pct = { kit.number(0, 100), 3 },
	hysteresis_pct = { kit.number(0, 100), 2 },
	gaps = { kit.word("leave", "fill"), "leave" },
	guards = { kit.fields { slower_pct = { kit.number(5, 10000), 100 },
		refused = { kit.number(0, 1e9, true), 0 } } },
	deadline = { kit.seconds, 3600 },
	seed = { kit.number(1, 2 ^ 31, true) },
	data = { sources },
	baseline = { combination },
	label = { kit.text },
}

-- M.check(t) -> plan with defaults | nil, err, which names field, value found and values allowed
M.check = errors.catch(function(t)
	local p = try(kit.check_fields(M.schema, t, ""))
	if p.baseline and not p.data then
		return errors.fail(
			"bad_argument", "baseline: allowed only with data; " ..
				"on a job the current policies are the baseline")
	end
	return p
end)

-- M.read(path, or a script's table) -> plan | nil, err; data files are relative to the plan
M.read = errors.catch(function(path)
	if type(path) == "table" then return M.check(path) end
	local p = errors.about(path, M.check(try(kit.table_of(path))))
	local folder = path:match "^(.*/)" or ""
	for _, d in ipairs(p.data or {}) do
		if not d.file:match "^/" then d.file = folder .. d.file end
	end
	return p
end)

-- Classes: the sweep makes one choice for each class.

function M.label(c)
	return ("%s/%s%s"):format(c.algo, c.proto, c.channels and c.channels > 0
		and "x" .. c.channels or "") .. collectives.extras { chunk_size = c.chunk_size }
end

-- Return the columns of a table whose rows @list have chunk sizes, as its first line; "": NVIDIA's.
function M.header(list)
	for _, x in ipairs(list) do
		if x.chunk_size and x.chunk_size > 0 then
			return "collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,"
				.. "ranks,chunk_size\n"
		end
	end
	return ""
end

-- Return the row of a table for the class @c with the combination @x. @header: that of the table
function M.row(c, x, header)
	local line = ("%s,%d,%d,%s,%s,%d,%d,%d"):format(c.coll, c.from, c.to, x.algo, x.proto,
		x.channels > 0 and x.channels or -1, c.nodes or -1, c.ranks or -1)
	if header == "" then return line end
	return line .. "," .. (x.chunk_size and x.chunk_size > 0 and x.chunk_size or -1)
end

-- Return the key of a class: a collective, the sizes from one power of two to the next, nodes,
-- ranks.
function M.class_key(coll, from, nodes, ranks)
	return ("%s %020d %s %s"):format(coll, from, nodes or -1, ranks or -1)
end

local function wanted(list, v)
	return not list or lists.has(list, v)
end

function M.in_scope(p, coll, from)
	local s = p.scope
	if s.sizes and (math.max(from * 2, 2) <= s.sizes[1] or from > s.sizes[2]) then
		return false
	end
	return wanted(s.collectives, coll)
end

-- The algorithms whose number of channels NCCL limits. The sweep does not set the channels
-- of other algorithms.
local BOUNDED = { tree = true, ring = true, nvls_tree = true, pat = true }

-- Return the combinations of a bit mask that the plan allows, in NCCL's order. @chunks: NCCL asks
-- for chunk sizes
function M.offered(p, usable, nodes, most_channels, chunks)
	local out = {}
	for i = 0, 20 do
		local algo, proto = core.nccl("algo", i // 3), core.nccl("proto", i % 3)
		if usable >> i & 1 == 1 and wanted(p.algos, algo) and wanted(p.protos, proto) then
			for _, n in ipairs(p.channels or { 0 }) do
				local fine = n == 0 or (
					n <= (most_channels or 64)
					and (BOUNDED[algo] or algo == "nvls" and nodes == 1))
				for _, size in ipairs(fine and (chunks and p.chunk_sizes or { 0 })
					or {}) do
					out[#out + 1] = { algo = algo, proto = proto, channels = n,
						chunk_size = size }
				end
			end
		end
	end
	return out
end

-- ---- judging ---------------------------------------------------------------------

-- Compare one candidate in one class of collectives with the baseline. The result is that
-- of the worst stratum (communicator, placement), so "better" holds in all strata.
local function compare(strata, label, alpha, p)
	local worst
	for _, s in pairs(strata) do
		if s.base and s[label] then
			local r = judge.compare(s.base, s[label],
				{ alpha = alpha, min_effect_pct = judge.defaults.min_effect_pct,
				least = 4 })
			r.sure = r.better and r.effect_pct <= -p.min_effect_pct
			r.fine = r.sure or r.verdict == "pass"
			local less = worst and (not r.effect_pct or worst.effect_pct
				and r.effect_pct > worst.effect_pct)
			if not worst then
				worst = r
			else
				local sure, fine = worst.sure and r.sure, worst.fine and r.fine
				worst = less and r or worst
				worst.sure, worst.fine = sure, fine
			end
		elseif s.base then
			return nil -- a stratum has no measurements of the candidate
		end
	end
	return worst
end

local function comparisons(classes)
	local n = 0
	for _, c in ipairs(classes) do
		for _, s in pairs(c.strata) do
			for label in pairs(s) do
				if label ~= "base" and s.base then n = n + 1 end
			end
		end
	end
	return n
end
M.comparisons = comparisons

-- Each class gets results: {label, effect_pct, low_pct, high_pct, p, sure, fine, ...}
function M.judge(classes, p)
	local n = comparisons(classes)
	local alpha = (1 - p.confidence) / math.max(n, 1)
	for _, c in ipairs(classes) do
		c.results = {}
		for label, cand in pairs(c.candidates) do
			local r = not (c.dropped and c.dropped[label])
				and compare(c.strata, label, alpha, p)
			if r then
				r.label, r.candidate = label, cand
				table.insert(c.results, r)
			end
		end
		table.sort(c.results, lists.by("effect_pct", "label"))
	end
	return n, alpha
end

-- ---- choosing ------------------------------------------------------------------

local function log_of(pct) return math.log(1 + math.max(pct, -99.9) / 100) end

-- Possible answers of a class, with costs. The baseline costs 0. A candidate that is surely faster
-- costs its effect, below 0. A candidate that is surely not slower costs almost 0: it can join two
-- neighbours that use it, but is never chosen alone.
local BRIDGE = 1e-9
local function choices(c)
	local t = { { label = "", cost = 0 } }
	for _, r in ipairs(c.results) do
		if r.fine then
			t[#t + 1] = { label = r.label, cost = r.sure and log_of(r.effect_pct)
				or math.max(0, log_of(r.effect_pct)) + BRIDGE, result = r }
		end
	end
	return t
end

-- Return the cheapest sequence of answers over the sizes of one collective. Each change of the
-- answer costs hysteresis_pct. For other sizes it keeps the baseline.
local function path(list, p)
	local change = log_of(p.hysteresis_pct)
	local best = {}
	for i, c in ipairs(list) do
		best[i] = choices(c)
		for _, x in ipairs(best[i]) do
			x.total, x.before = x.cost + (x.label == "" and 0 or change), nil
			if i > 1 then
				x.total = math.huge
				for _, y in ipairs(best[i - 1]) do
					local total = y.total + x.cost + (
						y.label == x.label and 0 or change)
					if total < x.total then x.total, x.before = total, y end
				end
			end
		end
	end
	local last
	for _, x in ipairs(best[#list]) do
		x.total = x.total + (x.label == "" and 0 or change)
		if not last or x.total < last.total then last = x end
	end
	for i = #list, 1, -1 do
		list[i].choice, last = last, last.before
	end
end

local function groups(classes)
	local by, order = {}, {}
	table.sort(classes, lists.by("coll", "from", "nodes", "ranks"))
	for _, c in ipairs(classes) do
		local k = ("%s %s %s"):format(c.coll, c.nodes or -1, c.ranks or -1)
		if not by[k] then lists.add(order, by, k, {}) end
		table.insert(by[k], c)
	end
	return order
end

local function say(r)
	return r and r.effect_pct and ("%s: %+.1f %%"):format(r.label, r.effect_pct) or nil
end

-- Return the verdict of a class, with its reason.
local function verdict(c, p)
	local best = c.results[1]
	if c.choice.result then
		c.shown = c.choice.result
		if c.shown.sure then
			return "better", ("faster by %.1f %%"):format(-c.shown.effect_pct)
		end
		return "bridged", ("not slower; uses the choice of the " ..
			"neighbouring sizes (%s)"):format(c.shown.reason)
	end
	c.shown = best
	if not best then
		local n = 0
		for _ in pairs(c.dropped or {}) do n = n + 1 end
		return n > 0 and "baseline" or "no data", n > 0
			and ("all %d candidates stopped by the guard"):format(n)
			or "nothing to compare"
	end
	if best.sure then
		return "hysteresis", ("%s is not worth two changes of the answer"):format(say(best))
	end
	for _, r in ipairs(c.results) do
		-- A candidate that was dropped as slower needs no more data.
		local slower = c.out and c.out[r.label] or r.verdict == "fail"
		if not slower and (not r.effect_pct or not r.high_pct or r.verdict == "inconclusive"
			and r.low_pct <= -p.min_effect_pct) then
			return "inconclusive", ("%s: %s"):format(
				r.label, r.effect_pct and (
				"%+.1f %%, too little data to be sure"):format(r.effect_pct)
				or r.reason)
		end
	end
	return "baseline", ("nothing faster by %g %%; nearest %s"):format(
		p.min_effect_pct, say(best) or best.label)
end

-- Choose the combination of each class that M.judge has judged. -> a row of the report for each
-- class, and the rows of the table, in which equal neighbours are one
function M.choose(classes, p)
	local rows, table_rows = core.array {}, core.array {}
	for _, list in ipairs(groups(classes)) do
		path(list, p)
		local open
		for i, c in ipairs(list) do
			local word, why = verdict(c, p)
			local r, pick = c.shown or {}, c.choice.result and c.choice.result.candidate
			rows[#rows + 1] = {
				coll = c.coll, bytes_from = c.from, bytes_to = c.to,
				nodes = c.nodes, ranks = c.ranks, verdict = word,
				answer = pick and M.label(pick) or nil, candidate = r.label,
				effect_pct = r.effect_pct, low_pct = r.low_pct,
				high_pct = r.high_pct, p = r.p, blocks_a = r.blocks_a,
				blocks_b = r.blocks_b, candidates = #c.results, reason = why,
			}
			local near = open and (p.gaps == "fill" or list[i - 1].to + 1 == c.from)
			if pick and near and open.label == c.choice.label then
				open.to = c.to
			elseif pick then
				open = { label = c.choice.label, coll = c.coll, from = c.from,
					to = c.to, nodes = c.nodes, ranks = c.ranks,
					algo = pick.algo,
					proto = pick.proto, channels = pick.channels,
						chunk_size = pick.chunk_size,
						first = #rows }
				table_rows[#table_rows + 1] = open
			else
				open = nil
			end
			if open then open.last = #rows end
		end
	end
	return rows, table_rows
end

-- The table as text.

local function how_sure(r)
	local head = ("# %s %s: %s"):format(r.coll, units.bytes(r.bytes_from), r.answer
		or r.verdict)
	if not r.effect_pct or not r.answer then return head .. ": " .. r.reason end
	return ("%s: %+.1f %% [%s, %s], %d and %d blocks, %s"):format(
		head, r.effect_pct, r.low_pct and ("%+.1f"):format(r.low_pct) or "?",
		r.high_pct and ("%+.1f"):format(r.high_pct) or "?", r.blocks_a, r.blocks_b,
			r.verdict)
end

-- CSV in NVIDIA's columns, and chunk_size if there is one, with a comment line for each class.
-- facts: comment lines at the top
function M.csv(rows, table_rows, facts)
	local t = {}
	for _, f in ipairs(facts) do t[#t + 1] = "# " .. f:gsub("[\r\n]", " ") end
	t[#t + 1] =
		"# times against the baseline, less is faster, " ..
		"with simultaneous confidence intervals"
	local header, shown = M.header(table_rows), 0
	if header ~= "" then t[#t + 1] = header:sub(1, -2) end
	local function comments(to)
		while shown < to do
			shown = shown + 1
			t[#t + 1] = how_sure(rows[shown])
		end
	end
	for _, x in ipairs(table_rows) do
		comments(x.last)
		t[#t + 1] = M.row(x, x, header)
	end
	comments(#rows)
	return table.concat(t, "\n") .. "\n"
end

-- ---- from files --------------------------------------------------------------------------

local function same(a, label) return label ~= nil and a == label end

-- Make the classes of the samples of sweep/measurements.lua. -> classes | nil, err
function M.classes_of_samples(list, p)
	local by, classes, base = {}, {}, p.baseline and p.baseline ~= "none" and p.baseline or nil
	for _, s in ipairs(list) do
		local from = units.class(s.bytes)
		local to = math.max(from * 2, 2) - 1
		if M.in_scope(p, s.coll, from) then
			local key = M.class_key(s.coll, from, s.nodes, s.ranks)
			local c = by[key] or lists.add(classes, by, key, {
				coll = s.coll, from = from, to = to, nodes = s.nodes,
					ranks = s.ranks, strata = {}, candidates = {} })
			local stratum = ("%d %s"):format(s.bytes, s.place or "")
			local label = s.algo and M.label(s) or "base"
			if same(label, base) then label = "base" end
			if label == "base" or wanted(p.algos, s.algo) and wanted(p.protos, s.proto)
				and wanted(p.channels, s.channels) then
				c.strata[stratum] = c.strata[stratum] or {}
				local x = c.strata[stratum]
				lists.push(x, label, s.us)
				if label ~= "base" then
					c.candidates[label] = {
						algo = s.algo, proto = s.proto,
						channels = s.channels }
				end
			end
		end
	end
	if #classes == 0 then
		return errors.fail("malformed", "no measurement lies in the scope")
	end
	for _, c in ipairs(classes) do
		for _, s in pairs(c.strata) do
			if s.base then return classes end
		end
	end
	return nil, errors.new("bad_argument", "the files have no measurements of the baseline",
		{ hint = 'measurements without algorithm and protocol are NCCL\'s own choice; '
			.. 'or baseline = "ring/simple"' })
end

-- M.offline(p) -> result | nil, err
M.offline = errors.catch(function(p)
	local list, warnings = {}, core.array {}
	for _, d in ipairs(p.data) do
		local samples, warning = try(data.read(d))
		table.move(samples, 1, #samples, #list + 1, list)
		warnings[#warnings + 1] = warning
	end
	local classes = try(M.classes_of_samples(list, p))
	return M.result(classes, p, { "from " .. #list .. " measurements in "
		.. units.count(#p.data, "file"),
		"baseline: " .. (p.baseline or "NCCL's own choice") }, { warnings = warnings })
end)

-- Return a table with the result of a sweep.
function M.result(classes, p, facts, more)
	local n, alpha = M.judge(classes, p)
	local rows, table_rows = M.choose(classes, p)
	table.insert(facts, 1, ("made by ncclbpf sweep %s, %s"):format(p.name, core.time()))
	if p.label then table.insert(facts, 2, p.label) end
	facts[#facts + 1] = (
		"%d comparisons, joint confidence %g, " ..
		"at least %g %% faster, %g %% for a change of the answer"):format(
		n, p.confidence, p.min_effect_pct, p.hysteresis_pct)
	local r = more or {}
	r.name, r.rows, r.comparisons, r.alpha = p.name, rows, n, alpha
	r.label = p.label
	r.table = core.array {}
	for i, x in ipairs(table_rows) do
		r.table[i] = { coll = x.coll, min_bytes = x.from, max_bytes = x.to, algo = x.algo,
			proto = x.proto, channels = x.channels, chunk_size = x.chunk_size,
			nodes = x.nodes, ranks = x.ranks }
	end
	r.csv = M.csv(rows, table_rows, facts)
	return r
end

return M
