-- SPDX-License-Identifier: MIT
-- Signatures of policy images: lines in FILE.sig beside the policy, or in the store's key
-- signature/DIGEST. plugin/sign checks them; this file finds and shows them.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"

local M = {}

M.SUFFIX = ".sig"
local MAX_FILE = 64 << 10

-- Return the file with the list of keys that the operator requires; nil: none.
local function signers()
	local v = os.getenv "NCCLBPF_FLEET_SIGNERS"
	return v ~= "" and v or nil
end

-- Return the text of the signatures beside the policy file @path; nil: none.
function M.beside(path) return (core.read(path .. M.SUFFIX, MAX_FILE)) end

-- Return the lines of both texts, without duplicates.
function M.join(a, b)
	local seen, t = {}, {}
	for _, text in ipairs { a or "", b or "" } do
		for line in text:gmatch "[^\n]+" do
			if not seen[line] then t[#t + 1] = line .. "\n" end
			seen[line] = true
		end
	end
	return table.concat(t)
end

-- Return the error of a list of keys that cannot be read.
local function unread(why)
	local err = errors.from_reply(why)
	err.hint = err.hint or "the list has the lines of .pub files: cat alice.pub >signers"
	return err
end

-- Does the environment allow an image with these signatures? -> true | nil, err
function M.required(text, digest)
	local list = signers()
	if not list then return true end
	local found, why = core.signatures(text or "", digest, list)
	if not found then return nil, unread(why) end
	if not why then return true end
	return nil, errors.new("not_permitted", why,
		{ hint = "policy sign FILE key=FILE, with a key of " .. list })
end

local WORDS = {
	good = "signed by %s",
	unknown_key = "signature of key %s, which is not in the list",
	bad = "WRONG signature of %s: the image or the signature was changed",
	other_image = "signature of key %s for another image",
	damaged = "damaged signature%s",
}

-- Return the signatures of a policy, for policy verify: lines for people; an error if a list of
-- keys (@keys, else the environment's) has none that signed it. Adds member signatures to @data.
function M.describe(info, keys, data)
	local list, lines = keys or signers(), {}
	if not list and not info.signatures then return lines end
	local found, why = core.signatures(info.signatures or "", info.digest, list)
	if not found then return lines, unread(why) end
	for i, f in ipairs(found) do
		local who = f.name and ("%s (%s)"):format(f.name, f.key) or f.key or ""
		lines[i] = list and WORDS[f.state]:format(who)
			or ("signature of key %s: not checked without a list of keys (keys=FILE)")
			:format(who)
		if not list then f.state = "unchecked" end
	end
	data.signatures = core.array(found)
	return lines, list and why and errors.new("not_permitted", why) or nil
end

return M
