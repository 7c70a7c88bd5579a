# SPDX-License-Identifier: MIT
# The table of `make bench` from rows: key, text, value, unit, budget and what
# the yardstick took beside it, in ns, tab-separated. Times are also given for
# a machine on which it takes 1.65 ns; they are what is judged. Of rows that
# were measured again (run.sh) the least counts: what disturbs only adds; but
# the most of what may not happen at all.
# Exit status 1: a row is broken. With -v names=1 only the keys of those.
BEGIN {
	FS = "\t"
	# more than this many budgets is taken for a broken build: ratios are of
	# two things in one run, and what may not happen at all is exact
	broken["x"] = 1.25
	broken["lost"] = broken["asked"] = 1
	# the same each time
	exact["once.size"] = 1
	# two CPUs at once: on a busy machine this says how busy it is
	soft["net.tcp"] = 1
	# needs huge pages, which the system may not have left
	soft["map.misses"] = 1
}

function number(v, unit) {
	return sprintf(unit == "lost" || unit == "asked" ? "%.0f %s" : \
		       v < 100 && v > -100 ? "%.2f %s" : "%.0f %s", v, unit)
}

function scaled(v, unit, pace) {
	return is_time(unit) && pace > 0 ? v * 1.65 / pace : v
}

function is_time(unit) {
	return unit == "ns" || unit == "us" || unit == "ms"
}

$1 == "@" { next } # for anchors.awk

!($1 in at) {
	at[$1] = ++n
	row[n] = $0
	next
}

$3 != "-" {
	split(row[at[$1]], old, FS)
	less = scaled($3, $4, $6) < scaled(old[3], old[4], old[6])
	if (old[3] == "-" || less == (broken[$4] != 1))
		row[at[$1]] = $0
}

function print_row(key, what, v, unit, budget, pace,   s, verdict, times) {
	if (v == "-") {
		if (!names)
			printf "| %s | %s | - | - | - | skip: %s |\n", key, what, unit
		return
	}
	if (pace > 0) {
		least = !least || pace < least ? pace : least
		most = pace > most ? pace : most
	}
	s = scaled(v, unit, pace)
	verdict = budget == 0 ? "-" : s <= budget ? "ok" : "OVER"
	times = exact[key] ? 1 : broken[unit] ? broken[unit] : 3
	if (budget > 0 && s > times * budget && !soft[key]) {
		verdict = "BROKEN"
		failed = 1
		if (names)
			print key
	}
	over += verdict == "OVER"
	if (!names)
		printf "| %s | %s | %s | %s | %s | %s |\n", key, what,
			number(v, unit), is_time(unit) ? number(s, unit) : "-",
			budget == 0 ? "-" : unit == "lost" || unit == "asked" ? \
				"0" : (budget + 0) " " unit, verdict
}

END {
	if (!names) {
		print "| row | what | measured | at 1.65 ns | budget | verdict |"
		print "|---|---|---|---|---|---|"
	}
	for (i = 1; i <= n; i++) {
		split(row[i], f, FS)
		rows += f[3] != "-"
		print_row(f[1], f[2], f[3], f[4], f[5] + 0, f[6] + 0)
	}
	if (!names)
		printf "\n%d rows, %d over their budget; the yardstick took " \
			"%.2f to %.2f ns.\n", rows, over, least, most
	exit failed
}
