# SPDX-License-Identifier: MIT
# gone.awk gone.txt FILE...: lines that name what gone.txt says is no longer there.
FNR == NR {
	if ($0 !~ /^#/ && $0 != "")
		pattern[++n] = tolower($0)
	next
}
{
	line = tolower($0)
	for (i = 1; i <= n; i++)
		if (line ~ pattern[i] && line !~ /not supported/) {
			printf "%s:%d: names what is gone: %s\n", FILENAME, FNR, $0
			bad = 1
		}
}
END { exit bad }
