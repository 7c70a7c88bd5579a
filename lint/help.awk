# SPDX-License-Identifier: MIT
# awk -f lint/help.awk MAKEFILES...: the lines "## GROUP: TARGET  WORDS" by groups, for `make help`.
/^## [a-z]+: / {
	group = $2
	sub(/^## [a-z]+: /, "")
	if (!(group in lines)) order[++n] = group
	match($0, /  +/)
	target = substr($0, 1, RSTART - 1)
	$0 = substr($0, RSTART + RLENGTH)
	lines[group] = lines[group] sprintf("  make %-18s %s\n", target, $0)
}
END {
	for (i = 1; i <= n; i++) printf "%s\n%s", order[i], lines[order[i]]
	print "variables: VARIANT=debug|release|asan|tsan|cov|fuzz  V=1  WERROR=1  CFLAGS= LDFLAGS= CC="
}
