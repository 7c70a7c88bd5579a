-- SPDX-License-Identifier: MIT
-- A rollout: baseline and candidate in turns on a live job (a switchback), each
-- turn a change at a fence; judged, then promoted or rolled back. All that is
-- known is in a file that is replaced as a whole after each step, so that any
-- shell can show it, and go on when the one that ran it is gone.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.errors"
local judge = require "ncclbpf.judge"
local mapset = require "ncclbpf.mapset"
local measures = require "ncclbpf.measures"
local plan = require "ncclbpf.plan"
local policy = require "ncclbpf.policy"
local promote = require "ncclbpf.promote"
local reach = require "ncclbpf.reach"
local read = require "ncclbpf.read"
local session = require "ncclbpf.session"
local stages = require "ncclbpf.stages"
local stats = require "ncclbpf.stats"
local units = require "ncclbpf.units"
local witness = require "ncclbpf.witness"

local M = {}

local POLL_S = 0.05
local RETRIES = 5 -- of a change that another one is in the way of
local STALE = 50 -- the same, where controllers were there before
local IDLE_S = 1 -- a communicator that decides nothing for so long is idle
local GUARD = 10 -- collectives of a kind before it may be called slow
local BAKED = 50 -- the latest of a kind that count while a candidate bakes
local LIMIT = 16 << 20
local PID = select(2, core.ids())

-- states that end a rollout
local ENDED = { succeeded = true, rolled_back = true, failed = true }
M.ended = ENDED
-- all there are, and what a job without a rollout has
M.states = { "none", "planned", "preparing", "progressing", "paused", "promoting", "aborting", "succeeded", "rolled_back", "failed" }

-- ---- the file ----------------------------------------------------------------------

local function folder(kind)
	local state = os.getenv "XDG_STATE_HOME"
	if not state or state == "" then
		local home = os.getenv "HOME"
		if not home or home == "" then return errors.fail("cannot_create", "neither XDG_STATE_HOME nor HOME says where to keep rollouts") end
		state = home .. "/.local/state"
	end
	local dir = state .. "/ncclbpf/" .. (kind or "rollouts")
	if not core.mkdirs(dir) then return errors.fail("cannot_create", "%s cannot be made", dir) end
	return dir
end

local function file_of(job, kind)
	local dir, err = folder(kind)
	if not dir then return nil, err end
	return dir .. "/" .. tostring(job):gsub("[^%w_.%-]", "_") .. ".json"
end
M.file_of = file_of

-- M.load(job) -> the job's rollout | nil (there is none) | nil, err
function M.load(job)
	local path, err = file_of(job)
	if not path then return nil, err end
	if not core.stat(path) then return nil end
	local bytes
	bytes, err = core.read(path, LIMIT)
	if not bytes then return nil, errors.from_reply(err) end
	local r
	r, err = core.decode(bytes)
	if not r or type(r.state) ~= "string" or type(r.plan) ~= "table" or type(r.blocks) ~= "table" or type(r.events) ~= "table" then
		return nil, errors.new("bad_argument", path .. ": not a rollout's file" .. (err and ": " .. err.message or ""),
			{ hint = "move it away to begin anew" })
	end
	r.path = path
	return r
end

local function write(r)
	local keep = {}
	for k, v in pairs(r) do
		if k ~= "path" and k ~= "group" and k ~= "elsewhere" and k ~= "asker" and k ~= "hooks" then keep[k] = v end
	end
	local ok, err = core.write(r.path, core.encode(keep) .. "\n")
	if not ok then return nil, errors.from_reply(err) end
	return true
end

-- Save, if we still are who runs it.
local function save(r)
	local now, err = M.load(r.job)
	if err then return nil, err end
	if now and (now.id ~= r.id or now.runner.token ~= r.runner.token) then
		return errors.fail("busy", "process %s has taken this rollout over", tostring(now.runner.pid))
	end
	return write(r)
end

local function event(r, to, reason, evidence)
	r.events[#r.events + 1] = {
		time = core.time(), rollout = r.id, from = r.state, to = to, actor = ("pid %s"):format(r.asker or tostring(r.runner.pid)), reason = reason, evidence = evidence,
	}
	r.state, r.why = to, reason
end

-- One that is stopped does not: what it does when it goes on is refused, for
-- the generation and the file are others by then.
local function active(pid)
	local alive, stopped = core.alive(pid)
	return alive and not stopped, alive
end

function M.runs(r)
	return not ENDED[r.state] and r.state ~= "paused" and active(r.runner.pid) and r.runner.pid ~= PID
end

-- Nobody runs it, though nobody has paused or ended it: "is gone", "stands
-- still", or nil.
function M.gone(r)
	if ENDED[r.state] or r.state == "paused" then return nil end
	local runs, alive = active(r.runner.pid)
	return not runs and (alive and "stands still" or "is gone") or nil
end

-- Requests of other shells lie beside the file.
local function request_path(r) return (r.path:gsub("%.json$", ".request")) end
M.request_path = request_path

function M.request(r, word)
	local ok, err = core.write(request_path(r), ("%s %s %d\n"):format(r.id, word, PID))
	if not ok then return nil, errors.from_reply(err) end
	return true
end

local function requested(r)
	if core.stopped() then return "pause" end
	local path = request_path(r)
	if not core.stat(path) then return nil end
	local id, word, pid = tostring(core.read(path, 200) or ""):match "^(%S+) (%a+) ?(%d*)\n"
	core.unlink(path)
	if id ~= r.id then return nil end
	r.asker = pid ~= "" and pid or nil
	return word
end

-- ---- the job ------------------------------------------------------------------------

-- One answer of all processes; any that is gone ends the rollout.
local function ask(r, line)
	local results = r.group:ask(line)
	local failures = {}
	for _, x in ipairs(results) do
		if x.err then failures[#failures + 1] = x end
	end
	local err = session.sum_up(failures, #results) or r.group:failure()
	if err then error(err, 0) end
	return results
end

-- An arm that is a file becomes the name of a policy that all processes hold.
local function names_of(group, arm)
	if type(arm) ~= "string" then
		for _, name in ipairs(arm) do
			local results = group:ask(session.line { "policy", "show", name })
			local failures = {}
			for _, x in ipairs(results) do
				if x.err then failures[#failures + 1] = x end
			end
			local err = session.sum_up(failures, #results)
			if err then return nil, err end
		end
		return arm
	end
	local image, info, bytes = policy.open(arm)
	if not image then return nil, info end
	local ok, err = policy.load(group, info.name, bytes, image, info)
	if not ok then
		err.object = arm
		return nil, err
	end
	return core.array { info.name }
end

local function has(list, v)
	for _, x in ipairs(list) do
		if x == v then return true end
	end
	return false
end

-- The communicators that a plan means, by identity; nil: all. -> nil, err
local function comms_of(group, want)
	if not want then return nil end
	if type(want) == "table" then return reach.find(group, want) end
	local list, err = reach.comms(group)
	if not list then return nil, err end
	local n = math.type(want) == "integer" and want or math.max(1, #list * tonumber(want:match "%d+") // 100)
	if n > #list then return errors.fail("refused", "scope.comms: %d communicators wanted, the job has %d that can be told apart", n, #list) end
	local ids = core.array {}
	for i = 1, math.min(n, reach.MOST) do ids[i] = list[i].comm end
	return ids
end

-- What the communicators @ids (nil: all) decide with.
-- -> the names, their generation, whether that is what the others have | nil, err
local function in_use(group, ids, all)
	local r = group:ask "status"[1]
	if r.err then return nil, r.err end
	local names, common = r.data.policies, true
	local mine, others = {}, 0
	for _, s in ipairs(reach.rows(r.data)) do
		local n = 0
		for _, c in ipairs(s.comms) do n = n + (ids and has(ids, c) and 1 or 0) end
		if n > 0 then mine[#mine + 1] = { n = n, names = s.policies } end
		if n < #s.comms then others = others + 1 end
	end
	if not ids and others > 0 then
		return nil, errors.new("refused", "some communicators have policies of their own, which a rollout for all would take away",
			{ hint = "scope.comms in the plan, or policy use common comm=ID" })
	elseif all and others > 0 then
		return nil, errors.new("refused", "other communicators have policies of their own, which a promotion to all would take away", { hint = 'promote = "scope" in the plan' })
	end
	if #mine > 1 or mine[1] and mine[1].n < #ids then return errors.fail("refused", "the communicators of the scope have different policies") end
	if mine[1] then names, common = mine[1].names, false end
	return core.array(type(names) == "table" and names or {}), r.data.generation, common
end

-- Processes of a rollout's job; one of another job with the same name has none.
local function pids_of(group)
	local pids = core.array {}
	for i, m in ipairs(group.members) do pids[i] = m.pid end
	return pids
end

-- Is it this very job's?
function M.is_of(r, group)
	for _, m in ipairs(group.members) do
		for _, pid in ipairs(type(r.pids) == "table" and r.pids or {}) do
			if pid == m.pid then return true end
		end
	end
	return false
end

-- How many decisions each communicator has made, and whether all its ranks
-- have passed the last change's fence.
local function standing(r)
	local made, passed = {}, {}
	for _, c in ipairs(read.list(ask(r, "comm list")[1].data, "comms")) do made[c.comm] = read.number(c.decisions) end
	for _, c in ipairs(read.list(read.record(ask(r, "change status")[1].data).last, "comms")) do
		passed[c.comm] = read.number(c.passed) >= read.number(c.ranks)
	end
	return made, passed
end

-- The line that puts @arm in place: "a", "b", "better" (what promote.lua made
-- of both), or a list of names. @all: for all
-- communicators, whatever the scope.
local function line_for(r, arm, all)
	local words, names = { "policy", "use" }, type(arm) == "table" and arm or arm == "b" and r.candidate or arm == "better" and r.promoted or r.baseline
	if arm == "a" and r.common and r.comms and not all then names = { "common" } end
	for _, n in ipairs(names) do words[#words + 1] = n end
	if #names == 0 then words[3] = "none" end
	return session.line(words) .. (all and "" or reach.words(r.comms))
end

-- From the candidate's fence to the fence of what came after it: so many
-- collectives of each communicator the candidate has decided.
local function expose(r, done, arm)
	for _, c in ipairs(read.list(done, "comms")) do
		if c.state == "committed" and (not r.comms or has(r.comms, c.comm)) then
			local from = r.since and r.since[c.comm]
			if from then r.exposed[c.comm] = (r.exposed[c.comm] or 0) + math.max(0, read.number(c.fence) - from) end
			r.since[c.comm] = arm ~= "a" and read.number(c.fence) or nil
		end
	end
end

-- The job has another generation than ours: have controllers made it, of the
-- same policies? Then it is ours from now on. Such a one nobody asked for.
local function of_controllers(r)
	local there = r.group:ask "controller status"[1]
	if read.record(there and there.data).controllers ~= true then return false end
	local answer = r.group:ask "policy history"[1]
	local past = read.list(answer and answer.data, "history")
	local function same(a, b)
		return core.encode(read.list(a, "policies")) == core.encode(read.list(b, "policies")) and read.text(a.scoped) == read.text(b.scoped)
	end
	for i, e in ipairs(past) do
		if math.type(read.record(e).generation) ~= "integer" then return false end
		if i > 1 and not same(e, past[i - 1]) then return false end
		if e.generation <= r.generation then
			r.generation = past[1].generation
			return true
		end
		if math.type(e.pid) == "integer" then return false end
	end
	return false
end

-- Does @d, a reply to status, have something of the candidate in place?
local function has_candidate(r, d)
	local ours, lists = {}, { type(d.policies) == "table" and d.policies or {} }
	for _, s in ipairs(reach.rows(d)) do lists[#lists + 1] = s.policies end
	for _, names in ipairs { r.candidate or {}, r.promoted or {} } do
		for _, n in ipairs(names) do ours[n] = not has(r.baseline, n) or nil end
	end
	-- less than the baseline: no name says so
	if not next(ours) then return true end
	for _, list in ipairs(lists) do
		for _, n in ipairs(list) do
			if ours[n] then return true end
		end
	end
	return false
end

-- A change was not answered. If the last one is by this process, it was made;
-- unless another one runs the rollout by now, it is ours.
local function unanswered(r)
	local now = M.load(r.job)
	if not now or now.id ~= r.id or now.runner.token ~= r.runner.token then return end
	local answer = r.group:ask "policy history"[1]
	local last = read.record(read.list(answer and answer.data, "history")[1])
	if last.pid == PID and math.type(last.generation) == "integer" then r.generation = last.generation end
end

-- Make the change of @line where the job still has the generation that was
-- there, or controllers have made another one of it. -> as Group:change
local function change(r, line)
	local done, err
	local tries, others = RETRIES, STALE
	while tries > 0 and others > 0 do
		done, err = r.group:change(line .. mapset.if_generation(r.generation))
		if done then return done end
		if err.code == "stale" then
			if not of_controllers(r) then return nil, err end
			others = others - 1
		elseif err.code == "busy" or err.code == "aborted" then
			tries = tries - 1
			core.sleep(POLL_S * 4)
		else
			return nil, err
		end
	end
	return nil, err
end

-- Commit: every communicator takes it at a fence of its own, or none is
-- compared with. Only where the job still has the generation that was there:
-- what somebody else has made meanwhile stays.
-- From the request on nobody knows what is in place, until the caller says so:
-- r.arm is "none" then, or what it was where nothing has moved, or "other".
local function commit(r, arm, all)
	local was = r.arm
	if type(arm) == "string" then r.arm = "none" end
	local done, err = change(r, line_for(r, arm, all))
	if not done then
		if type(arm) ~= "string" then return nil, err end
		if err.code == "busy" or err.code == "aborted" then r.arm = was end
		if err.code == "stale" then r.arm = "other" end
		if err.code == "timed_out" or err.code == "no_target" then unanswered(r) end
		return nil, err
	end
	r.generation = done.generation
	r.since, r.exposed = r.since or {}, r.exposed or {}
	expose(r, done, arm)
	for _, c in ipairs(read.list(done, "comms")) do
		-- one that never takes any has never had the candidate
		local without = arm == "a" and c.state == "unchangeable"
		if c.state ~= "committed" and not without and (not r.comms or has(r.comms, c.comm)) then
			return nil, errors.new("refused", ("communicator %s takes no change: %s"):format(tostring(c.comm), read.text(c.why) or tostring(c.state)),
				{ hint = "a rollout needs all communicators of a job to change" })
		end
	end
	return true
end

-- All ranks decide with @arm; returns when they do. A communicator that
-- decides nothing meanwhile takes it with its next decision.
local function use(r, arm, patience)
	local ok, err = commit(r, arm)
	if not ok then return nil, err end
	local began, first = core.mono(), nil
	repeat
		local made, passed = standing(r)
		local waits = false
		first = first or made
		for comm, done in pairs(passed) do
			local idle = made[comm] == first[comm] and core.mono() - began >= IDLE_S
			waits = waits or not done and not idle
		end
		if not waits then return true end
		core.sleep(POLL_S / 5)
	until core.mono() - began > patience
	return errors.fail("timed_out", "no rank of a communicator that decides has come to the fence of generation %s", tostring(r.generation))
end

local function samples(r)
	return stats.collectives(ask(r, "sample tail 1024"))
end

local function in_scope(r, op)
	local s = r.plan.scope
	if r.comms and not has(r.comms, op.comm) then return false end
	if s.sizes and (op.size * 2 <= s.sizes[1] or op.size > s.sizes[2]) then return false end
	if not s.collectives then return true end
	for _, c in ipairs(s.collectives) do
		if c == op.coll then return true end
	end
	return false
end

-- What the job's times are, where it says that nothing is measured.
function M.times(r) return read.text(read.record(r.where).times) end

-- ---- a block --------------------------------------------------------------------------

local function kind_of(op)
	return ("%s %s of %s"):format(op.coll, units.bytes(op.size), op.comm)
end

-- Kinds in the order in which people read them: by collective, size,
-- communicator.
function M.kinds(t)
	local list, key = {}, {}
	for kind in pairs(t) do
		local coll, size, comm = tostring(kind):match "^(%S+) (%S+) of (%S+)$"
		list[#list + 1] = kind
		key[kind] = coll and ("%s %020d %s"):format(coll, units.size(size) or 0, comm) or tostring(kind)
	end
	table.sort(list, function(a, b) return key[a] < key[b] end)
	return list
end

local function median(list)
	return core.block_medians(list, #list)[1]
end

-- What the baseline's blocks have come to, by kind.
local function baseline_of(r)
	local by, out = {}, {}
	for _, b in ipairs(r.blocks) do
		for kind, v in pairs(b.arm == "a" and b.medians or {}) do
			by[kind] = by[kind] or {}
			table.insert(by[kind], v)
		end
	end
	for kind, list in pairs(by) do out[kind] = median(list) end
	return out
end

-- Answers of policies that were refused; nil: another change was made.
local function refused(r)
	local n, seen = 0, r.generation
	for _, x in ipairs(ask(r, "policy list")) do
		-- asked one after the other, they may have seen some of several
		if x.data.generation > r.generation and not of_controllers(r) or x.data.generation < seen then return nil, x.data.generation end
		for _, p in ipairs(read.list(x.data, "policies")) do
			-- of others those that other communicators have say nothing
			local counts = not r.comms or has(r.candidate, p.name)
			for _, prog in ipairs(read.list(p, "programs")) do n = n + (counts and read.number(prog.refused) or 0) end
		end
	end
	return n
end

-- A reason to stop at once, or nil.
local function guarded(r, arm, times, normal, refused_now)
	for kind, list in pairs(times) do
		if normal[kind] and #list >= GUARD then
			local pct = (median(list) / normal[kind] - 1) * 100
			if pct > r.plan.guards.slower_pct then
				return ("%s: slower by %.0f %% after %d collectives"):format(kind, pct, #list),
					{ guard = "slower_pct", kind = kind, effect_pct = pct, collectives = #list }
			end
		end
	end
	for kind, list in pairs(arm == "b" and r.plan.guards.slo and times or {}) do
		local ns = #list >= GUARD and median(list) or 0
		if ns > r.plan.guards.slo * 1e9 then
			return ("%s: takes %s, longer than %s, after %d collectives"):format(kind, units.seconds(ns / 1e9), units.seconds(r.plan.guards.slo), #list),
				{ guard = "slo", kind = kind, time_us = ns / 1e3, slo_us = r.plan.guards.slo * 1e6, collectives = #list }
		end
	end
	if arm == "b" and refused_now > r.plan.guards.refused then
		local n = refused_now
		return ("%d answers of policies were refused"):format(n), { guard = "refused", refused = n }
	end
	local a = ask(r, "check agreement")[1].data
	if a.agree == false then return "ranks do not agree", { guard = "agreement" } end
end

-- NCCL numbers the collectives of a communicator by their kind.
local function line_of(op) return op.comm .. " " .. op.coll end

local function highest(ops)
	local seq = {}
	for _, op in pairs(ops) do seq[line_of(op)] = math.max(seq[line_of(op)] or -1, op.seq) end
	return seq
end

-- Collectives that were enqueued before the fence and have not ended count for
-- nobody: how many, at most, of each kind.
local function in_flight(r)
	local open = {}
	for _, x in ipairs(ask(r, "stats")) do
		local here = {}
		for _, row in ipairs(read.list(x.data, "rows")) do
			local n = read.number(read.record(row.enqueue).count) - read.number(read.record(row.exec).count)
			local key = line_of(row)
			here[key] = (here[key] or 0) + math.max(n, 0)
		end
		for key, n in pairs(here) do open[key] = math.min(math.max(open[key] or 0, n), 1024) end
	end
	return open
end

-- One block of @arm. -> medians by kind, collectives by kind | nil, reason, evidence (a guard) |
-- nil, nil, word (asked for by another shell)
-- @bake: for so many seconds instead, the guards see the latest alone. -> true,
-- collectives | as above
local function block(r, arm, bake)
	local p = r.plan
	local normal = arm == "b" and baseline_of(r) or {}
	local before, other = refused(r)
	if not before then return nil, nil, "leave", other end
	local from = highest(samples(r))
	for key, n in pairs(in_flight(r)) do from[key] = (from[key] or -1) + n end
	local seen, times, kept, most = {}, {}, {}, 0
	local skip = math.ceil(p.samples / (1 - p.warmup_pct / 100)) - p.samples
	local till = core.mono() + (bake or p.block_timeout)
	local count, all = {}, 0
	while bake or most < p.samples do
		local word = requested(r)
		if word then return nil, nil, word end
		if core.mono() > till and not (bake and all < GUARD and core.mono() < till + p.block_timeout) then
			if bake then return true, all end
			return nil, nil, "pause", ("only %d collectives of a kind in %g s"):format(most, p.block_timeout)
		end
		local new = {}
		for id, op in pairs(samples(r)) do
			if not seen[id] and op.ns > 0 and op.seq > (from[line_of(op)] or -1) and in_scope(r, op) then new[#new + 1] = { id, op } end
		end
		table.sort(new, function(x, y) return x[2].seq < y[2].seq end)
		for _, x in ipairs(new) do
			local kind = kind_of(x[2])
			seen[x[1]] = true
			if r.ran then r.ran(kind, x[2]) end
			count[kind], all = (count[kind] or 0) + 1, all + 1
			if bake and #(times[kind] or {}) >= BAKED then
				table.remove(times[kind], 1)
				table.remove(kept[kind], 1)
			end
			if count[kind] > skip then
				times[kind], kept[kind] = times[kind] or {}, kept[kind] or {}
				table.insert(times[kind], x[2].ns)
				table.insert(kept[kind], x[2])
				most = math.max(most, #times[kind])
			end
		end
		local now, another = refused(r)
		if not now then return nil, nil, "leave", another end
		local why, evidence = guarded(r, arm, times, normal, now - before)
		if why then return nil, why, evidence end
		if bake or most < p.samples then core.sleep(p.interval or POLL_S) end
	end
	local medians = {}
	for kind, list in pairs(times) do
		-- a few collectives of a rare kind say nothing
		if #list * 5 >= p.samples then medians[kind] = median(list) else kept[kind] = nil end
	end
	return medians, kept
end

-- What a sweep is made of as well (sweeprun.lua). Of its r they want plan
-- (samples, warmup_pct, block_timeout, scope, guards), group, blocks, path, id.
M.parts = { ask = ask, use = use, commit = commit, in_use = in_use, block = block, kind_of = kind_of }

-- ---- the judge ------------------------------------------------------------------------

-- Block medians by kind: {kind = {a = {...}, b = {...}}}
function M.strata(blocks, pairs_done)
	local t, n = {}, 0
	for i, b in ipairs(blocks) do
		if i > pairs_done * 2 then break end
		for kind, v in pairs(b.medians) do
			t[kind] = t[kind] or { a = {}, b = {} }
			table.insert(t[kind][b.arm], v)
			n = n + 1
		end
	end
	return t, n
end

local function script_lists(strata)
	local a, b = {}, {}
	for kind, s in pairs(strata) do
		a[kind], b[kind] = table.move(s.a, 1, #s.a, 1, {}), table.move(s.b, 1, #s.b, 1, {})
	end
	return a, b
end

local function look(r, k)
	local done = plan.look_at(r.plan, k)
	local blocks, at = stages.blocks(r), stages.now(r)
	local strata = M.strata(blocks, done)
	-- all steps share the chance of a false alarm
	local confidence = 1 - (1 - r.plan.judge.confidence) / (r.steps and #r.steps or 1)
	local opts = {
		confidence = confidence, min_effect_pct = r.plan.judge.min_effect_pct, looks = r.plan.judge.looks, least = math.min(done, 4),
		each = r.plan.promote == "better",
	}
	local out = r.plan.metrics and measures.look(r.plan, table.move(blocks, 1, math.min(done * 2, #blocks), 1, {}), k, opts) or judge.look(strata, k, opts)
	local few = out.verdict == "pass" and at.min_samples and stages.too_few(blocks, at.min_samples)
	if few then out.verdict, out.reason = "inconclusive", few end
	if r.hooks and r.hooks.look then out.verdict, out.reason = r.hooks.look(script_lists(strata)) end
	out.look, out.pairs = k, done
	return out
end
M.look = look

-- A or B first in pair @i, by the seed; the first pair begins with A, which
-- the guards compare with.
local function first_arm(seed, i)
	if i == 1 then return "a" end
	local x = (seed * 2654435761 + i * 40503) & 0xffffffff
	for _ = 1, 3 do x = (x ~ (x << 13) & 0xffffffff) x = x ~ (x >> 17) x = (x ~ (x << 5)) & 0xffffffff end
	return x & 1 == 0 and "a" or "b"
end

function M.arm_of(seed, n)
	local first = first_arm(seed, (n + 1) // 2)
	if n % 2 == 1 then return first end
	return first == "a" and "b" or "a"
end

-- ---- running ----------------------------------------------------------------------------

-- All but those that are held back decide with @arm: several changes, the held
-- first, so that each has what it shall have from the first one on. Whatever
-- goes wrong meanwhile, the way back is the baseline for all.
local function promote_but_held(r, arm)
	local was = r.everywhere
	r.everywhere, r.arm = true, "none"
	local ok, err = save(r)
	if not ok then return nil, err end
	for i, line in ipairs(stages.promotion(r, arm == "b" and r.candidate or r.promoted)) do
		local done
		done, err = change(r, line)
		if not done then
			if i == 1 and err.code == "stale" then r.everywhere = was end
			return nil, err
		end
		r.generation = done.generation
	end
	return true
end

-- Whoever decides next decides with @arm; that is not waited for.
local function finish(r, arm, state, reason, evidence)
	local ok, err = true, nil
	-- whoever looks while it is done is told
	local doing = state == "succeeded" and "promoting" or state == "rolled_back" and "aborting"
	if doing and r.state ~= doing then event(r, doing, reason, evidence) end
	if state ~= "paused" then r.baking = nil end
	if state == "succeeded" and r.plan.promote ~= "all" and #(r.steps or {}) > 1 and #(r.whole or {}) ~= #(r.comms or {}) then
		r.comms, r.arm = r.whole, "none" -- the last step need not have been all of the scope
	end
	if state == "succeeded" and r.held and r.plan.promote == "all" then
		ok, err = promote_but_held(r, arm)
		if ok then r.arm, r.everywhere = arm, true end
	end
	-- promoted to all: also where the scope has it already, and back from there
	local all = r.comms and (state == "succeeded" and r.plan.promote == "all" or r.everywhere) or nil
	if ok and r.arm ~= arm or all and not (r.held and state == "succeeded") then ok, err = commit(r, arm, all) end
	if ok then
		r.arm = arm
		r.everywhere = (all or r.held and r.plan.promote == "all") and state == "succeeded" or nil
		if next(r.exposed or {}) and state ~= "succeeded" then
			local most = 0
			for _, n in pairs(r.exposed) do most = math.max(most, n) end
			evidence = evidence or {}
			evidence.exposed = most
			if state == "rolled_back" then reason = ("%s; %d collectives of a communicator were decided by the candidate"):format(reason, most) end
		end
		event(r, state, reason, evidence)
	else
		local left = err.code == "stale" and "; that was made by somebody else and is left in place" or ""
		event(r, "paused", ("%s; but the %s could not be put in place: %s%s"):format(reason, arm ~= "a" and "candidate" or "baseline", err.message, left), evidence)
	end
	local saved
	saved, err = save(r)
	if not saved then return nil, err end
	return r
end

-- Promote as the plan has it: the whole candidate, or, where kinds stand for
-- themselves, what was found better.
local function succeed(r, reason, evidence)
	if r.plan.promote ~= "better" then return finish(r, "b", "succeeded", reason, evidence) end
	local names, err = promote.make(r.group, r, read.record(read.record(r.verdict).strata))
	if not names then return finish(r, "a", "paused", ("%s; but %s"):format(reason, err.message), evidence) end
	r.promoted = names
	evidence = evidence or {}
	evidence.promoted, evidence.to = names, promote.text(r.verdict.strata)
	return finish(r, "better", "succeeded", ("%s; promoted for %s, held back elsewhere"):format(reason, evidence.to), evidence)
end

-- By the plan, what comes of a verdict.
local function conclude(r, verdict)
	local way = r.plan["on_" .. verdict.verdict]
	local evidence = { look = verdict.look, verdict = verdict.verdict, reason = verdict.reason }
	local reason = ("%s at look %d: %s"):format(verdict.verdict, verdict.look, verdict.reason)
	if way == "promote" then
		event(r, "promoting", reason, evidence)
		return succeed(r, reason, evidence)
	elseif way == "rollback" then
		event(r, "aborting", reason, evidence)
		return finish(r, "a", "rolled_back", reason, evidence)
	end
	return finish(r, "a", "paused", reason, evidence)
end

-- No process of the job is left. Connections close a little before their
-- process ends.
local function over(r)
	local till = core.mono() + 2
	while #r.group:living() == 0 do
		local dead = true
		for _, m in ipairs(r.group.members) do dead = dead and not core.alive(m.pid) end
		if dead or core.mono() > till then return dead end
		core.sleep(POLL_S)
	end
	return false
end

-- What another shell may ask for.
local asked = {
	pause = function(r, why)
		if over(r) then
			event(r, "failed", "the job has ended" .. (why and ": " .. why or ""))
			local ok, err = save(r)
			if not ok then return nil, err end
			return r
		end
		return finish(r, "a", "paused", why or core.stopped() and "interrupted" or "asked to pause")
	end,
	abort = function(r, _, other)
		return finish(r, "a", "rolled_back", "asked to abort" .. (other and ("; generation %d was made by somebody else and is left in place"):format(other) or ""))
	end,
	promote = function(r) return succeed(r, "asked to promote") end,
	-- somebody else has changed what the job decides with: that stays
	leave = function(r, generation)
		r.arm = "other"
		generation = type(generation) == "number" and ("generation %d"):format(generation) or tostring(generation)
		event(r, "paused", ("%s was made by somebody else and is left in place"):format(generation))
		local ok, err = save(r)
		if not ok then return nil, err end
		return r
	end,
}

-- The next step: more communicators, from the baseline on, judged anew.
local function advance(r)
	local _, i = stages.now(r)
	r.advancing = true
	if r.arm ~= "a" then
		local ok, err = commit(r, "a")
		if not ok and err.code == "stale" then return asked.leave(r, "another generation") end
		if not ok then return asked.pause(r, err.message) end
	end
	r.step, r.first, r.comms, r.looks, r.since = i + 1, #r.blocks, r.steps[i + 1].comms, nil, {}
	r.advancing = nil
	-- what was none of the step before may have another baseline
	r.arm = r.plan.baseline and "none" or "a"
	event(r, "progressing", ("step %d of %d: %s"):format(i + 1, #r.steps, r.comms and units.count(#r.comms, "communicator") or "all communicators"), { step = i + 1 })
	local ok, err = save(r)
	if not ok then return nil, err end
end

-- A step has passed: it bakes, then comes the next one, or what the plan has for
-- the last. -> as step()
local function passed(r, verdict, baked)
	local at, i = stages.now(r)
	if at.bake and not baked then
		r.baking = { seconds = at.bake, verdict = { verdict = verdict.verdict, reason = verdict.reason, look = verdict.look } }
		event(r, "progressing", ("bakes %s with the candidate"):format(units.seconds(at.bake)), { step = i, verdict = verdict.verdict, reason = verdict.reason })
		local ok, err = save(r)
		if not ok then return nil, err end
		return nil
	end
	if i < #(r.steps or {}) then return advance(r) end
	return conclude(r, verdict)
end

-- The candidate stays in place for so long, under the guards.
local function bake(r)
	if r.arm ~= "b" then
		local ok, err = use(r, "b", r.plan.block_timeout)
		if not ok and err.code == "stale" then return asked.leave(r, "another generation") end
		if not ok then return asked.pause(r, err.message) end
		r.arm = "b"
		ok, err = save(r)
		if not ok then return nil, err end
	end
	local ok, why, evidence, more = block(r, "b", r.baking.seconds)
	if ok then
		event(r, "progressing", ("baked %s: %s"):format(units.seconds(r.baking.seconds), units.count(why, "collective")), { collectives = why })
		if why < GUARD then return asked.pause(r, ("only %s while it baked"):format(units.count(why, "collective"))) end
		local verdict = r.baking.verdict
		r.baking = nil
		return passed(r, verdict, true)
	elseif why then
		event(r, "aborting", why, evidence)
		return finish(r, "a", "rolled_back", why, evidence)
	end
	return (asked[evidence] or asked.pause)(r, more)
end

-- A look that says fail, or nothing, may be borne so often as the plan has it.
local function settled(r, k, verdict)
	local limits = r.plan
	if k == limits.judge.looks or verdict.verdict == "pass" then return true end
	r.looks = r.looks or { fail = 0, inconclusive = 0 }
	-- kind by kind it is sure at the last one only
	if verdict.verdict == "inconclusive" and limits.promote == "better" then return false end
	-- one that could not have been sure is no sign
	if verdict.verdict == "inconclusive" and k < plan.first_look(limits) then return false end
	r.looks[verdict.verdict] = r.looks[verdict.verdict] + 1
	if verdict.verdict == "fail" then return r.looks.fail > (limits.failure_limit or 0) end
	return r.looks.inconclusive >= (limits.inconclusive_limit or limits.judge.looks)
end

local function step(r)
	if r.baking then return bake(r) end
	if r.advancing then return advance(r) end
	local _, at, first = stages.now(r)
	local here = #r.blocks - first + 1
	local n = #r.blocks + 1
	local arm = M.arm_of(r.plan.seed + at - 1, here)
	if r.arm ~= arm then
		local ok, err = use(r, arm, r.plan.block_timeout)
		if not ok and err.code == "stale" then return asked.leave(r, "another generation") end
		if not ok then return asked.pause(r, err.message) end
		r.arm = arm
		ok, err = save(r)
		if not ok then return nil, err end
	end
	local began = core.time()
	local medians, why, evidence, more = block(r, arm)
	if not medians and why then
		event(r, "aborting", why, evidence)
		return finish(r, "a", "rolled_back", why, evidence)
	elseif not medians then
		return (asked[evidence] or asked.pause)(r, more)
	end
	r.blocks[n] = { arm = arm, generation = r.generation, began = began, time = core.time(), medians = medians, metrics = measures.of_block(r.plan, why),
		step = r.steps and #r.steps > 1 and at or nil }
	witness.block(r, n, r.blocks[n], why)
	if r.hooks then r.hooks.step(r) end
	for k = 1, r.plan.judge.looks do
		if here == plan.look_at(r.plan, k) * 2 then
			r.verdict = look(r, k)
			event(r, "progressing", ("look %d of %d: %s: %s"):format(k, r.plan.judge.looks, r.verdict.verdict, r.verdict.reason))
			if settled(r, k, r.verdict) then
				if r.verdict.verdict == "pass" then return passed(r, r.verdict) end
				return conclude(r, r.verdict)
			end
			break
		end
	end
	local ok, err = save(r)
	if not ok then return nil, err end
end

-- Go on until it ends or pauses, or has made @most blocks. @tell(r): after each
-- block. Ctrl-C is held meanwhile and asks for a pause. -> r | nil, err
function M.run(r, tell, most)
	local till = core.mono() + r.plan.deadline
	local ok, done, err
	local last = most and #r.blocks + most
	core.hold(true)
	repeat
		ok, done, err = pcall(step, r)
		if ok and not done and not err and core.mono() > till then
			ok, done, err = pcall(asked.pause, r, ("the deadline of %g s has passed"):format(r.plan.deadline))
		end
		if tell then tell(r) end
	until not ok or done or err or last and #r.blocks >= last
	if ok and not done and not err then done = r end
	if not ok then
		-- a process that does not answer, most likely
		err = errors.caught(done)
		local fine, result = pcall(asked.pause, r, err.message)
		if not fine or not result then
			event(r, "paused", err.message .. "; the job was left as it is")
			pcall(save, r)
		end
		done = nil
	end
	core.hold(false)
	return done, err
end

local function token() return ("%d.%d.%.0f"):format(PID, math.random(1 << 30), core.mono() * 1e9) end

-- M.start(group, p[, hooks]) -> the rollout, begun and saved | nil, err
-- hooks: what a script does meanwhile (script.lua)
function M.start(group, p, hooks)
	local old, err = M.load(group.job)
	if err then return nil, err end
	if old and not ENDED[old.state] and M.is_of(old, group) then
		return nil, errors.new("busy", ("rollout %s of this job is %s%s"):format(tostring(old.plan.name), old.state, M.runs(old) and ", process " .. old.runner.pid .. " runs it" or ""),
			{ hint = "rollout status; rollout resume or rollout abort ends it" })
	end
	local path
	path, err = file_of(group.job)
	if not path then return nil, err end
	if old then core.write((path:gsub("%.json$", "")) .. "." .. tostring(old.id) .. ".old.json", (core.read(path, LIMIT))) end
	local r = {
		version = 1, job = group.job, plan = p, state = "planned", blocks = core.array {}, events = core.array {}, path = path, group = group,
		id = ("%s-%s"):format(p.name:gsub("[^%w_.%-]", "_"), core.time():gsub("[^%dT]", "")), runner = { pid = PID, token = token() }, arm = "a", pids = pids_of(group),
	}
	p.seed = p.seed or math.random(1 << 30)
	if hooks then r.hooks, r.script = hooks, { file = hooks.file, digest = hooks.digest, words = core.array(hooks.words) } end
	r.comms, err = comms_of(group, p.scope.comms)
	if err then return nil, err end
	local held
	r.steps, held, r.whole = stages.of(group, p, r.comms)
	if not r.steps then return nil, held end
	r.held, r.step, r.first = held, 1, 0
	local names, generation, common = in_use(group, r.comms, p.promote == "all")
	if not names then return nil, generation end
	r.baseline, r.generation, err = names, generation, nil
	r.common = not p.baseline and common or nil
	if p.baseline then r.baseline, err = names_of(group, p.baseline) end
	if not r.baseline then return nil, err end
	r.samples = ("%s.%s.times.csv"):format((path:gsub("%.json$", "")), r.id)
	r.candidate, err = names_of(group, p.candidate)
	if not r.candidate then return nil, err end
	if p.promote == "better" then
		local able
		able, err = promote.check(group, r.candidate)
		if not able then return nil, err end
	end
	event(r, "preparing", "started" .. (p.reason and ": " .. p.reason or ""))
	local good, why = pcall(function()
		ask(r, "telemetry on")
		local a = ask(r, "check agreement")[1].data
		if a.agree == false then error(errors.new("ranks_disagree", "ranks do not agree before anything has changed"), 0) end
		r.where = witness.where(function(line) return ask(r, line) end)
	end)
	if not good then return nil, errors.caught(why) end
	r.comms = r.steps[1].comms
	event(r, "progressing", "candidate held by all processes, telemetry on" .. (r.comms and ", on " .. table.concat(r.comms, ", ") or "") .. (r.where.times and "; times are " .. r.where.times or ""))
	r.arm = p.baseline and "none" or "a"
	local ok
	ok, err = write(r)
	if not ok then return nil, err end
	return r
end

-- Take over a rollout that is paused or whose runner is gone. -> true, nil, the
-- generation that somebody else has made since it was paused | nil, err
function M.adopt(r, group)
	if M.runs(r) then return errors.fail("busy", "process %d runs it; rollout pause stops it there", r.runner.pid) end
	if not M.is_of(r, group) then
		return nil, errors.new("refused", "it was a rollout of an earlier job of this name", { hint = "rollout start begins a new one, and keeps its file" })
	end
	local s = group:ask "status"[1]
	if s.err then return nil, s.err end
	core.unlink(request_path(r)) -- what was asked of one that is gone
	r.group, r.asker = group, nil
	-- another generation than was written down: our own, by one that died before
	-- it could, or somebody else's after the baseline
	local other
	if s.data.generation ~= r.generation then
		if r.arm ~= "a" or has_candidate(r, s.data) then r.arm = "none" else other = not of_controllers(r) and s.data.generation end
	end
	-- whoever takes over has seen what the job has now
	r.generation, r.since = s.data.generation, {}
	r.runner = { pid = PID, token = token() }
	r.blocks, r.events = core.array(r.blocks), core.array(r.events)
	return true, nil, other
end

-- Is there anything left to be seen in the step that it is in?
function M.more(r)
	local _, _, first = stages.now(r)
	return type(r.baking) == "table" or r.advancing == true or #r.blocks - first < r.plan.blocks * 2
end

function M.resume(r, group)
	if ENDED[r.state] then return errors.fail("refused", "it has ended: %s", r.state) end
	local ok, err = M.adopt(r, group)
	if not ok then return nil, err end
	if type(r.script) == "table" and not r.hooks then
		return nil, errors.new("refused", ("it is run by the script %s"):format(tostring(r.script.file)), { hint = ("rollout script %s resume=yes"):format(tostring(r.script.file)) })
	end
	if not M.more(r) then
		return nil, errors.new("refused", "all its blocks have been seen, and more looks would make chance a proof", { hint = "rollout promote or rollout abort" })
	end
	if r.everywhere then
		-- a promotion that came to no end: the baseline for all, as before
		ok, err = write(r)
		if ok then ok, err = commit(r, "a", true) end
		if not ok then return nil, err end
		r.everywhere = nil
	end
	r.looks = nil
	event(r, "progressing", "resumed")
	r.arm = "none" -- whatever the job has now
	ok, err = write(r)
	if not ok then return nil, err end
	return true
end

-- Those that were held back get the candidate as well.
local function release(r, group)
	local ok, err = M.adopt(r, group)
	if not ok then return nil, err end
	-- where the scope was promoted alone, those of it; so also the way back
	local all = r.plan.promote == "all" or not r.plan.scope.comms
	if not all then r.comms = core.array(table.move(r.held, 1, #r.held, #r.whole + 1, table.move(r.whole, 1, #r.whole, 1, {}))) end
	r.arm, r.everywhere = "none", all or nil
	ok, err = write(r)
	if not ok then return nil, err end
	ok, err = commit(r, r.promoted or r.candidate, all)
	if not ok then return nil, err end
	r.arm, r.held = r.promoted and "better" or "b", nil
	event(r, "succeeded", "the communicators that were held back have the candidate as well")
	ok, err = save(r)
	if not ok then return nil, err end
	return r
end

-- promote, abort, pause: by us, or by who runs it. -> r, true when only asked
function M.tell(r, group, word)
	if word == "promote" and r.state == "succeeded" and r.held then return release(r, group) end
	if ENDED[r.state] then return errors.fail("refused", "it has ended: %s", r.state) end
	if M.runs(r) then
		local ok, err = M.request(r, word)
		if not ok then return nil, err end
		return r, true
	end
	local ok, err, other = M.adopt(r, group)
	if not ok then return nil, err end
	ok, err = write(r)
	if not ok then return nil, err end
	return asked[word](r, nil, other)
end

-- After a promotion: the baseline again, but not over what somebody else has
-- put in the candidate's place.
function M.undo(r, group)
	if r.state ~= "succeeded" then return errors.fail("refused", "only what was promoted can be undone; it is %s", r.state) end
	local now = group:ask "status"[1]
	if now.err then return nil, now.err end
	if M.is_of(r, group) and now.data.generation ~= r.generation and not has_candidate(r, now.data) then
		return nil, errors.new("refused", ("generation %d was made since, and has nothing of the candidate"):format(now.data.generation),
			{ hint = "policy history has what there was, policy undo to=N goes back to it" })
	end
	local ok, err = M.adopt(r, group)
	if not ok then return nil, err end
	ok, err = write(r)
	if not ok then return nil, err end
	return finish(r, "a", "rolled_back", "undone")
end

return M
