-- SPDX-License-Identifier: MIT
-- `policy simulate`: run other policies over recorded decisions, from a job's rings, the segment
-- of a dead job, or the output of `decision tail`. The job is only asked for its records.
local core = require "ncclbpf.core"
local collectives = require "ncclbpf.job.collectives"
local context = require "ncclbpf.policy.context"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local policy = require "ncclbpf.policy.policy"
local read = require "ncclbpf.job.read"
local tables = require "ncclbpf.policy.table_rows"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local FIRST = 10 -- number of differing decisions that are shown
local LIMIT = 256 << 20

-- ---- records ----------------------------------------------------------------------

local function bad(where, fmt, ...)
	error(errors.new("malformed", fmt:format(...), { where = where }), 0)
end

local function whole(v, least) return math.type(v) == "integer" and v >= (least or 0) end

-- Return NCCL's number of a word; -1 if the word is null, nil if it is unknown.
local function number_of(kind, v)
	if v == nil or v == core.null then return -1 end
	return type(v) == "string" and core.nccl(kind, v) or nil
end

local function flat_choice(t, key, prefix)
	local c = t[key]
	if type(c) == "table" then return c.algo, c.proto, c.channels, c.chunk_size end
	return t[prefix .. "algo"], t[prefix .. "proto"], t[prefix .. "channels"],
		t[prefix .. "chunk_size"]
end

-- Parse one recorded decision of any source.
local function record(t, where)
	local x = type(t.context) == "table" and t.context
	if not x then
		error(errors.new("malformed", "the decision has no context", { where = where, hint =
			"an older plugin or shell wrote this line; "
			.. "the inputs of the policies are missing" }), 0)
	end
	if number_of("coll", t.coll) == -1 or not number_of("coll", t.coll) then
		bad(where, "coll is %s, but must be the name of a collective",
			tostring(t.coll))
	end
	for _, k in ipairs { "bytes", "seq", "context.ranks", "context.nodes", "context.pipe_ops",
		"context.reg_buff", "context.usable" } do
		local inner = k:match "%.(.*)$"
		local v = t[k]
		if inner then v = x[inner] end
		if not whole(v) then
			bad(where, "%s is %s, but must be a whole number from 0 on", k,
				tostring(v))
		end
	end
	local na, np = flat_choice(t, "nccl", "nccl_")
	local a, p, channels, chunk_size = flat_choice(t, "answer", "")
	local ctx = { coll = number_of("coll", t.coll), bytes = t.bytes, seq = t.seq,
		ranks = x.ranks, nodes = x.nodes, pipe_ops = x.pipe_ops,
		reg_buff = x.reg_buff, usable = x.usable, nvl_domains = whole(x.nvl_domains)
			and x.nvl_domains or 0,
		nvl_min_ranks = whole(x.nvl_min_ranks) and x.nvl_min_ranks or 0,
		nvl_max_ranks = whole(x.nvl_max_ranks) and x.nvl_max_ranks or 0,
		nccl_algo = number_of("algo", na), nccl_proto = number_of("proto", np),
			comm_id = tonumber("0x" .. tostring(t.comm)) or 0 }
	-- records of older plugins have no facts
	for _, k in ipairs(core.facts()) do ctx[k] = whole(x[k]) and x[k] or 0 end
	ctx.ranks_per_node = context.per_node(x.ranks, x.nodes)
	local was = { algo = number_of("algo", a), proto = number_of("proto", p),
		channels = channels == nil and 0 or channels,
		chunk_size = (chunk_size == nil or chunk_size == core.null) and 0 or chunk_size }
	if not (ctx.nccl_algo and ctx.nccl_proto and was.algo and was.proto
		and whole(was.channels) and whole(was.chunk_size)) then
		bad(where, "the algorithm or the protocol is unknown")
	end
	if context.is_costs(t.costs_us) then
		ctx.costs = t.costs_us -- for programs that read NCCL's costs
	end
	-- A record does not tell whether a policy chose what is cheapest or channels alone.
	local maybe = x.rccl == true and was.channels > 0 and was.algo == ctx.nccl_algo
		and was.proto == ctx.nccl_proto
	return { comm = tostring(t.comm), seq = t.seq, coll = t.coll, bytes = t.bytes, ctx = ctx,
		was = was, rccl = x.rccl == true,
		-- older records do not say whether NCCL asks
		chunks = not (whole(x.tuner_abi) and x.tuner_abi < 6) and x.rccl ~= true,
		own = maybe or t.own == true or t.own == nil and type(t.by) ~= "string",
		costs = ctx.costs,
		cost_us = t.cost_us, nccl_cost_us = t.nccl_cost_us }
end

-- Keep one record of each decision, because all ranks decide alike.
local function collect(list, where_of, comm)
	local out, seen = {}, {}
	for i, t in ipairs(list) do
		if type(t) ~= "table" then
			bad(where_of(i), "the line is a %s, but must be a decision", type(t))
		end
		local key = ("%s %s"):format(tostring(t.comm), tostring(t.seq))
		if not seen[key] and (not comm or tostring(t.comm):sub(1, #comm) == comm) then
			seen[key], out[#out + 1] = true, record(t, where_of(i))
		end
	end
	table.sort(out, lists.by("comm", "seq"))
	return out
end

local function of_json(d, list)
	local data = type(d) == "table" and type(d.data) == "table" and d.data or d
	if type(data.processes) == "table" then
		for t in read.each(data.processes, "decisions") do
			list[#list + 1] = t
		end
	elseif type(data.decisions) == "table" then
		for _, t in ipairs(data.decisions) do list[#list + 1] = t end
	else
		list[#list + 1] = data
	end
end

-- Return the decisions in a file, as decision tail writes them, and the line of each.
function M.decisions(path)
	local text = try(core.read(path, LIMIT))
	local list, lines, n = {}, {}, 0
	for line in (text .. "\n"):gmatch "([^\n]*)\n" do
		n = n + 1
		if line:match "%S" then
			local d, err = core.decode(line)
			if type(d) ~= "table" then
				bad({ file = path, line = n }, "%s", err and err.message
					or "the line must be a JSON object")
			end
			local before = #list
			of_json(d, list)
			for i = before + 1, #list do lines[i] = n end
		end
	end
	if #list == 0 then
		bad({ file = path },
			"the file has no decision; it must be the output of "
			.. "decision tail -o ndjson")
	end
	return list, lines
end

local function of_file(path, comm)
	local list, lines = M.decisions(path)
	return collect(list, function(i) return { file = path, line = lines[i] } end, comm)
end

local function of_job(ctx, comm)
	local per = try(read.ask(ctx, "decision tail count=1024"))
	local list = {}
	for t in read.each(per, "decisions") do list[#list + 1] = t end
	return collect(list, function() return nil end, comm)
end

-- The possible effects of an answer.

local BOUNDED = { [0] = true, [1] = true, [5] = true, [6] = true } -- tree, ring, nvls_tree, pat
local NVLS = 4

-- Return the cheapest offered combination with this algorithm and protocol; -1: any.
local function partner(r, a)
	local best
	for _, i in ipairs(tables.fitting(r.ctx.usable, a)) do
		local cost = r.costs and type(r.costs[i + 1]) == "number" and r.costs[i + 1] or nil
		if not best or cost and best.cost and cost < best.cost then
			best = { i = i, cost = cost }
		end
	end
	return best and best.i
end

-- Return why NCCL does not get these channels of an algorithm; nil: it gets them.
local function wrong_channels(r, n, algo)
	if n > (r.rccl and tables.CHANNELS or tables.CHANNELS // 2) then
		return "more channels than NCCL takes"
	elseif n > 0 and not (BOUNDED[algo] or algo == NVLS and r.ctx.nodes == 1) then
		return "channels of an algorithm whose channels NCCL does not limit"
	end
end

-- Return why NCCL does not get this chunk size; nil: it gets it.
local function wrong_chunk(r, size)
	if size > 0 and not r.chunks then return "NCCL does not ask for chunk sizes" end
	if size > 0 and size < tables.CHUNK_LEAST or size > tables.CHUNK_MOST then
		return "a chunk size that NCCL cannot have"
	end
end

-- Apply an answer as plugin/tuner/decide.c does: an answer that NCCL does not offer leaves NCCL's
-- choice. r: {ctx, costs, rccl, chunks: does NCCL ask for chunk sizes?}
-- -> {algo, proto, channels, chunk_size}, reason of a refusal
function M.final(r, a)
	local own = { algo = r.ctx.nccl_algo, proto = r.ctx.nccl_proto, channels = 0,
		chunk_size = 0 }
	-- NCCL 2.31 also asks with a table that offers nothing, and policies do not run.
	if r.ctx.usable == 0 then return own end
	if a.algo < -1 or a.algo > 6 or a.proto < -1 or a.proto > 2 then
		return own, "no such algorithm or protocol"
	end
	local out = { algo = own.algo, proto = own.proto }
	if a.algo >= 0 or a.proto >= 0 then
		local i = partner(r, a)
		if not i then return own, "NCCL does not offer it" end
		out.algo, out.proto = i // 3, i % 3
	end
	local no_channels = wrong_channels(r, a.channels, out.algo)
	local no_chunk = wrong_chunk(r, a.chunk_size)
	out.channels = no_channels and 0 or a.channels
	out.chunk_size = no_chunk and 0 or a.chunk_size
	return out, no_channels or no_chunk
end

-- Do the policies leave NCCL's own choice?
local function is_own(a) return a.algo < 0 and a.proto < 0 end

local function shown(a)
	local t = a.algo >= 0 and a.proto >= 0 and ("%s/%s"):format(
		core.nccl("algo", a.algo), core.nccl("proto", a.proto)) or "NCCL's"
	return t .. collectives.extras(a)
end

-- Return the time that NCCL predicts for an answer; nil if the record has no prediction.
local function estimate(r, a)
	local i = a.algo >= 0 and a.proto >= 0 and a.algo * 3 + a.proto
	local v = i and r.costs and r.costs[i + 1]
	if type(v) == "number" and v > 0 then return v end
	if i and a.algo == r.was.algo and a.proto == r.was.proto and type(r.cost_us) == "number"
		and r.cost_us > 0 then
		return r.cost_us
	end
	if i and a.algo == r.ctx.nccl_algo and a.proto == r.ctx.nccl_proto
		and type(r.nccl_cost_us) == "number" and r.nccl_cost_us > 0 then
		return r.nccl_cost_us
	end
end

-- ---- runs -----------------------------------------------------------------------------

-- Return the maps whose contents come from the job. In the simulation they start with initial
-- contents.
function M.maps_of(info)
	local t = {}
	for _, m in ipairs(info.maps) do
		if m.origin ~= "rodata" and m.origin ~= "inner" then
			t[#t + 1] = { policy = info.name, map = m.name, kind = m.coherent
				and "coherent" or m.merged and "merged" or "local" }
		end
	end
	return t
end

local function group_of(r, by, order)
	local from = units.class(r.bytes)
	local key = ("%s %020d"):format(r.coll, from)
	return by[key] or lists.add(order, by, key, { key = key, coll = r.coll, bytes_from = from,
		decisions = 0, differ = 0, refused = 0, ways = {}, recorded = 0, candidate = 0,
		estimated = 0 })
end

local function ways_of(g)
	local t = {}
	for way, n in pairs(g.ways) do t[#t + 1] = { way = way, n = n } end
	table.sort(t, lists.by("-n", "way"))
	for i, x in ipairs(t) do t[i] = ("%s (%d)"):format(x.way, x.n) end
	return table.concat(t, ", ")
end

-- Compare recorded answers with @answers. -> data, differing
local function compare(records, answers, most)
	local by, order, first = {}, {}, core.array {}
	local d = { decisions = #records, differ = 0, refused = 0, recorded_us = 0.0,
		candidate_us = 0.0, estimated = 0, unknown = 0 }
	for i, r in ipairs(records) do
		local g = group_of(r, by, order)
		local now, why = M.final(r, answers[i])
		local own = r.own or why or is_own(answers[i])
		if r.rccl and own then d.unknown = d.unknown + 1 end
		g.decisions = g.decisions + 1
		if why then g.refused, d.refused = g.refused + 1, d.refused + 1 end
		local a, b = estimate(r, r.was), estimate(r, now)
		if a and b then
			g.estimated, g.recorded, g.candidate = g.estimated + 1, g.recorded + a,
				g.candidate + b
			d.estimated, d.recorded_us, d.candidate_us = d.estimated + 1,
				d.recorded_us + a, d.candidate_us + b
		end
		if now.algo ~= r.was.algo or now.proto ~= r.was.proto
			or now.channels ~= r.was.channels or now.chunk_size ~= r.was.chunk_size then
			g.differ, d.differ = g.differ + 1, d.differ + 1
			local way = ("%s -> %s"):format(shown(r.was), shown(now))
			g.ways[way] = (g.ways[way] or 0) + 1
			if #first < most then
				first[#first + 1] = { comm = r.comm, seq = r.seq, coll = r.coll,
					bytes = r.bytes, recorded = shown(r.was),
					candidate = shown(now), refused = why,
					recorded_us = a, candidate_us = b }
			end
		end
	end
	table.sort(order, function(a, b) return a.key < b.key end)
	local rows = core.array(lists.map(order, function(g)
		return { coll = g.coll, bytes_from = g.bytes_from, decisions = g.decisions,
			differ = g.differ, refused = g.refused, change = ways_of(g),
			estimated = g.estimated, recorded_us = g.estimated > 0 and g.recorded
				or nil, candidate_us = g.estimated > 0 and g.candidate or nil }
	end))
	d.rows, d.first = rows, first
	return d
end

-- ---- the command -------------------------------------------------------------------------

local function pct(a, b) return a and b and a > 0 and ("%+.1f"):format((b / a - 1) * 100) or nil end

local columns = {
	{ "coll" }, { "bytes_from", title = "SIZE", num = true, show = units.bytes },
	{ "decisions", num = true }, { "differ", num = true },
	{ "refused", num = true, wide = true }, { "estimated", num = true, wide = true },
	{ "recorded_us", num = true, wide = true }, { "candidate_us", num = true, wide = true },
	{ "estimate", title = "SLOWER %", num = true, people = true, show = function(_, row)
		return pct(row.recorded_us, row.candidate_us)
	end },
	{ "change" },
}

local function lines_of(d)
	local t = lists.map(d.first, function(f)
		return ("%s #%d %s %s: %s -> %s%s"):format(
			f.comm, f.seq, f.coll, units.bytes(f.bytes), f.recorded, f.candidate,
			f.refused and " (" .. f.refused .. ")" or "")
	end)
	if d.differ > #d.first and #d.first > 0 then
		t[#t + 1] = ("and %d more; limit=N shows more"):format(d.differ - #d.first)
	end
	if d.unknown > 0 then
		t[#t + 1] = ("note: %swhat it ran or would run in %d of these decisions, where no "
			.. "policy chooses, is not known"):format(collectives.RCCL, d.unknown)
	end
	for _, m in ipairs(d.maps) do
		t[#t + 1] = (
			"note: policy %s has the %s map %s: " ..
			"here the map starts with the policy's initial contents, " ..
			"in a job the map has the job's contents, " ..
			"and answers may differ"):format(m.policy, m.kind, m.map)
	end
	table.move(d.notes, 1, #d.notes, #t + 1, t)
	if d.estimated > 0 then
		t[#t + 1] = (
			"times estimated by NCCL's cost table, not measured: " ..
			"%.1f us recorded, %.1f us with the candidate (time %s %%), " ..
			"of %d decisions; %d have none"):format(
			d.recorded_us, d.candidate_us, pct(d.recorded_us, d.candidate_us) or "0",
				d.estimated, d.decisions - d.estimated)
	end
	return t
end

-- Return notes about policies that ask for costs that records do not have.
local function costs_notes(records, names)
	local n = #lists.select(records, function(r) return not r.costs end)
	return core.array(lists.map(n > 0 and names or {}, function(name)
		return policy.costs_note(name, n == #records and "are not known here"
			or ("%d of these decisions do not have"):format(n))
	end))
end

local function records_of(ctx)
	if ctx.opt.data and ctx.opt.segment then
		return errors.fail("usage", "data= and segment= exclude each other")
	end
	local comm = ctx.opt.comm
	if ctx.opt.data then return of_file(ctx.opt.data, comm) end
	if not ctx.opt.segment then return of_job(ctx, comm) end
	local list = try(core.job_decisions(ctx.opt.segment))
	return collect(list, function() return { file = ctx.opt.segment } end, comm)
end

function M.cmd_simulate(ctx)
	local most = ctx:whole("limit", 0) or FIRST
	local coherence = ctx:word("coherence", { "strict", "off" })
	local images, maps, names, by_costs = {}, core.array {}, core.array {}, {}
	for _, word in ipairs(ctx.args) do
		if word ~= "none" or #ctx.args > 1 then
			local image, info, bytes = try(policy.resolve(ctx, word))
			if policy.asks_costs(image, info) then
				by_costs[#by_costs + 1] = info.name
			end
			images[#images + 1] = bytes
			names[#names + 1] = info.name
			for _, m in ipairs(M.maps_of(info)) do maps[#maps + 1] = m end
		end
	end
	local records = try(records_of(ctx))
	if #records == 0 then
		return nil, errors.new("not_found", "no decision was recorded",
			{ hint = "comm list shows communicators with decisions" })
	end
	local answers = errors.about(table.concat(names, ", "),
		core.policy_run(images, lists.map(records, "ctx"), coherence == "off"))
	local d = compare(records, answers, most)
	d.notes = costs_notes(records, by_costs)
	d.policies, d.maps, d.estimate = names, maps, "NCCL's cost table, not measured"
	return {
		schema = "policy.simulate/1", data = d, rows = d.rows, id = "coll",
		columns = columns, status = d.differ > 0 and 2 or 0,
		head = ("%s with %s: %s"):format(units.count(d.decisions, "recorded decision"),
			#names > 0 and table.concat(names, ", ") or "no policy (NCCL's own choice)",
			d.differ == 0 and "the same answers"
				or context.differing(d.differ)),
		foot = lines_of(d),
	}
end

return M
