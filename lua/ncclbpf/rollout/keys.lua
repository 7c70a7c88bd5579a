-- SPDX-License-Identifier: MIT
-- Rollouts and sweeps of a job of several hosts: their records are keys of the store, so that
-- shells of all hosts see and continue them. The runner holds guard/runner with its lease. Until it
-- has ended or paused, guard/line has the request that restores the baseline. If the lease ends
-- first, the job's coordinator carries that out (plugin/agent/coordinator/parts.c, docs/adr/0017).
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local requests = require "ncclbpf.job.requests"
local sites = require "ncclbpf.job.sites"

local try = errors.try
local M = {}

local MOST = 1 << 20 -- a request to etcd may have 1.5 MiB

-- Return the full name of a key. No agent watches the records of rollouts and sweeps.
local function key(home, part)
	local data = part == "rollout" or part == "sweep"
	return ("%s%s/%s"):format(data and sites.DATA or sites.ROOT, home.job, part)
end

-- Read one key. -> table, revision | nil, 0 (there is none); raises errors
local function get(home, part)
	local kvs = try(home.store:get(key(home, part)))
	if not kvs[1] then return nil, 0 end
	local t, why = sites.value(kvs[1])
	if not t then errors.raise("bad_argument", "%s", why) end
	return t, kvs[1].revision
end

-- M.read(home, kind): read the record from the store. -> record | nil; raises errors.
-- It adds these fields: revision, of the record; holder, the token and revision of guard/runner;
-- undone, the guard that an agent has carried out since the record was saved; undone_at, the
-- revision of guard/undone.
function M.read(home, kind)
	local t, revision = get(home, kind)
	if not t then return nil end
	local held, at = get(home, "guard/runner")
	local undone, when = get(home, "guard/undone")
	t.revision, t.holder = revision, held and { token = held.token, revision = at,
		from = held.from }
	t.undone, t.undone_at = undone and undone.id == t.id and when > revision and undone or nil,
		when
	if type(t.runner) == "table" then
		t.runner.leased = held ~= nil and held.token == t.runner.token
	end
	return t
end

-- Delete or put the lease's key. -> an operation | nil (nothing to do); raises errors
local function runner_op(r, kind, held, over)
	local at = key(r.home, "guard/runner")
	if over then return held and { delete = at } end
	if held and held.token == r.runner.token then return nil end
	local lease = try(r.home.store:lease(math.max(2, math.ceil(M.lost(r)))))
	r.lease = { id = lease.lease, next = 0 }
	local _, from = requests.who()
	return { put = at, lease = lease.lease, value = core.encode {
		token = r.runner.token, id = r.id, kind = kind, from = from } }
end

-- Return the seconds without a runner after which the agents restore the baseline.
function M.lost(r) return r.plan.guards and r.plan.guards.lost or clock.times.lost end

-- Save the record @text of @r. @now: result of M.read; over: the run has ended or paused, so it
-- needs no runner; settled: the candidate is not in use. Fails if the lease has another holder.
-- -> true | nil, err
M.write = errors.catch(function(r, kind, text, now, over, settled)
	local held = now and now.holder
	if held and held.token ~= r.runner.token and held.token ~= r.taken then
		return errors.fail("busy", "another rollout or sweep of job %s runs", r.home.job)
	end
	if #text > MOST then
		return errors.fail("refused", "the record has %d bytes (allowed: %d)", #text, MOST)
	end
	local puts = { { put = key(r.home, kind), value = text } }
	local op = runner_op(r, kind, held, over)
	puts[#puts + 1] = op
	-- The new runner's record already contains what the agents did after the previous
	-- runner was lost.
	if op and op.put then puts[#puts + 1] = { delete = key(r.home, "guard/undone") } end
	settled = settled and over
	if settled then
		puts[#puts + 1] = { delete = key(r.home, "guard/line") }
	end
	local compare = { { key(r.home, kind), now and now.revision or 0 },
		{ key(r.home, "guard/runner"), held and held.revision or 0 } }
	-- While the key guard/runner does not exist, the coordinator may restore the baseline. It
	-- then writes guard/undone.
	if now then compare[3] = { key(r.home, "guard/undone"), now.undone_at } end
	local done = try(r.home.store:txn { compare = compare, success = puts })
	if not done.succeeded then
		return errors.fail("busy", "another process has changed the record meanwhile")
	end
	if op and op.put then r.lease.revision, r.undone_at = done.revision, 0 end
	if over then r.lease = nil end
	if settled then r.guarded = nil end
	return true
end)

-- Keep the lease alive. Raises if it has ended.
function M.beat(r)
	local lease = r.lease
	if not lease or clock.now() < lease.next then return end
	local kept = r.home.store:keepalive(lease.id)
	lease.next = clock.now() + M.lost(r) / 6
	if kept and kept.ttl == 0 then
		error(errors.new("busy", "the runner's lease in the store has ended"), 0)
	end
end

-- Store the request @line, which restores the baseline, before the first block and before
-- the job uses the candidate. -> true | nil, err
M.guard = errors.catch(function(r, line)
	if r.guarded and r.guarded.line == line then return true end
	local images = try(requests.images_of(r.group, line))
	local guard = { id = r.id, line = line, images = images, from = r.generation,
		who = (requests.who()) }
	local done = try(r.home.store:txn { compare = {
		{ key(r.home, "guard/runner"), r.lease.revision } }, success = {
		{ put = key(r.home, "guard/line"), value = core.encode(guard) } } })
	if not done.succeeded then
		return errors.fail("busy", "the runner's lease in the store has ended")
	end
	r.guarded = guard
	return true
end)

-- Return the condition of the transaction that writes a change request: guard/runner must be ours,
-- because only the runner may change the job.
function M.condition(r)
	return r.lease and { key(r.home, "guard/runner"), r.lease.revision } or nil
end

-- Requests to the runner, as in rollout/store.lua.

-- May a shell ask the runner of @r for @word? The previous request, which the runner has not taken
-- yet, asks rollout @id for @asked (nil: there is none). -> true | nil, err
function M.may_ask(r, id, asked, word)
	if id == r.id and asked == "abort" and word ~= "abort" then
		return errors.fail("refused", "rollout abort came first, and process %s has not "
			.. "ended the rollout yet", tostring(r.runner.pid))
	end
	return true
end

M.request = errors.catch(function(r, word, pid)
	local last = get(r.home, "guard/ask") or {}
	try(M.may_ask(r, last.id, last.word, word))
	try(r.home.store:txn { success = { { put = key(r.home, "guard/ask"),
		value = core.encode { id = r.id, word = word, pid = pid } } } })
	return true
end)

function M.forget_requests(home)
	home.store:txn { success = { { delete = key(home, "guard/ask") } } }
end

function M.requested(r)
	if clock.now() < (r.asked_s or 0) then return nil end
	r.asked_s = clock.now() + clock.times.asked
	local t = errors.catch(get)(r.home, "guard/ask") -- the store may be out of reach
	if not t then return nil end
	M.forget_requests(r.home)
	if t.id ~= r.id or type(t.word) ~= "string" then return nil end
	return t.word, t.pid and tostring(t.pid)
end

return M
