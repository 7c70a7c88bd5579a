# part.awk rules.txt survivors.txt lax.txt mutants.txt: part @i of @n of the
# mutants, into @part.txt, and into @part.listed.txt those that are listed as survivors, unless
# @all of them are tried. Of the kind lax each @sample-th is taken, and those of rules.txt.
BEGIN {
	FS = "\t"
	printf "" >part ".txt"
	printf "" >part ".listed.txt"
}
FILENAME ~ /rules\.txt$/ { keep[$2 FS $3 FS $4]; next }
FILENAME ~ /(survivors|lax)\.txt$/ { listed[$1 FS $2 FS $3]; next }
{
	text = $5
	sub(/\(.*/, "", text)
	key = $2 FS $4 FS text
}
$2 == "lax" && lax++ % sample && !(key in keep) { next }
at++ % n == i % n { print >(part (!all && key in listed ? ".listed.txt" : ".txt")) }
