-- SPDX-License-Identifier: MIT
-- Split a line into words, and words into options and a command. Does no input or output, so
-- prompt, scripts, completion and tests share it.
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local commands = require "ncclbpf.commands.rows"
local format = require "ncclbpf.base.format"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- Split a line. Blanks separate words, quotes of both kinds group, a backslash quotes the
-- next character, {...} is a single word. -> words, start of each | nil, err, words so far,
-- starts
function M.split(line)
	local words, starts = {}, {}
	local word, start, quote, depth = nil, nil, nil, 0
	local i = 1
	while i <= #line do
		local c = line:sub(i, i)
		local blank = c == " " or c == "\t" or c == "\n"
		if quote then
			if c == quote then
				quote = nil
				if depth > 0 then word = word .. c end
			elseif c == "\\" and quote == '"' and i < #line then
				i = i + 1
				word = word .. (depth > 0 and c or "") .. line:sub(i, i)
			else
				word = word .. c
			end
		elseif (c == '"' or c == "'") then
			start, word, quote = start or i, (word or "") .. (depth > 0 and c or ""), c
		elseif c == "\\" and i < #line then
			i = i + 1
			start, word = start or i - 1, (word or "") .. line:sub(i, i)
		elseif blank and depth == 0 then
			if word then
				words[#words + 1], starts[#words + 1] = word, start
				word, start = nil, nil
			end
		else
			if c == "{" then
				depth = depth + 1
			elseif c == "}" then
				depth = math.max(0, depth - 1)
			end
			start, word = start or i, (word or "") .. c
		end
		i = i + 1
	end
	if word then words[#words + 1], starts[#words + 1] = word, start end
	if quote or depth > 0 then
		return nil, errors.new("usage", quote and "a quote is not closed"
			or "a brace is not closed"), words, starts
	end
	return words, starts
end

-- Split a line whose output goes into a program or a file: "COMMAND | PROGRAM", "COMMAND >
-- FILE", "COMMAND >> FILE". The sign is a word of its own, outside of quotes and braces.
-- -> COMMAND, sign, the rest | nil
function M.redirect(line)
	local quote, depth, i = nil, 0, 1
	while i <= #line do
		local c = line:sub(i, i)
		if c == "\\" and quote ~= "'" then
			i = i + 1
		elseif quote then
			if c == quote then quote = nil end
		elseif c == '"' or c == "'" then
			quote = c
		elseif c == "{" or c == "}" then
			depth = depth + (c == "{" and 1 or -1)
		elseif depth == 0 and line:find("^%s", i) then
			local sign, rest = line:match("^%s+([|>]>?)%f[%s\0]%s*(.*)$", i)
			if sign and sign ~= "|>" then
				return line:sub(1, i - 1), sign, (rest:gsub("%s+$", ""))
			end
		end
		i = i + 1
	end
end

-- ---- options --------------------------------------------------------------------

-- long name -> {short, field, takes a value}. start: an option of the program, not of a command.
M.options = {
	pid = { "p", "pid", true, value = "PID", help = "the process PID" },
	job = { "J", "job", true, value = "JOB", help = "the processes of a job" },
	fleet = { nil, "fleet", true, value = "URLS",
		help = "jobs of several hosts, found through their etcd store: "
			.. "https://a:2379,https://b:2379; else NCCLBPF_FLEET" },
	ranks = { "r", "ranks", true, value = "RANKS", help = "only these ranks: 0-7,12" },
	socket = { "S", "socket", true, value = "SOCKET", help =
		"the process that serves this socket" },
	timeout = { "T", "timeout", true, value = "SECONDS",
		help = "longest wait for answers, in seconds (default 5; 0: no limit)" },
	output = { "o", "format", true, value = "FORMAT",
		help = "table, wide, tsv, csv, json, ndjson or name" },
	json = { "j", "json", false, help = "-o json; -jp: indented" },
	quiet = { "q", "quiet", false, help = "print no header and no notes" },
	verbose = { "v", "verbose", false,
		help = "show more: all outliers, the path to a refusal; -vv: every step" },
	["dry-run"] = { "n", "dry_run", false,
		help = "dry run: make every check of a change, and drop the change" },
	yes = { "y", "yes", false, help = "do not ask for confirmation" },
	color = { nil, "color", true, value = "WHEN", help = "auto, always or never" },
	role = { nil, "role", true, value = "ROLE",
		help = "observe: refuse commands that change the job; control: allow them" },
	file = { "f", "file", true, value = "FILE", start = true,
		help = "run a Lua file with the following words as its arguments" },
	eval = { "e", "eval", true, value = "CODE", start = true,
		help = "run Lua code (may be repeated)" },
	["no-rc"] = { nil, "no_rc", false, start = true, help = "do not run init.lua" },
	["keep-going"] = { nil, "keep_going", false, start = true,
		help = "continue after a failed command of standard input" },
	unsafe = { nil, "unsafe", false, start = true,
		help = "allow scripts to use os.execute, io.popen and C modules" },
	help = { "h", "help", false, help = "show this text, or explain the given command" },
	version = { nil, "version", false, start = true,
		help = "show the version, with -v also of Lua and the protocol" },
}

-- Return the names of all options, in the order of their short names.
function M.option_names()
	local function key(name)
		return ascii.lower(M.options[name][1] or name) .. " " .. name
	end
	local names = lists.keys(M.options)
	table.sort(names, function(a, b) return key(a) < key(b) end)
	return names
end

local short = {}
for name, o in pairs(M.options) do
	if o[1] then short[o[1]] = name end
end

local function usage(fmt, ...)
	return nil, errors.new("usage", fmt:format(...))
end

local function set(flags, name, value)
	local field = M.options[name][2]
	if field == "eval" then
		flags.eval = flags.eval or {}
		table.insert(flags.eval, value)
	elseif field == "json" then
		flags.format = "json"
	elseif field == "verbose" then
		flags.verbose = (flags.verbose or 0) + 1
	else
		flags[field] = value == nil and true or value
	end
end

-- Return a check of an option that is one of @list.
local function one_of(name, list)
	return function(v)
		if lists.has(list, v) then return v end
		return usage("--%s=%s must be %s", name, v, lists.either(list))
	end
end

local checks = {
	pid = function(v)
		local n = math.tointeger(tonumber(v))
		if not n or n <= 0 then return usage("-p %s must be a process number", v) end
		return n
	end,
	ranks = function(v)
		local t = units.ranks(v)
		if not t or #t == 0 then return usage("-r %s must be ranks such as 0-7,12", v) end
		return t
	end,
	timeout = function(v)
		local t = units.duration(v)
		if not t then
			return usage("-T %s must be seconds or a duration such as 200ms or 2m, "
				.. "or 0 to wait for ever", v)
		end
		return t
	end,
	format = function(v)
		if lists.has(format.formats, v) then return v end
		return nil, errors.new("usage", ("-o %s must be %s"):format(
			v, lists.either(format.formats)),
			{ hint = errors.nearest(v, format.formats) })
	end,
	color = one_of("color", { "auto", "always", "never" }),
	role = one_of("role", { "observe", "control" }),
}

local function long_option(word)
	local name, value = word:match("^%-%-([%w%-]+)=?(.*)$")
	local has = word:find("=", 1, true) ~= nil
	if not name or not M.options[name] then
		local near = name and errors.nearest(name, lists.keys(M.options))
		return nil, errors.new("usage", ("unknown option %s"):format(word),
			{ hint = near and near:gsub("(%a[%w%-]*)", function(w)
			return M.options[w] and "--" .. w or nil
		end) })
	end
	return name, has and value or nil
end

-- Return the output format that the words ask for. The function also works for lines that cannot be
-- parsed, so that programs get JSON errors.
function M.format_of(list)
	for i, w in ipairs(list) do
		if w == "--" then return nil end
		if w:match("^%-%a*j") or w == "--json" then return "json" end
		local f = w:match("^%-%-output=(.*)$") or w:match("^%-o(.+)$")
			or (w == "-o" or w == "--output") and list[i + 1]
		if f == "json" or f == "ndjson" then return f end
	end
end

-- Split words into flags and the rest. @start: accept the options of the program too.
-- -> flags, words, literal (index of the first word after "--")
M.parse = errors.catch(function(list, start)
	local flags, words, literal = {}, {}, nil
	local i = 1
	local function value_of(name, inline)
		if inline and inline ~= "" then return inline end
		i = i + 1
		if list[i] == nil then
			return errors.fail("usage", "option %s needs a value", name)
		end
		return list[i]
	end
	local function take(name, inline, shown)
		local o = M.options[name]
		if o.start and not start then
			return usage("option %s is allowed only when the shell starts", shown)
		end
		if not o[3] then
			if inline then return usage("option %s takes no value", shown) end
			set(flags, name)
			return true
		end
		local v = try(value_of(shown, inline))
		local check = checks[o[2]]
		if check then v = try(check(v)) end
		set(flags, name, v)
		return true
	end
	while i <= #list do
		local w = list[i]
		if literal then
			words[#words + 1] = w
		elseif w == "--" then
			literal = #words + 1
		elseif w == "-jp" then
			flags.format, flags.pretty = "json", true
		elseif w:match("^%-%-.") then
			local name, value = try(long_option(w))
			try(take(name, value, "--" .. name))
		elseif w:match("^%-%a") then
			local k = 2
			while k <= #w do
				local c = w:sub(k, k)
				local name = short[c]
				if not name then return usage("unknown option -%s", c) end
				local takes = M.options[name][3]
				try(take(name, takes and k < #w and w:sub(k + 1) or nil,
					"-" .. c))
				k = takes and #w + 1 or k + 1
			end
			if flags.file and start then
				-- Words after -f FILE belong to the script.
				for j = i + 1, #list do words[#words + 1] = list[j] end
				return flags, words, literal
			end
		else
			words[#words + 1] = w
		end
		i = i + 1
	end
	return flags, words, literal
end)

-- ---- commands -------------------------------------------------------------------

-- Return the word of @list that @word abbreviates | nil, the words that begin with it if there are
-- several.
local function expand(word, list)
	if lists.has(list, word) then return word end
	local t = lists.select(list, function(w) return w:sub(1, #word) == word end)
	if #t == 1 then return t[1] end
	return nil, #t > 1 and t or nil
end

local function wrong(word, list)
	local _, begun = expand(word, list)
	return nil, errors.new("usage", "no command " .. word, { hint = word:find "%.lua$"
		and "ncclbpf-shell -f FILE runs a Lua script"
		or begun and "nearest: " .. table.concat(begun, ", ")
		or errors.nearest(word, list) or "there are: " .. table.concat(list, ", ") })
end

local function ambiguous(words, list)
	return nil, errors.new("usage", ("%s is ambiguous: %s"):format(words,
		table.concat(list, ", "))), true
end

-- Return the row of the command that words begin with. @people: accept unique abbreviations.
-- -> row, number of words it took; or nil, error, whether the words begin like a command
function M.command(words, people)
	local noun, verb = words[1], words[2]
	local nouns = commands.nouns()
	if not commands.is_noun(noun) then
		local full, t = expand(noun, nouns)
		if people and t then return ambiguous(noun, t) end
		if not people or not full then return wrong(noun, nouns) end
		noun = full
	end
	local verbs = commands.verbs(noun)
	if #verbs == 0 then return commands.find(noun), 1 end
	if not verb then
		return nil, errors.new("usage", ("%s needs a second word: %s"):format(noun,
			table.concat(verbs, ", "))), true
	end
	local row = commands.find(noun .. " " .. verb)
	if row then return row, 2 end
	local full, t = expand(verb, verbs)
	if people and full then return commands.find(noun .. " " .. full), 2 end
	if people and t then return ambiguous(noun .. " " .. verb, t) end
	local full_names = lists.map(verbs, function(v) return noun .. " " .. v end)
	local _, err = wrong(noun .. " " .. verb, full_names)
	return nil, err, true
end

-- Return the help command for `COMMAND --help`.
function M.explained(words)
	local verbs = words[1] and commands.verbs(words[1]) or {}
	return { "help", words[1], #verbs > 0 and words[2] or nil }
end

-- Check the number of a command's arguments. -> true | nil, err
function M.check_count(row, args)
	if #args >= row.least and #args <= row.most then return true end
	local extra, last = args[row.most + 1], args[row.most]
	local what = #args < row.least and "too few words"
		or "too many arguments, the first extra one is " .. tostring(extra)
	if type(extra) == "string" and extra:find "^[KMGT]i?B?$"
		and tostring(last):find "^%d+$" then
		what = ("%s %s: a size is one word: %s%s"):format(last, extra, last, extra)
	end
	return nil, errors.new("usage", what, {
		hint = ("usage: %s %s"):format(row.words, row.syntax):gsub(" $", "") })
end

local PARAMETER <const> = "policy set %s %s sets a parameter of a policy in use; "
	.. "'%s?%s' names a policy with it"

-- Split a command's words into positional arguments and name=value options.
function M.arguments(row, words, first, literal)
	local args, opt = {}, {}
	local free = row.words == "watch"
	for i = first, #words do
		local w = words[i]
		local name, value = w:match("^([%a_]+)=(.*)$")
		-- Options after the name of the command that watch repeats belong to that
		-- command.
		if row.words == "watch" and #args > 1 then name = nil end
		local variable = row.variables and #args > 0 and not row.options[name]
		if name and (not literal or i < literal)
			and (row.options[name] or not free and not variable) then
			if not row.options[name] then
				local names = lists.keys(row.options)
				local fields = row.words:match("^map [gsd]")
				local parameter = row.words:match("^policy [aru]%l+$") and args[1]
				return nil, errors.new("usage", ("no option %s="):format(name), {
					hint = fields and (
						"write a table of fields as one word: "
							.. "{%s=%s}"):format(
						name, value) or errors.nearest(name, names)
						or parameter and PARAMETER:format(parameter, w,
						parameter, w)
						or (#names > 0 and "its options are: "
						.. table.concat(names, "=, ") .. "="
						or "it has no options; " ..
						"put -- before a word that holds ="),
				})
			end
			if row.many == name then
				lists.push(opt, name, value)
			else
				opt[name] = value
			end
		else
			args[#args + 1] = w
		end
	end
	local right, err = M.check_count(row, args)
	if not right then return nil, err end
	return args, opt
end

-- Is a typed line a command rather than Lua? (docs/shell.md)
function M.is_command(line)
	if line:match "^%s*%-%a" then -- options first
		local list = M.split(line)
		local flags, rest = M.parse(list or {})
		return flags ~= nil and rest[1] ~= nil and commands.is_noun(rest[1])
	end
	local first, gap, next_char = line:match("^%s*(%a[%w_]*)(%s*)(.?)")
	if not first or not commands.is_noun(first) then return false end
	if next_char ~= "" and gap == "" then return false end
	return not next_char:find("^[=(.%[:,]")
end

return M
