-- SPDX-License-Identifier: MIT
-- Checks of test scripts in Lua, as TAP lines; loaded by
-- dofile(os.getenv "TOP" .. "/test/integration/tap.lua").
local M = { n = 0 } -- n: checks so far

-- M.test(name, ok[, why]) -> ok. why: said where it is not
function M.test(name, ok, why)
	M.n = M.n + 1
	print(("%sok %d - %s"):format(ok and "" or "not ", M.n, name))
	if not ok and why ~= nil then print("# " .. tostring(why):gsub("\n", "\n# ")) end
	return ok
end

-- f(...) raises an error whose text has @text. -> the error
function M.raises(name, text, f, ...)
	local ok, e = pcall(f, ...)
	M.test(name, not ok and tostring(e):find(text, 1, true) ~= nil, e)
	return e
end

-- nil, err with that code and text (nil: any). -> err
function M.fails(name, code, text, v, err)
	local right = v == nil and type(err) == "table" and err.code == code and #err.message > 0
	M.test(name, right and (not text or tostring(err):find(text, 1, true) ~= nil), err or v)
	return err or {}
end

-- Communicators of target @t, by identity.
function M.comms(t)
	local ids = {}
	for i, c in ipairs(t:comms()) do ids[i] = c.comm end
	table.sort(ids)
	return ids
end

-- Which policies each of @ids decides with: "a,b - a"
function M.using(t, ids)
	local s = assert(t:status())
	local by, list = {}, {}
	for _, id in ipairs(ids) do by[id] = table.concat(s.policies, ",") end
	for _, x in ipairs(s.scopes) do
		for _, id in ipairs(x.comms) do by[id] = table.concat(x.policies, ",") end
	end
	for i, id in ipairs(ids) do list[i] = by[id] == "" and "-" or by[id] end
	return table.concat(list, " ")
end

-- Attach to the job called staged and load its candidates. -> target, identities
function M.staged(nb)
	local t = assert(nb.attach { job = "staged" })
	assert(t:policy_load { path = "nvlink_ring_mid.policy" })
	assert(t:policy_load { path = "one_channel.bpf.o" })
	return t, M.comms(t)
end

-- A short rollout of one candidate, with the fields of @more.
function M.plan(name, candidate, more)
	local p = { name = name, candidate = { candidate }, blocks = 4, samples = 6,
		judge = { confidence = 0.8, looks = 1, min_effect_pct = 2 },
		guards = { slower_pct = 200 }, seed = 7, interval = "10ms" }
	for k, v in pairs(more or {}) do p[k] = v end
	return p
end

return M
