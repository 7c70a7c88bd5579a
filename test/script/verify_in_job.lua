-- SPDX-License-Identifier: MIT
-- verify_in_job.lua LIST REPLIES: for each policy file of LIST, is the reply
-- to its load in a job, the same line of REPLIES, what this shell says of it?
-- The finding and its text are compared byte for byte.
local core = require "ncclbpf.core"
local policy = require "ncclbpf.policy"
local replies = io.open(arg[2])
local same, classes, other = 0, {}, {}

local function offline(path)
	local image, info = assert(policy.open(path))
	for i in ipairs(info.programs) do
		local v = assert(image:verify(i))
		if not v.accepted then return v end
	end
end

for path in io.lines(arg[1]) do
	local v, reply = offline(path), replies:read "l" or ""
	if not v then
		other[#other + 1] = path .. ": accepted here"
	elseif reply:find('"finding":' .. v.finding_json, 1, true) and reply:find('"text":' .. core.encode(v.text), 1, true) then
		same = same + 1
		classes[core.decode(v.finding_json).class] = true
	else
		other[#other + 1] = ("%s:\n# here %s\n# job  %s"):format(path, v.finding_json, reply)
	end
end
local n = 0
for _ in pairs(classes) do n = n + 1 end
print(("%d alike, %d classes, %d other"):format(same, n, #other))
for i = 1, math.min(#other, 5) do print("# " .. other[i]) end
