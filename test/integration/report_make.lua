-- SPDX-License-Identifier: MIT
-- report_make.lua FOLDER [SAMPLES [hostile]]: a rollout's file and its times: allreduce of 4M to
-- 256M on 8 ranks, by the published bandwidths of test/fakes/vgpu/b300.csv that the demo replays,
-- with chance added. The candidate takes Ring up to 192M. hostile: names that try to be elements.
local core = require "ncclbpf.core"
local folder, wanted, hostile = arg[1], math.tointeger(tonumber(arg[2] or 5600)),
	arg[3] == "hostile"
local BAD = [["'><img src=x onerror="document.title='owned'">]]
	.. "</script><script>document.title='owned'</script>"
local comm = hostile and "c0<b>ffee" or "c0ffee0000000000"
local sizes, base, gain = { 4, 8, 16, 32, 64, 128, 256 }, {}, {} -- MiB; us; of the bandwidth
do
	local gbs = {}
	for line in io.lines((arg[0]:gsub("integration/[^/]*$", "fakes/vgpu/b300.csv"))) do
		local what, bytes, v = line:match "^AllReduce,(%w+,%w+),%*,(%d+),([%d.]+)$"
		if what then gbs[what .. bytes] = tonumber(v) end
	end
	for i, size in ipairs(sizes) do
		local bytes = tostring(size << 20)
		local nvls, proto = gbs["NVLS,SIMPLE" .. bytes], size <= 32 and "LL128" or "SIMPLE"
		base[i] = (size << 20) * 1.75 / nvls / 1000
		gain[i] = size <= 192 and gbs["RING," .. proto .. bytes] / nvls - 1 or 0
	end
end
local LEAST = 1.5 -- per cent: each kind is surely not slower by more
local blocks_of, state = 20, 88172645463325252
local function chance() -- xorshift; the same numbers everywhere
	state = state ~ (state << 13)
	state = state ~ (state >> 7)
	state = state ~ (state << 17)
	return (state >> 11) / (1 << 53)
end
local function gauss()
	return math.sqrt(-2 * math.log(1 - chance())) * math.cos(2 * math.pi * chance())
end
local function name_of(size) return ("%s %dM of %s"):format("allreduce", size, comm) end
local function when(s) return ("2026-01-02T03:%02d:%06.3fZ"):format(4 + s // 60, s % 60) end

local r = {
	version = 1, job = hostile and "train" .. BAD or "train", id = "ring-mid-1",
	state = "succeeded", arm = "b", samples = "/elsewhere/one.times.csv",
	why = hostile and BAD or "pass at look 2: 7 kinds of collectives, none slower",
	baseline = core.array {}, candidate = core.array { hostile and BAD or "nvlink_ring_mid" },
	plan = { name = hostile and "x" .. BAD or "ring-mid", reason = hostile and BAD
		or "published: Ring takes 5 to 21 % less time than NVLS at 4 to 128 MiB",
		blocks = blocks_of // 2, seed = 7,
		judge = { confidence = 0.98, min_effect_pct = LEAST, looks = 2 } },
	where = { hosts = core.array { hostile and BAD or "node17" }, processes = 8,
		version = "0.1.0", tuner_abi = 5, policies = core.array { { name = hostile and BAD
		or "nvlink_ring_mid", digest = ("9f2c41"):rep(10) .. "aaaa" } },
		comms = core.array { { comm = comm, ranks = 8, nodes = 1 } } },
	blocks = core.array {}, events = core.array {},
	verdict = { verdict = "pass", look = 2, strata = {} },
}
local each = wanted // (blocks_of * #sizes)
local csv = assert(io.open(folder .. "/one.times.csv", "w"))
csv:write "block,generation,arm,comm,collective,size_bytes,ran,seq,time_ns\n"
local strata, seq = {}, 0
for n = 1, blocks_of do
	local arm = (n // 2) % 2 == 0 and "a" or "b"
	local b = { arm = arm, generation = 40 + n, began = when(n * 3 - 2.6), time = when(n * 3),
		medians = {}, spread = {}, ranks = {} }
	for i, size in ipairs(sizes) do
		local kind, times, lines = name_of(size), {}, {}
		local faster = arm == "b" and 1 / (1 + gain[i]) or 1
		local mean = base[i] * 1000 * faster * (1 + 0.004 * gauss())
		local ran = (arm == "a" or gain[i] == 0) and "nvls/simple"
			or size <= 32 and "ring/ll128" or "ring/simple"
		for k = 1, each do
			seq = seq + 1
			local noise = 0.03 * gauss() + (chance() < 0.01 and 0.4 or 0)
			times[k] = math.floor(mean * math.exp(noise))
			lines[k] = ("%d,%d,%s,%s,allreduce,%d,%s,%d,%d")
				:format(n, b.generation, arm, comm, size << 20, ran, seq, times[k])
		end
		csv:write(table.concat(lines, "\n"), "\n")
		local q = core.quantiles(times, 100)
		b.medians[kind], b.spread[kind] = q[51],
			{ n = each, p10_ns = q[11], p90_ns = q[91] }
		b.ranks[kind] = core.array {}
		for rank = 0, 7 do
			local share = 1 - 0.004 * rank + (rank == 5 and 0.05 or 0)
			b.ranks[kind][rank + 1] = { rank = rank, ns = math.floor(q[51] * share) }
		end
		strata[kind] = strata[kind] or { a = {}, b = {} }
		table.insert(strata[kind][arm], q[51])
	end
	r.blocks[n] = b
end
csv:close()
for kind, s in pairs(strata) do
	local v = require("ncclbpf.rollout.judge").compare(s.a, s.b,
		{ alpha = 0.02 / #sizes, min_effect_pct = LEAST })
	-- the report says "none slower", so none may be open
	assert(v.verdict == "pass", kind .. ": " .. v.reason)
	r.verdict.strata[kind] = v
end
for i, e in ipairs { { 0, "planned", "preparing", "started" },
	{ 0.1, "preparing", "progressing", "candidate held by all processes, telemetry on" },
	{ 30.2, "progressing", "progressing",
			"look 1 of 2: inconclusive: allreduce 256M may be slower by up to 2.1 %" },
	{ 60.2, "progressing", "promoting", r.why }, { 60.9, "promoting", "succeeded", r.why } } do
	r.events[i] = { time = when(e[1]), from = e[2], to = e[3], actor = "pid 4711",
		reason = hostile and BAD or e[4], rollout = r.id }
end
assert(core.write(folder .. "/one.json", core.encode(r) .. "\n"))
