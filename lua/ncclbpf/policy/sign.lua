-- SPDX-License-Identifier: MIT
-- The commands `policy keygen`, which makes a pair of keys, and `policy sign`.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local policy = require "ncclbpf.policy.policy"
local signatures = require "ncclbpf.job.signatures"

local try = errors.try
local M = {}

function M.cmd_keygen(ctx)
	local name = ctx.args[1]
	local secret = ctx.opt.out or name .. ".key"
	local public = secret:gsub("%.key$", "") .. ".pub"
	if core.stat(public) or core.stat(secret) then
		return nil, errors.new("exists",
			("%s or %s exists: a key is never replaced"):format(secret, public),
			{ hint = "use this key, or name another file: out=FILE" })
	end
	local line = try(core.sign_keygen(name, secret))
	try(core.write(public, line))
	local row = { name = name, secret = secret, public = public }
	return { schema = "policy.keygen/1", data = row, rows = { row }, id = "name",
		columns = { { "name" }, { "secret" }, { "public" } },
		foot = { ("keep %s secret; add the line of %s to the list " ..
			"of NCCLBPF_FLEET_SIGNERS"):format(secret, public) } }
end

function M.cmd_sign(ctx)
	local path = ctx.args[1]
	if not ctx.opt.key then
		return errors.fail("usage", "key=FILE is missing: the secret key (policy keygen)")
	end
	local _, info = try(policy.open(path))
	local line, who = try(core.sign_image(ctx.opt.key, info.digest))
	local to = path .. signatures.SUFFIX
	local text = signatures.join(info.signatures, line)
	if not ctx.flags.dry_run then try(core.write(to, text)) end
	local row = { name = info.name, digest = info.digest, by = who.name, key = who.key,
		file = to }
	return { schema = "policy.sign/1", data = row, rows = { row }, id = "digest",
		columns = { { "name" }, { "digest", show = format.short }, { "by" }, { "key" },
			{ "file" } },
		foot = ctx.flags.dry_run and { "dry run: nothing written" } or nil }
end

return M
