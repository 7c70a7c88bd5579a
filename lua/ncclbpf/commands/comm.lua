-- SPDX-License-Identifier: MIT
-- Communicators, decisions and why they were made.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local collectives = require "ncclbpf.job.collectives"
local context = require "ncclbpf.policy.context"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local merge = require "ncclbpf.job.merge"
local stats = require "ncclbpf.commands.stats"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local function answer(a)
	if type(a) ~= "table" then return "-" end
	local algo, proto = read.text(a.algo), read.text(a.proto)
	local choice = (algo or proto) and ("%s/%s"):format(algo or "?", proto or "?") or ""
	local text = (choice .. collectives.extras(a)):match "^ ?(.*)"
	return text ~= "" and text or "-"
end
M.answer = answer

-- Return a function that makes rows of the list @field of a reply, of communicators whose identity
-- begins with @comm (nil: of all).
local function list_of(field, make, comm)
	return function(d)
		local list = lists.select(read.list(d, field), function(t)
			return not comm or tostring(t.comm):sub(1, #comm) == comm
		end)
		return lists.map(list, make)
	end
end

local function comm_row(c)
	local row = lists.copy(c)
	row.id, row.policies = c.comm, type(c.policies) == "table" and c.policies or {}
	return row
end

local function policies(v)
	return type(v) == "table" and #v > 0 and format.plain(v) or "-"
end

function M.cmd_list(ctx)
	return read.command(ctx, {
		schema = "comm.list/1", line = "comm list", opts = { list = "comms" },
		rows = list_of("comms", comm_row, ctx.opt.comm), name = "comm",
		-- A process may hold several ranks of a communicator, so add up the rows.
		id = function(row) return tostring(row.comm) end,
		empty = "no communicators yet",
		columns = {
			{ "comm" }, { "slot", num = true, wide = true, merge = "first" },
			{ "ranks", num = true },
			{ "local_ranks", title = "HERE", num = true, merge = "max", drop = 1 },
			{ "nodes", num = true, drop = 2 },
			{ "tuner_abi", title = "TUNER", num = true, wide = true },
			{ "decisions", num = true, merge = "range" },
			{ "generation", title = "GEN", num = true, ahead = true },
			{ "policies", show = policies, wrap = true },
			{ "changeable", title = "CHANGE", show = function(v, row)
				return v and "yes" or "no"
					.. (read.text(row.why) and ": " .. row.why or "")
			end },
		},
	})
end

-- Return the fields of a decision that all rows of decisions have.
local function choice_row(t)
	local n, a = read.record(t.nccl), read.record(t.answer)
	return { coll = t.coll, nccl = answer(t.nccl), nccl_algo = n.algo, nccl_proto = n.proto,
		answer = answer(t.answer), algo = a.algo, proto = a.proto, channels = a.channels,
		chunk_size = a.chunk_size, by = t.by, cost_us = t.cost_us,
		nccl_cost_us = t.nccl_cost_us, generation = t.generation }
end

local function table_rows(d)
	return lists.map(read.list(d, "table"), function(t)
		local row = choice_row(t)
		row.comm, row.count, row.bytes_from, row.bytes_to, row.bytes_last = d.comm, t.count,
			t.bytes_from, t.bytes_to, t.bytes_last
		return row
	end)
end

-- Return the change of NCCL's modelled time, in per cent: below 0 the answer is faster.
local function slower(_, row)
	local a, b = row.cost_us, row.nccl_cost_us
	if type(a) ~= "number" or type(b) ~= "number" or a <= 0 or b <= 0
		or row.answer == row.nccl then
		return nil
	end
	return ("%+.1f"):format((a / b - 1) * 100)
end

function M.cmd_show(ctx)
	local comm = try(reach.one(try(ctx:session()), ctx.args[1]))
	local measured, any = stats.measured(ctx, comm)
	return read.command(ctx, {
		opts = { absent = "not_found", map = function(d, member)
			d.measured = measured[member] and measured[member].list
			return d
		end },
		schema = "comm.show/1", line = session.line { "comm", "show", comm }, name = "coll",
		rows = function(d, member)
			return stats.join(table_rows(d), measured[member], d.comm)
		end,
		id = function(row)
			return ("%s %s%s"):format(row.coll, units.bytes(row.bytes_from), row.alone
				and " " .. row.ran or "")
		end,
		empty = "no decisions yet",
		head = function(per)
			local d = per[1].data
			local text = ("comm %s: %s on %s, tuner v%s, generation %s, policies %s")
				:format(tostring(d.comm), units.count(d.ranks, "rank"),
					units.count(d.nodes, "node"), tostring(d.tuner_abi),
					tostring(d.generation), policies(d.policies))
			local facts = context.facts_text(d)
			return facts == "" and text or text .. ", " .. facts
		end,
		columns = stats.measured_columns(any, {
			{ "coll" }, { "bytes_from", title = "SIZE", num = true,
				show = units.bytes },
			{ "bytes_last", title = "LAST", num = true, wide = true, merge = "first",
				show = units.bytes },
			{ "count", num = true, merge = "range", drop = 3 },
			{ "nccl", title = "NCCL" }, { "answer", title = "ANSWER" },
			{ "by", drop = 1 },
			{ "cost_us", title = "COST us", num = true, merge = "first", drop = 6,
				show = units.us },
			{ "nccl_cost_us", title = "NCCL us", num = true, merge = "first",
				drop = 7, show = units.us },
			{ "slower", title = "SLOWER %", num = true, people = true,
				merge = "first", drop = 4, show = slower },
			{ "generation", title = "GEN", num = true, ahead = true, drop = 9 },
			{ "bytes_to", flat = true }, { "nccl_algo", flat = true },
			{ "nccl_proto", flat = true }, { "algo", flat = true },
			{ "proto", flat = true }, { "channels", flat = true },
			{ "chunk_size", flat = true },
		}),
	})
end

-- Return the nearest collective for a wrong word, else nil.
local function collective(word)
	if core.nccl("coll", word) then return ascii.lower(word) end
	local names = collectives.words_of "coll"
	return nil, errors.new("bad_argument", ("no collective %s; the collectives are: %s"):format(
		word, table.concat(names, ", ")),
		{ hint = errors.nearest(ascii.lower(word), names) })
end

function M.explain_line(coll, size, comm)
	local c = try(collective(tostring(coll)))
	local bytes = math.type(size) == "integer" and size or units.size(size)
	if not bytes or bytes < 0 then
		return errors.fail("bad_argument",
			"size %s must be a number of bytes, such as 64K, 4M or 1G",
			tostring(size))
	end
	return session.line { "explain", c, bytes } .. reach.words(comm)
end

local function explain_text(d, who)
	local t = {}
	t[#t + 1] = ("%s of %s, comm %s%s%s"):format(tostring(d.coll), units.bytes(d.bytes),
		tostring(d.comm),
		d.generation and ", generation " .. tostring(d.generation) or "", who)
	-- A wrapped tuner answers first, and policies see its answer as NCCL's choice.
	local wrapped = read.text(d.wrapped)
	local rccl = read.record(d.context).rccl == true
	local whose = wrapped and "the wrapped tuner's" or "NCCL's"
	local rows = { { step = "nccl", algo = answer(d.nccl), note = wrapped
		and ("choice of the wrapped tuner %s, or NCCL's if it has none"):format(wrapped)
		or rccl and "cheapest of RCCL's cost table" or "NCCL's own choice" } }
	local n, other, left = read.record(d.nccl), false, true
	for _, p in ipairs(read.list(d, "policies")) do
		local note = "left it"
		left = p.algo == nil and p.proto == nil -- no choice so far, but maybe channels
		if p.changed then
			-- Write "NCCL's own choice" only if no earlier policy has changed
			-- the answer.
			local same = (p.algo == nil or p.algo == n.algo)
				and (p.proto == nil or p.proto == n.proto)
				and collectives.extras(p) == ""
			note = not same and "changed it" or (other and "back to %s choice"
				or "kept %s choice"):format(whose)
			other = not same
		end
		rows[#rows + 1] = { step = tostring(p.name), algo = answer(p), note = note }
	end
	rows[#rows + 1] = { step = "answer", algo = answer(d.answer),
		note = "by " .. (read.text(d.by) or wrapped and "the wrapped tuner or NCCL"
			or "NCCL") }
	for _, l in ipairs(format.table({ { "step" }, { "algo", title = "CHOICE" },
		{ "note", title = "" } }, rows, {})) do
		t[#t + 1] = l
	end
	if rccl and (left or not read.text(d.by)) then
		t[#t + 1] = collectives.RCCL .. "what it runs here is not known"
	end
	if d.seen == false then
		t[#t + 1] = "no rank has decided this size yet, so this answer is computed"
	end
	if read.text(d.note) then t[#t + 1] = d.note end
	local facts = context.facts_text(read.record(d.context))
	if facts ~= "" then t[#t + 1] = "all ranks: " .. facts end
	return table.concat(t, "\n")
end

-- A rank behind the fence of a change decides by its old policies until it passes the fence.
local function pending(ctx, per)
	local d = per[1].data
	for _, r in ipairs(per) do
		if read.number(r.data.generation) < read.number(d.generation) then d = r.data end
	end
	local ranks, passed, found, last = {}, {}, nil, nil
	for _, r in ipairs((read.ask(ctx, "change status")) or {}) do
		local change = read.record(read.record(r.data).last)
		local newer = not last and 1
			or read.number(change.generation) - read.number(last.generation)
		for _, c in ipairs(newer < 0 and {} or read.list(change, "comms")) do
			if c.comm == d.comm and c.state == "committed" then
				-- A site that still has the previous change does not count.
				if newer > 0 then ranks, passed = {}, {} end
				found, last, newer = c, change, 0
				ranks[#ranks + 1] = { member = r.member, value = c.ranks }
				passed[#passed + 1] = { member = r.member, value = c.passed }
			end
		end
	end
	if not found or read.number(last.generation) <= read.number(d.generation) then
		return nil
	end
	local s = read.record(read.one(ctx, "status"))
	return { generation = last.generation, fence = found.fence,
		ranks = merge.over_sites(ranks), passed = merge.over_sites(passed),
		policies = s.generation == last.generation and s.policies or nil }
end

-- Return a line about the change that ranks of the replies @per have yet to reach, and its record;
-- nil: there is none.
function M.pending(ctx, per)
	local p = pending(ctx, per)
	return p and ("pending: generation %s%s decides from decision %s on. %s of %s have reached "
		.. "it; a rank before that decision uses its old policies"):format(
		tostring(p.generation), p.policies and " (policies " .. policies(p.policies) .. ")"
			or "", tostring(p.fence),
		tostring(p.passed), units.count(p.ranks, "rank")), p
end

function M.cmd_explain(ctx)
	local request = try(M.explain_line(ctx.args[1], ctx.args[2], ctx.opt.comm))
	local per, data, failure = try(read.ask(ctx, request))
	local items, rows = {}, {}
	for i, r in ipairs(per) do
		items[i] = { member = r.member, value = explain_text(r.data, "") }
		local d = r.data
		local a, n = read.record(d.answer), read.record(d.nccl)
		rows[i] = read.identify({ coll = d.coll, bytes = d.bytes, comm = d.comm,
			seen = d.seen, nccl_algo = n.algo, nccl_proto = n.proto, algo = a.algo,
			proto = a.proto, channels = a.channels, chunk_size = a.chunk_size,
			by = d.by,
			generation = d.generation }, r.member)
	end
	local text = {}
	local groups = merge.groups(items)
	for _, g in ipairs(groups) do
		text[#text + 1] = (#groups > 1 and "on " .. merge.who(g.members) .. ":\n" or "")
			.. g.value
	end
	local why, made = require("ncclbpf.policy.explain").why(ctx, per[1].data)
	if #why > 0 then text[#text + 1] = table.concat(why, "\n") end
	data.tables = made
	local line, change = M.pending(ctx, per)
	data.pending = change
	if line then table.insert(text, 1, line) end
	return { schema = "explain/1", data = data, rows = rows, columns = format.columns {
		"rank", "pid", "coll", "bytes", "comm", "seen", "nccl_algo", "nccl_proto", "algo",
		"proto", "channels", "by", "generation", "chunk_size" },
		text = table.concat(text, "\n\n"), id = "algo",
		failure = failure }
end

-- ---- decisions and traces ------------------------------------------------------------

local decision_columns = {
	{ "comm" }, { "seq", num = true }, { "coll" }, {
		"bytes", title = "SIZE", num = true, show = units.bytes },
	{ "nccl", title = "NCCL" }, { "answer", title = "ANSWER" }, { "by", drop = 1 },
	{ "refused", wrap = true },
	{ "cost_us", title = "COST us", num = true, merge = "first", drop = 3, show = units.us },
	{ "nccl_cost_us", title = "NCCL us", num = true, wide = true, merge = "first",
		show = units.us },
	{ "generation", title = "GEN", num = true, wide = true },
	{ "nccl_algo", flat = true }, { "nccl_proto", flat = true }, { "algo", flat = true },
	{ "proto", flat = true }, { "channels", flat = true }, { "chunk_size", flat = true },
}

local function decision_row(t)
	local row = choice_row(t)
	row.comm, row.slot, row.seq, row.bytes, row.refused = t.comm, t.slot, t.seq, t.bytes,
		t.refused
	row.context, row.costs_us = t.context, t.costs_us -- for policy simulate
	return row
end

-- Return the data @d of a reply with only the last (@first: the first) @count of its list @field.
local function limited(d, field, count, first)
	local list = read.list(d, field)
	if #list <= count then return d end
	local from = first and 1 or #list - count + 1
	local copy = setmetatable(lists.copy(d), getmetatable(d))
	copy[field] = core.array(table.move(list, from, from + count - 1, 1, {}))
	return copy
end

-- Print a stream of all processes as it arrives.
local function follow(ctx, line, list, rows_of, columns, schema)
	local s = try(ctx:session())
	local many = #s.members > 1
	local cols = { many and { "rank", num = true } or nil }
	table.move(columns, 1, #columns, #cols + 1, cols)
	local left = ctx:whole("count", 1)
	local first = true
	local ok, err = s:follow(line, function(data, member, lost)
		data = left and limited(data, list, left, true) or data
		local rows = rows_of(data)
		for _, row in ipairs(rows) do read.identify(row, member) end
		if #rows > 0 or lost then
			ctx:emit({ schema = schema, rows = rows, columns = cols,
				foot = lost and {
					("%s lines are lost: %s was faster than this shell"):format(
					lost, merge.who { member }) } or nil,
				data = { pid = member.pid, rank = member.rank, site = member.site,
					lost = lost, data = data } }, not first)
			first = false
		end
		if left then
			left = left - #rows
			return left <= 0
		end
	end)
	if not ok then return nil, err end
	return {}
end

-- Keep the latest @count lines of all processes, in order.
local function newest(count, less)
	return function(merged)
		table.sort(merged, less)
		local out = table.move(merged, math.max(1, #merged - count + 1), #merged, 1, {})
		for _, row in ipairs(out) do row.on = nil end
		return out
	end
end

-- @list: the field of a reply that has the lines
local function tail(ctx, words, schema, list, rows_of, columns, id, field, less, comm)
	local goes_on = ctx:yes("follow")
	local count = ctx:whole("count", 1) or 20
	local line = ("%s count=%d%s"):format(words, goes_on and 0 or count, reach.words(comm))
	if goes_on then
		return follow(ctx, line .. " follow=yes", list, rows_of, columns, schema)
	end
	return read.command(ctx, { schema = schema, line = line, rows = rows_of, columns = columns,
		id = id, name = field, empty = "none yet",
		opts = { map = function(d) return limited(d, list, count) end },
		arrange = less and newest(count, less) })
end

function M.cmd_decisions(ctx)
	local comm = ctx.opt.comm and try(reach.one(try(ctx:session()), ctx.opt.comm))
	return tail(ctx, "decision tail", "decision.tail/1", "decisions",
		list_of("decisions", decision_row, comm), decision_columns,
		function(row) return ("%s #%s"):format(row.comm, row.seq) end, "seq",
		lists.by("comm", "seq"), comm)
end

local function stamp(v)
	if type(v) == "number" then return core.time(math.tointeger(v) or 0):sub(12, 23) end
	return v
end

function M.cmd_trace(ctx)
	local result, err = tail(ctx, "trace tail", "trace.tail/1", "lines", list_of("lines",
		lists.copy), {
		{ "time", show = stamp, merge = "first" }, { "policy" },
		{ "number", num = true, wide = true }, { "text" },
	}, function(row) return ("%s %s %s"):format(row.policy, row.number, row.text) end, "text")
	if result and result.schema and not ctx.script then
		table.sort(result.merged, lists.by("time"))
	end
	return result, err
end

return M
