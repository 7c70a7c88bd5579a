-- SPDX-License-Identifier: MIT
-- Limit a policy to some collectives and sizes: prepend a condition to its program. Otherwise the
-- program leaves the answer of the policies before it.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

M.MOST = 256 -- rows

local LDX32, LDX64, LDDW, ST32, MOV, EXIT, JA = 0x61, 0x79, 0x18, 0x62, 0xb7, 0x95, 0x05
local JNE, JNE_X, JLT_X, JGT_X = 0x55, 0x5d, 0xad, 0x2d
local COLL, BYTES, COMM, SCRATCH = 2, 3, 4, 5 -- register numbers; the context is in register 1

local function offsets()
	local at = {}
	for _, f in ipairs(core.fields "tuner") do at[f.name] = f.off end
	return at
end

local function slot(op, dst, src, off, imm)
	return { op, dst or 0, src or 0, off or 0, imm or 0 }
end

local function lddw(code, reg, v)
	code[#code + 1] = slot(LDDW, reg, 0, 0, v & 0xffffffff)
	code[#code + 1] = slot(0, 0, 0, 0, v >> 32 & 0xffffffff)
end

-- Emit code that compares the collective with one row and, if they differ, jumps to the next row.
-- Both jump targets are filled in later.
local function test_row(code, row, out)
	local misses = {}
	local function unless(op, dst, src, imm)
		code[#code + 1] = slot(op, dst, src, 0, imm)
		misses[#misses + 1] = #code
	end
	unless(JNE, COLL, 0, row.coll)
	if row.min > 0 then
		lddw(code, SCRATCH, row.min)
		unless(JLT_X, BYTES, SCRATCH)
	end
	if row.max < math.maxinteger then
		lddw(code, SCRATCH, row.max)
		unless(JGT_X, BYTES, SCRATCH)
	end
	if row.comm then
		lddw(code, SCRATCH, row.comm)
		unless(JNE_X, COMM, SCRATCH)
	end
	code[#code + 1] = slot(JA)
	out[#out + 1] = #code
	for _, at in ipairs(misses) do code[at][4] = #code - at end
end

-- Return the instructions of the condition. rows: {coll=, min=, max=, comm=}, all numbers. @fresh:
-- drop the answer of earlier policies.
local function front(rows, fresh)
	local at, code, out, comms = offsets(), {}, {}, false
	for _, row in ipairs(rows) do comms = comms or row.comm ~= nil end
	code[1] = slot(LDX32, COLL, 1, at.coll)
	code[2] = slot(LDX64, BYTES, 1, at.bytes)
	if comms then code[3] = slot(LDX64, COMM, 1, at.comm_id) end
	for _, row in ipairs(rows) do test_row(code, row, out) end
	code[#code + 1] = slot(MOV)
	code[#code + 1] = slot(EXIT)
	for _, from in ipairs(out) do code[from][4] = #code - from end
	if fresh then
		code[#code + 1] = slot(ST32, 1, 0, at.algo, -1)
		code[#code + 1] = slot(ST32, 1, 0, at.proto, -1)
		code[#code + 1] = slot(ST32, 1, 0, at.channels, 0)
		code[#code + 1] = slot(ST32, 1, 0, at.chunk_size, 0)
	end
	for i, s in ipairs(code) do
		local imm = s[5]
		if imm > 0x7fffffff then imm = imm - 0x100000000 end
		code[i] = string.pack("<BBi2i4", s[1], s[3] << 4 | s[2], s[4], imm)
	end
	return table.concat(code)
end

-- M.image(image or nil (no opinion), name, rows, text, fresh) -> image | nil, err. @text: shown in
-- place of the source line
M.image = errors.catch(function(image, name, rows, text, fresh)
	image = image or try(core.image_none())
	if #rows > M.MOST then
		return errors.fail("over_limit", "%d conditions (allowed: %d)", #rows, M.MOST)
	end
	return try(core.image_front { image = image, name = name, text = text,
		slots = front(rows, fresh) })
end)

-- Return the rows as text: "allreduce 4M..128M". @row.sizes: replaces the text of the sizes.
function M.text(rows)
	local t = lists.map(rows, function(row)
		return ("%s %s%s"):format(core.nccl("coll", row.coll), row.sizes
			or units.bytes(row.min) .. ".."
			.. (row.max < math.maxinteger and units.bytes(row.max) or ""),
			row.comm and (" of %016x"):format(row.comm) or "")
	end)
	return table.concat(t, ", ")
end

return M
