# SPDX-License-Identifier: MIT
# The table of `make bench` from rows: key, text, value, unit, budget and what
# the yardstick took beside it, in ns, tab-separated. Times are also given for
# a machine on which it takes 1.65 ns; they are what is judged.
BEGIN {
	FS = "\t"
	# two CPUs at once: on a busy machine these say how busy it is
	soft["switch.over"] = soft["net.tcp"] = 1
	# needs huge pages, which the system may not have left
	soft["map.misses"] = 1
	print "| row | what | measured | at 1.65 ns | budget | verdict |"
	print "|---|---|---|---|---|---|"
}

function number(v, unit) {
	return sprintf(unit == "lost" ? "%.0f %s" : \
		       v < 100 && v > -100 ? "%.2f %s" : "%.0f %s", v, unit)
}

$3 == "-" {
	printf "| %s | %s | - | - | - | skip: %s |\n", $1, $2, $4
	next
}

{
	if ($6 > 0) {
		least = !least || $6 < least ? $6 : least
		most = $6 > most ? $6 : most
	}
	time = $4 == "ns" || $4 == "us" || $4 == "ms"
	scaled = time && $6 > 0 ? $3 * 1.65 / $6 : $3
	verdict = !$5 ? "-" : scaled <= $5 ? "ok" : "OVER"
	if ($5 && scaled > 3 * $5 && !soft[$1]) {
		verdict = "BROKEN"
		broken = 1
	}
	over += verdict == "OVER"
	rows++
	printf "| %s | %s | %s | %s | %s | %s |\n", $1, $2, number($3, $4),
		time ? number(scaled, $4) : "-",
		!$5 ? "-" : $4 == "lost" ? "0" : $5 " " $4, verdict
}

END {
	printf "\n%d rows, %d over their budget; the yardstick took %.2f to " \
		"%.2f ns.\n", rows, over, least, most
	exit broken
}
