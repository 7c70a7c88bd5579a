# SPDX-License-Identifier: MIT
# check.awk rules.txt survivors.txt lax.txt table.txt: TAP of a table of mutants.
# Mutants of rules.txt must be there and be noticed. A survivor must be listed
# with its reason, and what is listed must survive: a row of which no mutant
# does is stale and fails. Of weakened conditions that is asked where all were
# tried (ALL=1), and a tenth may be too new to be listed.
BEGIN { FS = "\t" }
FILENAME ~ /rules\.txt$/ {
	if ($0 !~ /^#/)
		rule[$2 FS $3 FS $4] = $1
	next
}
FILENAME ~ /(survivors|lax)\.txt$/ {
	if ($0 !~ /^#/)
		why[$1 FS $2 FS $3] = $4
	next
}
{
	text = $5
	sub(/\(.*/, "", text)
	key = $2 FS $4 FS text
	made[$2]++
	all++
	if ($6 != "SURVIVED") {
		noticed[key]
		caught[$2]++
		next
	}
	seen[key] = 1
	if (key in why) {
		waiting += why[key] == "no case yet"
	} else {
		print "# nobody notices: " $3 ": " $4 ": " $2 ": " $5
		if ($2 == "lax")
			new++
		else
			bad++
	}
}
END {
	for (k in made)
		printf "# %s: %d mutants, %d noticed\n", k, made[k], caught[k]
	printf "# %d wait for a case\n", waiting
	for (k in why) {
		split(k, part)
		if (!(k in seen) && made[part[1]] && (ALL || part[1] != "lax")) {
			print "# listed and noticed now, or gone: " k
			bad++
		}
	}
	for (k in rule) {
		split(k, part)
		if (made[part[1]] && (!(k in noticed) || k in seen)) {
			print "# not there, or nobody notices: " k ": " rule[k]
			bad++
		}
	}
	bad += all < 100 || 10 * new > made["lax"]
	print (bad ? "not " : "") "ok 1 - each check switched off is noticed " \
		"by a test, or listed with a reason"
	print "1..1"
	exit bad != 0
}
