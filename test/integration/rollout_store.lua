-- SPDX-License-Identifier: MIT
-- Files of rollouts: who runs one, who may replace one, and whose a generation is.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local process = require "ncclbpf.base.process"
local job = require "ncclbpf.rollout.job"
local run = require "ncclbpf.rollout.run"
local store = require "ncclbpf.rollout.store"
local errors = require "ncclbpf.base.errors"

local n = 0
local function test(name, good, ...)
	n = n + 1
	print(("%s %d - %s"):format(good and "ok" or "not ok", n, name))
	if not good then print("# " .. table.concat({ tostring((...)) }, " ")) end
end

-- ---- processes
local _, pid = core.ids()
local me = process.identity(pid)
test("a process that lives", process.alive(me) == true, me)
test("the same PID, started at another time", process.alive((me:gsub("%d+$", "1"))) == false)
test("the same PID after a boot", process.alive((me:gsub("^[^/]+", "00000000-0000"))) == false)
test("another PID namespace is not known",
	process.alive((me:gsub("^([^/]+)/[^/]+", "%1/1"))) == nil)
test("no process", process.identity(1 << 22) == nil)
test("a runner that is this process", store.active(store.runner()) == true)
local old = store.runner()
old.process = old.process:gsub("%d+$", "1")
test("a runner with a PID that is used again", store.active(old) == false)

-- ---- the file
local path = assert(store.path("a/b", "rollouts"))
local host = core.read("/proc/sys/kernel/hostname", 256):match "%S+"
test("its name holds job and host", path:find("/a_b@" .. host .. ".json", 1, true), path)
local function valid(t) return t.count ~= nil end
assert(store.write(path, { id = "x", count = 0, runner = { token = "none" } }))
local times, workers = 25, 4
-- Each worker reads the record and replaces it. If another worker has replaced it in between,
-- store.replace() refuses, and the worker reads it again.
local script = ([[local store = require "ncclbpf.rollout.store"
require "ncclbpf.base.clock".times.lock = 300
local home = { job = "a/b" }
local function valid(t) return t.count ~= nil end
local function add()
	local r = assert(store.load(home, "rollout", valid))
	local was = { id = r.id, token = r.runner.token }
	return store.replace(r, "rollout",
		{ id = r.id, count = r.count + 1, runner = store.runner() }, valid, was)
end
for _ = 1, %d do
	local ok, err
	repeat
		ok, err = add()
		assert(ok or err.code == "busy", err)
	until ok
end]]):format(times)
local pipes = {}
for i = 1, workers do
	pipes[i] = io.popen("lua5.4 -", "w")
	pipes[i]:write(script)
end
for i = 1, workers do pipes[i]:close() end
local t = assert(store.read(path, "test", valid))
test("no process replaces what another has just written", t.count == times * workers, t.count)

-- Requests to a runner.
t.home = { job = "a/b" }
assert(store.request(t, "pause") and store.request(t, "abort"))
local asked, refusal = store.request(t, "promote")
test("an abort that the runner has not seen yet is not replaced", not asked
	and tostring(refusal.message):find "^rollout abort came first", refusal)
test("it is asked to abort", store.requested(t) == "abort")
test("once", store.requested(t) == nil)
test("then it can be asked again", store.request(t, "promote")
	and store.requested(t) == "promote")

-- A shell that follows a runner, while the store does not answer some of its reads. The clock goes
-- only by what the shell sleeps. -> results of follow, the states that it showed, seconds
local record = require "ncclbpf.rollout.record"
local runner = require "ncclbpf.rollout.runner"
local function follow(answers, who)
	local reads, told, seconds = 0, {}, 0
	local now, sleep = clock.now, clock.sleep
	clock.now = function() return seconds end
	clock.sleep = function(s) seconds = seconds + s end
	local kind = { ended = function(t) return t.state == "passed" end }
	local followed = { path = path, id = "x", kind = kind,
		home = { job = "a/b", fleet = true } }
	local load = record.load
	record.load = function()
		reads = reads + 1
		local answer = answers[math.min(reads, #answers)]
		if type(answer) ~= "string" then return table.unpack(answer) end
		return { id = "x", state = answer, revision = who and 1 or reads,
			runner = who or store.runner(), kind = kind, plan = {},
			home = followed.home }
	end
	local r, err = runner.follow(followed, function(t) told[#told + 1] = t.state end)
	clock.now, clock.sleep, record.load = now, sleep, load
	return r, err, table.concat(told, " "), seconds
end
local away = { nil, errors.new("timed_out", "no member answers") }
local r, err, told = follow { "running", away, away, "running", "passed" }
test("a shell follows a run although reads fail", r and r.state == "passed", err and err.message)
test("and shows what it reads later", told == "running running passed", told)
r, err = follow { away, "passed" }
test("although the first one fails", r and r.state == "passed", err and err.message)
r, err = follow { "running", { nil, errors.new("denied", "no") } }
test("but not if it may not read", not r and err.code == "denied")
r, err = follow { "running", {} }
test("or if the record is gone", not r and err.code == "not_found")
local seconds
r, err, told, seconds = follow { "running", away }
test("it gives up when all reads have failed for its patience", not r and err.code == "timed_out"
	and seconds >= clock.times.patience and seconds < clock.times.patience + 1, seconds)
r, err, told, seconds = follow({ "running" }, old)
local supervisor = clock.times.rescue + clock.times.lost
test("a dead runner is reported when supervisor and agents had time to act",
	not r and err.code == "no_target" and seconds > supervisor and seconds < supervisor + 1,
	seconds)

-- A process that is stopped while it holds the lock.
local holder = io.popen([[exec lua5.4 -e '
	local core = require "ncclbpf.core"
	local process = require "ncclbpf.base.process"
	local _, pid = core.ids()
	local lock <close> = assert(core.lock("]] .. path .. [[.lock", 5, process.identity(pid)))
	io.write(pid, "\n"):flush()
	core.sleep(60)
']])
local stopped = holder:read "l"
os.execute(". $TOP/test/await.sh; halt " .. stopped)
clock.times.lock = 0.1
local function again()
	return store.replace(t, "rollout", { id = t.id, count = t.count, runner = store.runner() },
		valid, { id = t.id, token = t.runner.token })
end
local replaced, why = again()
test("a record that a stopped process was changing", not replaced
	and why.code == "timed_out" and not record.is_taken(why) and why.message
	== "process " .. stopped .. " is stopped while it changes the record", why)
test("and how to end that process", tostring(why.hint):find("kill -KILL " .. stopped, 1, true),
	why.hint)
test("leaves the old record", store.read(path, "test", valid).count == t.count)
local left = 0
for _, name in ipairs(core.list(path:match "^(.*)/")) do
	left = left + (name:find "%.tmp$" and 1 or 0)
end
test("and no file beside it", left == 0, left)
os.execute("kill -KILL " .. stopped)
holder:close()
clock.times.lock = 300
test("when that process has died, another one can change the record", again())

-- ---- what prevents a start
local function free(of, t)
	t.id, t.state, t.baseline, t.prefix, t.plan = "y", "running", {}, "sweep-", { name = "s" }
	assert(store.write(assert(store.path("free", "sweeps")), t))
	local _, why = errors.catch(record.free)(record.kinds[of], { job = "free",
		members = { { process = me } } })
	return why and why.message
end
local other = { pid = 1, process = process.identity(1), token = "1" }
local started = "sweep s of this job is running, process 1 runs it"
for _, of in ipairs { "rollout", "sweep" } do
	test("a sweep that runs, although its record names no processes: no " .. of,
		free(of, { runner = other }) == started)
	test("a sweep of an earlier job is no reason: " .. of,
		free(of, { runner = old, processes = { old.process } }) == nil)
	local why = free(of, { runner = { process = me:gsub("^([^/]+)/[^/]+", "%1/1") } })
	test("one in another PID namespace: no " .. of,
		why == "sweep s of a job of this name is running in another PID namespace", why)
	assert(core.write(store.path("free", "sweeps"), "{}\n"))
	local none, bad = errors.catch(record.free)(record.kinds[of],
		{ job = "free", members = {} })
	test("a record that is none: no " .. of, not none and bad.code == "bad_argument")
end

-- ---- generations
-- A job whose first commit is answered too late: process @by made the generation.
local function late(by, answer)
	local generation, calls = 5, 0
	local group = { members = {} }
	function group:change(line)
		calls = calls + 1
		local expected = math.tointeger(line:match "if_generation=(%d+)")
		if calls == 1 then
			generation = 6
			return nil, errors.new(answer, "late")
		end
		if expected ~= generation then
			return nil, errors.new("stale", "another generation")
		end
		generation = generation + 1
		return { generation = generation, comms = {} }
	end
	function group:ask(line)
		local data = line == "policy history"
			and { history = { { generation = 6, policies = {}, by = { process = by } },
			{ generation = 5, policies = {} } } } or {}
		return { { data = data } }
	end
	local r = { group = group, generation = 5, arm = "a", baseline = {}, candidate = { "b" },
		job = "x", runner = store.runner() }
	local first, why = job.commit(r, "b")
	assert(not first and why.code == answer)
	local ok, err = job.commit(r, "a")
	return ok, err, r
end
local ok, err, r = late(me, "timed_out")
test("a change of its own that was answered too late is its own", ok and r.generation == 7, err)
ok, err = late(me .. "0", "timed_out")
test("that of another process is not", not ok and err.code == "stale")
ok, err = late(me, "refused")
test("nor one of this process beside a refused change", not ok and err.code == "stale")

-- ---- the keys of a job of several hosts
-- A store of which another client changes keys before a transaction.
local function keys_of(home, kvs)
	local fake, revision = { before = function() end }, 100
	local function at(part)
		local root = part == "rollout" and "/ncclbpf/1-data/" or "/ncclbpf/1/"
		return root .. home.job .. "/" .. part
	end
	local function put(name, value)
		revision = revision + 1
		kvs[name] = value and { key = name, value = value, revision = revision } or nil
	end
	function fake:put(part, value) put(at(part), value and core.encode(value)) end
	function fake:has(part) return kvs[at(part)] ~= nil end
	function fake:get(name) return { kvs[name] } end
	function fake:lease() return { lease = 7 } end
	function fake:txn(t)
		self.before()
		for _, c in ipairs(t.compare or {}) do
			if (kvs[c[1]] and kvs[c[1]].revision or 0) ~= c[2] then
				return { succeeded = false }
			end
		end
		for _, op in ipairs(t.success) do put(op.put or op.delete, op.value) end
		return { succeeded = true, revision = revision }
	end
	home.fleet, home.store = true, fake
	return fake
end
local home = { job = "fleet-x" }
local fake = keys_of(home, {})
local function any() return true end
local lost = { id = "r1", state = "progressing", runner = { token = "dead" }, plan = {} }
fake:put("rollout", lost)
-- Take over the rollout, as `rollout resume` does with what it has loaded.
local function take(seen)
	local r = assert(store.load(home, "rollout", any))
	if seen then seen(r) end
	r.taken, r.runner = r.runner.token, store.runner()
	local fields = { id = r.id, state = r.state, runner = r.runner, plan = r.plan }
	local done, why = store.replace(r, "rollout", fields, any, { id = r.id, token = r.taken })
	return done, why, r
end
local function restored()
	fake:put("guard/undone", { id = "r1", restored = true, n = 4, site = "a" })
end
ok, err = take(restored)
test("no new runner, if an agent restores the baseline after it has read the record",
	not ok and err.code == "busy" and fake:has "guard/undone" and not fake:has "guard/runner",
	err and err.message)
fake:put("guard/undone")
fake.before = function() restored() end
ok, err = take()
test("nor if the agent does so while it saves",
	not ok and err.code == "busy" and fake:has "guard/undone" and not fake:has "guard/runner",
	err and err.message)
fake.before = function() end
ok, err, r = take()
test("a runner that knows of it takes over", ok and not fake:has "guard/undone"
	and fake:has "guard/runner", err and err.message)
restored()
ok, err = store.replace(r, "rollout", { id = "r1", runner = r.runner }, any,
	{ id = "r1", token = r.runner.token })
test("and is told when the agents restore it again", not ok and err.code == "busy",
	err and err.message)

-- ---- a change through the store
-- The store does not answer some of the shell's reads. The clock goes by what the shell sleeps.
local requests = require "ncclbpf.job.requests"
local function request(answers)
	local reads, seconds = 0, 0
	local kvs = {}
	local store_of = keys_of({ job = "fleet-y" }, kvs)
	local get, now, sleep = store_of.get, clock.now, clock.sleep
	function store_of:get(name)
		if not name:find "/reply/" then return get(self, name) end
		reads = reads + 1
		local answer = answers[math.min(reads, #answers)]
		if answer == "reply" then
			return { { key = name, value = core.encode { ok = true, n = 5 } } }
		end
		return table.unpack(answer)
	end
	function store_of:revoke() end
	clock.now = function() return seconds end
	clock.sleep = function(s) seconds = seconds + s end
	local done, why = requests.change({ store = store_of, job = "fleet-y", images = {},
		seconds = function() return 5 end }, "policy use none", {})
	clock.now, clock.sleep = now, sleep
	return done, why, reads
end
local done, reads
done, err, reads = request { { {} }, away, away, { {} }, "reply" }
test("a change whose reply comes after reads that failed", done and done.generation == 5
	and reads == 5, err)
done, err, reads = request { away }
test("one without a reply is given up in the end", not done and err.code == "timed_out", err)
test("after some hundreds of reads", reads > 100 and reads < 500, reads)
done, err, reads = request { { nil, errors.new("denied", "no") } }
test("one that may not read its reply, at once", not done and err.code == "denied" and reads == 1)
print("1.." .. n)
