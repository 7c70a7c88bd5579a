-- SPDX-License-Identifier: MIT
-- The command `metrics`: measurements and state of the job as Prometheus text. Metrics that
-- NVIDIA's Inspector has too use its names and units; ours (ncclbpf_) are in seconds and bytes.
local ascii = require "ncclbpf.base.ascii"
local FINE = require("ncclbpf.commands.check").FINE
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local gin = require "ncclbpf.commands.metrics_gin"
local verbs = require "ncclbpf.commands.metrics_verbs"
local read = require "ncclbpf.job.read"
local rollout = require "ncclbpf.rollout.run"
local stats = require "ncclbpf.commands.stats"

local try = errors.try
local M = {}

local function escaped(v)
	return (tostring(v):gsub("\\", "\\\\"):gsub("\"", "\\\""):gsub("\n", "\\n"))
end

local function labels(list)
	local t = lists.map(list, function(l) return ('%s="%s"'):format(l[1], escaped(l[2])) end)
	return table.concat(t, ",")
end

-- Inspector's names: "AllReduce", "RING_SIMPLE", "1-2MB".
local NAMES = { broadcast = "Broadcast", reduce = "Reduce", allgather = "AllGather",
	reducescatter = "ReduceScatter",
	allreduce = "AllReduce", sendrecv = "SendRecv", send = "Send", recv = "Recv" }

local function message_size(from)
	local names, n, i = { "B", "KB", "MB", "GB", "TB" }, math.max(read.number(from), 1), 1
	while n >= 1024 and i < #names do n, i = n // 1024, i + 1 end
	return ("%d-%d%s"):format(n, n * 2, names[i])
end

local families = {
	{ "nccl_bus_bandwidth_gbs", "gauge", "NCCL bus bandwidth for collective operations in GB/s",
		"busbw_gbs", 1, false },
	{ "nccl_collective_algobw_gbs", "gauge",
		"NCCL algorithm bandwidth for collective operations in GB/s", "algbw_gbs", 1,
		false },
	{ "nccl_collective_exec_time_microseconds", "gauge",
		"NCCL mean collective execution time", "exec_mean_ns", 1e-3, false },
	{ "nccl_p2p_bus_bandwidth_gbs", "gauge",
		"NCCL bus bandwidth for sends and receives in GB/s", "busbw_gbs", 1, true },
	{ "nccl_p2p_exec_time_microseconds", "gauge",
		"NCCL mean send or receive execution time", "exec_mean_ns", 1e-3, true },
	{ "ncclbpf_collectives_total", "counter", "Operations measured", "count", 1 },
}

-- write one series for the host instead of one for each rank
local host_families = {
	{ "ncclbpf_host_collective_exec_seconds",
		"NCCL collective execution time of the slowest rank of this host",
		{ p50 = "host_p50_ns", p99 = "host_p99_ns", max = "host_max_ns" }, 1e-9 },
	{ "ncclbpf_host_bus_bandwidth_gbs",
		"NCCL bus bandwidth in GB/s at the pace of the slowest rank of this host",
		"host_busbw_gbs" },
}

local function row_labels(row, p2p)
	local l = { { "comm_id", "0x" .. tostring(row.comm) },
		{ "comm_name", read.text(row.name) or "unknown" }, { "n_nodes", row.nodes },
		{ "nranks", row.ranks }, { p2p and "p2p_operation" or "collective", NAMES[row.coll]
			or "unknown" },
		{ "message_size", message_size(row.bytes_from) } }
	if not p2p then
		l[#l + 1] = { "algo_proto", ascii.upper(("%s_%s"):format(
			read.text(row.algo) or "?", read.text(row.proto) or "?")) }
	end
	return l
end

-- ---- text ------------------------------------------------------------------------------

local Text = {}
Text.__index = Text

local function new_text() return setmetatable({ out = {} }, Text) end

-- Add a family of metrics with samples { {labels, value, suffix} }. A family without samples is
-- left out.
function Text:family(name, kind, help, samples)
	if #samples == 0 then return end
	local out = self.out
	out[#out + 1] = ("# HELP %s %s"):format(name, help)
	out[#out + 1] = ("# TYPE %s %s"):format(name, kind)
	for _, s in ipairs(samples) do
		out[#out + 1] = ("%s%s{%s} %s"):format(
			name, s[3] or "", labels(s[1]), math.type(s[2]) == "integer"
			and tostring(s[2]) or ("%.9g"):format(s[2]))
	end
end

local function with(list, ...)
	local l = table.move(list, 1, #list, 1, {})
	for _, x in ipairs { ... } do l[#l + 1] = x end
	return l
end

-- Metrics of telemetry.

local function measured(text, now, f)
	local lines = {}
	for t, r in read.each(now.stats, "rows") do
		local row = stats.flat(t)
		local p2p = row.coll == "send" or row.coll == "recv"
			or row.coll == "sendrecv"
		local v = row[f[4]]
		if type(v) == "number" and (f[6] == nil or f[6] == p2p) then
			local l = now.base(r, { "rank", row.comm_rank },
				table.unpack(row_labels(row, p2p)))
			lines[#lines + 1] = { with(
				l, { "coll_timing_source", read.text(row.source)
				or "none" }), f[5] == 1 and v or v * f[5] }
		end
	end
	text:family(f[1], f[2], f[3], lines)
end

-- Return each row that describes the host once: { {row, labels} }
local function host_rows(now)
	local host, told = stats.hosts(now.samples), {}
	for t, r in read.each(now.stats, "rows") do
		local row = stats.flat(t)
		local id = stats.row_id(row)
		if host[id] and not told[id] then
			stats.add_host(row, host[id])
			told[id] = true
			told[#told + 1] = { row,
				with(now.job(r), table.unpack(row_labels(row))) }
		end
	end
	return told
end

local function of_host(text, told, f)
	local lines = {}
	for _, x in ipairs(told) do
		local row = x[1]
		if type(f[3]) == "string" then
			if type(row[f[3]]) == "number" then
				lines[#lines + 1] = { x[2], row[f[3]] }
			end
		else
			for _, q in ipairs { "p50", "p99", "max" } do
				lines[#lines + 1] = { with(x[2], { "stat", q }),
					row[f[3][q]] * f[4] }
			end
		end
	end
	text:family(f[1], "gauge", f[2], lines)
end

-- Metrics of the job's state.

-- Add a metric with one number from the status of each process.
local function of_status(text, now, name, kind, help, value)
	local lines = {}
	for _, r in ipairs(now.status) do
		for _, x in ipairs(value(r.data)) do
			lines[#lines + 1] = { now.base(r, table.unpack(x, 2)), x[1] }
		end
	end
	text:family(name, kind, help, lines)
end

-- @within: the field of the status that has field @key; nil: the status itself
local function number_of(key, within)
	return function(d)
		local v = (within and read.record(d[within]) or d)[key]
		return type(v) == "number" and { { v } } or {}
	end
end

-- @reasons: fields of @key that count; nil: all
local function by_reason(key, reasons)
	return function(d)
		local all = read.record(d[key])
		local names = lists.select(reasons or lists.keys(all), function(k)
			return type(all[k]) == "number"
		end)
		return lists.map(names, function(k) return { all[k], { "reason", k } } end)
	end
end

-- Write the time of the timed runs of each tuner program (policy time on).
local function run_seconds(text, now)
	local lines = {}
	for p, r in read.each(now.policies, "policies") do
		for _, g in ipairs(read.list(p, "programs")) do
			if g.hook == "tuner" then
				local l = now.base(r, { "policy", p.name },
					{ "program", g.name })
				local n, samples = 0, read.number(g.samples)
				for _, b in ipairs(read.list(g, "times")) do
					n = n + read.number(b.count)
					local le = type(b.le_ns) == "number"
						and ("%.9g"):format(b.le_ns / 1e9) or "+Inf"
					lines[#lines + 1] = {
						with(l, { "le", le }), n, "_bucket" }
				end
				if #read.list(g, "times") == 0 then
					lines[#lines + 1] = {
						with(l, { "le", "+Inf" }), 0, "_bucket" }
				end
				lines[#lines + 1] = {
					l, samples * read.number(g.mean_ns) / 1e9, "_sum" }
				lines[#lines + 1] = { l, n, "_count" }
			end
		end
	end
	text:family("ncclbpf_policy_run_seconds", "histogram",
		"Time of the tuner programs, of the runs that were timed (policy time on)", lines)
end

-- A communicator that has no verdict yet gets no sample.
local function agreement(text, now)
	local lines, seen = {}, {}
	for c, r in read.each(now.agreement, "comms") do
		if FINE[c.verdict] ~= false and not seen[c.comm] then
			seen[c.comm] = true
			lines[#lines + 1] = { with(
				now.job(r), { "comm_id", "0x" .. tostring(c.comm) }),
				FINE[c.verdict] and 1 or 0 }
		end
	end
	text:family("ncclbpf_agreement", "gauge",
		"1: the ranks of the communicator on this host decide alike, 0: they do not", lines)
end

local function rollout_state(text, now)
	local lines = {}
	if not now.stats[1] then return end
	for _, word in ipairs(rollout.states) do
		lines[#lines + 1] = { with(now.job(now.stats[1]), { "state", word }),
			now.rollout == word and 1 or 0 }
	end
	text:family("ncclbpf_rollout_state", "gauge",
		"1 for the state of the job's rollout; state none: the job has no rollout", lines)
end

-- Write all metrics. @now: replies of the job. Its fields stats, status, policies and agreement are
-- lists { {member, data} }; samples is from sample tail, gin and gin_contexts are from gin, and
-- rollout is the rollout's state. -> text
function M.text(now)
	local text, by, pids = new_text(), {}, {}
	local function pid_of(m) return tostring(m.site) .. " " .. m.pid end
	for _, r in ipairs(now.status) do
		by[r.member] = r.data
		pids[pid_of(r.member)] = (pids[pid_of(r.member)] or 0) + 1
	end
	function now.job(r)
		local s = read.record(by[r.member])
		return { { "slurm_job_id", read.text(s.job) or "unknown" },
			{ "node", read.text(s.host) or "unknown" } }
	end
	function now.base(r, ...)
		local l = now.job(r)
		if r.member.site then l[#l + 1] = { "site", r.member.site } end
		l[#l + 1] = { "pid", r.member.pid }
		-- containers may have the same PID, each in a namespace of its own
		if (pids[pid_of(r.member)] or 0) > 1 then l[#l + 1] = { "pid_ns", r.member.ns } end
		return with(l, ...)
	end
	for _, f in ipairs(families) do measured(text, now, f) end
	local told = host_rows(now)
	for _, f in ipairs(host_families) do of_host(text, told, f) end
	of_status(text, now, "ncclbpf_events_lost_total", "counter",
		"Profiler events that were not measured, by reason", by_reason "events_lost")
	of_status(text, now, "ncclbpf_decisions_total", "counter", "Decisions of the tuner",
		number_of "decisions")
	of_status(text, now, "ncclbpf_policy_faults_total", "counter",
		"Refused answers of policies and decisions without a policy, by reason",
		by_reason "counters")
	run_seconds(text, now)
	of_status(text, now, "ncclbpf_generation", "gauge",
		"Generation that new communicators begin with", number_of "generation")
	agreement(text, now)
	gin.add(text, now)
	for _, f in ipairs(verbs.ROWS) do
		of_status(text, now, f[1], f[2], f[3], number_of(f[4], "verbs"))
	end
	of_status(text, now, "ncclbpf_verbs_faults_total", "counter",
		"Completions, changes of state and events that went wrong, by reason",
		by_reason("verbs", verbs.REASONS))
	rollout_state(text, now)
	of_status(text, now, "ncclbpf_build_info", "gauge", "Version of the plugin", function(d)
		return { { 1, { "version", read.text(d.version) or "unknown" } } }
	end)
	return table.concat(text.out, "\n") .. "\n"
end

-- Does NCCL use a GIN plugin of ours in a process? @per: answers of `stats`
local function gins(per)
	for _, r in ipairs(per) do
		if read.text(read.record(r.data.gin).transport) then return true end
	end
	return false
end

-- -> text, failure
local function collect(ctx)
	local per, _, failure = try(read.ask(ctx, stats.line_of(ctx), { list = "rows" }))
	local kernels = gins(per)
	local group = ctx:session()
	local r = group and rollout.load(group)
	return M.text {
		stats = per, status = read.ask(ctx, "status") or {},
		policies = read.ask(ctx, "policy list") or {},
		agreement = read.ask(ctx, "check agreement") or {},
		samples = read.ask(ctx, "sample tail") or {},
		gin = kernels and read.ask(ctx, "gin", { list = "peers" }) or {},
		gin_contexts = kernels
			and read.ask(ctx, "gin contexts=yes", { list = "peers" }) or {},
		rollout = r and rollout.is_of(r, group) and r.state or "none",
	}, failure
end

-- ---- the command -----------------------------------------------------------------------

-- Write a temporary file and rename it, so that a collector never reads half of it.
local function replace(file, text)
	local f, why = io.open(file .. ".new", "w")
	if not f then return nil, errors.new("cannot_create", ("%s: %s"):format(file, why)) end
	local good = f:write(text)
	good = f:close() and good
	if good then good, why = os.rename(file .. ".new", file) end
	if good then return true end
	os.remove(file .. ".new")
	return errors.fail("cannot_create", "%s: %s", file, why or "cannot be written")
end

function M.cmd_metrics(ctx)
	local text, failure = collect(ctx)
	local file = ctx.opt.out
	if not file then
		return { schema = "metrics/1", data = { text = text }, text = text:gsub("\n$", ""),
			failure = failure, prose = true }
	end
	try(replace(file, text))
	local _, lines = text:gsub("\n", "")
	return { schema = "metrics/1", data = { file = file, lines = lines }, failure = failure,
		text = ("%s: %d lines"):format(file, lines) }
end

return M
