-- SPDX-License-Identifier: MIT
-- Commands that write a policy to a file: `policy build` and `policy export`.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local policy = require "ncclbpf.policy.policy"
local tables = require "ncclbpf.policy.table"

local try = errors.try
local M = {}

local columns = {
	{ "name" }, { "digest", show = format.short }, { "size_bytes", num = true },
	{ "programs", num = true }, { "maps", num = true }, { "file" },
}
local table_columns = table.move(columns, 1, #columns, 1, {})
table.insert(table_columns, 6, { "rows", num = true })

-- Make an image of C, an object or a table. This function verifies a table. For C and objects,
-- the verifier's result comes from policy verify and policy load. -> image bytes, description,
-- error of a refused table
local function made(ctx, path)
	local name = ctx.opt.name
	local file, values = policy.split(path)
	if not tables.is_source(file) then
		if ctx.opt.hidden or ctx.opt.coherence then
			return errors.fail("usage",
				"%s: hidden= and coherence= are for tables (.csv, .lua, .json)",
				path)
		end
		local _, info, bytes = try(policy.open(path, name))
		return bytes, info
	end
	local bytes, notes = try(tables.open(file, { name = name or policy.name_of(file),
		hidden = ctx.opt.hidden, coherence = ctx.opt.coherence, values = values }))
	local image = core.image(bytes)
	local info = image:info()
	info.warnings = notes
	local verdict = try(policy.verdict(image, info,
		{ coherence_off = ctx.opt.coherence == "off" }))
	return bytes, info, policy.refusal(verdict, policy.label(path), ctx.flags.verbose)
end

function M.cmd_build(ctx)
	local path = ctx.args[1]
	if type(path) == "table" and not ctx.opt.out then
		return errors.fail("usage",
			"%s is not a file, so the command needs out=FILE for the policy",
			policy.label(path))
	end
	ctx:word("hidden", { "error", "keep" })
	ctx:word("coherence", { "strict", "off" })
	local bytes, info, failure = made(ctx, path)
	if not bytes then return nil, info end
	local file = policy.split(path)
	local to = ctx.opt.out or file:gsub("%.%w+$", ""):gsub("%.bpf$", "") .. ".policy"
	if to == file then
		return errors.fail("usage", "%s is an image; out=FILE names the file for a copy",
			path)
	end
	if not failure and not ctx.flags.dry_run then try(tables.save(bytes, to)) end
	local _, rows = tables.csv_of(bytes)
	local row = { name = info.name, digest = info.digest, size_bytes = #bytes,
		programs = #info.programs, maps = #info.maps,
		rows = math.type(rows) == "integer" and rows or nil, file = not failure and to
			or nil }
	local foot = { info.warnings }
	if ctx.flags.dry_run then foot[#foot + 1] = "dry run: nothing written" end
	return {
		schema = "policy.build/1", data = row, rows = { row }, id = "file",
		columns = row.rows and table_columns or columns, failure = failure,
		foot = foot,
	}
end

-- Without out=, show the rows of a table. With out=FILE.csv, write them to this file. For
-- other names write the image, or an object if the name ends in .o.
function M.cmd_export(ctx)
	local _, info, bytes = try(policy.resolve(ctx, ctx.args[1]))
	local to, text, rows = ctx.opt.out, nil, nil
	if not to or to:find "%.csv$" then
		text, rows = tables.csv_of(bytes)
		if not text then
			rows.hint = "only tables have rows; out=FILE.policy writes the image"
			return nil, rows
		end
	end
	local data = { name = info.name, digest = info.digest, size_bytes = #(text or bytes),
		programs = #info.programs, maps = #info.maps, rows = rows, file = to,
		csv = not to and text or nil }
	if not to then
		return { schema = "policy.export/1", data = data, text = text:gsub("\n$", ""),
			prose = true }
	end
	try(text and core.write(to, text) or tables.save(bytes, to))
	return { schema = "policy.export/1", data = data, rows = { data }, id = "file",
		columns = rows and table_columns or columns }
end

return M
