-- SPDX-License-Identifier: MIT
-- Contexts of programs that run in the shell: fields whose words and sizes may be text, and for
-- tuner programs the values of omitted fields and NCCL's cost table.
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local M = {}

-- Kinds of the words in fields
local KINDS = { coll = "coll", nccl_algo = "algo", nccl_proto = "proto", algo = "algo",
	proto = "proto" }

-- The value of a fact about the ranks' hosts that differs between them (NCCLBPF_MIXED)
local MIXED <const> = 0xffffffff
M.FACTS = lists.set(core.facts())

-- Return a fact as people write it; a program's comparison may have 32 bits with a sign.
function M.fact_text(v) return v & MIXED == MIXED and "mixed" or tostring(v) end

-- Return the facts of @t, a context or a communicator, that are known: "gpu_arch 90, nics mixed".
function M.facts_text(t)
	local parts = {}
	for _, name in ipairs(core.facts()) do
		if name ~= "ranks_per_node" and math.type(t[name]) == "integer" and t[name] > 0 then
			parts[#parts + 1] = name .. " " .. M.fact_text(t[name])
		end
	end
	return table.concat(parts, ", ")
end

-- Return the value of the field ranks_per_node.
function M.per_node(ranks, nodes)
	if nodes == 0 then return 0 end
	return ranks % nodes == 0 and ranks // nodes or MIXED
end

-- Format the answer to a decision: "ring/simple x16"; "NCCL's": no opinion.
function M.answer(a)
	local extras = collectives.extras(a)
	if a.algo < 0 and a.proto < 0 and extras == "" then return "NCCL's" end
	return ("%s/%s%s"):format(core.nccl("algo", a.algo) or "any",
		core.nccl("proto", a.proto) or "any", extras)
end

-- Format a number of answers that differ.
function M.differing(n)
	return units.count(n, "answer") .. (n == 1 and " differs" or " differ")
end

-- Return the bit mask of "ring/ll128" words, as in ctx->usable. -> number | nil, the wrong word
local function offered(list)
	local bits = 0
	for _, w in ipairs(list) do
		local a, p = tostring(w):match "^([%w_]+)/([%w_]+)$"
		a, p = a and core.nccl("algo", a), p and core.nccl("proto", p)
		if not a or not p then return nil, tostring(w) end
		bits = bits | 1 << a * 3 + p
	end
	return bits
end

-- Return a context with words and sizes as numbers. @hook: "tuner" if nil
-- -> context | nil, what is wrong
function M.read(c, hook)
	if type(c) ~= "table" then
		return nil, ("a context is a %s, but must be a table of fields"):format(type(c))
	end
	local known, t = {}, {}
	for _, f in ipairs(core.fields(hook or "tuner")) do known[f.name] = true end
	for k, v in pairs(c) do
		if not known[k] then
			local names = {}
			for name in pairs(known) do names[#names + 1] = name end
			table.sort(names)
			return nil, ("no field %s, %s"):format(tostring(k),
				errors.nearest(tostring(k), names)
				or "the fields are: " .. table.concat(names, ", "))
		end
		local n = type(v) == "string" and (KINDS[k] and core.nccl(KINDS[k], v)
			or M.FACTS[k] and v == "mixed" and MIXED or units.size(v))
			or math.type(v) == "integer" and v
		if k == "usable" and type(v) == "table" then
			local wrong
			n, wrong = offered(v)
			if not n then
				return nil, ("field usable: " ..
					"%s is not an algorithm/protocol pair, " ..
					"such as ring/ll128"):format(wrong)
			end
		end
		if not n then
			return nil, ("field %s: %s is neither a number nor a word"):format(k,
				format.value(v))
		end
		t[k] = n
	end
	if known.usable and t.usable == nil then t.usable = (1 << 21) - 1 end
	return t
end

local ALGOS, PROTOS = 7, 3

local FLT_MAX <const> = 0x1.fffffep127
M.COSTS = ALGOS * PROTOS -- numbers of NCCL's cost table

-- Return true if @us is a number that a float can hold.
function M.is_cost(us) return type(us) == "number" and math.abs(us) <= FLT_MAX end

-- Return true if @list has the form of NCCL's cost table.
function M.is_costs(list)
	if type(list) ~= "table" or #list ~= M.COSTS then return false end
	for _, us in ipairs(list) do
		if not M.is_cost(us) then return false end
	end
	return true
end

-- Return what NCCL offers and would choose by a cost table: {usable, nccl_algo, nccl_proto}
function M.own(costs)
	local own, least = { usable = 0, nccl_algo = -1, nccl_proto = -1 }, nil
	for i, us in ipairs(costs) do
		if us >= 0 then own.usable = own.usable | 1 << i - 1 end
		if us >= 0 and (not least or us < least) then
			least = us
			own.nccl_algo, own.nccl_proto = (i - 1) // PROTOS, (i - 1) % PROTOS
		end
	end
	return own
end

-- Return the rows {ring = {LL, LL128, Simple}, ...} of a cost table that offer something.
function M.rows(costs)
	local rows = {}
	for a = 0, ALGOS - 1 do
		local row = table.move(costs, a * PROTOS + 1, (a + 1) * PROTOS, 1, {})
		if math.max(table.unpack(row)) >= 0 then rows[core.nccl("algo", a)] = row end
	end
	return rows
end

-- Return NCCL's cost table of rows {ring = {LL, LL128, Simple}, ...} in microseconds: 21 numbers,
-- and -1 for what is not offered. -> costs, {usable, nccl_algo, nccl_proto} | nil, what is wrong
function M.costs(rows)
	if type(rows) ~= "table" then
		return nil, ("costs are a %s, but must be a table of rows"):format(type(rows))
	end
	local t = {}
	for i = 1, ALGOS * PROTOS do t[i] = -1 end
	for word, row in pairs(rows) do
		local a = core.nccl("algo", word)
		if type(word) ~= "string" or not a then
			return nil, format.value(word) .. " is not an algorithm"
		end
		for p = 0, PROTOS - 1 do
			local us = type(row) == "table" and row[p + 1]
			if type(us) ~= "number" then
				return nil, word .. " must have the costs of ll, ll128 and simple"
			end
			t[a * PROTOS + p + 1] = us
		end
	end
	return t, M.own(t)
end

-- Default fields of a context: a job of 8 GPUs in one NVLink domain on a node.
function M.complete(c, seq)
	c.nodes = c.nodes or 1
	if c.ranks_per_node and c.ranks_per_node ~= MIXED then
		c.ranks = c.ranks or c.ranks_per_node * c.nodes
	end
	c.ranks = c.ranks or 8
	local default = { seq = seq, pipe_ops = 1, nvl_domains = c.nodes,
		nvl_min_ranks = c.ranks // math.max(c.nodes, 1),
		nvl_max_ranks = c.ranks // math.max(c.nodes, 1),
		ranks_per_node = M.per_node(c.ranks, c.nodes),
		nccl_algo = core.nccl("algo", "ring"), nccl_proto = core.nccl("proto", "simple"),
		algo = -1, proto = -1, channels = 0, chunk_size = 0 }
	for k, v in pairs(default) do c[k] = c[k] or v end
	return c
end

return M
