-- SPDX-License-Identifier: MIT
-- make.lua OUT: the Python functions of the commands that processes serve (core/defs/commands.h),
-- shell/python/ncclbpf/_commands.py. Run by the shell, in `make docs`.
local core = require "ncclbpf.core"
local commands = require "ncclbpf.commands.rows"

-- Commands that need a descriptor or belong to the session; ncclbpf/__init__.py implements them.
local LEFT_OUT = {
	["policy load"] = true, ["policy export"] = true,
	["map load"] = true, ["map attach"] = true, ["map detach"] = true,
	["change commit"] = true, ["change abort"] = true,
}

local out = { [==[
# SPDX-License-Identifier: MIT
"""The commands that each process serves, under their words. Made of core/defs/commands.h by
shell/python/make.lua (`make docs`); not to be edited."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from ._wire import line

Data = Dict[str, Any]
Ask = Callable[[str], Data]]==] }
out[#out + 1] = ("VERSION = %q"):format(core.version)

local function put(fmt, ...) out[#out + 1] = fmt:format(...) end

-- "NAME... [comm=ID] [limit=N]" -> parameters, words of the call, true if the call is a change
local function signature(syntax, least)
	local parameters, positional, options, names = { "self" }, {}, {}, {}
	local change, count = false, 0
	for token in syntax:gmatch "%S+" do
		local optional, word = token:match "^(%[?)(.-)%]?$"
		local name, kind = word:match "^([%l_]+)=(.*)$"
		change = change or name == "if_generation"
		if name and name ~= "follow" and name ~= "commit" then
			options[#options + 1] = { name, kind == "N" and "int" or "str" }
		elseif not name and word:find "%.%.%.$" then
			names[#names + 1] = "*words"
		elseif not name then
			count = count + 1
			local p = word:find "|" and "state" or word:lower():gsub("%W", "_")
			if positional[p] then p = p .. count end
			positional[p] = true
			names[#names + 1] = p
			parameters[#parameters + 1] = optional == "[" and count > least
				and p .. ': str = ""' or p .. ": object"
		end
	end
	local many = names[#names] == "*words"
	if many then
		parameters[#parameters + 1] = "*words: object"
	elseif #options > 0 then
		parameters[#parameters + 1] = "*"
	end
	for _, o in ipairs(options) do
		parameters[#parameters + 1] = ("%s: Optional[%s] = None"):format(o[1], o[2])
		names[#names + 1] = o[1] .. "=" .. o[1]
	end
	return parameters, names, change
end

-- Words joined by ", ", broken before column 96
local function wrapped(first, words, last, indent)
	local lines, text = {}, first
	for i, w in ipairs(words) do
		local piece = w .. (i < #words and ", " or last)
		if #text + #piece > 96 then
			lines[#lines + 1] = text:gsub(" $", "")
			text = (" "):rep(indent)
		end
		text = text .. piece
	end
	lines[#lines + 1] = text
	return table.concat(lines, "\n")
end

local function method(row, name)
	local parameters, names, change = signature(row.syntax, row.least)
	put("")
	put("%s", wrapped(("    def %s("):format(name), parameters, ") -> Data:", 9 + #name))
	local help = {}
	for w in row.help:gmatch "%S+" do help[#help + 1] = w end
	local text, doc = '        """', {}
	for _, w in ipairs(help) do
		if #text + #w > 92 then
			doc[#doc + 1] = text
			text = "       "
		end
		text = text .. (text:find '"""$' and "" or " ") .. w
	end
	doc[#doc + 1] = text .. '."""'
	put("%s", table.concat(doc, "\n"))
	local ask = change and "_change" or row.role == "control" and "_write" or "_read"
	local first = ("        return self.%s(line("):format(ask)
	put("%s", wrapped(first, { ("%q"):format(row.words), table.unpack(names) }, "))", #first))
end

local nouns, order, plain = {}, {}, {}
for _, row in ipairs(core.commands()) do
	local noun, verb = row.words:match "^(%S+) (%S+)$"
	if not commands.hidden[row.words] and not LEFT_OUT[row.words] then
		if noun and not nouns[noun] then
			nouns[noun] = {}
			order[#order + 1] = noun
		end
		local list = noun and nouns[noun] or plain
		list[#list + 1] = { row, verb or row.words }
	end
end

local INIT = [[
    def __init__(self, read: Ask, write: Ask, change: Ask) -> None:
        self._read, self._write, self._change = read, write, change]]

for _, noun in ipairs(order) do
	put("\n\nclass %s:", noun:gsub("^%l", string.upper))
	put('    """The commands `%s ...`."""\n', noun)
	put("%s", INIT)
	for _, m in ipairs(nouns[noun]) do method(m[1], m[2]) end
end
put("\n\nclass Commands:")
put('    """All commands: those of one word, and those of a noun under it."""\n')
put("%s", INIT)
for _, noun in ipairs(order) do
	put("        self.%s = %s(read, write, change)", noun, (noun:gsub("^%l", string.upper)))
end
for _, m in ipairs(plain) do method(m[1], m[2]) end

local f = assert(io.open(arg[1], "w"))
f:write(table.concat(out, "\n"), "\n")
f:close()
