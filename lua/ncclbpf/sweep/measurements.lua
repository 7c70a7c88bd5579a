-- SPDX-License-Identifier: MIT
-- Measurements from files: the output of nccl-tests, its JSON, NVIDIA's Inspector, and CSV in the
-- columns of NVIDIA's tuner tools. An error names file, line, column, value found and values
-- allowed. Only log lines between those of nccl-tests are skipped.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local csv = require "ncclbpf.base.csv"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local decision = require "ncclbpf.policy.table_rows"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local LIMIT = 64 << 20

-- Raise the error of a place in a file. @line, @col: nil if they are not known
local function bad(file, line, col, fmt, ...)
	error(errors.new("malformed", fmt:format(...),
		{ where = { file = file, line = line, col = col } }), 0)
end

-- ---- words ------------------------------------------------------------------

local PROGRAMS = {
	all_reduce = "allreduce", all_gather = "allgather", reduce_scatter = "reducescatter",
	broadcast = "broadcast", reduce = "reduce",
}

-- Return the collective that a name such as "allreduce", or a program such as "all_reduce_perf" or
-- a path to it, stands for. nil: the name is unknown.
function M.collective(text)
	local word = ascii.lower(tostring(text)):match "[^/\\]*$"
	word = word:gsub("%.exe$", ""):gsub("_perf.*$", ""):gsub("_mpi$", "")
	return PROGRAMS[word] or core.nccl("coll", word) and word or nil
end

local words_of = require("ncclbpf.job.collectives").words_of
M.words_of = words_of

-- Parse "ring/ll128" or "ring/ll128x8". -> algo, proto, channels | nil, text of the allowed values
function M.combination(text)
	local a, p = ascii.lower(tostring(text)):match "^([%w_]+)/([%w_]+)$"
	local n = 0
	if p and not core.nccl("proto", p) then
		local c
		p, c = p:match "^(.-)x(%d+)$"
		n = math.tointeger(tonumber(c)) or 0
	end
	if a and p and core.nccl("algo", a) and core.nccl("proto", p)
		and n <= decision.CHANNELS then
		return a, p, n
	end
	return nil, ("ALGORITHM/PROTOCOL[xCHANNELS] of %s and %s"):format(
		table.concat(words_of "algo", ", "), table.concat(words_of "proto", ", "))
end

-- ---- what nccl-tests prints ----------------------------------------------------

local function tokens(text)
	local t = {}
	for at, word in text:gmatch "()(%S+)" do t[#t + 1] = { word = word, col = at } end
	return t
end

-- Remove the prefix that launchers add to each line: "[1,0]<stdout>:", "0: ", "node7: ".
local function untagged(line)
	local rest = line:match "^%[%d+,%d+%]<std%a+>:?%s?(.*)$"
		or line:match "^%s*[%w_.%-]*%d+:%s(.*)$"
	if rest and (rest:match "^%s*#" or rest:match "^%s*%d+%s") then
		return rest, #line - #rest
	end
	return line, 0
end

local function header_of(line)
	local names, times, n = tokens(line:gsub("^%s*#", " ")), {}, 0
	for i, t in ipairs(names) do
		if t.word == "time" or t.word == "cputime" then times[#times + 1] = i end
		if t.word == "size" then n = i end
	end
	if n == 0 or #times == 0 then return nil end
	return { size = n, times = times, fields = #names, more = names[#names].word == "timestamp"
		and 1 or 0 }
end

local PLACES = { "out-of-place", "in-place" }

local function row_of(out, file, n, line, shift, head, about)
	local t = tokens(line)
	if #t ~= head.fields + head.more then
		bad(file, n, shift + 1,
			"the line has %d fields, but the header in line %d requires %d",
			#t, head.line, head.fields + head.more)
	end
	local size = math.tointeger(tonumber(t[head.size].word))
	if not size or size < 0 then
		bad(file, n, shift + t[head.size].col,
			"size is %q, but must be a whole number of bytes", t[head.size].word)
	end
	for k, at in ipairs(head.times) do
		local word = t[at].word
		local us = tonumber(word)
		if word ~= "N/A" and (not us or us ~= us or us <= 0 or us == math.huge) then
			bad(file, n, shift + t[at].col,
				"time is %q, but must be microseconds above 0, or N/A", word)
		end
		if us then
			out[#out + 1] = { bytes = size, us = us, place = PLACES[k] or tostring(k),
				line = n, about = about }
		end
	end
end

-- Returns a list of {bytes, us, place} and a table {coll, ranks, nodes}.
local function read_text(file, text)
	local out, about, head, n = {}, { ranks = 0 }, nil, 0
	local hosts, nhosts = {}, 0
	for whole in (text .. "\n"):gmatch "([^\n]*)\n" do
		n = n + 1
		local line, shift = untagged((whole:gsub("\r$", "")))
		if line:match "^%s*#" then
			local h = header_of(line)
			if h then h.line, head = n, h end
			about.coll = about.coll or M.collective(
				line:match "Collective test starting:%s*(%S+)" or "")
			local rank, host = line:match "^%s*#%s+Rank%s+(%d+).-%son%s+(%S+)%s+device"
			if rank then
				about.ranks = math.max(about.ranks, tonumber(rank) + 1)
				if not hosts[host] then hosts[host], nhosts = true, nhosts + 1 end
			end
		elseif line:match "^%s*%d+%s+%d+%s" then
			if not head then
				bad(file, n, 1, "no header is before this row; it must be a line "
					.. "with # size ... time ...")
			end
			row_of(out, file, n, line, shift, head, about)
		end
	end
	if not head then bad(file, 1, 1, "no header of nccl-tests (# size ... time ...)") end
	if #out == 0 then bad(file, n, 1, "no row with a time") end
	about.ranks = about.ranks > 0 and math.tointeger(about.ranks) or nil
	about.nodes = nhosts > 0 and nhosts or nil
	return out, about
end

-- ---- its JSON ------------------------------------------------------------------------

-- Return the time of one placement: the median of the iterations if the file has them. Iterations
-- of one run are not independent samples.
local function json_times(file, i, r, key)
	local list = type(r[key .. "_per_iter"]) == "table" and r[key .. "_per_iter"].times_us
	if type(list) ~= "table" or #list == 0 then
		local body = r[key]
		if type(body) ~= "table" then return {} end
		list = { body.time == nil and body.cpu_time or body.time }
	end
	for _, us in ipairs(list) do
		if type(us) ~= "number" or us ~= us or us <= 0 or us == math.huge then
			bad(file, nil, nil, "results[%d]: %s is %s, but must be "
				.. "microseconds above 0", i, key, tostring(us))
		end
	end
	return core.block_medians(list, #list)
end

local function json_about(d)
	local about, env = {}, {}
	about.coll = type(d.args) == "table" and M.collective(d.args[1] or "") or nil
	for _, e in ipairs(type(d.env) == "table" and d.env or {}) do
		local k, v = tostring(e):match "^(NCCL_%u+)=(.*)$"
		if k then env[k] = ascii.lower(v) end
	end
	if core.nccl("algo", env.NCCL_ALGO or "-") and core.nccl(
		"proto", env.NCCL_PROTO or "-") then
		about.algo, about.proto, about.channels = env.NCCL_ALGO, env.NCCL_PROTO, 0
	end
	local devices = type(d.config) == "table" and type(d.config.devices) == "table"
		and d.config.devices or d.devices
	local hosts, n = {}, 0
	for _, x in ipairs(type(devices) == "table" and devices or {}) do
		about.ranks = (about.ranks or 0) + 1
		if type(x) == "table" and x.hostname and not hosts[x.hostname] then
			hosts[x.hostname], n = true, n + 1
		end
	end
	about.nodes = n > 0 and n or nil
	return about
end

local function read_json(file, text)
	local d, err = core.decode(text)
	if not d then bad(file, nil, nil, "%s", err.message) end
	if type(d) ~= "table" or type(d.results) ~= "table" then
		bad(file, nil, nil, "the file has no field results; "
			.. "it must be the JSON of nccl-tests")
	end
	if math.type(d.version) ~= "integer" or d.version < 1 then
		bad(file, nil, nil, "version is %s, but must be a whole number from 1 on",
			tostring(d.version))
	end
	local about, out = json_about(d), {}
	about.warning = d.version > 3
		and ("%s: version %d of nccl-tests' JSON is not supported " ..
			"(the newest supported is 3)"):format(file, d.version) or nil
	for i, r in ipairs(d.results) do
		local size = type(r) == "table" and math.tointeger(r.size)
		if not size or size < 0 then
			bad(file, nil, nil,
				"results[%d]: size is %s, but must be a number of bytes", i,
				type(r) == "table" and tostring(r.size) or type(r))
		end
		for k, key in ipairs { "out_of_place", "in_place" } do
			for _, us in ipairs(json_times(file, i, r, key)) do
				out[#out + 1] = { bytes = size, us = us, place = PLACES[k],
					about = about }
			end
		end
	end
	if #out == 0 then bad(file, nil, nil, "no result with a time") end
	return out, about
end

-- ---- measurement CSV ---------------------------------------------------------------------

local COLUMNS = { "collective", "size_bytes", "algorithm", "protocol", "channels", "nodes", "ranks",
	"pipeOps", "regBuff", "cost_metric", "bandwidth_gbps", "latency_us" }
local KNOWN = {}
for _, c in ipairs(COLUMNS) do KNOWN[ascii.lower(c)] = c end

-- Return the fields of a line without the blanks around them: {word, col}.
local function split_csv(line)
	local t = {}
	local texts, columns = csv.fields(line)
	for i, text in ipairs(texts) do
		t[i] = { word = text:match "^%s*(.-)%s*$", col = columns[i] + #text:match "^%s*" }
	end
	return t
end

local function csv_header(file, n, line)
	local head = { line = n }
	local t = split_csv(line)
	for i, f in ipairs(t) do
		local name = ascii.lower(f.word)
		if not KNOWN[name] then
			bad(file, n, f.col, "column %q is unknown; the columns are %s", f.word,
				table.concat(COLUMNS, ", "))
		end
		if head[name] then
			bad(file, n, f.col, "column %q occurs twice", f.word)
		end
		head[name] = i
	end
	head.fields = #t
	for _, c in ipairs { "collective", "size_bytes" } do
		if not head[c] then bad(file, n, 1, "no column %s", c) end
	end
	if not head.latency_us and not head.cost_metric then
		bad(file, n, 1,
			"no column latency_us or cost_metric, so the file has no times")
	end
	return head
end

local function whole(text)
	local v = math.tointeger(tonumber(text))
	return v and v >= 0 and v or nil
end

-- The reader and the allowed values of each field.
local READ = {
	collective = { M.collective, function() return table.concat(words_of "coll", ", ") end },
	size_bytes = { units.size, function() return "bytes (4194304, 4M)" end },
	algorithm = { function(w) return core.nccl("algo", w) and ascii.lower(w) end,
		function() return table.concat(words_of "algo", ", ") .. ", or default" end },
	protocol = { function(w) return core.nccl("proto", w) and ascii.lower(w) end,
		function() return table.concat(words_of "proto", ", ") .. ", or default" end },
	channels = { function(w) local v = whole(w) return v and v <= decision.CHANNELS and v end,
		function() return ("0 to %d, or -1"):format(decision.CHANNELS) end },
	nodes = { whole, function() return "a whole number, or -1" end },
	ranks = { whole, function() return "a whole number, or -1" end },
	latency_us = { function(w) local v = tonumber(w) return v and v == v and v > 0
		and v < math.huge and v end, function() return "microseconds above 0" end },
}
READ.cost_metric = READ.latency_us
local NONE = { [""] = true, ["-1"] = true, default = true, any = true, none = true }
local MUST = { collective = true, size_bytes = true, latency_us = true }

local function csv_row(file, n, line, head)
	local t, v = split_csv(line), {}
	if #t ~= head.fields then
		bad(file, n, 1,
			"the line has %d fields, but the header in line %d requires %d",
			#t, head.line, head.fields)
	end
	for name, how in pairs(READ) do
		local f = head[name] and t[head[name]]
		if f and not (NONE[ascii.lower(f.word)] and not MUST[name]) then
			v[name] = how[1](f.word) or nil
			if v[name] == nil then
				bad(file, n, f.col, "%s is %q, but must be %s", KNOWN[name],
					f.word, how[2]())
			end
		elseif MUST[name] and f then
			bad(file, n, f.col, "%s must have a value", KNOWN[name])
		end
	end
	if (v.algorithm == nil) ~= (v.protocol == nil) then
		bad(file, n, 1,
			"the row must have both algorithm and protocol, or neither (NCCL's choice)")
	end
	local us = v.latency_us or v.cost_metric
	if not us then bad(file, n, 1, "neither latency_us nor cost_metric has a value") end
	return { bytes = v.size_bytes, us = us, line = n, about = {
		coll = v.collective, algo = v.algorithm, proto = v.protocol, channels = v.channels
			or 0, nodes = v.nodes, ranks = v.ranks } }
end

local function read_csv(file, text)
	local out, head, n = {}, nil, 0
	for line in (text .. "\n"):gmatch "([^\n]*)\n" do
		n = n + 1
		line = line:gsub("\r$", "")
		if line:match "%S" and not line:match "^%s*#" then
			if not head then
				head = csv_header(file, n, line)
			else
				out[#out + 1] = csv_row(file, n, line, head)
			end
		end
	end
	if #out == 0 then bad(file, math.max(n, 1), 1, "no measurement") end
	return out, {}
end

-- ---- NVIDIA's Inspector ------------------------------------------------------------------------

-- Sources of times, the best first. All collectives of a file use one source, because host
-- times and GPU times cannot be compared.
local SOURCES = { kernel_gpu = 1, kernel_cpu = 2, collective_cpu = 3 }

local function inspector_row(file, n, d)
	if type(d) ~= "table" then
		bad(file, n, 1, "the line is a %s, but must be an object", type(d))
	end
	local h, c = d.header, d.coll_perf
	if c == nil then return end -- skip point-to-point operations and other kinds of lines
	if type(h) ~= "table" or type(c) ~= "table" then
		bad(file, n, 1, "header and coll_perf must be objects")
	end
	local coll = type(c.coll) == "string" and M.collective((ascii.lower(c.coll):gsub("_", "")))
		or nil
	if not coll then
		bad(file, n, 1, "coll_perf.coll is %s, but must be a collective", tostring(c.coll))
	end
	for _, k in ipairs { "coll_sn", "coll_msg_size_bytes" } do
		if math.type(c[k]) ~= "integer" or c[k] < 0 then
			bad(file, n, 1,
				"coll_perf.%s is %s, but must be a whole number from 0 on", k,
				tostring(c[k]))
		end
	end
	local us = c.coll_exec_time_us
	if type(us) ~= "number" or us ~= us or us < 0 or us == math.huge then
		bad(file, n, 1,
			"coll_perf.coll_exec_time_us is %s, but must be microseconds",
			tostring(us))
	end
	local source = c.coll_timing_source
	if not SOURCES[source] then
		bad(file, n, 1,
			"coll_perf.coll_timing_source is %s, but must be " ..
			"kernel_gpu, kernel_cpu or collective_cpu", tostring(source))
	end
	local algo, proto = type(c.coll_algo) == "string" and ascii.lower(c.coll_algo),
		type(c.coll_proto) == "string" and ascii.lower(c.coll_proto)
	local both = algo and proto and core.nccl("algo", algo) and core.nccl("proto", proto)
	return { comm = tostring(h.id):gsub("^0x", ""), coll = coll, seq = c.coll_sn,
		bytes = c.coll_msg_size_bytes, us = us, source = source, line = n,
		rank = math.tointeger(h.rank), ranks = math.tointeger(h.n_ranks),
			nodes = math.tointeger(h.nnodes), algo = both and algo or nil, proto = both
			and proto or nil }
end

local function better(a, b) return not b or SOURCES[a] < SOURCES[b] end

-- Return the slowest rank of each collective, by the best source of the file.
-- -> {comm, coll, seq, bytes, us, ranks, nodes, line, told}, source, left out
local function slowest(rows)
	local by, order, best = {}, {}, nil
	for _, r in ipairs(rows) do best = better(r.source, best) and r.source or best end
	local other = 0
	for _, r in ipairs(rows) do
		local key = ("%s %s %d"):format(r.comm, r.coll, r.seq)
		if r.source ~= best or r.us == 0 then
			other = other + 1
		elseif not by[key] then
			by[key], r.told = r, 1
			order[#order + 1] = r
		else
			by[key].us, by[key].told = math.max(by[key].us, r.us), by[key].told + 1
		end
	end
	return order, best, other
end

-- M.inspector(file, text) -> collectives as above, warning | nil, err
M.inspector = errors.catch(function(file, text)
	local rows, n = {}, 0
	for line in (text .. "\n"):gmatch "([^\n]*)\n" do
		n = n + 1
		if line:match "%S" then
			local d, err = core.decode(line)
			if d == nil then
				bad(file, n, 1, "%s", err and err.message
					or "the line must be a JSON object")
			end
			rows[#rows + 1] = inspector_row(file, n, d)
		end
	end
	if #rows == 0 then bad(file, math.max(n, 1), 1, "no coll_perf") end
	local list, source, other = slowest(rows)
	local told, all = 0, 0
	for _, r in ipairs(list) do
		if r.ranks then told, all = told + r.told, all + r.ranks end
	end
	local w = {}
	if source ~= "kernel_gpu" then
		w[#w + 1] = ("times are of the source %s, not of the GPU"):format(source)
	end
	if other > 0 then
		w[#w + 1] = (
			"%d lines of another source than %s, " ..
			"or without a time, do not count"):format(other, source)
	end
	if told < all then
		w[#w + 1] = (
			"%d of %d ranks' lines are there: a slower rank may be missing"):format(
			told, all)
	end
	return list, #w > 0 and file .. ": " .. table.concat(w, "; ") or nil
end)

local function read_inspector(file, text)
	local list, warning = try(M.inspector(file, text))
	local out = lists.map(list, function(r)
		return { bytes = r.bytes, us = r.us, line = r.line,
			about = { coll = r.coll, ranks = r.ranks, nodes = r.nodes, algo = r.algo,
			proto = r.proto } }
	end)
	return out, { warning = warning }
end

-- ---- any of them -----------------------------------------------------------------------------

-- M.read(entry) -> list of {coll, bytes, us, place, algo, proto, channels, ranks, nodes, run},
-- warning | nil, err
-- entry: {file=, coll=, algo=, proto=, channels=, ranks=, nodes=}; its values replace the ones
-- that the file lacks
M.read = errors.catch(function(entry)
	local text = try(core.read(entry.file, LIMIT))
	if text:sub(1, 2) == "\31\139" then
		return nil, errors.new("malformed", "the file is compressed",
			{ where = { file = entry.file }, hint = "decompress it with gunzip" })
	end
	local how = text:match "^%s*{" and (text:find('"coll_perf"', 1, true) and read_inspector
		or read_json) or text:match "^%s*#.-\n" and text:find("algbw", 1, true)
		and read_text
	if not how then how = text:find("algbw", 1, true) and read_text or read_csv end
	local list, about = how(entry.file, text)
	for _, s in ipairs(list) do
		for _, k in ipairs { "coll", "algo", "proto", "channels", "ranks", "nodes" } do
			s[k] = s.about[k]
			if s[k] == nil then s[k] = entry[k] end
			if (k == "algo" or k == "proto" or k == "channels") and entry.algo then
				s[k] = entry[k]
			end
		end
		s.about = nil
		s.channels = s.channels or 0
		if not s.coll then
			error(errors.new("malformed",
				"the file does not name the measured collective",
				{ where = { file = entry.file, line = s.line },
				hint = 'data = { { file = ..., coll = "allreduce" } }' }), 0)
		end
	end
	return list, about.warning
end)

return M
