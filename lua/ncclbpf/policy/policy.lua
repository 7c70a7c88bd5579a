-- SPDX-License-Identifier: MIT
-- Policies: offline (verify, disassemble, compare) and in the job (load, unload). An
-- object becomes an image here, outside the job, and travels as a sealed memory file.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local merge = require "ncclbpf.job.merge"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local source = require "ncclbpf.policy.source"
local tables = require "ncclbpf.policy.table"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local MAX_FILE = 64 << 20

-- ---- files --------------------------------------------------------------------

-- Split FILE?NAME=VALUE,... -> file, the values of parameters (nil: none)
function M.split(word)
	if type(word) == "table" then return word end
	local file, values = word:match "^([^?]*)%?(.*)$"
	return file or word, values
end

-- Return the policy name of a file: without folder and suffix. A script's rows are a table.
function M.name_of(path)
	path = M.split(path)
	if type(path) == "table" then return "table" end
	local name = path:match("[^/]*$")
	name = name:gsub("%.policy$", ""):gsub("%.bpf%.o$", ""):gsub("%.o$", ""):gsub(
		"%.csv$", ""):gsub("%.lua$", ""):gsub("%.json$", ""):gsub("%.c$", ""):gsub(
		"%.bpf$", "")
	name = name:gsub("[^%w_.%-]", "_"):sub(1, 63)
	return name ~= "" and name or "policy"
end

-- Read C, an object or an image as an image. -> bytes, clang's warnings
local read_image = errors.catch(function(path, name)
	local bytes, warnings
	if source.is_c(path) then
		bytes, warnings = try(source.compile(path))
	else
		bytes = try(core.read(path, MAX_FILE))
	end
	if core.is_image(bytes) then return bytes end
	local image, err = core.object_image(bytes, name or M.name_of(path))
	if not image then
		err = errors.from_reply(err)
		err.object = path
		local near = warnings and err.code == "unknown_symbol" and source.undeclared(path)
		err.detail = near and err.message .. "\n" .. near or nil
		if bytes:sub(1, 4) ~= "\127ELF" then
			err.hint =
				"a policy is a BPF object (clang -target bpf -c) " ..
				"or an image (policy build)"
		end
		return nil, err
	end
	return image, warnings
end)

-- Return an image with the values of parameters, "NAME=VALUE,..."; nil: as they are. @label: the
-- policy as the user calls it -> bytes, a table's notes; raises errors
local function with_values(bytes, values, label)
	if not values then return bytes end
	local image, told = tables.set(bytes, values)
	if not image and not told then image, told = core.image_set(bytes, values) end
	return errors.about(label, image, told)
end

-- Read a file (C, an object, a table or an image) as an image. @path: FILE or FILE?NAME=VALUE,...
-- @coherence: "off" compiles tables whose answers differ between ranks. -> bytes, clang's warnings
-- or a table's notes
M.image_bytes = errors.catch(function(path, name, coherence)
	local file, values = M.split(path)
	if tables.is_source(file) then
		return tables.open(file, { name = name or M.name_of(file), coherence = coherence,
			values = values })
	end
	local bytes, warnings = try(read_image(file, name))
	local image, notes = with_values(bytes, values, M.label(path))
	return image, notes or warnings
end)

-- Read a policy from a file. -> image, its description (warnings: clang's, or a table's notes), its
-- bytes
M.open = errors.catch(function(path, name, coherence)
	local bytes, warnings = try(M.image_bytes(path, name, coherence))
	local label = M.label(path)
	if name then bytes = errors.about(label, core.image_named(bytes, name)) end
	local image = errors.about(label, core.image(bytes))
	local info = image:info()
	info.warnings = warnings and warnings ~= "" and warnings:gsub("\n+$", "") or nil
	return image, info, bytes
end)

-- Return a file, or a script's rows, as messages name it.
function M.label(path)
	return type(path) == "table" and "table " .. tostring(path.name or "of rows") or path
end

-- Is @word a file rather than a policy of the job?
function M.is_file(word)
	word = M.split(word)
	return type(word) == "table" or word:find("/", 1, true) ~= nil or word:find("%.o$") ~= nil
		or word:find("%.policy$") ~= nil or tables.is_source(word) or source.is_c(word)
end

-- ---- verdicts -----------------------------------------------------------------

local function decode_finding(v)
	if v.finding_json then v.finding = core.decode(v.finding_json) end
	v.finding_json = nil
	return v
end

-- Programs of SEC("env") may answer differently on the ranks. The shell warns about such
-- programs.
local function env_warnings(image, number, spent)
	local v, err = image:verify_env(number, spent)
	if err then try(nil, err) end
	if not v then return end
	local at, finding = {}, decode_finding(v).finding
	for _, l in ipairs(image:disasm(number) or {}) do
		if l.line then at = l end
		if l.pc == finding.pc then break end
	end
	return core.array { { pc = finding.pc, file = at.file, line = at.line,
		text = (v.unknown and "it is not known whether ranks find different variables: "
			or "ranks may find different variables: ") .. finding.known,
		hint = finding.hint, notes = finding.notes } }
end

local function warning_line(p, w)
	return ("warning: %s: program %s: %s; %s"):format(
		w.line and ("%s:%d"):format(w.file or "?", w.line) or "slot " .. w.pc,
		p.name, w.text, w.hint)
end

local function note_line(p, n, source)
	local at = n.line and ("%s:%d"):format(n.file and n.file:match "[^/]*$" or "?", n.line)
		or "slot " .. n.pc
	local text = ("note: %s: program %s: %s; %s"):format(at, p.name, n.text, n.hint)
	if source and n.source then
		text = ("%s\n%7d | %s"):format(text, n.line, n.source:match "^%s*(.-)%s*$")
	end
	return text
end

-- Return the notes of all programs as text: their number, then one line for each. @source: also the
-- source line.
local function note_lines(v, source)
	local lines = {}
	for _, p in ipairs(v.programs) do
		for _, n in ipairs(p.notes) do lines[#lines + 1] = note_line(p, n, source) end
	end
	if #lines > 0 then
		table.insert(lines, 1, #lines == 1 and "1 note" or #lines .. " notes")
	end
	return lines
end

-- Verify the programs of an image. -> {accepted, programs: [{name, section, hook, accepted, stats,
-- finding, text, steps, notes: [{class, pc, text, hint, file, line, source}]}], budget: {work,
-- work_max, memory_bytes, memory_max_bytes}} opts.spent: the work that the programs so far took of
-- the policy's budget.
M.verdict = errors.catch(function(image, info, opts)
	local list, accepted = core.array {}, true
	local budget = try(image:budget())
	opts = opts or {}
	opts.spent = 0
	for i, p in ipairs(info.programs) do
		local v = try(image:verify(i, opts))
		opts.spent = opts.spent + v.stats.work
		decode_finding(v)
		v.notes = core.array(v.notes)
		v.name, v.section, v.hook, v.insns = p.name, p.section, p.hook, p.insns
		if p.hook == "env" and v.accepted then
			v.warnings = env_warnings(image, i, opts.spent)
		end
		accepted = accepted and v.accepted
		list[i] = v
	end
	budget.work = opts.spent
	return { name = info.name, digest = info.digest, accepted = accepted, programs = list,
		budget = budget }
end)

-- Return the error of the first refused program. @steps: include the steps that lead there.
-- @warnings: clang's, which often tell why; nil: none, or the caller shows them
function M.refusal(verdict, path, steps, warnings)
	for _, p in ipairs(verdict.programs) do
		if not p.accepted then
			local detail = p.text
			if steps and p.steps ~= "" then
				detail = detail .. "  notes:\n" .. p.steps
			end
			if warnings then detail = ("%s\n%s"):format(detail, warnings) end
			return errors.new("verify_rejected", p.message, {
				object = path, hint = p.hint, at = p.at, finding = p.finding,
				detail = detail,
			})
		end
	end
end

-- A job that refuses a program sends only the finding. Verify the program here to get the
-- full text.
local function explain_refusal(err, image, info)
	if err.code ~= "verify_rejected" or err.detail then return err end
	local v = M.verdict(image, info)
	local same = v and M.refusal(v, nil, nil, info.warnings)
	if same and (not err.finding or not same.finding or err.finding.pc == same.finding.pc) then
		err.detail = same.detail
		err.hint = err.hint or same.hint
	end
	return err
end

-- ---- offline commands -----------------------------------------------------------

local function verdict_rows(v)
	local rows = {}
	for i, p in ipairs(v.programs) do
		rows[i] = {
			program = p.name, hook = p.hook, verdict = p.accepted and "accepted"
				or "refused", insns = p.insns,
			insns_walked = p.stats.insns_walked, states_peak = p.stats.states_peak,
			stack_bytes = p.stats.stack_bytes, time_us = p.stats.time_us,
			run = p.stats.run,
		}
	end
	return rows
end

-- Return the policy's use of its limits, shown on request or if it is large.
local function budget_line(b, asked)
	if not asked and b.work * 2 < b.work_max and b.memory_bytes * 2 < b.memory_max_bytes then
		return
	end
	return ("budget: %d of %d instructions to verify it; maps take %s of %s"):format(
		b.work, b.work_max, units.bytes(b.memory_bytes), units.bytes(b.memory_max_bytes))
end

-- Return what to say about a program whose run may exceed its limit. Controllers are not refused,
-- because no decision waits for them.
local function long_run(p)
	local s = p.stats
	return ("note: program %s takes up to %d weighted instructions (%.1f ms); "):format(
		p.name, s.run, s.run / 1e6)
		.. (p.hook == "controller" and "loops of a controller end early after %d"
		or "a job refuses more than %d (NCCLBPF_MAX_RUN)"):format(s.run_max)
end

-- Return the costliest loop of each program, and the limit of a run.
local function run_lines(v)
	local t = {}
	for _, p in ipairs(v.programs) do
		local s = p.stats
		if p.accepted and s.loop_pc then
			local where = s.loop_line and ("%s:%d"):format(s.loop_file, s.loop_line)
				or "slot " .. s.loop_pc
			local n = s.loop_iterations
			local times = n > 0 and ("%d iterations"):format(n)
				or "an unknown number of iterations"
			local text = "program %s: the costliest loop, at %s, " ..
				"takes %d %% of its time: %s of %d weighted instructions%s"
			local early = "; loops end early after %d in a " ..
				(p.hook == "tuner" and "decision" or "run")
			t[#t + 1] = text:format(p.name, where, s.loop_share, times, s.loop_length,
				s.loops and early:format(s.run_max) or "")
		end
		if p.accepted and s.run > s.run_max then t[#t + 1] = long_run(p) end
	end
	return t
end

function M.cmd_verify(ctx)
	local path = ctx.args[1]
	local coherence = ctx:word("coherence", { "strict", "off" })
	local image, info = try(M.open(path, nil, coherence))
	local v = try(M.verdict(image, info, { coherence_off = coherence == "off",
		trace = (ctx.flags.verbose or 0) > 1 }))
	local foot, failure = { info.warnings }, M.refusal(v, M.label(path), ctx.flags.verbose)
	for _, line in ipairs(run_lines(v)) do foot[#foot + 1] = line end
	for _, p in ipairs(v.programs) do
		if p.trace then foot[#foot + 1] = (p.trace:gsub("\n$", "")) end
		p.steps = nil -- finding has them
		for _, w in ipairs(p.warnings or {}) do foot[#foot + 1] = warning_line(p, w) end
	end
	for _, line in ipairs(note_lines(v, ctx.flags.verbose)) do foot[#foot + 1] = line end
	foot[#foot + 1] = budget_line(v.budget, ctx.flags.verbose)
	return {
		schema = "policy.verify/1", data = v, rows = verdict_rows(v), id = "program",
		foot = foot,
		columns = { { "program" }, { "hook" }, { "verdict" }, { "insns", num = true },
			{ "insns_walked", title = "WALKED", num = true },
			{ "states_peak", title = "STATES", num = true },
			{ "stack_bytes", title = "STACK", num = true },
			{ "time_us", title = "TIME us", num = true },
			{ "run", title = "RUN ns", num = true } },
		failure = failure, failure_in_data = true,
	}
end

local function dump_text(programs)
	local t = {}
	for _, p in ipairs(programs) do
		if p.err then
			t[#t + 1] = ("program %s: %s"):format(p.name, p.err)
		else
			t[#t + 1] = ("program %s, section %s"):format(p.name, p.section)
		end
		local file, at_line
		for _, l in ipairs(p.lines or {}) do
			if l.func and l.pc > 0 then t[#t + 1] = ("function %s"):format(l.func) end
			if l.source and l.source ~= "" and (
				l.file ~= file or l.line ~= at_line) then
				at_line = l.line
				local at = l.file ~= file and l.file and l.file .. ":" or ""
				file = l.file or file
				t[#t + 1] = ("      ; %s%s %s"):format(
					at, l.line or "?", (l.source:gsub("^%s+", "")))
			end
			t[#t + 1] = ("%5d: %s"):format(l.pc, l.insn)
		end
	end
	return table.concat(t, "\n")
end

-- Disassemble an image. -> {name, digest, programs: [{name section lines}]}
M.dump = errors.catch(function(image, info)
	local programs = core.array {}
	for i, p in ipairs(info.programs) do
		local lines = try(image:disasm(i))
		programs[i] = { name = p.name, section = p.section, lines = core.array(lines) }
	end
	return { name = info.name, digest = info.digest, programs = programs }
end)

-- Return true if a tuner program of the image reads NCCL's cost table.
function M.asks_costs(image, info)
	for i, p in ipairs(info.programs) do
		for _, l in ipairs(p.hook == "tuner" and try(image:disasm(i)) or {}) do
			local helper = l.insn:match "^call bpf_nccl_(%w+)"
			if helper == "cost" or helper == "cheapest" then return true end
		end
	end
	return false
end

-- Return the note about a policy that asks for NCCL's costs and gets none.
-- @why: about the costs, such as "are not known here"
function M.costs_note(name, why)
	return ("note: %s asks for NCCL's costs, which %s; its answers in a job may differ"):format(
		name, why)
end

-- Return the image of a policy of the job, with the values of parameters, or nil, and its
-- description (warnings: a table's notes); raises errors
function M.exported(ctx, name, values, label)
	local _, object = try(read.one(ctx, "policy export " .. session.quote(name),
		{ want_object = true }))
	local bytes, notes = with_values(object, values, label)
	local image = try(core.image(bytes))
	local info = image:info()
	info.warnings = notes
	return image, info, bytes
end

-- Return the image that a word names: a file's, or that of a policy of the job, each with the
-- values of parameters behind it.
function M.resolve(ctx, word)
	local name, values = M.split(word)
	if M.is_file(word) or (core.stat(name) or {}).kind == "file" then
		return M.open(word, nil, ctx.opt.coherence)
	end
	return M.exported(ctx, name, values, word)
end

function M.cmd_dump(ctx)
	local image, info = try(M.resolve(ctx, ctx.args[1]))
	local d = try(M.dump(image, info))
	local rows = {}
	for _, p in ipairs(d.programs) do
		for _, l in ipairs(p.lines) do
			rows[#rows + 1] = { program = p.name, pc = l.pc, insn = l.insn,
				file = l.file, line = l.line, source = l.source }
		end
	end
	return {
		schema = "policy.dump/1", data = d, rows = rows, text = dump_text(d.programs),
		id = "program",
		columns = { { "program" }, { "pc", num = true }, { "insn" }, { "file" },
			{ "line", num = true }, { "source" } },
	}
end

-- ---- differences ----------------------------------------------------------------

-- Compare two lists of lines by their longest common subsequence -> list of {sign, text}.
-- A common start and end are taken off first. Above 4 million cells the rest is not searched:
-- all of a is removed and all of b added.
local function compare(a, b)
	local first, la, lb, out, t = 1, #a, #b, {}, {}
	while first <= la and first <= lb and a[first] == b[first] do first = first + 1 end
	while la >= first and lb >= first and a[la] == b[lb] do la, lb = la - 1, lb - 1 end
	local function put(sign, list, from, to)
		for i = from, to do out[#out + 1] = { sign, list[i] } end
	end
	put(" ", a, 1, first - 1)
	local i, j = first, first
	if (la - first + 1) * (lb - first + 1) > 4000000 then
		put("-", a, first, la)
		put("+", b, first, lb)
		i, j = la + 1, lb + 1
	end
	-- t[x][y]: the number of texts that a from x on and b from y on have in common
	for x = la + 1, i, -1 do
		t[x] = {}
		for y = lb + 1, j, -1 do
			t[x][y] = (x > la or y > lb) and 0 or a[x] == b[y] and t[x + 1][y + 1] + 1
				or math.max(t[x + 1][y], t[x][y + 1])
		end
	end
	while i <= la or j <= lb do
		if i <= la and j <= lb and a[i] == b[j] then
			put(" ", a, i, i)
			i, j = i + 1, j + 1
		elseif i <= la and (j > lb or t[i + 1][j] >= t[i][j + 1]) then
			put("-", a, i, i)
			i = i + 1
		else
			put("+", b, j, j)
			j = j + 1
		end
	end
	put(" ", a, la + 1, #a)
	return out
end

local function map_text(m)
	return ("%s: %s, key %d, value %d, entries %d, flags %d%s%s"):format(
		m.name, m.type, m.key_size, m.value_size,
		m.max_entries, m.flags, m.coherent and ", coherent" or "", m.shared and ", shared"
			or "")
end

-- Return lines of an image for a comparison: maps, then programs. Jump offsets are relative, so an
-- insertion changes few lines.
local function listing(image, info)
	local t = {}
	for _, m in ipairs(info.maps) do
		t[#t + 1] = "map " .. map_text(m) .. (m.init
			and ", content " .. core.sha256(m.init):sub(1, 8) or "")
	end
	for i, p in ipairs(info.programs) do
		t[#t + 1] = ("program %s, section %s"):format(p.name, p.section)
		local lines = try(image:disasm(i))
		for _, l in ipairs(lines) do
			if l.func and l.pc > 0 then t[#t + 1] = "function " .. l.func end
			t[#t + 1] = "  " .. l.insn
		end
	end
	return t
end

-- Three unchanged lines around each change, like diff -u.
local function hunks(lines)
	local keep, out, last = {}, {}, 0
	for i, l in ipairs(lines) do
		if l[1] ~= " " then
			for k = math.max(1, i - 3), math.min(#lines, i + 3) do keep[k] = true end
		end
	end
	for i, l in ipairs(lines) do
		if keep[i] then
			if last > 0 and i > last + 1 then out[#out + 1] = "..." end
			out[#out + 1] = l[1] .. l[2]
			last = i
		end
	end
	return out
end

-- Tables are compared by rows, other policies by maps and instructions.
function M.diff(ia, a, ib, b, bytes_a, bytes_b)
	local ra, rb = tables.listings(bytes_a, bytes_b)
	if ra then return compare(ra, rb) end
	local la = try(listing(ia, a))
	local lb = try(listing(ib, b))
	return compare(la, lb)
end

function M.cmd_diff(ctx)
	local ia, a, bytes_a = try(M.resolve(ctx, ctx.args[1]))
	local ib, b, bytes_b = try(M.resolve(ctx, ctx.args[2]))
	local lines = try(M.diff(ia, a, ib, b, bytes_a, bytes_b))
	local rows = {}
	for _, l in ipairs(lines) do
		if l[1] ~= " " then
			rows[#rows + 1] = { change = l[1] == "-" and "removed" or "added",
				text = l[2] }
		end
	end
	local head = ("- %s %s\n+ %s %s"):format(a.name, a.digest:sub(1, 8), b.name,
		b.digest:sub(1, 8))
	local text = #rows > 0 and head .. "\n" .. table.concat(hunks(lines), "\n")
		or a.digest == b.digest and "equal: " .. a.name .. " " .. a.digest:sub(1, 8)
		or head .. "\nequal in maps and instructions; names or source lines differ"
	return {
		schema = "policy.diff/1", rows = rows, columns = { { "change" }, { "text" } },
		text = text,
		data = { a = { name = a.name, digest = a.digest },
			b = { name = b.name, digest = b.digest },
			equal = #rows == 0, changes = core.array(rows) },
	}
end

-- ---- in the job -------------------------------------------------------------------

-- Return the values of a policy's parameters as text, as they stand behind a file: "a=1,b=2".
local function params_text(list)
	return #list > 0 and table.concat(lists.map(list, function(p)
		return ("%s=%s"):format(tostring(p.name), tostring(p.value))
	end), ",") or nil
end

local list_columns = {
	{ "name" }, { "digest", show = format.short },
	-- Show "yes" if one rank uses the policy, because policy unload then refuses it.
	{ "in_use", title = "IN USE", merge = "any", show = function(v, row)
		local some = type(row.comms) == "table" and #row.comms or 0
		if not v then return "no" end
		if not row.position and some == 0 then
			return "yes, until its communicators pass a fence"
		end
		return "yes" .. (row.position and ", #" .. read.number(row.position) + 1 or "")
			.. (some > 0 and ", in " .. units.count(some, "communicator") or "")
	end },
	{ "comms", wide = true, show = function(v)
		return type(v) == "table" and #v > 0 and table.concat(v, ",") or "-"
	end },
	{ "source", wide = true }, { "hooks", wrap = true }, { "maps", num = true, wide = true },
	{ "params", wide = true, wrap = true },
	{ "insns", num = true, wide = true },
	{ "engine", wide = true }, { "code_bytes", title = "CODE", num = true, wide = true },
	{ "runs", num = true, merge = "sum" }, { "overrides", num = true, merge = "sum" },
	{ "refused", num = true, wide = true, merge = "sum" },
	{ "mean_ns", title = "MEAN ns", num = true, wide = true, merge = "max" },
	{ "stack_bytes", title = "STACK", num = true, wide = true },
	{ "time_us", title = "VERIFY us", num = true, wide = true, merge = "max" },
}

local function list_rows(d)
	local rows = {}
	for i, p in ipairs(read.list(d, "policies")) do
		local programs, engine, mean = read.list(p, "programs"), nil, nil
		for _, g in ipairs(programs) do
			if type(g.mean_ns) == "number" then mean = (mean or 0) + g.mean_ns end
			engine = engine or read.text(g.engine)
		end
		local v, row = read.record(p.verify), read.sums(programs, { "runs", "overrides",
			"refused", "insns", "code_bytes" })
		for _, k in ipairs { "name", "digest", "source", "in_use", "position", "comms" } do
			row[k] = p[k]
		end
		row.maps = type(p.maps) == "table" and #p.maps or p.maps
		row.params = params_text(read.list(p, "params"))
		row.hooks = table.concat(lists.map(programs, function(g)
			return tostring(g.hook)
		end), ",")
		row.mean_ns, row.engine, row.stack_bytes, row.time_us = mean, engine, v.stack_bytes,
			v.time_us
		rows[i] = row
	end
	return rows
end

function M.cmd_list(ctx)
	return read.command(ctx, {
		schema = "policy.list/1", line = "policy list", rows = list_rows,
		columns = list_columns, id = "digest", name = "name",
		empty = "no policies are held, so NCCL decides",
		foot = function(per) return reach.lines(per[1] and per[1].data) end,
	})
end

local show_columns = {}
for _, c in ipairs(list_columns) do
	local t = lists.copy(c)
	t.wide = nil
	-- below, policy show has the parameters with their ranges
	if c[1] ~= "params" then show_columns[#show_columns + 1] = t end
end

function M.cmd_show(ctx)
	return read.command(ctx, {
		schema = "policy.show/1", line = session.line { "policy", "show", ctx.args[1] },
		columns = show_columns, id = "digest", name = "name", vertical = true,
		rows = function(d) return list_rows { policies = { d } } end,
		foot = function(per)
			local d = read.record(per[1] and per[1].data)
			local names = lists.map(read.record(d.maps), tostring)
			local foot = { "maps: " .. (#names > 0 and table.concat(names, ", ")
				or "none") }
			local text = "parameter %s: %s (default %s, allowed %s to %s)"
			for _, p in ipairs(read.list(d, "params")) do
				foot[#foot + 1] = text:format(tostring(p.name), tostring(p.value),
					tostring(p.default), tostring(p.min), tostring(p.max))
			end
			return foot
		end,
	})
end

function M.cmd_time(ctx)
	return read.command(ctx, {
		schema = "policy.time/1", line = session.line { "policy", "time", ctx.args[1] },
		id = "timed",
		columns = { { "timed" }, { "sample", num = true } },
		rows = function(d)
			return { { timed = d.on and "on" or "off", sample = d.sample } }
		end,
		foot = function()
			return { "policy show NAME has the mean of the samples; " ..
				"so has policy list -o wide" }
		end,
	})
end

-- Discard a policy in processes that did not have it. @before: replies to policy list before the
-- load. -> members that unloaded it
function M.unload(s, digest, results, before)
	local back = {}
	for i, r in ipairs(results) do
		local had = read.list(before[i] and before[i].data, "policies")
		if r.data and not lists.has(lists.map(had, "digest"), digest) then
			back[#back + 1] = r.member
		end
	end
	if #back > 0 then s:ask("policy unload " .. digest, { members = back }) end
	return back
end

-- Load files into all processes. -> results, the replies to policy list before the load |
-- nil, err
function M.load(s, name, bytes, image, info)
	if s.hold_policy then
		local results, err = s:hold_policy(name, bytes, info)
		return results, results and {} or err
	end
	local before = s:ask("policy list")
	local results = s:ask("policy load " .. session.quote(name),
		{ object = bytes, what = "policy load" })
	local failures = lists.select(results, function(r) return r.err end)
	if #failures == 0 then return results, before end
	local back = M.unload(s, info.digest, results, before)
	local err = session.sum_up(failures, #results)
	if #back > 0 then errors.because(err, "%s loaded it and rolled back", merge.who(back)) end
	return nil, explain_refusal(err, image, info)
end

function M.cmd_load(ctx)
	local path = ctx.args[1]
	local image, info, bytes = try(M.open(path, ctx.opt.name))
	local s = try(ctx:session())
	local name = ctx.opt.name or info.name
	if s.fleet then
		return nil, errors.new("not_supported",
			"a job of several sites loads a policy only with the change that uses it", {
			object = M.label(path),
			hint = "policy use FILE verifies it on all sites and uses it; " ..
				"-n policy use FILE only verifies it" })
	end
	local results, before = errors.about(M.label(path),
		M.load(s, name, bytes, image, info))
	if ctx.flags.dry_run then M.unload(s, info.digest, results, before) end
	local d = results[1].data
	local v = read.record(d.verify)
	local row = { name = d.name or name, digest = d.digest or info.digest, verdict = "accepted",
		insns_walked = v.insns_walked,
		stack_bytes = v.stack_bytes, time_us = v.time_us, processes = #results }
	local list = core.array(lists.map(results, function(r)
		return { pid = r.member.pid, rank = r.member.rank, data = r.data }
	end))
	local foot = { info.warnings }
	-- another policy of this name may be the newer one
	local others = lists.select(read.list(read.record(before[1]).data, "policies"), function(p)
		return p.name == row.name and p.digest ~= row.digest
	end)
	foot[#foot + 1] = ctx.flags.dry_run and "dry run: every process accepts the policy; "
		.. "none holds it"
		or "held, not in use; next: policy use "
			.. (#others > 0 and format.short(row.digest) or tostring(row.name))
	return {
		schema = "policy.load/1", data = { name = row.name, digest = row.digest,
			verdict = "accepted", processes = list },
		rows = { row }, id = "name",
		columns = { { "name" }, { "digest", show = format.short }, { "verdict" },
			{ "insns_walked", title = "WALKED", num = true },
			{ "stack_bytes", title = "STACK", num = true },
			{ "time_us", title = "VERIFY us", num = true },
			{ "processes", num = true } },
		foot = foot,
	}
end

return M
