-- SPDX-License-Identifier: MIT
-- collect.lua: of the job NCCLBPF_JOB, what the policies timeline, net_steps and qp_watch hold, by
-- rank, and the counters of all adapters, as JSON. report.lua and draw.lua read it.
local nb = require "ncclbpf"

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local function ranks(name, keep)
	local out = {}
	for _, p in ipairs(assert(job:map_dump { name, limit = 4096 }).processes) do
		local list = {}
		for _, e in ipairs(p.data.entries) do
			local v = keep(e.key, e.value)
			if v then list[#list + 1] = v end
		end
		out[#out + 1] = { rank = p.rank, list = nb.json.array(list) }
	end
	table.sort(out, function(a, b) return a.rank < b.rank end)
	return nb.json.array(out)
end

-- Read the kernel's counters of each adapter in NET_VERBS_DEVICE.
local COUNTERS = { "sent_pkts", "rcvd_pkts", "completer_retry_err", "rcvd_seq_err",
	"out_of_seq_request", "duplicate_request", "retry_exceeded_err" }
local function counters()
	local out = {}
	for device in (os.getenv "NET_VERBS_DEVICE" or ""):gmatch "[^,]+" do
		for _, name in ipairs(COUNTERS) do
			local f = io.open(("/sys/class/infiniband/%s/ports/1/hw_counters/%s")
				:format(device, name))
			if f then
				out[device] = out[device] or {}
				out[device][name] = f:read "n"
				f:close()
			end
		end
	end
	-- A virtual adapter writes one byte for each retry, so the file's size counts them.
	local f = io.open((os.getenv "VHCA" or "") .. ".retries")
	if f then
		out.vhca0 = { completer_retry_err = #f:read "a" }
		f:close()
	end
	return out
end

io.write(nb.json.encode {
	steps = ranks("timeline", function(_, v) return v.end_ns > 0 and v or nil end),
	queue_pairs = ranks("qps", function(k, v)
		v.qp, v.device = k.qp, k.device
		return v
	end),
	connections = ranks("conns", function(_, v) return v end),
	calls = ranks("calls", function(_, v) return v end),
	counters = counters(),
}, "\n")
