-- SPDX-License-Identifier: MIT
-- curve.lua CONTEND REPORT RANKS: follow what every rank of the job decides,
-- write the contention into the file CONTEND (1, then 10, then 1 times the
-- latency), and draw the channels over the decisions. Exit 1 where two ranks
-- decided anything differently, or the curve is not 2, 12, 2, 12 in steps of 2 up.
local contend, report, ranks = arg[1], arg[2], tonumber(arg[3])
local PATIENCE = 150	-- longest time of a phase in seconds; a phase takes two or three
local HOLD = 60		-- number of decisions that a phase must hold its channels
local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB", timeout = 20 })
local began = nb.mono()

-- The decisions of the ranks. Each process reports its own.

local decided = {}	-- [seq] = { channels, number of ranks that reported it }
local next_of = {}	-- [pid] = number of the first decision that was not read yet
local lost, compared, upto = 0, 0, 0
local function give_up(fmt, ...)
	io.stderr:write("curve: ", fmt:format(...), "\n")
	os.exit(1)
end

local function take(d, pid)
	local what = ("%s/%s, %d channels"):format(d.answer.algo, d.answer.proto, d.answer.channels)
	local at = decided[d.seq]
	if not at then
		at = { channels = d.answer.channels, what = what, ranks = 0,
			generation = d.generation }
		decided[d.seq] = at
	end
	if at.what ~= what or at.generation ~= d.generation then
		give_up("decision %d: %s by generation %d in process %d, "
			.. "%s by generation %d in another",
			d.seq, what, d.generation, pid, at.what, at.generation)
	end
	at.ranks = at.ranks + 1
	if at.ranks == ranks then
		compared = compared + 1
		upto = math.max(upto, d.seq + 1)
	end
end

local function read()
	for _, r in ipairs(assert(job:decision_tail { count = 1024 }).processes) do
		local list = r.data.decisions
		local from = next_of[r.pid] or 0
		if list[1] and list[1].seq > from then lost = lost + list[1].seq - from end
		for _, d in ipairs(list) do
			if d.seq >= from then
				take(d, r.pid)
				next_of[r.pid] = d.seq + 1
			end
		end
	end
end

-- Check in the job's segment whether the ranks' decisions agree.

local looks = 0
local function check()
	if not assert(job:check_agreement()).agree then
		give_up("check agreement: ranks do not agree after %d decisions", upto)
	end
	looks = looks + 1
end

-- Run the job until the phase is over.

local marks, shown, last = {}, 0, nil
local function say()
	for seq = shown, upto - 1 do
		local at = decided[seq]
		if at and at.ranks == ranks and at.channels ~= last then
			print(("%5.1f s  from decision %4d on %2s channels on all %d ranks")
				:format(nb.mono() - began, seq,
					at.channels == 0 and "NCCL's" or at.channels, ranks))
			last = at.channels
		end
	end
	shown = upto
end
local function phase(latency, want, words)
	local f <close> = assert(io.open(contend, "w"))
	f:write(latency, "\n")
	f:close()
	print(("%5.1f s  %s"):format(nb.mono() - began, words))
	read()
	marks[#marks + 1] = { seq = upto, latency = latency }
	local deadline = nb.mono() + PATIENCE
	local there
	repeat
		if nb.mono() > deadline then give_up("%d channels never came", want) end
		nb.sleep(0.1)
		read()
		check()
		say()
		if last ~= want then there = nil elseif not there then there = upto end
	until there and upto >= there + math.max(HOLD, upto // 12)
end
phase(1, 12, "the links are ours")
phase(10, 2, "another job uses the links: 10 times the latency")
phase(1, 12, "and leaves them")

-- ---- the way there ---------------------------------------------------------------------

local way = {}
for seq = 0, upto - 1 do
	local at = decided[seq]
	if at and at.channels ~= way[#way] then way[#way + 1] = at.channels end
end
-- before the first run the map had NCCL's number of channels
if way[1] == 0 then table.remove(way, 1) end
-- Up by 2, or down to 2. A busy machine delays collectives as other traffic does, so there may be
-- more ways down than ours. If this reader was slower than the ring of decisions, a step may be
-- missing.
for i, channels in ipairs(way) do
	local up = i == 1 and 2 or way[i - 1] + 2
	if lost == 0 and (channels > 12 or channels ~= up and (channels ~= 2 or i == 1)) then
		give_up("the channels were %s", table.concat(way, " "))
	end
end

-- ---- the picture -----------------------------------------------------------------------

local function env(name)
	local v = os.getenv(name)
	return v ~= "" and v or nil
end
local locale = env "LC_ALL" or env "LC_CTYPE" or env "LANG" or ""
local utf8_ok = locale:upper():find("UTF%-?8") and not env "NO_COLOR"
local EIGHTHS = utf8_ok and { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" } or nil
local WIDTH, HEIGHT, MOST = 64, 6, 12
local per = math.max(1, (upto + WIDTH - 1) // WIDTH)	-- decisions a column
local columns = (upto + per - 1) // per

-- A column shows its last decision.
local function at_column(i)
	for seq = math.min(upto, i * per) - 1, (i - 1) * per, -1 do
		if decided[seq] and decided[seq].ranks == ranks then
			return decided[seq].channels
		end
	end
end
local function contended(i)
	local seq, x = math.min(upto, i * per) - 1, 1
	for _, m in ipairs(marks) do
		if m.seq <= seq then x = m.latency end
	end
	return x > 1
end
local function cell(value, row)	-- row 1 is the lowest; each row is MOST / HEIGHT channels high
	local high = (value or 0) * HEIGHT / MOST - (row - 1)
	if high <= 0 then return " " end
	if not EIGHTHS then return high >= 0.5 and "#" or "." end
	return EIGHTHS[math.max(1, math.min(8, math.floor(high * 8 + 0.5)))]
end
print(("\nchannels, as each of the %d ranks chose them (a column: %d decisions; "
	.. "none: NCCL's own number)"):format(ranks, per))
for row = HEIGHT, 1, -1 do
	local line = {}
	for i = 1, columns do line[i] = cell(at_column(i), row) end
	print(("%4d %s%s"):format(row * MOST // HEIGHT, utf8_ok and "│" or "|",
		(table.concat(line):gsub("%s+$", ""))))
end
local axis, load = {}, {}
for i = 1, columns do
	axis[i] = utf8_ok and "─" or "-"
	load[i] = contended(i) and (utf8_ok and "▒" or "x") or " "
end
print("     " .. (utf8_ok and "└" or "+") .. table.concat(axis))
print("      " .. table.concat(load):gsub("%s+$", "") .. "  10 times the latency")

local us = {}
for line in io.lines(report) do
	local loop, t = line:match '"loop":(%d+).-"time_us":([%d.]+)'
	if loop then us[tonumber(loop)] = tonumber(t) end
end
local function mean(from, to)	-- Mean time of the collectives of decisions [from, to].
	local sum, n = 0, 0
	for seq = from, to do
		if us[seq] then sum, n = sum + us[seq], n + 1 end
	end
	return n > 0 and ("%.0f us"):format(sum / n) or "?"
end
print(("\nA collective took %s on 12 channels, %s on 2 channels while other traffic used "
	.. "the links, and %s on 12 channels again."):format(
	mean(marks[2].seq - HOLD // 2, marks[2].seq - 1),
	mean(marks[3].seq - HOLD // 2, marks[3].seq - 1), mean(upto - HOLD // 2, upto - 1)))
local unread = lost > 0 and (" (%d more came too fast for this reader)"):format(lost // ranks) or ""
print(("%d decisions, each the same on all %d ranks%s; check agreement was clean %d times of %d.")
	:format(compared, ranks, unread, looks, looks))
