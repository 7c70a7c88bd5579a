-- SPDX-License-Identifier: MIT
-- `policy new`: a folder with a policy in C, its test, a Makefile, and the flags that editors
-- read. All of it works as it is.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local source = require "ncclbpf.policy.source"

local try = errors.try
local M = {}

local POLICY = [[
// NAME: for AllReduce of 4 to 32 MiB within one node, ask for ring and LL128.
#include "ncclbpf_policy.h"

SEC("tuner")
int IDENT(struct ncclbpf_tuner *ctx)
{
	if (ctx->coll == NCCL_COLL_ALL_REDUCE && ctx->nodes == 1 &&
	    ctx->bytes >= MIB(4) && ctx->bytes <= MIB(32))
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	return 0;
}
]]

local CASES = [[
-- Cases of NAME for the command ncclbpf-shell policy test NAME_test.lua
-- context: the fields that the policy reads. An omitted field is that of 8 ranks on 1 node,
-- where NCCL offers everything.
-- answer: the fields that the policy sets. An omitted field must stay NCCL's choice.
return {
	policy = "NAME.bpf.c",
	{ name = "8 MiB: ring and LL128",
		context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring", proto = "ll128" } },
	{ name = "1 KiB: NCCL decides",
		context = { coll = "allreduce", bytes = "1K" },
		answer = {} },
	{ name = "two nodes: NCCL decides",
		context = { coll = "allreduce", bytes = "8M", ranks = 16, nodes = 2 },
		answer = {} },
	{ name = "NCCL does not offer ring and LL128: NCCL decides",
		context = { coll = "allreduce", bytes = "8M", usable = { "tree/simple" } },
		answer = {} },
}
]]

local MAKEFILE = [[
# make: verify NAME and write NAME.policy. make test: run the cases of NAME_test.lua.
NCCLBPF ?= ncclbpf-shell

NAME.policy: NAME.bpf.c
	$(NCCLBPF) policy verify $<
	$(NCCLBPF) policy build $<

.PHONY: test clean
test:
	$(NCCLBPF) policy test NAME_test.lua
clean:
	rm -f NAME.policy
]]

local KEYWORDS = lists.set { "asm", "auto", "bool", "break", "case", "char", "const", "continue",
	"default", "do", "double", "else", "enum", "extern", "false", "float", "for", "goto", "if",
	"inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
	"static", "struct", "switch", "true", "typedef", "typeof", "union", "unsigned", "void",
	"volatile", "while" }

-- clangd, policy verify, policy load, policy build and policy test use these flags.
local function editor_flags()
	local t = { table.concat(source.flags, "\n") }
	for _, dir in ipairs(source.include_folders()) do
		if dir:sub(1, 1) == "/" then t[#t + 1] = "-I" .. dir end
	end
	return table.concat(t, "\n") .. "\n"
end

function M.cmd_new(ctx)
	local dir = ctx.args[1]:gsub("/+$", "")
	local name = dir:match "[^/]*$"
	if not name:find "^[%a_][%w_%-]*$" or #name > 60 then
		return errors.fail("usage",
			"%s: the name must have at most 60 letters, digits, _ and -, "
			.. "and must not start with a digit", name)
	end
	if KEYWORDS[name] then
		return errors.fail("usage", "%s: a keyword of C cannot name the policy's function; "
			.. "choose another name, such as %s_policy", name, name)
	end
	if core.stat(dir) then
		return nil, errors.new("cannot_create", dir .. " exists",
			{ hint = "choose another name, or remove it" })
	end
	local words = { NAME = name, IDENT = (name:gsub("%-", "_")) }
	local files = { { name .. ".bpf.c", POLICY }, { name .. "_test.lua", CASES },
		{ "Makefile", MAKEFILE }, { "compile_flags.txt", editor_flags() } }
	local rows = {}
	if not ctx.flags.dry_run then try(core.mkdirs(dir)) end
	for i, f in ipairs(files) do
		local text = i < 4 and f[2]:gsub("%f[%a]%u+%f[^%u]", words) or f[2]
		rows[i] = { file = dir .. "/" .. f[1] }
		if not ctx.flags.dry_run then try(core.write(rows[i].file, text)) end
	end
	local next = ctx.flags.dry_run and { "dry run: nothing written" } or {
		"next (the last two ask a job that runs):",
		("    make -C %s test"):format(dir),
		("    ncclbpf-shell policy use %s"):format(rows[1].file),
		"    ncclbpf-shell choices",
	}
	return {
		schema = "policy.new/1", data = { name = name, files = core.array(rows) },
		rows = rows, id = "file", columns = { { "file" } },
		foot = next,
	}
end

return M
