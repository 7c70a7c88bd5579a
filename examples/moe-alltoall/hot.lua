-- SPDX-License-Identifier: MIT
-- hot.lua: what the ranks of the job NCCLBPF_JOB put to each peer, as the policy
-- gin_peers has counted it. The peer with the most bytes has the hot expert.
local nb = require "ncclbpf"

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local sums, total = {}, 0
for _, process in ipairs(assert(job:map_dump { "gin_peers", limit = 1024 }).processes) do
	for _, e in ipairs(process.data.entries) do
		local s = sums[e.key.peer]
			or { peer = e.key.peer, puts = 0, signals = 0, bytes = 0 }
		for _, k in ipairs { "puts", "signals", "bytes" } do s[k] = s[k] + e.value[k] end
		sums[e.key.peer] = s
		total = total + e.value.bytes
	end
end
local list = {}
for _, s in pairs(sums) do list[#list + 1] = s end
table.sort(list, function(a, b)
	if a.bytes ~= b.bytes then return a.bytes > b.bytes end
	return a.peer < b.peer
end)
print(("%4s %9s %9s %12s %6s"):format("PEER", "PUTS", "SIGNALS", "BYTES", "SHARE"))
for _, s in ipairs(list) do
	local share = 100 * s.bytes / math.max(total, 1)
	print(("%4d %9d %9d %12d %5.1f%%"):format(s.peer, s.puts, s.signals, s.bytes, share))
end
