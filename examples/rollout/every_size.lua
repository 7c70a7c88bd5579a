-- A plan with hooks: the candidate passes only if it is surely faster at every size, not only not
-- slower. setup logs what is tried; judge replaces the verdict; done logs the outcome.
local FASTER = 2 -- per cent

return {
	name = "every-size",
	candidate = { "nvlink_ring_mid" },
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	blocks = 10, samples = 20,
	judge = { confidence = 0.98, looks = 2 },
	guards = { slower_pct = 50 },
	hooks = {
		setup = function(ctx)
			for _, c in ipairs(ctx.job:comm_list().comms) do
				ctx.log("tries it on", c.comm, "with", c.ranks, "ranks")
			end
		end,
		judge = function(ctx, a, b) -- medians of the blocks in ns, by kind of collective
			for kind, times in pairs(a) do
				local j = ctx.judge { a = times, b = b[kind], block = 1 }
				if not j.high_pct or j.high_pct > -FASTER then
					return "inconclusive", kind .. ": " .. j.reason
				end
			end
			return "pass", ("every size is faster by more than %d %%"):format(FASTER)
		end,
		done = function(ctx, result)
			ctx.log(result.state, "after", result.blocks, "blocks")
		end,
	},
}
