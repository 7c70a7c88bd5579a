-- SPDX-License-Identifier: MIT
-- Contexts of tuner programs that run in the shell: fields whose words and sizes may be text, and
-- the values of omitted fields.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local units = require "ncclbpf.base.units"

local M = {}

-- Kinds of the words in fields
local KINDS = { coll = "coll", nccl_algo = "algo", nccl_proto = "proto", algo = "algo",
	proto = "proto" }

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

-- Return a context with words and sizes as numbers. -> context | nil, what is wrong
function M.read(c)
	if type(c) ~= "table" then return nil, "a table of fields expected, found " .. type(c) end
	local known, t = {}, {}
	for _, f in ipairs(core.fields "tuner") do known[f.name] = true end
	for k, v in pairs(c) do
		if not known[k] then
			local names = {}
			for name in pairs(known) do names[#names + 1] = name end
			return nil, ("no field %s, %s"):format(tostring(k),
				errors.nearest(tostring(k), names) or "see docs/policies.md")
		end
		local n = type(v) == "string" and (KINDS[k] and core.nccl(KINDS[k], v)
			or units.size(v)) or math.type(v) == "integer" and v
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
	if t.usable == nil then t.usable = (1 << 21) - 1 end
	return t
end

-- Default fields of a context: a job of 8 GPUs in one NVLink domain on a node.
function M.complete(c, seq)
	c.ranks = c.ranks or 8
	c.nodes = c.nodes or 1
	local default = { seq = seq, pipe_ops = 1, nvl_domains = c.nodes,
		nvl_min_ranks = c.ranks // math.max(c.nodes, 1),
		nvl_max_ranks = c.ranks // math.max(c.nodes, 1),
		nccl_algo = core.nccl("algo", "ring"), nccl_proto = core.nccl("proto", "simple"),
		algo = -1, proto = -1, channels = 0, chunk_size = 0 }
	for k, v in pairs(default) do c[k] = c[k] or v end
	return c
end

return M
