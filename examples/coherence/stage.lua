-- SPDX-License-Identifier: MIT
-- stage.lua POLICY: get a change ready in every process, and commit nothing.
local nb = require "ncclbpf"

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
for _, reply in ipairs(assert(job:request("policy use " .. arg[1] .. " commit=no"))) do
	if not reply.data then os.exit(1) end
end
