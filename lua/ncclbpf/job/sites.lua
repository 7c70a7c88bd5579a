-- SPDX-License-Identifier: MIT
-- The store's view of jobs: their sites, and where the agents of these answer. Keys and values are
-- described in docs/adr/0014-fleet-records.md.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local env = require("ncclbpf.base.process").env

local try = errors.try
local M = {}
M.ROOT = "/ncclbpf/1/"
-- The prefix of keys that no agent watches: images, replies, audit entries, and the records of
-- rollouts and sweeps.
M.DATA = "/ncclbpf/1-data/"

-- The store of @url (else of NCCLBPF_FLEET), with the other NCCLBPF_FLEET_* variables.
-- -> store | nil, err
M.open = errors.catch(function(url, timeout)
	local store = try(core.fleet { endpoints = url or env "NCCLBPF_FLEET" or "",
		cacert = env "NCCLBPF_FLEET_CACERT", cert = env "NCCLBPF_FLEET_CERT",
		key = env "NCCLBPF_FLEET_KEY", user = env "NCCLBPF_FLEET_USER",
		password_file = env "NCCLBPF_FLEET_PASSWORD_FILE", timeout = timeout })
	return store
end)

-- Return the store named by flags or environment. nil: there is none, so only jobs of this host are
-- visible.
function M.named(flags)
	return flags and flags.fleet or env "NCCLBPF_FLEET"
end

-- May a request to the store that has failed with @err succeed soon?
function M.passes(err) return err.code == "timed_out" or err.code == "store_unavailable" end

-- Return a value of the store, which another writer may have damaged. -> table | nil, why
function M.value(kv)
	local v, err = core.decode(kv.value)
	if type(v) ~= "table" then
		return nil, ("key %s: %s"):format(kv.key, err and err.message
			or "the value must be a JSON object")
	end
	return v
end

-- Keys of @job below @part: { {name, value, revision} }, texts about damaged values, the
-- store's revision | nil, err
-- @root: M.ROOT (nil) or M.DATA
M.read = errors.catch(function(store, job, part, root)
	local prefix = (root or M.ROOT) .. job .. "/" .. part
	local kvs = try(store:range(prefix))
	local list, problems = {}, {}
	for _, kv in ipairs(kvs) do
		local v, why = M.value(kv)
		if v then
			list[#list + 1] = { name = kv.key:sub(#prefix + 1), value = v,
				revision = kv.revision }
		else
			problems[#problems + 1] = why
		end
	end
	return list, problems, kvs.revision
end)

-- Names of the jobs that the store knows, sorted: { {job, live} }; live: it has sites now.
M.jobs = errors.catch(function(store)
	local kvs = try(store:range(M.ROOT, { keys_only = true }))
	local by, list = {}, {}
	for _, kv in ipairs(kvs) do
		local job, part = kv.key:sub(#M.ROOT + 1):match "^([^/]+)/([^/]+)"
		if job and not by[job] then
			lists.add(list, by, job, { job = job, live = false })
		end
		if part == "site" then by[job].live = true end
	end
	return list
end)

-- Number of the last change of @job; 0: none. by_controllers: did controllers make it?
-- -> N, by_controllers | nil, err
M.generation = errors.catch(function(store, job)
	local kvs = try(store:get(M.ROOT .. job .. "/order/commit"))
	local v = kvs[1] and M.value(kvs[1])
	return v and math.tointeger(v.n) or 0, v and v.controllers == true
end)

-- The sites of @job: { {site, host, address, version, ...} } | nil, err
M.sites = errors.catch(function(store, job)
	local list, problems = try(M.read(store, job, "site/"))
	local sites = {}
	for i, x in ipairs(list) do
		local v = x.value
		sites[i] = { site = x.name, host = v.host, address = v.address, version = v.version,
			processes = v.processes, ranks = v.ranks, baseline = v.baseline,
			comms = type(v.comms) == "table" and v.comms or {} }
	end
	return sites, problems
end)

-- The newest registration of each communicator, and who has registered it: by COMM
-- {since, site = {}}. @list: result of M.sites
local function registrations(list)
	local by = {}
	for _, s in ipairs(list) do
		for comm, facts in pairs(s.comms) do
			by[comm] = by[comm] or { since = 0, site = {} }
			by[comm].site[s.site] = true
			by[comm].since = math.max(by[comm].since, type(facts) == "table"
				and math.tointeger(facts.since) or 0)
		end
	end
	return by
end

-- Sites without an agent that still have ranks of a communicator, as the coordinator sees it
-- (nb_group_left of agent/keys/view.c). @list: result of M.sites -> { {site, comm} } | nil, err
M.left = errors.catch(function(store, job, list)
	local here, ended, left = {}, {}, {}
	for _, s in ipairs(list) do here[s.site] = true end
	local members = try(M.read(store, job, "members/"))
	if #members == 0 then return left end
	local comms = registrations(list)
	for _, x in ipairs(try(M.read(store, job, "ended/"))) do ended[x.name] = x.revision end
	for _, x in ipairs(members) do
		local since = math.tointeger(x.value.since) or 0
		local comm = comms[x.name]
		if comm and since >= comm.since and type(x.value.sites) == "table" then
			for _, name in ipairs(x.value.sites) do
				if not comm.site[name] and not here[name]
					and (ended[name] or 0) <= since then
					here[name] = true
					left[#left + 1] = { site = name, comm = x.name }
				end
			end
		end
	end
	return left
end)

-- Choose the job to attach to: @wanted, or else the only living job. -> name | nil, err
M.choose = errors.catch(function(store, wanted)
	local jobs = try(M.jobs(store))
	local names = {}
	for _, j in ipairs(jobs) do
		if j.job == wanted and j.live then return wanted end
		if j.live then names[#names + 1] = j.job end
	end
	local there = #names > 0 and "the jobs are: " .. table.concat(names, ", ")
		or "none has registered a site"
	local start = "start an agent on each host of the job, with the job's NCCLBPF_FLEET: " ..
		("ncclbpf-agent --job %s; "):format(wanted or "NAME") ..
		"there, NCCLBPF_FLEET= ncclbpf-shell doctor says what is missing"
	if wanted then
		return nil, errors.new("no_target", ("no job %s in the store; %s"):format(wanted,
			there), { hint = #names == 0 and start or errors.nearest(wanted, names) })
	end
	if #names == 1 then return names[1] end
	return nil, errors.new(#names == 0 and "no_target" or "usage", #names == 0
		and "no job in the store: no agent has registered a site"
		or "several jobs run: " .. table.concat(names, ", "),
		{ hint = #names > 1 and "select one with -J JOB" or start })
end)

return M
