# SPDX-License-Identifier: MIT
# What test_verify_worst prints, as a table.
BEGIN {
	FS = ", "
	print "| program | verdict | iterations | instructions walked | states at a time | memory | time |"
	print "|---|---|---|---|---|---|---|"
}

/^# .*: (accepted|refused), / {
	split($1, head, ": ")
	sub(/^# /, "", head[1])
	for (i = 2; i <= 6; i++) {
		split($i, number, " ")
		n[i] = number[1]
	}
	printf "| %s | %s | %s | %s | %s | %s KiB | %s s |\n", head[1], head[2],
		n[2], n[3], n[4], n[5], n[6]
}
