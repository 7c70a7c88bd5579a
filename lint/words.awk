# SPDX-License-Identifier: MIT
# awk -f lint/words.awk -v MOST=N SUITE...: the words of a message are asserted once, by a golden file
# or by the suite that `messages` ends. Elsewhere a suite asserts status and error code (fails, ends
# and refuses; test/README.md). At most N lines of all suites look for a text of four words or more.
/^[ \t]*#/ || !/grep/ { next }
{
	rest = substr($0, index($0, "grep"))
	while (match(rest, /"[^"]*"|'[^']*'/)) {
		n = split(substr(rest, RSTART + 1, RLENGTH - 2), word, / +/)
		rest = substr(rest, RSTART + RLENGTH)
		in_row = 0
		for (i = 1; i <= n; i++) {
			in_row = word[i] ~ /^[A-Za-z']+[,:.]?$/ ? in_row + 1 : 0
			if (in_row == 4) {
				found[++nfound] = FILENAME ":" FNR ": " $0
				next
			}
		}
	}
}
END {
	for (i = 1; i <= nfound && nfound > MOST; i++)
		print found[i]
	if (nfound > MOST)
		print nfound " lines look for the words of a message, at most " MOST \
			" may: assert status and code instead (fails, ends, refuses)"
	exit nfound > MOST
}
