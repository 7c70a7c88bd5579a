-- SPDX-License-Identifier: MIT
-- Why programs in the kernel are not permitted, and which settings say so.
local core = require "ncclbpf.core"

local M = {}

local ADMIN, PERFMON, BPF = 21, 38, 39

-- Return a text about the missing capabilities; nil: none is missing. CAP_SYS_ADMIN includes the
-- other two.
-- @admin: CAP_SYS_ADMIN itself is needed.
function M.missing(admin)
	local status = core.read("/proc/self/status", 1 << 16) or ""
	local caps = tonumber(status:match "CapEff:%s*(%x+)" or "0", 16)
	local t = {}
	local function has(bit) return caps >> bit & 1 == 1 end
	if admin and not has(ADMIN) then
		t[1] = "CAP_SYS_ADMIN"
	elseif not has(ADMIN) then
		if not has(BPF) then t[#t + 1] = "CAP_BPF" end
		if not has(PERFMON) then t[#t + 1] = "CAP_PERFMON" end
	end
	if #t == 0 then return nil end
	local function setting(name, path)
		local v = core.read(path, 64)
		return v and ("%s is %s"):format(name, v:match "%S+") or nil
	end
	local s = { setting("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid") }
	s[#s + 1] = setting("kernel.unprivileged_bpf_disabled",
		"/proc/sys/kernel/unprivileged_bpf_disabled")
	return ("missing: %s%s"):format(table.concat(t, " and "), #s > 0
		and " (" .. table.concat(s, ", ") .. ")" or "")
end

return M
