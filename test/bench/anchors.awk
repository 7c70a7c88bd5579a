# SPDX-License-Identifier: MIT
# Other runtimes' figures for three programs beside ours. Theirs, in ns, are of
# another machine of this kind: native code, an LLVM-based JIT, uBPF's JIT and
# the published prototype's runtime. So ours are given at the pace at which the
# native noop takes what it took there. Lines: @, program, native ns, our ns; of
# several for a program the one with the least ratio counts.
BEGIN {
	FS = "\t"
	n = split("noop lookup_only slo_enforcer", name, " ")
	nwho = split("native,LLVM JIT,uBPF JIT,prototype", who, ",")
	figures("noop", "1.6 2.5 4.1 7.6")
	figures("lookup_only", "10.8 10.3 14.6 25.1")
	figures("slo_enforcer", "27.7 26.5 45.9 65.7")
}

function figures(program, list,   v, k) {
	split(list, v, " ")
	for (k = 1; k <= nwho; k++)
		theirs[program, k] = v[k]
}

$1 == "@" && (!($2 in ours) || $4 / $3 < ours[$2] / native[$2]) {
	native[$2] = $3
	ours[$2] = $4
}

END {
	print "| program | native | LLVM JIT | uBPF JIT | prototype | ours " \
		"at that pace | ours / the same C natively | ahead of |"
	print "|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= n; i++) {
		p = name[i]
		if (!(p in ours) || !("noop" in native))
			continue
		ns = ours[p] * theirs["noop", 1] / native["noop"]
		ahead = ""
		for (k = 1; k <= nwho; k++)
			if (ns < theirs[p, k])
				ahead = ahead (ahead ? ", " : "") who[k]
		printf "| %s | %s ns | %s ns | %s ns | %s ns | %.1f ns | " \
			"%.2f x | %s |\n", p, theirs[p, 1], theirs[p, 2],
			theirs[p, 3], theirs[p, 4], ns, ours[p] / native[p],
			ahead ? ahead : "-"
	}
}
