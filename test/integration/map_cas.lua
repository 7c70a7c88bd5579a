-- SPDX-License-Identifier: MIT
-- map_cas.lua JOB TIMES: adds one to a coherent map's value so often that
-- TIMES of its changes were made, each only if the generation is the one that
-- it read the value in. Prints what it had: made, stale, other.
local nb = require "ncclbpf"
local job, times = arg[1], tonumber(arg[2])
local t = assert(nb.attach { job = job })
local made, stale, other = 0, 0, {}
local seen = {}
math.randomseed(tonumber(arg[3]))

-- The map has no type information: a value is "hex:" and its bytes.
local function number(text)
	return (string.unpack("<I8", (text:sub(5):gsub("%x%x", function(x)
		return string.char(tonumber(x, 16))
	end))))
end

local function read()
	local g = assert(t:status()).generation
	local r = t:map_get { "choice", "hex:00000000" }
	local e = r and r.entries[1]
	return e and g, e and number(e.value)
end

local last
for try = 1, 100000 do
	if made == times then break end
	local g, v = read()
	if g then
		local text = string.pack("<I8", v + 1)
			:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
		local c, err = t:map_set { "choice", "hex:00000000", "hex:" .. text,
			if_generation = g }
		if c then
			made = made + 1
			print("generation " .. math.tointeger(c.generation))
		elseif err.code == "stale" then
			stale = stale + 1
		else
			-- another client's staging came between, or ranks near a fence
			last = err
			other[err.code] = (other[err.code] or 0) + 1
			if err.code ~= "busy" and err.code ~= "refused" then
				print("error " .. tostring(err))
				os.exit(1)
			end
			nb.sleep(math.random() * 0.02)
		end
	end
end
print(("made %d stale %d busy %d refused %d %s")
	:format(made, stale, other.busy or 0, other.refused or 0, last and last.message or ""))
os.exit(made == times and 0 or 1)
