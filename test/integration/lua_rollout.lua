-- SPDX-License-Identifier: MIT
-- Run by lua_rollout.t: a job called staged runs, two ranks, three communicators
-- at once; nvlink_ring_mid is faster there, one_channel 20 times slower.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, raises, fails = tap.test, tap.raises, tap.fails

local t <close>, ids = tap.staged(nb)
local plan = tap.plan
local function using() return tap.using(t, ids) end

-- ---- the commands ----
fails("no rollout yet", "not_found", "this job has no rollout", t:rollout_status())
fails("a plan with a field that is none", "bad_argument", "nearest: blocks",
	t:rollout_start { { candidate = "none", blcks = 3 } })
raises("a plan that is none", "word 1 is a function, but must be a string or a number",
	t.rollout_start, t, { print })
local p = assert(nb.rollout_plan { plan("mid", "nvlink_ring_mid") })
test("a plan is complete, and nothing is asked of the job", p.on_pass == "promote"
	and p.blocks == 4 and t:rollout_status() == nil)
local last
local mine = plan("mid", "nvlink_ring_mid")
local r, err = t:rollout_start { mine, follow = function(now)
	last = now
end }
test("promoted", r and r.state == "succeeded" and r.blocks == 8
	and r.verdict.verdict == "pass", err)
test("followed to its end", last and last.state == "succeeded" and last.of == 8,
	last and last.state)
test("the script's plan is as it was", mine.seed == 7 and mine.on_pass == nil)
test("in use on all", using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid", using())
local seen = {}
for _, e in ipairs(t:rollout_history().events) do
	seen[e.to] = e
	if not (e.time and e.rollout == r.id and e.from and e.actor and e.reason) then
		test("a whole event", false, nb.json.encode(e))
	end
end
test("every transition", seen.preparing and seen.progressing and seen.promoting and seen.succeeded)
test("with what it rests on",
	seen.succeeded.evidence.verdict == "pass" and seen.promoting.evidence.look == 1)
local report = assert(t:rollout_report { out = "r.html", label = "replayed" })
test("a report", report.bytes > 10000 and report.csv == "r.csv")
fails("what has ended is not paused", "refused", "it has ended: succeeded", t:rollout_pause())
test("undone", t:rollout_undo().state == "rolled_back" and using() == "- - -", using())
fails("once", "refused", "only a promoted rollout", t:rollout_undo())
err = fails("a bad one is stopped by its guard", "aborted", "slower by",
	t:rollout_start { plan("bad", "one_channel") })
test("and the error has its state", err.data.state == "rolled_back" and using() == "- - -", using())
local reason = err.data.reason or ""
test("in the middle of a block", reason:find "after %d+ collectives", reason)

-- ---- one that goes on by itself ----
local long = plan("long", "nvlink_ring_mid", { blocks = 200 })
r = assert(t:rollout_start { long, follow = false })
test("returns at once", r.state == "progressing" and r.of == 400)
fails("no other beside it", "busy", "rollout long of this job is progressing",
	t:rollout_start { plan("other", "one_channel") })
assert(t:rollout_pause())
r = assert(t:rollout_status { follow = true })
test("paused", r.state == "paused" and using() == "- - -", r.state .. using())
test("resumed", assert(t:rollout_resume { follow = false }).state ~= "paused")
assert(t:rollout_abort())
r = assert(select(2, t:rollout_status { follow = true }).data)
test("aborted", r.state == "rolled_back" and using() == "- - -", r.state .. using())

-- ---- fields of plans ----
local function bad(fields, text)
	fields.candidate = fields.candidate or "none"
	fails("refused: " .. text, "bad_argument", text, nb.rollout_plan { fields })
end
bad({ steps = { { units = 2 }, { units = 1 } } },
	"steps[2].units is 1, but the step before has 2 already")
bad({ steps = {} }, "steps must be a list of 1 to 20 tables, but is an empty table")
bad({ steps = { {} } }, "steps[1] must have either units or fraction")
bad({ steps = { { units = 1, fraction = "50%" } } },
	"steps[1] must have either units or fraction")
bad({ steps = { { units = 1 }, { units = 0 } } },
	"steps[2].units must be a whole number from 1 to 1000, but is 0")
bad({ steps = { { fraction = 0 / 0 } } }, "steps[1].fraction must be a share like")
bad({ steps = { { units = 1, bakes = 3 } } }, "steps[1].bakes: no such field")
bad({ steps = { { units = 1, bake = "soon" } } }, "steps[1].bake must be a duration")
bad({ hooks = { judge = true } }, "hooks.judge is a boolean, but must be a function")
bad({ steps = { { units = 1, bake = "30m" }, { units = 2, bake = "30m" } } },
	"deadline is 60m, but must be more than the bake time 60m")
bad({ metrics = {} }, "hint: hooks.judge judges by any measure")
bad({ blocks = 5, steps = { { units = 1 }, { units = 2 } } },
	"blocks is 5, but confidence 0.98 needs 6 or more")
fails("more than there are", "refused", "steps[1].units: 4 communicators requested, there are 3",
	t:rollout_start { plan("s", "nvlink_ring_mid", { steps = { { units = 4 } } }) })
fails("fewer than before", "refused", "steps[2]: 1 communicator, fewer",
	t:rollout_start { plan("s", "nvlink_ring_mid",
		{ blocks = 6, steps = { { fraction = "100%" }, { units = 1 } } }) })
test("none of these has begun", assert(t:rollout_status()).name == "long"
	and using() == "- - -", using())

-- ---- a job that ends ----
local pids = {}
for i, p in ipairs(t:status().processes) do pids[i] = p.pid end
pids = table.concat(pids, " ")
local first -- of a rollout that is not over before its end is asked for
r, err = t:rollout_start { plan("last", "nvlink_ring_mid", { blocks = 200 }), follow = function(now)
	first = first or now
	if now.blocks == 0 or not pids then return end
	-- the runner sees all of its processes dead, not one after the other
	os.execute(([[. $TOP/test/await.sh; halt %d; kill -9 %s
		for p in %s; do
			while [ -e /proc/$p ] && ! grep -q '^State:.Z' /proc/$p/status; do
				sleep 0.02
			done
		done 2>/dev/null
		kill -CONT %d]]):format(now.pid, pids, pids, now.pid))
	pids = nil
end }
test("followed from its start", first and first.state == "progressing" and first.of == 400,
	first and first.state)
local left = require("ncclbpf.rollout.run").load { job = "staged" }
test("a job that ends fails it", r == nil and err and left.state == "failed"
	and left.why:find "the job has ended" ~= nil, tostring(err) .. tostring(left.state)
	.. tostring(left.why))
