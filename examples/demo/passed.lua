-- SPDX-License-Identifier: MIT
-- passed.lua: exit 0 when every rank has passed the fence of the last change.
local nb = require "ncclbpf"

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
for _, process in ipairs(assert(job:change_status()).processes) do
	local last = process.data.last
	for _, comm in ipairs(type(last) == "table" and last.comms or {}) do
		if comm.passed < comm.ranks then os.exit(1) end
	end
end
