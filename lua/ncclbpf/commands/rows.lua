-- SPDX-License-Identifier: MIT
-- Commands by their words: rows of commands/table.lua, completed by those that targets serve
-- (core/defs/commands.h).
local core = require "ncclbpf.core"
local lists = require "ncclbpf.base.lists"
local described = require "ncclbpf.commands.table"

local M = {}

M.groups = described.groups

-- Requests of the protocol that users do not type.
M.hidden = { hello = true, cancel = true, ["trace read"] = true, ["change check"] = true,
	["change export"] = true, ["change import"] = true,
	["controller export"] = true, ["controller import"] = true }

local rows, by, nouns

-- Return a function for "module:function". It loads the module when it is called.
local function handler(run)
	local module, name = (run or ""):match "^(.+):(.+)$"
	if not module then return run end
	return function(ctx) return require("ncclbpf." .. module)[name](ctx) end
end

-- Return the names of the options in a row's syntax, with their descriptions.
local function options_of(row)
	local options = {}
	for name in row.syntax:gmatch "%f[%a]([%l_]+)=" do
		options[name] = described.options[name] or ""
	end
	if row.words == "watch" then options.count = described.options.count end
	return options
end

-- Return the smallest and the largest number of arguments that a row's syntax allows, without
-- options. Each word of the syntax is an argument; words in brackets are optional.
local function arguments_of(syntax)
	local least, most = 0, 0
	for word in syntax:gmatch "%S+" do
		if not word:find "^%[?[%l_]+=" then
			most = most + 1
			least = least + (word:find "^%[" and 0 or 1)
		end
	end
	return least, most
end

-- Return a row of commands/table.lua, completed by the row @c that targets serve, or by {}.
local function complete(t, c)
	local syntax = t.syntax or c.syntax or ""
	local least, most = c.least, c.most
	if t.syntax then least, most = arguments_of(syntax) end
	return { words = t[1], syntax = syntax, least = t.least or least or 0,
		most = t.most or most or 0, role = t.role or c.role, help = t.help or c.help,
		details = t.details, run = handler(t.run), files = t.files, paths = t.paths,
		names = t.names, dry = t.dry, many = t.many, tables = t.tables, fields = t.fields,
		variables = t.variables,
		served = c.words and syntax == c.syntax or nil }
end

local function build()
	rows, by, nouns = {}, {}, {}
	local served = {}
	for _, c in ipairs(core.commands()) do served[c.words] = c end
	for _, t in ipairs(described.rows) do by[t[1]] = complete(t, served[t[1]] or {}) end
	for words, c in pairs(served) do
		if not by[words] and not M.hidden[words] then
			c.served, by[words] = true, c
		end
	end
	for words, r in pairs(by) do
		rows[#rows + 1] = r
		nouns[words:match "^%S+"] = true
		r.options = options_of(r)
	end
	table.sort(rows, function(a, b) return a.words < b.words end)
end

-- Return the options of a row, sorted: {name, description}.
function M.options(row)
	local list = {}
	for name, help in pairs(row.options) do list[#list + 1] = { name, help } end
	table.sort(list, function(a, b) return a[1] < b[1] end)
	return list
end

function M.all()
	if not rows then build() end
	return rows
end

function M.find(words)
	if not rows then build() end
	return by[words]
end

function M.is_noun(word)
	if not rows then build() end
	return nouns[word] == true
end

-- Return the first words of all commands, and the second words after a first word.
function M.nouns()
	if not rows then build() end
	local t = lists.keys(nouns)
	return t
end

function M.verbs(noun)
	local t = {}
	for _, r in ipairs(M.all()) do
		local n, v = r.words:match("^(%S+) (%S+)$")
		if n == noun then t[#t + 1] = v end
	end
	return t
end

return M
