-- SPDX-License-Identifier: MIT
-- slow_client.lua COUNT: tests of slow_client.t, after COUNT others
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local session = require "ncclbpf.job.session"
local n = tonumber(arg[1])
local sockets = os.getenv "NCCLBPF_SOCKET_DIR"
local top = sockets:match "^(.*)/"

local function ok(good, what, why)
	n = n + 1
	print(("%sok %d - %s"):format(good and "" or "not ", n, what))
	if not good then print("# " .. tostring(why)) end
end

local function await(path)
	for _ = 1, 6000 do
		if core.stat(path) then return true end
		core.sleep(0.01)
	end
	return false
end

local g = assert(session.attach({ job = "fake" }, 120))
local decode = core.decode
local before	-- whether all of the long reply was sent when the first one was decoded
core.decode = function(line)
	if before == nil then before = await(top .. "/sent") end
	return decode(line)
end
local r = g:ask "big"
core.decode = decode
ok(before and r[1].data and r[2].data, "all replies are read before one is decoded",
	r[1].err or r[2].err or "a reply was decoded while another one was being sent")

r = g:ask "end"
ok(r[1].data and r[2].err and r[2].err.message:find "closed the connection",
	"a process closes its connection", r[2].err or r[1].err)
g:refresh()
r = g:ask "more"
ok(r[1].data and r[2].err and r[2].err.code == "busy", "it has no place for a new one",
	r[2].err or r[1].err)
g:refresh()
r = g:ask "more"
ok(r[1].data and r[2].data, "the next command has one", r[2].err or r[1].err)

-- Lines until the process's buffer is full: the last one may be sent in part.
local conn = assert(core.connect(sockets .. "/deaf", 5))
local sizes, whole, err = { 65000, 50000, 33333, 20001, 7 }, 0, nil
repeat
	local size = sizes[whole % #sizes + 1]
	local sent
	sent, err = conn:send(string.char(97 + whole % 26):rep(size), 0.1)
	if sent then whole = whole + 1 end
until not sent
ok(err.code == "timed_out", "a process that reads nothing", err.message)
io.open(top .. "/read", "w"):close()
local part = conn:fd() == nil
local more = conn:send(("z"):rep(10), 5)
ok(not part or not more, "nothing can be sent after a part of a line")
conn:close()
ok(await(top .. "/deaf"), "the process reads")
local lines, bad = 0, nil
for line in io.lines(top .. "/deaf") do
	local _, ended, letters = line:match "^(%d+) (%a+) (%d+)$"
	if ended == "True" then lines = lines + 1 end
	if letters ~= "1" then bad = line end
end
ok(not bad and lines == whole + (more and 1 or 0), "and has each whole line once, and no mixed one",
	bad or ("%d lines of %d"):format(lines, whole))

-- Members of a group whose connections always have a line. A reply comes from rank @quiet at once,
-- and from the other rank behind @most lines of its stream. -> results, how many lines of the
-- stream were taken before the first reply, and in all
local function flooded(quiet, most)
	local taken, before, seconds = 0, nil, 0
	local members = {}
	for rank = 0, 1 do
		local full, id = false, nil
		members[rank + 1] = { rank = rank, pid = rank, streams = {}, conn = {
			send = function(_, text) id = text:match "^@(%d+)" return true end,
			fill = function() full = true return true, true end,
			line = function()
				if not full then return nil end
				full = false
				if rank ~= quiet and taken < most then
					return '{"id":99,"ok":true}'
				end
				before = before or taken
				return ('{"id":%s,"ok":true,"data":{}}'):format(id)
			end } }
		members[rank + 1].streams[99] = function()
			taken = taken + 1
			assert(taken <= 1000, "the request waits for the end of the stream")
		end
	end
	local now = clock.now
	clock.now = function() -- each look at the clock takes a second
		seconds = seconds + 1
		return seconds
	end
	local group = setmetatable({ members = members, timeout = 100, next_id = 1, trips = 0,
		caches = {} }, session.Group)
	local fine, results = pcall(group.ask, group, "status")
	clock.now = now
	group.members = {}
	return fine and results or { {}, {}, why = results }, before, taken
end
for quiet = 0, 1 do
	local results, before, taken = flooded(quiet, 20)
	ok(results[1].data and results[2].data and before <= 1 and taken == 20,
		("rank %d answers beside a busy stream"):format(quiet),
		results.why or ("%d and %d lines"):format(before, taken))
	results, before, taken = flooded(quiet, math.huge)
	local late = results[2 - quiet].err
	ok(results[quiet + 1].data and late and late.code == "timed_out" and before <= 1
		and taken <= 100, "and the stream does not lengthen the time limit",
		results.why or ("%d and %d lines"):format(before, taken))
end
