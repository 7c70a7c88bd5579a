-- SPDX-License-Identifier: MIT
-- verify_in_job.lua LIST REPLIES: compare what a job and this shell say of each
-- policy file of LIST; the same line of REPLIES is the job's reply to its load.
-- Of a refusal the finding and its text are compared byte for byte, of what is
-- accepted all that the job says of its walk.
local core = require "ncclbpf.core"
local policy = require "ncclbpf.policy.policy"
local replies = io.open(arg[2])
local refused, accepted, classes, other = 0, 0, {}, {}

-- The verdict that counts: the first refusal; else the job's sums of all.
local function offline(path)
	local image, info = assert(policy.open(path))
	local sum = { insns_walked = 0, states_peak = 0, stack_bytes = 0, iteration_insns = 0,
		iterator_steps = 0 }
	for i in ipairs(info.programs) do
		local v = assert(image:verify(i))
		if not v.accepted then return v end
		local s = v.stats
		sum.insns_walked = sum.insns_walked + s.insns_walked
		for _, k in ipairs { "states_peak", "stack_bytes", "iteration_insns",
				"iterator_steps" } do
			sum[k] = math.max(sum[k], s[k])
		end
	end
	return nil, ('"verify":{"insns_walked":%d,"states_peak":%d,"stack_bytes":%d,'
		.. '"iteration_insns":%d,"iterator_steps":%d,'):format(sum.insns_walked,
		sum.states_peak, sum.stack_bytes, sum.iteration_insns, sum.iterator_steps)
end

for path in io.lines(arg[1]) do
	local v, walk = offline(path)
	local reply = replies:read "l" or ""
	if v and reply:find('"finding":' .. v.finding_json, 1, true)
			and reply:find('"text":' .. core.encode(v.text), 1, true) then
		refused = refused + 1
		classes[core.decode(v.finding_json).class] = true
	elseif walk and reply:find('"ok":true', 1, true) and reply:find(walk, 1, true) then
		accepted = accepted + 1
	else
		other[#other + 1] = ("%s:\n# here %s\n# job  %s")
			:format(path, v and v.finding_json or walk, reply)
	end
end
local n = 0
for _ in pairs(classes) do n = n + 1 end
print(("%d refused alike, %d classes\n%d accepted alike\n%d other")
	:format(refused, n, accepted, #other))
for i = 1, math.min(#other, 5) do print("# " .. other[i]) end
