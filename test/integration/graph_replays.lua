-- SPDX-License-Identifier: MIT
-- graph_replays.lua JOB POLICY: did every rank take the last change at its
-- fence, and no decision before it nor one after it with anything else? Waits
-- until each has made ten decisions behind the fence.
local nb = require "ncclbpf"
local t = assert(nb.attach { job = arg[1] })
local change = assert(t:change_status()).last
local fence, generation = change.comms[1].fence, change.generation

local function look()
	local ranks, least = 0, math.huge
	for _, r in ipairs(assert(t:decision_tail { count = 1000 }).processes) do
		local behind, before = 0, 0
		for _, d in ipairs(r.data.decisions) do
			if d.seq >= fence then behind = behind + 1 else before = before + 1 end
			if (d.seq >= fence) ~= (d.generation == generation)
					or d.seq >= fence and d.by ~= arg[2] then
				error(("pid %d: decision %d, generation %d by %s; "
					.. "fence %d, generation %d"):format(r.pid, d.seq,
					d.generation, tostring(d.by), fence, generation))
			end
		end
		ranks, least = ranks + 1, math.min(least, behind)
		if before == 0 and behind == 0 then least = 0 end
	end
	return ranks, least
end

for _ = 1, 1200 do
	local ranks, least = look()
	if least >= 10 then
		print(("%d ranks took generation %d at decision %d")
			:format(ranks, generation, fence))
		os.exit(ranks == 4 and 0 or 1)
	end
	nb.sleep(0.05)
end
error "a rank has not come to the fence"
