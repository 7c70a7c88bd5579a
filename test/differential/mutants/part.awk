# part.awk rules.txt survivors.txt lax.txt mutants.txt: the mutants that are
# tried, into @part.txt, and into @part.listed.txt those that are listed as survivors, unless
# @all of them are tried. Of the kind lax one in @sample is taken, and those of rules.txt; of a
# sample without those that are listed, of which check.awk asks nothing. A
# hash of the mutant's text chooses, so that a change elsewhere leaves the sample as it is.
BEGIN {
	FS = "\t"
	for (c = 1; c < 128; c++)
		code[sprintf("%c", c)] = c
	printf "" >part ".txt"
	printf "" >part ".listed.txt"
}
function hash(s, at, h) {
	for (at = 1; at <= length(s); at++)
		h = (h * 31 + code[substr(s, at, 1)]) % 65521
	return h
}
FILENAME ~ /rules\.txt$/ { keep[$2 FS $3 FS $4]; next }
FILENAME ~ /(survivors|lax)\.txt$/ { listed[$1 FS $2 FS $3]; next }
{
	text = $5
	sub(/\(.*/, "", text)
	key = $2 FS $4 FS text
}
$2 == "lax" && (hash($4 FS $5) % sample || !all && key in listed) && !(key in keep) { next }
{ print >(part (!all && key in listed ? ".listed.txt" : ".txt")) }
