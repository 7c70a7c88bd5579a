-- SPDX-License-Identifier: MIT
-- passed.lua: exit 0 when every rank has passed the fence of the last change.
local nb = require "ncclbpf"

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
for _, reply in ipairs(assert(job:request "change status")) do
	local last = reply.data and reply.data.last
	for _, comm in ipairs(type(last) == "table" and last.comms or {}) do
		if comm.passed < comm.ranks then os.exit(1) end
	end
end
