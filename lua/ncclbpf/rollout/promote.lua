-- SPDX-License-Identifier: MIT
-- promote = "better": only the kinds for which the candidate was better get it; the others keep
-- their policies. A condition limits the candidate to these kinds (policy/restrict.lua), and it is
-- appended to the baseline.
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local policy = require "ncclbpf.policy.policy"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"
local within = require "ncclbpf.policy.restrict"

local try = errors.try
local M = {}

-- The images of the candidate's policies.

-- Get {name, image} of each policy in @names. -> list | nil, err
local function images(group, names)
	local list = {}
	for i, name in ipairs(names) do
		local member = group:living()[1]
		local r = member and group:ask("policy export " .. session.quote(name),
			{ want_object = true, members = { member } })[1]
		if not r or r.err then return nil, r and r.err or group:failure() end
		list[i] = { name = name, image = r.object }
	end
	return list
end

local function decides(info)
	for _, p in ipairs(info.programs) do
		if p.hook == "tuner" then return true end
	end
	return false
end

-- Return the images of the plan's candidate, a file or policies that the job holds: {name, info}.
-- Without a job (@group nil) the latter are not known.
local function candidate_of(p, group)
	if type(p.candidate) == "string" then
		local _, info = try(policy.open(p.candidate))
		return { { name = info.name, info = info } }
	end
	local list = group and try(images(group, p.candidate)) or {}
	return lists.map(list, function(x)
		return { name = x.name, info = core.image(x.image):info() }
	end)
end

-- Can the plan's candidate be limited to some kinds of collective, if the plan asks for it? No if
-- it has maps, which would start empty. -> true | nil, err
M.check = errors.catch(function(p, group)
	if p.promote ~= "better" then return true end
	for _, x in ipairs(candidate_of(p, group)) do
		for _, m in ipairs(x.info.maps) do
			if m.origin ~= "rodata" and not m.shared then
				return nil, errors.new(
					"refused",
					("policy %s has a map %s, " ..
						"which would start empty in a policy " ..
						"for some sizes only"):format(x.name, m.name),
					{ hint = 'set promote = "all" or "scope" in the plan' })
			end
		end
	end
	return true
end)

-- ---- which kinds ------------------------------------------------------------------

-- Return {coll, size, comm, better} for each kind, sorted by collective and size.
local function sizes_of(strata)
	local by, list = {}, {}
	for kind, s in pairs(strata) do
		local coll, size, comm = collectives.parse(kind)
		local key = ("%s %d"):format(coll, size)
		local x = by[key] or lists.add(list, by, key, {
			coll = coll, size = size, better = {}, judged = 0 })
		x.judged = x.judged + 1
		if s.outcome == "better" then x.better[#x.better + 1] = comm end
	end
	for _, x in ipairs(list) do
		table.sort(x.better)
		-- If all communicators get the same answer, it also holds for future
		-- communicators.
		x.where = #x.better == x.judged and "" or table.concat(x.better, ",")
	end
	table.sort(list, lists.by("coll", "size"))
	return list
end

-- Combine neighbouring sizes with the same answer: {coll, from, to, where, comms}
local function spans(strata)
	local out, last = {}, nil
	for _, x in ipairs(sizes_of(strata)) do
		if #x.better == 0 then
			last = nil
		elseif last and last.coll == x.coll and last.where == x.where
			and last.to * 2 == x.size then
			last.to = x.size
		else
			last = { coll = x.coll, from = x.size, to = x.size, where = x.where,
				comms = x.where ~= "" and x.better or nil }
			out[#out + 1] = last
		end
	end
	return out
end

local function span_text(s)
	return s.from == s.to and units.bytes(s.from) or units.bytes(s.from) .. ".."
		.. units.bytes(s.to)
end

-- Conditions for policy/restrict.lua. A size stands for all sizes up to the next power of two,
-- within the sizes of @scope.
local function rows_of(strata, scope)
	local rows = {}
	for _, s in ipairs(spans(strata)) do
		local min, max = s.from, s.to > 0 and s.to * 2 - 1 or 0
		if scope then min, max = math.max(min, scope[1]), math.min(max, scope[2]) end
		for _, comm in ipairs(s.comms or { false }) do
			rows[#rows + 1] = { coll = core.nccl("coll", s.coll), min = min, max = max,
				sizes = span_text(s), comm = comm and math.tointeger("0x" .. comm)
				or nil }
		end
	end
	return rows
end
M.rows = rows_of

-- M.text(strata): "allreduce 4M..128M"; where only some communicators: "of ID"
function M.text(strata)
	local t = lists.map(spans(strata), function(s)
		return ("%s %s%s"):format(s.coll, span_text(s), s.comms and " of " .. s.where or "")
	end)
	return table.concat(t, ", ")
end

-- The policy's name contains the sizes, so listings show where the policy decides.
local function name_of(name, rows, strata)
	local list = spans(strata)
	local tail = #list == 1 and not list[1].comms and span_text(list[1]):gsub("%.%.", "-")
		or "some-" .. core.sha256(within.text(rows)):sub(1, 6)
	return name:sub(1, 62 - #tail) .. "." .. tail
end

-- ---- doing it ------------------------------------------------------------------------

-- M.make(group, r, strata) -> names to use: those of the baseline, then the limited candidate's;
-- all processes hold them | nil, err
M.make = errors.catch(function(group, r, strata)
	local rows = rows_of(strata, read.record(r.plan.scope).sizes)
	if #rows == 0 then
		return errors.fail("refused", "the candidate is better for no kind of collectives")
	end
	local list = try(images(group, r.candidate))
	if #list == 0 then list[1] = { name = "none" } end
	local names = core.array(lists.map(r.baseline, function(name) return name end))
	local fresh = #names > 0
	for _, x in ipairs(list) do
		local bytes, name = x.image, x.name
		if not bytes or decides(core.image(bytes):info()) then
			name = name_of(name, rows, strata)
			bytes = try(within.image(bytes, name, rows,
				("%s, by rollout %s"):format(within.text(rows), tostring(r.id)),
				fresh))
			local image = core.image(bytes)
			try(policy.load(group, name, bytes, image, image:info()))
			fresh = false
		end
		names[#names + 1] = name
	end
	return names
end)

return M
