-- SPDX-License-Identifier: MIT
-- Steps of a rollout: the communicators that each reaches, and its bake time. A plan without steps
-- has one step, its scope.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local units = require "ncclbpf.base.units"

local M = {}

local function ids_of(group)
	return core.array(lists.map(errors.try(reach.comms(group)), "comm"))
end

local function first(list, n) return core.array(table.move(list, 1, n, 1, {})) end

-- M.of(group, p, comms) -> steps {{comms=, bake=}}; raises errors. @comms: the communicators of the
-- plan's scope, nil: all. comms of a step nil: all.
function M.of(group, p, comms)
	if not p.steps then return { { comms = comms } } end
	local all = ids_of(group)
	local whole = comms or all
	local list, before = {}, 0
	for i, s in ipairs(p.steps) do
		local n = s.units or units.share_of(s.fraction, #whole)
		if n > #whole then
			errors.raise("refused",
				"steps[%d].units: %s requested, there are %d", i,
				units.count(n, "communicator"), #whole)
		end
		if n < before then
			errors.raise(
				"refused", "steps[%d]: %s, fewer than the %d of the step before", i,
				units.count(n, "communicator"), before)
		end
		before = n
		-- A step that reaches all communicators includes future ones.
		local everyone = n == #all and not comms
		if not everyone and n > reach.MOST then
			errors.raise("refused",
				"steps[%d]: %d communicators; a step can reach at most %d, or all",
				i, n, reach.MOST)
		end
		list[i] = { comms = not everyone and first(whole, n) or nil, units = n,
			bake = s.bake }
	end
	return list
end

-- Return the first block of the step that a rollout is in, and the step.
function M.now(r)
	local i = math.type(r.step) == "integer" and r.step or 1
	return type(r.steps) == "table" and r.steps[i] or {}, i, math.type(r.first) == "integer"
		and r.first or 0
end

-- Return the blocks of the step that a rollout is in.
function M.blocks(r)
	local _, _, from = M.now(r)
	return from == 0 and r.blocks or table.move(r.blocks, from + 1, #r.blocks, 1, {})
end

return M
