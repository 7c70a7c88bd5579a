-- SPDX-License-Identifier: MIT
-- Keys and values of maps: convert bytes to tables and back by the type information of a policy
-- image, and parse what users type.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local M = {}

local byte_of, hex_of = {}, {}
for i = 0, 255 do
	local h = ("%02x"):format(i)
	local c = string.char(i)
	byte_of[h], byte_of[ascii.upper(h)], hex_of[c] = c, c, h
end

local function unhex(text)
	if type(text) ~= "string" or #text % 2 ~= 0 or text:find("%X") then return nil end
	return (text:gsub("%x%x", function(h)
		return byte_of[h] or string.char(tonumber(h, 16))
	end))
end

local function hex(bytes)
	return (bytes:gsub(".", hex_of))
end
M.hex, M.unhex = hex, unhex

-- Read the types and names of a policy's image, once for each session.
local function image_of(s, member, digest)
	if type(digest) ~= "string" or digest == "" then return {} end
	s.caches.images = s.caches.images or {}
	local known = s.caches.images[digest]
	if known then return known end
	local r = s:ask("policy export " .. session.quote(digest),
		{ members = { member }, want_object = true })[1]
	known = {}
	local image = r.data and core.image(r.object)
	if image then
		local blob = image:btf()
		known.btf = blob and core.btf(blob) or nil
	elseif r.err and (r.err.code == "timed_out" or r.err.code == "no_target") then
		return known -- nil, so the next command tries again
	end
	s.caches.images[digest] = known
	return known
end

-- Make the codec for a map's keys and values. @image: types and names of its policy.
local function convert(image, m)
	return {
		map = m, btf = image.btf,
		key = {
			size = m.key_size, id = read.number(m.btf_key),
			-- Positions in a ring buffer are numbers too.
			index = tostring(m.type):find("array", 1, true) ~= nil or m.key_size == 0,
		},
		value = { size = m.value_size, id = read.number(m.btf_value) },
	}
end

-- Return the codec of a map of a job: {key_size, value_size, btf, ...}
local function codec(s, member, m)
	if math.type(m.key_size) ~= "integer" or math.type(m.value_size) ~= "integer"
		or m.key_size < 0 or m.value_size < 0
		or m.key_size > 1 << 20 or m.value_size > 1 << 20 then
		return errors.fail("protocol", "the target describes a map without its sizes")
	end
	return convert(image_of(s, member, m.policy_digest), m)
end

-- Return the codec of a map of a local image. @m: its row of image:info()
function M.codec_of(image, m)
	local blob = image:btf()
	return convert({ btf = blob and core.btf(blob) or nil }, m)
end

local function decode(c, part, bytes, exact)
	if c.btf and part.id > 0 then
		local v, err = c.btf:decode(part.id, bytes, exact)
		if err then return "hex:" .. hex(bytes) end
		return v
	end
	if part.index and #bytes == 4 then return (string.unpack("<I4", bytes)) end
	if part.index and #bytes == 8 then return (string.unpack("<i8", bytes)) end
	return "hex:" .. hex(bytes)
end

-- Replace sizes in the text of a table by numbers, except in quotes: {bytes=4M} -> {bytes=4194304}
local function numbers_for_sizes(text)
	if not text:find("%d[%d.]*[kKmMgGtT]") then return text end
	local out, at = {}, 1
	while at <= #text do
		local quoted = text:match("^([\"']).-%1", at) and text:match("^[\"'].-[\"']", at)
		local word = not quoted and text:match("^[%w_.]+", at)
		local piece = quoted or word or text:sub(at, at)
		local size = word and word:match("^%d") and word:match("%a")
			and not word:match("^0[xX]") and units.size(word)
		out[#out + 1] = size or piece
		at = at + #piece
	end
	return table.concat(out)
end

-- Parse typed text: a number, a word, or a Lua table in which words stand for themselves. The
-- text can use nothing but these words.
local function evaluate(text)
	if text:match("^0[xX]%x+$") or text:match("^%-?%d+$") then
		return math.tointeger(tonumber(text)) and not (#text > 18)
			and math.tointeger(tonumber(text)) or text
	end
	if text:match("^[%a_][%w_]*$") then
		if text == "true" then return true end
		if text == "false" then return false end
		return text
	end
	local size = text:match("^%d") and units.size(text)
	if size then return size end
	text = numbers_for_sizes(text)
	-- Lua would convert numbers above 2^63-1 to floats
	if not text:find("[\"']") then
		text = text:gsub("%f[%w_.]%d+%f[^%w_.]", function(n)
			return #n > 18 and '"' .. n .. '"' or nil
		end)
	end
	local f, why = load("return " .. text, "=value", "t",
		setmetatable({}, { __index = function(_, k)
		return k
	end }))
	if not f then
		return nil, errors.new("bad_argument", ("%s: not a value: %s"):format(
			text, why:gsub("^value:%d+: ", "")),
			{ hint = "write a number, a word, a table like {algo=ring, "
				.. "channels=8}, or hex:00112233" })
	end
	local ok, v = pcall(f)
	if not ok then
		return errors.fail("bad_argument", "%s: not a value: %s", text, tostring(v))
	end
	return v
end

local function encode(c, part, v, what)
	if type(v) == "string" and v:sub(1, 4) == "hex:" then
		local bytes = unhex(v:sub(5))
		if not bytes then
			return errors.fail("bad_argument",
				"%s: hex: needs pairs of hexadecimal digits", what)
		end
		if #bytes ~= part.size then
			return errors.fail("bad_argument", "%s: %d bytes, the map has %d", what,
				#bytes, part.size)
		end
		return bytes
	end
	if c.btf and part.id > 0 then
		local bytes, err = c.btf:encode(part.id, v, part.size, part.name)
		if not bytes then
			err = errors.from_reply(err)
			err.message = what .. ": " .. err.message
			err.hint = ("its type is %s"):format(c.btf:name(part.id))
			return nil, err
		end
		return bytes
	end
	local n = math.tointeger(tonumber(v))
	if n and part.size <= 8 then
		local fits = part.size == 8 or (n >= -(1 << (part.size * 8 - 1))
			and n < 1 << (part.size * 8))
		if not fits then
			return errors.fail("bad_argument", "%s: %d does not fit %d bytes", what, n,
				part.size)
		end
		return string.pack("<i8", n):sub(1, part.size)
	end
	return nil, errors.new(
		"bad_argument", (
		"%s: the policy has no type information, %d plain bytes are needed"):format(
		what, part.size),
		{ hint = "write hex: and " .. 2 * part.size
			.. " digits, or compile the policy with -g" })
end

-- Encode what a user has typed, or a value of a script. @enc: encodes the value of each CPU.
local function typed(c, part, text, what, enc)
	enc = enc or function(_, v) return encode(c, part, v, what) end
	if type(text) ~= "string" then return enc(c, text, what) end
	if text:sub(1, 4) == "hex:" then return enc(c, text, what) end
	local v, err = evaluate(text)
	if v == nil then
		return nil, err or errors.new("bad_argument", what .. ": nil is not a value")
	end
	return enc(c, v, what)
end

-- Return a key or value of a command as its messages show it.
function M.text(v)
	return type(v) == "string" and v or format.value(v)
end

M.codec, M.encode, M.decode, M.typed, M.evaluate = codec, encode, decode, typed, evaluate

-- Return the values of a reply: one value, or one value for each CPU.
local function values(c, text, ncpus, exact)
	local bytes = unhex(text)
	if not bytes then return nil end
	local list, step = {}, (c.value.size + 7) // 8 * 8
	ncpus = math.tointeger(read.number(ncpus)) or 1
	if c.value.size == 0 then return { "hex:" .. text } end -- the record may have any size
	if ncpus <= 1 then return { decode(c, c.value, bytes:sub(1, c.value.size), exact) } end
	for cpu = 0, ncpus - 1 do
		local part = bytes:sub(cpu * step + 1, cpu * step + c.value.size)
		if #part < c.value.size then break end
		list[cpu + 1] = decode(c, c.value, part, exact)
	end
	return list
end
M.values = values

return M
