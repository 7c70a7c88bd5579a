-- SPDX-License-Identifier: MIT
-- The metrics of GIN: what kernels put to each peer, and through each context. With many ranks the
-- product of the two would be too many series; `stats gin` has it.
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"

local M = {}

-- Counters of a peer: { name, type, help, field, factor }
local PEER = {
	{ "ncclbpf_gin_puts_total", "counter", "Puts that GPU kernels made to a peer", "puts" },
	{ "ncclbpf_gin_signals_total", "counter", "Signals that GPU kernels sent to a peer",
		"signals" },
	{ "ncclbpf_gin_gets_total", "counter", "Gets that GPU kernels made from a peer",
		"gets" },
	{ "ncclbpf_gin_bytes_total", "counter", "Bytes of puts and gets of GPU kernels, by peer",
		"bytes" },
	{ "ncclbpf_gin_held_total", "counter",
		"Operations to a peer that policies held back", "held" },
	{ "ncclbpf_gin_errors_total", "counter", "Failed operations to a peer", "errors" },
	{ "ncclbpf_gin_outstanding", "gauge", "Unfinished puts and gets to a peer",
		"outstanding" },
	{ "ncclbpf_gin_received_bytes_total", "counter",
		"Bytes of puts that arrived from a peer (GIN over TCP)", "in_bytes" },
	{ "ncclbpf_gin_received_signals_total", "counter",
		"Signals that arrived from a peer (GIN over TCP)", "in_signals" },
}

local CONTEXT = {
	{ "ncclbpf_gin_context_puts_total", "counter", "Puts of kernels through a context",
		"puts" },
	{ "ncclbpf_gin_context_bytes_total", "counter",
		"Bytes of puts and gets of kernels through a context", "bytes" },
	{ "ncclbpf_gin_context_outstanding", "gauge",
		"Unfinished puts and gets of kernels through a context", "outstanding" },
}

local STATES = { "stalled", "lost" }

-- Call @fn(row, labels) for each row of the answers @list.
local function each(now, list, fn)
	for row, r in read.each(list, "peers") do
		fn(row, now.base(r, { "comm_id", "0x" .. tostring(row.comm) },
			{ "rank", row.comm_rank }, { "coll", row.coll }))
	end
end

-- Write the metric @f of the rows of @list, with the labels @names. Rows with equal labels are
-- summed.
local function of_rows(text, now, f, list, ...)
	local lines, by, names = {}, {}, { ... }
	each(now, list, function(row, l)
		if type(row[f[4]]) ~= "number" then return end
		for _, name in ipairs(names) do l[#l + 1] = { name, row[name] } end
		local key = table.concat(lists.map(l, function(x) return tostring(x[2]) end), " ")
		local line = by[key] or lists.add(lines, by, key, { l, 0 })
		line[2] = line[2] + row[f[4]]
	end)
	text:family(f[1], f[2], f[3], lines)
end

local function put_seconds(text, now)
	local lines = {}
	each(now, now.gin, function(row, l)
		local t = read.record(row.put)
		if read.number(t.count) == 0 then return end
		l[#l + 1] = { "peer", row.peer }
		for _, q in ipairs { { "0.5", t.p50_ns }, { "0.9", t.p90_ns },
			{ "0.99", t.p99_ns } } do
			local lq = table.move(l, 1, #l, 1, {})
			lq[#lq + 1] = { "quantile", q[1] }
			lines[#lines + 1] = { lq, read.number(q[2]) / 1e9 }
		end
		lines[#lines + 1] = { l, read.number(t.sum_ns) / 1e9, "_sum" }
		lines[#lines + 1] = { l, t.count, "_count" }
	end)
	text:family("ncclbpf_gin_put_seconds", "summary",
		"Time of puts and signals from post to done, while telemetry is on", lines)
end

local function broken(text, now)
	local lines = {}
	for _, r in ipairs(now.gin) do
		local n = {}
		for _, row in ipairs(read.list(r.data, "peers")) do
			local state = read.text(row.state)
			if state then n[state] = (n[state] or 0) + 1 end
		end
		if read.text(r.data.transport) then
			for _, state in ipairs(STATES) do
				lines[#lines + 1] = { now.base(r, { "state", state }),
					n[state] or 0 }
			end
		end
	end
	text:family("ncclbpf_gin_broken_peers", "gauge",
		"Lost or stalled peers of open collComms (GIN over TCP)", lines)
end

local function offences(text, now)
	local lines = {}
	for _, r in ipairs(now.gin) do
		local d = read.text(r.data.transport) and read.record(r.data.offences) or {}
		for _, k in ipairs(lists.keys(d)) do
			lines[#lines + 1] = { now.base(r, { "reason", k }), d[k] }
		end
	end
	text:family("ncclbpf_gin_offences_total", "counter",
		"Messages of peers that GIN over TCP refused", lines)
end

-- @now: gin, gin_contexts: answers of `gin` and `gin contexts=yes`; base(r, ...): labels of
-- a process, and more labels
function M.add(text, now)
	for _, f in ipairs(PEER) do of_rows(text, now, f, now.gin, "peer") end
	for _, f in ipairs(CONTEXT) do
		of_rows(text, now, f, now.gin_contexts, "devcomm", "context")
	end
	put_seconds(text, now)
	broken(text, now)
	offences(text, now)
end

return M
