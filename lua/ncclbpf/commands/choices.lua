-- SPDX-License-Identifier: MIT
-- `choices`: what one communicator would choose for each power of two, and by whom. The job
-- explains each size (plugin/tuner/explain.c), so the command waits for no traffic.
local comm = require "ncclbpf.commands.comm"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local LARGEST = 34 -- sizes are 1 byte to 2^34 bytes, 16 GiB

-- Return the communicator with the most ranks, of these the one with the most decisions, and the
-- number of all communicators.
local function widest(ctx)
	local best, seen, n = nil, {}, 0
	for c in read.each(try(read.ask(ctx, "comm list", { list = "comms" })), "comms") do
		if not seen[c.comm] then seen[c.comm], n = true, n + 1 end
		local ranks, decisions = read.number(c.ranks), read.number(c.decisions)
		if not best or ranks > best.ranks
			or ranks == best.ranks and decisions > best.decisions then
			best = { comm = tostring(c.comm), ranks = ranks, decisions = decisions }
		end
	end
	if not best then
		errors.raise("not_found", "no communicators yet")
	end
	return best.comm, n
end

-- Return what the process would choose for one size, from its explanation @d.
local function choice_of(d)
	local policies, answer = read.list(d, "policies"), read.record(d.answer)
	local last = policies[#policies] or {}
	local own = not read.text(d.by) or last.algo == nil and last.proto == nil
	-- What NCCL offers is not known before it has asked, so the other half of an answer with
	-- an algorithm or a protocol alone is not known either.
	if d.seen ~= true and not own then
		answer = { algo = last.algo, proto = last.proto, channels = answer.channels,
			chunk_size = answer.chunk_size }
	end
	return setmetatable({ bytes = d.bytes, seen = d.seen, nccl = d.nccl, answer = answer,
		own = own, by = d.by, refused = d.refused, note = d.refused and d.note,
		offers = #read.list(d, "offers"), generation = d.generation },
		{ order = { "bytes", "seen", "nccl", "answer", "own", "by", "refused",
			"note", "offers", "generation" },
		nulls = { by = true, refused = true, note = true } })
end

-- Ask every process about every size. -> replies as those to one request, and true if each process
-- had one generation meanwhile
local function explained_once(group, coll, id)
	local per, by, steady = {}, {}, true
	for k = 0, LARGEST do
		local line = try(comm.explain_line(coll, 1 << k, id))
		for _, r in ipairs(group:ask(line)) do
			local all = by[r.member]
			if not all then
				all = { member = r.member }
				by[r.member], per[#per + 1] = all, all
			end
			local d = r.data
			if not d then
				all.err = all.err or r.err
			elseif not all.data then
				local names = lists.map(read.list(d, "policies"), "name")
				local where = read.record(d.context)
				all.data = setmetatable({ coll = d.coll, comm = d.comm,
					ranks = where.ranks, nodes = where.nodes,
					rccl = where.rccl, wrapped = d.wrapped,
					generation = d.generation, policies = core.array(names),
					choices = core.array {} },
					{ order = { "coll", "comm", "ranks", "nodes", "rccl",
						"wrapped", "generation", "policies", "choices" },
					nulls = { wrapped = true } })
			end
			if d then
				all.data.choices[k + 1] = choice_of(d)
				steady = steady and d.generation == all.data.generation
			end
		end
	end
	for _, r in ipairs(per) do
		if r.err then r.data = nil end
	end
	return per, steady
end

-- The same, again if the ranks have passed a fence meanwhile.
local function explained(ctx, coll, id)
	local group, per, steady = try(ctx:session()), nil, false
	for _ = 1, 3 do
		if not steady then per, steady = explained_once(group, coll, id) end
	end
	return per
end

-- Return who chose, in words.
local function who(c, wrapped)
	local text = read.text(c.by) or wrapped and "tuner " .. wrapped .. " or NCCL" or "NCCL"
	return read.text(c.refused) and ("%s (dropped: %s)"):format(text, c.refused) or text
end

local function rows_of(d)
	local wrapped = read.text(d.wrapped)
	return lists.map(read.list(d, "choices"), function(c)
		local n, a = read.record(c.nccl), read.record(c.answer)
		return { bytes = c.bytes, seen = c.seen, nccl = comm.answer(n),
			answer = comm.answer(a), who = who(c, wrapped), nccl_algo = n.algo,
			nccl_proto = n.proto, algo = a.algo, proto = a.proto, channels = a.channels,
			chunk_size = a.chunk_size, by = c.by, wrapped = wrapped,
			refused = c.refused, note = c.note, own = c.own, offers = c.offers,
			generation = c.generation }
	end)
end

-- Join neighbouring sizes whose rows are alike.
local ALIKE = { "seen", "nccl", "answer", "who", "on" }
local function folded(rows)
	local out = {}
	for _, row in ipairs(rows) do
		local before = out[#out]
		local alike = before ~= nil
		for _, field in ipairs(alike and ALIKE or {}) do
			alike = alike and before[field] == row[field]
		end
		if alike then
			before.upto = row.bytes
		else
			out[#out + 1] = lists.copy(row)
		end
	end
	return out
end

local columns = {
	{ "bytes", title = "SIZE", show = function(v, row)
		return units.bytes(v) .. (row.upto and " to " .. units.bytes(row.upto) or "")
	end },
	{ "nccl", title = "NCCL'S CHOICE", people = true, show = function(v, row)
		return row.nccl_algo and v or "not known"
	end },
	{ "answer", title = "CHOSEN", people = true, show = function(v, row)
		return not row.by and not row.algo and "NCCL's choice" or v
	end },
	{ "who", title = "BY", people = true, wrap = true },
	{ "seen", flat = true }, { "own", flat = true }, { "nccl_algo", flat = true },
	{ "nccl_proto", flat = true }, { "algo", flat = true }, { "proto", flat = true },
	{ "channels", flat = true },
	{ "chunk_size", flat = true }, { "by", flat = true }, { "wrapped", flat = true },
	{ "refused", flat = true }, { "offers", flat = true },
	{ "generation", flat = true, ahead = true },
}

local function head(d)
	return ("%s, comm %s: %s on %s, generation %s, policies %s"):format(tostring(d.coll),
		tostring(d.comm), units.count(d.ranks, "rank"), units.count(d.nodes, "node"),
		tostring(d.generation),
		#d.policies > 0 and table.concat(d.policies, ", ") or "none")
end

-- Return notes on the rows of one process; @others: how many more communicators there are.
local function foot(d, others)
	local t, rows, dropped, several = {}, rows_of(d), {}, nil
	local unseen, blind, own = false, false, false
	for _, row in ipairs(rows) do
		unseen = unseen or not row.seen
		blind = blind or row.seen and not row.nccl_algo
		own = own or row.seen and row.own
		several = several or row.offers > 1 and row.bytes
		if row.note and not dropped[row.note] then
			dropped[row.note] = true
			t[#t + 1] = ("dropped: %s (at size %s)"):format(row.note,
				units.bytes(row.bytes))
		end
	end
	if unseen then
		t[#t + 1] = "not known: NCCL has not asked about this size; "
			.. "a policy's answer assumes that NCCL offers it"
	end
	if blind then
		t[#t + 1] = "not known although NCCL has asked: it passes no cost table, "
			.. "as NCCL 2.21"
	end
	if read.text(d.wrapped) then
		t[#t + 1] = ("NCCL's choice is that of the wrapped tuner %s, "
			.. "or NCCL's if it has none"):format(d.wrapped)
	end
	if several then
		t[#t + 1] = ("NCCL has offered different choices at %s: explain %s %s"):format(
			units.bytes(several), d.coll, units.bytes(several))
	end
	if own and d.rccl == true then
		t[#t + 1] = collectives.RCCL .. "what it runs where no policy answers is not known"
	end
	if others > 0 then
		t[#t + 1] = ("%s: comm list, choices comm=ID"):format(
			units.count(others, "more communicator"))
	end
	return t
end

function M.cmd_choices(ctx)
	local coll, id, n = ctx.args[1] or "allreduce", nil, 1
	if ctx.opt.comm then
		id = try(reach.one(try(ctx:session()), ctx.opt.comm))
	else
		id, n = widest(ctx)
	end
	return read.command(ctx, {
		schema = "choices/1", name = "bytes", rows = rows_of, columns = columns,
		opts = { results = explained(ctx, coll, id), absent = "not_found" },
		id = function(row) return units.bytes(row.bytes) end,
		arrange = ctx:format() ~= "wide" and folded or nil,
		head = function(per)
			local pending = comm.pending(ctx, per)
			return (pending and pending .. "\n" or "") .. head(per[1].data)
		end,
		foot = function(per) return foot(per[1].data, n - 1) end,
	})
end

return M
